//! The StatefulSet controller behaves as the one of Kubernetes 1.36 beyond its golden traces.

use serde_json::{Value, json};
use windlass_sim::Resource;
use windlass_sim::cluster::Cluster;

use crate::stage::{START, Stage, pod, set, web};

/// Everybody at work, and a set of the image a that has all its pods.
fn running(replicas: i64, spec: Value) -> Stage {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(replicas, "a", spec));
    stage.settle();
    stage.story();
    stage
}

fn held_at(partition: i64) -> Value {
    json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}})
}

#[test]
fn a_new_set_gets_its_pods_one_after_the_other() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(3, "a", json!({})));
    stage.settle();
    insta::assert_snapshot!(stage.story());
}

#[test]
fn a_parallel_set_gets_its_pods_at_once_in_growing_batches() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(5, "a", json!({"podManagementPolicy": "Parallel"})));
    stage.settle();
    insta::assert_snapshot!(stage.story());
}

#[test]
fn a_seed_orders_what_happens_at_the_same_time() {
    let births = |seed: u64| -> Vec<String> {
        let mut stage = Stage::with(Cluster::new(START.parse().unwrap(), seed), 2);
        stage.create(Resource::StatefulSets, set(7, "a", json!({"podManagementPolicy": "Parallel"})));
        stage.settle();
        assert_eq!(stage.status(), "7/7/7/7 a,a");
        let made = stage.story();
        made.lines().filter_map(|line| line.trim().strip_suffix(" a made")).map(str::to_owned).collect()
    };
    assert_eq!(births(3), births(3));
    let orders: std::collections::BTreeSet<_> = (1..20).map(births).collect();
    assert!(orders.len() > 5, "{orders:?}");
    for order in orders {
        assert_eq!(order[0], "web-0", "a batch of one, then two, then four: {order:?}");
        assert!(order[1..3].contains(&"web-1".to_owned()) && order[1..3].contains(&"web-2".to_owned()));
    }
}

#[test]
fn a_pod_carries_its_identity_and_its_owner() {
    let stage = running(1, json!({}));
    let set = stage.get(Resource::StatefulSets, &web()).unwrap();
    let pod = stage.get(Resource::Pods, &pod(0)).unwrap();
    let labels = json!({
        "app": "web", "apps.kubernetes.io/pod-index": "0", "statefulset.kubernetes.io/pod-name": "web-0",
        "controller-revision-hash": set["status"]["updateRevision"],
    });
    assert_eq!(pod["metadata"]["labels"], labels);
    let owner = json!([{
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": set["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(pod["metadata"]["ownerReferences"], owner);
    assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!("web-0"), &json!("web")));
}

/// Section 1.5, row by row: five pods, a is current and b the update.
mod which_revision_a_lost_pod_gets {
    use super::*;

    fn rolled_to(partition: i64) -> Stage {
        let mut stage = running(5, held_at(partition));
        stage.image("b");
        stage.settle();
        stage
    }

    fn lose(stage: &mut Stage, ordinal: i64) -> String {
        stage.delete(Resource::Pods, &pod(ordinal));
        stage.settle();
        stage.pods()
    }

    #[test]
    fn below_the_partition_the_old_one_and_from_it_on_the_new_one() {
        let mut stage = rolled_to(3);
        assert_eq!(lose(&mut stage, 1), "0:a 1:a 2:a 3:b 4:b");
        assert_eq!(lose(&mut stage, 4), "0:a 1:a 2:a 3:b 4:b");
    }

    #[test]
    fn with_the_partition_raised_above_it_the_old_one_once_it_is_lost() {
        let mut stage = rolled_to(3);
        stage.partition(4);
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:b 4:b");
        assert_eq!(lose(&mut stage, 3), "0:a 1:a 2:a 3:a 4:b");
    }

    #[test]
    fn with_the_partition_lowered_the_pods_in_between_are_replaced() {
        let mut stage = rolled_to(3);
        stage.partition(1);
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:b 2:b 3:b 4:b");
    }

    #[test]
    fn with_the_template_reverted_updated_pods_below_the_partition_stay_until_they_are_lost() {
        let mut stage = rolled_to(3);
        stage.partition(4);
        stage.image("a");
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:b 4:a");
        assert_eq!(lose(&mut stage, 3), "0:a 1:a 2:a 3:a 4:a");
    }

    #[test]
    fn with_a_third_template_the_third_one_from_the_partition_on() {
        let mut stage = rolled_to(3);
        stage.partition(4);
        stage.image("c");
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:b 4:c");
        assert_eq!(lose(&mut stage, 3), "0:a 1:a 2:a 3:a 4:c");
    }

    #[test]
    fn with_the_partition_above_all_the_old_one_even_when_scaled_up() {
        let mut stage = rolled_to(2_147_483_647);
        stage.spec(&json!({"replicas": 6}));
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:a 4:a 5:a");
    }

    #[test]
    fn with_the_partition_at_the_number_of_replicas_new_ordinals_are_new() {
        let mut stage = rolled_to(5);
        stage.spec(&json!({"replicas": 7}));
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:a 4:a 5:b 6:b");
    }

    #[test]
    fn scaling_down_takes_the_updated_ones_first() {
        let mut stage = rolled_to(3);
        stage.spec(&json!({"replicas": 3}));
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a");
        assert_eq!(stage.status(), "3/3/3/0 a,b");
    }

    #[test]
    fn zero_replicas_make_the_update_current() {
        let mut stage = rolled_to(3);
        stage.spec(&json!({"replicas": 0}));
        stage.settle();
        assert_eq!(stage.status(), "0/0/0/0 b,b");
        stage.spec(&json!({"replicas": 2}));
        stage.settle();
        assert_eq!(stage.pods(), "0:b 1:b");
    }

    #[test]
    fn with_on_delete_always_the_new_one() {
        let strategy = json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}});
        let mut stage = running(3, strategy);
        stage.image("b");
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a");
        assert_eq!(lose(&mut stage, 1), "0:a 1:b 2:a");
        lose(&mut stage, 0);
        lose(&mut stage, 2);
        assert_eq!(stage.status(), "3/3/0/3 a,b", "with OnDelete the current revision never moves");
    }

    #[test]
    fn without_the_block_as_many_of_the_lowest_as_are_still_counted_as_current() {
        let mut stage = running(4, json!({"updateStrategy": {"rollingUpdate": null}}));
        assert!(
            stage.get(Resource::StatefulSets, &web()).unwrap()["spec"]["updateStrategy"]["rollingUpdate"]
                .is_null()
        );
        stage.image("b-never");
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:b-never!");
        // Three are current: web-1 is below three. It stays the lowest of the current ones.
        assert_eq!(lose(&mut stage, 1), "0:a 1:a 2:a 3:b-never!");
    }

    #[test]
    fn two_old_pods_lost_together_without_the_block_come_back_out_of_order() {
        let mut stage = Stage::bare();
        stage.create(Resource::StatefulSets, set(4, "a", json!({"updateStrategy": {"rollingUpdate": null}})));
        stage.play();
        stage.image("b");
        stage.settle();
        stage.end(3);
        stage.settle();
        stage.delete(Resource::Pods, &pod(1));
        stage.delete(Resource::Pods, &pod(2));
        stage.settle();
        stage.end(1);
        stage.end(2);
        stage.settle();
        stage.ready(1);
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:b 2:b! 3:b!");
    }

    #[test]
    fn the_partition_counts_from_the_first_ordinal() {
        let mut stage = running(
            5,
            json!({
                "ordinals": {"start": 2}, "updateStrategy": {"rollingUpdate": {"partition": 3}},
            }),
        );
        assert_eq!(stage.pods(), "2:a 3:a 4:a 5:a 6:a");
        stage.image("b");
        stage.settle();
        assert_eq!(stage.pods(), "2:a 3:a 4:a 5:b 6:b");
        assert_eq!(lose(&mut stage, 4), "2:a 3:a 4:a 5:b 6:b");
    }
}

/// Section 1.8.
mod a_pod_that_is_stuck {
    use super::*;

    fn with_bad_top(management: &str) -> Stage {
        let mut stage = running(4, json!({"podManagementPolicy": management}));
        stage.image("bad-crash");
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:bad-crash!");
        stage
    }

    #[test]
    fn in_order_is_never_replaced_even_by_a_good_template() {
        let mut stage = with_bad_top("OrderedReady");
        stage.image("good");
        stage.seconds(3600);
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:bad-crash!");
        stage.delete(Resource::Pods, &pod(3));
        stage.settle();
        assert_eq!(stage.pods(), "0:good 1:good 2:good 3:good");
    }

    #[test]
    fn in_parallel_gives_way_to_a_good_template() {
        let mut stage = with_bad_top("Parallel");
        stage.image("good");
        stage.settle();
        assert_eq!(stage.pods(), "0:good 1:good 2:good 3:good");
    }

    #[test]
    fn in_order_keeps_higher_ones_from_being_made_and_lower_ones_come_back() {
        let mut stage = with_bad_top("OrderedReady");
        stage.spec(&json!({"replicas": 5}));
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:a 2:a 3:bad-crash!");
        stage.delete(Resource::Pods, &pod(1));
        stage.settle();
        assert_eq!(stage.pods(), "0:a 1:bad-crash! 2:a 3:bad-crash!");
    }

    #[test]
    fn in_order_is_the_one_that_may_be_scaled_away() {
        let mut stage = with_bad_top("OrderedReady");
        stage.spec(&json!({"replicas": 2}));
        stage.settle();
        // Then the update goes on with what is left.
        assert_eq!(stage.pods(), "0:a 1:bad-crash!");
    }

    #[test]
    fn below_the_partition_stops_an_update_in_order_and_not_one_in_parallel() {
        for (management, expected) in [("OrderedReady", "0:a! 1:a 2:a 3:a"), ("Parallel", "0:a! 1:a 2:b 3:b")]
        {
            let mut stage = Stage::bare();
            let spec = json!({
                "podManagementPolicy": management, "updateStrategy": {"rollingUpdate": {"partition": 2}},
            });
            stage.create(Resource::StatefulSets, set(4, "a", spec));
            stage.play();
            stage.unready(0);
            stage.image("b");
            stage.play_but(0);
            assert_eq!(stage.pods(), expected, "{management}");
        }
    }
}

#[test]
fn a_failed_pod_is_replaced_without_waiting() {
    let mut stage = running(2, json!({}));
    stage.patch_status(Resource::Pods, &pod(1), &json!({"phase": "Failed"}));
    stage.settle();
    assert_eq!(stage.pods(), "0:a 1:a");
    insta::assert_snapshot!(stage.story());
}

#[test]
fn scaling_comes_before_updating() {
    let mut stage = running(4, json!({}));
    stage.image("b");
    stage.spec(&json!({"replicas": 2}));
    stage.settle();
    insta::assert_snapshot!(stage.story());
}

#[test]
fn minimum_ready_seconds_delay_the_next_pod_and_availability_but_not_completion() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(2, "a", json!({"minReadySeconds": 30})));
    let available = |stage: &Stage| {
        stage.get(Resource::StatefulSets, &web()).unwrap()["status"]["availableReplicas"].as_i64().unwrap()
    };
    stage.settle();
    assert_eq!((stage.pods().as_str(), available(&stage)), ("0:a", 0));
    stage.seconds(29);
    assert_eq!((stage.pods().as_str(), available(&stage)), ("0:a", 0));
    stage.seconds(1);
    assert_eq!((stage.pods().as_str(), available(&stage)), ("0:a 1:a", 1));
    assert_eq!(stage.status(), "2/2/2/2 a,a");
    stage.seconds(29);
    assert_eq!(available(&stage), 1);
    stage.seconds(1);
    assert_eq!(available(&stage), 2);
    stage.image("b");
    stage.settle();
    stage.seconds(30);
    assert_eq!((stage.pods().as_str(), stage.status().as_str()), ("0:b 1:b", "2/2/2/2 b,b"));
    assert_eq!(
        available(&stage),
        1,
        "the last pod is ready, so the update is complete before it is available"
    );
}

#[test]
fn a_template_that_was_there_before_gets_its_old_revision_with_a_new_number() {
    let mut stage = running(1, json!({}));
    for tag in ["b", "a", "b"] {
        stage.image(tag);
        stage.settle();
    }
    assert_eq!(stage.revisions(), "3 a, 4 b");
    let names = |stage: &Stage| -> Vec<String> {
        stage.cluster.server.store().all(Resource::Revisions).map(|(key, _)| key.name.clone()).collect()
    };
    let before = names(&stage);
    stage.image("a");
    stage.settle();
    assert_eq!((names(&stage), stage.revisions().as_str()), (before, "4 b, 5 a"));
}

#[test]
fn history_beyond_the_limit_is_forgotten_but_never_what_is_in_use() {
    let mut stage = running(2, json!({"revisionHistoryLimit": 1}));
    stage.partition(1);
    for tag in ["b", "c", "d", "e"] {
        stage.image(tag);
        stage.settle();
    }
    assert_eq!(stage.pods(), "0:a 1:e");
    assert_eq!(stage.revisions(), "1 a, 4 d, 5 e");
}

#[test]
fn a_current_revision_deleted_by_hand_makes_every_new_pod_new() {
    let mut stage = running(3, held_at(2));
    stage.image("b");
    stage.settle();
    let current = stage.get(Resource::StatefulSets, &web()).unwrap()["status"]["currentRevision"].clone();
    let key = windlass_sim::Key::new("default", current.as_str().unwrap());
    stage.delete(Resource::Revisions, &key);
    stage.delete(Resource::Pods, &pod(0));
    stage.settle();
    assert_eq!(stage.pods(), "0:b 1:a 2:b");
}

#[test]
fn orphans_are_taken_in_and_strangers_let_go() {
    let mut stage = running(2, json!({}));
    stage.patch(Resource::Pods, &pod(1), json!({"metadata": {"ownerReferences": null}}));
    stage.settle();
    let owner = &stage.get(Resource::Pods, &pod(1)).unwrap()["metadata"]["ownerReferences"][0]["name"];
    assert_eq!(owner, "web");
    stage.patch(Resource::Pods, &pod(0), json!({"metadata": {"labels": {"app": "other"}}}));
    stage.settle();
    assert_eq!(
        stage.get(Resource::Pods, &pod(0)).unwrap()["metadata"]["ownerReferences"]
            .as_array()
            .map_or(0, Vec::len),
        0
    );
    // The name is taken by a pod that is not its own: it cannot make another, and tries again and again.
    assert_eq!(stage.status(), "1/1/1/1 a,a");
    assert!(stage.cluster.refusals() > 0);
    stage.delete(Resource::Pods, &pod(0));
    stage.seconds(60);
    assert_eq!(stage.status(), "2/2/2/2 a,a");
}

#[test]
fn claims_are_made_before_pods_and_stay() {
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}});
    let mut stage = running(2, json!({"volumeClaimTemplates": [claim]}));
    let claims = |stage: &Stage| -> Vec<String> {
        stage.cluster.server.store().all(Resource::Claims).map(|(key, _)| key.name.clone()).collect()
    };
    assert_eq!(claims(&stage), ["data-web-0", "data-web-1"]);
    let pod_1 = stage.get(Resource::Pods, &pod(1)).unwrap();
    assert_eq!(pod_1["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-web-1");
    stage.spec(&json!({"replicas": 1}));
    stage.settle();
    assert_eq!(claims(&stage), ["data-web-0", "data-web-1"]);
}

#[test]
fn claims_go_with_scale_and_set_where_the_retention_policy_says_so() {
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}});
    let policy = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let mut stage =
        running(2, json!({"volumeClaimTemplates": [claim], "persistentVolumeClaimRetentionPolicy": policy}));
    let claims = |stage: &Stage| stage.cluster.server.store().all(Resource::Claims).count();
    assert_eq!(claims(&stage), 2);
    stage.image("b");
    stage.settle();
    assert_eq!(claims(&stage), 2, "an update keeps the claims");
    stage.spec(&json!({"replicas": 1}));
    stage.settle();
    assert_eq!(claims(&stage), 1);
    stage.delete(Resource::StatefulSets, &web());
    stage.settle();
    assert_eq!((claims(&stage), stage.pods().as_str()), (0, ""));
}

#[test]
fn a_quota_makes_the_controller_try_again_with_growing_waits() {
    let mut stage = Stage::full();
    let quota = json!({"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": "1"}}});
    stage.create(Resource::Quotas, quota);
    stage.create(Resource::StatefulSets, set(2, "a", json!({})));
    stage.seconds(60);
    assert_eq!(stage.pods(), "0:a");
    // 5 ms, doubling: 14 tries and the first in a minute.
    assert!((10..20).contains(&stage.cluster.refusals()), "{}", stage.cluster.refusals());
    stage.delete(Resource::Quotas, &windlass_sim::Key::new("default", "few"));
    stage.seconds(120);
    assert_eq!(stage.pods(), "0:a 1:a");
}

#[test]
fn a_sticky_pod_is_waited_for() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(1, "a-sticky", json!({})));
    stage.settle();
    stage.image("b");
    stage.seconds(2);
    assert_eq!(stage.pods(), "0:a-sticky-");
    stage.seconds(1);
    assert_eq!(stage.pods(), "0:b");
}

#[test]
fn a_hundred_pods_roll_through() {
    let mut stage = running(100, json!({"podManagementPolicy": "Parallel"}));
    stage.image("b");
    stage.settle();
    assert_eq!(stage.status(), "100/100/100/100 b,b");
}
