//! How lists and maps of an object are merged: which lists have keys, which are sets, and what is replaced as a whole. One
//! table for strategic merge and for apply.

use serde_json::Value;

use crate::resource::Resource;

/// How a value is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As a whole.
    Atomic,
    /// Field by field.
    Fields,
    /// A list of different values.
    Set,
    /// A list of objects, each known by these fields.
    Keyed(&'static [&'static str]),
}

/// The shape of the value of a field.
pub(super) fn shape(resource: Resource, field: &str, value: &Value) -> Shape {
    match value {
        Value::Object(_) => map_shape(field),
        Value::Array(items) => {
            match field {
                "finalizers" => Shape::Set,
                "ownerReferences" => Shape::Keyed(&["uid"]),
                // All lists in the schemas of our own kinds are replaced as a whole, but the metadata is everybody's.
                _ if resource.is_custom() => Shape::Atomic,
                _ => list_shape(field, items),
            }
        }
        _ => Shape::Atomic,
    }
}

fn map_shape(field: &str) -> Shape {
    match field {
        "selector" | "nodeSelector" | "labelSelector" | "fieldRef" | "secretKeyRef" | "configMapKeyRef"
        | "resourceFieldRef" | "secretRef" | "claimRef" => Shape::Atomic,
        _ => Shape::Fields,
    }
}

fn list_shape(field: &str, items: &[Value]) -> Shape {
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "secrets"
        | "resourceClaims"
        | "matchConditions" => Shape::Keyed(&["name"]),
        "ports" if items.iter().any(|it| it.get("containerPort").is_some()) => {
            Shape::Keyed(&["containerPort", "protocol"])
        }
        "ports" => Shape::Keyed(&["port", "protocol"]),
        "volumeMounts" => Shape::Keyed(&["mountPath"]),
        "volumeDevices" => Shape::Keyed(&["devicePath"]),
        "conditions" => Shape::Keyed(&["type"]),
        "hostAliases" | "podIPs" => Shape::Keyed(&["ip"]),
        "topologySpreadConstraints" => Shape::Keyed(&["topologyKey", "whenUnsatisfiable"]),
        _ => Shape::Atomic,
    }
}

/// What a keyed element is known by; a port without a protocol is one of TCP.
pub(super) fn key(element: &Value, keys: &[&str]) -> Vec<Value> {
    let default = |field: &str| match field {
        "protocol" => Value::String("TCP".to_owned()),
        _ => Value::Null,
    };
    keys.iter().map(|&field| element.get(field).cloned().unwrap_or_else(|| default(field))).collect()
}
