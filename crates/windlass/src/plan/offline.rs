//! Plans from manifests alone: pairs each rollout with its workload. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use windlass_analysis::compose::Templates;
use windlass_api::analysis::{AnalysisTemplate, TemplateReference};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_api::{Front, WorkloadTarget};
use windlass_engine::{Refusal, RolloutName};

use super::checks::{self, At, CheckFlaw};
use super::facts::{Facts, Origin};
use super::report::{Problem, Report, Subject, flaws, refusal_words};
use crate::files::{Found, Manifests};

/// A report for every rollout in the manifests, or for the one that is asked for.
pub(crate) fn reports(
    manifests: &Manifests,
    namespace: &str,
    name: Option<&str>,
) -> Result<Vec<Report>, String> {
    let paired = pairs(manifests, namespace, name)?;
    Ok(paired.into_iter().map(|(report, _)| report).collect())
}

/// The same, each with the facts that it was made from; none where the rollout and its workload do not come together.
pub(crate) fn pairs(
    manifests: &Manifests,
    namespace: &str,
    name: Option<&str>,
) -> Result<Vec<(Report, Option<Facts>)>, String> {
    let mut taken = BTreeMap::new();
    let mut reports = Vec::new();
    for found in &manifests.rollouts {
        let mut rollout = found.object.clone();
        rollout.metadata.namespace.get_or_insert_with(|| namespace.to_owned());
        // What a manifest says of the status is not taken by any server.
        rollout.status = None;
        if name.is_none_or(|name| rollout.metadata.name.as_deref() == Some(name)) {
            reports.push(Pairing { manifests, namespace, found, rollout }.report(&mut taken));
        }
    }
    if reports.is_empty() {
        let wanted = name.map_or_else(|| "RolloutPlugin".to_owned(), |name| format!("RolloutPlugin {name}"));
        return Err(format!(
            "there is no {wanted} in the files; they have {}; expected a document with apiVersion: \
             argoproj.io/v1alpha1 and kind: RolloutPlugin",
            manifests.words()
        ));
    }
    Ok(reports)
}

/// Which rollout has a workload: by namespace and workload.
type Taken = BTreeMap<(String, WorkloadTarget), String>;

struct Pairing<'a> {
    manifests: &'a Manifests,
    /// Where objects are that do not say it.
    namespace: &'a str,
    found: &'a Found<RolloutPlugin>,
    rollout: RolloutPlugin,
}

impl Pairing<'_> {
    fn report(self, taken: &mut Taken) -> (Report, Option<Facts>) {
        let subject = Subject::rollout(&self.rollout, Some(self.found.place.clone()));
        let set = self.rollout.workload().ok().and_then(|target| self.set(&target));
        let workload = Subject::workload(&self.rollout, set.map(|set| set.place.clone()));
        let wrong = self.wrong(set, taken);
        match set {
            Some(set) if wrong.is_empty() => {
                let facts = Facts {
                    set: set.object.clone(),
                    budgets: self.budgets(),
                    templates: self.templates(),
                    origin: Origin::Files,
                    rollout: self.rollout,
                };
                (Report::on(&facts, subject, workload), Some(facts))
            }
            _ => (Report::wrong(subject, workload, wrong), None),
        }
    }

    fn wrong(&self, set: Option<&Found<StatefulSet>>, taken: &mut Taken) -> Vec<Problem> {
        let flaw = |text: String| {
            let place = Some(self.found.place_of(path_in(&text).unwrap_or_default()));
            Problem { message: text, place }
        };
        let mut wrong: Vec<Problem> =
            flaws(&self.rollout).into_iter().map(|found| flaw(found.text)).collect();
        let checks = checks::flaws(&self.rollout, &self.templates());
        wrong.extend(checks.into_iter().map(|flaw| self.check_problem(flaw)));
        let Ok(target) = self.rollout.workload() else { return wrong };
        let reference = Some(self.found.place_of("spec.workloadRef.name"));
        if set.is_none() {
            wrong.push(Problem { message: self.missing(&target), place: reference.clone() });
        }
        let name = self.rollout.metadata.name.clone().unwrap_or_default();
        let key = (self.rollout.metadata.namespace.clone().unwrap_or_default(), target);
        let workload = key.1.to_string();
        let first = taken.entry(key).or_insert_with(|| name.clone());
        if *first != name {
            let refusal = Refusal::Taken { workload, by: RolloutName::new(first.as_str()) };
            wrong.push(Problem { message: refusal_words(&refusal), place: reference });
        }
        wrong
    }

    fn missing(&self, target: &WorkloadTarget) -> String {
        format!(
            "{target} in namespace {} is not in the files, which have {}; name its file with another -f, or mend \
             spec.workloadRef",
            self.rollout.metadata.namespace.as_deref().unwrap_or_default(),
            self.manifests.words()
        )
    }

    /// The set that is meant.
    fn set(&self, target: &WorkloadTarget) -> Option<&Found<StatefulSet>> {
        let is_meant = |found: &&Found<StatefulSet>| {
            let meta = &found.object.metadata;
            meta.name.as_deref() == Some(target.name.as_str()) && self.is_beside(meta)
        };
        self.manifests.sets.iter().find(is_meant)
    }

    /// The templates that the rollout could name, by what refers to them.
    fn templates(&self) -> Templates {
        let own = self.manifests.templates.iter().filter(|found| self.is_beside(&found.object.metadata));
        let own = own.map(|found| (reference(found, false), found.object.spec.clone()));
        let all = self.manifests.cluster_templates.iter();
        own.chain(all.map(|found| (reference(found, true), found.object.spec.clone()))).collect()
    }

    fn check_problem(&self, flaw: CheckFlaw) -> Problem {
        let place = match &flaw.at {
            At::Rollout(path) => Some(self.found.place_of(path)),
            At::Template(template, path) => self.template(template).map(|found| found.place_of(path)),
        };
        Problem { message: flaw.text, place }
    }

    fn template(&self, template: &TemplateReference) -> Option<&Found<AnalysisTemplate>> {
        if template.cluster_scope {
            self.manifests.cluster_templates.iter().find(|found| reference(found, true) == *template)
        } else {
            let mut own = self.manifests.templates.iter();
            own.find(|found| reference(found, false) == *template && self.is_beside(&found.object.metadata))
        }
    }

    fn budgets(&self) -> Vec<PodDisruptionBudget> {
        let budgets = self.manifests.budgets.iter().map(|found| &found.object);
        budgets.filter(|budget| self.is_beside(&budget.metadata)).cloned().collect()
    }

    /// In the namespace of the rollout.
    fn is_beside(&self, meta: &ObjectMeta) -> bool {
        let namespace = meta.namespace.as_deref().unwrap_or(self.namespace);
        self.rollout.metadata.namespace.as_deref() == Some(namespace)
    }
}

/// What refers to a template.
fn reference(found: &Found<AnalysisTemplate>, cluster_scope: bool) -> TemplateReference {
    let template_name = found.object.metadata.name.clone().unwrap_or_default();
    TemplateReference { template_name, cluster_scope }
}

/// The path that a flaw is about, as far as its words name one.
fn path_in(flaw: &str) -> Option<&str> {
    let word = flaw.split_whitespace().find(|word| word.starts_with("spec."))?;
    Some(word.trim_end_matches([':', ',', ';', '.']))
}
