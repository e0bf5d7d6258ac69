//! The events, with upstream's reasons and texts where upstream has them. Each is told once: either the engine
//! announces a change, or a condition appears that was not there before.

use windlass_engine::{
    AbortCause, Announcement, Answer, CheckPlace, Decision, Intent, PodName, Verdict, reject_words,
};

use super::conditions::{INVALID_SPEC, PAUSED, PROGRESSING, RECONCILIATION_ERROR, SPEC_WARNING};
use super::front::Remembered;
use super::spec::RolloutPlugin;
use super::status::{AnalysisRunReference, RolloutPluginStatus};
use crate::front::{EventKind, EventText};

/// What people should hear of this decision.
pub(super) fn events(
    rollout: &RolloutPlugin,
    old: &RolloutPluginStatus,
    new: &RolloutPluginStatus,
    decision: &Decision,
) -> Vec<EventText> {
    let mut events: Vec<EventText> = decision
        .announcements
        .iter()
        .filter_map(|announcement| announced(rollout, announcement, decision))
        .collect();
    events.extend(runs(old, new, decision));
    events.extend(appeared(old, new, INVALID_SPEC, |_| true));
    events.extend(appeared(old, new, SPEC_WARNING, |_| true));
    events.extend(appeared(old, new, PROGRESSING, |reason| reason == RECONCILIATION_ERROR));
    events.extend(paused_by_person(old, new, decision));
    events.extend(repaired(rollout));
    events
}

/// The rollout is gone, and its workload is given back.
pub(super) fn deleted() -> EventText {
    normal("RolloutPluginDeleted", "RolloutPlugin deleted; its workload is given back as it is".to_owned())
}

fn announced(rollout: &RolloutPlugin, announcement: &Announcement, decision: &Decision) -> Option<EventText> {
    let name = rollout.metadata.name.as_deref().unwrap_or_default();
    Some(match announcement {
        Announcement::Started { target } | Announcement::Superseded { target, .. } => {
            normal("RolloutPluginProgressing", format!("RolloutPlugin updated to revision {target}"))
        }
        Announcement::Returning { abandoned, stable } => normal(
            "RolloutPluginReturning",
            format!(
                "template was put back from revision {abandoned}: every pod returns to revision {stable}"
            ),
        ),
        Announcement::Returned { stable } => {
            normal("RolloutPluginReturned", format!("every pod is back on revision {stable}"))
        }
        Announcement::HoldBegan { stage } => {
            normal("RolloutPluginPaused", format!("RolloutPlugin paused at step {stage}"))
        }
        Announcement::HoldEnded { stage } => {
            normal("RolloutPluginResumed", format!("RolloutPlugin resumed from pause at step {stage}"))
        }
        Announcement::Answered { intent, answer } => return answered(*intent, answer, decision),
        Announcement::Aborted { cause: AbortCause::Person } => {
            warning("RolloutPluginAborted", "RolloutPlugin aborted".to_owned())
        }
        Announcement::Aborted { cause: AbortCause::Deadline } => warning(
            "RolloutPluginAborted",
            "RolloutPlugin aborted due to progress deadline exceeded".to_owned(),
        ),
        Announcement::Aborted { cause: AbortCause::Check } => warning(
            "RolloutPluginAborted",
            match decision.memo.run.as_ref().and_then(|run| run.blame.as_ref()) {
                Some(blame) => {
                    format!("{} analysis phase error/failed: {}", blame.place.as_str(), blame.why)
                }
                None => "RolloutPlugin aborted by an analysis".to_owned(),
            },
        ),
        // Told by what the status says of their runs.
        Announcement::CheckBegan { .. } | Announcement::CheckPassed { .. } => return None,
        Announcement::Decided { place, name, verdict } => normal(
            "RolloutPluginPromoted",
            format!(
                "RolloutPlugin promoted past {} analysis run '{name}', which is {}",
                place.as_str().to_lowercase(),
                verdict.as_str()
            ),
        ),
        Announcement::Undecided { place, verdict } => {
            let why = decision.memo.run.as_ref().and_then(|run| run.undecided.as_ref());
            let why = why.map(|undecided| undecided.why.as_str()).unwrap_or_default();
            let note = format!(
                "{} analysis {}{}: everything is held until a person promotes or aborts: {why}",
                place.as_str(),
                verdict.as_str(),
                at_step(*place)
            );
            warning("InconclusiveAnalysisRun", note)
        }
        Announcement::CheckAgain { place } => warning(
            "AnalysisRunError",
            format!("{} analysis could not be measured{}; it begins again", place.as_str(), at_step(*place)),
        ),
        Announcement::Reverted { stable } => normal(
            "RolloutPluginReverted",
            format!("every pod is back on revision {stable}; the template is untouched"),
        ),
        Announcement::Overdue => warning(
            "ProgressDeadlineExceeded",
            format!("RolloutPlugin \"{name}\" has timed out progressing."),
        ),
        Announcement::Unguarded { pods } => {
            let pods: Vec<&str> = pods.iter().map(PodName::as_str).collect();
            warning(
                "UnguardedUpdate",
                format!(
                    "nothing held the change when it was made; ahead of the first step: {}",
                    pods.join(", ")
                ),
            )
        }
        Announcement::Completed { target } => {
            normal("RolloutPluginCompleted", format!("RolloutPlugin completed update to revision {target}"))
        }
    })
}

/// What the runs of analyses say that the status names, where it is new. The status does not name the run of a step that is
/// behind: that it has passed is what the rollout went on with.
fn runs(old: &RolloutPluginStatus, new: &RolloutPluginStatus, decision: &Decision) -> Vec<EventText> {
    let of = |status: &RolloutPluginStatus| {
        let canary = status.canary.clone().unwrap_or_default();
        [canary.current_step_analysis_run_status, canary.current_background_analysis_run_status]
    };
    let passed = |announcement: &Announcement| match announcement {
        Announcement::CheckPassed { name, .. } => {
            let status = Verdict::Successful.as_str().to_owned();
            Some(AnalysisRunReference { name: name.to_string(), status, message: String::new() })
        }
        _ => None,
    };
    let [step, background] = of(new);
    let [known_step, known_background] = of(old);
    let steps = decision.announcements.iter().filter_map(passed).chain(step);
    let all = steps.map(|it| ("Step", it, &known_step));
    let all = all.chain(background.map(|it| ("Background", it, &known_background)));
    all.filter_map(|(type_, run, known)| {
        let known = known.as_ref().filter(|known| known.name == run.name).map(|it| it.status.as_str());
        if known == Some(run.status.as_str()) {
            return None;
        }
        let (name, status) = (&run.name, &run.status);
        let known = known.unwrap_or("NoPreviousStatus");
        let note = format!("{type_} Analysis Run '{name}' Status New: '{status}' Previous: '{known}'");
        Some(match run.status.as_str() {
            "Failed" => warning("AnalysisRunFailed", note),
            "Error" => warning("AnalysisRunError", note),
            "Inconclusive" => warning("AnalysisRunInconclusive", note),
            "Successful" => normal("AnalysisRunSuccessful", note),
            _ => normal("AnalysisRunRunning", note),
        })
    })
    .collect()
}

fn at_step(place: CheckPlace) -> String {
    match place {
        CheckPlace::Stage(stage) => format!(" at step {stage}"),
        CheckPlace::Background => String::new(),
    }
}

/// An accepted abort or promotion is told by what it brings about.
fn answered(intent: Intent, answer: &Answer, decision: &Decision) -> Option<EventText> {
    match (intent, answer) {
        (_, Answer::Rejected(why)) => Some(warning("RolloutPluginRejected", reject_words(intent, why))),
        (Intent::Restart, Answer::Accepted) => {
            let attempt = decision.memo.run.as_ref().map_or(0, |run| run.restarts);
            let note = format!("Rollout restarted from step 0 (attempt {attempt})");
            Some(normal("RolloutPluginRestarted", note))
        }
        (Intent::PromoteFull, Answer::Accepted) => Some(normal(
            "RolloutPluginPromoted",
            "RolloutPlugin promoted fully: remaining steps are skipped".to_owned(),
        )),
        (Intent::Abort | Intent::Promote, Answer::Accepted) => None,
    }
}

/// A condition that says something new, and something that `matters`.
fn appeared(
    old: &RolloutPluginStatus,
    new: &RolloutPluginStatus,
    type_: &str,
    matters: impl Fn(&str) -> bool,
) -> Option<EventText> {
    let condition = new.condition(type_).filter(|condition| matters(&condition.reason))?;
    let known = old.condition(type_).is_some_and(|old| old.message == condition.message);
    let reason = [INVALID_SPEC, SPEC_WARNING, RECONCILIATION_ERROR]
        .into_iter()
        .find(|reason| *reason == condition.reason)?;
    (!known).then(|| warning(reason, condition.message.clone()))
}

/// What was remembered could not be read, and is replaced by what is seen.
fn repaired(rollout: &RolloutPlugin) -> Option<EventText> {
    matches!(rollout.remembered(), Remembered::Unreadable).then(|| {
        warning(
            "StatusRepaired",
            "the status could not be read (was it edited by hand?); the rollout goes on from what is seen"
                .to_owned(),
        )
    })
}

/// A person's pause has no announcement: the engine does not remember it, the condition does.
fn paused_by_person(
    old: &RolloutPluginStatus,
    new: &RolloutPluginStatus,
    decision: &Decision,
) -> Option<EventText> {
    let is_on = |status: &RolloutPluginStatus| {
        status.condition(PAUSED).is_some_and(|condition| condition.status == "True")
    };
    let by_person = |status: &RolloutPluginStatus| {
        is_on(status) && status.waits.first().is_some_and(|wait| wait.reason == "PausedByPerson")
    };
    let hold_told = decision
        .announcements
        .iter()
        .any(|told| matches!(told, Announcement::HoldBegan { .. } | Announcement::HoldEnded { .. }));
    match (by_person(old), by_person(new)) {
        (false, true) => Some(normal("RolloutPluginPaused", "RolloutPlugin is paused".to_owned())),
        (true, false) if !hold_told => {
            Some(normal("RolloutPluginResumed", "RolloutPlugin resumed".to_owned()))
        }
        _ => None,
    }
}

fn normal(reason: &'static str, note: String) -> EventText {
    EventText { kind: EventKind::Normal, reason, note }
}

fn warning(reason: &'static str, note: String) -> EventText {
    EventText { kind: EventKind::Warning, reason, note }
}
