//! The definitions that are installed in a cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;

use crate::rollout_plugin::RolloutPlugin;

/// Every definition, in the order in which they are installed.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![RolloutPlugin::crd()]
}

/// One document of a manifest.
pub fn to_yaml<T: Serialize>(object: &T) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(object)
}
