//! What the server fills in where an object says nothing.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::{at, list, map_at, moment, name, text};
use crate::resource::Resource;

/// Fills in what is missing.
pub(super) fn fill(resource: Resource, object: &mut Value) {
    match resource {
        Resource::StatefulSets => stateful_set(object),
        Resource::Pods => {
            pod(map_at(object, &["spec"]));
            map_at(object, &["status"]).entry("phase").or_insert_with(|| json!("Pending"));
        }
        _ => {}
    }
}

/// What the server, or a controller that is part of it, writes the moment an object is made.
pub(super) fn at_birth(resource: Resource, now: Timestamp, object: &mut Value) {
    match resource {
        Resource::Namespaces => {
            let name = name(object).to_owned();
            let labels = map_at(object, &["metadata", "labels"]);
            labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
            map_at(object, &["spec"]).insert("finalizers".to_owned(), json!(["kubernetes"]));
            map_at(object, &["status"]).insert("phase".to_owned(), json!("Active"));
        }
        Resource::Definitions => {
            let condition = |kind: &str, reason: &str, message: &str| {
                json!({
                    "type": kind, "status": "True", "reason": reason, "message": message,
                    "lastTransitionTime": moment(now), "observedGeneration": 1,
                })
            };
            let names = at(object, &["spec", "names"]).cloned().unwrap_or_default();
            let versions: Vec<Value> = list(object, &["spec", "versions"])
                .iter()
                .filter_map(|version| version.get("name").cloned())
                .collect();
            let status = map_at(object, &["status"]);
            status.insert(
                "conditions".to_owned(),
                json!([
                    condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                    condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
                ]),
            );
            status.insert("acceptedNames".to_owned(), names);
            status.insert("storedVersions".to_owned(), Value::Array(versions));
        }
        _ => {}
    }
}

fn stateful_set(set: &mut Value) {
    let strategy = map_at(set, &["spec", "updateStrategy"]);
    if strategy.get("type").and_then(Value::as_str).unwrap_or_default().is_empty() {
        strategy.insert("type".to_owned(), json!("RollingUpdate"));
        strategy.entry("rollingUpdate").or_insert_with(|| json!({}));
    }
    if strategy.get("type") == Some(&json!("RollingUpdate"))
        && let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut)
    {
        rolling.entry("partition").or_insert(json!(0));
    }
    let spec = map_at(set, &["spec"]);
    missing(
        spec,
        &[
            ("replicas", json!(1)),
            ("podManagementPolicy", json!("OrderedReady")),
            ("revisionHistoryLimit", json!(10)),
            (
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            ),
        ],
    );
    pod(map_at(set, &["spec", "template", "spec"]));
    map_at(set, &["status"]).entry("replicas").or_insert(json!(0));
}

fn pod(spec: &mut Map<String, Value>) {
    missing(
        spec,
        &[
            ("restartPolicy", json!("Always")),
            ("terminationGracePeriodSeconds", json!(30)),
            ("dnsPolicy", json!("ClusterFirst")),
            ("schedulerName", json!("default-scheduler")),
            ("securityContext", json!({})),
        ],
    );
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let image = text(container, &["image"]).unwrap_or_default();
            let latest =
                image.ends_with(":latest") || !image.rsplit('/').next().unwrap_or_default().contains(':');
            let pull = if latest { "Always" } else { "IfNotPresent" };
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                missing(map_at(port, &[]), &[("protocol", json!("TCP"))]);
            }
            missing(
                map_at(container, &[]),
                &[
                    ("imagePullPolicy", json!(pull)),
                    ("terminationMessagePath", json!("/dev/termination-log")),
                    ("terminationMessagePolicy", json!("File")),
                    ("resources", json!({})),
                ],
            );
        }
    }
}

fn missing(map: &mut Map<String, Value>, defaults: &[(&str, Value)]) {
    for (field, value) in defaults {
        map.entry(*field).or_insert_with(|| value.clone());
    }
}
