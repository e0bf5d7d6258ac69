//! Our own resource: pruning, defaults, types.

use serde_json::{Value, json};

use crate::ask::{Case, MERGE, STRATEGIC, case, get, patch, post, put};
use crate::objects::with;

/// A rollout of the set of the same name.
pub(crate) fn rollout(name: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutPlugin", "metadata": {"name": name},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name},
            "plugin": {"name": "argoproj/statefulset"},
            "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}, {"pause": {"duration": "10s"}}]}},
        },
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let web = || rollout("web");
    vec![
        case("a rollout is created as it is said", [post("rp", web()), get("rp/web")]),
        case(
            "unknown fields are pruned",
            [
                post("rp", with(web(), "/spec/unknown", json!(1))),
                patch(
                    MERGE,
                    "rp/web",
                    json!({"spec": {"plugin": {"unknown": true}}, "metadata": {"unknown": 1}}),
                ),
                post("rp?fieldValidation=Strict", with(rollout("strict"), "/spec/unknown", json!(1))),
                post(
                    "rp?fieldValidation=Strict",
                    with(with(rollout("strict"), "/spec/unknown", json!(1)), "/spec/plugin/more", json!(1)),
                ),
                patch(MERGE, "rp/web?fieldValidation=Strict", json!({"spec": {"unknown": 2}})),
            ],
        ),
        case(
            "settings of a plugin are kept as they are",
            [post(
                "rp",
                with(
                    web(),
                    "/spec/plugin/config",
                    json!({"timeoutSeconds": 5, "anything": {"deep": [1, "x"]}}),
                ),
            )],
        ),
        case(
            "wrong types are refused",
            [
                post("rp", with(web(), "/spec/paused", json!("yes"))),
                post("rp", with(web(), "/spec/progressDeadlineSeconds", json!("soon"))),
                post("rp", with(web(), "/spec/strategy/canary/steps", json!({"setWeight": 1}))),
                post("rp", with(web(), "/spec/plugin", json!({}))),
                post("rp", with(web(), "/spec", json!({}))),
            ],
        ),
        case(
            "a rollout without a spec is refused",
            [post(
                "rp",
                json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutPlugin", "metadata": {"name": "web"}}),
            )],
        ),
        case(
            "nulls are allowed where they are allowed",
            [
                post("rp", with(web(), "/spec/progressDeadlineSeconds", Value::Null)),
                patch(MERGE, "rp/web", json!({"spec": {"paused": null}})),
                post("rp", with(rollout("other"), "/spec/paused", Value::Null)),
            ],
        ),
        case(
            "the status of a rollout is written apart",
            [
                post("rp", with(web(), "/status", json!({"phase": "Healthy"}))),
                patch(
                    MERGE,
                    "rp/web/status",
                    json!({"status": {"phase": "Progressing", "unknown": 1}, "metadata": {"labels": {"a": "b"}}, "spec": {"paused": true}}),
                ),
                patch(MERGE, "rp/web", json!({"status": {"phase": "Degraded"}, "spec": {"paused": true}})),
                patch(MERGE, "rp/web/status", json!({"status": {"phase": 7}})),
                patch(MERGE, "rp/web/status", json!({"status": {"updatedReplicas": "two"}})),
                get("rp/web"),
            ],
        ),
        case(
            "conditions of a rollout are filled in",
            [
                post("rp", web()),
                patch(
                    MERGE,
                    "rp/web/status",
                    json!({"status": {"conditions": [{"type": "Healthy", "status": "True"}]}}),
                ),
                patch(
                    MERGE,
                    "rp/web/status",
                    json!({"status": {"pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]}}),
                ),
                patch(MERGE, "rp/web/status", json!({"status": {"pauseConditions": null}})),
            ],
        ),
        case(
            "a rollout is replaced only by its version",
            [
                post("rp", web()).remember("old"),
                put("rp/web", web()),
                put(
                    "rp/web",
                    with(
                        with(web(), "/metadata/resourceVersion", json!("{old.rv}")),
                        "/spec/paused",
                        json!(true),
                    ),
                ),
                put("rp/web", with(web(), "/metadata/resourceVersion", json!("{old.rv}"))),
            ],
        ),
        case(
            "a rollout takes no strategic patch",
            [post("rp", web()), patch(STRATEGIC, "rp/web", json!({"spec": {"paused": true}}))],
        ),
        case("a rollout has no scale", [post("rp", web()), get("rp/web/scale")]),
    ]
}
