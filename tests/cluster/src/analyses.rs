//! Templates and rollouts with analyses, as people write them, and what is seen of their runs.

use kube::Api;
use kube::api::ListParams;
use windlass_api::analysis::AnalysisRun;

use crate::prometheus::Prometheus;
use crate::wait::until;
use crate::world::World;

/// A template whose one metric is the error rate of a revision, as this Prometheus sees it. `rules` are further fields of
/// the metric, as YAML flow pairs such as `interval: 1s, count: 3`.
pub fn error_rate(name: &str, prometheus: &Prometheus, rules: &str) -> String {
    let rate = |counter: &str| format!("sum(rate({counter}{{revision=\"{{{{args.revision}}}}\"}}[3s]))");
    template(
        name,
        // Until there is a series there is nothing to judge.
        &format!("successCondition: 'len(result) == 0 || isNaN(result[0]) || result[0] < 0.1', {rules}"),
        &format!(
            "{{prometheus: {{address: '{}', query: '{} / {}', timeout: 5}}}}",
            prometheus.url(),
            rate("errors_total"),
            rate("requests_total")
        ),
    )
}

/// A template with one metric of its own name, and an argument `revision`.
pub fn template(name: &str, rules: &str, provider: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {{name: {name}}}
spec:
  args: [{{name: revision, value: none}}]
  metrics:
  - {{name: {name}, {rules}, provider: {provider}}}
"
    )
}

/// A step that waits for the analysis by a template, with the wanted revision as its argument.
pub fn step(template: &str, more: &str) -> String {
    format!("{{analysis: {}}}", block(template, more))
}

/// The analysis by a template, with the wanted revision as its argument.
pub fn block(template: &str, more: &str) -> String {
    let revision = "{name: revision, valueFrom: {podTemplateHashValue: Latest}}";
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    format!("{{templates: [{{templateName: {template}}}], args: [{revision}]{more}}}")
}

/// A rollout with an analysis beside its steps.
pub fn watched_rollout(name: &str, steps: &[&str], background: &str) -> String {
    let rollout = crate::manifests::rollout(name, steps);
    rollout.replace("    canary:\n", &format!("    canary:\n      analysis: {background}\n"))
}

impl World {
    /// The runs of analyses in the namespace, oldest first.
    pub async fn analysis_runs(&self) -> Vec<AnalysisRun> {
        let api: Api<AnalysisRun> = Api::namespaced(self.client(), &self.namespace);
        let mut runs = api.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
        let age = |run: &AnalysisRun| run.metadata.creation_timestamp.as_ref().map(|time| time.0);
        runs.sort_by_key(|run| (age(run), run.metadata.name.clone()));
        runs
    }

    /// Waits for a run of an analysis that is so.
    pub async fn until_run(&self, what: &str, is_so: impl Fn(&AnalysisRun) -> bool) -> AnalysisRun {
        until(what, async || self.analysis_runs().await.into_iter().find(|run| is_so(run))).await
    }

    /// Waits for a run of an analysis in this phase.
    pub async fn until_run_phase(&self, phase: windlass_api::analysis::Phase) -> AnalysisRun {
        let what = format!("a run is {}", phase.as_str());
        self.until_run(&what, |run| run.status.as_ref().is_some_and(|status| status.phase == phase)).await
    }
}
