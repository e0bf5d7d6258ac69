//! The answer for one rollout: its forecast and what may surprise, or everything that is wrong. Pure.

use serde::Serialize;
use windlass_api::Front;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Flaw, Reason, Refusal, explain};

use super::checks;
use super::facts::Facts;
use super::forecast::{Forecast, forecast};
use super::warnings::{Warning, warnings};
use crate::files::Place;
use crate::kubectl::render::step_words;

/// The answer for one rollout.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) rollout: Subject,
    pub(crate) workload: Subject,
    /// Why nothing will happen at all.
    pub(crate) wrong: Vec<Problem>,
    /// What will happen; none when something is wrong.
    pub(crate) plan: Option<Forecast>,
    pub(crate) warnings: Vec<Warning>,
}

/// An object, and where it was read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Subject {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) place: Option<Place>,
}

/// Something that is wrong, and where.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    pub(crate) message: String,
    #[serde(flatten)]
    pub(crate) place: Option<Place>,
}

impl Subject {
    /// The rollout itself.
    pub(crate) fn rollout(rollout: &RolloutPlugin, place: Option<Place>) -> Self {
        Self {
            kind: "RolloutPlugin".to_owned(),
            namespace: rollout.metadata.namespace.clone().unwrap_or_default(),
            name: rollout.metadata.name.clone().unwrap_or_default(),
            place,
        }
    }

    /// What it says its workload is.
    pub(crate) fn workload(rollout: &RolloutPlugin, place: Option<Place>) -> Self {
        let reference = &rollout.spec.workload_ref;
        Self {
            kind: reference.kind.clone(),
            namespace: rollout.metadata.namespace.clone().unwrap_or_default(),
            name: reference.name.clone(),
            place,
        }
    }
}

/// Every flaw of a rollout's specification.
pub(crate) fn flaws(rollout: &RolloutPlugin) -> Vec<Flaw> {
    match rollout.asked().plan {
        Ok(plan) => plan.not_served(),
        Err(flaws) => flaws,
    }
}

/// Why a workload cannot be had, and what would help.
pub(crate) fn refusal_words(refusal: &Refusal) -> String {
    let words = explain(&Reason::Refused(refusal.clone()));
    format!("{}; {}", words.headline, words.ends_when)
}

impl Report {
    /// A report on a rollout of which something is wrong.
    pub(crate) fn wrong(rollout: Subject, workload: Subject, wrong: Vec<Problem>) -> Self {
        Self { rollout, workload, wrong, plan: None, warnings: Vec::new() }
    }

    /// A report on a rollout whose workload was found. A problem of the workload has the workload's place.
    pub(crate) fn on(facts: &Facts, rollout: Subject, workload: Subject) -> Self {
        let place = workload.place.clone();
        let (plan, seen) = match (facts.rollout.asked().plan, facts.observe()) {
            (Ok(plan), Ok(seen)) => (plan, seen),
            (Err(flaws), _) => {
                let problem = |flaw: Flaw| Problem { message: flaw.text, place: rollout.place.clone() };
                let wrong = flaws.into_iter().map(problem).collect();
                return Self::wrong(rollout, workload, wrong);
            }
            (Ok(_), Err(refusal)) => {
                let problem = Problem { message: refusal_words(&refusal), place };
                return Self::wrong(rollout, workload, vec![problem]);
            }
        };
        let checks = checks::forecast(&facts.rollout, &plan, &facts.templates);
        let forecast = forecast(&plan, facts, &seen, &step_words(&facts.rollout), checks);
        let warnings = warnings(&plan, facts, &seen, &forecast);
        Self { rollout, workload, wrong: Vec::new(), plan: Some(forecast), warnings }
    }
}
