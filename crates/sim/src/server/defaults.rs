//! What the server fills in where an object says nothing.

mod pods;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::{at, list, map_at, moment, name};
use crate::resource::Resource;

/// Fills in what is missing.
pub(super) fn fill(resource: Resource, object: &mut Value) {
    match resource {
        Resource::StatefulSets => stateful_set(object),
        Resource::Pods => pods::pod(object),
        Resource::Services => service(object),
        Resource::Claims => claim(object),
        Resource::Secrets => missing(map_at(object, &[]), &[("type", json!("Opaque"))]),
        Resource::Events => missing(
            map_at(object, &[]),
            &[
                ("eventTime", Value::Null),
                ("reportingComponent", json!("")),
                ("reportingInstance", json!("")),
            ],
        ),
        Resource::Budgets => {
            let counters = ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"];
            let status = map_at(object, &["status"]);
            for counter in counters {
                status.entry(counter).or_insert(json!(0));
            }
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
        Resource::Pods => pods::at_birth(object),
        Resource::Definitions => definition(now, object),
        _ => {}
    }
}

/// The names of a definition are always free here.
fn definition(now: Timestamp, object: &mut Value) {
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
    for template in spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
        let claim_kind = [("apiVersion", json!("v1")), ("kind", json!("PersistentVolumeClaim"))];
        missing(map_at(template, &[]), &claim_kind);
        claim(template);
    }
    pods::spec(map_at(set, &["spec", "template", "spec"]));
    let status = map_at(set, &["status"]);
    missing(status, &[("replicas", json!(0)), ("availableReplicas", json!(0))]);
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        missing(map_at(condition, &[]), &[("lastTransitionTime", Value::Null)]);
    }
}

fn claim(claim: &mut Value) {
    missing(map_at(claim, &["spec"]), &[("volumeMode", json!("Filesystem"))]);
    missing(map_at(claim, &["status"]), &[("phase", json!("Pending"))]);
}

/// Addresses are not handed out here: only headless services look as they do in a real cluster.
fn service(service: &mut Value) {
    let spec = map_at(service, &["spec"]);
    missing(
        spec,
        &[
            ("type", json!("ClusterIP")),
            ("sessionAffinity", json!("None")),
            ("internalTrafficPolicy", json!("Cluster")),
            ("ipFamilies", json!(["IPv4"])),
            ("ipFamilyPolicy", json!("SingleStack")),
        ],
    );
    if let Some(address) = spec.get("clusterIP").cloned() {
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let number = port.get("port").cloned().unwrap_or_default();
        missing(map_at(port, &[]), &[("protocol", json!("TCP")), ("targetPort", number)]);
    }
    missing(map_at(service, &["status"]), &[("loadBalancer", json!({}))]);
}

fn missing(map: &mut Map<String, Value>, defaults: &[(&str, Value)]) {
    for (field, value) in defaults {
        map.entry(*field).or_insert_with(|| value.clone());
    }
}
