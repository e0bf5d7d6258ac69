//! Deleting: preconditions, finalizers, propagation.

use serde_json::{Value, json};

use crate::ask::{Case, MERGE, case, delete, get, patch, post, put};
use crate::objects::{map, set, with};

pub(crate) fn cases() -> Vec<Case> {
    let kept = || with(map("one", "1"), "/metadata/finalizers", json!(["example.com/keep"]));
    vec![
        case(
            "what is deleted is gone",
            [
                post("configmaps", map("one", "1")),
                delete("configmaps/one", Value::Null),
                get("configmaps/one"),
                delete("configmaps/one", Value::Null),
            ],
        ),
        case(
            "a deletion has preconditions",
            [
                post("configmaps", map("one", "1")).remember("old"),
                delete(
                    "configmaps/one",
                    json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}),
                ),
                patch(MERGE, "configmaps/one", json!({"data": {"a": "2"}})),
                delete("configmaps/one", json!({"preconditions": {"resourceVersion": "{old.rv}"}})),
                delete("configmaps/one", json!({"preconditions": {"uid": "{old.uid}"}})),
            ],
        ),
        case(
            "a finalizer keeps an object until it is taken off",
            [
                post("configmaps", kept()),
                delete("configmaps/one", Value::Null),
                get("configmaps/one"),
                delete("configmaps/one", Value::Null),
                patch(MERGE, "configmaps/one", json!({"data": {"a": "2"}})),
                patch(
                    MERGE,
                    "configmaps/one",
                    json!({"metadata": {"finalizers": ["example.com/keep", "example.com/more"]}}),
                ),
                patch(MERGE, "configmaps/one", json!({"metadata": {"finalizers": null}})),
                get("configmaps/one"),
            ],
        ),
        case(
            "a set with a finalizer counts its deletion as a generation",
            [
                post("sts", with(set("web", "app:v1"), "/metadata/finalizers", json!(["example.com/keep"]))),
                delete("sts/web", Value::Null),
                patch(MERGE, "sts/web", json!({"metadata": {"finalizers": null}})),
                get("sts/web"),
            ],
        ),
        case(
            "foreground and orphan deletions leave it to a finalizer",
            [
                post("sts", set("web", "app:v1")),
                delete("sts/web", json!({"propagationPolicy": "Foreground"})),
                get("sts/web"),
                post("sts", set("other", "app:v1")),
                delete("sts/other", json!({"propagationPolicy": "Orphan"})),
                get("sts/other"),
            ],
        ),
        case(
            "a background deletion takes the set at once",
            [
                post("sts", set("web", "app:v1")),
                delete("sts/web", json!({"propagationPolicy": "Background"})),
                get("sts/web"),
            ],
        ),
        case(
            "a dry deletion deletes nothing",
            [
                post("configmaps", map("one", "1")),
                delete("configmaps/one?dryRun=All", Value::Null),
                get("configmaps/one"),
            ],
        ),
        case(
            "a collection is deleted by labels",
            [
                post("configmaps", with(map("one", "1"), "/metadata/labels", json!({"a": "1"}))),
                post("configmaps", map("two", "1")),
                delete("configmaps?labelSelector=a%3D1", Value::Null),
                get("configmaps"),
            ],
        ),
        case(
            "a rollout with a finalizer waits for it",
            [
                post(
                    "rp",
                    with(
                        crate::custom::rollout("web"),
                        "/metadata/finalizers",
                        json!(["windlass.sh/release"]),
                    ),
                ),
                delete("rp/web", Value::Null),
                patch(MERGE, "rp/web/status", json!({"status": {"phase": "Degraded"}})),
                patch(MERGE, "rp/web", json!({"metadata": {"finalizers": []}})),
                get("rp/web"),
            ],
        ),
        case(
            "a deleted namespace is terminating",
            [
                delete("ns/{ns}", Value::Null),
                post("configmaps", map("one", "1")),
                put(
                    "ns/{ns}/finalize",
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}, "spec": {"finalizers": []}}),
                ),
                get("ns/{ns}"),
            ],
        ),
    ]
}
