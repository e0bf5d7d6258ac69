//! The analyses of a run: when each began, when it was over, and what it came to. Pure.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_sim::AnalysisState;

use super::story::{Entry, Seconds, What};

/// One analysis.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Analysis {
    pub(super) name: String,
    /// The step that waits for it, counted from 1; none where it runs beside the steps.
    pub(super) step: Option<usize>,
    #[serde(rename = "fromSeconds")]
    pub(super) from: Seconds,
    #[serde(rename = "toSeconds")]
    pub(super) to: Seconds,
    /// What it came to, if it is over.
    pub(super) verdict: Option<String>,
    pub(super) why: String,
}

/// Every analysis, in the order in which they began.
pub(super) fn analyses(timeline: &[Entry], end: Seconds) -> Vec<Analysis> {
    let mut all: Vec<Analysis> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in timeline {
        let What::Analysis { analysis, step, state } = &entry.what else { continue };
        let index = *known.entry(analysis).or_insert_with(|| {
            all.push(Analysis {
                name: analysis.clone(),
                step: *step,
                from: entry.at,
                to: end,
                verdict: None,
                why: String::new(),
            });
            all.len() - 1
        });
        if let (AnalysisState::Over { verdict, why }, Some(one)) = (state, all.get_mut(index)) {
            (one.to, one.verdict, one.why) = (entry.at, Some(verdict.clone()), why.clone());
        }
    }
    all
}

/// Which analysis, in words.
pub(super) fn place_words(step: Option<usize>) -> String {
    match step {
        Some(step) => format!("the analysis of step {step}"),
        None => "the background analysis".to_owned(),
    }
}

/// What became of an analysis, if it is worth telling.
pub(super) fn state_words(step: Option<usize>, state: &AnalysisState) -> Option<String> {
    let place = place_words(step);
    match state {
        AnalysisState::Made => Some(format!("{place} begins")),
        AnalysisState::Measures | AnalysisState::AskedToEnd | AnalysisState::Gone => None,
        AnalysisState::Over { verdict, why } => Some(verdict_words(&place, verdict, why)),
    }
}

fn verdict_words(place: &str, verdict: &str, why: &str) -> String {
    match (verdict, why.is_empty()) {
        ("Successful", true) => format!("{place} passes"),
        // It was ended, because nobody waits for it any more.
        ("Successful", false) => format!("{place} ends"),
        ("Failed", _) => format!("{place} fails: {why}"),
        ("Inconclusive", _) => format!("{place} is inconclusive: {why}"),
        (_, _) => format!("{place} could not be measured: {why}"),
    }
}

impl Analysis {
    /// It is over, and not good.
    pub(super) fn is_bad(&self) -> bool {
        self.verdict.as_deref().is_some_and(|verdict| verdict != "Successful")
    }

    pub(super) fn words(&self) -> String {
        let place = place_words(self.step);
        match &self.verdict {
            Some(verdict) => verdict_words(&place, verdict, &self.why),
            None => format!("{place} still measures"),
        }
    }
}
