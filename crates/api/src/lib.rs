//! The resources that Windlass serves, and the translation between each dialect and the engine.
//!
//! A dialect is a [`Front`]: it reads a resource into a plan, a memo and intents, and writes what the engine decided
//! back into that dialect's status and events. Nothing here has a client.

pub mod analysis;
mod crds;
mod duration;
mod front;
mod labels;
pub mod rollout_plugin;
mod schema;

pub use crds::{analysis_crds, crds, definition_yaml, rollout_crds, to_yaml};
pub use duration::go_duration;
pub use front::{
    Analyses, Asked, Circumstances, EventKind, EventText, Front, GuardNote, Kept, Report, WorkloadKind,
    WorkloadTarget,
};
