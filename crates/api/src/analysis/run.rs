//! One run of an analysis: what is measured, and what came of it so far. Everything that a controller has to know to go
//! on is in the status, so that it can go on anywhere.
#![expect(clippy::duplicated_attributes, reason = "two columns may have the same type")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::template::{Argument, DryRun, MeasurementRetention, Metric};
use crate::schema::{counter, moment};

/// One run of an analysis.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "argoproj.io",
    version = "v1alpha1",
    kind = "AnalysisRun",
    plural = "analysisruns",
    singular = "analysisrun",
    shortname = "ar",
    category = "windlass",
    namespaced,
    status = "AnalysisRunStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        json_path = ".status.phase",
        name = "Status",
        type_ = "string",
        description = "Pending, Running, Successful, Failed, Error or Inconclusive"
    ),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date"),
    printcolumn(
        json_path = ".status.message",
        name = "Message",
        type_ = "string",
        priority = 1,
        description = "Why it ended as it did"
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.metrics) && size(self.metrics) > 0",
    "message": "a run measures something: name at least one metric",
    "fieldPath": ".metrics",
    "reason": "FieldValueRequired",
}]))]
pub struct AnalysisRunSpec {
    /// What is measured.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// What is filled in, as {{args.name}}.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Argument>,
    /// Set to true to end the run: nothing is measured any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
    /// Metrics that are measured and shown, but decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<DryRun>,
    /// How many measurements are kept in the status; 10 when nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurement_retention: Vec<MeasurementRetention>,
    /// When a finished run is deleted; never when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_strategy: Option<TtlStrategy>,
    /// Why the stored spec could not be read, if it could not.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

/// When a finished run is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TtlStrategy {
    /// Seconds after its end, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_after_completion: Option<i32>,
    /// Seconds after a good end; wins over secondsAfterCompletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_after_success: Option<i32>,
    /// Seconds after a failure; wins over secondsAfterCompletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_after_failure: Option<i32>,
}

/// How far a run, a metric or a measurement is. The order is from harmless to bad: the worst of its metrics is the phase
/// of a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// It is good.
    Successful,
    /// It is under way.
    Running,
    /// It has not begun.
    #[default]
    Pending,
    /// Nobody can tell.
    Inconclusive,
    /// It could not be measured.
    Error,
    /// It is bad.
    Failed,
}

impl Phase {
    /// Nothing more comes.
    pub fn is_completed(self) -> bool {
        match self {
            Self::Successful | Self::Inconclusive | Self::Error | Self::Failed => true,
            Self::Running | Self::Pending => false,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Successful => "Successful",
            Self::Running => "Running",
            Self::Pending => "Pending",
            Self::Inconclusive => "Inconclusive",
            Self::Error => "Error",
            Self::Failed => "Failed",
        }
    }
}

/// What came of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AnalysisRunStatus {
    /// Pending, Running, Successful, Failed, Error or Inconclusive.
    pub phase: Phase,
    /// Why it ended as it did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Each metric.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub metric_results: Vec<MetricResult>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "moment")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "moment")]
    pub completed_at: Option<Timestamp>,
    /// How many metrics ended how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_summary: Option<RunSummary>,
    /// The same for those that decide nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run_summary: Option<RunSummary>,
}

/// How many metrics ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSummary {
    /// All of them.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub count: u32,
    /// Good ones.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub successful: u32,
    /// Bad ones.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub failed: u32,
    /// Those of which nobody can tell.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub inconclusive: u32,
    /// Those that could not be measured.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub error: u32,
}

/// What came of a metric so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricResult {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub phase: Phase,
    /// The latest measurements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub measurements: Vec<Measurement>,
    /// Why it ended as it did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Measurements that gave a value.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub count: u32,
    /// Good ones.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub successful: u32,
    /// Bad ones.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub failed: u32,
    /// Those that are neither.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub inconclusive: u32,
    /// Those that gave no value.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub error: u32,
    /// Errors in a row.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub consecutive_error: u32,
    /// Good ones in a row.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(schema_with = "counter")]
    pub consecutive_success: u32,
    /// It decides nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// What the provider has to say of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// One measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Measurement {
    /// What it says.
    pub phase: Phase,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "moment")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "moment")]
    pub finished_at: Option<Timestamp>,
    /// The value, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// What the provider has to say of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// When to look again at one that takes longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "moment")]
    pub resume_at: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
