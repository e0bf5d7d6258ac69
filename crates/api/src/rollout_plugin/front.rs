//! The `RolloutPlugin` as a front: what it asks for, and what is told about it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;
use windlass_engine::{
    CheckId, Decision, Flaw, Intents, Journey, Memo, Observation, Outcome, PodState, PodTrouble, Promotion,
    Reason, Refusal, Revision, Run, Seen, SeenCheck, Standing, Wait, explain,
};

use super::checks::{analyses, begin, canary, seen_check};
use super::conditions::conditions;
use super::events::{deleted, events};
use super::plan;
use super::spec::RolloutPlugin;
use super::status::{PauseCondition, PodNote, RolloutPluginStatus, WaitNote};
use crate::analysis::{AnalysisRun, AnalysisRunSpec};
use crate::front::{Asked, Circumstances, EventText, Front, Report, WorkloadTarget};

/// The reason of a pause condition that a step asked for, as upstream spells it.
pub(super) const CANARY_PAUSE_STEP: &str = "CanaryPauseStep";

/// The reason of a pause condition that an analysis asks for, as upstream spells it.
const INCONCLUSIVE_ANALYSIS_RUN: &str = "InconclusiveAnalysisRun";

/// The version of what is remembered; raised when an older program could not read it.
const MEMO_VERSION: u64 = 2;
/// The version of a memo without checks, which older programs read too.
const MEMO_WITHOUT_CHECKS: u64 = 1;

/// What the status remembers.
pub(super) enum Remembered {
    /// Nothing: the rollout is new, or its status is another controller's.
    Nothing,
    /// This.
    Memo(Box<Memo>),
    /// Something that cannot be read.
    Unreadable,
    /// Something of a newer version of this program.
    Newer(u64),
}

/// A memo as it is stored.
fn stored(memo: &Memo) -> Option<Value> {
    let mut memo = serde_json::to_value(memo).ok()?;
    let checked = memo.get("run").is_some_and(|run| {
        let of_checks = ["background", "backgroundBehind", "unmeasured", "undecided", "blame"];
        of_checks.iter().any(|key| run.get(*key).is_some())
            || run.pointer("/journey/part/does").is_some_and(|does| does == "check")
    });
    memo["version"] = if checked { MEMO_VERSION } else { MEMO_WITHOUT_CHECKS }.into();
    Some(memo)
}

impl Front for RolloutPlugin {
    type Status = RolloutPluginStatus;

    fn workload(&self) -> Result<WorkloadTarget, Flaw> {
        plan::workload(&self.spec, self.metadata.namespace.as_deref().unwrap_or_default())
    }

    fn asked(&self) -> Asked {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        let (memo, refusal) = match self.remembered() {
            Remembered::Memo(memo) => (*memo, None),
            Remembered::Nothing | Remembered::Unreadable => (Memo::default(), None),
            Remembered::Newer(version) => {
                (Memo::default(), Some(Refusal::RememberedByNewer { version, known: MEMO_VERSION }))
            }
        };
        let intents = self.intents(&memo);
        let analyses = analyses(&self.spec);
        Asked { plan: plan::plan(self, namespace), memo, intents, refusal, analyses }
    }

    fn report(
        &self,
        now: Timestamp,
        seen: &Seen,
        decision: &Decision,
        circumstances: Circumstances<'_>,
    ) -> Report<RolloutPluginStatus> {
        let now = whole_seconds(now);
        let failure = circumstances.failure;
        let old = self.status.clone().unwrap_or_default();
        let mut status = RolloutPluginStatus {
            observed_generation: self.metadata.generation,
            phase: Some(phase(decision.standing, failure).to_owned()),
            message: failure.map(str::to_owned).or_else(|| self.message(decision)),
            memo: match self.remembered() {
                // Not ours to lose.
                Remembered::Newer(_) => old.memo.clone(),
                _ => stored(&decision.memo),
            },
            waits: decision.waits.iter().map(wait_note).collect(),
            canary: match seen {
                Seen::Workload(Observation { checks, .. })
                | Seen::Refused { refusal: Refusal::Missing { .. } | Refusal::NotNamed { .. }, checks } => {
                    canary(&decision.memo, checks)
                }
                Seen::Refused { .. } => old.canary.clone(),
            },
            plugin_status: old.plugin_status.clone(),
            ..RolloutPluginStatus::default()
        };
        match seen {
            Seen::Workload(observation) => count(&mut status, observation, now),
            Seen::Refused { .. } => keep_counts(&mut status, &old),
        }
        self.tell_run(&mut status, &decision.memo);
        status.conditions = conditions(self, &old, &status, now, decision, circumstances);
        let events = events(self, &old, &status, decision);
        let urgent = status.essence() != old.essence() && !is_passing(&old, decision);
        Report { status, urgent, events }
    }

    fn begin(
        &self,
        check: CheckId,
        target: &Revision,
        spec: AnalysisRunSpec,
        taken: &dyn Fn(&str) -> bool,
    ) -> AnalysisRun {
        begin(self, check, target, spec, taken)
    }

    fn check(&self, run: &AnalysisRun) -> Option<SeenCheck> {
        seen_check(self, run)
    }

    fn farewell(&self) -> EventText {
        deleted()
    }
}

impl RolloutPlugin {
    /// What was remembered. A memo that cannot be read is no memo: the run is found again from what is seen.
    pub(super) fn remembered(&self) -> Remembered {
        let Some(status) = &self.status else { return Remembered::Nothing };
        if status.unreadable.is_some() {
            return Remembered::Unreadable;
        }
        let Some(memo) = &status.memo else { return Remembered::Nothing };
        match memo.get("version").and_then(Value::as_u64) {
            Some(version) if version > MEMO_VERSION => Remembered::Newer(version),
            _ => serde_json::from_value(memo.clone()).map_or(Remembered::Unreadable, Remembered::Memo),
        }
    }

    fn intents(&self, memo: &Memo) -> Intents {
        let Some(status) = &self.status else { return Intents::default() };
        let shown = memo.run.as_ref().and_then(shown_hold);
        let cleared = status.pause_conditions.as_ref().is_none_or(Vec::is_empty);
        Intents {
            abort: status.abort,
            restart: status.restart,
            promote_full: status.promote_full,
            promote: shown.filter(|_| status.controller_pause && cleared),
        }
    }

    fn steps(&self) -> usize {
        self.spec.strategy.canary.as_ref().map_or(0, |canary| canary.steps.len())
    }

    fn message(&self, decision: &Decision) -> Option<String> {
        let wait = decision.waits.first()?;
        let text = explain(&wait.reason).headline;
        let stage = decision.memo.run.as_ref().filter(|run| !run.is_aborted()).and_then(Run::stage);
        let says_the_step = matches!(
            wait.reason,
            Reason::HoldUntil { .. }
                | Reason::HoldForPerson { .. }
                | Reason::Checking { .. }
                | Reason::Undecided(_)
                | Reason::CheckAgain { .. }
        );
        Some(match stage {
            _ if matches!(wait.reason, Reason::Invalid { .. }) => format!("InvalidSpec: {text}"),
            Some(stage) if !says_the_step => format!("step {} of {}: {text}", stage + 1, self.steps()),
            _ => text,
        })
    }

    /// The fields that are about the run, the present one or the one before.
    fn tell_run(&self, status: &mut RolloutPluginStatus, memo: &Memo) {
        let steps = i32::try_from(self.steps()).unwrap_or(i32::MAX);
        let Some(run) = &memo.run else {
            let completed = memo.ended.as_ref().is_some_and(|ending| ending.outcome == Outcome::Completed);
            if completed {
                status.current_step_index = Some(steps);
                status.step = Some(format!("{steps}/{steps}"));
            }
            return;
        };
        let index = match run.journey {
            Journey::Completing => Some(steps),
            Journey::Returning => None,
            _ => run.stage().and_then(|stage| i32::try_from(stage).ok()),
        };
        status.current_step_index = index;
        status.step = index.map(|index| format!("{index}/{steps}"));
        let pauses = pauses(run);
        status.controller_pause = !pauses.is_empty();
        status.pause_conditions = Some(pauses).filter(|pauses| !pauses.is_empty());
        status.aborted = run.is_aborted();
        if let Journey::Aborting { at, .. } | Journey::Aborted { at, .. } = run.journey {
            status.aborted_revision = Some(run.target.to_string());
            status.aborted_at = Some(time(at));
        }
        status.restart_count = (run.restarts > 0).then(|| i32::try_from(run.restarts).unwrap_or(i32::MAX));
        status.restarted_at = run.restarted_at.map(time);
    }
}

/// The workload's controller has not answered a change yet. It will in a moment, and that is what is worth storing.
fn is_passing(old: &RolloutPluginStatus, decision: &Decision) -> bool {
    let same_memo = old.memo.is_some() && old.memo == stored(&decision.memo);
    same_memo
        && decision.announcements.is_empty()
        && !decision.waits.is_empty()
        && decision.reasons().all(|reason| *reason == Reason::ControllerLags)
}

fn pauses(run: &Run) -> Vec<PauseCondition> {
    let hold = run.holding_since().map(|since| (CANARY_PAUSE_STEP, since));
    let undecided = run.undecided.as_ref().map(|undecided| (INCONCLUSIVE_ANALYSIS_RUN, undecided.since));
    let pause = |(reason, since): (&str, Timestamp)| PauseCondition {
        reason: reason.to_owned(),
        start_time: time(since),
    };
    hold.into_iter().chain(undecided).map(pause).collect()
}

fn shown_hold(run: &Run) -> Option<Promotion> {
    let shown = run.holding_since().is_some() || run.undecided.is_some();
    shown.then(|| Promotion { target: run.target.clone(), stage: run.stage() })
}

fn count(status: &mut RolloutPluginStatus, seen: &Observation, now: Timestamp) {
    let number = |count: usize| Some(i32::try_from(count).unwrap_or(i32::MAX));
    status.current_revision = Some(seen.stable.to_string());
    status.updated_revision = Some(seen.target.to_string());
    status.replicas = number(seen.slots.len());
    status.updated_replicas = number(seen.pods_on(&seen.target).count());
    status.ready_replicas =
        number(seen.pods().filter(|pod| matches!(pod.state, PodState::Ready { .. })).count());
    status.available_replicas = number(seen.pods().filter(|pod| pod.is_available(now)).count());
}

fn keep_counts(status: &mut RolloutPluginStatus, old: &RolloutPluginStatus) {
    status.current_revision.clone_from(&old.current_revision);
    status.updated_revision.clone_from(&old.updated_revision);
    status.replicas = old.replicas;
    status.updated_replicas = old.updated_replicas;
    status.ready_replicas = old.ready_replicas;
    status.available_replicas = old.available_replicas;
}

fn phase(standing: Standing, failure: Option<&str>) -> &'static str {
    match standing {
        _ if failure.is_some() => "Degraded",
        Standing::Healthy => "Healthy",
        Standing::Progressing => "Progressing",
        Standing::Paused => "Paused",
        Standing::Degraded => "Degraded",
    }
}

fn wait_note(wait: &Wait) -> WaitNote {
    let words = explain(&wait.reason);
    WaitNote {
        reason: wait.reason.code().to_owned(),
        message: words.headline,
        ends_when: words.ends_when,
        since: wait.since.map(time),
        needs_person: wait.reason.needs_person(),
        pods: wait.reason.pods().iter().map(pod_note).collect(),
    }
}

fn pod_note(pod: &PodTrouble) -> PodNote {
    PodNote {
        name: pod.name.to_string(),
        revision: pod.revision.as_ref().map(ToString::to_string),
        state: windlass_engine::pod_words(pod.state.as_ref()),
        since: pod.since.map(time),
    }
}

/// Kubernetes counts in whole seconds; the memo keeps the exact moments.
pub(super) fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

pub(super) fn time(at: Timestamp) -> Time {
    Time(whole_seconds(at))
}
