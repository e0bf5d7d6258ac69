//! A status that is not ours: edited by hand, left by Argo's controller, or written by a newer Windlass.

use windlass_bed::{World, test};

use crate::PROMOTE;

/// A run that waits with one pod of three updated; its target.
async fn under_way(world: &World) -> String {
    world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 67", "pause: {}"]).await;
    world.set_image("web", "app:v2");
    world.until_paused_at("web", 1).await.updated_revision.unwrap()
}

#[tokio::test]
async fn a_status_that_was_edited_by_hand_is_repaired_and_the_run_goes_on() {
    test("edited", async |world| {
        let target = under_way(world).await;
        world.patch_status(
            "web",
            r#"{"status":{"phase":"Splendid","currentStepIndex":99,"step":"lots","replicas":-7,
                "memo":{"run":{"journey":"nonsense"}},"conditions":[],"waits":[]}}"#,
        );
        world.until_event("web", "StatusRepaired").await;
        let status = world.until_paused_at("web", 1).await;
        assert_eq!((status.phase.as_deref(), status.replicas), (Some("Paused"), Some(3)));
        assert_eq!(world.count_on(&target).await, 1, "nothing moved");
        world.patch_status("web", PROMOTE);
        world.until_paused_at("web", 3).await;
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn the_status_of_argos_controller_is_taken_over() {
    test("argo", async |world| {
        let target = under_way(world).await;
        world.kill_controller();
        // As its controller leaves it in the middle of a run, and nothing of ours.
        world.patch_status(
            "web",
            r#"{"status":{"memo":null,"waits":null,"step":null,"message":null,"initialized":true,
                "observedGeneration":1,"phase":"Progressing","rolloutInProgress":true,"currentStepIndex":2,
                "currentStepComplete":false,"controllerPause":true,"pauseConditions":null,
                "conditions":[{"type":"Progressing","status":"True","reason":"RolloutPluginProgressing",
                "message":"RolloutPlugin is progressing","lastUpdateTime":"2026-01-01T00:00:00Z",
                "lastTransitionTime":"2026-01-01T00:00:00Z"}]}}"#,
        );
        world.start_controller();
        world.until_paused_at("web", 1).await;
        assert_eq!(world.count_on(&target).await, 1, "its pause is no promotion of ours");
        world.patch_status("web", r#"{"status":{"promoteFull":true}}"#);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn what_a_newer_windlass_remembers_is_left_alone_until_a_person_decides() {
    test("newer", async |world| {
        let target = under_way(world).await;
        let generation = world.set("web").await.metadata.generation;
        world.patch_status(
            "web",
            r#"{"status":{"memo":{"version":7,"run":{"journey":{"is":"teleporting"}}}}}"#,
        );
        let status = world.until_phase("web", "Degraded").await;
        assert_eq!(status.waits[0].reason, "StatusFromNewerVersion");
        assert!(status.waits[0].ends_when.contains("clear status.memo"), "{}", status.waits[0].ends_when);
        assert_eq!(status.memo.unwrap()["version"], 7);
        assert_eq!(world.set("web").await.metadata.generation, generation, "the set is not touched");
        world.patch_status("web", r#"{"status":{"memo":null}}"#);
        world.until_paused_at("web", 1).await;
        assert_eq!(world.count_on(&target).await, 1);
    })
    .await;
}
