//! Requests, as data: what is to be sent, with its preconditions, to whoever holds a client.

use json_patch::Patch;
use windlass_api::WorkloadKind;
use windlass_engine::{CheckMove, Exposure, PodRef};

/// One API request that a lens asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A patch of the workload that tests first what it rests on.
    PatchWorkload(WorkloadPatch),
    /// The deletion of one pod.
    DeletePod(PodDeletion),
    /// A check begins or ends. That is no matter of the workload's kind, so it is passed on as it is.
    Check(CheckMove),
}

/// The deletion of one pod, of no other of that name, and only as it was seen: one that was down may have come up
/// meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct PodDeletion {
    /// Which.
    pub pod: PodRef,
    /// The version in which it was seen, if that is known.
    pub version: Option<u64>,
}

/// A JSON patch of a workload. It opens with its preconditions: see `guarded`.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadPatch {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: String,
    /// The patch.
    pub patch: Patch,
    /// How many pods are exposed once it is made, if it changes that.
    pub exposes: Option<Exposure>,
}
