//! What the doctor can find, good and bad. Their sentences are in `words`.

use serde::Serialize;
use windlass_workloads::{Holder, Verdict};

use super::facts::{Lacking, LeaseFacts, NotAllowed};

/// What is looked at, in the order of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::kubectl) enum Check {
    /// The custom resource definitions.
    Definitions,
    /// The admission policies.
    Policies,
    /// What the controller may do.
    Rights,
    /// Who leads.
    Lease,
    /// Labels and annotations of Windlass on workloads that have no rollout.
    Marks,
    /// Partitions at HOLD on workloads that have no rollout.
    Holds,
    /// Rollouts and the workloads that they refer to.
    Workloads,
    /// Workloads that two rollouts refer to.
    Claims,
    /// What rollouts say about their own hold.
    Guards,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::kubectl) enum Standing {
    /// As it should be.
    Well,
    /// It works, and could be better.
    Advice,
    /// Something is wrong.
    Wrong,
    /// The asking person may not look.
    NotLooked,
}

/// An object in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// Policies that do not guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unguarded {
    /// What is wrong with them.
    pub(super) verdict: Verdict,
    /// What should hold on this server.
    pub(super) hold: Holder,
    /// What the policies that are installed were made for.
    pub(super) installed_for: Option<Holder>,
    /// The remedy makes something else hold than does now.
    pub(super) changes_hold: bool,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The server has the definition of this version.
    Defined { name: String },
    /// The server does not have the definition.
    NotDefined { name: String },
    /// The server has the definition and does not serve it, in its own words.
    NotEstablished { name: String, why: String },
    /// The definition is another one; `at` is the first field that differs.
    DefinedOtherwise { name: String, at: String },
    /// The server does not have the definition of a kind of analysis, and no rollout has one.
    AnalysisNotDefined { name: String },
    /// The server does not have it, and these rollouts are to be judged by analyses.
    AnalysisMissed { name: String, rollouts: Vec<String> },
    /// The definition of a kind of analysis is that of Argo Rollouts.
    DefinedByArgo { name: String },
    /// The definition of a kind of analysis is ours, and Argo Rollouts is installed, whose controller needs its own.
    OursBesideArgo { name: String },
    /// A new template would be held.
    Guarded { hold: Holder },
    /// It would, in the way of servers without mutating policies, and this server has them.
    MutatingServed,
    /// It would not surely be held.
    Unguarded(Unguarded),
    /// The controller has every right it needs; one for a single namespace needs fewer.
    MayAll { count: usize, one_namespace: bool },
    /// The controller has none of the rights it needs: there may be no such user.
    MayNothing { count: usize },
    /// The controller lacks a right.
    MayNot(Lacking),
    /// The controller may not read Secrets, or not everywhere.
    MayNotReadSecrets,
    /// A controller leads.
    Led { holder: String, lease: LeaseFacts },
    /// There is no Lease.
    NoLease,
    /// The last leader gave the Lease back, and nobody took it.
    LeaseFree { lease: LeaseFacts },
    /// The leader has not renewed the Lease in time.
    LeaseRanOut { holder: String, lease: LeaseFacts },
    /// A workload carries marks of Windlass and has no rollout.
    MarksLeft { set: Named, label: Option<String>, held: bool },
    /// The partition of a workload without a rollout keeps every pod from a new template.
    HoldForgotten { set: Named },
    /// A rollout refers to a workload that does not exist.
    WorkloadMissing { rollout: Named, set: String },
    /// Several rollouts refer to one workload; the label names the one that has it.
    WorkloadShared { set: Named, rollouts: Vec<String>, owner: Option<String> },
    /// A rollout says that its hold is not guarded.
    SaysUnguarded { rollout: Named, why: String },
    /// A check of all rollouts or workloads found nothing; that many were looked at.
    NothingFound { check: Check, looked_at: usize },
    /// The asking person may not look.
    NotLooked { check: Check, missing: NotAllowed },
}

impl Finding {
    /// The check that it belongs to.
    pub(super) fn check(&self) -> Check {
        match self {
            Self::Defined { .. }
            | Self::NotDefined { .. }
            | Self::NotEstablished { .. }
            | Self::DefinedOtherwise { .. }
            | Self::AnalysisNotDefined { .. }
            | Self::AnalysisMissed { .. }
            | Self::DefinedByArgo { .. }
            | Self::OursBesideArgo { .. } => Check::Definitions,
            Self::Guarded { .. } | Self::MutatingServed | Self::Unguarded(_) => Check::Policies,
            Self::MayAll { .. } | Self::MayNothing { .. } | Self::MayNot(_) | Self::MayNotReadSecrets => {
                Check::Rights
            }
            Self::Led { .. } | Self::NoLease | Self::LeaseFree { .. } | Self::LeaseRanOut { .. } => {
                Check::Lease
            }
            Self::MarksLeft { .. } => Check::Marks,
            Self::HoldForgotten { .. } => Check::Holds,
            Self::WorkloadMissing { .. } => Check::Workloads,
            Self::WorkloadShared { .. } => Check::Claims,
            Self::SaysUnguarded { .. } => Check::Guards,
            Self::NothingFound { check, .. } | Self::NotLooked { check, .. } => *check,
        }
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        match self {
            Self::Defined { .. }
            | Self::Guarded { .. }
            | Self::MayAll { .. }
            | Self::Led { .. }
            | Self::NothingFound { .. } => Standing::Well,
            Self::MutatingServed
            | Self::AnalysisNotDefined { .. }
            | Self::DefinedByArgo { .. }
            | Self::OursBesideArgo { .. }
            | Self::MayNotReadSecrets => Standing::Advice,
            Self::NotLooked { .. } => Standing::NotLooked,
            Self::NotDefined { .. }
            | Self::NotEstablished { .. }
            | Self::DefinedOtherwise { .. }
            | Self::AnalysisMissed { .. }
            | Self::Unguarded(_)
            | Self::MayNothing { .. }
            | Self::MayNot(_)
            | Self::NoLease
            | Self::LeaseFree { .. }
            | Self::LeaseRanOut { .. }
            | Self::MarksLeft { .. }
            | Self::HoldForgotten { .. }
            | Self::WorkloadMissing { .. }
            | Self::WorkloadShared { .. }
            | Self::SaysUnguarded { .. } => Standing::Wrong,
        }
    }

    /// One word, for programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Defined { .. } => "Defined",
            Self::NotDefined { .. } => "NotDefined",
            Self::NotEstablished { .. } => "NotEstablished",
            Self::DefinedOtherwise { .. } => "DefinedOtherwise",
            Self::AnalysisNotDefined { .. } => "AnalysisNotDefined",
            Self::AnalysisMissed { .. } => "AnalysisMissed",
            Self::DefinedByArgo { .. } => "DefinedByArgo",
            Self::OursBesideArgo { .. } => "OursBesideArgo",
            Self::Guarded { .. } => "Guarded",
            Self::MutatingServed => "MutatingServed",
            Self::Unguarded(_) => "Unguarded",
            Self::MayAll { .. } => "MayAll",
            Self::MayNothing { .. } => "MayNothing",
            Self::MayNot(_) => "MayNot",
            Self::MayNotReadSecrets => "MayNotReadSecrets",
            Self::Led { .. } => "Led",
            Self::NoLease => "NoLease",
            Self::LeaseFree { .. } => "LeaseFree",
            Self::LeaseRanOut { .. } => "LeaseRanOut",
            Self::MarksLeft { .. } => "MarksLeft",
            Self::HoldForgotten { .. } => "HoldForgotten",
            Self::WorkloadMissing { .. } => "WorkloadMissing",
            Self::WorkloadShared { .. } => "WorkloadShared",
            Self::SaysUnguarded { .. } => "SaysUnguarded",
            Self::NothingFound { .. } => "NothingFound",
            Self::NotLooked { .. } => "NotLooked",
        }
    }

    /// The workload or rollout that it is about.
    pub(super) fn object(&self) -> Option<String> {
        match self {
            Self::MarksLeft { set: object, .. }
            | Self::HoldForgotten { set: object }
            | Self::WorkloadShared { set: object, .. }
            | Self::WorkloadMissing { rollout: object, .. }
            | Self::SaysUnguarded { rollout: object, .. } => Some(object.to_string()),
            _ => None,
        }
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}
