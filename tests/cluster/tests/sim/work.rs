//! Working: apply, wait, rollout status, set image, scale, patch, replace, delete.

use windlass_bed::manifests;

use crate::served::{PATIENCE, Served};

#[test]
fn kubectl_applies_both_ways_and_repeats_without_a_change() {
    let served = Served::start();
    let set = manifests::stateful_set("web", 3, "app:v1");
    assert_eq!(served.ok_with(&["apply", "-f", "-"], &set), "statefulset.apps/web created\n");
    assert_eq!(served.ok_with(&["apply", "-f", "-"], &set), "statefulset.apps/web unchanged\n");
    let more = set.replace("replicas: 3", "replicas: 4");
    assert_eq!(served.ok_with(&["apply", "-f", "-"], &more), "statefulset.apps/web configured\n");
    assert!(served.ok_with(&["diff", "-f", "-"], &more).is_empty());
    let applied = served.ok_with(&["apply", "--server-side", "-f", "-"], &more);
    assert_eq!(applied, "statefulset.apps/web serverside-applied\n");
    let dry = served.ok_with(&["apply", "--dry-run=server", "-f", "-"], &set);
    assert!(dry.contains("configured (server dry run)"), "{dry}");
    assert_eq!(served.ok(&["get", "sts/web", "-o", "jsonpath={.spec.replicas}"]), "4");
}

#[test]
fn kubectl_is_told_of_fields_that_nobody_knows() {
    let served = Served::start();
    let rollout = manifests::rollout("web", &["setWeight: 50"]).replace("spec:\n", "spec:\n  surprise: 1\n");
    let output = served.kubectl(&["apply", "-f", "-"], &rollout);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("unknown field \"spec.surprise\""), "{said}");
    let output = served.kubectl(&["apply", "--validate=warn", "-f", "-"], &rollout);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("Warning: unknown field \"spec.surprise\""), "{said}");
}

#[test]
fn kubectl_waits_for_a_set_and_follows_its_rollout() {
    let served = Served::start();
    served.ok_with(&["apply", "-f", "-"], &manifests::stateful_set("web", 3, "app:v1"));
    served.ok(&["rollout", "status", "sts/web", PATIENCE]);
    served.ok(&["wait", "--for=jsonpath={.status.readyReplicas}=3", "sts/web", PATIENCE]);
    served.ok(&["wait", "--for=condition=Ready", "pod/web-2", PATIENCE]);
    served.ok(&["set", "image", "sts/web", "app=app:v2"]);
    let told = served.ok(&["rollout", "status", "sts/web", PATIENCE]);
    assert!(told.contains("rolling update complete 3 pods") || told.contains("roll out complete"), "{told}");
    let image = served.ok(&["get", "pod/web-0", "-o", "jsonpath={.spec.containers[0].image}"]);
    assert_eq!(image, "app:v2");
}

#[test]
fn a_canary_runs_through_kubectl_alone() {
    let served = Served::with_a_rollout();
    served.ok(&["set", "image", "sts/web", "app=app:v2"]);
    served.ok(&["wait", "--for=jsonpath={.status.phase}=Paused", "rp/web", PATIENCE]);
    let images = ["get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}"];
    assert_eq!(served.ok(&images), "app:v1 app:v1 app:v2");
    let promote = r#"{"status":{"pauseConditions":null}}"#;
    served.ok(&["patch", "rp/web", "--subresource=status", "--type=merge", "-p", promote]);
    served.ok(&["wait", "--for=jsonpath={.status.phase}=Healthy", "rp/web", PATIENCE]);
    served.ok(&["rollout", "status", "sts/web", PATIENCE]);
    assert_eq!(served.ok(&images), "app:v2 app:v2 app:v2");
}

#[test]
fn kubectl_scales_labels_patches_replaces_and_deletes() {
    let served = Served::start();
    let set = manifests::stateful_set("web", 2, "app:v1");
    served.ok_with(&["create", "-f", "-"], &set);
    served.ok(&["scale", "sts/web", "--replicas=1"]);
    served.ok(&["wait", "--for=jsonpath={.status.replicas}=1", "sts/web", PATIENCE]);
    served.ok(&["label", "sts/web", "team=data"]);
    served.ok(&["annotate", "sts/web", "note=hello"]);
    served.ok(&["patch", "sts/web", "-p", r#"{"spec":{"minReadySeconds":1}}"#]);
    served.ok(&[
        "patch",
        "sts/web",
        "--type=json",
        "-p",
        r#"[{"op":"remove","path":"/metadata/labels/team"}]"#,
    ]);
    served.ok_with(&["replace", "-f", "-"], &set.replace("replicas: 2", "replicas: 1"));
    let refusal = served.refused(&["patch", "sts/web", "-p", r#"{"spec":{"serviceName":"other"}}"#]);
    assert!(refusal.contains("updates to statefulset spec for fields other than"), "{refusal}");
    served.ok(&["delete", "pod/web-0", "--wait=false"]);
    served.ok(&["delete", "sts/web", PATIENCE]);
    served.ok(&["wait", "--for=delete", "sts/web", PATIENCE]);
}

#[test]
fn kubectl_cordons_drains_and_makes_namespaces() {
    let served = Served::start();
    served.ok(&["create", "namespace", "data"]);
    served.ok(&["create", "configmap", "settings", "--namespace=data", "--from-literal=a=b"]);
    let data = served.ok(&["get", "configmap/settings", "--namespace=data", "-o", "jsonpath={.data.a}"]);
    assert_eq!(data, "b");
    served.ok(&["delete", "namespace", "data", PATIENCE]);
    assert!(served.refused(&["get", "configmap/settings", "--namespace=data"]).contains("not found"));
    served.ok(&["cordon", "node-1"]);
    assert!(served.ok(&["get", "nodes"]).contains("Ready,SchedulingDisabled"));
    served.ok(&["drain", "node-1", "--ignore-daemonsets", "--force", PATIENCE]);
    served.ok(&["uncordon", "node-1"]);
}
