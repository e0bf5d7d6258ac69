//! A person drains a node: no new pods on it, and its pods are asked to leave, again every 5 s while a budget says no.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::scheduler::node_of;
use super::{Act, Actor, Turn, View};
use crate::object::{Key, Object, is_going};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Part, Patch};

/// The wait before a pod is asked again.
const AGAIN: SignedDuration = SignedDuration::from_secs(5);

/// A drain of one node.
pub struct Drain {
    node: String,
    state: State,
    /// Pods that were asked in vain, and when they are asked again.
    again: BTreeMap<Key, Timestamp>,
    until: Option<Timestamp>,
}

/// How far a drain is.
#[derive(PartialEq)]
enum State {
    Waits(Timestamp),
    Drains,
    Over,
}

/// No new pods on a node.
pub fn cordon(node: &str) -> Act {
    unschedulable(node, true)
}

/// New pods on a node again.
pub fn uncordon(node: &str) -> Act {
    unschedulable(node, false)
}

fn unschedulable(node: &str, is: bool) -> Act {
    let change = json!({"spec": {"unschedulable": if is { Some(true) } else { None }}});
    Act::Patch(Resource::Nodes, Key::new("", node), Part::Whole, Patch::Merge(change))
}

impl Drain {
    /// Drains a node from a moment on; at another one, if it comes, the node is open again.
    pub fn new(node: impl Into<String>, from: Timestamp, until: Option<Timestamp>) -> Self {
        Self { node: node.into(), state: State::Waits(from), again: BTreeMap::new(), until }
    }

    /// One pod at a time: the first that may be asked now.
    fn next(&self, now: Timestamp, view: &View) -> Option<Key> {
        let there = view
            .all(Resource::Pods)
            .filter(|(_, pod)| node_of(pod) == Some(&self.node) && !is_going(pod))
            .map(|(key, _)| key);
        there.filter(|key| self.again.get(key).is_none_or(|when| *when <= now)).min().cloned()
    }
}

impl Actor for Drain {
    fn caller(&self) -> Caller {
        Caller::new("kubernetes-admin")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::Pods]
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        if self.state != State::Over && self.until.is_some_and(|until| until <= now) {
            self.state = State::Over;
            return Turn { acts: vec![uncordon(&self.node)], wake: None };
        }
        match self.state {
            State::Over => Turn::default(),
            State::Waits(from) if from > now => Turn { acts: Vec::new(), wake: Some(from) },
            State::Waits(_) => {
                self.state = State::Drains;
                Turn { acts: vec![cordon(&self.node)], wake: Some(now) }
            }
            State::Drains => {
                let acts = self.next(now, view).map(Act::Evict).into_iter().collect();
                let again = self.again.values().filter(|when| **when > now).min();
                Turn { acts, wake: again.copied().into_iter().chain(self.until).min() }
            }
        }
    }

    fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        if let Act::Evict(key) = act {
            let again = now.checked_add(AGAIN).unwrap_or(now);
            // A pod that was let go is not asked again before it must be gone from sight.
            self.again.insert(key.clone(), again);
            if answer.is_err_and(|refusal| refusal.code == 404) {
                self.again.remove(key);
            }
        }
    }
}
