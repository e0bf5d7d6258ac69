//! Evictions: a deletion that asks the `PodDisruptionBudget`s first.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Caller, Deletion, Part, Patch, Server};
use crate::budget;
use crate::object::{self, Key, Object, at, is_going, list, map_at, moment, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

pub(super) fn evict(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    key: &Key,
    deletion: &Deletion,
) -> Result<Object, Refusal> {
    let pod = Object::clone(server.get(Resource::Pods, key)?);
    let over = matches!(text(&pod, &["status", "phase"]), Some("Failed" | "Succeeded" | "Pending"));
    if !over && !is_going(&pod) {
        let budgets: Vec<Object> = server
            .store
            .within(Resource::Budgets, &key.namespace)
            .filter(|(_, it)| budget::covers(it, &pod))
            .map(|(_, it)| Object::clone(it))
            .collect();
        match budgets.as_slice() {
            [] => {}
            [budget] => ask(server, now, caller, budget, &pod)?,
            _ => {
                return Err(Refusal::new(
                    500,
                    "InternalError",
                    "Internal error occurred: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        }
    }
    announce(server, now, caller, &pod)?;
    server.delete(now, caller, Resource::Pods, key, deletion)
}

/// The pod says why it goes.
fn announce(server: &mut Server, now: Timestamp, caller: &Caller, pod: &Value) -> Result<(), Refusal> {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastTransitionTime": moment(now),
    });
    let patch = Patch::Strategic(json!({"status": {
        "$setElementOrder/conditions": list(pod, &["status", "conditions"]),
        "conditions": [condition],
    }}));
    server.patch(now, caller, Resource::Pods, &Key::of(pod), Part::Status, &patch).map(drop)
}

/// Takes one disruption from the budget, or says that there is none left.
fn ask(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    budget: &Object,
    pod: &Value,
) -> Result<(), Refusal> {
    let allowed = match budget::allowed_by_status(budget) {
        Some(allowed) => allowed,
        None => on_the_fly(server, budget),
    };
    let healthy = number(budget, &["status", "currentHealthy"]).unwrap_or_default();
    let desired = number(budget, &["status", "desiredHealthy"]).unwrap_or_default();
    if !budget::is_ready(pod) && may_go_unready(budget, healthy, desired) {
        return Ok(());
    }
    if allowed <= 0 {
        return Err(refused(budget, desired, healthy));
    }
    if budget::allowed_by_status(budget).is_none() {
        return Ok(());
    }
    let mut after = Value::clone(budget);
    let status = map_at(&mut after, &["status"]);
    status.insert("disruptionsAllowed".to_owned(), json!(allowed - 1));
    let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
    disrupted[object::name(pod)] = json!(moment(now));
    if allowed == 1 {
        budget::note_condition(&mut after, now, 0);
    }
    server.update(now, caller, Resource::Budgets, Part::Status, after).map(drop)
}

/// A pod that is not ready protects nobody, unless the budget is not met anyway.
fn may_go_unready(budget: &Value, healthy: i64, desired: i64) -> bool {
    match text(budget, &["spec", "unhealthyPodEvictionPolicy"]) {
        Some("AlwaysAllow") => true,
        _ => healthy >= desired && desired > 0,
    }
}

/// The scale of the pods' owner is not looked up here: without a status the pods that are there count.
fn on_the_fly(server: &Server, budget: &Value) -> i64 {
    let pods = || server.store.within(Resource::Pods, object::namespace(budget)).map(|(_, it)| &**it);
    let expected = pods().filter(|pod| budget::covers(budget, pod)).count();
    budget::allowance(budget, pods(), i64::try_from(expected).unwrap_or(i64::MAX)).allowed
}

fn refused(budget: &Value, desired: i64, healthy: i64) -> Refusal {
    let name = object::name(budget);
    let known = at(budget, &["status", "observedGeneration"]).is_some();
    let mut refusal = Refusal::new(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    );
    let message = if known && healthy > desired {
        format!("The disruption budget {name} does not allow evicting pods currently")
    } else if known {
        format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
    } else {
        format!("The disruption budget {name} is still being processed by the server.")
    };
    refusal.details = Some(json!({"causes": [{"reason": "DisruptionBudget", "message": message}]}));
    refusal
}
