//! Rollouts for tests, in every state a person can meet. The sentences in them are the engine's own.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Flaw, PodName, PodState, PodTrouble, Reason, Refusal, Revision, explain, pod_words};

use super::checks::Checks;
use super::picture::Picture;

mod analyses;

pub(super) use analyses::{
    aborted_by_check, background_ended, bad_pod, check_error, checking, many_checks, not_asked, undecided,
};

pub(super) const STABLE: &str = "web-5c8f9d6b7";
pub(super) const TARGET: &str = "web-7d9c8b5f4";

/// The present moment of every test.
pub(super) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// Some seconds before the present moment.
pub(super) fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

/// A rollout with this status.
pub(super) fn rollout(status: &Value) -> RolloutPlugin {
    let steps = json!([
        {"setWeight": 20}, {"pause": {}}, {"setWeight": 60}, {"pause": {"duration": "5m"}}, {"setWeight": 100}
    ]);
    let rollout = json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "RolloutPlugin",
        "metadata": {"name": "web", "namespace": "shop", "generation": 2, "uid": "u", "resourceVersion": "7",
                     "creationTimestamp": ago(7320)},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "plugin": {"name": "statefulset"},
            "strategy": {"canary": {"steps": steps}},
        },
        "status": status,
    });
    serde_json::from_value(rollout).unwrap()
}

/// A status with counters and the given waits; `more` is laid over it.
pub(super) fn status(phase: &str, updated: i32, waits: &[(Reason, Option<i64>)], more: &Value) -> Value {
    let notes: Vec<Value> = waits.iter().map(|(reason, age)| note(reason, *age)).collect();
    let message = waits.first().map(|(reason, _)| explain(reason).headline);
    let mut status = json!({
        "observedGeneration": 2, "phase": phase, "message": message, "waits": notes,
        "currentRevision": STABLE, "updatedRevision": TARGET,
        "replicas": 5, "updatedReplicas": updated, "readyReplicas": 5, "availableReplicas": 5,
    });
    for (key, value) in more.as_object().unwrap() {
        status[key] = value.clone();
    }
    status
}

fn note(reason: &Reason, age: Option<i64>) -> Value {
    let words = explain(reason);
    let pod = |pod: &PodTrouble| {
        json!({"name": pod.name.to_string(), "revision": pod.revision.as_ref().map(ToString::to_string),
               "state": pod_words(pod.state.as_ref()), "since": pod.since})
    };
    json!({
        "reason": reason.code(), "message": words.headline, "endsWhen": words.ends_when,
        "needsPerson": reason.needs_person(), "since": age.map(ago),
        "pods": reason.pods().iter().map(pod).collect::<Vec<_>>(),
    })
}

/// A StatefulSet of five pods that wants the target.
pub(super) fn set(partition: i32) -> StatefulSet {
    let set = json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 4, "uid": "set-1", "creationTimestamp": ago(7380)},
        "spec": {
            "replicas": 5, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:v2"}]}},
        },
        "status": {"replicas": 5, "observedGeneration": 4, "currentRevision": STABLE, "updateRevision": TARGET},
    });
    serde_json::from_value(set).unwrap()
}

/// A ready pod on a revision.
pub(super) fn pod(ordinal: i32, revision: &str, age: i64) -> Pod {
    let image = if revision == TARGET { "app:v2" } else { "app:v1" };
    let pod = json!({
        "metadata": {
            "name": format!("web-{ordinal}"), "namespace": "shop", "creationTimestamp": ago(age),
            "uid": format!("{ordinal}f65a8bc-0000-4000-8000-000000000000"),
            "labels": {"app": "web", "controller-revision-hash": revision},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-1"}],
        },
        "spec": {"nodeName": format!("node-{}", ordinal % 3), "containers": [{"name": "app", "image": image}]},
        "status": {"phase": "Running",
                   "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(age - 3)}]},
    });
    serde_json::from_value(pod).unwrap()
}

/// A pod whose container waits, with the kubelet's word for it.
pub(super) fn broken(ordinal: i32, word: &str, age: i64) -> Pod {
    let mut pod = pod(ordinal, TARGET, age);
    let status = json!({
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ago(age - 3)}],
        "containerStatuses": [{"name": "app", "image": "app:v2", "imageID": "", "ready": false, "restartCount": 3,
                               "state": {"waiting": {"reason": word}}}],
    });
    pod.status = Some(serde_json::from_value(status).unwrap());
    pod
}

/// A pod on its way out.
pub(super) fn leaving(mut pod: Pod) -> Pod {
    pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(ago(4)));
    pod
}

/// Five pods, the highest `updated` of them on the target.
pub(super) fn pods(updated: i32) -> Vec<Pod> {
    let one =
        |ordinal| if ordinal >= 5 - updated { pod(ordinal, TARGET, 95) } else { pod(ordinal, STABLE, 7300) };
    (0..5).map(one).collect()
}

/// The trouble that a pod of the target has.
pub(super) fn trouble(name: &str, word: &str) -> PodTrouble {
    PodTrouble {
        name: PodName::new(name),
        revision: Some(Revision::new(TARGET)),
        state: Some(PodState::NotReady { why: Some(word.to_owned()) }),
        since: Some(ago(92)),
    }
}

/// A picture without analyses.
fn picture(rollout: RolloutPlugin, set: Option<StatefulSet>, pods: Vec<Pod>) -> Picture {
    Picture { rollout, set, pods, checks: Checks::Seen(Vec::new()) }
}

fn run(journey: &Value) -> Value {
    json!({"workload": "set-1", "run": {"target": TARGET, "stable": STABLE, "startedAt": ago(100), "journey": journey,
           "progress": {"best": 1}}})
}

fn pause_since(seconds: i64) -> Value {
    json!([{"reason": "CanaryPauseStep", "startTime": ago(seconds)}])
}

/// Every state a person can meet, by name.
pub(super) fn states() -> Vec<(&'static str, Picture)> {
    vec![
        ("healthy", healthy()),
        ("progressing", progressing()),
        ("paused_for_person", paused_for_person()),
        ("timed_pause", timed_pause()),
        ("paused_by_person", paused_by_person()),
        ("aborting", aborting()),
        ("aborted", aborted()),
        ("invalid_spec", invalid_spec()),
        ("workload_missing", workload_missing()),
        ("no_controller", no_controller()),
        ("unguarded_and_behind", unguarded_and_behind()),
        ("checking", checking()),
        ("not_asked", not_asked()),
        ("undecided", undecided()),
        ("check_error", check_error()),
        ("aborted_by_check", aborted_by_check()),
        ("bad_pod", bad_pod()),
        ("background_ended", background_ended()),
        ("many_checks", many_checks()),
    ]
}

pub(super) fn healthy() -> Picture {
    let more = json!({"step": "5/5", "currentStepIndex": 5, "currentRevision": TARGET,
        "memo": {"ended": {"target": TARGET, "outcome": "completed", "at": ago(60)}}});
    picture(rollout(&status("Healthy", 5, &[], &more)), Some(set(0)), pods(5))
}

pub(super) fn progressing() -> Picture {
    let pods_wanted = Reason::Pods {
        revision: Revision::new(TARGET),
        pods: vec![
            trouble("web-3", "CrashLoopBackOff"),
            PodTrouble { name: PodName::new("web-2"), revision: None, state: None, since: None },
        ],
        right: 1,
        wanted: 3,
    };
    let more = json!({"step": "2/5", "currentStepIndex": 2, "readyReplicas": 3, "availableReplicas": 3,
        "memo": run(&json!({"is": "advancing", "stage": 2, "part": {"does": "expose"}}))});
    let mut pods = pods(1);
    pods.retain(|pod| !["web-2", "web-3"].contains(&pod.metadata.name.as_deref().unwrap()));
    pods.push(broken(3, "CrashLoopBackOff", 95));
    picture(rollout(&status("Progressing", 2, &[(pods_wanted, Some(92))], &more)), Some(set(2)), pods)
}

pub(super) fn paused_for_person() -> Picture {
    let more = json!({"step": "1/5", "currentStepIndex": 1, "controllerPause": true, "pauseConditions": pause_since(75),
        "memo": run(&json!({"is": "advancing", "stage": 1, "part": {"does": "hold", "since": ago(75)}}))});
    let waits = [(Reason::HoldForPerson { stage: 1 }, Some(75))];
    picture(rollout(&status("Paused", 1, &waits, &more)), Some(set(4)), pods(1))
}

pub(super) fn timed_pause() -> Picture {
    let more = json!({"step": "3/5", "currentStepIndex": 3, "controllerPause": true, "pauseConditions": pause_since(75),
        "memo": run(&json!({"is": "advancing", "stage": 3, "part": {"does": "hold", "since": ago(75)}}))});
    let waits = [(Reason::HoldUntil { stage: 3, until: ago(-225) }, Some(75))];
    picture(rollout(&status("Paused", 3, &waits, &more)), Some(set(2)), pods(3))
}

pub(super) fn paused_by_person() -> Picture {
    let more = json!({"step": "2/5", "currentStepIndex": 2,
        "memo": run(&json!({"is": "advancing", "stage": 2, "part": {"does": "expose"}}))});
    let mut rollout = rollout(&status("Paused", 1, &[(Reason::PausedByPerson, None)], &more));
    rollout.spec.paused = true;
    picture(rollout, Some(set(4)), pods(1))
}

pub(super) fn aborting() -> Picture {
    let leaving_pod = PodTrouble { state: Some(PodState::Terminating), ..trouble("web-4", "") };
    let waits =
        [(Reason::OneAtATime { left: vec![PodName::new("web-3")], waits_for: vec![leaving_pod] }, Some(4))];
    let more = json!({"step": "2/5", "currentStepIndex": 2, "aborted": true, "abortedRevision": TARGET, "abortedAt": ago(5),
        "readyReplicas": 4, "availableReplicas": 4,
        "memo": run(&json!({"is": "aborting", "cause": "person", "at": ago(5), "stage": 2}))});
    let mut pods = pods(2);
    pods.pop();
    pods.push(leaving(pod(4, TARGET, 95)));
    picture(rollout(&status("Degraded", 2, &waits, &more)), Some(set(i32::MAX)), pods)
}

pub(super) fn aborted() -> Picture {
    let waits = [(Reason::Aborted { target: Revision::new(TARGET), blame: None }, Some(30))];
    let more = json!({"step": "2/5", "currentStepIndex": 2, "aborted": true, "abortedRevision": TARGET, "abortedAt": ago(30),
        "memo": run(&json!({"is": "aborted", "cause": "person", "at": ago(30), "stage": 2}))});
    picture(rollout(&status("Degraded", 0, &waits, &more)), Some(set(i32::MAX)), pods(0))
}

pub(super) fn invalid_spec() -> Picture {
    let flaw = "spec.strategy.canary.steps[1]: Step must have exactly one of: setWeight, pause, or analysis";
    let more = json!({"message": format!("InvalidSpec: {flaw}"), "conditions": [
        {"type": "InvalidSpec", "status": "True", "reason": "InvalidSpec", "message": flaw}]});
    let waits = [(Reason::Invalid { flaws: vec![Flaw::new(flaw)] }, None)];
    let mut rollout = rollout(&status("Degraded", 5, &waits, &more));
    let steps = &mut rollout.spec.strategy.canary.as_mut().unwrap().steps;
    steps.truncate(2);
    steps[1].pause = None;
    picture(rollout, Some(set(0)), pods(5))
}

pub(super) fn workload_missing() -> Picture {
    let waits = [(Reason::Refused(Refusal::Missing { workload: "StatefulSet web".to_owned() }), None)];
    let more = json!({"currentRevision": null, "updatedRevision": null, "replicas": null, "updatedReplicas": null,
        "readyReplicas": null, "availableReplicas": null});
    picture(rollout(&status("Degraded", 0, &waits, &more)), None, Vec::new())
}

pub(super) fn no_controller() -> Picture {
    picture(rollout(&Value::Null), Some(set(0)), pods(5))
}

pub(super) fn unguarded_and_behind() -> Picture {
    let more = json!({"step": "0/5", "currentStepIndex": 0, "observedGeneration": 1, "conditions": [
        {"type": "UnguardedUpdate", "status": "True", "reason": "UnguardedUpdate",
         "message": "nothing held the change when it was made; ahead of the first step: web-4, web-3"},
        {"type": "HoldGuarded", "status": "False", "reason": "PoliciesMissing",
         "message": "not installed: MutatingAdmissionPolicy windlass-hold; apply the output of `windlass manifests --parts policies` of this version, with --identity once more for every other controller in this cluster"},
        {"type": "SpecWarning", "status": "True", "reason": "SpecWarning",
         "message": "spec.strategy.canary.steps[2]: setWeight 60 is not above 60: weights should ascend"}]});
    picture(rollout(&status("Progressing", 2, &[(Reason::Working, None)], &more)), Some(set(4)), pods(2))
}
