//! What the cluster makes of a node that is heard of no more: after 50 s it and its pods are not ready, 300 s later its
//! pods are deleted; but nobody is there to end them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kubelet::Order;
use super::scheduler::node_of;
use super::{Act, Actor, Turn, View};
use crate::budget;
use crate::object::{self, Key, Object, is_going, later, list, moment, text};
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch};

/// How long a node may be silent.
const SILENCE_SECONDS: i64 = 50;
/// How long its pods are tolerated after that.
const TOLERATION_SECONDS: i64 = 300;

/// The controller that watches nodes.
#[derive(Default)]
pub struct NodeLifecycle {
    silent: BTreeMap<String, Silence>,
}

/// A node that is not heard of.
struct Silence {
    next: Option<(Timestamp, Measure)>,
}

/// What is done about it.
#[derive(Clone, Copy)]
enum Measure {
    NotReady,
    Delete,
}

fn pods_on<'a>(view: &'a View, node: &'a str) -> impl Iterator<Item = (&'a Key, &'a Object)> {
    view.all(Resource::Pods).filter(move |(_, pod)| node_of(pod) == Some(node))
}

/// The conditions with this one in place of the former of its type.
pub(super) fn with_condition(object: &Value, condition: Value) -> Vec<Value> {
    let same = |it: &&Value| text(it, &["type"]) != text(&condition, &["type"]);
    let mut all: Vec<Value> = list(object, &["status", "conditions"]).iter().filter(same).cloned().collect();
    all.push(condition);
    all
}

fn not_ready(now: Timestamp, view: &View, name: &str) -> Vec<Act> {
    let key = Key::new("", name);
    let Some(node) = view.get(Resource::Nodes, &key) else { return Vec::new() };
    let unknown = json!({
        "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.", "lastTransitionTime": moment(now),
    });
    let change = json!({"status": {"conditions": with_condition(node, unknown)}});
    let mut acts = vec![Act::Patch(Resource::Nodes, key, Part::Status, Patch::Merge(change))];
    for (key, pod) in pods_on(view, name) {
        if budget::is_ready(pod) {
            let unready = json!({"type": "Ready", "status": "False", "lastTransitionTime": moment(now)});
            let change = json!({
                "metadata": {"uid": object::uid(pod)},
                "status": {"conditions": with_condition(pod, unready)},
            });
            acts.push(Act::Patch(Resource::Pods, key.clone(), Part::Status, Patch::Merge(change)));
        }
    }
    acts
}

fn delete(view: &View, name: &str) -> Vec<Act> {
    pods_on(view, name)
        .filter(|(_, pod)| !is_going(pod))
        .map(|(key, pod)| {
            let uid = Some(object::uid(pod).to_owned());
            Act::Delete(Resource::Pods, key.clone(), Deletion { uid, ..Deletion::default() })
        })
        .collect()
}

impl Actor for NodeLifecycle {
    fn caller(&self) -> Caller {
        Caller::controller("node-controller")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::Nodes, Resource::Pods]
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        let mut acts = Vec::new();
        for (name, silence) in &mut self.silent {
            match silence.next {
                Some((when, Measure::NotReady)) if when <= now => {
                    acts.extend(not_ready(now, view, name));
                    silence.next = Some((later(now, TOLERATION_SECONDS), Measure::Delete));
                }
                Some((when, Measure::Delete)) if when <= now => {
                    acts.extend(delete(view, name));
                    silence.next = None;
                }
                _ => {}
            }
        }
        let wake = self.silent.values().filter_map(|it| it.next.map(|(when, _)| when)).min();
        Turn { acts, wake }
    }

    fn ordered(&mut self, now: Timestamp, order: &Order) {
        match order {
            Order::NodeLost(node) => {
                let next = Some((later(now, SILENCE_SECONDS), Measure::NotReady));
                self.silent.insert(node.clone(), Silence { next });
            }
            Order::NodeBack(node) => drop(self.silent.remove(node)),
            Order::Pod { .. } | Order::Behave(_) | Order::Pace(_) => {}
        }
    }
}
