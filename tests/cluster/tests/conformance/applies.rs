//! Server-side apply: who owns what.

use serde_json::{Value, json};

use crate::ask::{APPLY, Case, MERGE, case, get, patch, post};
use crate::objects::{map, set, with};

fn applied(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": data})
}

pub(crate) fn cases() -> Vec<Case> {
    let web = || set("web", "app:v1");
    vec![
        case(
            "an apply creates, and repeats without a write",
            [
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1", "b": "2"}))),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1", "b": "2"}))),
            ],
        ),
        case(
            "an apply takes out what it no longer says",
            [
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1", "b": "2"}))),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1"}))),
            ],
        ),
        case(
            "an apply leaves what another manager also says",
            [
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1", "b": "2"}))),
                patch(APPLY, "configmaps/one?fieldManager=other", applied(json!({"b": "2", "c": "3"}))),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1"}))),
                patch(APPLY, "configmaps/one?fieldManager=other", applied(json!({"c": "3"}))),
            ],
        ),
        case(
            "an apply conflicts with another applier, unless it forces",
            [
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1"}))),
                patch(APPLY, "configmaps/one?fieldManager=other", applied(json!({"a": "2"}))),
                patch(APPLY, "configmaps/one?fieldManager=other&force=true", applied(json!({"a": "2"}))),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1"}))),
            ],
        ),
        case(
            "a plain write takes the field from the applier",
            [
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1", "b": "2"}))),
                patch(MERGE, "configmaps/one?fieldManager=person", json!({"data": {"a": "9"}})),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"b": "2"}))),
                get("configmaps/one"),
            ],
        ),
        case(
            "an apply of containers merges by name",
            [
                post("sts?fieldManager=maker", web()),
                patch(
                    APPLY,
                    "sts/web?fieldManager=side",
                    json!({
                        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
                        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:v1"}]}}},
                    }),
                ),
                patch(
                    APPLY,
                    "sts/web?fieldManager=side",
                    json!({
                        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web", "labels": {"side": "no"}},
                    }),
                ),
            ],
        ),
        case(
            "who owns the partition alone gives it back by saying nothing",
            [
                post("sts?fieldManager=maker", web()),
                patch(
                    APPLY,
                    "sts/web?fieldManager=windlass&force=true",
                    json!({
                        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
                        "spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}},
                    }),
                ),
                patch(
                    APPLY,
                    "sts/web?fieldManager=windlass",
                    json!({
                        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": {},
                    }),
                ),
            ],
        ),
        case("an apply needs a manager", [patch(APPLY, "configmaps/one", applied(json!({"a": "1"})))]),
        case(
            "an apply of a rollout prunes and fills in too",
            [
                patch(APPLY, "rp/web?fieldManager=git", crate::custom::rollout("web")),
                patch(
                    APPLY,
                    "rp/web?fieldManager=git",
                    with(crate::custom::rollout("web"), "/spec/paused", json!(true)),
                ),
                patch(APPLY, "rp/web?fieldManager=git", crate::custom::rollout("web")),
            ],
        ),
        case(
            "an apply after a create owns its fields beside the creator",
            [
                post("configmaps?fieldManager=maker", map("one", "1")),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"a": "1", "b": "2"}))),
                patch(APPLY, "configmaps/one?fieldManager=git", applied(json!({"b": "2"}))),
            ],
        ),
    ]
}
