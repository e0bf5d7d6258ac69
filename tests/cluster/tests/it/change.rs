//! The template changes in the middle of a run.

use windlass_bed::{test, until};

use crate::{PROMOTE, pod_names};

#[tokio::test]
async fn a_new_target_goes_back_to_the_first_step_and_strays_return_to_stable() {
    test("new-target", async |world| {
        world
            .healthy(
                "web",
                5,
                &["setWeight: 20", "pause: {}", "setWeight: 60", "pause: {}", "setWeight: 100"],
            )
            .await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let abandoned = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.patch_status("web", PROMOTE);
        world.until_paused_at("web", 3).await;
        let record = world.record().await;
        world.set_image("web", "app:v3");
        let target = world.until_target("web", &abandoned).await;
        world
            .until_status("web", "the new run holds at step 1", |status| {
                status.phase.as_deref() == Some("Paused")
                    && status.current_step_index == Some(1)
                    && status.updated_revision.as_deref() == Some(&target)
            })
            .await;
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (1, 4));
        assert_eq!(
            record.revisions_of("web-4"),
            [abandoned.clone(), target.clone()],
            "straight to the new target"
        );
        assert_eq!(record.revisions_of("web-3"), [abandoned, stable], "back to stable");
        assert_eq!(record.most_on(&target), 1, "no pod was ahead of the first step");
        assert_eq!(record.most_down_at_once(&pod_names("web", 5)), 1);
    })
    .await;
}

#[tokio::test]
async fn a_new_target_replaces_a_pod_that_is_stuck_on_a_broken_one() {
    test("new-after-broken", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2-crash");
        let broken = world.until_target("web", &stable).await;
        until("the broken pod is there", async || (world.count_on(&broken).await == 1).then_some(())).await;
        world.set_image("web", "app:v3");
        let status = world.until_paused_at("web", 1).await;
        assert_eq!(world.count_on(&status.updated_revision.unwrap()).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_template_put_back_to_stable_skips_steps_and_pauses() {
    test("put-back", async |world| {
        world.healthy("web", 4, &["setWeight: 50", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let abandoned = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        let record = world.record().await;
        world.set_image("web", "app:v1");
        world.until_completed("web", &stable).await;
        assert_eq!(world.count_on(&stable).await, 4);
        assert_eq!(record.went(&abandoned), ["web-3", "web-2"]);
        assert_eq!(record.most_down_at_once(&pod_names("web", 4)), 1);
        world.until_event("web", "RolloutPluginReturned").await;
    })
    .await;
}

#[tokio::test]
async fn a_template_put_back_frees_pods_that_are_stuck_on_the_broken_version() {
    test("put-back-broken", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2-pull");
        let broken = world.until_target("web", &stable).await;
        until("the broken pod is there", async || (world.count_on(&broken).await == 1).then_some(())).await;
        world.set_image("web", "app:v1");
        world.until_completed("web", &stable).await;
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_promotion_is_void_when_the_target_changed_meanwhile() {
    test("void-promotion", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        let first = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.kill_controller();
        world.set_image("web", "app:v3");
        let target = world.until_target("web", &first).await;
        world.patch_status("web", PROMOTE);
        world.start_controller();
        let text = world.until_event("web", "RolloutPluginRejected").await;
        assert!(text.contains("the template changed meanwhile"), "{text}");
        // Events come before the status they belong to: until then the old pause is still shown.
        world
            .until_status("web", "the new run holds at step 1", |status| {
                status.phase.as_deref() == Some("Paused")
                    && status.current_step_index == Some(1)
                    && status.updated_revision.as_deref() == Some(&target)
            })
            .await;
        assert_eq!(world.count_on(&target).await, 1, "the new version has not passed its pause");
    })
    .await;
}

#[tokio::test]
async fn a_weight_that_falls_moves_pods_back_and_is_warned_about() {
    test("falling-weight", async |world| {
        world
            .healthy(
                "web",
                4,
                &["setWeight: 75", "pause: {}", "setWeight: 25", "pause: {}", "setWeight: 100"],
            )
            .await;
        let (stable, _) = world.revisions("web").await;
        let warning = world.status("web").await.condition("SpecWarning").unwrap().message.clone();
        assert!(warning.contains("setWeight 25 is not above 75"), "{warning}");
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        assert_eq!(world.count_on(&target).await, 3);
        world.patch_status("web", PROMOTE);
        world.until_paused_at("web", 3).await;
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (1, 3));
    })
    .await;
}
