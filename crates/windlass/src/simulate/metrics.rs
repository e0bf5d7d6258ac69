//! What is measured in a run, from the templates of the files, and what each metric says, from the flags. Providers are
//! not asked: a metric of which nobody says anything cannot be played, and is told before anything is. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_analysis::compose::{About, Ends, compose, prepare};
use windlass_api::Front;
use windlass_engine::CheckPlace;
use windlass_sim::script::Deed;
use windlass_sim::start::Belonging;
use windlass_sim::{Resource, Sample};

use crate::cli::MetricValues;
use crate::failure::Failure;
use crate::files::Manifests;
use crate::plan::Facts;

/// What is measured.
pub(super) struct Measured<'a> {
    pub(super) facts: &'a Facts,
    pub(super) manifests: &'a Manifests,
}

impl Measured<'_> {
    /// The templates that the rollout may name, as a server takes them.
    pub(super) fn belongings(&self, namespace: &str) -> Vec<Belonging> {
        let templates = self.facts.templates.iter().map(|(reference, spec)| {
            let mut metadata = json!({"name": reference.template_name});
            let resource = if reference.cluster_scope {
                Resource::ClusterAnalysisTemplates
            } else {
                metadata["namespace"] = json!(namespace);
                Resource::AnalysisTemplates
            };
            let (api_version, kind) = (resource.api_version(), resource.kind());
            (resource, json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}))
        });
        templates.collect()
    }

    /// The names of all metrics that the rollout measures.
    fn metrics(&self) -> Result<BTreeSet<String>, Failure> {
        let Facts { rollout, templates, .. } = self.facts;
        let json = serde_json::to_value(rollout).unwrap_or(Value::Null);
        // Revisions are not known from files, and no metric is named after one.
        let about = About { rollout: &json, stable: "old", latest: "new" };
        let (mut metrics, mut wrong) = (BTreeSet::new(), Vec::new());
        for (place, analysis) in rollout.asked().analyses.all() {
            let (field, ends) = match place {
                CheckPlace::Stage(stage) => {
                    (format!("spec.strategy.canary.steps[{stage}].analysis"), Ends::ByItself)
                }
                CheckPlace::Background => ("spec.strategy.canary.analysis".to_owned(), Ends::WithTheRun),
            };
            match compose(analysis, templates, about, ends) {
                Ok(spec) => {
                    let rules = prepare(&spec).unwrap_or_default();
                    metrics.extend(rules.into_iter().map(|rules| rules.name));
                }
                Err(flaws) => wrong.extend(flaws.iter().map(|flaw| format!("{field}: {flaw}"))),
            }
        }
        if wrong.is_empty() {
            return Ok(metrics);
        }
        let found = self.manifests.words();
        wrong.push(format!("templates come from the files, which have {found}; name others with another -f"));
        Err(Failure::Manifests(wrong.join("\n       ")))
    }

    /// What each metric says when, as deeds of the play.
    pub(super) fn agenda(&self, said: &[MetricValues]) -> Result<Vec<(Duration, Deed)>, Failure> {
        let metrics = self.metrics()?;
        let silent: Vec<&String> =
            metrics.iter().filter(|name| said.iter().all(|it| it.name != **name)).collect();
        if let Some(first) = silent.first() {
            let names = silent.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Failure::CommandLine(format!(
                "--metric: nobody says what {names} says, and providers are not asked here; say it, such as \
                 --metric {first}=0.01 or, from two minutes after the change on, --metric {first}=0.01,0.2@2m"
            )));
        }
        if let Some(unknown) = said.iter().find(|it| !metrics.contains(&it.name)) {
            let names = metrics.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let measured = if names.is_empty() { "nothing" } else { &names };
            return Err(Failure::CommandLine(format!(
                "--metric: there is no metric {}; the rollout measures {measured}",
                unknown.name
            )));
        }
        let deed = |metric: &MetricValues| {
            let name = metric.name.clone();
            let deed = move |(after, says)| (after, Deed::Metric(name.clone(), Sample::from(says)));
            metric.values.clone().into_iter().map(deed)
        };
        Ok(said.iter().flat_map(deed).collect())
    }
}
