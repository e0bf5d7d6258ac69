//! The seam between API dialects and the engine: one trait, implemented once per dialect.

use std::collections::BTreeMap;

use jiff::Timestamp;
use windlass_engine::{
    CheckId, CheckPlace, Decision, Flaw, Intents, Memo, Plan, Refusal, Revision, Seen, SeenCheck,
};

use crate::analysis::{AnalysisRun, AnalysisRunSpec};
use crate::rollout_plugin::RolloutAnalysis;

/// One dialect of rollout resources.
pub trait Front {
    /// What the dialect writes back.
    type Status: Clone + PartialEq + serde::Serialize;

    /// Which workload is meant, as far as the resource says so clearly.
    fn workload(&self) -> Result<WorkloadTarget, Flaw>;

    /// What the resource asks for.
    fn asked(&self) -> Asked;

    /// A check that is begun: the run of an analysis, as the dialect names and labels it.
    fn begin(
        &self,
        check: CheckId,
        target: &Revision,
        spec: AnalysisRunSpec,
        taken: &dyn Fn(&str) -> bool,
    ) -> AnalysisRun;

    /// The check that a run of an analysis is, if it is one of this rollout.
    fn check(&self, run: &AnalysisRun) -> Option<SeenCheck>;

    /// What came of it, in the words of the dialect. A pure function of its arguments and the present status.
    fn report(
        &self,
        now: Timestamp,
        seen: &Seen,
        decision: &Decision,
        circumstances: Circumstances<'_>,
    ) -> Report<Self::Status>;

    /// What people should hear when the resource is gone.
    fn farewell(&self) -> EventText;
}

/// What a resource asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The plan, or why there is none.
    pub plan: Result<Plan, Vec<Flaw>>,
    /// What was remembered.
    pub memo: Memo,
    /// Why nothing may be done, whatever the plan says.
    pub refusal: Option<Refusal>,
    /// What people want.
    pub intents: Intents,
    /// What the checks of the plan measure.
    pub analyses: Analyses,
}

/// What the checks of a plan measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analyses {
    /// Those of stages.
    pub stages: BTreeMap<usize, RolloutAnalysis>,
    /// The one beside them.
    pub background: Option<RolloutAnalysis>,
    /// How many finished runs are kept.
    pub kept: Kept,
}

/// How many finished runs of analyses are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Successful ones.
    pub successful: usize,
    /// Others.
    pub unsuccessful: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { successful: 5, unsuccessful: 5 }
    }
}

impl Analyses {
    /// All of them, each with its place.
    pub fn all(&self) -> impl Iterator<Item = (CheckPlace, &RolloutAnalysis)> {
        let stages = self.stages.iter().map(|(stage, analysis)| (CheckPlace::Stage(*stage), analysis));
        stages.chain(self.background.iter().map(|analysis| (CheckPlace::Background, analysis)))
    }

    /// The one at a place.
    pub fn at(&self, place: CheckPlace) -> Option<&RolloutAnalysis> {
        match place {
            CheckPlace::Stage(stage) => self.stages.get(&stage),
            CheckPlace::Background => self.background.as_ref(),
        }
    }
}

/// What is to be told besides the decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// What the latest attempt to carry out a decision met with, if it failed.
    pub failure: Option<&'a str>,
    /// Whether a new template would be held, where that is known.
    pub guard: Option<&'a GuardNote>,
}

/// Whether a new template would be held, as a condition says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardNote {
    /// True, False or Unknown.
    pub status: &'static str,
    /// One word.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
}

/// What is to be told about a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<S> {
    /// The new status.
    pub status: S,
    /// The status must be stored before anything else is done. Otherwise only counters and texts moved: that can wait
    /// a moment, in case they move again.
    pub urgent: bool,
    /// What people should hear of, once each.
    pub events: Vec<EventText>,
}

/// One event, in the words of the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventText {
    /// Good or bad.
    pub kind: EventKind,
    /// The reason, one word.
    pub reason: &'static str,
    /// The sentence.
    pub note: String,
}

/// Good or bad news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventKind {
    /// As Kubernetes spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The workload that a rollout is about, in its own namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadTarget {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: String,
}

/// The kinds that there is a lens for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// `apps/v1` StatefulSet.
    StatefulSet,
}

impl WorkloadKind {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StatefulSet => "StatefulSet",
        }
    }
}

impl std::fmt::Display for WorkloadTarget {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.kind.as_str(), self.name)
    }
}
