//! The definitions that are installed in a cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;
use serde_json::{Number, Value};

use crate::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use crate::rollout_plugin::RolloutPlugin;

/// Every definition, in the order in which they are installed.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [rollout_crds(), analysis_crds()].concat()
}

/// The definitions that nobody else brings along.
pub fn rollout_crds() -> Vec<CustomResourceDefinition> {
    vec![RolloutPlugin::crd()]
}

/// The definitions of kinds that Argo Rollouts has too, in its own way.
pub fn analysis_crds() -> Vec<CustomResourceDefinition> {
    vec![AnalysisTemplate::crd(), ClusterAnalysisTemplate::crd(), AnalysisRun::crd()]
}

/// One document of a manifest.
pub fn to_yaml<T: Serialize>(object: &T) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(object)
}

/// A definition as a document of a manifest.
pub fn definition_yaml(definition: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    match serde_json::to_value(definition) {
        Ok(value) => to_yaml(&with_whole_numbers(value)),
        Err(_) => to_yaml(definition),
    }
}

/// Bounds of a schema are floats by type; people and other tools write 0, not 0.0.
fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            map.into_iter().map(|(field, value)| (field, with_whole_numbers(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Number(number) => whole(&number).map_or(Value::Number(number), Value::from),
        other => other,
    }
}

fn whole(number: &Number) -> Option<i64> {
    number.as_f64().filter(|_| number.is_f64()).and_then(|float| float.to_string().parse().ok())
}
