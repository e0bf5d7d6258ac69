//! What a person writes. The schema refuses only what has the wrong type; everything else is admitted and answered
//! with a condition, as upstream's users know it. Fields of upstream that Windlass does not serve are kept instead of
//! pruned, so that asking for them is answered and not silently dropped.
#![expect(clippy::doc_markdown, reason = "these comments are what `kubectl explain` shows: plain text")]
#![expect(clippy::duplicated_attributes, reason = "two columns may have the same type")]

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::status::RolloutPluginStatus;
use crate::analysis::{Argument, DryRun, MeasurementRetention, TemplateReference};
use crate::schema::{any_object, integer_or_string};

/// Asks for the progressive delivery of one workload: a new version enters step by step, holds at each step, and can
/// always be put back.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "argoproj.io",
    version = "v1alpha1",
    kind = "RolloutPlugin",
    plural = "rolloutplugins",
    singular = "rolloutplugin",
    shortname = "rp",
    category = "all",
    category = "windlass",
    namespaced,
    status = "RolloutPluginStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        json_path = ".status.phase",
        name = "Status",
        type_ = "string",
        description = "Healthy, Progressing, Paused or Degraded"
    ),
    printcolumn(
        json_path = ".spec.plugin.name",
        name = "Plugin",
        type_ = "string",
        description = "What drives the workload"
    ),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date"),
    printcolumn(
        json_path = ".status.step",
        name = "Step",
        type_ = "string",
        description = "Steps done, of all steps"
    ),
    printcolumn(
        json_path = ".status.updatedReplicas",
        name = "Updated",
        type_ = "integer",
        description = "Pods on the wanted revision"
    ),
    printcolumn(
        json_path = ".status.readyReplicas",
        name = "Ready",
        type_ = "integer",
        description = "Pods that are ready"
    ),
    printcolumn(
        json_path = ".status.message",
        name = "Message",
        type_ = "string",
        priority = 1,
        description = "What is waited for"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPluginSpec {
    /// The workload whose pods change.
    pub workload_ref: WorkloadReference,
    /// What drives the workload.
    pub plugin: PluginReference,
    /// How the new version enters.
    pub strategy: Strategy,
    /// How many finished AnalysisRuns are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<HistoryLimits>,
    /// Holds everything where it is, until it is set back to false. An abort works all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Seconds without progress after which the rollout is Degraded; an older spelling of plugin.config.timeoutSeconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i64>,
    /// Abort when the deadline passes; an older spelling of plugin.config.timeoutAbort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline_abort: Option<bool>,
    /// Why the stored spec could not be read, if it could not.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

/// The workload whose pods change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadReference {
    /// The API version of the workload, such as apps/v1.
    pub api_version: String,
    /// The kind of the workload, such as StatefulSet.
    pub kind: String,
    /// The name of the workload.
    pub name: String,
    /// The namespace of the workload: the rollout's own, and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// What drives the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginReference {
    /// Its name; argoproj/statefulset, statefulset and statefulset-plugin are the built-in one for StatefulSets.
    pub name: String,
    /// Settings. Windlass reads timeoutSeconds (600) and timeoutAbort (false): the progress deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub config: Option<Value>,
    /// Accepted for older manifests; not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
    /// Accepted for older manifests; not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Accepted for older manifests; not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// How the new version enters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Strategy {
    /// Step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// Anything else is kept, and refused with a condition.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Canary {
    /// The steps, in order.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// An analysis beside the steps, from startingStep on until the rollout is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<RolloutAnalysis>,
    /// Anything else is kept, and refused with a condition.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// One step: exactly one of setWeight, pause and analysis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Percent of the pods to be on the new version, 0 to 100. Rounded down, but at least one pod when above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_weight: Option<i64>,
    /// Wait for a time, or for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// An analysis that must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<RolloutAnalysis>,
    /// Anything else is kept, and refused with a condition.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// An analysis: the templates that say what is measured, and what is filled in there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutAnalysis {
    /// The templates; their metrics are measured together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateReference>,
    /// What is filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Argument>,
    /// Metrics that are measured and shown, but decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<DryRun>,
    /// How many measurements are kept in the status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurement_retention: Vec<MeasurementRetention>,
    /// Labels and annotations for the AnalysisRun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis_run_metadata: Option<AnalysisRunMetadata>,
    /// For an analysis beside the steps: the step with which it begins, counted from zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_step: Option<i32>,
    /// What happens when it cannot be measured: abort (as when it failed), pause (until a person decides) or retry
    /// (hold, and measure again until that works). abort when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<String>,
}

/// Labels and annotations for an AnalysisRun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnalysisRunMetadata {
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Wait for a time, or for a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// How long: seconds as a number or a string, or a duration such as 30s, 5m, 1h30m. Absent: until a person promotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "integer_or_string")]
    pub duration: Option<Value>,
}

/// How many finished AnalysisRuns are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryLimits {
    /// Successful ones; 5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful_run_history_limit: Option<i32>,
    /// Others; 5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsuccessful_run_history_limit: Option<i32>,
}
