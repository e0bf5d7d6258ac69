//! The conditions, with upstream's types, reasons and messages, and two that kstatus reads (Reconciling, Stalled).

use jiff::Timestamp;
use windlass_engine::{AbortCause, Decision, Journey, Reason, Refusal, Run, Standing, explain};

use super::front::time;
use super::spec::RolloutPlugin;
use super::status::{Condition, RolloutPluginStatus};
use crate::front::Circumstances;

pub(super) const INVALID_SPEC: &str = "InvalidSpec";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const HEALTHY: &str = "Healthy";
pub(super) const PAUSED: &str = "Paused";
pub(super) const COMPLETED: &str = "Completed";
pub(super) const UNGUARDED: &str = "UnguardedUpdate";
/// The condition that says whether what holds a new template is guarded.
pub const HOLD_GUARDED: &str = "HoldGuarded";
pub(super) const SPEC_WARNING: &str = "SpecWarning";
const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";

pub(super) const RECONCILIATION_ERROR: &str = "ReconciliationError";
const REASON_PROGRESSING: &str = "RolloutPluginProgressing";
const REASON_PAUSED: &str = "RolloutPluginPaused";
const RESUMED_MESSAGE: &str = "RolloutPlugin resumed";

/// What a condition should say; `None` means it should not be there.
type Said = Option<(&'static str, &'static str, String)>;

/// The new list of conditions.
pub(super) fn conditions(
    rollout: &RolloutPlugin,
    old: &RolloutPluginStatus,
    new: &RolloutPluginStatus,
    now: Timestamp,
    decision: &Decision,
    circumstances: Circumstances<'_>,
) -> Vec<Condition> {
    let mut list = Conditions { list: old.conditions.clone(), now };
    list.put(INVALID_SPEC, invalid_spec(decision));
    list.put(PROGRESSING, progressing(rollout, old, decision, circumstances.failure));
    list.put(PAUSED, paused(old, decision));
    list.put(HEALTHY, healthy(old, decision));
    list.put(COMPLETED, completed(old, new, decision));
    list.put(UNGUARDED, unguarded(decision));
    list.put(HOLD_GUARDED, circumstances.guard.map(|it| (it.status, it.reason, it.message.clone())));
    list.put(SPEC_WARNING, spec_warning(decision));
    list.put(RECONCILING, reconciling(decision));
    list.put(STALLED, stalled(decision));
    list.list
}

/// The reason when an analysis ended a run, as upstream spells it.
const ANALYSIS_RUN_FAILED: &str = "AnalysisRunFailed";

struct Conditions {
    list: Vec<Condition>,
    now: Timestamp,
}

impl Conditions {
    /// Upstream's rule: identical ones stay untouched, a changed one moves to the end, and the time of transition
    /// stays while the status does.
    fn put(&mut self, type_: &str, said: Said) {
        let position = self.list.iter().position(|condition| condition.type_ == type_);
        let Some((status, reason, message)) = said else {
            if let Some(position) = position {
                self.list.remove(position);
            }
            return;
        };
        let old = position.map(|position| &self.list[position]);
        if old.is_some_and(|old| old.status == status && old.reason == reason && old.message == message) {
            return;
        }
        let transition = match old {
            Some(old) if old.status == status => old.last_transition_time.clone(),
            _ => None,
        };
        let condition = Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            last_update_time: Some(time(self.now)),
            last_transition_time: Some(transition.unwrap_or_else(|| time(self.now))),
            reason: reason.to_owned(),
            message,
        };
        if let Some(position) = position {
            self.list.remove(position);
        }
        self.list.push(condition);
    }
}

fn invalid_spec(decision: &Decision) -> Said {
    let reason = decision
        .reasons()
        .find(|reason| matches!(reason, Reason::Invalid { .. } | Reason::Refused(Refusal::Taken { .. })))?;
    Some(("True", INVALID_SPEC, explain(reason).headline))
}

fn progressing(
    rollout: &RolloutPlugin,
    old: &RolloutPluginStatus,
    decision: &Decision,
    failure: Option<&str>,
) -> Said {
    if let Some(error) = failure.map(str::to_owned).or_else(|| reconciliation_error(decision)) {
        return Some(("False", RECONCILIATION_ERROR, error));
    }
    if invalid_spec(decision).is_some() {
        return old.condition(PROGRESSING).and_then(unchanged);
    }
    let run = decision.memo.run.as_ref()?;
    let name = rollout.metadata.name.as_deref().unwrap_or_default();
    if run.progress.overdue || aborted_by(run) == Some(AbortCause::Deadline) {
        let seconds = deadline_seconds(rollout);
        let message = format!("RolloutPlugin {name} has timed out progressing after {seconds} seconds");
        return Some(("False", "ProgressDeadlineExceeded", message));
    }
    if let Some(blame) = run.blame.as_ref().filter(|_| aborted_by(run) == Some(AbortCause::Check)) {
        let message = format!("{} analysis phase error/failed: {}", blame.place.as_str(), blame.why);
        return Some(("False", ANALYSIS_RUN_FAILED, message));
    }
    if run.is_aborted() {
        return Some(("False", "RolloutPluginAborted", "Rollout manually aborted by user".to_owned()));
    }
    if decision.standing == Standing::Paused {
        return Some(("Unknown", REASON_PAUSED, "RolloutPlugin is paused".to_owned()));
    }
    if run.restarts > 0 {
        let message = format!("Rollout restarted from step 0 (attempt {})", run.restarts);
        return Some(("True", "RolloutPluginRestarted", message));
    }
    let resumed = old
        .condition(PROGRESSING)
        .is_some_and(|old| old.reason == REASON_PAUSED || old.message == RESUMED_MESSAGE);
    let message = if resumed { RESUMED_MESSAGE } else { "RolloutPlugin is progressing" };
    Some(("True", REASON_PROGRESSING, message.to_owned()))
}

fn unchanged(condition: &Condition) -> Said {
    let status = ["True", "False", "Unknown"].into_iter().find(|status| *status == condition.status)?;
    let reasons = [
        REASON_PROGRESSING,
        REASON_PAUSED,
        "RolloutPluginRestarted",
        "RolloutPluginAborted",
        ANALYSIS_RUN_FAILED,
    ];
    let reason = reasons.into_iter().find(|reason| *reason == condition.reason)?;
    Some((status, reason, condition.message.clone()))
}

/// The workload cannot be read or managed, though the spec is fine.
fn reconciliation_error(decision: &Decision) -> Option<String> {
    decision.reasons().find_map(|reason| {
        let text = explain(reason).headline;
        match reason {
            Reason::Refused(
                Refusal::Missing { .. } | Refusal::NotNamed { .. } | Refusal::ReplacesOnDeleteOnly { .. },
            ) => Some(format!("Failed to get resource status: {text}")),
            Reason::Refused(Refusal::RememberedByNewer { .. }) => Some(text),
            _ => None,
        }
    })
}

fn paused(old: &RolloutPluginStatus, decision: &Decision) -> Said {
    let message = "RolloutPlugin is paused".to_owned();
    if decision.standing == Standing::Paused {
        return Some(("True", REASON_PAUSED, message));
    }
    old.condition(PAUSED).map(|_| ("False", REASON_PAUSED, message))
}

fn healthy(old: &RolloutPluginStatus, decision: &Decision) -> Said {
    if decision.standing == Standing::Healthy {
        return Some(("True", "RolloutPluginHealthy", "RolloutPlugin is healthy".to_owned()));
    }
    old.condition(HEALTHY)
        .map(|_| ("False", "RolloutPluginHealthy", "RolloutPlugin is not healthy".to_owned()))
}

fn completed(old: &RolloutPluginStatus, new: &RolloutPluginStatus, decision: &Decision) -> Said {
    let completed = ("True", "RolloutPluginCompleted", "RolloutPlugin has completed".to_owned());
    let Some(run) = &decision.memo.run else {
        let was = old.condition(COMPLETED);
        let now = decision.standing == Standing::Healthy
            || was.is_some_and(|was| was.status == "True") && new.current_revision == new.updated_revision;
        return if now { Some(completed) } else { was.map(not_completed_unchanged) };
    };
    old.condition(COMPLETED)?;
    let message = format!("RolloutPlugin not completed, started update to revision {}", run.target);
    Some(("False", "RolloutPluginNotCompleted", message))
}

fn not_completed_unchanged(condition: &Condition) -> (&'static str, &'static str, String) {
    ("False", "RolloutPluginNotCompleted", condition.message.clone())
}

fn unguarded(decision: &Decision) -> Said {
    let ahead = &decision.memo.run.as_ref()?.ahead;
    if ahead.is_empty() {
        return None;
    }
    let pods: Vec<&str> = ahead.iter().map(windlass_engine::PodName::as_str).collect();
    let message =
        format!("nothing held the change when it was made; ahead of the first step: {}", pods.join(", "));
    Some(("True", UNGUARDED, message))
}

fn spec_warning(decision: &Decision) -> Said {
    if decision.cautions.is_empty() {
        return None;
    }
    let texts: Vec<&str> = decision.cautions.iter().map(|caution| caution.text.as_str()).collect();
    Some(("True", SPEC_WARNING, texts.join("; ")))
}

fn reconciling(decision: &Decision) -> Said {
    match decision.standing {
        Standing::Progressing => Some(("True", "Progressing", "the rollout is on its way".to_owned())),
        Standing::Paused => Some(("True", "Paused", "the rollout waits for time or a person".to_owned())),
        Standing::Healthy | Standing::Degraded => None,
    }
}

fn stalled(decision: &Decision) -> Said {
    if decision.standing != Standing::Degraded {
        return None;
    }
    let reason = match decision.memo.run.as_ref().and_then(aborted_by) {
        Some(AbortCause::Person) => "RolloutPluginAborted",
        Some(AbortCause::Deadline) => "ProgressDeadlineExceeded",
        Some(AbortCause::Check) => ANALYSIS_RUN_FAILED,
        None => decision.reasons().find(|reason| is_bad(reason)).map_or("Degraded", Reason::code),
    };
    Some(("True", reason, "the rollout needs a person: see status.waits".to_owned()))
}

fn is_bad(reason: &Reason) -> bool {
    reason.needs_person() || matches!(reason, Reason::Overdue { .. })
}

fn aborted_by(run: &Run) -> Option<AbortCause> {
    match run.journey {
        Journey::Aborting { cause, .. } | Journey::Aborted { cause, .. } => Some(cause),
        _ => None,
    }
}

fn deadline_seconds(rollout: &RolloutPlugin) -> i64 {
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or_default();
    super::plan::plan(rollout, namespace).map_or(0, |plan| plan.deadline.after.as_secs())
}
