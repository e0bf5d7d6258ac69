//! What StatefulSets can be like.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use windlass_bed::{bed, manifests, test, until};
use windlass_workloads::Holder;

use crate::{ABORT, PROMOTE};

#[tokio::test]
async fn ordinals_that_do_not_start_at_zero_are_counted_from_their_start() {
    test("ordinals", async |world| {
        let set = manifests::stateful_set("web", 3, "app:v1") + "  ordinals: {start: 7}\n";
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 34", "pause: {}", "setWeight: 100"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        assert_eq!(world.partition("web").await, 2);
        let on: Vec<_> = world.pod_revisions().await.into_iter().filter(|(_, it)| *it == target).collect();
        assert_eq!(on[0].0, "web-9");
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn parallel_sets_move_and_revert_one_pod_at_a_time_too() {
    test("parallel", async |world| {
        let set = manifests::stateful_set("web", 4, "app:v1") + "  podManagementPolicy: Parallel\n";
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 75", "pause: {}", "setWeight: 100"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let (stable, _) = world.revisions("web").await;
        let record = world.record().await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        assert_eq!(world.count_on(&stable).await, 4);
        assert_eq!(record.most_down_at_once(&crate::pod_names("web", 4)), 1);
    })
    .await;
}

#[tokio::test]
async fn a_pod_counts_only_after_min_ready_seconds() {
    test("min-ready", async |world| {
        let set = manifests::stateful_set("web", 2, "app:v1") + "  minReadySeconds: 2\n";
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 50", "pause: {}"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        world
            .until_status("web", "the ready pod is waited for", |status| {
                status.waits.iter().any(|wait| wait.pods.iter().any(|pod| pod.state == "ready"))
            })
            .await;
        assert_eq!(world.status("web").await.current_step_index, Some(0));
        world.until_paused_at("web", 1).await;
        assert_eq!(world.count_on(&target).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_set_that_updates_on_delete_is_refused_with_a_reason() {
    test("on-delete", async |world| {
        let set = manifests::stateful_set("web", 2, "app:v1") + "  updateStrategy: {type: OnDelete}\n";
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 50"]));
        let status = world.until_phase("web", "Degraded").await;
        let progressing = status.condition("Progressing").unwrap();
        assert_eq!(progressing.reason, "ReconciliationError");
        assert!(progressing.message.contains("OnDelete"), "{}", progressing.message);
        assert_eq!(status.waits[0].reason, "WorkloadCannotBeHeld");
        assert!(status.waits[0].ends_when.contains("RollingUpdate"));
    })
    .await;
}

#[tokio::test]
async fn a_strategy_without_a_rolling_update_block_works() {
    test("no-block", async |world| {
        let set = manifests::stateful_set("web", 3, "app:v1") + "  updateStrategy: {type: RollingUpdate}\n";
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 34", "pause: {}", "setWeight: 100"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let record = world.record().await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        assert_eq!(record.most_on(&target), 1);
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn pods_that_are_slow_to_go_are_waited_for() {
    test("sticky", async |world| {
        world.apply(&manifests::stateful_set("web", 3, "app:v1-sticky"));
        world.apply(&manifests::rollout("web", &["setWeight: 67", "pause: {}"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let record = world.record().await;
        world.set_image("web", "app:v2-sticky");
        world
            .until_status("web", "the terminating pod is named", |status| {
                status.waits.iter().any(|wait| wait.pods.iter().any(|pod| pod.state == "terminating"))
            })
            .await;
        world.until_paused_at("web", 1).await;
        assert_eq!(record.most_down_at_once(&crate::pod_names("web", 3)), 1);
    })
    .await;
}

#[tokio::test]
async fn claims_are_never_touched() {
    test("claims", async |world| {
        let set = manifests::stateful_set("web", 2, "app:v1")
            + "  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: none
      resources: {requests: {storage: 1Gi}}
";
        // No storage here: volumes are bound by hand, as an administrator would.
        for ordinal in 0..2 {
            let volume = format!(
                "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {0}-{ordinal}}}\nspec:\n  capacity: {{storage: 1Gi}}\n  accessModes: [ReadWriteOnce]\n  storageClassName: none\n  claimRef: {{namespace: {0}, name: data-web-{ordinal}}}\n  hostPath: {{path: /data}}\n",
                world.namespace
            );
            world.apply(&volume);
        }
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 50", "pause: {}"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let claims = || world.kubectl(&["get", "pvc", "-o", "jsonpath={.items[*].metadata.uid}"]);
        let before = claims();
        assert_eq!(before.split(' ').count(), 2);
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.patch_status("web", ABORT);
        world.until_reverted("web").await;
        assert_eq!(claims(), before);
    })
    .await;
}

#[tokio::test]
async fn a_workload_that_never_came_up_is_not_called_healthy() {
    test("never-up", async |world| {
        world.apply(&manifests::stateful_set("web", 2, "app:v1-crash"));
        world.apply(&manifests::rollout("web", &["setWeight: 50"]));
        let status = world
            .until_status("web", "the crashing pod is named", |status| {
                status.waits.iter().any(|wait| wait.pods.iter().any(|pod| pod.state == "CrashLoopBackOff"))
            })
            .await;
        assert_eq!(status.phase.as_deref(), Some("Progressing"));
        assert!(status.condition("Healthy").is_none());
    })
    .await;
}

#[tokio::test]
async fn a_healthy_rollout_whose_pod_falls_ill_says_so() {
    test("flaky", async |world| {
        world.apply(&manifests::stateful_set("web", 2, "app:v1-flaky"));
        world.apply(&manifests::rollout("web", &["setWeight: 50"]));
        until("a pod is not ready any more", async || {
            let status = world.status("web").await;
            (status.phase.as_deref() == Some("Progressing")
                && status.ready_replicas < Some(2)
                && !status.waits.is_empty())
            .then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_set_deleted_and_made_again_starts_anew() {
    test("made-again", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}", "setWeight: 100"]).await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.kubectl(&["delete", "sts", "web"]);
        let gone = world.until_phase("web", "Degraded").await;
        assert_eq!(gone.waits[0].reason, "WorkloadMissing");
        world.apply(&manifests::stateful_set("web", 2, "app:v9"));
        let status = world.until_phase("web", "Healthy").await;
        assert_eq!((status.current_step_index, status.controller_pause), (None, false));
    })
    .await;
}

#[tokio::test]
async fn max_unavailable_is_left_alone_and_used_where_the_cluster_has_it() {
    test("max-unavailable", async |world| {
        let set = manifests::stateful_set("web", 4, "app:v1-slow")
            + "  podManagementPolicy: Parallel\n  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate: {maxUnavailable: 2}\n";
        world.apply(&set);
        world.apply(&manifests::rollout("web", &["setWeight: 50", "pause: {}", "setWeight: 100"]));
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let (stable, _) = world.revisions("web").await;
        let record = world.record().await;
        world.set_image("web", "app:v2-slow");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        assert_eq!((world.count_on(&target).await, world.count_on(&stable).await), (2, 2));
        world.patch_status("web", PROMOTE);
        world.until_completed("web", &target).await;
        let rolling = world.set("web").await.spec.unwrap().update_strategy.unwrap().rolling_update.unwrap();
        // The server drops the field where it does not know it; the other kind of bed has it switched on.
        let most = match bed().hold {
            Holder::Policy => {
                assert_eq!(rolling.max_unavailable, None);
                1
            }
            Holder::Partition => {
                assert_eq!(rolling.max_unavailable, Some(IntOrString::Int(2)));
                2
            }
        };
        assert_eq!(record.most_down_at_once(&crate::pod_names("web", 4)), most);
    })
    .await;
}
