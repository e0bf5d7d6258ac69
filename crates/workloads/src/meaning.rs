//! What a pod template means. A newer control plane may write the same template with other defaults or without empty
//! fields, and then calls it a new revision; people did not ask for one.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

/// A digest of what a template means: equal meanings, equal digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Meaning(u64);

/// A value that a control plane fills in.
enum Filled {
    Text(&'static str),
    Number(i64),
    Truth(bool),
}

use Filled::{Number, Text, Truth};

/// Defaults of the pod's own spec.
const POD_DEFAULTS: [(&str, Filled); 5] = [
    ("restartPolicy", Text("Always")),
    ("dnsPolicy", Text("ClusterFirst")),
    ("schedulerName", Text("default-scheduler")),
    ("terminationGracePeriodSeconds", Number(30)),
    ("enableServiceLinks", Truth(true)),
];

/// Defaults that mean the same wherever in a pod's spec they stand.
const DEFAULTS: [(&str, Filled); 9] = [
    ("terminationMessagePath", Text("/dev/termination-log")),
    ("terminationMessagePolicy", Text("File")),
    ("protocol", Text("TCP")),
    ("successThreshold", Number(1)),
    ("failureThreshold", Number(3)),
    ("periodSeconds", Number(10)),
    ("timeoutSeconds", Number(1)),
    ("defaultMode", Number(420)),
    ("divisor", Text("0")),
];

/// The meaning of a template.
pub(crate) fn meaning(template: &Value) -> Meaning {
    let mut hasher = DefaultHasher::new();
    let pruned = prune_template(template);
    // serde_json keeps object keys sorted, so equal values print alike.
    pruned.to_string().hash(&mut hasher);
    Meaning(hasher.finish())
}

fn prune_template(template: &Value) -> Value {
    let mut pruned = Map::new();
    if let Some(metadata) = template.get("metadata") {
        let mut metadata = metadata.clone();
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("creationTimestamp");
        }
        pruned.insert("metadata".to_owned(), without_empty(&metadata, &[]));
    }
    if let Some(spec) = template.get("spec") {
        let mut spec = spec.clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, value| !is_default(key, value, &POD_DEFAULTS));
            // The deprecated twin of serviceAccountName.
            spec.remove("serviceAccount");
        }
        pruned.insert("spec".to_owned(), without_empty(&spec, &DEFAULTS));
    }
    Value::Object(pruned)
}

fn without_empty(value: &Value, defaults: &[(&str, Filled)]) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(key, value)| !is_default(key, value, defaults))
                .map(|(key, value)| (key.clone(), without_empty(value, defaults)))
                .filter(|(_, value)| !is_empty(value))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| without_empty(item, defaults)).collect()),
        other => other.clone(),
    }
}

fn is_default(key: &str, value: &Value, defaults: &[(&str, Filled)]) -> bool {
    defaults.iter().any(|(name, default)| {
        *name == key
            && match default {
                Text(text) => value == text,
                Number(number) => value == number,
                Truth(truth) => value == truth,
            }
    })
}

/// Nothing there, in each of its spellings. An empty string is something: an environment variable may be set to it.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_written_by_a_newer_control_plane_means_the_same() {
        let old = json!({
            "metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "app", "image": "app:v1", "resources": {}, "terminationMessagePath": "/dev/termination-log",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
                "restartPolicy": "Always", "securityContext": {}, "dnsPolicy": "ClusterFirst",
            },
            "$patch": "replace",
        });
        let new = json!({
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "app:v1", "ports": [{"containerPort": 80}]}]},
        });
        assert_eq!(meaning(&old), meaning(&new));
    }

    #[test]
    fn another_image_label_or_restart_annotation_means_something_else() {
        let base =
            json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": "app:v1"}]}});
        let image =
            json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": "app:v2"}]}});
        let label =
            json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"image": "app:v1"}]}});
        let restart = json!({"metadata": {"labels": {"app": "web"}, "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}},
            "spec": {"containers": [{"image": "app:v1"}]}});
        for other in [image, label, restart] {
            assert_ne!(meaning(&base), meaning(&other));
        }
    }

    #[test]
    fn a_sidecar_that_always_restarts_is_no_default() {
        let plain = json!({"spec": {"initContainers": [{"name": "a"}]}});
        let sidecar = json!({"spec": {"initContainers": [{"name": "a", "restartPolicy": "Always"}]}});
        assert_ne!(meaning(&plain), meaning(&sidecar));
    }

    #[test]
    fn a_label_that_looks_like_a_default_counts() {
        let plain = json!({"metadata": {"labels": {}}});
        let labelled = json!({"metadata": {"labels": {"protocol": "TCP"}}});
        assert_ne!(meaning(&plain), meaning(&labelled));
    }
}
