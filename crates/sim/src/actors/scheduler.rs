//! The scheduler: gives every new pod a node, the one with the fewest pods. Where no node is ready, the pod waits.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Act, Actor, Turn, View};
use crate::budget;
use crate::object::{self, Key, Object, is_going, moment, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Part, Patch};
use crate::store::{Change, ChangeKind};

/// The scheduler.
#[derive(Default)]
pub struct Scheduler {
    /// Pods without a node.
    waiting: BTreeSet<Key>,
    /// Pods with a node, by what is known or has just been sent.
    placed: BTreeMap<Key, String>,
    load: BTreeMap<String, usize>,
    /// Pods that were told that there is no node for them.
    told: BTreeSet<Key>,
    stirred: bool,
}

impl Scheduler {
    fn place(&mut self, pod: &Key, node: Option<&str>) {
        if self.placed.get(pod).map(String::as_str) == node {
            return;
        }
        if let Some(former) = self.placed.remove(pod)
            && let Some(load) = self.load.get_mut(&former)
        {
            *load -= 1;
        }
        if let Some(node) = node {
            self.placed.insert(pod.clone(), node.to_owned());
            *self.load.entry(node.to_owned()).or_default() += 1;
        }
    }

    fn best_node(&self, view: &View) -> Option<String> {
        let load = |name: &str| self.load.get(name).copied().unwrap_or_default();
        let usable = view.all(Resource::Nodes).filter(|(_, node)| takes_pods(node));
        usable.map(|(key, _)| key.name.as_str()).min_by_key(|name| (load(name), *name)).map(str::to_owned)
    }
}

/// Whether a node is ready and not cordoned.
fn takes_pods(node: &Value) -> bool {
    let cordoned = object::at(node, &["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true);
    !cordoned && !is_going(node) && budget::is_ready(node)
}

/// The node of a pod.
pub(super) fn node_of(pod: &Value) -> Option<&str> {
    text(pod, &["spec", "nodeName"]).filter(|node| !node.is_empty())
}

fn bind(pod: &Object, key: &Key, node: &str) -> Act {
    let change = json!({"metadata": {"uid": object::uid(pod)}, "spec": {"nodeName": node}});
    Act::Patch(Resource::Pods, key.clone(), Part::Whole, Patch::Merge(change))
}

fn no_node(now: Timestamp, view: &View, pod: &Object, key: &Key) -> Act {
    let nodes = view.all(Resource::Nodes).count();
    let change = json!({
        "metadata": {"uid": object::uid(pod)},
        "status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": format!("0/{nodes} nodes are available"), "lastTransitionTime": moment(now),
        }]},
    });
    Act::Patch(Resource::Pods, key.clone(), Part::Status, Patch::Merge(change))
}

impl Actor for Scheduler {
    fn caller(&self) -> Caller {
        Caller::new("system:kube-scheduler")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::Nodes, Resource::Pods]
    }

    fn notice(&mut self, _now: Timestamp, _view: &View, change: &Change) {
        self.stirred = true;
        if change.resource != Resource::Pods {
            return;
        }
        let gone = change.kind == ChangeKind::Deleted;
        if gone || is_going(&change.object) {
            self.waiting.remove(&change.key);
            self.told.remove(&change.key);
        }
        match node_of(&change.object) {
            _ if gone => self.place(&change.key, None),
            Some(node) => {
                self.place(&change.key, Some(node));
                self.waiting.remove(&change.key);
            }
            None if change.kind == ChangeKind::Added && !is_going(&change.object) => {
                self.place(&change.key, None);
                self.waiting.insert(change.key.clone());
            }
            None => {}
        }
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        if !std::mem::take(&mut self.stirred) {
            return Turn::default();
        }
        let mut acts = Vec::new();
        for key in self.waiting.clone() {
            let Some(pod) = view.get(Resource::Pods, &key) else { continue };
            match self.best_node(view) {
                Some(node) => {
                    self.waiting.remove(&key);
                    self.told.remove(&key);
                    self.place(&key, Some(&node));
                    acts.push(bind(pod, &key, &node));
                }
                None if self.told.insert(key.clone()) => acts.push(no_node(now, view, pod, &key)),
                None => {}
            }
        }
        Turn { acts, wake: None }
    }

    fn answered(&mut self, _now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        let (Act::Patch(_, key, part, _), Err(refusal)) = (act, answer) else { return };
        if *part == Part::Whole {
            self.place(key, None);
        }
        // A pod that is gone or another one is not ours to place again: the notice of the new one brings it back.
        // A patch that names another uid is answered as invalid.
        if refusal.code == 404 || matches!(refusal.reason, "Conflict" | "Invalid") {
            return;
        }
        self.stirred = true;
        if *part == Part::Status {
            self.told.remove(key);
        } else {
            self.waiting.insert(key.clone());
        }
    }
}
