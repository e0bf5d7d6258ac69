//! The hold: the API server itself raises the partition in the write that changes the template.

use windlass_bed::{manifests, test, until};

const HOLD: i32 = i32::MAX;

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
        assert!(set.metadata.annotations.unwrap().contains_key("windlass.sh/held"));
        world.until_target("web", &stable).await;
        assert_eq!(world.count_on(&stable).await, 3, "no pod got ahead");
        world.start_controller();
        world.until_paused_at("web", 1).await;
    })
    .await;
}

#[tokio::test]
async fn others_hands_are_kept_off_the_partition_during_a_run() {
    test("pinned", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        let pull = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;
        world.patch("sts/web", pull);
        let gitops = manifests::stateful_set("web", 3, "app:v2")
            + "  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate: {partition: 0}\n";
        world.apply(&gitops);
        assert_eq!(world.partition("web").await, 2);
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn at_rest_the_partition_is_anybodys() {
    test("at-rest", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        world.patch("sts/web", r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}"#);
        assert_eq!(world.partition("web").await, 1);
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
async fn leaving_rolling_update_and_coming_back_does_not_release_a_run() {
    test("on-delete-and-back", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.patch("sts/web", r#"{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}"#);
        let status = world.until_phase("web", "Degraded").await;
        assert!(status.message.unwrap().contains("OnDelete"));
        world.patch(
            "sts/web",
            r#"{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}}}"#,
        );
        let status = world.until_paused_at("web", 1).await;
        assert_eq!(status.current_step_index, Some(1), "a passing trouble does not restart the run");
        until("the exposure is as it was", async || (world.partition("web").await == 2).then_some(())).await;
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (1, 2));
    })
    .await;
}
