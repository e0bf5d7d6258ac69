//! Whether a run went well: the budgets that were stated, the invariants of Windlass, and the end. Pure.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Serialize;
use windlass_engine::duration_words;
use windlass_sim::Attended;

use super::analyses::Analysis;
use super::setting::LIMIT;
use super::story::{Outcome, Seconds, Story};
use crate::cli::SimulateArguments;

/// What is to be said of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Verdict {
    pub(super) good: bool,
    pub(super) checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    pub(super) code: &'static str,
    pub(super) good: bool,
    pub(super) says: String,
}

/// The invariants, by the name under which the simulator finds them broken, and in words.
const INVARIANTS: [(&str, &str); 9] = [
    ("audit", "every decision passes the audit of the invariants"),
    ("I1/I6", "no more pods are on the new version than the steps and promotions allow"),
    ("I2", "no pod is deleted twice, or without having been looked at"),
    ("I3", "pods go back one at a time, and after an abort every pod is back"),
    ("I5", "everything that a person asked for is answered"),
    ("I7", "Healthy is only said when it is true"),
    ("I8", "nothing of Windlass is left on a set that it does not manage"),
    ("I9", "the run ends, or says who has to help"),
    ("rule 7", "nothing is written at rest"),
];

impl Verdict {
    pub(super) fn on(story: &Story, attended: &Attended, arguments: &SimulateArguments) -> Self {
        let mut checks = vec![ended(story, attended, arguments.abort_at)];
        checks.extend(arguments.max_unavailable.map(|allowed| unavailable(story, allowed)));
        checks.extend(arguments.max_duration.map(|allowed| {
            let allowed = SignedDuration::try_from(allowed).unwrap_or(SignedDuration::MAX);
            took(story, allowed)
        }));
        checks.extend(analysed(story));
        checks.extend(INVARIANTS.map(|(rule, says)| kept(attended, rule, says)));
        for rule in attended.outcome.violations.iter().map(|violation| violation.rule) {
            if checks.iter().all(|check| check.code != rule) {
                checks.push(kept(attended, rule, &format!("{rule} holds")));
            }
        }
        Self { good: checks.iter().all(|check| check.good), checks }
    }

    pub(super) fn is_good(&self) -> bool {
        self.good
    }
}

/// An invariant was kept, or when it was first broken and how.
fn kept(attended: &Attended, rule: &'static str, says: &str) -> Check {
    let found = attended.outcome.violations.iter().find(|violation| violation.rule == rule);
    let says = match found {
        Some(violation) => {
            let at = Seconds(violation.at.duration_since(attended.began)).stamp();
            format!("{says}: not at {at}, {}", violation.what)
        }
        None => says.to_owned(),
    };
    Check { code: rule, good: found.is_none(), says }
}

/// It ended as it was meant to.
fn ended(story: &Story, attended: &Attended, abort_at: Option<u32>) -> Check {
    let (good, says) = match (story.end.outcome, abort_at) {
        (Outcome::Completed, None) => (true, "every pod is on the new version".to_owned()),
        (Outcome::Completed, Some(step)) => {
            (false, format!("every pod is on the new version, though it was to be aborted at step {step}"))
        }
        (Outcome::Aborted, Some(step)) => {
            (true, format!("aborted at step {step}, and every pod is back on the old version"))
        }
        (Outcome::Aborted, None) => {
            (false, "the run was aborted, and every pod is back on the old version".to_owned())
        }
        (Outcome::StandsStill, _) => (false, format!("the run stands still for good: {}", story.end.message)),
        (Outcome::Unfinished, _) => {
            let limit = duration_words(SignedDuration::try_from(LIMIT).unwrap_or(SignedDuration::MAX));
            (false, format!("the run was not over after {limit}, and no longer was looked at"))
        }
        (Outcome::NeverBegan, _) => {
            let why = attended.outcome.stuck.first().unwrap_or(&story.end.message);
            (false, format!("the run never began: {why}"))
        }
    };
    Check { code: "end", good, says }
}

/// Every analysis that came to a verdict, if there was one: good if the last one of each place is.
fn analysed(story: &Story) -> Option<Check> {
    let last: BTreeMap<Option<usize>, &Analysis> =
        story.analyses.iter().map(|analysis| (analysis.step, analysis)).collect();
    let good = !last.values().any(|analysis| analysis.is_bad());
    // What is wrong is not to be looked for among what is right.
    let told = last.values().filter(|analysis| good || analysis.is_bad());
    let words: Vec<String> = told.map(|analysis| analysis.words()).collect();
    (!words.is_empty()).then(|| Check { code: "analyses", good, says: words.join("; ") })
}

fn unavailable(story: &Story, allowed: u32) -> Check {
    let most = story.pods_down_at_once;
    let when = story.down_since.map(|since| format!(", first at {}", since.stamp())).unwrap_or_default();
    let says = format!("at most {allowed} unavailable at once: there were {most}{when}");
    Check { code: "maxUnavailable", good: most <= allowed, says }
}

fn took(story: &Story, allowed: SignedDuration) -> Check {
    let says = format!("over within {}: it took {}", duration_words(allowed), duration_words(story.end.at.0));
    Check { code: "maxDuration", good: story.end.at.0 <= allowed, says }
}
