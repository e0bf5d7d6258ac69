//! The API server goes away and comes back in the middle of things, with and without the history that watches need.

use std::collections::BTreeMap;

use windlass_bed::{Deeds, Ending, Story, World, audit, bed, test, until};

use crate::alone;

/// What is left of a story that was told.
struct Told {
    ending: Ending,
    deeds: Deeds,
    /// Which pods the controller under test had deleted, with how often.
    deleted: BTreeMap<String, usize>,
    /// Every deletion of a pod that was carried out, with who asked for it: for the person who reads a failure.
    by_whom: Vec<String>,
}

/// Tells a story, with trouble in the middle of it.
async fn tell(name: &str, story: Story, trouble: impl AsyncFnOnce(&World)) -> Told {
    let mut told = None;
    test(name, async |world| {
        let record = world.record().await;
        story.begin(world).await;
        tokio::join!(story.play(world), trouble(world));
        let ending = world.until_settled("web").await;
        let mut deeds = world.deeds("web", &record).await;
        // A kwok that was just started may delete a pod twice by its name, and takes the successor the second time. A
        // pod that runs and is deleted by anybody else is seen to go first.
        for (revision, went) in &mut deeds.went {
            *went = record.sent_away(revision);
        }
        deeds.went.retain(|_, went| !went.is_empty());
        let deletions = deletions(world).await;
        let by_whom = deletions.iter().map(|it| format!("{} by {}", it.object().name, it.user.username));
        let mut deleted = BTreeMap::new();
        for request in deletions.iter().filter(|request| request.is_windlass()) {
            *deleted.entry(request.object().name).or_default() += 1;
        }
        told = Some(Told { ending, deeds, deleted, by_whom: by_whom.collect() });
    })
    .await;
    told.unwrap()
}

/// The deletions of pods in this namespace that the API server carried out.
async fn deletions(world: &World) -> Vec<audit::Request> {
    world.until_audited().await;
    let log = bed().audit_log.as_deref().unwrap();
    let is_meant = |request: &audit::Request| {
        let object = request.object();
        let is_pod = object.namespace == world.namespace && object.resource == "pods";
        is_pod && request.verb == "delete" && request.is_done()
    };
    audit::since(log, 0).into_iter().filter(is_meant).collect()
}

/// Tells a story undisturbed and with trouble, and compares.
async fn ends_alike(story: Story, trouble: impl AsyncFnOnce(&World)) {
    if bed().etcd.is_none() {
        return;
    }
    let undisturbed = tell("undisturbed", story, async |_| ()).await;
    let disturbed = tell("disturbed", story, trouble).await;
    assert_eq!(disturbed.ending, undisturbed.ending);
    let differences = disturbed.deeds.differences(&undisturbed.deeds);
    assert!(differences.is_empty(), "{differences:#?}\ndeletions: {:#?}", disturbed.by_whom);
    // Ours alone: kwok and the set's controller, just restarted, may ask a second time for what is on its way out already.
    for (pod, times) in &disturbed.deleted {
        let usual = undisturbed.deleted.get(pod).copied().unwrap_or_default();
        let by_whom = &disturbed.by_whom;
        assert!(*times <= usual, "{pod} was deleted {times} times instead of {usual}: {by_whom:#?}");
    }
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
