//! The way forward: steps, pauses, promotion, completion.

use windlass_bed::{manifests, test};

use crate::{PROMOTE, PROMOTE_FULL};

#[tokio::test]
async fn a_canary_moves_step_by_step_holds_and_completes() {
    test("canary", async |world| {
        world
            .healthy(
                "web",
                5,
                &["setWeight: 20", "pause: {}", "setWeight: 60", "pause: {}", "setWeight: 100"],
            )
            .await;
        let (stable, _) = world.revisions("web").await;
        let record = world.record().await;

        world.set_image("web", "app:v2");
        let status = world.until_paused_at("web", 1).await;
        let target = status.updated_revision.unwrap();
        assert_eq!(world.partition("web").await, 4);
        assert_eq!(world.count_on(&target).await, 1);
        assert_eq!(record.most_on(&target), 1, "no pod was ever ahead of its step");

        world.patch_status("web", PROMOTE);
        world.until_paused_at("web", 3).await;
        assert_eq!(world.count_on(&target).await, 3);
        assert_eq!(record.most_on(&target), 3);

        world.patch_status("web", PROMOTE);
        let status = world.until_completed("web", &target).await;
        assert_eq!(status.current_step_index, Some(5));
        assert_eq!(world.count_on(&target).await, 5);
        assert_eq!(world.count_on(&stable).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_completed_run_rests_without_the_mark() {
    test("completed", async |world| {
        world.healthy("web", 3, &["setWeight: 40", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        world.until_completed("web", &target).await;
        windlass_bed::until("the mark is off", async || {
            let marks = world.set("web").await.metadata.annotations.unwrap_or_default();
            (!marks.contains_key("windlass.sh/held")).then_some(())
        })
        .await;
        assert_eq!(world.revisions("web").await, (target.clone(), target.clone()));
        assert_eq!(world.partition("web").await, world.rest());
        let status = world.status("web").await;
        let is = |type_: &str| status.condition(type_).map(|it| it.status.as_str());
        assert_eq!((is("Healthy"), is("Completed"), is("Progressing")), (Some("True"), Some("True"), None));
        assert_eq!((is("Stalled"), is("Reconciling")), (None, None));
        let events = world.events("web").await;
        let texts: Vec<&str> = events.iter().map(|(_, text)| text.as_str()).collect();
        let started = format!("RolloutPlugin updated to revision {target}");
        let completed = format!("RolloutPlugin completed update to revision {target}");
        assert_eq!(texts, [started.as_str(), completed.as_str()], "each change is told once");
    })
    .await;
}

#[tokio::test]
async fn a_small_weight_exposes_one_pod_and_fractions_round_down() {
    test("rounding", async |world| {
        world.healthy("web", 3, &["setWeight: 1", "pause: {}", "setWeight: 99", "pause: {}"]).await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        assert_eq!((world.partition("web").await, world.count_on(&target).await), (2, 1));
        world.patch_status("web", PROMOTE);
        world.until_paused_at("web", 3).await;
        assert_eq!((world.partition("web").await, world.count_on(&target).await), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn a_step_is_not_left_before_its_pods_are_available() {
    test("not-left", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "setWeight: 67", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        let record = world.record().await;
        world.set_image("web", "app:v2-slow");
        let target = world.until_target("web", &stable).await;
        world.until_completed("web", &target).await;
        let names = crate::pod_names("web", 3);
        assert_eq!(record.most_down_at_once(&names), 1, "the next step waits for the pod of the step before");
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_never_gets_ready_holds_the_step_and_is_named() {
    test("never-ready", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "setWeight: 100"]).await;
        world.set_image("web", "app:v2-crash");
        let status = world
            .until_status("web", "the crashing pod is named", |status| {
                status.waits.iter().any(|wait| wait.pods.iter().any(|pod| pod.state == "CrashLoopBackOff"))
            })
            .await;
        assert_eq!(status.phase.as_deref(), Some("Progressing"));
        assert_eq!(status.current_step_index, Some(0));
        let wait = &status.waits[0];
        assert_eq!((wait.reason.as_str(), wait.pods[0].name.as_str()), ("WaitingForPods", "web-2"));
        assert!(wait.since.is_some() && !wait.ends_when.is_empty());
        assert_eq!(world.partition("web").await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_timed_pause_ends_by_itself_and_is_told() {
    test("timed-pause", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {duration: 1s}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let paused = world.until_paused_at("web", 1).await;
        assert_eq!(paused.waits[0].reason, "HoldUntil");
        assert!(paused.controller_pause && paused.pause_conditions.unwrap()[0].reason == "CanaryPauseStep");
        let target = world.until_target("web", &stable).await;
        world.until_completed("web", &target).await;
        assert_eq!(world.until_event("web", "RolloutPluginPaused").await, "RolloutPlugin paused at step 1");
        assert_eq!(
            world.until_event("web", "RolloutPluginResumed").await,
            "RolloutPlugin resumed from pause at step 1"
        );
    })
    .await;
}

#[tokio::test]
async fn full_promotion_skips_steps_and_pauses_and_a_persons_pause_too() {
    test("promote-full", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 67", "pause: {}"]).await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.patch("rp/web", r#"{"spec":{"paused":true}}"#);
        world
            .until_status("web", "the pause is seen", |status| status.waits[0].reason == "PausedByPerson")
            .await;
        world.patch_status("web", PROMOTE_FULL);
        let status = world.until_completed("web", &target).await;
        assert!(!status.promote_full, "the trigger is consumed");
        assert!(!world.rollout("web").await.spec.paused, "the pause is lifted");
    })
    .await;
}

#[tokio::test]
async fn the_manifests_of_the_seed_document_work_unchanged() {
    test("seed", async |world| {
        let seed = include_str!("seed-003.yaml")
            .replace("namespace: argo-rollouts", &format!("namespace: {}", world.namespace));
        world.apply(&seed);
        world.until_phase("my-statefulset-rollout", "Healthy").await;
        world.until_label("my-statefulset").await;
        let (stable, _) = world.revisions("my-statefulset").await;
        world.kubectl(&["set", "image", "statefulset/my-statefulset", "nginx=nginx:1.22"]);
        let status = world.until_paused_at("my-statefulset-rollout", 1).await;
        let target = status.updated_revision.unwrap();
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (1, 4));
        for index in [3, 5, 7] {
            world.patch_status("my-statefulset-rollout", PROMOTE);
            world.until_paused_at("my-statefulset-rollout", index).await;
        }
        assert_eq!(world.count_on(&target).await, 4);
        world.patch_status("my-statefulset-rollout", PROMOTE);
        world.until_completed("my-statefulset-rollout", &target).await;
    })
    .await;
}

#[tokio::test]
async fn a_rollout_made_while_an_update_is_under_way_takes_it_over() {
    test("taken-over", async |world| {
        world.apply(&manifests::stateful_set("web", 4, "app:v1"));
        world.kubectl(&["rollout", "status", "sts/web", "--timeout=60s"]);
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2-crash");
        let target = world.until_target("web", &stable).await;
        windlass_bed::until("a pod got ahead", async || (world.count_on(&target).await == 1).then_some(()))
            .await;
        world.apply(&manifests::rollout("web", &["setWeight: 0", "pause: {}", "setWeight: 100"]));
        let status = world.until_paused_at("web", 1).await;
        let unguarded = status.condition("UnguardedUpdate").unwrap();
        assert!(unguarded.message.contains("web-3"), "{}", unguarded.message);
        assert_eq!(world.count_on(&stable).await, 4, "the pod that got ahead was put right");
        world.until_event("web", "UnguardedUpdate").await;
    })
    .await;
}
