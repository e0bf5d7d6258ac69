//! The workload is scaled in the middle of a run.

use windlass_bed::{test, until};

use crate::PROMOTE;

#[tokio::test]
async fn scaling_up_in_a_run_keeps_the_exposure_and_puts_pods_right() {
    test("scale-up", async |world| {
        world.healthy("web", 4, &["setWeight: 25", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.kubectl(&["scale", "sts/web", "--replicas=8"]);
        until("a quarter of eight is exposed", async || {
            let all = world.pod_revisions().await;
            let on = |revision: &str| all.iter().filter(|(_, it)| it == revision).count();
            (on(&target) == 2 && on(&stable) == 6).then_some(())
        })
        .await;
        assert_eq!(world.partition("web").await, 6);
        assert_eq!(world.status("web").await.current_step_index, Some(1));
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn scaling_up_while_held_gives_stable_pods() {
    test("scale-held", async |world| {
        world.healthy("web", 2, &["setWeight: 0", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        let record = world.record().await;
        world.kubectl(&["scale", "sts/web", "--replicas=5"]);
        until("five pods are there", async || (world.count_on(&stable).await == 5).then_some(())).await;
        assert_eq!(record.most_on(&target), 0);
    })
    .await;
}

#[tokio::test]
async fn scaling_down_in_a_run_keeps_the_share_of_new_pods() {
    test("scale-down", async |world| {
        world.healthy("web", 6, &["setWeight: 50", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.kubectl(&["scale", "sts/web", "--replicas=2"]);
        until("one of two is on the target", async || {
            (world.pods().await.len() == 2 && world.count_on(&target).await == 1).then_some(())
        })
        .await;
        assert_eq!(world.count_on(&stable).await, 1);
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn scaling_to_zero_parks_the_run_and_scaling_up_goes_on_from_stable() {
    test("scale-zero", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        world.kubectl(&["scale", "sts/web", "--replicas=0"]);
        let status = world
            .until_status("web", "the run is parked", |status| {
                status.waits.iter().any(|wait| wait.reason == "ParkedAtZero")
            })
            .await;
        assert_eq!(status.phase.as_deref(), Some("Paused"));
        until("the pods are gone", async || world.pods().await.is_empty().then_some(())).await;
        assert_eq!(world.revisions("web").await.0, stable, "the set has not forgotten stable");
        let record = world.record().await;
        world.kubectl(&["scale", "sts/web", "--replicas=3"]);
        until("one on the target, two on stable", async || {
            (world.count_on(&target).await == 1 && world.count_on(&stable).await == 2).then_some(())
        })
        .await;
        assert_eq!(record.revisions_of("web-0"), [stable.as_str()], "born on stable");
        assert_eq!(record.most_on(&target), 1);
        world.until_paused_at("web", 1).await;
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
    })
    .await;
}
