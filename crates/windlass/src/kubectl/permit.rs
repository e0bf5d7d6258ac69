//! What makes sense as things stand, by the rules of the controller, so that a person hears "no" at once instead of
//! finding an event later. The controller still has the last word.

use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Intent, Journey, Outcome, Rejection, Run, reject_words};

use super::picture::Rolling;
use crate::failure::Failure;

/// Waits during which the controller touches nothing and answers nothing.
const STANDS_STILL: [&str; 4] = ["InvalidSpec", "WorkloadMissing", "WorkloadCannotBeHeld", "WorkloadTaken"];

/// May this be asked for?
pub(super) fn permit(rollout: &RolloutPlugin, intent: Intent) -> Result<(), Failure> {
    let memo = rollout.memo();
    let completed = memo.ended.as_ref().is_some_and(|ending| ending.outcome == Outcome::Completed);
    let rejection = match (intent, &memo.run) {
        _ if stands_still(rollout) => Some(Rejection::CannotAct),
        (Intent::Abort, None) if completed => Some(Rejection::Completed),
        (Intent::Restart, None) => Some(Rejection::NotAborted),
        (_, None) => Some(Rejection::NoRun),
        (intent, Some(run)) => against(intent, run),
    };
    match rejection {
        None => Ok(()),
        Some(rejection) => Err(refused(rollout, &reject_words(intent, &rejection))),
    }
}

fn against(intent: Intent, run: &Run) -> Option<Rejection> {
    match (intent, &run.journey) {
        (Intent::Abort, Journey::Aborting { .. } | Journey::Aborted { .. }) => {
            Some(Rejection::AlreadyAborted)
        }
        (Intent::Restart, Journey::Aborting { .. } | Journey::Aborted { .. }) => None,
        (Intent::Restart, _) => Some(Rejection::NotAborted),
        (_, Journey::Aborting { .. } | Journey::Aborted { .. }) => Some(Rejection::Aborted),
        (_, Journey::Returning) => Some(Rejection::Returning),
        _ => None,
    }
}

/// May the pause that is shown be promoted?
pub(super) fn permit_promotion(rollout: &RolloutPlugin) -> Result<(), Failure> {
    let status = rollout.status.as_ref();
    let shown =
        status.and_then(|status| status.pause_conditions.as_ref()).is_some_and(|shown| !shown.is_empty());
    if shown {
        return Ok(());
    }
    if rollout.spec.paused {
        let name = rollout.name();
        return Err(refused(
            rollout,
            &format!("a person paused it; go on with: kubectl windlass resume {name}"),
        ));
    }
    permit(rollout, Intent::Promote)?;
    let name = rollout.name();
    Err(refused(
        rollout,
        &format!(
            "no pause is on, so there is none to promote; skip all steps: kubectl windlass promote {name} --full"
        ),
    ))
}

/// Nothing is touched until a person mends something.
pub(super) fn stands_still(rollout: &RolloutPlugin) -> bool {
    let waits = rollout.told().map(|status| status.waits.as_slice()).unwrap_or_default();
    waits.iter().any(|wait| STANDS_STILL.contains(&wait.reason.as_str()))
}

/// May a person's pause be taken off?
pub(super) fn permit_resume(rollout: &RolloutPlugin) -> Result<(), Failure> {
    if rollout.spec.paused {
        return Ok(());
    }
    let name = rollout.name();
    Err(match permit_promotion(rollout) {
        Ok(()) => refused(
            rollout,
            &format!("no person paused it, it holds at a step; go on with: kubectl windlass promote {name}"),
        ),
        Err(_) => refused(rollout, "it is not paused"),
    })
}

/// A refusal, with what is waited for instead.
fn refused(rollout: &RolloutPlugin, why: &str) -> Failure {
    let status = rollout.told();
    let message = status.and_then(|status| status.message.as_deref());
    let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or_default();
    let now = match (message, rollout.is_seen()) {
        (_, false) => {
            "\nNo controller has looked at its latest change yet; is `windlass controller` running?"
                .to_owned()
        }
        (Some(message), true) => format!("\nIt is {phase}: {message}"),
        (None, true) => format!("\nIt is {phase}."),
    };
    Failure::Refused(format!("rollout {}: {why}{now}", rollout.name()))
}

#[cfg(test)]
#[path = "permit_tests.rs"]
mod tests;
