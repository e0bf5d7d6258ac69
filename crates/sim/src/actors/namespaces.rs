//! The namespace controller: empties a namespace that is being deleted, then lets it go.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{Act, Actor, Turn, View};
use crate::object::{self, Key, Object, is_going};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch};
use crate::store::{Change, ChangeKind};

/// The wait before something that was refused is tried again.
const AGAIN: SignedDuration = SignedDuration::from_secs(1);

/// The namespace controller.
#[derive(Default)]
pub struct Namespaces {
    /// Namespaces that are going or gone, and may still have something in them.
    ending: BTreeSet<String>,
    stirred: bool,
    again: Option<Timestamp>,
}

fn contents<'a>(view: &'a View, namespace: &'a str) -> impl Iterator<Item = (Resource, &'a Key, &'a Object)> {
    Resource::ALL.iter().filter(|resource| resource.is_namespaced()).flat_map(move |&resource| {
        view.within(resource, namespace).map(move |(key, object)| (resource, key, object))
    })
}

fn let_go(namespace: &str) -> Act {
    let change = json!({"spec": {"finalizers": []}});
    Act::Patch(Resource::Namespaces, Key::new("", namespace), Part::Finalizers, Patch::Merge(change))
}

impl Actor for Namespaces {
    fn caller(&self) -> Caller {
        Caller::controller("namespace-controller")
    }

    fn watches(&self) -> &'static [Resource] {
        Resource::ALL
    }

    fn notice(&mut self, _now: Timestamp, _view: &View, change: &Change) {
        let namespace = change.resource == Resource::Namespaces;
        if namespace && change.kind == ChangeKind::Added {
            self.ending.remove(&change.key.name);
        }
        if namespace && (change.kind == ChangeKind::Deleted || is_going(&change.object)) {
            self.ending.insert(change.key.name.clone());
        }
        self.stirred |= !self.ending.is_empty();
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        let ripe = self.again.take_if(|when| *when <= now).is_some();
        if !std::mem::take(&mut self.stirred) && !ripe {
            return Turn { acts: Vec::new(), wake: self.again };
        }
        let mut acts = Vec::new();
        for namespace in &self.ending {
            let mut left = contents(view, namespace).peekable();
            let there = view.get(Resource::Namespaces, &Key::new("", namespace)).is_some();
            if left.peek().is_none() && there {
                acts.push(let_go(namespace));
            }
            acts.extend(left.filter(|(_, _, object)| !is_going(object)).map(|(resource, key, object)| {
                let uid = Some(object::uid(object).to_owned());
                Act::Delete(resource, key.clone(), Deletion { uid, ..Deletion::default() })
            }));
        }
        Turn { acts, wake: self.again }
    }

    fn answered(&mut self, now: Timestamp, _act: &Act, answer: Result<&Object, &Refusal>) {
        if answer.is_err_and(|refusal| refusal.code != 404) {
            self.again = now.checked_add(AGAIN).ok();
        }
    }
}
