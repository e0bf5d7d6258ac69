//! What must be remembered between two looks. All of it is stored in the rollout's status and nowhere else, so a
//! restarted controller equals a running one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::check::{Blame, CheckId, CheckPlace, Undecided};
use crate::names::{PodName, PodUid, Revision, WorkloadUid};

/// What must be remembered between two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memo {
    /// The workload this memory belongs to; one that was made again starts anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadUid>,
    /// The run under way, or aborted and not yet taken up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// How the latest run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ending>,
}

/// The life of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// What is wanted.
    pub target: Revision,
    /// What ran before.
    pub stable: Revision,
    /// When the target was first seen.
    pub started_at: Timestamp,
    /// Where the run is.
    pub journey: Journey,
    /// Observed progress, for the deadline.
    pub progress: Progress,
    /// Pods deleted, or about to be, so that they come back right; each until its successor was seen right.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub freed: BTreeMap<PodName, PodUid>,
    /// Pods that were on the target before anything held them back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ahead: BTreeSet<PodName>,
    /// How often a person started this target again.
    #[serde(default)]
    pub restarts: u32,
    /// When that was last done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarted_at: Option<Timestamp>,
    /// The check beside the stages has begun, for the so many-th time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<u32>,
    /// The latest check beside the stages that is behind, where somebody took it out of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_behind: Option<u32>,
    /// The check beside the stages could not be measured, or follows one that could not: nothing goes further before one
    /// has measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmeasured: bool,
    /// A check that a person has to decide about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The check that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum Journey {
    /// Going through the stages.
    Advancing {
        /// The stage, counted from zero.
        stage: usize,
        /// The part of it.
        part: Part,
    },
    /// Past the stages: every pod goes to the target.
    Completing,
    /// The template was put back to stable: every pod goes back, without steps.
    Returning,
    /// A person or a rule ended the run: every pod goes back to stable, the template stays.
    #[serde(rename_all = "camelCase")]
    Aborting {
        /// Who or what.
        cause: AbortCause,
        /// When.
        at: Timestamp,
        /// The stage that was left.
        stage: usize,
    },
    /// All pods are back on stable; waits for a restart or another target.
    #[serde(rename_all = "camelCase")]
    Aborted {
        /// Who or what.
        cause: AbortCause,
        /// When.
        at: Timestamp,
        /// The stage that was left.
        stage: usize,
    },
}

/// The part of a stage that is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "does")]
pub enum Part {
    /// Pods are being exposed.
    Expose,
    /// A check is on.
    Check {
        /// How often it was begun before.
        attempt: u32,
        /// Since when.
        since: Timestamp,
    },
    /// The hold is on.
    Hold {
        /// Since when.
        since: Timestamp,
    },
}

/// Who or what aborted a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AbortCause {
    /// A person.
    Person,
    /// The deadline passed without progress.
    Deadline,
    /// A check failed, or could not be measured.
    Check,
}

/// Observed progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The latest progress; absent while the clock stands still (paused or holding).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The most available pods on the target seen so far.
    pub best: u32,
    /// The deadline has passed since.
    #[serde(default)]
    pub overdue: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// What was wanted.
    pub target: Revision,
    /// What came of it.
    pub outcome: Outcome,
    /// When.
    pub at: Timestamp,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Every pod is on the target.
    Completed,
    /// The template was put back, and every pod with it.
    Returned,
    /// Another target came.
    Superseded,
}

impl Run {
    /// A run at its very beginning.
    pub fn start(now: Timestamp, target: Revision, stable: Revision) -> Self {
        Self {
            target,
            stable,
            started_at: now,
            journey: Journey::Advancing { stage: 0, part: Part::Expose },
            progress: Progress { at: Some(now), best: 0, overdue: false },
            freed: BTreeMap::new(),
            ahead: BTreeSet::new(),
            restarts: 0,
            restarted_at: None,
            background: None,
            background_behind: None,
            unmeasured: false,
            undecided: None,
            blame: None,
        }
    }

    /// Aborting or aborted.
    pub fn is_aborted(&self) -> bool {
        matches!(self.journey, Journey::Aborting { .. } | Journey::Aborted { .. })
    }

    /// The stage the run is at, or was at when it was aborted; none past the stages or on the way back.
    pub fn stage(&self) -> Option<usize> {
        match self.journey {
            Journey::Advancing { stage, .. }
            | Journey::Aborting { stage, .. }
            | Journey::Aborted { stage, .. } => Some(stage),
            Journey::Completing | Journey::Returning => None,
        }
    }

    /// What the workload is expected to want: the target, or stable once the template was put back.
    pub fn expects(&self) -> &Revision {
        match self.journey {
            Journey::Returning => &self.stable,
            _ => &self.target,
        }
    }

    /// The checks that this run waits for or listens to. All others are nobody's any more.
    pub fn checks(&self) -> impl Iterator<Item = CheckId> {
        let (stage, goes_on) = match self.journey {
            Journey::Advancing { stage, part: Part::Check { attempt, .. } } => (Some((stage, attempt)), true),
            Journey::Advancing { .. } | Journey::Completing => (None, true),
            Journey::Returning | Journey::Aborting { .. } | Journey::Aborted { .. } => (None, false),
        };
        let id = |place, attempt| CheckId { run: self.started_at, place, attempt };
        let stage = stage.map(|(stage, attempt)| id(CheckPlace::Stage(stage), attempt));
        let background = self.background.filter(|_| goes_on).map(|it| id(CheckPlace::Background, it));
        stage.into_iter().chain(background)
    }

    /// From now on it waits for the check after this one.
    pub(crate) fn listen_to_the_next(&mut self, id: CheckId, now: Timestamp) {
        let attempt = id.attempt.saturating_add(1);
        match (id.place, &mut self.journey) {
            (CheckPlace::Background, _) => self.background = Some(attempt),
            (CheckPlace::Stage(_), Journey::Advancing { part: part @ Part::Check { .. }, .. }) => {
                *part = Part::Check { attempt, since: now };
            }
            (CheckPlace::Stage(_), _) => {}
        }
    }

    /// Since when a stage's hold is on.
    pub fn holding_since(&self) -> Option<Timestamp> {
        match self.journey {
            Journey::Advancing { part: Part::Hold { since }, .. } => Some(since),
            _ => None,
        }
    }
}
