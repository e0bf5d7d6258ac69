//! The hold: a new template moves no pod before the first step, whoever writes it and whether the controller is up.
//! Where the server has mutating policies they hold it, elsewhere the partition rests at HOLD; both pass these tests.

use windlass_bed::{User, World, bed, manifests, test, until};
use windlass_workloads::{HOLD, Holder};

/// Steps that stop after the first pod.
const FIRST_POD: [&str; 3] = ["setWeight: 34", "pause: {}", "setWeight: 100"];

/// A run of three pods that waits with one pod updated; its stable and target revisions.
async fn held_after_the_first_pod(world: &World) -> (String, String) {
    world.healthy("web", 3, &FIRST_POD).await;
    let (stable, _) = world.revisions("web").await;
    world.set_image("web", "app:v2");
    let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
    (stable, target)
}

async fn assert_one_of_three(world: &World, stable: &str, target: &str) {
    assert_eq!((world.count_on(target).await, world.count_on(stable).await), (1, 2));
    assert_eq!(world.partition("web").await, 2);
}

/// What the words of every refusal have: whose the set is, and what to do.
fn assert_in_words(refusal: &str, words: &[&str]) {
    for word in ["rollout web"].iter().chain(words) {
        assert!(refusal.contains(word), "{word:?} is not in: {refusal}");
    }
}

#[tokio::test]
async fn a_template_change_is_held_in_the_same_write_while_the_controller_is_down() {
    test("held", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}"]).await;
        let (stable, _) = world.revisions("web").await;
        world.kill_controller();
        let before = world.set("web").await.metadata.generation.unwrap();
        world.set_image("web", "app:v2");
        let set = world.set("web").await;
        assert_eq!(set.metadata.generation, Some(before + 1), "one write");
        assert_eq!(world.partition("web").await, HOLD);
        if bed().hold == Holder::Policy {
            assert!(set.metadata.annotations.unwrap().contains_key("windlass.sh/held"));
        }
        world.until_target("web", &stable).await;
        assert_eq!(world.count_on(&stable).await, 3, "no pod got ahead");
        world.start_controller();
        world.until_paused_at("web", 1).await;
    })
    .await;
}

#[tokio::test]
async fn every_rollout_says_whether_its_hold_is_guarded_and_by_what() {
    test("guarded", async |world| {
        world.healthy("web", 1, &["setWeight: 100"]).await;
        let status = world.status("web").await;
        let guarded = status.condition("HoldGuarded").unwrap();
        let by = match bed().hold {
            Holder::Policy => "MutatingPolicy",
            Holder::Partition => "PartitionRestsAtHold",
        };
        assert_eq!((guarded.status.as_str(), guarded.reason.as_str()), ("True", by));
    })
    .await;
}

#[tokio::test]
async fn others_hands_are_kept_off_the_partition_during_a_run() {
    test("pinned", async |world| {
        let (stable, target) = held_after_the_first_pod(world).await;
        let pull = [
            "patch",
            "sts/web",
            "--patch",
            r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#,
        ];
        match bed().hold {
            Holder::Policy => drop(world.kubectl(&pull)),
            Holder::Partition => assert_in_words(
                &world.refused(&pull),
                &[
                    "holds the partition at 2",
                    "leave spec.updateStrategy.rollingUpdate.partition out of the manifest",
                ],
            ),
        }
        assert_one_of_three(world, &stable, &target).await;
    })
    .await;
}

#[tokio::test]
async fn a_new_template_with_partition_zero_in_one_write_does_not_get_ahead() {
    test("one-write", async |world| {
        world.healthy("web", 3, &FIRST_POD).await;
        world.kill_controller();
        let (stable, _) = world.revisions("web").await;
        let both = r#"{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:v2"}]}},
            "updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;
        let write = ["patch", "sts/web", "--patch", both];
        match bed().hold {
            Holder::Policy => drop(world.kubectl(&write)),
            Holder::Partition => assert_in_words(
                &world.refused(&write),
                &["could not hold this new template", "partition to 2147483647 in the same write"],
            ),
        }
        assert_eq!((world.partition("web").await, world.count_on(&stable).await), (HOLD, 3));
    })
    .await;
}

#[tokio::test]
async fn a_new_template_in_the_middle_of_a_run_does_not_flow_into_the_exposed_pods() {
    test("mid-run", async |world| {
        let (stable, target) = held_after_the_first_pod(world).await;
        world.kill_controller();
        let change = ["set", "image", "sts/web", "app=app:v3"];
        match bed().hold {
            Holder::Policy => {
                world.kubectl(&change);
                assert_eq!(world.partition("web").await, HOLD);
            }
            Holder::Partition => {
                let words = ["pods from the partition 2 up would get it at once", "in the same write"];
                assert_in_words(&world.refused(&change), &words);
                world.set_image("web", "app:v3");
            }
        }
        let newest = world.until_target("web", &target).await;
        assert_eq!(world.count_on(&newest).await, 0);
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (1, 2));
        world.start_controller();
        world
            .until_status("web", "the new target is at its first pod", |status| {
                status.updated_revision.as_deref() == Some(newest.as_str())
                    && status.phase.as_deref() == Some("Paused")
            })
            .await;
        assert_eq!((world.count_on(&newest).await, world.count_on(&stable).await), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn leaving_rolling_update_in_the_middle_of_a_run_is_refused_in_words() {
    test("on-delete", async |world| {
        let (stable, target) = held_after_the_first_pod(world).await;
        let leave = r#"{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}"#;
        let refusal = world.refused(&["patch", "sts/web", "--type=merge", "--patch", leave]);
        assert_in_words(&refusal, &["in the middle of a run", "finish or abort the run first"]);
        assert_one_of_three(world, &stable, &target).await;
    })
    .await;
}

#[tokio::test]
async fn the_label_and_the_mark_of_a_run_cannot_be_taken_off_by_others() {
    test("marks", async |world| {
        let (stable, target) = held_after_the_first_pod(world).await;
        for take_off in
            [["label", "sts/web", "windlass.sh/rollout-"], ["annotate", "sts/web", "windlass.sh/held-"]]
        {
            match bed().hold {
                Holder::Policy => drop(world.kubectl(&take_off)),
                Holder::Partition => assert_in_words(&world.refused(&take_off), &["leave it as it is"]),
            }
        }
        let another = world.refused(&["label", "sts/web", "windlass.sh/rollout=other", "--overwrite"]);
        assert_in_words(&another, &["delete the RolloutPlugin web"]);
        let meta = world.set("web").await.metadata;
        assert_eq!(meta.labels.unwrap()["windlass.sh/rollout"], "web");
        assert!(meta.annotations.unwrap().contains_key("windlass.sh/held"));
        assert_one_of_three(world, &stable, &target).await;
    })
    .await;
}

#[tokio::test]
async fn at_rest_the_partition_is_anybodys_where_a_policy_holds_and_nobodys_where_it_holds_itself() {
    test("at-rest", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        let lower = [
            "patch",
            "sts/web",
            "--patch",
            r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}"#,
        ];
        match bed().hold {
            Holder::Policy => {
                world.kubectl(&lower);
                assert_eq!(world.partition("web").await, 1);
            }
            Holder::Partition => {
                let words = ["keeps the partition at 2147483647 between two runs", "out of the manifest"];
                assert_in_words(&world.refused(&lower), &words);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_workload_without_a_rollout_is_never_held() {
    test("not-held", async |world| {
        world.apply(&manifests::stateful_set("web", 2, "app:v1"));
        world.kubectl(&["rollout", "status", "sts/web", "--timeout=60s"]);
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        until("every pod is updated", async || (world.count_on(&target).await == 2).then_some(())).await;
        assert_eq!(world.partition("web").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_controller_that_the_policies_do_not_let_through_says_so_and_does_not_hammer() {
    test("not-exempt", async |world| {
        world.healthy("web", 3, &FIRST_POD).await;
        world.kill_controller();
        world.start_controller_as(User::Admin);
        let status = world
            .until_status("web", "it says that it is not let through", |status| {
                status.condition("HoldGuarded").is_some_and(|it| it.reason == "NotExempt")
            })
            .await;
        let guarded = status.condition("HoldGuarded").unwrap();
        assert!(guarded.message.contains("--identity=admin"), "{}", guarded.message);
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let status = world.until_phase("web", "Degraded").await;
        let words = status.message.unwrap();
        assert!(words.contains("kubectl windlass doctor") || words.contains("windlass-guard"), "{words}");
        assert_eq!(world.count_on(&stable).await, 3, "nothing moved");
        let generation = world.set("web").await.metadata.generation;
        world.kill_controller();
        world.start_controller();
        world.until_paused_at("web", 1).await;
        assert!(world.set("web").await.metadata.generation <= generation.map(|before| before + 2));
    })
    .await;
}
