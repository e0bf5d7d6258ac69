//! Scheduler, kubelets and nodes: what images and orders make of pods.

use std::fmt::Write as _;

use jiff::SignedDuration;
use serde_json::json;
use windlass_sim::Resource;
use windlass_sim::actors::{Misbehaviour, Order, Whom};

use crate::stage::{Stage, pod, set};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

fn parallel(replicas: i64, tag: &str) -> Stage {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(replicas, tag, json!({"podManagementPolicy": "Parallel"})));
    stage
}

fn order(stage: &mut Stage, ordinal: i64, whom: Whom, misbehaviour: Misbehaviour) {
    stage.cluster.order(&Order::Pod { pod: pod(ordinal), whom, misbehaviour });
}

fn condition(stage: &Stage, ordinal: i64, kind: &str) -> String {
    let pod = stage.get(Resource::Pods, &pod(ordinal)).unwrap();
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|it| it["type"] == kind).unwrap();
    format!("{} since {}", found["status"].as_str().unwrap(), found["lastTransitionTime"].as_str().unwrap())
}

#[test]
fn the_end_of_the_image_says_what_a_pod_does() {
    let mut story = String::new();
    for tag in ["1", "1-slow", "1-slow5", "1-never", "1-crash", "1-pull", "1-flaky"] {
        let mut stage = parallel(1, tag);
        for seconds in [0, 1, 1, 3] {
            stage.seconds(seconds);
            let pod = stage.get(Resource::Pods, &pod(0)).unwrap();
            let container = &pod["status"]["containerStatuses"][0];
            let waits = container["state"]["waiting"]["reason"].as_str().unwrap_or("running");
            let phase = pod["status"]["phase"].as_str().unwrap();
            let ready = condition(&stage, 0, "Ready");
            writeln!(story, "{} {phase} {waits} ready {ready}", stage.pods()).unwrap();
        }
    }
    insta::assert_snapshot!(story);
}

#[test]
fn pods_are_spread_over_the_nodes_and_wait_where_there_is_none() {
    let mut stage = parallel(4, "a");
    stage.settle();
    let nodes: Vec<_> = (0..4)
        .map(|ordinal| stage.get(Resource::Pods, &pod(ordinal)).unwrap()["spec"]["nodeName"].clone())
        .collect();
    assert_eq!(nodes, ["node-0", "node-1", "node-0", "node-1"]);
    for node in ["node-0", "node-1"] {
        let key = windlass_sim::Key::new("", node);
        stage.patch(Resource::Nodes, &key, json!({"spec": {"unschedulable": true}}));
    }
    stage.delete(Resource::Pods, &pod(0));
    stage.settle();
    assert_eq!(stage.pods(), "0:a! 1:a 2:a 3:a");
    assert!(condition(&stage, 0, "PodScheduled").starts_with("False"));
    stage.patch(
        Resource::Nodes,
        &windlass_sim::Key::new("", "node-1"),
        json!({"spec": {"unschedulable": null}}),
    );
    stage.settle();
    assert_eq!(stage.pods(), "0:a 1:a 2:a 3:a");
}

#[test]
fn an_order_for_the_next_ones_is_for_as_many_as_it_says() {
    let mut stage = parallel(1, "a");
    stage.settle();
    order(&mut stage, 0, Whom::Next(2), Misbehaviour::Crash);
    stage.settle();
    assert_eq!(stage.pods(), "0:a");
    for expected in ["0:a!", "0:a!", "0:a"] {
        stage.delete(Resource::Pods, &pod(0));
        stage.settle();
        assert_eq!(stage.pods(), expected);
    }
}

#[test]
fn a_living_pod_flaps_as_often_as_it_is_ordered() {
    let mut stage = parallel(1, "a");
    stage.settle();
    let flap = Misbehaviour::Flap { times: 2, up: SECOND * 10, down: SECOND * 5 };
    order(&mut stage, 0, Whom::Living, flap);
    let mut seen = Vec::new();
    for _ in 0..8 {
        stage.seconds(5);
        seen.push(stage.pods());
    }
    assert_eq!(seen, ["0:a", "0:a!", "0:a", "0:a", "0:a!", "0:a", "0:a", "0:a"]);
}

#[test]
fn a_pod_that_vanishes_or_is_evicted_is_made_anew() {
    for misbehaviour in [Misbehaviour::Vanish(SECOND), Misbehaviour::Evicted(SECOND)] {
        let mut stage = parallel(1, "a");
        stage.settle();
        let uid = |stage: &Stage| stage.get(Resource::Pods, &pod(0)).unwrap()["metadata"]["uid"].clone();
        let before = uid(&stage);
        order(&mut stage, 0, Whom::Living, misbehaviour);
        stage.settle();
        assert_eq!(uid(&stage), before);
        stage.seconds(1);
        assert_ne!(uid(&stage), before, "{misbehaviour:?}");
        assert_eq!(stage.status(), "1/1/1/1 a,a");
    }
}

#[test]
fn a_slow_start_takes_as_long_as_it_is_ordered_and_a_living_pod_can_stop_being_ready() {
    let mut stage = parallel(1, "a");
    order(&mut stage, 0, Whom::Every, Misbehaviour::SlowStart(SECOND * 90));
    stage.seconds(89);
    assert_eq!(stage.pods(), "0:a!");
    stage.seconds(1);
    assert_eq!(stage.pods(), "0:a");
    order(&mut stage, 0, Whom::Living, Misbehaviour::NeverReady);
    stage.seconds(3600);
    assert_eq!(stage.pods(), "0:a!");
}

#[test]
fn pods_of_a_lost_node_are_not_ready_after_a_while_then_deleted_and_end_when_it_is_back() {
    let mut stage = parallel(2, "a");
    stage.settle();
    stage.cluster.order(&Order::NodeLost("node-0".to_owned()));
    stage.seconds(49);
    assert_eq!(stage.pods(), "0:a 1:a");
    stage.seconds(1);
    assert_eq!(stage.pods(), "0:a! 1:a");
    stage.seconds(300);
    assert_eq!(stage.pods(), "0:a!- 1:a");
    stage.seconds(3600);
    assert_eq!(stage.pods(), "0:a!- 1:a", "nobody is there to end it");
    stage.cluster.order(&Order::NodeBack("node-0".to_owned()));
    stage.settle();
    assert_eq!(stage.pods(), "0:a 1:a");
}

#[test]
fn a_node_that_is_back_before_it_is_missed_changes_nothing() {
    let mut stage = parallel(2, "a");
    stage.settle();
    stage.story();
    let revision = stage.cluster.server.store().revision();
    stage.cluster.order(&Order::NodeLost("node-0".to_owned()));
    stage.seconds(40);
    stage.cluster.order(&Order::NodeBack("node-0".to_owned()));
    stage.seconds(600);
    assert_eq!(stage.cluster.server.store().revision(), revision);
}

#[test]
fn a_node_that_blinks_makes_its_pods_ready_anew() {
    let mut stage = parallel(2, "a");
    stage.settle();
    let before = condition(&stage, 0, "Ready");
    stage.cluster.order(&Order::NodeLost("node-0".to_owned()));
    stage.seconds(60);
    assert_eq!(stage.pods(), "0:a! 1:a");
    stage.cluster.order(&Order::NodeBack("node-0".to_owned()));
    stage.settle();
    assert_eq!(stage.pods(), "0:a 1:a");
    assert_ne!(condition(&stage, 0, "Ready"), before);
}
