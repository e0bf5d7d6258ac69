//! What goes when something else goes, and what may be disturbed meanwhile.

use serde_json::json;
use windlass_sim::actors::drain::Drain;
use windlass_sim::{Deletion, Key, Propagation, Resource};

use crate::stage::{Stage, person, pod, set, web};

fn running(replicas: i64) -> Stage {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(replicas, "a", json!({"podManagementPolicy": "Parallel"})));
    stage.settle();
    stage
}

fn delete_set(stage: &mut Stage, propagation: Propagation) {
    let deletion = Deletion { propagation, ..Deletion::default() };
    let now = stage.now();
    stage.cluster.server.delete(now, &person(), Resource::StatefulSets, &web(), &deletion).unwrap();
}

fn left(stage: &Stage) -> (usize, usize, usize) {
    let count = |resource| stage.cluster.server.store().all(resource).count();
    (count(Resource::StatefulSets), count(Resource::Pods), count(Resource::Revisions))
}

#[test]
fn what_a_set_owns_goes_after_it() {
    let mut stage = running(3);
    assert_eq!(left(&stage), (1, 3, 1));
    delete_set(&mut stage, Propagation::Background);
    assert_eq!(left(&stage), (0, 3, 1));
    stage.settle();
    assert_eq!(left(&stage), (0, 0, 0));
}

#[test]
fn what_a_set_owns_goes_before_it_in_the_foreground() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(2, "a-sticky", json!({})));
    stage.settle();
    delete_set(&mut stage, Propagation::Foreground);
    stage.seconds(2);
    assert_eq!(left(&stage).0, 1);
    assert_eq!(stage.pods(), "0:a-sticky- 1:a-sticky-");
    stage.seconds(1);
    assert_eq!(left(&stage), (0, 0, 0));
}

#[test]
fn orphans_stay_and_a_new_set_takes_them_in() {
    let mut stage = running(3);
    delete_set(&mut stage, Propagation::Orphan);
    stage.settle();
    assert_eq!(left(&stage), (0, 3, 1));
    stage.story();
    stage.create(Resource::StatefulSets, set(3, "a", json!({"podManagementPolicy": "Parallel"})));
    stage.settle();
    assert_eq!((left(&stage), stage.status().as_str()), ((1, 3, 1), "3/3/3/3 a,a"));
    assert!(!stage.story().contains("made"), "the pods are the same");
}

#[test]
fn a_namespace_takes_everything_along() {
    let mut stage = running(2);
    stage.create(Resource::ConfigMaps, json!({"metadata": {"name": "notes", "namespace": "default"}}));
    stage.delete(Resource::Namespaces, &Key::new("", "default"));
    stage.seconds(10);
    assert_eq!(left(&stage), (0, 0, 0));
    assert_eq!(stage.cluster.server.store().all(Resource::ConfigMaps).count(), 0);
    assert_eq!(stage.cluster.server.store().all(Resource::Namespaces).count(), 0);
}

fn budget(stage: &mut Stage, spec: serde_json::Value) {
    let mut spec = spec;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    stage.create(
        Resource::Budgets,
        json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}),
    );
}

/// `expected/healthy/desired/allowed`.
fn allowance(stage: &Stage) -> String {
    let status = &stage.get(Resource::Budgets, &web()).unwrap()["status"];
    let fields = ["expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"];
    fields.map(|field| status[field].to_string()).join("/")
}

#[test]
fn a_budget_tells_how_many_pods_may_be_disturbed() {
    for (spec, expected) in [
        (json!({"minAvailable": 3}), "5/5/3/2"),
        (json!({"minAvailable": "50%"}), "5/5/3/2"),
        (json!({"maxUnavailable": 1}), "5/5/4/1"),
        (json!({"maxUnavailable": "50%"}), "5/5/2/3"),
        (json!({"maxUnavailable": 0}), "5/5/5/0"),
    ] {
        let mut stage = running(5);
        budget(&mut stage, spec.clone());
        stage.settle();
        assert_eq!(allowance(&stage), expected, "{spec}");
    }
    let mut stage = running(5);
    budget(&mut stage, json!({"maxUnavailable": 1}));
    stage.image("b-never");
    stage.settle();
    assert_eq!(allowance(&stage), "5/4/4/0", "an update asks no budget and uses it up");
}

#[test]
fn a_drain_moves_pods_one_by_one_as_the_budget_allows() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(4, "a-slow5", json!({"podManagementPolicy": "Parallel"})));
    budget(&mut stage, json!({"maxUnavailable": 1}));
    stage.seconds(10);
    assert_eq!(allowance(&stage), "4/4/3/1");
    stage.cluster.add(Box::new(Drain::new("node-0", stage.now(), None)));
    let mut fewest = 4;
    for _ in 0..30 {
        stage.seconds(1);
        let ready = stage.get(Resource::StatefulSets, &web()).unwrap()["status"]["readyReplicas"].as_i64();
        fewest = fewest.min(ready.unwrap_or_default());
    }
    assert_eq!(fewest, 3);
    for ordinal in 0..4 {
        assert_eq!(stage.get(Resource::Pods, &pod(ordinal)).unwrap()["spec"]["nodeName"], "node-1");
    }
}

#[test]
fn a_drain_waits_for_as_long_as_the_budget_says_no() {
    let mut stage = running(2);
    budget(&mut stage, json!({"maxUnavailable": 0}));
    stage.settle();
    stage.story();
    let until = stage.now() + jiff::SignedDuration::from_secs(600);
    stage.cluster.add(Box::new(Drain::new("node-0", stage.now(), Some(until))));
    stage.seconds(599);
    assert_eq!(stage.story(), "");
    assert_eq!(stage.cluster.refusals(), 120, "one try every 5 s");
    stage.seconds(1);
    let node = stage.get(Resource::Nodes, &Key::new("", "node-0")).unwrap();
    assert_eq!(node["spec"]["unschedulable"].as_bool(), None);
}
