//! The way forward: steps, pauses, promotion, completion.

use windlass_bed::test;

#[tokio::test]
async fn a_canary_moves_step_by_step_holds_and_completes() {
    test("canary", async |world| {
        world.healthy("web", 5, &["setWeight: 20", "pause: {}", "setWeight: 60", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        let record = world.record().await;

        world.set_image("web", "app:v2");
        let status = world.until_paused_at("web", 1).await;
        let target = status.updated_revision.unwrap();
        assert_eq!(world.partition("web").await, 4);
        assert_eq!(world.count_on(&target).await, 1);
        assert_eq!(record.most_on(&target), 1, "no pod was ever ahead of its step");

        world.windlass_ok(&["promote", "web"]);
        world.until_paused_at("web", 3).await;
        assert_eq!(world.count_on(&target).await, 3);
        assert_eq!(record.most_on(&target), 3);

        world.patch_status("web", r#"{"status":{"pauseConditions":null}}"#);
        world.until_completed("web", &target).await;
        assert_eq!(world.count_on(&target).await, 5);
        assert_eq!(world.count_on(&stable).await, 0);
        assert_eq!(world.partition("web").await, 0);
    })
    .await;
}
