//! Windlass goes, and everything is given back.

use windlass_bed::{User, bed, test, until, windlass};
use windlass_workloads::{HOLD, Holder};

/// What Windlass has in the cluster, outside of any namespace.
fn left_in_the_cluster() -> String {
    let kinds = match bed().hold {
        Holder::Policy => {
            "crd,clusterrole,clusterrolebinding,mutatingadmissionpolicy,mutatingadmissionpolicybinding,validatingadmissionpolicy,validatingadmissionpolicybinding"
        }
        Holder::Partition => {
            "crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding"
        }
    };
    let names = bed().kubectl_ok(User::Admin, &["get", kinds, "--output=name"], "");
    // The second account belongs to the tests.
    let ours = |line: &&str| {
        ["windlass", "argoproj.io"].iter().any(|word| line.contains(word))
            && !line.ends_with("windlass-second")
    };
    names.lines().filter(ours).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn deleting_the_rollouts_and_then_windlass_gives_everything_back() {
    let _turn = crate::alone().await;
    test("uninstall", async |world| {
        let steps = ["setWeight: 34", "pause: {}", "setWeight: 100"];
        world.healthy("rests", 2, &steps).await;
        world.healthy("runs", 3, &steps).await;
        world.healthy("aborted", 2, &steps).await;
        let (stable, _) = world.revisions("runs").await;
        world.set_image("runs", "app:v2");
        let target = world.until_paused_at("runs", 1).await.updated_revision.unwrap();
        world.set_image("aborted", "app:v2");
        world.until_paused_at("aborted", 1).await;
        world.patch_status("aborted", r#"{"status":{"abort":true}}"#);
        world.until_reverted("aborted").await;

        world.kubectl(&["delete", "rp", "--all"]);
        for (set, partition) in [("rests", 0), ("runs", 2), ("aborted", HOLD)] {
            until("the marks are off", async || {
                let meta = world.set(set).await.metadata;
                let label = meta.labels.is_some_and(|labels| labels.contains_key("windlass.sh/rollout"));
                let mark = meta.annotations.is_some_and(|marks| marks.contains_key("windlass.sh/held"));
                (!label && !mark).then_some(())
            })
            .await;
            assert_eq!(world.partition(set).await, partition, "{set}");
        }

        world.kill_controller();
        bed().kubectl_ok(
            User::Admin,
            &["delete", "--ignore-not-found", "-f", "-"],
            &windlass(&["manifests", bed().hold_flag()]),
        );
        assert_eq!(left_in_the_cluster(), "");

        world.kubectl(&["set", "image", "sts/rests", "app=app:v2"]);
        world.kubectl(&["rollout", "status", "sts/rests", "--timeout=60s"]);
        assert_eq!(
            (world.count_on(&target).await, world.count_on(&stable).await),
            (1, 2),
            "the run stands still"
        );
        world.patch("sts/runs", r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#);
        until("the update is finished by hand", async || (world.count_on(&target).await == 3).then_some(()))
            .await;
        bed().install();
    })
    .await;
}
