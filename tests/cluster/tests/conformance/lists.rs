//! Lists: selectors, pages, and the forms that objects are shown in.

use serde_json::json;

use crate::ask::{Ask, Case, METADATA, METADATA_LIST, TABLE, case, get, post};
use crate::objects::{map, set, with};

fn labelled(name: &str, labels: serde_json::Value) -> Ask {
    post("configmaps", with(map(name, "1"), "/metadata/labels", labels))
}

pub(crate) fn cases() -> Vec<Case> {
    let event = json!({
        "metadata": {"name": "one"}, "involvedObject": {"kind": "Pod", "name": "web-0", "namespace": "{ns}"},
        "reason": "Killing", "type": "Normal", "message": "hello", "count": 2,
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:01:00Z", "source": {"component": "kubelet"},
    });
    vec![
        case(
            "labels select",
            [
                labelled("one", json!({"a": "1", "b": "x"})),
                labelled("two", json!({"a": "2"})),
                labelled("three", json!({"c": "3"})),
                get("configmaps?labelSelector=a%3D1"),
                get("configmaps?labelSelector=a!%3D1"),
                get("configmaps?labelSelector=a"),
                get("configmaps?labelSelector=!a"),
                get("configmaps?labelSelector=a%20in%20(1,2),b"),
                get("configmaps?labelSelector=a%20notin%20(1)"),
                get("configmaps?labelSelector=a%3D%3D2"),
            ],
        ),
        case(
            "a selector that cannot be read is refused",
            [get("configmaps?fieldSelector=data.a%3D1"), get("sts?fieldSelector=status.phase%3D1")],
        ),
        case(
            "fields select",
            [
                labelled("one", json!({})),
                labelled("two", json!({})),
                get("configmaps?fieldSelector=metadata.name%3Done"),
                get("configmaps?fieldSelector=metadata.name!%3Done"),
                get("configmaps?fieldSelector=metadata.namespace%3D{ns},metadata.name%3Dtwo"),
            ],
        ),
        case(
            "fields of events select",
            [
                post("events", event.clone()),
                get("events?fieldSelector=involvedObject.name%3Dweb-0"),
                get("events?fieldSelector=involvedObject.name%3Dweb-1"),
                get("events?fieldSelector=reason%3DKilling,type%3DNormal"),
            ],
        ),
        case(
            "a long list comes in pages",
            [
                labelled("one", json!({})),
                labelled("two", json!({})),
                labelled("three", json!({})),
                get("configmaps?limit=2").remember("page"),
                get("configmaps?limit=2&continue={page.continue}"),
                get("configmaps?limit=5"),
                get("configmaps?limit=2&continue=nonsense"),
            ],
        ),
        case("a list of nothing", [get("configmaps"), get("rp"), get("sts")]),
        case(
            "a list at any version",
            [
                labelled("one", json!({})),
                get("configmaps?resourceVersion=0"),
                get("configmaps?resourceVersion=nonsense"),
            ],
        ),
        case(
            "a set as a table",
            [
                post("sts", set("web", "app:v1")),
                get("sts").accepting(TABLE),
                get("sts/web").accepting(TABLE),
                get("sts?includeObject=None").accepting(TABLE),
                get("sts?includeObject=Object").accepting(TABLE),
            ],
        ),
        case(
            "other kinds as tables",
            [
                post("events", event),
                get("events").accepting(TABLE),
                post(
                    "services",
                    json!({"metadata": {"name": "web"}, "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]}}),
                ),
                get("services").accepting(TABLE),
                labelled("one", json!({})),
                get("configmaps").accepting(TABLE),
                post(
                    "pdb",
                    json!({"metadata": {"name": "web"}, "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}}}),
                ),
                get("pdb").accepting(TABLE),
                post(
                    "persistentvolumeclaims",
                    json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
                ),
                get("persistentvolumeclaims").accepting(TABLE),
                post("revisions", json!({"metadata": {"name": "web-1"}, "data": {}, "revision": 1})),
                get("revisions").accepting(TABLE),
                get("ns/{ns}").accepting(TABLE),
            ],
        ),
        case("a rollout as a table", [post("rp", crate::custom::rollout("web")), get("rp").accepting(TABLE)]),
        case(
            "metadata only",
            [
                post("sts", set("web", "app:v1")),
                get("sts").accepting(METADATA_LIST),
                get("sts/web").accepting(METADATA),
            ],
        ),
    ]
}
