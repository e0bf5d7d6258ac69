//! Creating, reading and replacing; generations; status apart; scale.

use serde_json::{Value, json};

use crate::ask::{Case, MERGE, case, get, patch, post, put};

/// A StatefulSet without pods of its own.
pub(crate) fn set(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {
            "serviceName": name, "replicas": 3, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "app", "image": image}]},
            },
        },
    })
}

/// The same with something else.
pub(crate) fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let mut here = &mut object;
    for step in pointer.split('/').filter(|step| !step.is_empty()) {
        here = match step.parse::<usize>() {
            Ok(index) => &mut here[index],
            Err(_) => &mut here[step],
        };
    }
    *here = value;
    object
}

pub(crate) fn map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})
}

fn web() -> Value {
    set("web", "app:v1")
}

pub(crate) fn cases() -> Vec<Case> {
    [written(), refused(), numbered(), others()].into_iter().flatten().collect()
}

fn written() -> Vec<Case> {
    vec![
        case("a set is created with its defaults", [post("sts", web()), get("sts/web")]),
        case("a set with everything said keeps it", [post("sts", full())]),
        case(
            "a service, a claim, a lease and others are created with their defaults",
            [
                post(
                    "services",
                    json!({"metadata": {"name": "web"}, "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]}}),
                ),
                post(
                    "persistentvolumeclaims",
                    json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
                ),
                post(
                    "leases",
                    json!({"metadata": {"name": "lease"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}),
                ),
                post("secrets", json!({"metadata": {"name": "secret"}, "data": {"a": "Yg=="}})),
                post(
                    "revisions",
                    json!({"metadata": {"name": "web-1"}, "data": {"spec": {}}, "revision": 1}),
                ),
                post(
                    "pdb",
                    json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
                ),
            ],
        ),
        case(
            "a map is created, read and replaced",
            [
                post("configmaps", map("one", "1")),
                put("configmaps/one", map("one", "2")),
                get("configmaps/one"),
            ],
        ),
        case(
            "a write that changes nothing keeps the version",
            [
                post("sts", web()),
                put("sts/web", web()),
                patch(MERGE, "sts/web", json!({"spec": {"replicas": 3}})),
                patch(MERGE, "sts/web", json!({"metadata": {"labels": {"a": null}}})),
            ],
        ),
        case(
            "a generated name gets a suffix and nothing else is lost",
            [post("configmaps?dryRun=All", json!({"metadata": {"name": "", "generateName": ""}}))],
        ),
        case(
            "a dry run writes nothing",
            [
                post("configmaps?dryRun=All", map("one", "1")),
                get("configmaps/one"),
                post("configmaps", map("one", "1")),
                put("configmaps/one?dryRun=All", map("one", "2")),
                get("configmaps/one"),
            ],
        ),
    ]
}

fn full() -> Value {
    let set = with(web(), "/spec/podManagementPolicy", json!("Parallel"));
    let set = with(
        set,
        "/spec/updateStrategy",
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
    );
    let set = with(set, "/spec/minReadySeconds", json!(5));
    let set = with(set, "/spec/ordinals", json!({"start": 3}));
    let set = with(
        set,
        "/spec/volumeClaimTemplates",
        json!([{
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }]),
    );
    with(
        set,
        "/spec/template/spec/containers/0",
        json!({
            "name": "app", "image": "app", "ports": [{"containerPort": 80, "name": "http"}],
            "env": [{"name": "A", "value": "1"}, {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }),
    )
}

fn refused() -> Vec<Case> {
    vec![
        case(
            "an object is not created twice",
            [post("configmaps", map("one", "1")), post("configmaps", map("one", "2"))],
        ),
        case(
            "what is not there is not found",
            [
                get("sts/none"),
                put("sts/none", set("none", "app:v1")),
                patch(MERGE, "sts/none", json!({})),
                get("sts/none/scale"),
                get("pods/none"),
                get("rp/none"),
            ],
        ),
        case(
            "a namespace that is not there takes nothing",
            [
                post("/api/v1/namespaces/nowhere/configmaps", map("one", "1")),
                get("/api/v1/namespaces/nowhere/configmaps"),
            ],
        ),
        case(
            "a stale replace is a conflict",
            [
                post("sts", web()).remember("old"),
                patch(MERGE, "sts/web", json!({"spec": {"replicas": 2}})),
                put(
                    "sts/web",
                    with(
                        with(web(), "/metadata/resourceVersion", json!("{old.rv}")),
                        "/spec/replicas",
                        json!(4),
                    ),
                ),
                put("sts/web", with(web(), "/metadata/uid", json!("{old.uid}"))),
                put("sts/web", with(web(), "/metadata/uid", json!("00000000-0000-0000-0000-000000000000"))),
            ],
        ),
        case(
            "a set that selects none of its pods is refused",
            [
                post("sts", with(web(), "/spec/template/metadata/labels", json!({"app": "other"}))),
                post("sts", with(web(), "/spec/template/spec/containers", json!([]))),
                post("sts", with(web(), "/spec/replicas", json!(-1))),
            ],
        ),
        case(
            "the fixed fields of a set are fixed",
            [
                post("sts", web()),
                patch(MERGE, "sts/web", json!({"spec": {"serviceName": "other"}})),
                patch(MERGE, "sts/web", json!({"spec": {"podManagementPolicy": "Parallel"}})),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}),
                ),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": -1}}}}),
                ),
            ],
        ),
        case(
            "a bad name is refused",
            [
                post("configmaps", map("Bad_Name", "1")),
                post("sts", set("web.dotted", "app:v1")),
                post("ns", json!({"metadata": {"name": "a.b"}})),
            ],
        ),
        case(
            "name and namespace in the body are those of the path",
            [
                post("configmaps", map("one", "1")),
                put("configmaps/one", map("two", "1")),
                post("configmaps", with(map("two", "1"), "/metadata/namespace", json!("elsewhere"))),
            ],
        ),
        case(
            "a body that cannot be read is refused",
            [
                post("configmaps", json!([1, 2])),
                post("sts", web()).sending("text/plain"),
                patch("application/unknown", "sts/web", json!({})),
            ],
        ),
        case(
            "a path that names nothing is not found",
            [get("/api/v1/nothings"), get("/apis/nothing/v1/nothings"), get("sts/web/nothing")],
        ),
    ]
}

fn numbered() -> Vec<Case> {
    vec![
        case(
            "the generation counts changes of the spec",
            [
                post("sts", web()),
                patch(MERGE, "sts/web", json!({"metadata": {"labels": {"a": "b"}}})),
                patch(MERGE, "sts/web", json!({"spec": {"replicas": 4}})),
                patch(MERGE, "sts/web/status", json!({"status": {"replicas": 2}})),
                put("sts/web", with(web(), "/spec/template/spec/containers/0/image", json!("app:v2"))),
            ],
        ),
        case(
            "the status is written apart",
            [
                post("sts", with(web(), "/status", json!({"replicas": 7}))),
                patch(MERGE, "sts/web", json!({"status": {"replicas": 5}})),
                patch(
                    MERGE,
                    "sts/web/status",
                    json!({"spec": {"replicas": 9}, "status": {"replicas": 5, "readyReplicas": 2, "currentRevision": "web-1"}}),
                ),
                patch(
                    MERGE,
                    "sts/web/status",
                    json!({"metadata": {"labels": {"by": "status"}}, "status": {"replicas": 6}}),
                ),
                put(
                    "sts/web/status",
                    with(with(web(), "/status", json!({"replicas": 1})), "/spec/replicas", json!(8)),
                ),
                get("sts/web/status"),
            ],
        ),
        case(
            "counters of a status are checked",
            [
                post("sts", web()),
                patch(MERGE, "sts/web/status", json!({"status": {"replicas": 1, "currentReplicas": -1}})),
                patch(MERGE, "sts/web/status", json!({"status": {"replicas": 1, "readyReplicas": 2}})),
                patch(
                    MERGE,
                    "sts/web/status",
                    json!({"status": {"replicas": 3, "readyReplicas": 1, "availableReplicas": 2}}),
                ),
                patch(MERGE, "sts/web/status", json!({"status": {"replicas": -1}})),
            ],
        ),
        case(
            "the scale is a part of its own",
            [
                post("sts", web()),
                get("sts/web/scale").remember("scale"),
                put(
                    "sts/web/scale",
                    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "{ns}"}, "spec": {"replicas": 5}}),
                ),
                patch(MERGE, "sts/web/scale", json!({"spec": {"replicas": 4}})),
                patch(MERGE, "sts/web/scale", json!({"spec": {"replicas": -1}})),
                put(
                    "sts/web/scale",
                    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "{ns}", "resourceVersion": "{scale.rv}"}, "spec": {"replicas": 9}}),
                ),
                get("sts/web"),
            ],
        ),
        case(
            "a strategy that loses its partition gets the default",
            [
                post(
                    "sts",
                    with(
                        web(),
                        "/spec/updateStrategy",
                        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
                    ),
                ),
                patch(MERGE, "sts/web", json!({"spec": {"updateStrategy": {"rollingUpdate": null}}})),
                patch(MERGE, "sts/web", json!({"spec": {"updateStrategy": null}})),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
                ),
            ],
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case(
            "the server says who and what it is",
            [
                get("/healthz"),
                get("/readyz"),
                get("/livez"),
                post(
                    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
                ),
            ],
        ),
        case("our group is discovered", [get("/apis/argoproj.io"), get("/apis/argoproj.io/v1alpha1")]),
        case(
            "a namespace has a life cycle",
            [get("ns/{ns}"), patch(MERGE, "ns/{ns}", json!({"metadata": {"labels": {"team": "data"}}}))],
        ),
    ]
}
