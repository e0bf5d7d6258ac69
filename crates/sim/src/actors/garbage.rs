//! The garbage collector: what belongs to something that is gone goes too. Foreground and orphan deletions wait for it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Act, Actor, Turn, View};
use crate::object::{self, Key, Object, is_going, list, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch};
use crate::store::{Change, ChangeKind};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";
/// The wait before something that was refused is tried again.
const AGAIN: SignedDuration = SignedDuration::from_secs(1);

type Name = (Resource, Key);

/// The garbage collector.
#[derive(Default)]
pub struct Garbage {
    /// What was seen, by uid.
    living: BTreeMap<String, Name>,
    /// What belongs to whom, by the uid of the owner.
    dependents: BTreeMap<String, BTreeSet<Name>>,
    /// The uids of owners that were seen going away.
    gone: BTreeSet<String>,
    /// What has to be looked at.
    due: BTreeSet<Name>,
    later: Option<(Timestamp, BTreeSet<Name>)>,
}

fn owners(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    list(object, &["metadata", "ownerReferences"]).iter().filter_map(|it| Some((text(it, &["uid"])?, it)))
}

fn waits_for(object: &Value, finalizer: &str) -> bool {
    is_going(object) && list(object, &["metadata", "finalizers"]).iter().any(|it| it == finalizer)
}

fn delete((resource, key): &Name, object: &Value) -> Act {
    let deletion = Deletion { uid: Some(object::uid(object).to_owned()), ..Deletion::default() };
    Act::Delete(*resource, key.clone(), deletion)
}

fn patch_metadata((resource, key): &Name, object: &Value, field: &str, left: &[&Value]) -> Act {
    let change = json!({"metadata": {"uid": object::uid(object), field: left}});
    Act::Patch(*resource, key.clone(), Part::Whole, Patch::Merge(change))
}

impl Garbage {
    fn look(&self, view: &View, name: &Name) -> Vec<Act> {
        let Some(object) = view.get(name.0, &name.1) else { return Vec::new() };
        if waits_for(object, ORPHAN) {
            return self.orphan(view, name, object);
        }
        if waits_for(object, FOREGROUND) {
            return self.foreground(view, name, object);
        }
        self.without_owner(view, name, object).into_iter().collect()
    }

    fn belongings<'a>(
        &'a self,
        view: &'a View,
        owner: &Value,
    ) -> impl Iterator<Item = (&'a Name, &'a Object)> {
        let names = self.dependents.get(object::uid(owner)).into_iter().flatten();
        names.filter_map(|name| Some((name, view.get(name.0, &name.1)?)))
    }

    /// Takes the owner off everything it has, then lets it go.
    fn orphan(&self, view: &View, name: &Name, owner: &Value) -> Vec<Act> {
        let mut acts: Vec<Act> = self
            .belongings(view, owner)
            .map(|(name, object)| {
                let left: Vec<&Value> =
                    owners(object).filter(|(uid, _)| *uid != object::uid(owner)).map(|(_, it)| it).collect();
                patch_metadata(name, object, "ownerReferences", &left)
            })
            .collect();
        if acts.is_empty() {
            acts.push(Self::let_go(name, owner, ORPHAN));
        }
        acts
    }

    /// Deletes everything it has, then lets it go.
    fn foreground(&self, view: &View, name: &Name, owner: &Value) -> Vec<Act> {
        let blocks = |object: &Value| {
            owners(object).any(|(uid, it)| {
                let blocking = it.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true);
                uid == object::uid(owner) && blocking
            })
        };
        if !self.belongings(view, owner).any(|(_, object)| blocks(object)) {
            return vec![Self::let_go(name, owner, FOREGROUND)];
        }
        self.belongings(view, owner)
            .filter(|(_, object)| !is_going(object))
            .map(|(name, object)| delete(name, object))
            .collect()
    }

    fn let_go(name: &Name, owner: &Value, finalizer: &str) -> Act {
        let left: Vec<&Value> =
            list(owner, &["metadata", "finalizers"]).iter().filter(|it| *it != finalizer).collect();
        patch_metadata(name, owner, "finalizers", &left)
    }

    /// An object whose owners are all gone is deleted; one that has another keeps that one.
    fn without_owner(&self, view: &View, name: &Name, object: &Value) -> Option<Act> {
        let (lost, left): (Vec<_>, Vec<_>) = owners(object).partition(|(uid, _)| self.gone.contains(*uid));
        if is_going(object) {
            return None;
        }
        let going = |uid: &str| {
            let owner = self.living.get(uid).and_then(|(resource, key)| view.get(*resource, key));
            owner.is_some_and(|owner| waits_for(owner, FOREGROUND))
        };
        match (lost.is_empty(), left.is_empty()) {
            (true, true) => None,
            (true, false) => left.iter().all(|(uid, _)| going(uid)).then(|| delete(name, object)),
            (false, true) => Some(delete(name, object)),
            (false, false) => {
                let left: Vec<&Value> = left.into_iter().map(|(_, it)| it).collect();
                Some(patch_metadata(name, object, "ownerReferences", &left))
            }
        }
    }
}

impl Actor for Garbage {
    fn caller(&self) -> Caller {
        Caller::controller("generic-garbage-collector")
    }

    fn watches(&self) -> &'static [Resource] {
        Resource::ALL
    }

    fn notice(&mut self, _now: Timestamp, _view: &View, change: &Change) {
        let name = (change.resource, change.key.clone());
        let uid = object::uid(&change.object);
        for (owner, _) in change.before.iter().flat_map(|before| owners(before)) {
            if let Some(all) = self.dependents.get_mut(owner) {
                all.remove(&name);
                if all.is_empty() {
                    self.dependents.remove(owner);
                }
            }
            // An owner that waits for this one may have waited for nothing else.
            if let Some(waiting) = self.living.get(owner) {
                self.due.insert(waiting.clone());
            }
        }
        if change.kind == ChangeKind::Deleted {
            self.living.remove(uid);
            self.due.remove(&name);
            if let Some(left) = self.dependents.get(uid) {
                self.due.extend(left.iter().cloned());
            }
            self.gone.insert(uid.to_owned());
            return;
        }
        for (owner, _) in owners(&change.object) {
            self.dependents.entry(owner.to_owned()).or_default().insert(name.clone());
            if self.gone.contains(owner) {
                self.due.insert(name.clone());
            }
        }
        self.living.insert(uid.to_owned(), name.clone());
        if is_going(&change.object) {
            self.due.insert(name);
        }
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        if let Some((_, names)) = self.later.take_if(|(when, _)| *when <= now) {
            self.due.extend(names);
        }
        let due = std::mem::take(&mut self.due);
        let acts = due.iter().flat_map(|name| self.look(view, name)).collect();
        Turn { acts, wake: self.later.as_ref().map(|(when, _)| *when) }
    }

    fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        let Err(refusal) = answer else { return };
        let (Act::Delete(resource, key, _) | Act::Patch(resource, key, ..)) = act else { return };
        if refusal.code != 404 {
            let when = now.checked_add(AGAIN).unwrap_or(now);
            let (_, names) = self.later.get_or_insert_with(|| (when, BTreeSet::new()));
            names.insert((*resource, key.clone()));
        }
    }
}
