//! `status`: waits until a rollout is healthy, degraded, or needs a person, and says which by its exit code.

use std::process::ExitCode;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use tokio::time::{Instant, timeout_at};
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_engine::{RolloutName, duration_words};
use windlass_workloads::{Holder, RevisionView, Snapshot, StatefulSetView, Workload, observe};

use super::follow::Follow;
use super::permit::stands_still;
use super::picture::{Picture, Rolling};
use super::reach::Reach;
use super::render;
use super::terminal::Terminal;
use crate::failure::Failure;

/// What a look at a rollout means to somebody who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Healthy,
    Degraded,
    NeedsPerson,
    NotYet,
}

impl Verdict {
    /// The documented exit code.
    fn code(self) -> u8 {
        match self {
            Self::Healthy => 0,
            Self::Degraded => 3,
            Self::NotYet => 4,
            Self::NeedsPerson => 5,
        }
    }
}

/// Waits for a rollout.
pub(super) async fn status(
    reach: &Reach,
    name: &str,
    timeout: Option<Duration>,
) -> Result<ExitCode, Failure> {
    let terminal = Terminal::new();
    let mut told = String::new();
    if timeout == Some(Duration::ZERO) {
        let picture = reach.picture(name).await?;
        tell(&terminal, &picture.rollout, &mut told)?;
        return Ok(ExitCode::from(judged(reach, &picture).await?.code()));
    }
    // A name that is wrong is said at once.
    reach.rollout(name).await?;
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut follow = Follow::new(reach, name, false);
    loop {
        let picture = match end {
            None => follow.next().await?,
            Some(end) => match timeout_at(end, follow.next()).await {
                Ok(picture) => picture?,
                Err(_) => return Ok(timed_out(name, timeout)),
            },
        };
        tell(&terminal, &picture.rollout, &mut told)?;
        match judged(reach, &picture).await? {
            Verdict::NotYet => {}
            verdict => return Ok(ExitCode::from(verdict.code())),
        }
    }
}

fn timed_out(name: &str, timeout: Option<Duration>) -> ExitCode {
    let after = timeout.and_then(|timeout| timeout.try_into().ok()).map(duration_words).unwrap_or_default();
    Terminal::warn(&format!("timed out after {after}; see what is waited for: kubectl windlass why {name}"));
    ExitCode::from(Verdict::NotYet.code())
}

/// What a rollout says of itself, in one line.
pub(crate) fn line(rollout: &RolloutPlugin) -> String {
    let status = rollout.told();
    let message = match status {
        None => Some("no controller has looked at it yet"),
        Some(status) => status.message.as_deref(),
    };
    render::phase_line(status.and_then(|status| status.phase.as_deref()), message)
}

/// One line per change.
fn tell(terminal: &Terminal, rollout: &RolloutPlugin, told: &mut String) -> Result<(), Failure> {
    let line = line(rollout);
    if line != *told {
        terminal.print(&line)?;
        *told = line;
    }
    Ok(())
}

/// What a look at a rollout means.
pub(crate) async fn judged(reach: &Reach, picture: &Picture) -> Result<Verdict, Failure> {
    let status = picture.rollout.told();
    let wanted = picture.set.as_ref().and_then(|set| set.status.as_ref()?.update_revision.as_ref());
    let shown = status.and_then(|status| status.updated_revision.as_ref());
    let revisions = match &picture.set {
        // Two names can mean the same template; only the revisions themselves tell.
        Some(set) if shown.is_some() && wanted != shown => reach.revisions(set).await?,
        _ => Vec::new(),
    };
    Ok(verdict(&picture.rollout, picture.set.as_ref(), &revisions))
}

/// Degraded counts at once, also while pods are still on their way back: whoever waits for the new version has the
/// answer. Nothing counts that was said before the latest change of the rollout or of its workload.
fn verdict(rollout: &RolloutPlugin, set: Option<&StatefulSet>, revisions: &[ControllerRevision]) -> Verdict {
    let Some(status) = rollout.told().filter(|_| rollout.is_seen()) else { return Verdict::NotYet };
    // A workload that is not looked at leaves old revisions in the status.
    if !stands_still(rollout) && set.is_some_and(|set| !is_latest(status, set, revisions)) {
        return Verdict::NotYet;
    }
    match status.phase.as_deref() {
        Some("Healthy") => Verdict::Healthy,
        Some("Degraded") => Verdict::Degraded,
        Some("Paused") if status.waits.iter().any(|wait| wait.needs_person) => Verdict::NeedsPerson,
        _ => Verdict::NotYet,
    }
}

/// The status is about the revision that the workload wants now.
fn is_latest(status: &RolloutPluginStatus, set: &StatefulSet, revisions: &[ControllerRevision]) -> bool {
    let view = StatefulSetView::of(set);
    if view.observed_generation < view.generation {
        return false;
    }
    let shown = status.updated_revision.as_deref().unwrap_or_default();
    shown == view.update_revision || {
        let revisions = revisions.iter().map(|revision| RevisionView::of(revision).into()).collect();
        let snapshot = Snapshot { workload: Workload::StatefulSet(view), pods: Vec::new(), revisions };
        observe(&snapshot, &RolloutName::new(""), Holder::Policy)
            .is_ok_and(|seen| seen.target.as_str() == shown)
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
