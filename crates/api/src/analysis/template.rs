//! What a person writes about health: which metrics are asked, how often, and what their values must be. The schema
//! refuses what has the wrong type, and the few mistakes that no controller could run and that can be seen in one metric
//! alone, before arguments are filled in. Everything else that does not make sense is told in a condition, with the field
//! that is meant: a template that Argo Rollouts runs is never refused.
#![expect(clippy::doc_markdown, reason = "these comments are what `kubectl explain` shows: plain text")]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::{any_object, integer_or_string, limit, limit_or_none};

/// Metrics that tell whether a new version is healthy, to be used by rollouts of this namespace.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "argoproj.io",
    version = "v1alpha1",
    kind = "AnalysisTemplate",
    plural = "analysistemplates",
    singular = "analysistemplate",
    shortname = "at",
    category = "windlass",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date")
)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisTemplateSpec {
    /// What is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// What can be filled in, as {{args.name}}, by whoever uses the template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Argument>,
    /// Metrics that are measured and shown, but decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<DryRun>,
    /// How many measurements are kept in the status; 10 when nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurement_retention: Vec<MeasurementRetention>,
    /// Other templates whose metrics belong to this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateReference>,
    /// Why the stored spec could not be read, if it could not.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

/// Metrics that tell whether a new version is healthy, to be used by rollouts of every namespace.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "argoproj.io",
    version = "v1alpha1",
    kind = "ClusterAnalysisTemplate",
    plural = "clusteranalysistemplates",
    singular = "clusteranalysistemplate",
    shortname = "cat",
    category = "windlass",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date")
)]
pub struct ClusterAnalysisTemplateSpec {
    /// The same as in an AnalysisTemplate.
    #[serde(flatten)]
    pub template: AnalysisTemplateSpec,
}

/// One thing that is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!has(self.count) || type(self.count) != int || self.count <= 1 || (has(self.interval) && self.interval != '')",
        "message": "more than one measurement (count) needs an interval, such as 30s",
        "fieldPath": ".interval",
        "reason": "FieldValueRequired",
    },
    {
        "rule": "!has(self.failureLimit) || type(self.failureLimit) != int || self.failureLimit >= 0 || (has(self.consecutiveSuccessLimit) && self.consecutiveSuccessLimit != 0)",
        "message": "a failureLimit of -1 bears any number of bad values, which needs a consecutiveSuccessLimit above 0",
        "fieldPath": ".consecutiveSuccessLimit",
        "reason": "FieldValueRequired",
    },
]))]
pub struct Metric {
    /// Its name, of which there is one in a run.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The time from the end of one measurement to the next, such as 30s or 5m. Without it there is one measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How long to wait before the first measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_delay: Option<String>,
    /// How many measurements are made; without a number and with an interval: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "integer_or_string")]
    pub count: Option<IntOrString>,
    /// An expression over result that is true when a value is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_condition: Option<String>,
    /// An expression over result that is true when a value is bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_condition: Option<String>,
    /// How many bad values are borne (0). -1 bears any number, if consecutiveSuccessLimit is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "limit_or_none")]
    pub failure_limit: Option<IntOrString>,
    /// How many values that are neither good nor bad are borne (0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "limit")]
    pub inconclusive_limit: Option<IntOrString>,
    /// How many errors in a row are borne (4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "limit")]
    pub consecutive_error_limit: Option<IntOrString>,
    /// How many good values in a row are enough; 0 and absent: all of them have to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "limit")]
    pub consecutive_success_limit: Option<IntOrString>,
    /// Asks once for each pod on the wanted revision, which the settings name as {{pod.name}}; each value is judged by
    /// itself, and a bad one tells its pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each_pod: Option<ForEachPod>,
    /// Where the value comes from: exactly one provider with its settings.
    #[serde(default)]
    #[schemars(schema_with = "any_object")]
    pub provider: Value,
}

/// That a metric is asked once for each pod on the wanted revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForEachPod {}

/// Something that can be filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its value; in a template the value when nobody gives another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueFrom>,
}

/// Where a value comes from: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueFrom {
    /// A key of a Secret in the namespace of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyReference>,
    /// A field of the rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<FieldReference>,
    /// Stable or Latest: the hash of the workload's revision before the run, or of the one that is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template_hash_value: Option<String>,
}

/// A key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyReference {
    /// The name of the Secret.
    pub name: String,
    /// The key in it.
    pub key: String,
}

/// A field of the rollout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldReference {
    /// Its path, such as metadata.name, spec.plugin.name or a label in brackets and quotes.
    pub field_path: String,
}

/// Metrics that decide nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    /// A regular expression for the names of the metrics; it may match anywhere in them.
    pub metric_name: String,
}

/// How many measurements are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeasurementRetention {
    /// A regular expression for the names of the metrics; it may match anywhere in them.
    pub metric_name: String,
    /// How many; 10 when it is not above 0.
    pub limit: i32,
}

/// Another template.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateReference {
    /// Its name.
    pub template_name: String,
    /// It is a ClusterAnalysisTemplate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cluster_scope: bool,
}
