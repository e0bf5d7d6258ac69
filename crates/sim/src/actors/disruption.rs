//! The disruption controller: keeps the status of budgets, from which evictions are allowed or refused.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{Act, Actor, Turn, View};
use crate::budget::{self, Allowance};
use crate::object::{
    self, Key, Object, at, controller, is_going, later, map_at, moment, number, parse_moment, text,
};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Part};
use crate::store::Change;

/// How long an eviction may take before its pod counts again.
const EVICTION_SECONDS: i64 = 120;
/// The wait before something that was refused is tried again.
const AGAIN: SignedDuration = SignedDuration::from_millis(100);

/// The disruption controller.
#[derive(Default)]
pub struct Disruption {
    /// Namespaces in which something has changed.
    due: BTreeSet<String>,
    again: Option<Timestamp>,
    refused: BTreeSet<String>,
}

fn pods_of<'a>(view: &'a View, budget: &'a Value) -> impl Iterator<Item = &'a Value> {
    let pods = view.within(Resource::Pods, object::namespace(budget)).map(|(_, pod)| &**pod);
    pods.filter(|pod| budget::covers(budget, pod))
}

/// How many pods there should be, by the scale of the sets that own them; none if somebody without a scale owns one.
fn expected(view: &View, budget: &Value) -> Option<i64> {
    let owners: BTreeSet<&str> = pods_of(view, budget).map(controller).collect::<Option<_>>()?;
    let sets = view.within(Resource::StatefulSets, object::namespace(budget)).map(|(_, set)| set);
    let known: Vec<&Object> = sets.filter(|set| owners.contains(object::uid(set))).collect();
    let scales = || known.iter().map(|set| number(set, &["spec", "replicas"]).unwrap_or(1)).sum();
    (known.len() == owners.len()).then(scales)
}

/// Evictions that were allowed and are not done yet.
fn disrupted(now: Timestamp, view: &View, budget: &Value) -> Map<String, Value> {
    let told =
        at(budget, &["status", "disruptedPods"]).and_then(Value::as_object).cloned().unwrap_or_default();
    told.into_iter()
        .filter(|(pod, when)| {
            let key = Key::new(object::namespace(budget), pod);
            let there = view.get(Resource::Pods, &key).is_some_and(|pod| !is_going(pod));
            let since = when.as_str().and_then(parse_moment);
            there && since.is_some_and(|since| later(since, EVICTION_SECONDS) > now)
        })
        .collect()
}

/// What the status of a budget should be.
fn status(now: Timestamp, view: &View, budget: &Value) -> Value {
    let disrupted = disrupted(now, view, budget);
    let expected = expected(view, budget);
    let mut allowance = budget::allowance(budget, pods_of(view, budget), expected.unwrap_or_default());
    let leaving = pods_of(view, budget)
        .filter(|pod| budget::is_healthy(pod) && disrupted.contains_key(object::name(pod)))
        .count();
    allowance.healthy -= i64::try_from(leaving).unwrap_or_default();
    let needs_scale = at(budget, &["spec", "minAvailable"]).is_none_or(Value::is_string);
    let known = expected.is_some() || !needs_scale;
    let counts = known && allowance.expected > 0;
    allowance.allowed = if counts { (allowance.healthy - allowance.desired).max(0) } else { 0 };
    let mut status = budget::status(budget, allowance);
    let fields = map_at(&mut status, &[]);
    fields.remove("disruptedPods");
    if !disrupted.is_empty() {
        fields.insert("disruptedPods".to_owned(), disrupted.into());
    }
    status["conditions"] = json!([condition(now, budget, allowance, known)]);
    status
}

fn condition(now: Timestamp, budget: &Value, allowance: Allowance, known: bool) -> Value {
    let (is, reason) = match (known, allowance.allowed) {
        (false, _) => ("False", "SyncFailed"),
        (true, 0) => ("False", "InsufficientPods"),
        (true, _) => ("True", "SufficientPods"),
    };
    let former = object::list(budget, &["status", "conditions"]).first();
    let since = former.filter(|it| text(it, &["status"]) == Some(is));
    let since =
        since.and_then(|it| text(it, &["lastTransitionTime"])).map_or_else(|| moment(now), str::to_owned);
    json!({
        "type": "DisruptionAllowed", "status": is, "reason": reason, "message": "",
        "observedGeneration": object::generation(budget), "lastTransitionTime": since,
    })
}

/// When the oldest eviction that is under way counts no more.
fn next_end(budget: &Value) -> Option<Timestamp> {
    let told = at(budget, &["status", "disruptedPods"]).and_then(Value::as_object)?;
    told.values().filter_map(|it| parse_moment(it.as_str()?)).map(|it| later(it, EVICTION_SECONDS)).min()
}

impl Actor for Disruption {
    fn caller(&self) -> Caller {
        Caller::controller("disruption-controller")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::Budgets, Resource::Pods, Resource::StatefulSets]
    }

    fn notice(&mut self, _now: Timestamp, _view: &View, change: &Change) {
        self.due.insert(change.key.namespace.clone());
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        if self.again.take_if(|when| *when <= now).is_some() {
            self.due.append(&mut self.refused);
        }
        let ended = |(_, it): &(&Key, &Object)| next_end(it).is_some_and(|end| end <= now);
        let ended = view.all(Resource::Budgets).filter(ended).map(|(key, _)| key.namespace.clone());
        self.due.extend(ended);
        let mut acts = Vec::new();
        for namespace in std::mem::take(&mut self.due) {
            for (_, budget) in view.within(Resource::Budgets, &namespace) {
                let status = status(now, view, budget);
                if at(budget, &["status"]) != Some(&status) {
                    let changed = json!({"metadata": budget.get("metadata"), "status": status});
                    acts.push(Act::Update(Resource::Budgets, Part::Status, changed));
                }
            }
        }
        let ends = view.all(Resource::Budgets).filter_map(|(_, it)| next_end(it)).filter(|end| *end > now);
        Turn { acts, wake: ends.chain(self.again).min() }
    }

    fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        if let (Act::Update(_, _, budget), Err(_)) = (act, answer) {
            self.again = now.checked_add(AGAIN).ok();
            self.refused.insert(object::namespace(budget).to_owned());
        }
    }
}
