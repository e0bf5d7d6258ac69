//! What the API server makes of the preconditions in our patches: a write that rests on what is no longer so is not made.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{Patch, PatchParams};
use windlass_bed::{World, manifests, test, until};
use windlass_engine::{Exposure, Move, RolloutName};
use windlass_workloads::{Holder, Snapshot, StatefulSetView, Workload, Write, write};

/// A set without a rollout, so that nobody but the test writes to it.
async fn lone_set(world: &World) -> StatefulSet {
    world.apply(&manifests::stateful_set("web", 2, "app:v1"));
    until("the set is up", async || {
        let set = world.set("web").await;
        let ready = set.status.as_ref().and_then(|status| status.ready_replicas);
        (ready == Some(2)).then_some(set)
    })
    .await
}

/// Sends what the lens makes of a move, judged by the set as it was read.
async fn send(world: &World, judged: &StatefulSet, next: &Move) -> kube::Result<StatefulSet> {
    let workload = Workload::StatefulSet(StatefulSetView::of(judged));
    let snapshot = Snapshot { workload, pods: Vec::new(), revisions: Vec::new() };
    let Write::PatchWorkload(patch) = write(&snapshot, &RolloutName::new("web"), Holder::Policy, next) else {
        unreachable!("this move is a patch");
    };
    let api: Api<StatefulSet> = Api::namespaced(world.client(), &world.namespace);
    api.patch("web", &PatchParams::default(), &Patch::Json::<()>(patch.patch)).await
}

/// The answer by which the writer knows that a test failed: invalid, but with no word about any field.
fn assert_refused(outcome: kube::Result<StatefulSet>) {
    let Err(kube::Error::Api(answer)) = outcome else { unreachable!("made all the same: {outcome:?}") };
    let field = answer.details.as_ref().is_some_and(|it| !it.kind.is_empty() || !it.causes.is_empty());
    assert_eq!((answer.code, field), (422, false), "{}", answer.message);
}

#[tokio::test]
async fn a_write_that_rests_on_an_older_spec_is_refused() {
    test("older-spec", async |world| {
        let judged = lone_set(world).await;
        world.kubectl(&["scale", "sts/web", "--replicas=3"]);
        assert_refused(send(world, &judged, &Move::Expose(Exposure::First(1), None)).await);
        assert_eq!(world.partition("web").await, 0, "nothing of it was done");
    })
    .await;
}

#[tokio::test]
async fn a_write_that_would_take_away_anothers_claim_or_labels_is_refused() {
    test("other-claim", async |world| {
        // It would take a label off that names no rollout.
        world.kill_controller();
        let judged = lone_set(world).await;
        world.kubectl(&["label", "sts/web", "team=data"]);
        assert_refused(send(world, &judged, &Move::Claim).await);
        let judged = world.set("web").await;
        world.kubectl(&["label", "sts/web", "windlass.sh/rollout=other"]);
        assert_refused(send(world, &judged, &Move::Claim).await);
        let labels = world.set("web").await.metadata.labels.unwrap();
        assert_eq!((labels["team"].as_str(), labels["windlass.sh/rollout"].as_str()), ("data", "other"));
    })
    .await;
}

#[tokio::test]
async fn a_write_to_another_set_of_the_same_name_is_refused() {
    test("other-set", async |world| {
        let judged = lone_set(world).await;
        world.kubectl(&["delete", "sts/web"]);
        lone_set(world).await;
        assert_refused(send(world, &judged, &Move::Claim).await);
    })
    .await;
}

#[tokio::test]
async fn a_write_is_not_refused_because_the_sets_controller_counted_meanwhile() {
    test("counted", async |world| {
        let judged = lone_set(world).await;
        world.kubectl(&["delete", "pod/web-1"]);
        let version = |set: &StatefulSet| set.metadata.resource_version.clone();
        until("a counter has moved", async || {
            (version(&world.set("web").await) != version(&judged)).then_some(())
        })
        .await;
        let written = send(world, &judged, &Move::Expose(Exposure::First(1), None)).await.unwrap();
        assert_eq!(StatefulSetView::of(&written).held.as_deref(), Some("true"));
        assert_eq!(world.partition("web").await, 1);
    })
    .await;
}
