//! What came of it, for people and for programs. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use windlass_analysis::redact::Redactor;
use windlass_analysis::rules::Conditions;
use windlass_api::analysis::{Measurement, Phase};

use super::subjects::Measurable;
use crate::files::Place;

/// Everything that was measured.
#[derive(Serialize)]
pub(crate) struct Report {
    /// The worst of all metrics that decide.
    pub(crate) phase: Phase,
    analyses: Vec<Analysis>,
}

/// What came of a template or a run.
#[derive(Serialize)]
pub(crate) struct Analysis {
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) metrics: Vec<Outcome>,
}

/// What came of a metric.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    name: String,
    /// None for one that was left out.
    phase: Option<Phase>,
    value: String,
    why: String,
    dry_run: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

impl Outcome {
    pub(crate) fn new(metric: &Measurable, made: Measurement, redactor: &Redactor) -> Self {
        let why = if made.message.is_empty() {
            redactor.text(&good_because(&metric.conditions))
        } else {
            made.message
        };
        Self {
            name: metric.name.clone(),
            phase: Some(made.phase),
            value: made.value,
            why,
            dry_run: metric.dry_run,
            metadata: made.metadata,
        }
    }

    pub(crate) fn left_out(metric: &Measurable) -> Self {
        Self {
            name: metric.name.clone(),
            phase: None,
            value: String::new(),
            why: "only a cluster can answer it".to_owned(),
            dry_run: metric.dry_run,
            metadata: BTreeMap::new(),
        }
    }

    fn verdict(&self) -> &'static str {
        self.phase.map_or("left out", Phase::as_str)
    }
}

fn good_because(conditions: &Conditions) -> String {
    match (&conditions.success, &conditions.failure) {
        (Some(success), _) => format!("successCondition {:?} is true", success.text),
        (None, Some(failure)) => format!("failureCondition {:?} is false", failure.text),
        (None, None) => "there is no condition: every value is good".to_owned(),
    }
}

impl Report {
    pub(crate) fn new(analyses: Vec<Analysis>) -> Self {
        let (dry, deciding): (Vec<&Outcome>, Vec<&Outcome>) =
            analyses.iter().flat_map(|it| &it.metrics).partition(|it| it.dry_run);
        let worst = deciding.iter().filter_map(|it| it.phase).max();
        // If nothing that counts could be measured, nothing is known. What decides nothing counts where there is
        // nothing else.
        let heeded = if deciding.is_empty() { &dry } else { &deciding };
        let nothing = heeded.iter().all(|it| it.phase.is_none());
        let phase = if nothing { Phase::Error } else { worst.unwrap_or(Phase::Successful) };
        Self { phase, analyses }
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let namespaces: BTreeSet<&str> =
            self.analyses.iter().filter_map(|it| it.namespace.as_deref()).collect();
        for Analysis { kind, namespace, name, place, metrics } in &self.analyses {
            let namespace = namespace.as_ref().filter(|_| namespaces.len() > 1);
            let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
            // Writing into a text cannot fail.
            let _ = writeln!(out, "{kind} {namespace}{name} ({place})");
            let width = metrics.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
            for metric in metrics {
                let dry = if metric.dry_run { " (dry run: it decides nothing)" } else { "" };
                let value =
                    if metric.value.is_empty() { String::new() } else { format!("  {}", metric.value) };
                let _ = writeln!(out, "  {:width$}  {:<12}{value}{dry}", metric.name, metric.verdict());
                let _ = writeln!(out, "  {:width$}  {}", "", metric.why);
                for (name, text) in &metric.metadata {
                    let _ = writeln!(out, "  {:width$}  {name}: {text}", "");
                }
            }
        }
        let _ = writeln!(out, "{}", self.phase.as_str());
        // Nothing follows the last word of a line.
        let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }
}
