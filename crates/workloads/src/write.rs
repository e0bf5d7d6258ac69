//! Requests, as data: what is to be sent, with its preconditions, to whoever holds a client.

use serde_json::Value;
use windlass_api::WorkloadKind;
use windlass_engine::PodRef;

/// One API request that a lens asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A merge patch of the workload; its body carries uid and resourceVersion.
    PatchWorkload(WorkloadPatch),
    /// The deletion of one pod, and of no other of that name.
    DeletePod(PodRef),
}

/// A merge patch of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadPatch {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: String,
    /// The patch.
    pub body: Value,
}
