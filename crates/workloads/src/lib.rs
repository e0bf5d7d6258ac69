//! Lenses: pure code that reads one kind of workload into an engine observation and turns an engine move into a write.
//!
//! A lens works on views: the few fields that matter, pruned from the objects when they enter the cache. A new kind is
//! a new variant of [`Workload`] and a module beside `stateful_set`.

mod conditional;
mod guard;
mod meaning;
mod policies;
mod rights;
mod stateful_set;
mod view;
mod within;
mod write;

pub use guard::{
    GuardWords, HOLD_POLICY, Installed, Known, OTHERS, Verdict, choose_holder, install_command, judge,
    made_for, shell_word, wanted_policies,
};
pub use policies::{DEFAULT_IDENTITY, Holder, policies};
pub use rights::{Place, RIGHTS, Right, SECRETS, rights_table};
pub use stateful_set::{HOLD, StatefulSetView, UpdateStrategy};
pub use view::{KnownPod, Owner, PodView, RevisionView, Snapshot, Workload};
pub use within::first_difference;
pub use write::{PodDeletion, WorkloadPatch, Write};

use windlass_api::WorkloadTarget;
use windlass_engine::{Move, Observation, Refusal, RolloutName};

/// The label that says which rollout a workload has; the admission policies match it alone.
pub const ROLLOUT_LABEL: &str = "windlass.sh/rollout";
/// The annotation that says that a run is under way and others' hands are kept off.
pub const HELD_ANNOTATION: &str = "windlass.sh/held";

/// Reads a workload and its pods.
pub fn observe(snapshot: &Snapshot, rollout: &RolloutName, hold: Holder) -> Result<Observation, Refusal> {
    match &snapshot.workload {
        Workload::StatefulSet(set) => stateful_set::observe(set, snapshot, rollout, hold),
    }
}

/// The one request that makes a move.
pub fn write(snapshot: &Snapshot, rollout: &RolloutName, hold: Holder, next: &Move) -> Write {
    match &snapshot.workload {
        Workload::StatefulSet(set) => stateful_set::write(set, snapshot, rollout, hold, next),
    }
}

/// The request that gives a workload back when its rollout is gone: marks off, and nothing moves.
pub fn give_back(workload: &Workload) -> Write {
    match workload {
        Workload::StatefulSet(set) => stateful_set::give_back(set),
    }
}

/// The server took the patch and stored another exposure: something in between undid it.
pub fn is_undone(patch: &WorkloadPatch, stored: &Workload) -> bool {
    match stored {
        Workload::StatefulSet(set) => patch.exposes.is_some_and(|wanted| wanted != set.exposure()),
    }
}

/// The refusal for a workload that is not there.
pub fn missing(target: &WorkloadTarget) -> Refusal {
    Refusal::Missing { workload: target.to_string() }
}
