//! What is measured in a run, from the templates of the files, and what each metric says, from the flags. Providers are
//! not asked: a metric of which nobody says anything cannot be played, and is told before anything is. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use windlass_api::analysis::Metric;
use windlass_sim::script::Deed;
use windlass_sim::start::Belonging;
use windlass_sim::{Resource, Sample, Shape};

use crate::cli::MetricValues;
use crate::failure::Failure;
use crate::files::Manifests;
use crate::plan::{Facts, measured};

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

    /// All metrics that the rollout measures, by name.
    fn metrics(&self) -> Result<BTreeMap<String, Metric>, Failure> {
        let Facts { rollout, templates, .. } = self.facts;
        let metrics = measured(rollout, templates).map_err(|mut wrong| {
            let found = self.manifests.words();
            wrong.push(format!(
                "templates come from the files, which have {found}; name others with another -f"
            ));
            Failure::Manifests(wrong.join("\n       "))
        })?;
        Ok(metrics.into_iter().map(|metric| (metric.name.clone(), metric)).collect())
    }

    /// What each metric says when, as deeds of the play.
    pub(super) fn agenda(&self, said: &[MetricValues]) -> Result<Vec<(Duration, Deed)>, Failure> {
        let metrics = self.metrics()?;
        let silent: Vec<&String> =
            metrics.keys().filter(|name| said.iter().all(|it| it.name != **name)).collect();
        if let Some(first) = silent.first() {
            let names = silent.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            let (once, turning) = match metrics.get(*first).map(|metric| Shape::of(&metric.provider)) {
                Some(Shape::Verdict) => (format!("{first}=pass"), format!("{first}=pass,fail@2m")),
                Some(Shape::Fields { example, .. }) => {
                    (format!("'{first}={example}'"), format!("'{first}={example},{example}@2m'"))
                }
                Some(Shape::Plain | Shape::Point | Shape::List | Shape::Series) | None => {
                    (format!("{first}=0.01"), format!("{first}=0.01,0.2@2m"))
                }
            };
            return Err(Failure::CommandLine(format!(
                "--metric: nobody says what {names} says, and providers are not asked here; say it, such as \
                 --metric {once} or, from two minutes after the change on, --metric {turning}"
            )));
        }
        if let Some(unknown) = said.iter().find(|it| !metrics.contains_key(&it.name)) {
            let names = metrics.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let measured = if names.is_empty() { "nothing" } else { &names };
            return Err(Failure::CommandLine(format!(
                "--metric: there is no metric {}; the rollout measures {measured}",
                unknown.name
            )));
        }
        for MetricValues { name, values } in said {
            let shape = metrics.get(name).map_or(Shape::Plain, |metric| Shape::of(&metric.provider));
            let told = values.iter().find_map(|(_, says)| Some((says, says.reading(&shape).err()?)));
            if let Some((says, why)) = told {
                return Err(Failure::CommandLine(format!("--metric {name}={says}: {why}")));
            }
        }
        let deed = |metric: &MetricValues| {
            let name = metric.name.clone();
            let deed = move |(after, says)| (after, Deed::Metric(name.clone(), Sample::from(says)));
            metric.values.clone().into_iter().map(deed)
        };
        Ok(said.iter().flat_map(deed).collect())
    }
}
