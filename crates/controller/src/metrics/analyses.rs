//! What the caches know of analyses: their runs, with each metric, and their templates.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use windlass_analysis::compose::filled;
use windlass_analysis::providers;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplateSpec, Metric, MetricResult};

use super::labels;
use crate::analyse::Served;
use crate::cache::{Caches, Key, controller};

/// The runs that are served, and the templates.
pub(super) struct Analyses {
    pub(super) caches: Arc<Caches>,
    pub(super) served: Served,
}

/// A template, by its key.
type Template = (Key, Arc<AnalysisTemplateSpec>);

impl Debug for Analyses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Analyses")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    namespace: String,
    name: String,
    phase: &'static str,
    /// Upstream does not say whose run it is.
    rollout: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MetricLabels {
    namespace: String,
    name: String,
    metric: String,
    r#type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    namespace: String,
    name: String,
    metric: String,
    r#type: String,
    dry_run: &'static str,
    phase: &'static str,
}

impl Collector for Analyses {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (runs, templates) = self.read();
        let info = runs.iter().map(|run| run_labels(run));
        family(&mut encoder, "analysis_run_info", "Information about a run of an analysis", info)?;
        let phases = runs.iter().flat_map(|run| phase_labels(run));
        let help = "How far a metric of a run is: 1 for its phase";
        family(&mut encoder, "analysis_run_metric_phase", help, phases)?;
        let types = runs.iter().flat_map(|run| metric_labels(&Key::of(&run.metadata), &metrics(run)));
        family(&mut encoder, "analysis_run_metric_type", "The provider of a metric of a run", types)?;
        let info = templates.iter().map(|(key, _)| labels(key));
        family(&mut encoder, "analysis_template_info", "Information about a template", info)?;
        let metrics = templates.iter().flat_map(|(key, spec)| metric_labels(key, &spec.metrics));
        family(
            &mut encoder,
            "analysis_template_metric_info",
            "The provider of a metric of a template",
            metrics,
        )
    }
}

impl Analyses {
    fn read(&self) -> (Vec<Arc<AnalysisRun>>, Vec<Template>) {
        let caches = self.caches.read();
        let analyses = caches.analyses();
        let runs = analyses.runs().filter_map(|key| analyses.run(key));
        let templates =
            analyses.template_keys().filter_map(|key| Some((key.clone(), analyses.template(key)?)));
        (runs.filter(|run| self.served.is(run)).cloned().collect(), templates.collect())
    }
}

/// One gauge, which is 1 for each of these.
fn family<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = L>,
) -> Result<(), fmt::Error> {
    let one = ConstGauge::new(1_i64);
    let mut family = encoder.encode_descriptor(name, help, None, one.metric_type())?;
    for labels in series {
        one.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn run_labels(run: &AnalysisRun) -> RunLabels {
    let Key { namespace, name } = Key::of(&run.metadata);
    let phase = run.status.as_ref().map(|status| status.phase).unwrap_or_default().as_str();
    let rollout = controller(run).map(|(name, _)| name).unwrap_or_default();
    RunLabels { namespace, name, phase, rollout }
}

/// The metrics of a run, by the names that its status has too: arguments may stand in them.
fn metrics(run: &AnalysisRun) -> Cow<'_, [Metric]> {
    let written = &run.spec.metrics;
    let whole =
        if written.iter().any(|metric| metric.name.contains("{{")) { filled(&run.spec).ok() } else { None };
    whole.map_or(Cow::Borrowed(written), Cow::Owned)
}

fn phase_labels(run: &AnalysisRun) -> Vec<PhaseLabels> {
    let results = run.status.iter().flat_map(|status| &status.metric_results);
    let metrics = metrics(run);
    let of = |result: &MetricResult| {
        let Key { namespace, name } = Key::of(&run.metadata);
        let metric = metrics.iter().find(|metric| metric.name == result.name);
        PhaseLabels {
            namespace,
            name,
            metric: result.name.clone(),
            r#type: metric.map(provider).unwrap_or_default(),
            dry_run: if result.dry_run { "true" } else { "false" },
            phase: result.phase.as_str(),
        }
    };
    results.map(of).collect()
}

fn metric_labels(key: &Key, metrics: &[Metric]) -> Vec<MetricLabels> {
    let of = |metric: &Metric| MetricLabels {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        metric: metric.name.clone(),
        r#type: provider(metric),
    };
    metrics.iter().map(of).collect()
}

/// The name under which upstream tells of a provider: it begins with a capital letter.
fn provider(metric: &Metric) -> String {
    let name = match providers::name(&metric.provider) {
        Some("web") => "WebMetric",
        name => name.unwrap_or_default(),
    };
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_api::analysis::AnalysisRun;

    use super::{Key, metric_labels, metrics, phase_labels};

    #[test]
    fn a_metric_has_one_name_in_all_series_whatever_stands_in_it() {
        let run: AnalysisRun = serde_json::from_value(json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun",
            "metadata": {"name": "once", "namespace": "shop"},
            "spec": {
                "args": [{"name": "service", "value": "db"}],
                "metrics": [
                    {"name": "errors-{{args.service}}", "provider": {"web": {"url": "http://host/"}}},
                    {"name": "lag", "provider": {"job": {}}},
                ],
            },
            "status": {"phase": "Running", "metricResults": [
                {"name": "lag", "phase": "Running"}, {"name": "errors-db", "phase": "Running"},
            ]},
        }))
        .unwrap();
        let types = metric_labels(&Key::of(&run.metadata), &metrics(&run));
        let mut types: Vec<(String, String)> = types.into_iter().map(|it| (it.metric, it.r#type)).collect();
        types.reverse();
        let phases: Vec<(String, String)> =
            phase_labels(&run).into_iter().map(|it| (it.metric, it.r#type)).collect();
        assert_eq!(
            phases,
            [("lag", "Job"), ("errors-db", "WebMetric")]
                .map(|(name, r#type)| (name.to_owned(), r#type.to_owned()))
        );
        assert_eq!(types, phases);
    }
}
