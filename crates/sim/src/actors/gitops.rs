//! A GitOps tool: what stands in Git is brought to the cluster again and again, whatever others have made of it.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::{Act, Actor, Turn, View};
use crate::object::{Key, Object};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Part, Patch};

/// How a manifest is brought to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Fields that it states are set, fields that it stated before and no more are removed, all others stay.
    Apply,
    /// The object becomes what it states, and nothing else.
    Replace,
}

/// A GitOps tool for one object.
pub struct GitOps {
    resource: Resource,
    commits: Vec<(Timestamp, Value)>,
    every: SignedDuration,
    manner: Manner,
    applied: Option<Value>,
    next: Option<Timestamp>,
}

impl GitOps {
    /// Brings the newest of these commits to the cluster, again after each interval.
    pub fn new(
        resource: Resource,
        commits: Vec<(Timestamp, Value)>,
        every: SignedDuration,
        manner: Manner,
    ) -> Self {
        let next = commits.first().map(|(when, _)| *when);
        Self { resource, commits, every, manner, applied: None, next }
    }

    fn newest(&self, now: Timestamp) -> Option<&Value> {
        self.commits.iter().rev().find(|(when, _)| *when <= now).map(|(_, manifest)| manifest)
    }
}

/// The request that brings a manifest to the cluster.
pub fn bring(
    resource: Resource,
    manifest: &Value,
    before: Option<&Value>,
    there: bool,
    manner: Manner,
) -> Act {
    match (there, manner) {
        (false, _) => Act::Create(resource, manifest.clone()),
        (true, Manner::Replace) => Act::Update(resource, Part::Whole, manifest.clone()),
        (true, Manner::Apply) => {
            let removed = before.map(|before| no_longer(before, manifest));
            let mut change = removed.unwrap_or_else(|| Value::Object(Map::new()));
            overlay(&mut change, manifest);
            Act::Patch(resource, Key::of(manifest), Part::Whole, Patch::Merge(change))
        }
    }
}

/// Nulls for the fields that were stated before and are no more.
fn no_longer(before: &Value, now: &Value) -> Value {
    let mut gone = Map::new();
    for (field, value) in before.as_object().into_iter().flatten() {
        match now.get(field) {
            None => drop(gone.insert(field.clone(), Value::Null)),
            Some(now) if value.is_object() && now.is_object() => {
                let inner = no_longer(value, now);
                if inner.as_object().is_some_and(|inner| !inner.is_empty()) {
                    gone.insert(field.clone(), inner);
                }
            }
            Some(_) => {}
        }
    }
    Value::Object(gone)
}

fn overlay(into: &mut Value, other: &Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) => {
            for (field, value) in other {
                overlay(into.entry(field.clone()).or_insert(Value::Null), value);
            }
        }
        (into, other) => *into = other.clone(),
    }
}

impl Actor for GitOps {
    fn caller(&self) -> Caller {
        Caller::new("system:serviceaccount:gitops:applier")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::StatefulSets, Resource::RolloutPlugins]
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        let Some(next) = self.next else { return Turn::default() };
        if next > now {
            return Turn { acts: Vec::new(), wake: Some(next) };
        }
        let later = now.checked_add(self.every).unwrap_or(Timestamp::MAX);
        let commit = self.commits.iter().map(|(when, _)| *when).find(|when| *when > now);
        self.next = commit.into_iter().chain([later]).min();
        let Some(manifest) = self.newest(now).cloned() else {
            return Turn { acts: Vec::new(), wake: self.next };
        };
        let there = view.get(self.resource, &Key::of(&manifest)).is_some();
        let act = bring(self.resource, &manifest, self.applied.as_ref(), there, self.manner);
        Turn { acts: vec![act], wake: self.next }
    }

    fn answered(&mut self, now: Timestamp, _act: &Act, answer: Result<&Object, &Refusal>) {
        if answer.is_ok() {
            self.applied = self.newest(now).cloned();
        }
    }
}
