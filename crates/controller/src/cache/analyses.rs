//! What is known of analyses: their templates, their runs, and whose runs they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_analysis::compose::Templates;
use windlass_analysis::templates::closure;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplateSpec, TemplateReference};

use super::kept::Kept;
use super::{Key, version};
use crate::job::JOB_NAME;

/// Templates and runs.
#[derive(Default)]
pub(crate) struct Analyses {
    runs: Kept<Key, AnalysisRun>,
    runs_by_owner: BTreeMap<String, BTreeSet<Key>>,
    templates: Kept<Key, AnalysisTemplateSpec>,
    /// The Jobs of a run that are over, by name.
    jobs_over: BTreeMap<Key, BTreeSet<String>>,
}

impl Analyses {
    pub(crate) fn run(&self, key: &Key) -> Option<&Arc<AnalysisRun>> {
        self.runs.get(key)
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = &Key> {
        self.runs.keys()
    }

    /// The runs that an object controls, by its uid.
    pub(crate) fn runs_of<'a>(&'a self, owner: &str) -> impl Iterator<Item = &'a Arc<AnalysisRun>> {
        self.runs_by_owner.get(owner).into_iter().flatten().filter_map(|key| self.runs.get(key))
    }

    /// True when this is news.
    pub(crate) fn keep_run(&mut self, run: Arc<AnalysisRun>) -> bool {
        let key = Key::of(&run.metadata);
        if let Some((_, uid)) = controller(&run) {
            self.runs_by_owner.entry(uid).or_default().insert(key.clone());
        }
        self.forget_jobs(&key, &run);
        self.runs.keep(key, version(&run.metadata), run)
    }

    /// Once a run waits for Jobs, those that it does not wait for are no news any more.
    fn forget_jobs(&mut self, key: &Key, run: &AnalysisRun) {
        let Some(known) = self.jobs_over.get_mut(key) else { return };
        let results = run.status.iter().flat_map(|status| &status.metric_results);
        let open = results.flat_map(|it| &it.measurements).filter(|it| it.finished_at.is_none());
        let awaited: BTreeSet<&String> = open.filter_map(|it| it.metadata.get(JOB_NAME)).collect();
        if !awaited.is_empty() {
            known.retain(|job| awaited.contains(job));
        }
        if known.is_empty() {
            self.jobs_over.remove(key);
        }
    }

    /// The run that is forgotten.
    pub(crate) fn forget_run(&mut self, key: &Key) -> Option<Arc<AnalysisRun>> {
        self.jobs_over.remove(key);
        let run = self.runs.forget(key)?;
        if let Some((_, uid)) = controller(&run)
            && let Some(keys) = self.runs_by_owner.get_mut(&uid)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.runs_by_owner.remove(&uid);
            }
        }
        Some(run)
    }

    /// A Job of a run is over, or gone. Of a run that is not known nothing is kept: it is asked after in time anyway.
    pub(crate) fn job_is_over(&mut self, run: Key, job: String) {
        if self.runs.get(&run).is_some() {
            self.jobs_over.entry(run).or_default().insert(job);
        }
    }

    pub(crate) fn is_job_over(&self, run: &Key, job: &str) -> bool {
        self.jobs_over.get(run).is_some_and(|jobs| jobs.contains(job))
    }

    /// True when this is news. A template of the whole cluster has no namespace.
    pub(crate) fn keep_template(&mut self, key: Key, version: u64, spec: AnalysisTemplateSpec) -> bool {
        self.templates.keep(key, version, Arc::new(spec))
    }

    pub(crate) fn forget_template(&mut self, key: &Key) {
        self.templates.forget(key);
    }

    pub(crate) fn template(&self, key: &Key) -> Option<Arc<AnalysisTemplateSpec>> {
        self.templates.get(key).cloned()
    }

    pub(crate) fn has_template(&self, key: &Key) -> bool {
        self.templates.get(key).is_some()
    }

    pub(crate) fn template_keys(&self) -> impl Iterator<Item = &Key> {
        self.templates.keys()
    }

    /// The templates that these refer to, directly or not, as far as they are known.
    pub(crate) fn templates(&self, namespace: &str, wanted: &[TemplateReference]) -> Templates {
        let mut known = Templates::new();
        loop {
            let before = known.len();
            for reference in closure(wanted, &known) {
                let namespace = if reference.cluster_scope { "" } else { namespace };
                let key = Key { namespace: namespace.to_owned(), name: reference.template_name.clone() };
                if let Some(spec) = self.templates.get(&key) {
                    known.entry(reference).or_insert_with(|| AnalysisTemplateSpec::clone(spec));
                }
            }
            if known.len() == before {
                return known;
            }
        }
    }
}

/// The kind, uid and so on of the object that controls a run: its name, then its uid.
pub(crate) fn controller(run: &AnalysisRun) -> Option<(String, String)> {
    let mut owners = run.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == "RolloutPlugin")?;
    Some((owner.name.clone(), owner.uid.clone()))
}
