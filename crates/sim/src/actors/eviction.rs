//! An eviction: the budget of a pod is asked before the pod is deleted.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::budget;
use crate::object::{self, Key, Object, is_going, map_at, moment, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Server};

/// Deletes a pod if its budget allows it, and takes one off the budget.
pub(super) fn evict(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    key: &Key,
) -> Result<Object, Refusal> {
    let pod = Object::clone(server.get(Resource::Pods, key)?);
    let free = matches!(text(&pod, &["status", "phase"]), Some("Pending" | "Failed" | "Succeeded"));
    let budget = server
        .store()
        .within(Resource::Budgets, &key.namespace)
        .map(|(_, budget)| budget)
        .find(|budget| budget::covers(budget, &pod))
        .map(Object::clone);
    if let Some(budget) = budget.filter(|_| !free && !is_going(&pod)) {
        ask(server, now, caller, &budget, &pod)?;
    }
    server.delete(now, caller, Resource::Pods, key, &Deletion::default())
}

fn ask(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    budget: &Value,
    pod: &Value,
) -> Result<(), Refusal> {
    let count = |field| number(budget, &["status", field]).unwrap_or_default();
    let met = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
    let always = text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == Some("AlwaysAllow");
    if !budget::is_ready(pod) && (always || met) {
        return Ok(());
    }
    let allowed = budget::allowed_by_status(budget).unwrap_or_default();
    if allowed <= 0 {
        let why = "Cannot evict pod as it would violate the pod's disruption budget.";
        return Err(Refusal::new(429, "TooManyRequests", why));
    }
    let mut after = budget.clone();
    map_at(&mut after, &["status"]).insert("disruptionsAllowed".to_owned(), json!(allowed - 1));
    map_at(&mut after, &["status", "disruptedPods"]).insert(object::name(pod).to_owned(), json!(moment(now)));
    server.update(now, caller, Resource::Budgets, Part::Status, after).map(drop)
}
