//! Objects as they are read, from a watch or an answer: without the parts that nobody here reads. Who wrote which field is the
//! largest part of most objects, and reading it would be most of the work.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{
    ControllerRevision, StatefulSet, StatefulSetOrdinals, StatefulSetSpec, StatefulSetStatus,
    StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use windlass_api::analysis::{
    AnalysisRun, AnalysisRunSpec, AnalysisTemplate, AnalysisTemplateSpec, ClusterAnalysisTemplate,
    ClusterAnalysisTemplateSpec,
};
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginSpec, RolloutPluginStatus};

/// An object of kind `K`, read without what nobody here reads.
#[derive(Clone, Debug)]
pub(crate) struct Slim<K>(pub(crate) K);

/// A kind that can be read in part.
pub(crate) trait Slimmed: Resource<DynamicType = ()> {
    /// What is read.
    type Read: for<'de> Deserialize<'de>;
    /// The object with nothing but that.
    fn from_read(read: Self::Read) -> Self;
}

impl<'de, K: Slimmed> Deserialize<'de> for Slim<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::Read::deserialize(deserializer).map(|read| Self(K::from_read(read)))
    }
}

impl<K: Serialize> Serialize for Slim<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<K: Slimmed> Resource for Slim<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(dynamic: &()) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &()) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &()) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &()) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// Metadata without the record of who wrote which field.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<Meta> for ObjectMeta {
    fn from(meta: Meta) -> Self {
        Self {
            name: meta.name,
            namespace: meta.namespace,
            uid: meta.uid,
            resource_version: meta.resource_version,
            generation: meta.generation,
            creation_timestamp: meta.creation_timestamp,
            deletion_timestamp: meta.deletion_timestamp,
            labels: meta.labels,
            annotations: meta.annotations,
            owner_references: meta.owner_references,
            ..Self::default()
        }
    }
}

/// A pod: its status, not its spec.
#[derive(Deserialize)]
pub(crate) struct ReadPod {
    metadata: Meta,
    status: Option<PodStatus>,
}

impl Slimmed for Pod {
    type Read = ReadPod;

    fn from_read(read: ReadPod) -> Self {
        Self { metadata: read.metadata.into(), spec: None, status: read.status }
    }
}

/// A StatefulSet: everything but its templates.
#[derive(Deserialize)]
pub(crate) struct ReadSet {
    metadata: Meta,
    spec: Option<ReadSetSpec>,
    status: Option<StatefulSetStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadSetSpec {
    replicas: Option<i32>,
    ordinals: Option<StatefulSetOrdinals>,
    min_ready_seconds: Option<i32>,
    update_strategy: Option<StatefulSetUpdateStrategy>,
}

impl Slimmed for StatefulSet {
    type Read = ReadSet;

    fn from_read(read: ReadSet) -> Self {
        let spec = read.spec.map(|spec| StatefulSetSpec {
            replicas: spec.replicas,
            ordinals: spec.ordinals,
            min_ready_seconds: spec.min_ready_seconds,
            update_strategy: spec.update_strategy,
            ..StatefulSetSpec::default()
        });
        Self { metadata: read.metadata.into(), spec, status: read.status }
    }
}

/// A revision: its template is what is compared.
#[derive(Deserialize)]
pub(crate) struct ReadRevision {
    metadata: Meta,
    #[serde(default)]
    data: Option<serde_json::Value>,
}

impl Slimmed for ControllerRevision {
    type Read = ReadRevision;

    fn from_read(read: ReadRevision) -> Self {
        let data = read.data.map(k8s_openapi::apimachinery::pkg::runtime::RawExtension);
        Self { metadata: read.metadata.into(), data, ..Self::default() }
    }
}

/// A rollout, in full, as far as it can be read.
#[derive(Deserialize)]
pub(crate) struct ReadRollout {
    metadata: Meta,
    spec: Value,
    status: Option<Value>,
}

impl Slimmed for RolloutPlugin {
    type Read = ReadRollout;

    /// Other people's schemas let through what ours would not. One rollout that cannot be read must not keep all
    /// others from being served.
    fn from_read(read: ReadRollout) -> Self {
        let spec = serde_json::from_value(read.spec).unwrap_or_else(|error| RolloutPluginSpec {
            unreadable: Some(error.to_string()),
            ..RolloutPluginSpec::default()
        });
        let status = read.status.map(|status| {
            serde_json::from_value(status).unwrap_or_else(|error| RolloutPluginStatus {
                unreadable: Some(error.to_string()),
                ..RolloutPluginStatus::default()
            })
        });
        Self { metadata: read.metadata.into(), spec, status }
    }
}

/// An object with a spec that may be of somebody else's making.
#[derive(Deserialize)]
pub(crate) struct ReadSpec {
    metadata: Meta,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Option<Value>,
}

/// One that cannot be read must not keep all others from being served.
fn template_of(spec: Value) -> AnalysisTemplateSpec {
    serde_json::from_value(spec).unwrap_or_else(|error| AnalysisTemplateSpec {
        unreadable: Some(error.to_string()),
        ..AnalysisTemplateSpec::default()
    })
}

impl Slimmed for AnalysisTemplate {
    type Read = ReadSpec;

    fn from_read(read: ReadSpec) -> Self {
        Self { metadata: read.metadata.into(), spec: template_of(read.spec) }
    }
}

impl Slimmed for ClusterAnalysisTemplate {
    type Read = ReadSpec;

    fn from_read(read: ReadSpec) -> Self {
        let spec = ClusterAnalysisTemplateSpec { template: template_of(read.spec) };
        Self { metadata: read.metadata.into(), spec }
    }
}

impl Slimmed for AnalysisRun {
    type Read = ReadSpec;

    fn from_read(read: ReadSpec) -> Self {
        let spec = serde_json::from_value(read.spec).unwrap_or_else(|error| AnalysisRunSpec {
            unreadable: Some(error.to_string()),
            ..AnalysisRunSpec::default()
        });
        let status = read.status.and_then(|status| serde_json::from_value(status).ok());
        Self { metadata: read.metadata.into(), spec, status }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_read_without_its_spec_and_without_who_wrote_what() {
        let pod: Slim<Pod> = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web-0", "uid": "1", "resourceVersion": "7",
                "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]},
            "spec": {"containers": [{"name": "app"}]},
            "status": {"phase": "Running"},
        }))
        .unwrap();
        assert_eq!(pod.meta().name.as_deref(), Some("web-0"));
        assert!(pod.meta().managed_fields.is_none() && pod.0.spec.is_none());
        assert_eq!(pod.0.status.unwrap().phase.as_deref(), Some("Running"));
    }

    #[test]
    fn a_rollout_that_cannot_be_read_is_one_that_says_so() {
        let rollout: Slim<RolloutPlugin> = serde_json::from_value(json!({
            "metadata": {"name": "web"}, "spec": {"strategy": 7}, "status": {"replicas": "many"},
        }))
        .unwrap();
        assert!(rollout.0.spec.unreadable.unwrap().contains("invalid type"));
        assert!(rollout.0.status.unwrap().unreadable.unwrap().contains("many"));
    }
}
