//! One leader: who has the lease writes, nobody else does, and somebody always takes over.

use std::time::{Duration, Instant};

use windlass_bed::audit::{self, Request};
use windlass_bed::{
    Controller, Disturbance, Launch, Proxy, User, World, bed, manifests, test_without_controller,
    took_the_lease, until,
};

use crate::{ABORT, PROMOTE};

const STEPS: [&str; 3] = ["setWeight: 34", "pause: {}", "setWeight: 100"];

/// Two controllers that elect a leader: the first one leads, the second one stands by. They run as two accounts.
async fn two(world: &mut World, lease: &str) -> (Controller, Controller) {
    world.allow_leases(&["windlass"]);
    let first = Launch::elected(&world.namespace, lease).start();
    world.until_leads(&first).await;
    let second = Launch::elected(&world.namespace, lease).by(User::Second).start();
    (first, second)
}

/// Promotes every pause that this run holds at, until it has completed.
async fn finish(world: &World, set: &str, target: &str) {
    until(&format!("{set} is Healthy on {target}"), async || {
        let status = world.status(set).await;
        let is_this_run = status.updated_revision.as_deref() == Some(target);
        if is_this_run && status.phase.as_deref() == Some("Paused") && status.pause_conditions.is_some() {
            world.patch_status(set, PROMOTE);
        }
        let is_done =
            status.phase.as_deref() == Some("Healthy") && status.current_revision.as_deref() == Some(target);
        is_done.then_some(())
    })
    .await;
}

#[tokio::test]
async fn another_takes_over_within_the_lease_time_when_the_leader_is_killed() {
    const LEASE: Duration = Duration::from_secs(3);
    test_without_controller("takeover", async |world| {
        let (mut first, second) = two(world, "3s").await;
        world.healthy("web", 3, &STEPS).await;
        until("the second one stands by", async || second.logged().contains("the hold").then_some(())).await;
        world.set_image("web", "app:v2");
        let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
        first.kill();
        let killed = Instant::now();
        world.until_leads(&second).await;
        let took = killed.elapsed();
        println!("takeover: {took:?} after SIGKILL, with a lease of {LEASE:?}");
        // The lease time is counted from a renewal that was before the crash; the rest is for the requests themselves.
        assert!(took < LEASE + Duration::from_secs(1), "{took:?}");
        finish(world, "web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn a_leader_that_is_asked_to_stop_hands_over_at_once_and_the_run_goes_on() {
    test_without_controller("hand-over", async |world| {
        let position = bed().audit_log.as_deref().map_or(0, audit::position);
        let (mut first, second) = two(world, "15s").await;
        world.healthy("web", 3, &STEPS).await;
        until("the second one stands by", async || second.logged().contains("the hold").then_some(())).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        first.signal("TERM");
        let asked = Instant::now();
        world.until_leads(&second).await;
        let took = asked.elapsed();
        println!("hand-over: {took:?} after SIGTERM, with a lease of 15 s");
        assert!(took < Duration::from_secs(5), "{took:?}");
        let ended = until("the first one has ended", async || first.ended()).await;
        assert!(ended.success(), "{ended}");
        finish(world, "web", &target).await;
        if bed().audit_log.is_some() {
            world.until_audited().await;
            let writes = world.accepted_writes("windlass", position);
            let last = writes.last().unwrap();
            assert_eq!(last.object().resource, "leases", "giving the lease back is the last thing it does");
            assert!(first.logged().contains("the lease is given back"));
            let taken = took_the_lease(&world.accepted_writes("second", position)).unwrap();
            assert!(last.stage_timestamp <= taken, "nothing was under way any more");
        }
    })
    .await;
}

/// When in a run the leader is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    TheTemplateChanged,
    ThePodIsUpdated,
    ItIsPaused,
    ItWasPromoted,
    ItWasAborted,
}

impl Moment {
    const ALL: [Self; 5] = [
        Self::TheTemplateChanged,
        Self::ThePodIsUpdated,
        Self::ItIsPaused,
        Self::ItWasPromoted,
        Self::ItWasAborted,
    ];

    /// Brings a run there.
    async fn come(self, world: &World, target: &str) {
        match self {
            Self::TheTemplateChanged => {}
            Self::ThePodIsUpdated => {
                until("a pod is updated", async || (world.count_on(target).await > 0).then_some(())).await;
            }
            Self::ItIsPaused | Self::ItWasPromoted | Self::ItWasAborted => {
                world
                    .until_status("web", "the run holds", |status| {
                        status.phase.as_deref() == Some("Paused")
                            && status.updated_revision.as_deref() == Some(target)
                    })
                    .await;
            }
        }
        match self {
            Self::ItWasPromoted => world.patch_status("web", PROMOTE),
            Self::ItWasAborted => world.patch_status("web", ABORT),
            Self::TheTemplateChanged | Self::ThePodIsUpdated | Self::ItIsPaused => {}
        }
    }
}

/// How often it has noticed that it does not lead any more.
fn deposed(controller: &Controller) -> usize {
    controller.logged().matches("this controller does not lead any more").count()
}

/// Stops the leader until the other one leads, lets it go on in the middle of the other's work, and answers with what
/// it wrote after the other had the lease.
async fn depose(
    world: &World,
    moment: Moment,
    target: &str,
    (old, old_account): (&Controller, &str),
    (new, new_account): (&Controller, &str),
) -> Vec<Request> {
    let position = bed().audit_log.as_deref().map_or(0, audit::position);
    let before = deposed(old);
    moment.come(world, target).await;
    old.signal("STOP");
    world.until_leads(new).await;
    old.signal("CONT");
    match moment {
        Moment::ItWasAborted => drop(world.until_reverted("web").await),
        _ => finish(world, "web", target).await,
    }
    until("it knows that it does not lead", async || (deposed(old) > before).then_some(())).await;
    world.until_audited().await;
    let taken = took_the_lease(&world.accepted_writes(new_account, position)).unwrap();
    let mut late = world.accepted_writes(old_account, position);
    let early = late.len();
    late.retain(|request| request.stage_timestamp > taken);
    println!(
        "stopped when {moment:?}: {} accepted writes of the old leader before, {} after it lost the lease",
        early - late.len(),
        late.len()
    );
    late
}

#[tokio::test]
async fn a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_when_it_goes_on() {
    if bed().audit_log_or_skip("writes of a leader that was stopped").is_none() {
        return;
    }
    test_without_controller("stopped-leader", async |world| {
        let (first, second) = two(world, "2s").await;
        world.healthy("web", 3, &STEPS).await;
        let (mut old, mut new) = ((&first, "windlass"), (&second, "second"));
        let mut stable = world.revisions("web").await.0;
        for (round, moment) in Moment::ALL.into_iter().enumerate() {
            world.set_image("web", &format!("app:v{}", round + 2));
            let target = world.until_target("web", &stable).await;
            let late = depose(world, moment, &target, old, new).await;
            assert!(late.is_empty(), "{late:#?}");
            (old, new) = (new, old);
            stable = target;
        }
    })
    .await;
}

#[tokio::test]
async fn a_lease_that_somebody_deleted_is_made_again() {
    test_without_controller("deleted-lease", async |world| {
        let (first, _second) = two(world, "2s").await;
        world.healthy("web", 3, &STEPS).await;
        world.until_leads(&first).await;
        world.kubectl(&["delete", "lease", "windlass"]);
        until("somebody leads", async || world.holder("windlass").await).await;
        let (stable, _) = world.revisions("web").await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        finish(world, "web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn a_lease_that_went_unseen_is_made_again() {
    test_without_controller("unseen-lease", async |world| {
        world.allow_leases(&["windlass"]);
        let proxy = Proxy::start(&world.namespace).await;
        let controller = Launch::elected(&world.namespace, "2s").through(&proxy.kubeconfig).start();
        world.until_leads(&controller).await;
        proxy.silence_watches();
        world.kubectl(&["delete", "lease", "windlass"]);
        world.until_leads(&controller).await;
    })
    .await;
}

#[tokio::test]
async fn a_renewal_whose_answer_never_comes_does_not_cost_the_lead() {
    test_without_controller("slow-renewal", async |world| {
        world.allow_leases(&["windlass"]);
        let proxy = Proxy::start(&world.namespace).await;
        let controller = Launch::elected(&world.namespace, "6s").through(&proxy.kubeconfig).start();
        world.until_leads(&controller).await;
        proxy.disturb("/leases/", 1, Disturbance::Slow(Duration::from_secs(5 * 60)));
        until("two more renewals were made", async || {
            let passed = proxy.passed();
            let slow = passed.iter().position(|write| write.disturbed.is_some())?;
            (passed.len() > slow + 2).then_some(())
        })
        .await;
        assert_eq!(deposed(&controller), 0);
    })
    .await;
}

/// A rollout of the set, served by this instance.
fn rollout_of(name: &str, set: &str, instance: &str) -> String {
    manifests::rollout(set, &STEPS).replace(
        &format!("metadata:\n  name: {set}\n"),
        &format!("metadata:\n  name: {name}\n  labels: {{windlass.sh/instance: {instance}}}\n"),
    )
}

#[tokio::test]
async fn two_instances_and_one_without_a_name_serve_their_own_rollouts_and_no_others() {
    test_without_controller("instances", async |world| {
        world.allow_leases(&["windlass", "windlass-a", "windlass-b"]);
        let launch = |instance| Launch::elected(&world.namespace, "3s").flags(&["--instance", instance]);
        let mut a = launch("a").start();
        let _b = launch("b").by(User::Second).start();
        let nameless = Launch::elected(&world.namespace, "3s").start();
        world.until_leads(&nameless).await;
        for set in ["web", "web-a", "web-b"] {
            world.apply(&manifests::stateful_set(set, 3, "app:v1"));
        }
        world.apply(&manifests::rollout("web", &STEPS));
        world.apply(&rollout_of("web-a", "web-a", "a"));
        world.apply(&rollout_of("web-b", "web-b", "b"));
        for name in ["web", "web-a", "web-b"] {
            world.until_phase(name, "Healthy").await;
            world.until_label(name).await;
        }
        world.apply(&rollout_of("thief", "web-a", "b"));
        let refused = world.until_phase("thief", "Degraded").await.message.unwrap();
        assert!(refused.contains("belongs to the rollout web-a already"), "{refused}");
        a.kill();
        let stable_a = world.revisions("web-a").await.0;
        for set in ["web-a", "web-b", "web"] {
            let (stable, _) = world.revisions(set).await;
            world.set_image(set, "app:v2");
            world.until_target(set, &stable).await;
        }
        for set in ["web-b", "web"] {
            let (_, target) = world.revisions(set).await;
            finish(world, set, &target).await;
        }
        let status = world.status("web-a").await;
        assert_eq!(status.phase.as_deref(), Some("Healthy"), "nobody else touches what is another's");
        assert_eq!(world.count_on(&stable_a).await, 3);
        let _a = launch("a").start();
        let (_, target) = world.revisions("web-a").await;
        finish(world, "web-a", &target).await;
    })
    .await;
}

#[tokio::test]
async fn in_one_namespace_it_needs_no_right_in_the_whole_cluster() {
    test_without_controller("narrow", async |world| {
        world.allow_narrow();
        world.controller = Some(Launch::elected(&world.namespace, "3s").by(User::Narrow).start());
        world.healthy("web", 3, &STEPS).await;
        let guarded = world.status("web").await.condition("HoldGuarded").unwrap().clone();
        assert_eq!((guarded.status.as_str(), guarded.reason.as_str()), ("Unknown", "PoliciesUnreadable"));
        let (stable, _) = world.revisions("web").await;
        assert_eq!(world.partition("web").await, i32::MAX, "the partition itself holds");
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        finish(world, "web", &target).await;
        assert_eq!(world.count_on(&target).await, 3);
        assert_eq!(world.partition("web").await, i32::MAX);
        let narrow = |verb: &str, kind: &str| {
            let output = bed().kubectl(User::Narrow, &["auth", "can-i", verb, kind, "--all-namespaces"], "");
            String::from_utf8_lossy(&output.stdout).trim() == "yes"
        };
        assert!(!narrow("list", "pods") && !narrow("list", "validatingadmissionpolicies"));
    })
    .await;
}
