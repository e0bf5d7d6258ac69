//! The controller crashes, or is down: what was held stays held, and the run goes on.

use windlass_bed::{History, User, World, bed, test, until};

#[tokio::test]
async fn a_run_goes_on_after_crashes_at_any_moment_and_no_pod_gets_ahead() {
    test("crashes", async |world| {
        world
            .healthy(
                "web",
                5,
                &["setWeight: 20", "setWeight: 40", "setWeight: 60", "setWeight: 80", "setWeight: 100"],
            )
            .await;
        let (stable, _) = world.revisions("web").await;
        let record = world.record().await;
        let history = History::start(&world.client(), &world.namespace).await;
        world.set_image("web", "app:v2");
        let target = world.until_target("web", &stable).await;
        for expected in 1..=4 {
            until("the next pod is updated", async || (record.most_on(&target) >= expected).then_some(()))
                .await;
            world.kill_controller();
            world.start_controller();
        }
        world.until_completed("web", &target).await;
        assert_eq!(record.most_down_at_once(&crate::pod_names("web", 5)), 1);
        let faults = history.faults();
        assert_eq!((faults.early, faults.ahead, faults.steps), (0, 0, 4), "no step left early, no pod ahead");
    })
    .await;
}

#[tokio::test]
async fn a_timed_pause_that_ended_while_the_controller_was_down_ends_at_once() {
    test("pause-while-down", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {duration: 1s}", "pause: {}"]).await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.kill_controller();
        let since = std::time::Instant::now();
        until("the pause is over", async || {
            (since.elapsed() > std::time::Duration::from_millis(1200)).then_some(())
        })
        .await;
        world.start_controller();
        world.until_paused_at("web", 2).await;
    })
    .await;
}

/// From now on the API server refuses whatever the controller writes to the sets of this namespace.
async fn refuse_writes(world: &World) {
    let name = world.namespace.as_str();
    let policy = format!(
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [apps], apiVersions: [v1], resources: [statefulsets], operations: [UPDATE]}}]
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}
  validations:
  - expression: \"request.userInfo.username != 'system:serviceaccount:windlass:windlass'\"
    message: a test says no
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [Deny]}}
"
    );
    world.apply(&policy);
    let touch =
        ["patch", "sts", "web", "--namespace", name, "--dry-run=server", "--type=merge", "--patch", "{}"];
    until("the policy acts", async || {
        (!bed().kubectl(User::Windlass, &touch, "").status.success()).then_some(())
    })
    .await;
}

async fn until_told_and_then_allow(world: &World) {
    let status = world.until_phase("web", "Degraded").await;
    let progressing = status.condition("Progressing").unwrap();
    assert_eq!(progressing.reason, "ReconciliationError");
    assert!(progressing.message.contains("a test says no"), "{}", progressing.message);
    let policies = "validatingadmissionpolicy,validatingadmissionpolicybinding";
    world.kubectl(&["delete", policies, &world.namespace]);
}

#[tokio::test]
async fn a_refused_write_is_told_and_the_run_goes_on_when_it_is_allowed() {
    test("refused-write", async |world| {
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        refuse_writes(world).await;
        world.set_image("web", "app:v2");
        until_told_and_then_allow(world).await;
        let status = world.until_paused_at("web", 1).await;
        assert_eq!(status.condition("Progressing").unwrap().reason, "RolloutPluginPaused");
    })
    .await;
}

#[tokio::test]
async fn a_write_refused_between_two_steps_is_told_as_well() {
    test("refused-step", async |world| {
        world.healthy("web", 3, &["setWeight: 34", "setWeight: 67", "pause: {}"]).await;
        world.set_image("web", "app:v2-slow5");
        until("the first step is written", async || (world.partition("web").await == 2).then_some(())).await;
        refuse_writes(world).await;
        until_told_and_then_allow(world).await;
        world.until_paused_at("web", 2).await;
    })
    .await;
}
