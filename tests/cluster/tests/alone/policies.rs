//! Policies that are taken away under a running controller, and come back.

use windlass_bed::{User, World, bed, manifests, test, until};
use windlass_workloads::Holder;

/// Deletes what guards: the policies of this kind of server, with their bindings.
fn remove_the_policies() {
    let kinds = match bed().hold {
        Holder::Policy => {
            "mutatingadmissionpolicybinding,mutatingadmissionpolicy,validatingadmissionpolicybinding,validatingadmissionpolicy"
        }
        Holder::Partition => "validatingadmissionpolicybinding,validatingadmissionpolicy",
    };
    for name in ["windlass-hold", "windlass-guard", "windlass-keep-stable"] {
        bed().kubectl_ok(User::Admin, &["delete", kinds, name, "--ignore-not-found"], "");
    }
}

/// A policy goes on for about a second after it was deleted: try on a set without pods until both are gone.
async fn until_nothing_guards(world: &World) {
    world.apply(&manifests::stateful_set("probe", 0, "app:v0"));
    world.kubectl(&["label", "sts/probe", "windlass.sh/rollout=probe"]);
    let namespace = format!("--namespace={}", world.namespace);
    let is_taken = |arguments: &[&str]| {
        let arguments: Vec<&str> =
            [namespace.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        bed().kubectl(User::Developer, &arguments, "").status.success()
    };
    let lower = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;
    // Policies and bindings are forgotten one by one: several free writes in a row are the sign.
    let (mut attempt, mut in_a_row) = (0, 0);
    until("the policies are out of action", async || {
        attempt += 1;
        let (label, image) = (format!("windlass.sh/rollout=probe-{attempt}"), format!("app=app:v{attempt}"));
        let taken = is_taken(&["label", "sts/probe", &label, "--overwrite"])
            && is_taken(&["patch", "sts/probe", "--patch", lower])
            && is_taken(&["set", "image", "sts/probe", &image]);
        in_a_row = if taken && world.partition("probe").await == 0 { in_a_row + 1 } else { 0 };
        (in_a_row == 8).then_some(())
    })
    .await;
}

async fn until_guarded(world: &World, status: &str) -> String {
    let found = world
        .until_status("web", "it says whether it is guarded", |it| {
            it.condition("HoldGuarded").is_some_and(|condition| condition.status == status)
        })
        .await;
    found.condition("HoldGuarded").unwrap().reason.clone()
}

#[tokio::test]
async fn policies_that_are_removed_are_missed_and_their_return_is_noticed() {
    let _turn = crate::alone().await;
    test("removed", async |world| {
        world.healthy("web", 3, &["setWeight: 0", "pause: {}", "setWeight: 100"]).await;
        remove_the_policies();
        assert_eq!(until_guarded(world, "False").await, "PoliciesMissing");
        until_nothing_guards(world).await;
        let (stable, _) = world.revisions("web").await;
        world.kubectl(&["set", "image", "sts/web", "app=app:v2"]);
        world.until_target("web", &stable).await;
        world.until_paused_at("web", 1).await;
        assert_eq!(world.count_on(&stable).await, 3, "whatever got ahead was put right");
        bed().install();
        until_guarded(world, "True").await;
    })
    .await;
}

#[tokio::test]
async fn an_update_that_nothing_held_is_taken_over_and_says_which_pods_got_ahead() {
    let _turn = crate::alone().await;
    test("unguarded", async |world| {
        world.healthy("web", 4, &["setWeight: 0", "pause: {}", "setWeight: 100"]).await;
        let (stable, _) = world.revisions("web").await;
        world.kill_controller();
        remove_the_policies();
        until_nothing_guards(world).await;
        let release = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;
        world.patch("sts/web", release);
        world.kubectl(&["set", "image", "sts/web", "app=app:v2-crash"]);
        until("a pod got ahead", async || (world.count_on(&stable).await < 4).then_some(())).await;
        world.start_controller();
        let status = world.until_paused_at("web", 1).await;
        let unguarded = status.condition("UnguardedUpdate").unwrap();
        assert!(unguarded.message.contains("web-3"), "{}", unguarded.message);
        assert_eq!(world.count_on(&stable).await, 4, "the pod that got ahead was put right");
        bed().install();
    })
    .await;
}
