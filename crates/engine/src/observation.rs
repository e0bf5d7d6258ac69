//! What is there: one workload and its pods, as a lens read them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::check::SeenCheck;
use crate::names::{PodName, PodUid, Revision, RolloutName, WorkloadUid};

/// What a look at the workload gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The workload, readable and manageable.
    Workload(Observation),
    /// Something that cannot be managed.
    Refused {
        /// Why.
        refusal: Refusal,
        /// The checks of this rollout, of whichever run.
        checks: Vec<SeenCheck>,
    },
}

impl Seen {
    /// The checks of this rollout, whatever became of its workload.
    pub fn checks(&self) -> &[SeenCheck] {
        match self {
            Self::Workload(seen) => &seen.checks,
            Self::Refused { checks, .. } => checks,
        }
    }
}

/// Why a workload cannot be managed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// There is no such workload.
    Missing {
        /// What was looked for, such as `StatefulSet web`.
        workload: String,
    },
    /// The reference says nothing that could be looked for, so nobody knows whether there is one.
    NotNamed {
        /// What is wrong with it.
        why: String,
    },
    /// The workload replaces pods only when somebody deletes them, so nothing can be held.
    ReplacesOnDeleteOnly {
        /// Which workload.
        workload: String,
    },
    /// Another rollout has this workload already.
    Taken {
        /// Which workload.
        workload: String,
        /// By whom.
        by: RolloutName,
    },
    /// What is remembered of it was written by a newer version of this program: acting on half of it could be wrong.
    RememberedByNewer {
        /// The version of what is remembered.
        version: u64,
        /// The newest version that this program knows.
        known: u64,
    },
}

/// One workload and its pods.
#[expect(clippy::struct_excessive_bools, reason = "four independent things are seen or not")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Which workload, by identity.
    pub workload: WorkloadUid,
    /// The workload's own controller has seen the latest change; otherwise the revisions below may be old.
    pub settled: bool,
    /// What a pod outside the exposure is made of.
    pub stable: Revision,
    /// What a pod inside the exposure is made of.
    pub target: Revision,
    /// How many pods the workload is set to have on the target.
    pub exposure: Exposure,
    /// One slot for each wanted pod, in the order in which they are exposed.
    pub slots: Vec<Slot>,
    /// Pods beyond the wanted number, on their way out.
    pub surplus: Vec<Pod>,
    /// The workload carries the mark that says whose it is.
    pub claimed: bool,
    /// The workload carries the mark of a run: others' hands are kept off.
    pub marked: bool,
    /// Between two runs, a new target would be held: the workload is set so, or something else sees to it.
    pub ready_to_hold: bool,
    /// How far a run had come when it last exposed pods, as recorded in that very write.
    pub recorded: Option<Record>,
    /// Revisions that mean the same as another one: each maps to the name used above and in the pods.
    pub aliases: BTreeMap<Revision, Revision>,
    /// The checks of this rollout, of this run and of others.
    pub checks: Vec<SeenCheck>,
}

/// A note on the workload itself: which run exposed pods, and for which stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The run, by the moment it started.
    pub run: Timestamp,
    /// The stage.
    pub stage: usize,
}

/// How many pods the workload is set to have on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exposure {
    /// None, however many pods are added.
    Held,
    /// The first so many slots.
    First(u32),
}

impl Exposure {
    /// So many pods; with none, those that a scaling adds are held too.
    pub fn of(pods: u32) -> Self {
        if pods == 0 { Self::Held } else { Self::First(pods) }
    }
}

/// The place of one wanted pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The name its pod has, or will have.
    pub name: PodName,
    /// The pod, if there is one now.
    pub pod: Option<Pod>,
}

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: PodName,
    /// Its identity.
    pub uid: PodUid,
    /// The revision its label tells, if any.
    pub revision: Option<Revision>,
    /// What it does.
    pub state: PodState,
    /// Since when it does that.
    pub since: Timestamp,
}

/// What a pod does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// On its way out.
    Terminating,
    /// Not ready; `why` is the word of whoever runs it, such as `CrashLoopBackOff`.
    NotReady {
        /// The word, if there is one.
        why: Option<String>,
    },
    /// Ready, and available from the given moment on.
    Ready {
        /// When its time of probation is over.
        available_at: Timestamp,
    },
}

impl Observation {
    /// The wanted number of pods.
    pub fn replicas(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// How many slots are exposed as the workload is set now.
    pub fn exposed(&self) -> u32 {
        match self.exposure {
            Exposure::Held => 0,
            Exposure::First(count) => count.min(self.replicas()),
        }
    }

    /// The name in use for a revision that may go by several.
    pub fn known_as<'a>(&'a self, revision: &'a Revision) -> &'a Revision {
        self.aliases.get(revision).unwrap_or(revision)
    }

    /// The living pods in their slots.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.slots.iter().filter_map(|slot| slot.pod.as_ref())
    }

    /// Every slot has an available pod of `revision`, and nothing else is left.
    pub fn is_all_on(&self, revision: &Revision, now: Timestamp) -> bool {
        self.surplus.is_empty()
            && self
                .slots
                .iter()
                .all(|slot| slot.pod.as_ref().is_some_and(|pod| pod.is_on(revision) && pod.is_available(now)))
    }

    /// The pods of `revision`, terminating ones aside.
    pub fn pods_on<'a>(&'a self, revision: &'a Revision) -> impl Iterator<Item = &'a Pod> {
        self.pods().filter(move |pod| pod.is_on(revision) && pod.state != PodState::Terminating)
    }
}

impl Pod {
    /// The pod's label tells this revision.
    pub fn is_on(&self, revision: &Revision) -> bool {
        self.revision.as_ref() == Some(revision)
    }

    /// Ready for long enough, and not on its way out.
    pub fn is_available(&self, now: Timestamp) -> bool {
        matches!(self.state, PodState::Ready { available_at } if available_at <= now)
    }

    /// It serves nobody: neither ready, however short a time, nor on its way out.
    pub fn is_down(&self) -> bool {
        matches!(self.state, PodState::NotReady { .. })
    }

    /// On its way out.
    pub fn is_terminating(&self) -> bool {
        self.state == PodState::Terminating
    }
}
