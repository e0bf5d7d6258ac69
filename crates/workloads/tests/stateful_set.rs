//! The StatefulSet lens, golden in and out: objects to observations, moves to requests.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use windlass_engine::{
    Exposure, Move, Observation, PodName, PodRef, PodState, PodUid, Record, Refusal, RolloutName,
};
use windlass_workloads::{
    Holder, KnownPod, PodDeletion, PodView, RevisionView, Snapshot, StatefulSetView, Workload, Write,
    give_back, observe, write,
};

/// A set of three pods on `web-a`, changed by `patch`.
fn set(patch: &Value) -> StatefulSetView {
    let mut set = json!({
        "metadata": {"name": "web", "uid": "set-uid", "resourceVersion": "42", "generation": 3},
        "spec": {
            "serviceName": "web", "replicas": 3, "selector": {}, "template": {},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        },
        "status": {"replicas": 3, "observedGeneration": 3, "currentRevision": "web-a", "updateRevision": "web-a"},
    });
    merge(&mut set, patch);
    let set: StatefulSet = serde_json::from_value(set).unwrap();
    StatefulSetView::of(&set)
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

fn pod(name: &str, revision: &str, status: &Value) -> KnownPod {
    let mut pod = json!({
        "metadata": {"name": name, "uid": format!("uid-of-{name}"), "creationTimestamp": "2026-11-16T12:00:00Z",
            "labels": {"controller-revision-hash": revision}},
        "status": {},
    });
    merge(&mut pod["status"], status);
    let pod: Pod = serde_json::from_value(pod).unwrap();
    KnownPod { version: Some(7), view: Arc::new(PodView::of(&pod)) }
}

fn ready() -> Value {
    json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-16T12:00:10Z"}]})
}

fn revision(name: &str, image: &str) -> Arc<RevisionView> {
    let revision: ControllerRevision = serde_json::from_value(json!({
        "metadata": {"name": name}, "revision": 1,
        "data": {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}},
    }))
    .unwrap();
    Arc::new(RevisionView::of(&revision))
}

fn snapshot(set: StatefulSetView, pods: Vec<KnownPod>) -> Snapshot {
    let revisions =
        vec![revision("web-a", "app:v1"), revision("web-b", "app:v2"), revision("web-a2", "app:v1")];
    Snapshot { workload: Workload::StatefulSet(set), pods, revisions }
}

fn three() -> Vec<KnownPod> {
    (0..3).map(|ordinal| pod(&format!("web-{ordinal}"), "web-a", &ready())).collect()
}

fn seen(set: StatefulSetView, pods: Vec<KnownPod>) -> Observation {
    observe(&snapshot(set, pods), &RolloutName::new("web"), Holder::Policy).unwrap()
}

fn names(seen: &Observation) -> Vec<&str> {
    seen.slots.iter().map(|slot| slot.name.as_str()).collect()
}

#[test]
fn pods_are_exposed_from_the_highest_ordinal_down() {
    assert_eq!(names(&seen(set(&json!({})), three())), ["web-2", "web-1", "web-0"]);
}

#[test]
fn ordinals_start_where_the_set_says_and_the_partition_counts_from_there() {
    let set = set(
        &json!({"spec": {"ordinals": {"start": 5}, "updateStrategy": {"rollingUpdate": {"partition": 2}}}}),
    );
    let pods = vec![pod("web-5", "web-a", &ready()), pod("web-2", "web-a", &ready())];
    let seen = seen(set, pods);
    assert_eq!(names(&seen), ["web-7", "web-6", "web-5"]);
    assert_eq!(seen.exposure, Exposure::First(1));
    assert_eq!(seen.surplus[0].name.as_str(), "web-2", "an ordinal below the start is on its way out");
}

#[test]
fn the_partition_is_read_as_an_exposure() {
    for (partition, exposure) in [
        (json!(0), Exposure::First(3)),
        (json!(2), Exposure::First(1)),
        (json!(3), Exposure::First(0)),
        (json!(9), Exposure::First(0)),
        (json!(i32::MAX), Exposure::Held),
    ] {
        let set = set(&json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}}));
        assert_eq!(seen(set, three()).exposure, exposure, "{partition}");
    }
    let without = set(&json!({"spec": {"updateStrategy": {"rollingUpdate": null}}}));
    assert_eq!(seen(without, three()).exposure, Exposure::First(3));
}

#[test]
fn where_the_partition_holds_a_set_is_ready_for_a_change_only_at_hold() {
    for (partition, hold, ready) in [
        (0, Holder::Policy, true),
        (0, Holder::Partition, false),
        (3, Holder::Partition, false),
        (i32::MAX, Holder::Partition, true),
    ] {
        let set = set(&json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}}));
        let seen = observe(&snapshot(set, three()), &RolloutName::new("web"), hold).unwrap();
        assert_eq!(seen.ready_to_hold, ready, "{partition} {hold:?}");
    }
}

#[test]
fn what_a_pod_does_is_said_in_the_kubelets_or_schedulers_word() {
    let rows = [
        (json!({"phase": "Pending"}), "Pending"),
        (
            json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}),
            "Unschedulable",
        ),
        (
            json!({"phase": "Running", "containerStatuses": [{"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
            "CrashLoopBackOff",
        ),
        (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted"),
    ];
    for (status, word) in rows {
        let seen = seen(set(&json!({})), vec![pod("web-0", "web-a", &status)]);
        let state = &seen.slots[2].pod.as_ref().unwrap().state;
        assert_eq!(*state, PodState::NotReady { why: Some(word.to_owned()) });
    }
}

#[test]
fn a_pod_is_available_after_min_ready_seconds_and_at_once_without_them() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let with = seen(set(&json!({"spec": {"minReadySeconds": 30}})), three());
    let pod = with.slots[0].pod.as_ref().unwrap();
    assert!(!pod.is_available(at("2026-11-16T12:00:39Z")));
    assert!(pod.is_available(at("2026-11-16T12:00:40Z")));
    let without = seen(set(&json!({})), three());
    // The node's clock may be ahead of ours.
    assert!(without.slots[0].pod.as_ref().unwrap().is_available(at("2026-11-16T11:59:00Z")));
}

#[test]
fn nothing_is_concluded_before_the_sets_controller_has_seen_the_change() {
    assert!(seen(set(&json!({})), three()).settled);
    assert!(!seen(set(&json!({"metadata": {"generation": 4}})), three()).settled);
    let unknown = set(&json!({"status": {"updateRevision": "web-unknown"}}));
    assert!(!seen(unknown, three()).settled, "a revision nobody has read yet cannot be compared");
    let fresh = set(&json!({"status": {"currentRevision": "", "updateRevision": ""}}));
    assert!(!seen(fresh, vec![]).settled);
}

#[test]
fn a_revision_that_was_renamed_by_a_control_plane_upgrade_starts_no_run() {
    let renamed = set(&json!({"status": {"currentRevision": "web-a", "updateRevision": "web-a2"}}));
    let mut pods = three();
    pods[2] = pod("web-2", "web-a2", &ready());
    let seen = seen(renamed, pods);
    assert_eq!(seen.target, seen.stable);
    assert!(seen.pods().all(|pod| pod.is_on(&seen.stable)));
}

#[test]
fn a_target_that_is_renamed_in_the_middle_of_a_run_is_still_the_target() {
    let mut snapshot = snapshot(set(&json!({"status": {"updateRevision": "web-b2"}})), three());
    snapshot.revisions.push(revision("web-b2", "app:v2"));
    let seen = observe(&snapshot, &RolloutName::new("web"), Holder::Policy).unwrap();
    let remembered = windlass_engine::Revision::new("web-b");
    assert_eq!(*seen.known_as(&remembered), seen.target);
}

#[test]
fn a_set_that_updates_on_delete_is_refused() {
    let set = set(&json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}));
    let refused = observe(&snapshot(set, three()), &RolloutName::new("web"), Holder::Policy).unwrap_err();
    assert_eq!(refused, Refusal::ReplacesOnDeleteOnly { workload: "StatefulSet web".to_owned() });
}

#[test]
fn every_move_is_one_request_with_its_preconditions() {
    let rollout = RolloutName::new("web");
    let at_rest = snapshot(set(&json!({})), three());
    let held = snapshot(
        set(
            &json!({"metadata": {"annotations": {"windlass.sh/held": "true"}, "labels": {"windlass.sh/rollout": "web"}},
            "spec": {"updateStrategy": {"rollingUpdate": {"partition": i32::MAX, "maxUnavailable": 2}}}}),
        ),
        three(),
    );
    let record = Record { run: Timestamp::UNIX_EPOCH, stage: 2 };
    let pod = PodRef { name: PodName::new("web-2"), uid: PodUid::new("uid-of-web-2") };
    let rows = [
        ("claim", write(&at_rest, &rollout, Holder::Policy, &Move::Claim)),
        (
            "expose one of three at stage 2",
            write(&held, &rollout, Holder::Policy, &Move::Expose(Exposure::First(1), Some(record))),
        ),
        ("expose all", write(&held, &rollout, Holder::Policy, &Move::Expose(Exposure::First(3), None))),
        ("hold", write(&held, &rollout, Holder::Policy, &Move::Expose(Exposure::Held, None))),
        ("free", write(&held, &rollout, Holder::Policy, &Move::Free(pod))),
        ("release what is held", write(&held, &rollout, Holder::Policy, &Move::Release)),
        ("release at partition 0", write(&at_rest, &rollout, Holder::Policy, &Move::Release)),
        ("give back", give_back(&held.workload)),
    ];
    let bare = snapshot(set(&json!({"spec": {"updateStrategy": {"rollingUpdate": null}}})), three());
    let rows = rows.into_iter().chain([
        (
            "expose where the manifest has no rollingUpdate block",
            write(&bare, &rollout, Holder::Policy, &Move::Expose(Exposure::First(1), None)),
        ),
        ("claim where the partition holds", write(&at_rest, &rollout, Holder::Partition, &Move::Claim)),
        ("release where the partition holds", write(&at_rest, &rollout, Holder::Partition, &Move::Release)),
    ]);
    let text: Vec<String> = rows.map(|(what, write)| format!("{what}\n  {}", in_lines(&write))).collect();
    insta::assert_snapshot!("writes", text.join("\n"));
}

fn in_lines(write: &Write) -> String {
    match write {
        Write::Check(check) => format!("{check:?}"),
        Write::PatchWorkload(patch) => {
            let lines: Vec<String> =
                patch.patch.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
            format!("PATCH {} {}\n    {}", patch.kind.as_str(), patch.name, lines.join("\n    "))
        }
        Write::DeletePod(PodDeletion { pod, version }) => {
            format!("DELETE pod {} only if uid is {} and version is {version:?}", pod.name, pod.uid)
        }
    }
}

#[test]
fn the_record_in_the_mark_is_read_back() {
    let record = Record { run: "2026-11-16T12:00:00.123456789Z".parse().unwrap(), stage: 4 };
    let held = snapshot(set(&json!({})), three());
    let Write::PatchWorkload(patch) = write(
        &held,
        &RolloutName::new("web"),
        Holder::Policy,
        &Move::Expose(Exposure::First(1), Some(record)),
    ) else {
        unreachable!("an exposure is a patch");
    };
    let last = |path: &str| {
        let lines = serde_json::to_value(&patch.patch).unwrap();
        lines.as_array().unwrap().iter().rfind(|line| line["path"] == path).unwrap()["value"].clone()
    };
    let mark = last("/metadata/annotations");
    let seen = seen(set(&json!({"metadata": {"annotations": mark}})), three());
    assert_eq!((seen.marked, seen.recorded), (true, Some(record)));
    let foreign = set(&json!({"metadata": {"annotations": {"windlass.sh/held": "run-x/stage-y"}}}));
    assert_eq!(crate::seen(foreign, three()).recorded, None);
}
