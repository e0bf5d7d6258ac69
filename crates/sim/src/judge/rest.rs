//! What must be true when nothing moves, and at the end.

use jiff::Timestamp;
use serde_json::Value;

use super::{Violation, checks, flagged, rollout, told};
use crate::object::{
    Object, annotation, at, controller, generation, is_going, label, later, list, number, parse_moment, text,
    uid,
};
use crate::resource::Resource;
use crate::store::Store;

/// The pods that a set controls.
pub(crate) fn pods_of<'a>(store: &'a Store, set: &'a Value) -> impl Iterator<Item = &'a Object> {
    let namespace = text(set, &["metadata", "namespace"]).unwrap_or_default();
    let of = uid(set);
    store.within(Resource::Pods, namespace).map(|(_, pod)| pod).filter(move |pod| controller(pod) == Some(of))
}

/// Ready for long enough, and not going.
pub(crate) fn is_available(now: Timestamp, pod: &Value, min_ready_seconds: i64) -> bool {
    if is_going(pod) || text(pod, &["status", "phase"]) != Some("Running") {
        return false;
    }
    let ready = list(pod, &["status", "conditions"])
        .iter()
        .find(|condition| text(condition, &["type"]) == Some("Ready"))
        .filter(|condition| text(condition, &["status"]) == Some("True"));
    let since = ready.and_then(|it| text(it, &["lastTransitionTime"])).and_then(parse_moment);
    match (ready, min_ready_seconds) {
        (None, _) => false,
        (Some(_), 0) => true,
        (Some(_), seconds) => since.is_some_and(|since| later(since, seconds) <= now),
    }
}

/// Nothing moves: what is said must be true.
pub(super) fn judge(now: Timestamp, store: &Store) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut find = |rule, what: String| found.push(Violation { at: now, rule, what });
    let set = store.all(Resource::StatefulSets).next().map(|(_, set)| set);
    match (rollout(store), set) {
        (Some((key, rollout)), Some(set)) => {
            if told(rollout, "phase") == "Healthy" {
                for doubt in doubts(now, store, set) {
                    find("I7", format!("rollout {key} says Healthy, but {doubt}"));
                }
            }
            if says_stable_is_forgotten(rollout) && has_two_revisions(set) {
                find("I3", format!("rollout {key} says that stable is forgotten, but the set still has it"));
            }
            for flag in ["abort", "restart", "promoteFull"] {
                if flagged(rollout, flag) {
                    find("I5", format!("status.{flag} was neither taken nor rejected"));
                }
            }
        }
        (None, Some(set)) => {
            if let Some(mark) = label(set, "windlass.sh/rollout").or(annotation(set, "windlass.sh/held")) {
                find("I8", format!("the rollout is gone, but the set still carries its mark {mark}"));
            }
        }
        (_, None) => {}
    }
    for (rule, what) in checks::at_rest(store) {
        find(rule, what);
    }
    found
}

fn says_stable_is_forgotten(rollout: &Value) -> bool {
    let waits = list(rollout, &["status", "waits"]);
    waits.iter().any(|wait| text(wait, &["reason"]) == Some("StableForgotten"))
}

/// A set forgets what ran before only by taking the update revision for the current one.
fn has_two_revisions(set: &Value) -> bool {
    let revision = |which: &str| text(set, &["status", which]);
    revision("currentRevision") != revision("updateRevision")
}

/// What speaks against calling a set healthy.
fn doubts(now: Timestamp, store: &Store, set: &Value) -> Vec<String> {
    let mut doubts = Vec::new();
    let wanted = text(set, &["status", "updateRevision"]).unwrap_or_default();
    let replicas = number(set, &["spec", "replicas"]).unwrap_or_default();
    let min_ready = number(set, &["spec", "minReadySeconds"]).unwrap_or_default();
    if number(set, &["status", "observedGeneration"]).unwrap_or_default() < generation(set) {
        doubts.push("the set's latest generation is unseen".to_owned());
    }
    let pods: Vec<&Object> = pods_of(store, set).collect();
    if i64::try_from(pods.len()).unwrap_or(i64::MAX) != replicas {
        doubts.push(format!("there are {} pods of {replicas}", pods.len()));
    }
    for pod in pods {
        let name = text(pod, &["metadata", "name"]).unwrap_or_default();
        if label(pod, "controller-revision-hash") != Some(wanted) {
            doubts.push(format!("pod {name} is not on {wanted}"));
        }
        if !is_available(now, pod, min_ready) {
            doubts.push(format!("pod {name} is not available"));
        }
    }
    doubts
}

/// It is over, and nobody disturbs any more: the run has ended, or a person is named.
pub(super) fn judge_the_end(now: Timestamp, store: &Store) -> Vec<Violation> {
    let mut found = judge(now, store);
    let mut find = |rule, what: String| found.push(Violation { at: now, rule, what });
    let set = store.all(Resource::StatefulSets).next().map(|(_, set)| set);
    let (Some((key, rollout)), Some(set)) = (rollout(store), set) else { return found };
    let reasons: Vec<&str> =
        list(rollout, &["status", "waits"]).iter().filter_map(|wait| text(wait, &["reason"])).collect();
    match told(rollout, "phase") {
        "Healthy" => {}
        _ if reasons.contains(&"Aborted") => {
            let stable = text(set, &["status", "currentRevision"]).unwrap_or_default();
            for pod in pods_of(store, set) {
                if label(pod, "controller-revision-hash") != Some(stable) {
                    let name = text(pod, &["metadata", "name"]).unwrap_or_default();
                    find("I3", format!("aborted, but pod {name} is not on {stable}"));
                }
            }
        }
        _ if needs_a_person(rollout) => {}
        phase => {
            let message = told(rollout, "message");
            find("I9", format!("rollout {key} has not ended: {phase}, {reasons:?}, {message}"));
        }
    }
    found
}

/// Somebody is named who has to help.
fn needs_a_person(rollout: &Value) -> bool {
    list(rollout, &["status", "waits"])
        .iter()
        .any(|wait| at(wait, &["needsPerson"]).and_then(Value::as_bool) == Some(true))
}
