//! What is known of analyses: their templates, their runs, and whose runs they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_analysis::compose::Templates;
use windlass_analysis::templates::DEPTH;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplateSpec, Measurement, TemplateReference};

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
    pub(crate) fn keep_run(&mut self, run: &Arc<AnalysisRun>) -> bool {
        let key = Key::of(&run.metadata);
        if let Some((_, uid)) = controller(run) {
            self.runs_by_owner.entry(uid).or_default().insert(key.clone());
        }
        let is_news = self.runs.keep(key.clone(), version(&run.metadata), Arc::clone(run));
        // An older version, which a watch may still bring, waits for other Jobs than we do now.
        if is_news {
            self.forget_jobs(&key, run);
        }
        is_news
    }

    /// Once it is stored what came of a Job, that it is over is no news any more.
    fn forget_jobs(&mut self, key: &Key, run: &AnalysisRun) {
        let Some(known) = self.jobs_over.get_mut(key) else { return };
        known.retain(|job| of_job(run, job).is_none_or(|it| it.finished_at.is_none()));
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

    /// A Job of a run is over, or gone. Of a run that is not known nothing is kept: it is asked after in time anyway. A Job
    /// that goes and is none that the run waits for went because nobody needs it any more.
    pub(crate) fn job_is_over(&mut self, run: Key, job: String, gone: bool) {
        let Some(known) = self.runs.get(&run) else { return };
        let is_awaited = match of_job(known, &job) {
            Some(measurement) => measurement.finished_at.is_none(),
            // It was made a moment ago, and that is not stored yet.
            None => !gone,
        };
        if is_awaited {
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
        let place = |reference: &TemplateReference| Key {
            namespace: if reference.cluster_scope { String::new() } else { namespace.to_owned() },
            name: reference.template_name.clone(),
        };
        let (mut known, mut met) = (Templates::new(), BTreeSet::new());
        // Those at one distance from what is wanted, then those they refer to. What is further away than may be is not
        // looked at: it is refused anyway.
        let mut level: Vec<TemplateReference> = wanted.to_vec();
        for _ in 0..=DEPTH {
            let mut next = Vec::new();
            for reference in level {
                if !met.insert(reference.clone()) {
                    continue;
                }
                if let Some(spec) = self.templates.get(&place(&reference)) {
                    next.extend(spec.templates.iter().cloned());
                    known.insert(reference, AnalysisTemplateSpec::clone(spec));
                }
            }
            level = next;
        }
        known
    }
}

/// The measurement that a Job of this name makes, if the run tells of it.
fn of_job<'a>(run: &'a AnalysisRun, job: &str) -> Option<&'a Measurement> {
    let results = run.status.iter().flat_map(|status| &status.metric_results);
    let mut measurements = results.flat_map(|result| &result.measurements);
    measurements.find(|it| it.metadata.get(JOB_NAME).is_some_and(|name| name == job))
}

/// The kind, uid and so on of the object that controls a run: its name, then its uid.
pub(crate) fn controller(run: &AnalysisRun) -> Option<(String, String)> {
    let mut owners = run.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == "RolloutPlugin")?;
    Some((owner.name.clone(), owner.uid.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key() -> Key {
        Key { namespace: "shop".to_owned(), name: "once".to_owned() }
    }

    /// A run in a version, with its Jobs: which, and whether what came of it is stored.
    fn run(version: u64, jobs: &[(&str, bool)]) -> Arc<AnalysisRun> {
        let of = |(job, is_over): &(&str, bool)| {
            let finished = is_over.then_some("2026-11-18T12:00:00Z");
            json!({"phase": "Running", "finishedAt": finished, "metadata": {JOB_NAME: job}})
        };
        let measurements: Vec<_> = jobs.iter().map(of).collect();
        let run = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun",
            "metadata": {"name": "once", "namespace": "shop", "resourceVersion": version.to_string()},
            "spec": {"metrics": []},
            "status": {"metricResults": [{"name": "smoke", "measurements": measurements}]},
        });
        Arc::new(serde_json::from_value(run).unwrap())
    }

    #[test]
    fn that_a_job_is_over_is_known_until_that_is_stored() {
        let mut analyses = Analyses::default();
        analyses.keep_run(&run(1, &[("a", false)]));
        analyses.job_is_over(key(), "a".to_owned(), false);
        // Made a moment ago; storing something else of the run does not forget it.
        analyses.job_is_over(key(), "b".to_owned(), false);
        analyses.keep_run(&run(3, &[("a", true), ("b", false)]));
        assert!(!analyses.is_job_over(&key(), "a") && analyses.is_job_over(&key(), "b"));
        // What a watch brings late says nothing of what came after it.
        analyses.keep_run(&run(2, &[("b", true)]));
        assert!(analyses.is_job_over(&key(), "b"));
        analyses.keep_run(&run(4, &[("b", true)]));
        assert!(analyses.jobs_over.is_empty());
    }

    #[test]
    fn a_job_that_goes_when_it_is_not_needed_any_more_is_not_kept() {
        let mut analyses = Analyses::default();
        analyses.keep_run(&run(1, &[("b", true), ("c", false)]));
        for job in ["a", "b"] {
            analyses.job_is_over(key(), job.to_owned(), true);
        }
        assert!(analyses.jobs_over.is_empty());
        analyses.job_is_over(key(), "c".to_owned(), true);
        assert!(analyses.is_job_over(&key(), "c"));
    }

    #[test]
    fn templates_in_a_row_are_followed_as_far_as_they_may_be_and_in_one_pass() {
        let mut analyses = Analyses::default();
        let reference = |index: usize| TemplateReference {
            template_name: format!("t{index}"),
            ..TemplateReference::default()
        };
        for index in 0..5000 {
            let key = Key { namespace: "shop".to_owned(), name: format!("t{index}") };
            // The last one leads back to the first.
            let templates = vec![reference((index + 1) % 5000)];
            let spec = AnalysisTemplateSpec { templates, ..AnalysisTemplateSpec::default() };
            analyses.keep_template(key, 1, spec);
        }
        let found = analyses.templates("shop", &[reference(0)]);
        assert_eq!(found.len(), DEPTH + 1);
        assert!(analyses.templates("elsewhere", &[reference(0)]).is_empty());
    }
}
