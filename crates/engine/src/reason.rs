//! Typed answers to "why not yet?". The same value feeds status, event, command line and metric; the words for it are
//! made in `words.rs` alone.

use jiff::{SignedDuration, Timestamp};

use crate::check::{Blame, CheckPlace, Undecided};
use crate::names::{CheckName, PodName, Revision};
use crate::observation::{PodState, Refusal};
use crate::plan::Flaw;

/// A reason, and since when it holds (where that is known).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Why.
    pub reason: Reason,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// Why a rollout is not further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The specification is no plan.
    Invalid {
        /// Every flaw found.
        flaws: Vec<Flaw>,
    },
    /// The workload cannot be managed.
    Refused(Refusal),
    /// The workload's own controller has not seen the latest change.
    ControllerLags,
    /// A change of the workload is about to be made.
    Working,
    /// Pods that should be on a revision are not, or not available.
    Pods {
        /// Where they belong.
        revision: Revision,
        /// Each pod, and what is wrong with it.
        pods: Vec<PodTrouble>,
        /// How many are right.
        right: u32,
        /// How many are wanted.
        wanted: u32,
    },
    /// Pods that are going back wait for one another.
    OneAtATime {
        /// The pods that still have to go back.
        left: Vec<PodName>,
        /// The pods they wait for.
        waits_for: Vec<PodTrouble>,
    },
    /// A pod was freed and came back on the wrong revision; it is not deleted a second time.
    CameBackWrong {
        /// Which pods.
        pods: Vec<PodName>,
        /// Where they belong.
        revision: Revision,
    },
    /// The workload's controller knows nothing but the target any more, so no pod can be put back.
    StableForgotten {
        /// What cannot be reached any more.
        stable: Revision,
    },
    /// Pods beyond the wanted number are still going.
    Surplus {
        /// Which.
        pods: Vec<PodTrouble>,
    },
    /// The workload was scaled to zero in the middle of a run.
    ParkedAtZero,
    /// A stage's hold runs for a time.
    HoldUntil {
        /// Which stage, counted from zero.
        stage: usize,
        /// Until when.
        until: Timestamp,
    },
    /// A stage's hold waits for a person.
    HoldForPerson {
        /// Which stage, counted from zero.
        stage: usize,
    },
    /// A check is being measured.
    Checking {
        /// Where.
        place: CheckPlace,
        /// Its name.
        name: CheckName,
    },
    /// A check asks for a person: everything is held.
    Undecided(Undecided),
    /// A check could not be measured and is begun again: everything is held.
    CheckAgain {
        /// Where.
        place: CheckPlace,
        /// Its name.
        name: CheckName,
        /// Why.
        why: String,
        /// When.
        at: Timestamp,
    },
    /// A person paused the rollout.
    PausedByPerson,
    /// No progress for longer than allowed.
    Overdue {
        /// The allowance.
        after: SignedDuration,
    },
    /// The run was aborted and everything is back; somebody has to say how to go on.
    Aborted {
        /// What was aborted.
        target: Revision,
        /// The check that spoke against it, if one did.
        blame: Option<Blame>,
    },
}

/// A pod, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTrouble {
    /// Which pod.
    pub name: PodName,
    /// Its revision, if the pod exists and tells one.
    pub revision: Option<Revision>,
    /// What it does; absent when there is no such pod at the moment.
    pub state: Option<PodState>,
    /// Since when.
    pub since: Option<Timestamp>,
}

impl Reason {
    /// A short stable word, for status, metrics and scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "InvalidSpec",
            Self::Refused(Refusal::Missing { .. } | Refusal::NotNamed { .. }) => "WorkloadMissing",
            Self::Refused(Refusal::ReplacesOnDeleteOnly { .. }) => "WorkloadCannotBeHeld",
            Self::Refused(Refusal::Taken { .. }) => "WorkloadTaken",
            Self::Refused(Refusal::RememberedByNewer { .. }) => "StatusFromNewerVersion",
            Self::ControllerLags => "ControllerLags",
            Self::Working => "Working",
            Self::Pods { .. } => "WaitingForPods",
            Self::OneAtATime { .. } => "OneAtATime",
            Self::CameBackWrong { .. } => "CameBackWrong",
            Self::StableForgotten { .. } => "StableForgotten",
            Self::Surplus { .. } => "ScalingDown",
            Self::ParkedAtZero => "ParkedAtZero",
            Self::HoldUntil { .. } => "HoldUntil",
            Self::HoldForPerson { .. } => "HoldForPerson",
            Self::Checking { .. } => "AnalysisRunning",
            Self::Undecided(_) => "AnalysisUndecided",
            Self::CheckAgain { .. } => "AnalysisError",
            Self::PausedByPerson => "PausedByPerson",
            Self::Overdue { .. } => "ProgressDeadlineExceeded",
            Self::Aborted { .. } => "Aborted",
        }
    }

    /// The pods concerned.
    pub fn pods(&self) -> Vec<PodTrouble> {
        match self {
            Self::Pods { pods, .. } | Self::Surplus { pods } => pods.clone(),
            Self::OneAtATime { waits_for, .. } => waits_for.clone(),
            Self::CameBackWrong { pods, .. } => pods.iter().map(PodTrouble::named).collect(),
            _ => Vec::new(),
        }
    }

    /// Only a person can end this wait.
    pub fn needs_person(&self) -> bool {
        match self {
            Self::Invalid { .. }
            | Self::Refused(_)
            | Self::CameBackWrong { .. }
            | Self::StableForgotten { .. }
            | Self::ParkedAtZero
            | Self::HoldForPerson { .. }
            | Self::Undecided(_)
            | Self::PausedByPerson
            | Self::Aborted { .. } => true,
            Self::ControllerLags
            | Self::Working
            | Self::Pods { .. }
            | Self::OneAtATime { .. }
            | Self::Surplus { .. }
            | Self::HoldUntil { .. }
            | Self::Checking { .. }
            | Self::CheckAgain { .. }
            | Self::Overdue { .. } => false,
        }
    }
}

impl PodTrouble {
    fn named(name: &PodName) -> Self {
        Self { name: name.clone(), revision: None, state: None, since: None }
    }
}
