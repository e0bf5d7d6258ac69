//! The golden traces of the StatefulSet controller: every status that is stored, in order, as
//! `replicas/ready/current/updated currentRevision,updateRevision`. The test plays the kubelets by hand, so that every
//! state in between is seen.

use serde_json::json;
use windlass_sim::Resource;

use crate::stage::{Stage, pod, set};

/// A set of the image a that has all its pods.
fn at_rest(replicas: i64, spec: serde_json::Value) -> Stage {
    let mut stage = Stage::bare();
    stage.create(Resource::StatefulSets, set(replicas, "a", spec));
    stage.play();
    stage.story();
    stage
}

fn with_partition(partition: i64) -> serde_json::Value {
    json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}})
}

/// Five pods, of which the update to b may have two.
fn partly_updated(management: &str) -> Stage {
    let partition = json!({"rollingUpdate": {"partition": 3}});
    let mut stage = at_rest(5, json!({"podManagementPolicy": management, "updateStrategy": partition}));
    stage.image("b");
    stage.play();
    assert_eq!(stage.status(), "5/5/3/2 a,b");
    stage.story();
    stage
}

#[test]
fn t1_an_update_of_three_pods_in_order() {
    let mut stage = at_rest(3, json!({}));
    assert_eq!(stage.status(), "3/3/3/3 a,a");
    stage.image("b");
    stage.settle();
    let mut story = stage.story();
    for ordinal in [2, 1, 0] {
        stage.unready(ordinal);
        stage.settle();
        stage.end(ordinal);
        stage.settle();
        stage.ready(ordinal);
        stage.settle();
        story += &stage.story();
    }
    insta::assert_snapshot!(story);
}

#[test]
fn t2_a_partition_holds_and_a_pod_lost_below_it_comes_back_old() {
    let mut stage = at_rest(5, with_partition(3));
    stage.image("b");
    stage.play();
    let mut story = format!("{}then partition 5\n", stage.story());
    stage.partition(5);
    stage.play();
    story += &stage.story();
    story += "then web-4 is lost\n";
    stage.delete(Resource::Pods, &pod(4));
    stage.play();
    story += &stage.story();
    story += "then partition 0\n";
    stage.partition(0);
    stage.play();
    story += &stage.story();
    insta::assert_snapshot!(story);
}

#[test]
fn t3_a_reverted_template_reuses_its_revision_and_takes_the_updated_pods_back() {
    let mut stage = partly_updated("OrderedReady");
    let before = stage.revisions();
    stage.image("a");
    stage.play();
    insta::assert_snapshot!(stage.story());
    assert_eq!((before.as_str(), stage.revisions().as_str()), ("1 a, 2 b", "2 b, 3 a"));
}

#[test]
fn t4_a_set_scaled_to_zero_forgets_what_was_current() {
    let mut stage = partly_updated("OrderedReady");
    stage.spec(&json!({"replicas": 0}));
    stage.play();
    let mut story = format!("{}then replicas 2\n", stage.story());
    stage.spec(&json!({"replicas": 2}));
    stage.play();
    story += &stage.story();
    insta::assert_snapshot!(story);
}

#[test]
fn t5_a_crash_looping_pod_is_left_alone_in_order_and_replaced_in_parallel() {
    for (management, expected) in
        [("OrderedReady", "0:a 1:a 2:a 3:b 4:b!"), ("Parallel", "0:a 1:a 2:a 3:a 4:a")]
    {
        let mut stage = partly_updated(management);
        stage.unready(4);
        stage.settle();
        stage.image("a");
        stage.play_but(4);
        stage.seconds(3600);
        stage.play_but(4);
        let back = stage.pods();
        if management == "Parallel" {
            stage.play();
        }
        assert_eq!(stage.pods(), expected, "{management}: {back}");
    }
}

#[test]
fn t6_a_third_template_replaces_only_what_the_partition_allows() {
    let mut stage = partly_updated("OrderedReady");
    stage.image("c");
    stage.play();
    insta::assert_snapshot!(stage.story());
}
