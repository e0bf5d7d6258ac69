//! `PodDisruptionBudget`s: how many pods may be disturbed. One place for the server, which asks at an eviction, and for the
//! actor that keeps the status of budgets.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{self, at, is_going, list, number, text};
use crate::selector;

/// What a budget comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// How many pods it covers.
    pub expected: i64,
    /// How many of them are healthy.
    pub healthy: i64,
    /// How many have to be.
    pub desired: i64,
    /// How many may be disturbed.
    pub allowed: i64,
}

/// Whether a budget covers a pod of its namespace.
pub fn covers(budget: &Value, pod: &Value) -> bool {
    at(budget, &["spec", "selector"]).is_some_and(|it| selector::matches(it, pod))
}

/// What a budget allows, by these pods of its namespace. `expected` is how many there should be, by the scale of
/// whoever owns them; a minimum as a number does not ask for it.
pub fn allowance<'a>(budget: &Value, pods: impl Iterator<Item = &'a Value>, expected: i64) -> Allowance {
    let covered: Vec<&Value> = pods.filter(|pod| covers(budget, pod)).collect();
    let healthy = count(covered.iter().filter(|pod| is_healthy(pod)).count());
    let (expected, desired) = if let Some(maximum) = at(budget, &["spec", "maxUnavailable"]) {
        (expected, (expected - share(maximum, expected)).max(0))
    } else {
        match at(budget, &["spec", "minAvailable"]) {
            Some(Value::String(text)) => (expected, share(&Value::String(text.clone()), expected)),
            Some(minimum) => (count(covered.len()), share(minimum, expected)),
            None => (count(covered.len()), 1),
        }
    };
    let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
    Allowance { expected, healthy, desired, allowed }
}

/// Whether a pod counts as healthy: ready, and not about to go.
pub fn is_healthy(pod: &Value) -> bool {
    !is_going(pod) && is_ready(pod)
}

/// Whether a pod is ready.
pub fn is_ready(pod: &Value) -> bool {
    list(pod, &["status", "conditions"])
        .iter()
        .any(|it| text(it, &["type"]) == Some("Ready") && text(it, &["status"]) == Some("True"))
}

/// A number, or a percentage of the whole, rounded up as the disruption controller does.
fn share(value: &Value, whole: i64) -> i64 {
    match value {
        Value::String(text) => match text.strip_suffix('%').and_then(|it| it.parse::<i64>().ok()) {
            Some(percent) => (whole * percent + 99) / 100,
            None => text.parse().unwrap_or_default(),
        },
        other => other.as_i64().unwrap_or_default(),
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The status that an actor writes for it.
pub fn status(budget: &Value, allowance: Allowance) -> Value {
    let disrupted = at(budget, &["status", "disruptedPods"]).cloned();
    let mut status = json!({
        "observedGeneration": object::generation(budget),
        "expectedPods": allowance.expected, "currentHealthy": allowance.healthy,
        "desiredHealthy": allowance.desired, "disruptionsAllowed": allowance.allowed,
    });
    if let Some(disrupted) = disrupted {
        status["disruptedPods"] = disrupted;
    }
    status
}

/// Writes the condition that says whether a disruption is allowed.
pub fn note_condition(budget: &mut Value, now: Timestamp, allowed: i64) {
    let (status, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let generation = object::generation(budget);
    let conditions = object::map_at(budget, &["status"]).entry("conditions").or_insert_with(|| json!([]));
    let Some(all) = conditions.as_array_mut() else { return };
    let known = all.iter().position(|it| text(it, &["type"]) == Some("DisruptionAllowed"));
    let since = known.filter(|&place| text(&all[place], &["status"]) == Some(status));
    let since = since.and_then(|place| text(&all[place], &["lastTransitionTime"])).map(str::to_owned);
    let condition = json!({
        "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": since.unwrap_or_else(|| object::moment(now)),
    });
    match known {
        Some(place) => all[place] = condition,
        None => all.push(condition),
    }
}

/// What the status of a budget allows; none if nobody has kept it yet.
pub(crate) fn allowed_by_status(budget: &Value) -> Option<i64> {
    let observed = number(budget, &["status", "observedGeneration"])?;
    let allowed = number(budget, &["status", "disruptionsAllowed"])?;
    Some(if observed < object::generation(budget) { 0 } else { allowed })
}
