//! The `RolloutPlugin` dialect (argoproj.io/v1alpha1): its types, and its translation to and from the engine.

mod checks;
mod conditions;
mod events;
mod front;
mod plan;
mod spec;
mod status;

pub use checks::{analysis_field, has_measured};
pub use conditions::HOLD_GUARDED;
pub use spec::{
    AnalysisRunMetadata, Canary, HistoryLimits, Pause, PluginReference, RolloutAnalysis, RolloutPlugin,
    RolloutPluginSpec, Step, Strategy, WorkloadReference,
};
pub use status::{
    AnalysisRunReference, CanaryStatus, Condition, PauseCondition, PodNote, RolloutPluginStatus, WaitNote,
};

/// The names under which the built-in StatefulSet plugin is known.
pub const STATEFUL_SET_PLUGIN_NAMES: [&str; 3] =
    ["argoproj/statefulset", "statefulset", "statefulset-plugin"];
