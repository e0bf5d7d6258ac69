//! What the server fills in for pods and for templates of pods.

use serde_json::{Map, Value, json};

use super::missing;
use crate::object::{at, list, map_at, text};

/// A pod.
pub(super) fn pod(pod: &mut Value) {
    spec(map_at(pod, &["spec"]));
    missing(map_at(pod, &["spec"]), &[("enableServiceLinks", json!(true))]);
    let quality = quality(pod);
    let status = map_at(pod, &["status"]);
    missing(status, &[("phase", json!("Pending")), ("qosClass", json!(quality))]);
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let moments = [("lastProbeTime", Value::Null), ("lastTransitionTime", Value::Null)];
        missing(map_at(condition, &[]), &moments);
    }
    for container in status.get_mut("containerStatuses").and_then(Value::as_array_mut).into_iter().flatten() {
        missing(map_at(container, &[]), &[("lastState", json!({}))]);
    }
}

/// What admission plugins add to a new pod. The volume with a token is left out: nobody here runs a process.
pub(super) fn at_birth(pod: &mut Value) {
    let spec = map_at(pod, &["spec"]);
    missing(
        spec,
        &[
            ("serviceAccountName", json!("default")),
            ("serviceAccount", json!("default")),
            ("priority", json!(0)),
            ("preemptionPolicy", json!("PreemptLowerPriority")),
        ],
    );
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        if let Some(all) = tolerations.as_array_mut()
            && !all.iter().any(|it| text(it, &["key"]) == Some(key))
        {
            let operator = "Exists";
            all.push(
                json!({"key": key, "operator": operator, "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
}

/// The spec of a pod, or of a template.
pub(super) fn spec(spec: &mut Map<String, Value>) {
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
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec.entry("serviceAccount").or_insert(account);
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            self::container(container);
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        for kind in ["configMap", "secret", "projected", "downwardAPI"] {
            if let Some(Value::Object(source)) = volume.get_mut(kind) {
                missing(source, &[("defaultMode", json!(420))]);
            }
        }
    }
}

fn container(container: &mut Value) {
    let image = text(container, &["image"]).unwrap_or_default();
    let latest = image.ends_with(":latest") || !image.rsplit('/').next().unwrap_or_default().contains(':');
    let pull = if latest { "Always" } else { "IfNotPresent" };
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        missing(map_at(port, &[]), &[("protocol", json!("TCP"))]);
    }
    for variable in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::Object(field)) = variable.pointer_mut("/valueFrom/fieldRef") {
            missing(field, &[("apiVersion", json!("v1"))]);
        }
    }
    for kind in ["readinessProbe", "livenessProbe", "startupProbe"] {
        if let Some(Value::Object(probe)) = container.get_mut(kind) {
            self::probe(probe);
        }
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

fn probe(probe: &mut Map<String, Value>) {
    missing(
        probe,
        &[
            ("timeoutSeconds", json!(1)),
            ("periodSeconds", json!(10)),
            ("successThreshold", json!(1)),
            ("failureThreshold", json!(3)),
        ],
    );
    if let Some(Value::Object(request)) = probe.get_mut("httpGet") {
        missing(request, &[("path", json!("/")), ("scheme", json!("HTTP"))]);
    }
}

fn quality(pod: &Value) -> &'static str {
    let containers = list(pod, &["spec", "containers"]);
    let named = |container: &Value, kind: &str| {
        at(container, &["resources", kind]).and_then(Value::as_object).is_some_and(|it| !it.is_empty())
    };
    if !containers.iter().any(|it| named(it, "requests") || named(it, "limits")) {
        return "BestEffort";
    }
    let guaranteed = |container: &Value| {
        ["cpu", "memory"].iter().all(|kind| {
            let limit = at(container, &["resources", "limits", kind]);
            let request = at(container, &["resources", "requests", kind]);
            limit.is_some() && request.is_none_or(|request| Some(request) == limit)
        })
    };
    if containers.iter().all(guaranteed) { "Guaranteed" } else { "Burstable" }
}
