//! The progress deadline: time since the last progress, with pauses taken out.

use windlass_bed::{World, manifests, test, until};

use crate::PROMOTE;

fn with_deadline(steps: &[&str], seconds: u32, abort: bool) -> String {
    let plugin = format!(
        "name: argoproj/statefulset\n    config: {{timeoutSeconds: {seconds}, timeoutAbort: {abort}}}"
    );
    manifests::rollout("web", steps).replace("name: argoproj/statefulset", &plugin)
}

/// A set of so many pods with this rollout, up, Healthy and so guarded.
async fn healthy(world: &World, replicas: i32, rollout: &str) {
    world.apply(&manifests::stateful_set("web", replicas, "app:v1"));
    world.apply(rollout);
    world.until_phase("web", "Healthy").await;
}

#[tokio::test]
async fn no_progress_within_the_deadline_is_degraded_and_late_progress_mends_it() {
    test("overdue", async |world| {
        healthy(world, 2, &with_deadline(&["setWeight: 50", "pause: {}"], 1, false)).await;
        world.set_image("web", "app:v2-slow");
        let status = world.until_phase("web", "Degraded").await;
        let progressing = status.condition("Progressing").unwrap();
        assert_eq!(progressing.reason, "ProgressDeadlineExceeded");
        assert_eq!(progressing.message, "RolloutPlugin web has timed out progressing after 1 seconds");
        assert_eq!(
            world.until_event("web", "ProgressDeadlineExceeded").await,
            "RolloutPlugin \"web\" has timed out progressing."
        );
        world.until_paused_at("web", 1).await;
    })
    .await;
}

#[tokio::test]
async fn a_longer_deadline_ends_being_overdue() {
    test("longer-deadline", async |world| {
        healthy(world, 2, &with_deadline(&["setWeight: 50", "pause: {}"], 1, false)).await;
        world.set_image("web", "app:v2-crash");
        world.until_phase("web", "Degraded").await;
        world.apply(&with_deadline(&["setWeight: 50", "pause: {}"], 900, false));
        world.until_phase("web", "Progressing").await;
    })
    .await;
}

#[tokio::test]
async fn a_deadline_that_aborts_puts_everything_back_once() {
    test("deadline-abort", async |world| {
        healthy(world, 3, &with_deadline(&["setWeight: 34", "setWeight: 100"], 1, true)).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2-crash");
        let status = world.until_reverted("web").await;
        assert_eq!(status.condition("Progressing").unwrap().reason, "ProgressDeadlineExceeded");
        assert_eq!(world.count_on(&stable).await, 3);
        let events = world.events("web").await;
        let told = |text: &str| events.iter().filter(|(_, told)| told == text).count();
        assert_eq!(told("RolloutPlugin aborted due to progress deadline exceeded"), 1);
    })
    .await;
}

#[tokio::test]
async fn pauses_do_not_count_against_the_deadline() {
    test("pause-no-deadline", async |world| {
        healthy(
            world,
            2,
            &with_deadline(
                &["setWeight: 50", "pause: {duration: 3s}", "pause: {}", "setWeight: 100"],
                2,
                true,
            ),
        )
        .await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 2).await.updated_revision.unwrap();
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
        let events = world.events("web").await;
        assert!(events.iter().all(|(reason, _)| reason != "ProgressDeadlineExceeded"), "{events:?}");
    })
    .await;
}

#[tokio::test]
async fn the_deadline_counts_from_the_last_progress_and_not_from_the_start() {
    test("from-progress", async |world| {
        // Three pods of two seconds each: six seconds in all, never more than three without progress.
        healthy(world, 3, &with_deadline(&["setWeight: 100"], 5, true)).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2-slow");
        let target = world.until_target("web", &stable).await;
        world.until_completed("web", &target).await;
        assert!(world.events("web").await.iter().all(|(reason, _)| reason != "ProgressDeadlineExceeded"));
    })
    .await;
}

#[tokio::test]
async fn a_new_target_gets_a_deadline_of_its_own() {
    test("new-deadline", async |world| {
        healthy(world, 2, &with_deadline(&["setWeight: 50", "pause: {}"], 1, false)).await;
        world.set_image("web", "app:v2-crash");
        world.until_phase("web", "Degraded").await;
        world.set_image("web", "app:v3");
        world.until_paused_at("web", 1).await;
        until("nothing is overdue", async || {
            world.status("web").await.condition("Stalled").is_none().then_some(())
        })
        .await;
    })
    .await;
}
