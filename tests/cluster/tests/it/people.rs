//! What people ask for: consumed once, or rejected in words.

use windlass_bed::{test, until};

use crate::{ABORT, PROMOTE, PROMOTE_FULL, RESTART};

#[tokio::test]
async fn a_persons_pause_holds_everything_and_resuming_goes_on() {
    test("pause", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.patch("rp/web", r#"{"spec":{"paused":true}}"#);
        world.until_phase("web", "Paused").await;
        assert_eq!(world.until_event("web", "RolloutPluginPaused").await, "RolloutPlugin is paused");
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        world.until_status("web", "the run is seen", |status| status.current_step_index == Some(0)).await;
        assert_eq!(world.status("web").await.phase.as_deref(), Some("Paused"));
        assert_eq!(world.count_on(&target).await, 0, "nothing moves while paused");
        world.patch("rp/web", r#"{"spec":{"paused":false}}"#);
        world.until_completed("web", &target).await;
        world.until_event("web", "RolloutPluginResumed").await;
    })
    .await;
}

#[tokio::test]
async fn a_persons_pause_over_a_step_pause_leaves_the_step_pause_in_force() {
    test("pause-over-pause", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch("rp/web", r#"{"spec":{"paused":true}}"#);
        world.until_status("web", "both pauses are shown", |status| status.waits.len() == 2).await;
        world.patch("rp/web", r#"{"spec":{"paused":false}}"#);
        let status =
            world.until_status("web", "the step pause is left", |status| status.waits.len() == 1).await;
        assert_eq!((status.current_step_index, status.waits[0].reason.as_str()), (Some(1), "HoldForPerson"));
    })
    .await;
}

#[tokio::test]
async fn full_promotion_of_a_healthy_rollout_is_rejected_and_does_not_leak_into_the_next_run() {
    test("no-leak", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        world.patch_status("web", PROMOTE_FULL);
        let text = world.until_event("web", "RolloutPluginRejected").await;
        assert!(text.starts_with("full promotion rejected"), "{text}");
        world.until_status("web", "the trigger is consumed", |status| !status.promote_full).await;
        world.set_image("web", "app:v2");
        let status = world.until_paused_at("web", 1).await;
        assert_eq!(
            world.count_on(&status.updated_revision.unwrap()).await,
            1,
            "the next run takes its steps"
        );
    })
    .await;
}

#[tokio::test]
async fn full_promotion_of_an_aborted_rollout_is_rejected() {
    test("promote-aborted", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        world.patch_status("web", PROMOTE_FULL);
        let text = world.until_event("web", "RolloutPluginRejected").await;
        assert!(text.contains("restart it first"), "{text}");
        world.until_status("web", "the trigger is consumed", |status| !status.promote_full).await;
        assert_eq!(world.count_on(&stable).await, 2);
    })
    .await;
}

#[tokio::test]
async fn abort_and_full_promotion_at_once_abort_and_reject_the_promotion() {
    test("both-at-once", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", r#"{"status":{"abort":true,"promoteFull":true}}"#);
        let status = world.until_reverted("web").await;
        assert!(!status.abort && !status.promote_full);
        assert_eq!(world.count_on(&stable).await, 2);
        assert!(
            world
                .until_event("web", "RolloutPluginRejected")
                .await
                .contains("an abort came at the same moment")
        );
    })
    .await;
}

#[tokio::test]
async fn a_second_abort_and_a_restart_of_something_not_aborted_are_rejected() {
    test("second-abort", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        world.patch_status("web", RESTART);
        assert!(world.until_event("web", "RolloutPluginRejected").await.contains("nothing is aborted"));
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", ABORT);
        let first = world.until_reverted("web").await;
        world.patch_status("web", ABORT);
        until("the second abort is rejected", async || {
            world.events("web").await.iter().any(|(_, text)| text.contains("aborted already")).then_some(())
        })
        .await;
        let second = world.until_status("web", "the trigger is consumed", |status| !status.abort).await;
        assert_eq!(second.aborted_at, first.aborted_at, "the first moment stays");
    })
    .await;
}

#[tokio::test]
async fn a_promotion_passes_exactly_one_pause() {
    test("one-pause", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", PROMOTE);
        let status = world.until_paused_at("web", 2).await;
        assert_eq!(status.pause_conditions.unwrap().len(), 1);
        assert_eq!(world.count_on(&status.updated_revision.unwrap()).await, 1);
    })
    .await;
}

#[tokio::test]
async fn deleting_the_rollout_gives_the_workload_back() {
    test("give-back", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.kubectl(&["delete", "rp", "web"]);
        until("label and mark are off", async || {
            let meta = world.set("web").await.metadata;
            let label = meta.labels.unwrap_or_default().contains_key("windlass.sh/rollout");
            let mark = meta.annotations.unwrap_or_default().contains_key("windlass.sh/held");
            (!label && !mark).then_some(())
        })
        .await;
        world.until_event("web", "RolloutPluginDeleted").await;
        assert_eq!(world.partition("web").await, 2, "the partition stays, so nothing moves");
        assert_eq!(world.count_on(&target).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_rollout_deleted_while_the_controller_is_down_is_given_back_afterwards() {
    test("give-back-later", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        world.kill_controller();
        world.kubectl(&["delete", "rp", "web"]);
        world.start_controller();
        until("the label is off", async || {
            let labels = world.set("web").await.metadata.labels.unwrap_or_default();
            (!labels.contains_key("windlass.sh/rollout")).then_some(())
        })
        .await;
    })
    .await;
}
