//! The way back: every updated pod really returns to stable, and what cannot be undone is refused in words.

use windlass_bed::{test, until};

use crate::{ABORT, PROMOTE_FULL, RESTART, pod_names};

#[tokio::test]
async fn abort_returns_every_updated_pod_to_stable_one_at_a_time_newest_first() {
    test("abort", async |world| {
        world.healthy("web", 5, &["setWeight: 60", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        let record = world.record().await;
        let template = world.set("web").await.spec.unwrap().template;
        world.patch_status("web", ABORT);
        let status = world.until_reverted("web").await;
        let revisions = world.pod_revisions().await;
        assert_eq!(revisions.len(), 5);
        assert!(revisions.iter().all(|(_, revision)| *revision == stable), "{revisions:?}");
        assert_eq!(record.went(&target), ["web-4", "web-3", "web-2"], "newest ordinal first");
        assert_eq!(record.most_down_at_once(&pod_names("web", 5)), 1, "one pod down at a time");
        assert_eq!(world.set("web").await.spec.unwrap().template, template, "the template is untouched");
        assert_eq!((status.phase.as_deref(), status.aborted, status.abort), (Some("Degraded"), true, false));
        assert_eq!(status.aborted_revision.as_deref(), Some(target.as_str()));
        let progressing = status.condition("Progressing").unwrap();
        assert_eq!(
            (progressing.status.as_str(), progressing.reason.as_str()),
            ("False", "RolloutPluginAborted")
        );
        assert!(status.condition("Stalled").is_some());
    })
    .await;
}

#[tokio::test]
async fn abort_frees_a_pod_that_is_stuck_on_a_broken_version() {
    test("abort-stuck", async |world| {
        world.healthy("web", 3, &["setWeight: 67", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2-crash");
        let target = world.until_target("web", &stable).await;
        until("the broken pod is there", async || (world.count_on(&target).await == 1).then_some(())).await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

#[tokio::test]
async fn abort_wins_over_a_persons_pause() {
    test("abort-paused", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch("rp/web", r#"{"spec":{"paused":true}}"#);
        world
            .until_status("web", "the pause is seen", |status| status.waits[0].reason == "PausedByPerson")
            .await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

#[tokio::test]
async fn abort_goes_on_where_it_was_when_the_controller_crashes_in_the_middle() {
    test("abort-crash", async |world| {
        world.healthy("web", 4, &["setWeight: 75", "pause: {}"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        let record = world.record().await;
        world.patch_status("web", ABORT);
        until("a pod went", async || (!record.went(&target).is_empty()).then_some(())).await;
        world.kill_controller();
        world.start_controller();
        world.until_reverted("web").await;
        assert_eq!(world.count_on(&stable).await, 4);
        assert_eq!(record.went(&target), ["web-3", "web-2", "web-1"]);
        assert_eq!(record.most_down_at_once(&pod_names("web", 4)), 1);
    })
    .await;
}

#[tokio::test]
async fn abort_after_completion_is_refused_and_names_undo() {
    test("abort-healthy", async |world| {
        world.healthy("web", 2, &["setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        world.until_completed("web", &target).await;
        let record = world.record().await;
        world.patch_status("web", ABORT);
        let text = world.until_event("web", "RolloutPluginRejected").await;
        assert!(text.contains("undo"), "{text}");
        let status = world.until_status("web", "the trigger is consumed", |status| !status.abort).await;
        assert_eq!((status.phase.as_deref(), status.aborted), (Some("Healthy"), false));
        assert!(record.went(&target).is_empty(), "no pod was deleted");
    })
    .await;
}

#[tokio::test]
async fn abort_when_every_pod_is_updated_is_refused_and_deletes_nothing() {
    test("abort-hundred", async |world| {
        world.healthy("web", 2, &["setWeight: 100", "pause: {}"]).await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        until("the set has forgotten stable", async || {
            (world.revisions("web").await.0 == target).then_some(())
        })
        .await;
        let record = world.record().await;
        world.patch_status("web", ABORT);
        let text = world.until_event("web", "RolloutPluginRejected").await;
        assert!(text.contains("undo") && text.contains("every pod is updated"), "{text}");
        assert!(record.went(&target).is_empty());
        assert_eq!(world.status("web").await.phase.as_deref(), Some("Paused"), "the run goes on");
    })
    .await;
}

#[tokio::test]
async fn an_aborted_revision_stays_degraded_until_restart() {
    test("restart", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        world.set_image("web", "app:v2");
        let again = world.status("web").await;
        assert_eq!(
            (again.phase.as_deref(), again.aborted),
            (Some("Degraded"), true),
            "the same version again is no news"
        );
        world.patch_status("web", RESTART);
        let status = world.until_paused_at("web", 1).await;
        assert_eq!((status.restart_count, status.restart, status.aborted), (Some(1), false, false));
        let event = world.until_event("web", "RolloutPluginRestarted").await;
        assert_eq!(event, "Rollout restarted from step 0 (attempt 1)");
        world.patch_status("web", PROMOTE_FULL);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn an_aborted_rollout_starts_afresh_with_another_revision() {
    test("abort-then-new", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        world.set_image("web", "app:v3");
        let status = world.until_paused_at("web", 1).await;
        assert_eq!((status.aborted, status.aborted_revision, status.restart_count), (false, None, None));
    })
    .await;
}

#[tokio::test]
async fn an_aborted_rollout_whose_template_is_put_back_is_healthy_again() {
    test("abort-then-back", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        world.set_image("web", "app:v1");
        let status = world.until_completed("web", &stable).await;
        assert!(!status.aborted);
        until("the partition rests", async || (world.partition("web").await == world.rest()).then_some(()))
            .await;
    })
    .await;
}
