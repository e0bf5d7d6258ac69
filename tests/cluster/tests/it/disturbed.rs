//! The way to the API server is disturbed in the middle of a run. Every time the run ends where the undisturbed one
//! ends, no pod goes that would not have gone, and no event is lost or told more than once more.

use std::time::Duration;

use windlass_bed::{Disturbance, Launch, Passed, Proxy, Story, World, test_without_controller, until};

use crate::usual::usual;

/// What is written in a run, each by a part of its path.
const WRITES: [&str; 4] = ["/events", "/statefulsets/", "/status", "/pods/"];

/// Tells a story over a way that `trouble` disturbs, beginning with the new template; answers with every write.
async fn ends_as_usual(
    name: &str,
    story: Story,
    flags: &[&str],
    trouble: impl AsyncFnOnce(&World, &Proxy),
) -> Vec<Passed> {
    let usual = usual(story).await;
    let mut passed = Vec::new();
    test_without_controller(name, async |world| {
        let proxy = Proxy::start(&world.namespace).await;
        let record = world.record().await;
        let launch = Launch::new(&world.namespace).flags(flags).through(&proxy.kubeconfig);
        world.controller = Some(launch.start());
        story.begin(world).await;
        tokio::join!(story.play(world), trouble(world, &proxy));
        world.until_ends_as("web", &usual.ending).await;
        let differences = world.deeds("web", &record).await.differences(&usual.deeds);
        assert!(differences.is_empty(), "{differences:#?}");
        assert!(proxy.is_done(), "not everything was disturbed that was to be");
        passed = proxy.passed();
    })
    .await;
    passed
}

/// Each kind of write is disturbed so many times in a row. An abort has all kinds.
async fn each_write(name: &str, times: usize, disturbance: Disturbance) -> Vec<Passed> {
    writes_to(&WRITES, name, times, disturbance).await
}

/// Each of these writes is disturbed so many times in a row.
async fn writes_to(paths: &[&str], name: &str, times: usize, disturbance: Disturbance) -> Vec<Passed> {
    ends_as_usual(name, Story::Abort, &[], async |_, proxy| {
        for path in paths {
            proxy.disturb(path, times, disturbance);
        }
    })
    .await
}

async fn until_the_first_pod_is_updated(world: &World) {
    until("the first pod is updated", async || {
        let (stable, target) = world.revisions("web").await;
        (stable != target && world.count_on(&target).await > 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_busy_server_is_given_the_time_it_asks_for() {
    const ASKED: u64 = 3;
    let passed = each_write("busy", 1, Disturbance::Busy(ASKED)).await;
    let is_busy = |write: &&Passed| write.disturbed == Some(Disturbance::Busy(ASKED));
    let busy: Vec<&Passed> = passed.iter().filter(is_busy).collect();
    assert_eq!(busy.len(), WRITES.len());
    for refused in busy {
        let again = passed.iter().find(|write| write.path == refused.path && write.at > refused.at).unwrap();
        let waited = again.at - refused.at;
        println!("asked to wait {ASKED} s, {} came again after {waited:?}", refused.path);
        assert!(waited >= Duration::from_secs(ASKED), "{}: {waited:?}", refused.path);
    }
}

#[tokio::test]
async fn conflicts_are_looked_at_again() {
    // An event is made and never changed: there is nothing to conflict with.
    writes_to(&WRITES[1..], "conflicts", 2, Disturbance::Conflict).await;
}

#[tokio::test]
async fn a_server_that_is_broken_for_a_while_is_asked_again() {
    each_write("broken", 1, Disturbance::Broken(500)).await;
    each_write("unavailable", 2, Disturbance::Broken(503)).await;
}

#[tokio::test]
async fn an_event_that_could_not_be_sent_is_sent_later() {
    writes_to(&["/events"], "broken-events", 2, Disturbance::Broken(500)).await;
    writes_to(&["/events"], "busy-events", 2, Disturbance::Busy(1)).await;
}

#[tokio::test]
async fn connections_that_are_cut_are_made_again() {
    each_write("cut", 2, Disturbance::Cut).await;
}

#[tokio::test]
async fn writes_whose_answers_are_lost_are_not_made_twice() {
    each_write("lost", 1, Disturbance::Lost).await;
}

#[tokio::test]
async fn slow_answers_are_waited_for() {
    each_write("slow", 1, Disturbance::Slow(Duration::from_secs(3))).await;
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_given_up() {
    ends_as_usual("no-answer", Story::Run, &[], async |_, proxy| {
        proxy.disturb("/statefulsets/", 1, Disturbance::Slow(Duration::from_secs(5 * 60)));
    })
    .await;
}

#[tokio::test]
async fn watches_that_are_cut_are_opened_again() {
    ends_as_usual("cut-watches", Story::Run, &[], async |world, proxy| {
        until_the_first_pod_is_updated(world).await;
        proxy.cut_watches();
    })
    .await;
}

#[tokio::test]
async fn watches_that_fall_silent_are_opened_again() {
    ends_as_usual("silent-watches", Story::Run, &["--watch-silence=3s"], async |world, proxy| {
        until_the_first_pod_is_updated(world).await;
        proxy.silence_watches();
    })
    .await;
}

#[tokio::test]
async fn watches_whose_version_is_gone_begin_anew() {
    ends_as_usual("gone", Story::Run, &[], async |world, proxy| {
        until_the_first_pod_is_updated(world).await;
        proxy.expire_watches(4);
    })
    .await;
}
