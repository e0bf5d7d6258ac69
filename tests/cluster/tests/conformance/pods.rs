//! Pods: defaults, grace, evictions.

use serde_json::{Value, json};

use crate::ask::{Case, MERGE, STRATEGIC, TABLE, case, delete, get, patch, post};
use crate::objects::with;

/// A pod that no admission plugin adds a volume to.
fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"automountServiceAccountToken": false, "containers": [{"name": "app", "image": "app:v1"}]},
    })
}

fn on_a_node(name: &str) -> Value {
    with(pod(name), "/spec/nodeName", json!("elsewhere"))
}

fn ready() -> Value {
    json!({"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "app", "image": "app:v1", "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
    }})
}

fn budget() -> Value {
    json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}})
}

fn allows(count: i64) -> Value {
    json!({"status": {"observedGeneration": 1, "disruptionsAllowed": count, "currentHealthy": 1 + count, "desiredHealthy": 1, "expectedPods": 2}})
}

fn eviction(name: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "{ns}"}})
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("a pod is created with its defaults", [post("pods", pod("web-0")), get("pods/web-0")]),
        case(
            "a pod on no node goes at once",
            [post("pods", pod("web-0")), delete("pods/web-0", Value::Null), get("pods/web-0")],
        ),
        case(
            "a pod on a node gets its time",
            [
                post("pods", on_a_node("web-0")),
                patch(STRATEGIC, "pods/web-0/status", ready()),
                delete("pods/web-0", Value::Null),
                get("pods/web-0"),
                delete("pods/web-0", json!({"gracePeriodSeconds": 5})),
                delete("pods/web-0", json!({"gracePeriodSeconds": 60})),
                patch(MERGE, "pods/web-0", json!({"metadata": {"labels": {"a": "b"}}})),
                delete("pods/web-0", json!({"gracePeriodSeconds": 0})),
                get("pods/web-0"),
            ],
        ),
        case(
            "a pod with a finalizer waits for it",
            [
                post("pods", with(on_a_node("web-0"), "/metadata/finalizers", json!(["example.com/keep"]))),
                delete("pods/web-0", json!({"gracePeriodSeconds": 0})),
                patch(MERGE, "pods/web-0", json!({"metadata": {"finalizers": null}})),
                get("pods/web-0"),
            ],
        ),
        case(
            "a pod that is over goes at once",
            [
                post("pods", on_a_node("web-0")),
                patch(STRATEGIC, "pods/web-0/status", json!({"status": {"phase": "Failed"}})),
                delete("pods/web-0", Value::Null),
                get("pods/web-0"),
            ],
        ),
        case(
            "a deletion of a pod has a uid as precondition",
            [
                post("pods", pod("web-0")),
                delete(
                    "pods/web-0",
                    json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}),
                ),
            ],
        ),
        case(
            "a pod's spec is fixed, but for its image",
            [
                post("pods", pod("web-0")),
                patch(
                    STRATEGIC,
                    "pods/web-0",
                    json!({"spec": {"containers": [{"name": "app", "image": "app:v2"}]}}),
                ),
                patch(MERGE, "pods/web-0", json!({"spec": {"restartPolicy": "Never"}})),
                patch(MERGE, "pods/web-0", json!({"metadata": {"labels": {"b": "c"}}})),
            ],
        ),
        case(
            "pods are selected by phase and node",
            [
                post("pods", on_a_node("web-0")),
                post("pods", pod("web-1")),
                patch(STRATEGIC, "pods/web-0/status", ready()),
                get("pods?fieldSelector=status.phase%3DRunning"),
                get("pods?fieldSelector=spec.nodeName%3Delsewhere"),
                get("pods?fieldSelector=spec.nodeName%3D"),
            ],
        ),
        case(
            "a pod as a table",
            [
                post("pods", on_a_node("web-0")),
                get("pods").accepting(TABLE),
                patch(STRATEGIC, "pods/web-0/status", ready()),
                get("pods").accepting(TABLE),
                patch(
                    STRATEGIC,
                    "pods/web-0/status",
                    json!({"status": {"containerStatuses": [{"name": "app", "image": "app:v1", "imageID": "", "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
                ),
                get("pods").accepting(TABLE),
                delete("pods/web-0", Value::Null),
                get("pods").accepting(TABLE),
            ],
        ),
        case(
            "an eviction without a budget deletes",
            [
                post("pods", on_a_node("web-0")),
                patch(STRATEGIC, "pods/web-0/status", ready()),
                post("pods/web-0/eviction", eviction("web-0")),
                get("pods/web-0"),
            ],
        ),
        case(
            "an eviction asks the budget",
            [
                post("pods", on_a_node("web-0")),
                post("pods", on_a_node("web-1")),
                patch(STRATEGIC, "pods/web-0/status", ready()),
                patch(STRATEGIC, "pods/web-1/status", ready()),
                post("pdb", budget()),
                patch(MERGE, "pdb/web/status", allows(1)),
                post("pods/web-0/eviction", eviction("web-0")),
                get("pods/web-0"),
                get("pdb/web"),
                post("pods/web-1/eviction", eviction("web-1")),
                get("pods/web-1"),
            ],
        ),
        case("an eviction of nothing is not found", [post("pods/none/eviction", eviction("none"))]),
        case(
            "a quota limits pods",
            [post("pods", pod("web-0")), post("pods", with(pod("web-1"), "/spec/containers", json!([])))],
        ),
    ]
}
