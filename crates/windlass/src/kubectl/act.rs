//! What people do to a rollout: the status patches and spec fields that upstream's users know.

use std::process::ExitCode;
use std::time::Duration;

use kube::runtime::wait::await_condition;
use serde_json::json;
use windlass_api::rollout_plugin::{PauseCondition, RolloutPlugin, RolloutPluginStatus};
use windlass_engine::{Intent, Journey, Memo, Run};

use super::permit::{permit, permit_promotion, permit_resume};
use super::picture::Rolling;
use super::reach::Reach;
use super::render;
use super::terminal::Terminal;
use crate::failure::Failure;

/// How long the controller has to take a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a promotion is tried when others write at the same moment.
const ATTEMPTS: usize = 5;

/// Promotes the pause that is shown, and no other: a write that comes between is looked at before trying again.
pub(super) async fn promote(reach: &Reach, name: &str) -> Result<ExitCode, Failure> {
    promoted(reach, &ask_for_promotion(reach, name).await?).await
}

/// Promotes, and says nothing.
pub(crate) async fn ask_for_promotion(reach: &Reach, name: &str) -> Result<RolloutPlugin, Failure> {
    let mut rollout = reach.rollout(name).await?;
    permit_promotion(&rollout)?;
    let shown = shown_pause(&rollout);
    for _ in 0..ATTEMPTS {
        let version = &rollout.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"pauseConditions": null}});
        match reach.patch_status(name, &patch).await {
            Ok(rollout) => return Ok(rollout),
            Err(kube::Error::Api(status)) if status.code == 409 => rollout = reach.rollout(name).await?,
            Err(error) => return Err(reach.no_rollout(name, &error)),
        }
        if shown_pause(&rollout) != shown {
            return Err(Failure::Refused(format!(
                "rollout {name}: the pause that was shown is over, so nothing was promoted\nLook again: kubectl windlass get {name}"
            )));
        }
    }
    Err(Failure::Refused(format!("rollout {name} keeps changing, so nothing was promoted; try again")))
}

/// The pause that is shown, and the revision it is shown for.
fn shown_pause(rollout: &RolloutPlugin) -> (Option<Vec<PauseCondition>>, Option<String>) {
    let status = rollout.status.clone().unwrap_or_default();
    (status.pause_conditions, status.updated_revision)
}

/// Waits a moment for the controller to go on, so that whoever looks next does not see the old pause.
async fn promoted(reach: &Reach, rollout: &RolloutPlugin) -> Result<ExitCode, Failure> {
    let gone_on = |rollout: Option<&RolloutPlugin>| {
        rollout.and_then(|rollout| rollout.status.as_ref()).is_none_or(|status| {
            !status.controller_pause
                || status.pause_conditions.as_ref().is_some_and(|shown| !shown.is_empty())
        })
    };
    let name = rollout.name();
    let answer = tokio::time::timeout(PATIENCE, await_condition(reach.rollouts(), name, gone_on)).await;
    done(rollout, "promoted")?;
    if !matches!(answer, Ok(Ok(_))) {
        Terminal::warn(&format!(
            "No controller answered within {} seconds. The promotion stays in the status and is answered when one \
             runs; is `windlass controller` running?",
            PATIENCE.as_secs()
        ));
    }
    if rollout.spec.paused {
        let name = rollout.name();
        Terminal::warn(&format!("A person's pause is still on; take it off: kubectl windlass resume {name}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Holds a rollout where it is.
pub(super) async fn pause(reach: &Reach, name: &str) -> Result<ExitCode, Failure> {
    let rollout = reach.rollout(name).await?;
    if rollout.spec.paused {
        return done(&rollout, "paused already");
    }
    done(&reach.patch(name, &json!({"spec": {"paused": true}})).await?, "paused")
}

/// Takes a person's pause off.
pub(super) async fn resume(reach: &Reach, name: &str) -> Result<ExitCode, Failure> {
    permit_resume(&reach.rollout(name).await?)?;
    done(&reach.patch(name, &json!({"spec": {"paused": false}})).await?, "resumed")
}

/// Sets a flag in the status, and waits a moment for the controller to take it.
pub(super) async fn trigger(reach: &Reach, name: &str, intent: Intent) -> Result<ExitCode, Failure> {
    let before = reach.rollout(name).await?;
    let asked = ask_for(reach, &before, intent).await?;
    let taken = move |rollout: Option<&RolloutPlugin>| {
        rollout.and_then(|rollout| rollout.status.as_ref()).is_none_or(|status| !flag(status, intent))
    };
    let answer = tokio::time::timeout(PATIENCE, await_condition(reach.rollouts(), name, taken)).await;
    match answer {
        Ok(Ok(Some(after))) => answered(reach, intent, &before, &after).await,
        Ok(Ok(None)) => Err(Failure::Refused(format!("rollout {name} was deleted meanwhile"))),
        Ok(Err(_)) | Err(_) => {
            done(&asked, &format!("{} requested", name_of(intent)))?;
            Terminal::warn(&format!(
                "No controller answered within {} seconds. The request stays in the status (status.{}) and is answered \
                 when one runs; is `windlass controller` running?",
                PATIENCE.as_secs(),
                flag_name(intent)
            ));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Sets a flag in the status, if that makes sense as things stand.
pub(crate) async fn ask_for(
    reach: &Reach,
    rollout: &RolloutPlugin,
    intent: Intent,
) -> Result<RolloutPlugin, Failure> {
    permit(rollout, intent)?;
    let patch = json!({"status": {flag_name(intent): true}});
    let asked = reach.patch_status(rollout.name(), &patch).await;
    asked.map_err(|error| reach.no_rollout(rollout.name(), &error))
}

async fn answered(
    reach: &Reach,
    intent: Intent,
    before: &RolloutPlugin,
    after: &RolloutPlugin,
) -> Result<ExitCode, Failure> {
    if !came_true(intent, before, after) {
        let why = reach.rejection(after).await;
        let why = why.unwrap_or_else(|| "the controller did not follow; its events say why".to_owned());
        return Err(Failure::Refused(format!("rollout {}: {why}", after.name())));
    }
    done(after, past_tense(intent))?;
    if let Some(status) = after.told() {
        Terminal::new().print(&render::phase_line(status.phase.as_deref(), status.message.as_deref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the controller made of a request, read off its memory.
fn came_true(intent: Intent, before: &RolloutPlugin, after: &RolloutPlugin) -> bool {
    let (old, new) = (before.memo(), after.memo());
    match intent {
        Intent::Abort => new.run.as_ref().is_some_and(Run::is_aborted),
        Intent::Restart => {
            let restarts = |memo: &Memo| memo.run.as_ref().map_or(0, |run| run.restarts);
            restarts(&new) > restarts(&old)
        }
        Intent::PromoteFull | Intent::Promote => match &new.run {
            None => true,
            Some(run) => matches!(run.journey, Journey::Completing),
        },
    }
}

fn flag(status: &RolloutPluginStatus, intent: Intent) -> bool {
    match intent {
        Intent::Abort => status.abort,
        Intent::Restart => status.restart,
        Intent::PromoteFull => status.promote_full,
        Intent::Promote => false,
    }
}

fn flag_name(intent: Intent) -> &'static str {
    match intent {
        Intent::Abort => "abort",
        Intent::Restart => "restart",
        Intent::PromoteFull | Intent::Promote => "promoteFull",
    }
}

fn name_of(intent: Intent) -> &'static str {
    match intent {
        Intent::Abort => "abort",
        Intent::Restart => "restart",
        Intent::PromoteFull => "full promotion",
        Intent::Promote => "promotion",
    }
}

fn past_tense(intent: Intent) -> &'static str {
    match intent {
        Intent::Abort => "aborted",
        Intent::Restart => "restarted",
        Intent::PromoteFull => "promoted fully",
        Intent::Promote => "promoted",
    }
}

/// `rolloutplugin.argoproj.io/web promoted`, as kubectl says it.
fn done(rollout: &RolloutPlugin, what: &str) -> Result<ExitCode, Failure> {
    Terminal::new().print(&format!("{} {what}\n", rollout.spoken()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
#[path = "act_tests.rs"]
mod tests;
