//! Everybody else in a cluster, each as a pure step: what it knows and the present moment in, requests out.
//!
//! An actor never sees the store. It sees its `View`, fed from the changes of the store like an informer from a watch,
//! perhaps late, each resource at its own pace; so it can act on what is no longer true, as the real ones do. What it
//! wants done it returns as `Act`s; whoever runs it sends them through the server, in order.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::object::{Key, Object};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch, Server};
use crate::store::{Change, ChangeKind};

/// What an actor knows.
#[derive(Clone, Default)]
pub struct View {
    objects: BTreeMap<Resource, BTreeMap<Key, Object>>,
}

impl View {
    /// Takes a change in.
    pub fn take(&mut self, change: &Change) {
        let objects = self.objects.entry(change.resource).or_default();
        match change.kind {
            ChangeKind::Added | ChangeKind::Modified => {
                objects.insert(change.key.clone(), Object::clone(&change.object));
            }
            ChangeKind::Deleted => drop(objects.remove(&change.key)),
        }
    }

    /// An object, as far as is known.
    pub fn get(&self, resource: Resource, key: &Key) -> Option<&Object> {
        self.objects.get(&resource)?.get(key)
    }

    /// All known objects of a resource, by namespace and name.
    pub fn all(&self, resource: Resource) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.get(&resource).into_iter().flatten()
    }

    /// The known objects of a resource in one namespace, by name.
    pub fn within<'a>(
        &'a self,
        resource: Resource,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Object)> {
        let range = self.objects.get(&resource).map(|all| all.range(Key::new(namespace, "")..));
        range.into_iter().flatten().take_while(move |(key, _)| key.namespace == namespace)
    }
}

/// Something an actor wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// A new object.
    Create(Resource, Value),
    /// Another state of an object, or of its status.
    Update(Resource, Part, Value),
    /// A change of an object, or of its status.
    Patch(Resource, Key, Part, Patch),
    /// The end of an object.
    Delete(Resource, Key, Deletion),
}

/// What an actor does when it is its turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// In this order; the first that is refused ends the turn.
    pub acts: Vec<Act>,
    /// Sent after that, whether an act was refused or not.
    pub finally: Vec<Act>,
    /// When it wants its turn again, though nothing happens.
    pub wake: Option<Timestamp>,
}

/// One of the cluster's own.
pub trait Actor: Send {
    /// As whom it writes.
    fn caller(&self) -> Caller;

    /// What it has to know.
    fn watches(&self) -> &'static [Resource];

    /// A change has come to its knowledge; the view has it already.
    fn notice(&mut self, now: Timestamp, change: &Change);

    /// Its turn: called until it returns no acts and a later moment, or none, to wake it.
    fn turn(&mut self, now: Timestamp, view: &View) -> Turn;

    /// An act of its turn was refused.
    fn refused(&mut self, now: Timestamp, act: &Act, refusal: &Refusal);
}

impl Act {
    /// Sends it through the server.
    pub fn send(&self, now: Timestamp, caller: &Caller, server: &mut Server) -> Result<Object, Refusal> {
        match self {
            Self::Create(resource, object) => server.create(now, caller, *resource, object.clone()),
            Self::Update(resource, part, object) => {
                server.update(now, caller, *resource, *part, object.clone())
            }
            Self::Patch(resource, key, part, patch) => {
                server.patch(now, caller, *resource, key, *part, patch)
            }
            Self::Delete(resource, key, deletion) => server.delete(now, caller, *resource, key, deletion),
        }
    }
}
