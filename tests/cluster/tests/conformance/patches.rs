//! Merge, JSON and strategic patches.

use serde_json::json;

use crate::ask::{Case, JSON, MERGE, STRATEGIC, case, patch, post};
use crate::objects::{map, set, with};

pub(crate) fn cases() -> Vec<Case> {
    let web = || set("web", "app:v1");
    let long = || {
        let containers = json!([
            {"name": "one", "image": "one:v1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80}]},
            {"name": "two", "image": "two:v1", "args": ["a", "b"]},
        ]);
        with(web(), "/spec/template/spec/containers", containers)
    };
    let spec =
        |containers: serde_json::Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
    vec![
        case(
            "a merge patch merges maps and replaces lists",
            [
                post("sts", long()),
                patch(MERGE, "sts/web", spec(json!([{"name": "three", "image": "three:v1"}]))),
                patch(MERGE, "sts/web", json!({"metadata": {"annotations": {"a": "1"}}})),
                patch(MERGE, "sts/web", json!({"metadata": {"annotations": {"a": null}}})),
            ],
        ),
        case(
            "a patch with a version is a precondition",
            [
                post("sts", web()).remember("old"),
                patch(MERGE, "sts/web", json!({"spec": {"replicas": 2}})),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"metadata": {"resourceVersion": "{old.rv}"}, "spec": {"replicas": 1}}),
                ),
                patch(MERGE, "sts/web", json!({"metadata": {"uid": "{old.uid}"}, "spec": {"replicas": 1}})),
                patch(MERGE, "sts/web", json!({"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}})),
            ],
        ),
        case(
            "a JSON patch tests before it writes",
            [
                post("sts", web()),
                patch(
                    JSON,
                    "sts/web",
                    json!([{"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "replace", "path": "/spec/replicas", "value": 2}]),
                ),
                patch(
                    JSON,
                    "sts/web",
                    json!([{"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "replace", "path": "/spec/replicas", "value": 1}]),
                ),
                patch(
                    JSON,
                    "sts/web",
                    json!([{"op": "test", "path": "/metadata/annotations/x", "value": null}]),
                ),
                patch(
                    JSON,
                    "sts/web",
                    json!([{"op": "test", "path": "/metadata/labels", "value": null}, {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]),
                ),
                patch(JSON, "sts/web", json!([{"op": "remove", "path": "/metadata/nothing"}])),
                patch(
                    JSON,
                    "sts/web",
                    json!([{"op": "add", "path": "/metadata/annotations", "value": {}}, {"op": "add", "path": "/metadata/annotations/windlass.sh~1held", "value": "x"}]),
                ),
            ],
        ),
        case(
            "a JSON patch may move and copy",
            [
                post("configmaps", map("one", "1")),
                patch(
                    JSON,
                    "configmaps/one",
                    json!([{"op": "copy", "from": "/data/a", "path": "/data/b"}, {"op": "move", "from": "/data/a", "path": "/data/c"}]),
                ),
            ],
        ),
        case(
            "a strategic patch merges containers by name",
            [
                post("sts", long()),
                patch(STRATEGIC, "sts/web", spec(json!([{"name": "two", "image": "two:v2"}]))),
                patch(
                    STRATEGIC,
                    "sts/web",
                    spec(
                        json!([{"name": "one", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]}]),
                    ),
                ),
                patch(STRATEGIC, "sts/web", spec(json!([{"name": "three", "image": "three:v1"}]))),
                patch(STRATEGIC, "sts/web", spec(json!([{"name": "one", "ports": [{"containerPort": 81}]}]))),
            ],
        ),
        case(
            "a strategic patch deletes by directive",
            [
                post("sts", long()),
                patch(STRATEGIC, "sts/web", spec(json!([{"name": "one", "$patch": "delete"}]))),
                patch(
                    STRATEGIC,
                    "sts/web",
                    spec(json!([{"name": "four", "image": "four:v1"}, {"$patch": "replace"}])),
                ),
            ],
        ),
        case(
            "a strategic patch sets the order of elements",
            [
                post("sts", long()),
                patch(
                    STRATEGIC,
                    "sts/web",
                    json!({"spec": {"template": {"spec": {
                        "$setElementOrder/containers": [{"name": "two"}, {"name": "new"}, {"name": "one"}],
                        "containers": [{"name": "new", "image": "new:v1"}],
                    }}}}),
                ),
            ],
        ),
        case(
            "a strategic patch merges finalizers as a set",
            [
                post(
                    "configmaps",
                    with(map("one", "1"), "/metadata/finalizers", json!(["example.com/a", "example.com/b"])),
                ),
                patch(STRATEGIC, "configmaps/one", json!({"metadata": {"finalizers": ["example.com/c"]}})),
                patch(
                    STRATEGIC,
                    "configmaps/one",
                    json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
                ),
                patch(MERGE, "configmaps/one", json!({"metadata": {"finalizers": null}})),
            ],
        ),
        case(
            "a strategic patch replaces tolerations and arguments as a whole",
            [
                post("sts", long()),
                patch(STRATEGIC, "sts/web", spec(json!([{"name": "two", "args": ["c"]}]))),
                patch(
                    STRATEGIC,
                    "sts/web",
                    json!({"spec": {"template": {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}}}),
                ),
                patch(
                    STRATEGIC,
                    "sts/web",
                    json!({"spec": {"template": {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}}}}),
                ),
            ],
        ),
        case(
            "a strategic patch merges conditions of a status by type",
            [
                post("sts", web()),
                patch(
                    STRATEGIC,
                    "sts/web/status",
                    json!({"status": {"replicas": 0, "conditions": [{"type": "A", "status": "True"}]}}),
                ),
                patch(
                    STRATEGIC,
                    "sts/web/status",
                    json!({"status": {"conditions": [{"type": "B", "status": "True"}]}}),
                ),
                patch(
                    STRATEGIC,
                    "sts/web/status",
                    json!({"status": {"conditions": [{"type": "A", "status": "False"}]}}),
                ),
            ],
        ),
        case(
            "a strategic patch can replace a map",
            [
                post("configmaps", map("one", "1")),
                patch(STRATEGIC, "configmaps/one", json!({"data": {"$patch": "replace", "b": "2"}})),
                patch(STRATEGIC, "configmaps/one", json!({"data": {"c": "3"}})),
                patch(STRATEGIC, "configmaps/one", json!({"data": {"$retainKeys": ["c"], "c": "4"}})),
            ],
        ),
    ]
}
