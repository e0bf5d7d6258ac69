//! Looking: get, describe, explain, events.

use crate::served::{PATIENCE, Served, rows};

#[test]
fn kubectl_gets_rollouts_sets_and_pods() {
    let served = Served::with_a_rollout();
    let printed = served.ok(&["get", "rp,sts,pods"]);
    let seen = rows(&printed);
    assert_eq!(seen[0], ["NAME", "STATUS", "PLUGIN", "AGE", "STEP", "UPDATED", "READY"]);
    assert_eq!(seen[1][..3], ["rolloutplugin.argoproj.io/web", "Healthy", "argoproj/statefulset"]);
    assert_eq!(seen[2], ["NAME", "READY", "AGE"]);
    assert_eq!(seen[3][..2], ["statefulset.apps/web", "3/3"]);
    assert_eq!(seen[4], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    for (row, pod) in seen[5..].iter().zip(["pod/web-0", "pod/web-1", "pod/web-2"]) {
        assert_eq!(row[..4], [pod, "1/1", "Running", "0"]);
    }
    assert_eq!(seen.len(), 8);
}

#[test]
fn kubectl_gets_by_labels_fields_and_output_forms() {
    let served = Served::with_a_rollout();
    let names = |arguments: &[&str]| served.ok(arguments);
    assert_eq!(names(&["get", "pods", "-l", "app=web", "-o", "name"]), "pod/web-0\npod/web-1\npod/web-2\n");
    assert_eq!(names(&["get", "pods", "-l", "app in (db)", "-o", "name"]), "");
    assert_eq!(names(&["get", "pods", "--field-selector=metadata.name=web-1", "-o", "name"]), "pod/web-1\n");
    assert_eq!(names(&["get", "sts", "web", "-o", "jsonpath={.spec.replicas}"]), "3");
    assert!(names(&["get", "sts", "web", "-o", "yaml"]).contains("podManagementPolicy: OrderedReady"));
    assert!(names(&["get", "nodes", "-o", "wide"]).contains("INTERNAL-IP"));
    let all = names(&["get", "all"]);
    assert!(all.contains("statefulset.apps/web") && all.contains("rolloutplugin.argoproj.io/web"), "{all}");
    assert!(served.refused(&["get", "pods", "none"]).contains("pods \"none\" not found"));
    assert!(served.refused(&["get", "unicorns"]).contains("doesn't have a resource type"));
}

#[test]
fn kubectl_describes() {
    let served = Served::with_a_rollout();
    let set = served.ok(&["describe", "sts/web"]);
    assert!(set.contains("Replicas:           3 desired | 3 total"), "{set}");
    assert!(set.contains("3 Running / 0 Waiting"), "{set}");
    let pod = served.ok(&["describe", "pod/web-0"]);
    assert!(pod.contains("Controlled By:  StatefulSet/web"), "{pod}");
    assert!(pod.contains("Status:           Running"), "{pod}");
    let rollout = served.ok(&["describe", "rp/web"]);
    assert!(rollout.contains("Kind:         RolloutPlugin") && rollout.contains("Phase:"), "{rollout}");
}

#[test]
fn kubectl_explains_and_knows_what_there_is() {
    let served = Served::start();
    assert!(served.ok(&["explain", "rp.spec.strategy"]).contains("canary"));
    let resources = served.ok(&["api-resources"]);
    assert!(resources.contains("rolloutplugins") && resources.contains("statefulsets"), "{resources}");
    assert!(served.ok(&["version"]).contains("Server Version: v1.36"));
    assert!(served.ok(&["auth", "whoami"]).contains("admin"));
    assert_eq!(served.ok(&["auth", "can-i", "delete", "pods"]).trim(), "yes");
}

#[test]
fn kubectl_watches_rows_and_events() {
    let served = Served::with_a_rollout();
    served.ok(&["set", "image", "sts/web", "app=app:v2"]);
    served.ok(&["wait", "--for=jsonpath={.status.phase}=Paused", "rp/web", PATIENCE]);
    let events = served.ok(&["events", "--for=rp/web"]);
    assert!(events.contains("RolloutPluginPaused"), "{events}");
    // A watch that is cut by its time limit has shown what is there.
    let output = served.kubectl(&["get", "pods", "--watch", "--request-timeout=1s"], "");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(rows(&printed)[0], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert!(printed.contains("web-2"), "{printed}");
}
