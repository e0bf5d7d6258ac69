//! Each right that the controller has is used, and nothing is asked for that it has no right to: the table in
//! docs/security.md against the requests in the audit log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use windlass_api::analysis::Phase;
use windlass_bed::audit::{self, Request};
use windlass_bed::{Launch, User, World, bed, test, until};
use windlass_workloads::{Holder, RIGHTS, SECRETS};

/// What nobody asks for: the server looks whether we have it when an owner is named, and this one does.
const LOOKED_AT: &str = "/finalizers";

/// Verb and resource, such as `update rolloutplugins/status`.
type Uses = BTreeSet<String>;

fn granted() -> Uses {
    let is_served = |resource: &str| bed().hold == Holder::Policy || !resource.starts_with("mutating");
    (RIGHTS.iter().chain([&SECRETS]))
        .filter(|right| is_served(right.resource))
        .flat_map(|right| {
            let part = right.subresource.map(|part| format!("/{part}")).unwrap_or_default();
            right.verbs.iter().map(move |verb| format!("{verb} {}{part}", right.resource))
        })
        .filter(|used| !used.ends_with(LOOKED_AT))
        .collect()
}

fn described(request: &Request) -> String {
    let object = request.object();
    let part = if object.subresource.is_empty() { String::new() } else { format!("/{}", object.subresource) };
    format!("{} {}{part}", request.verb, object.resource)
}

/// What the controller's account asked for since then, and whether it was let. Namespaces of other tests that are
/// going take no events any more, whoever sends them.
fn asked(namespace: &str, start: u64) -> (Uses, Uses) {
    let requests = audit::since(&bed().audit_log.clone().unwrap(), start);
    let mine = requests.iter().filter(|request| {
        let object = request.object();
        let is_here = ["", "windlass", namespace].contains(&object.namespace.as_str());
        request.is_windlass() && is_here && !object.resource.is_empty() && !is_everybodys(request)
    });
    let (mut used, mut refused) = (Uses::new(), Uses::new());
    for request in mine {
        let answer = request.response_status.as_ref().map_or(0, |answer| answer.code);
        let into = if answer == 403 { &mut refused } else { &mut used };
        into.insert(described(request));
    }
    (used, refused)
}

/// The audit log is written in batches: a request of our own is the last one.
async fn until_logged(start: u64) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("mark-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    bed().kubectl(User::Admin, &["delete", "configmap", &mark], "");
    let log = bed().audit_log.clone().unwrap();
    until("the audit log has everything", async || {
        audit::since(&log, start).iter().any(|request| request.object().name == mark).then_some(())
    })
    .await;
}

/// What every user may ask, and kinds that this server does not have.
fn is_everybodys(request: &Request) -> bool {
    let resource = request.object().resource;
    resource == "selfsubjectreviews" || (bed().hold == Holder::Partition && resource.starts_with("mutating"))
}

/// One that waits for two Jobs until it is aborted, with a Secret among its arguments, and keeps no finished analysis.
async fn analysed(world: &World, number: usize) {
    let name = format!("analysed-{number}");
    world.kubectl_any(&["create", "secret", "generic", "tokens", "--from-literal=token=x"], "");
    world.apply(
        "apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: smoke}
spec:
  args: [{name: token, valueFrom: {secretKeyRef: {name: tokens, key: token}}}]
  metrics:
  - name: quick
    provider: {job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: check, image: 'check:v1'}]}}}}}
  - name: endless
    provider: {job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: check, image: 'check:v1-never'}]}}}}}
",
    );
    let steps = ["setWeight: 50", "analysis: {templates: [{templateName: smoke}]}", "setWeight: 100"];
    let rollout = windlass_bed::manifests::rollout(&name, &steps).replace(
        "spec:\n  workloadRef",
        "spec:\n  analysis: {unsuccessfulRunHistoryLimit: 0}\n  workloadRef",
    );
    world.apply(&windlass_bed::manifests::stateful_set(&name, 2, "app:v1"));
    world.apply(&rollout);
    world.until_phase(&name, "Healthy").await;
    world.set_image(&name, "app:v2");
    world
        .until_run("its quick job is over", |run| {
            let results = run.status.iter().flat_map(|status| &status.metric_results);
            results.clone().any(|result| result.name == "quick" && result.phase == Phase::Successful)
        })
        .await;
    world.patch_status(&name, r#"{"status":{"abort":true}}"#);
    world.until_reverted(&name).await;
    until("its run is not kept", async || world.analysis_runs().await.is_empty().then_some(())).await;
}

/// One run that is aborted, and one that is promoted fully while paused, with one answer lost on the way.
async fn two_runs(world: &mut World, number: usize) {
    let lost = format!("lose-answer={number}");
    world.controller = Some(Launch::cluster_wide(&format!("rights-{number}")).fault(lost).start());
    let (one, other) = (format!("one-{number}"), format!("other-{number}"));
    let steps = ["setWeight: 50", "pause: {}", "setWeight: 100"];
    world.healthy(&one, 2, &steps).await;
    world.set_image(&one, "app:v2");
    world.until_paused_at(&one, 1).await;
    world.patch_status(&one, r#"{"status":{"abort":true}}"#);
    world.until_reverted(&one).await;
    analysed(world, number).await;
    if number == 1 {
        world.healthy(&other, 2, &steps).await;
        world.set_image(&other, "app:v2");
        let target = world.until_paused_at(&other, 1).await.updated_revision.unwrap();
        world.patch(&format!("rp/{other}"), r#"{"spec":{"paused":true}}"#);
        world.patch_status(&other, r#"{"status":{"promoteFull":true}}"#);
        world.until_completed(&other, &target).await;
    }
    world.kubectl(&["delete", "rp", "--all"]);
    let mut controller = world.controller.take().unwrap();
    controller.signal("TERM");
    until("it has given its lease back and ended", async || controller.ended()).await;
}

#[tokio::test]
async fn every_right_is_used_and_nothing_is_asked_for_that_is_not_granted() {
    let _turn = crate::alone().await;
    test("rights", async |world| {
        world.kill_controller();
        let lease = ["delete", "lease", "windlass", "--namespace=windlass", "--ignore-not-found"];
        bed().kubectl_ok(User::Admin, &lease, "");
        let start = audit::position(&bed().audit_log.clone().unwrap());
        let wanted = granted();
        // Which write deletes a pod is found by losing one answer after another.
        for number in 1..=30 {
            two_runs(world, number).await;
            until_logged(start).await;
            let done = asked(&world.namespace, start).0.is_superset(&wanted);
            if done {
                break;
            }
        }
        until_logged(start).await;
        let (used, refused) = asked(&world.namespace, start);
        assert_eq!(wanted.difference(&used).collect::<Vec<_>>(), [] as [&String; 0], "granted and not used");
        assert_eq!(used.difference(&wanted).collect::<Vec<_>>(), [] as [&String; 0], "used and not granted");
        assert_eq!(refused, Uses::new());
    })
    .await;
}
