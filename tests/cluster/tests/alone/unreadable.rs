//! A definition with another schema than ours lets through what we cannot read, as when somebody else installed theirs.

use windlass_bed::{User, bed, manifests, test, until};

/// Takes the schema away: everything is admitted.
fn forget_the_schema() {
    let free = r#"[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        "value":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}]"#;
    let crd = "crd/rolloutplugins.argoproj.io";
    bed().kubectl_ok(User::Admin, &["patch", crd, "--type=json", "--patch", free], "");
}

#[tokio::test]
async fn a_rollout_that_cannot_be_read_says_so_and_its_neighbours_are_served() {
    let _turn = crate::alone().await;
    test("unreadable", async |world| {
        let steps = ["setWeight: 50", "pause: {}", "setWeight: 100"];
        world.healthy("good", 2, &steps).await;
        world.healthy("bad", 2, &steps).await;
        forget_the_schema();
        let spoil = r#"{"spec":{"strategy":7}}"#;
        until("the server has forgotten the schema", async || {
            let line = ["patch", "rp/bad", "--type=merge", "--patch", spoil, "--namespace", &world.namespace];
            bed().kubectl(User::Developer, &line, "").status.success().then_some(())
        })
        .await;
        let status = world.until_raw_status("bad", "Degraded").await;
        assert!(status["message"].as_str().unwrap().contains("spec cannot be read"), "{status}");
        let labels = world.set("bad").await.metadata.labels.unwrap();
        assert_eq!(labels["windlass.sh/rollout"], "bad", "its set is not given back");

        world.set_image("good", "app:v2");
        let target = world.until_paused_at("good", 1).await.updated_revision.unwrap();
        world.patch_status("good", crate::PROMOTE);
        world.until_completed("good", &target).await;

        world.apply(&manifests::rollout("bad", &steps));
        world.until_phase("bad", "Healthy").await;
        bed().install();
    })
    .await;
}
