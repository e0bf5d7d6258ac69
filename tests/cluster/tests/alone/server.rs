//! The API server goes away and comes back in the middle of things, with and without the history that watches need.

use windlass_bed::audit::{self, Request};
use windlass_bed::{Deeds, Ending, Story, World, bed, test, until};

use crate::alone;

/// Tells a story, with trouble in the middle of it.
async fn tell(name: &str, story: Story, trouble: impl AsyncFnOnce(&World)) -> (Ending, Deeds, Vec<String>) {
    let mut told = None;
    test(name, async |world| {
        let record = world.record().await;
        story.begin(world).await;
        tokio::join!(story.play(world), trouble(world));
        let ending = world.until_settled("web").await;
        told = Some((ending, world.deeds("web", &record).await, deletions(world).await));
    })
    .await;
    told.unwrap()
}

/// Who had which pod deleted, and when: what one has to know when pods went otherwise.
async fn deletions(world: &World) -> Vec<String> {
    world.until_audited().await;
    let Some(log) = bed().audit_log.as_deref() else { return Vec::new() };
    let of_pods = |it: &Request| it.verb == "delete" && it.object().resource == "pods";
    let told = |it: Request| {
        let (at, who, name) = (it.request_received_timestamp, &it.user.username, it.object().name);
        format!("{at}: {who} deletes {name}: {:?}", it.response_status.as_ref().map(|answer| answer.code))
    };
    let here = |it: &Request| of_pods(it) && it.object().namespace == world.namespace;
    audit::since(log, 0).into_iter().filter(here).map(told).collect()
}

/// Tells a story undisturbed and with trouble, and compares.
async fn ends_alike(story: Story, trouble: impl AsyncFnOnce(&World)) {
    if bed().etcd.is_none() {
        return;
    }
    let (ending, deeds, _) = tell("undisturbed", story, async |_| ()).await;
    let (disturbed_ending, disturbed_deeds, deletions) = tell("disturbed", story, trouble).await;
    assert_eq!(disturbed_ending, ending);
    let differences = disturbed_deeds.differences(&deeds);
    assert!(differences.is_empty(), "{differences:#?}\n{deletions:#?}");
}

/// Stops, starts or restarts a part of the control plane; others go on meanwhile.
async fn command(line: &str) {
    let line = line.to_owned();
    tokio::task::spawn_blocking(move || bed().command(&line)).await.unwrap();
}

/// The rest of the control plane begins anew, as a kubelet sees to it in a cluster: a scheduler that missed a deletion
/// ends itself, and whoever lost the API server several times waits longer and longer before asking again.
async fn renew_the_others() {
    for part in ["kube-controller-manager", "kube-scheduler", "kwok"] {
        command(&format!("restart {part}")).await;
    }
}

async fn until_on_target(world: &World, count: usize) {
    until("pods are on the target", async || {
        let (stable, target) = world.revisions("web").await;
        (stable != target && world.count_on(&target).await >= count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_run_goes_on_after_the_api_server_was_restarted() {
    let _turn = alone().await;
    ends_alike(Story::Run, async |world| {
        until_on_target(world, 2).await;
        command("restart kube-apiserver").await;
        renew_the_others().await;
    })
    .await;
}

#[tokio::test]
async fn an_abort_goes_on_after_the_api_server_was_restarted() {
    let _turn = alone().await;
    ends_alike(Story::Abort, async |world| {
        world.until_status("web", "the abort is under way", |status| status.aborted).await;
        command("restart kube-apiserver").await;
        renew_the_others().await;
    })
    .await;
}

#[tokio::test]
async fn a_run_goes_on_after_the_history_that_its_watches_need_is_gone() {
    let _turn = alone().await;
    ends_alike(Story::Run, async |world| {
        until_on_target(world, 2).await;
        command("stop kube-apiserver").await;
        bed().forget_history();
        command("start kube-apiserver").await;
        renew_the_others().await;
        let controller = world.controller.as_ref().unwrap();
        until("a watch was told that its version is gone", async || {
            controller.logged().contains("too old resource version").then_some(())
        })
        .await;
    })
    .await;
}
