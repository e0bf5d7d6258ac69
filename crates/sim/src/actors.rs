//! Everybody else in a cluster, each as a pure step: what it knows and the present moment in, requests out.
//!
//! An actor never sees the store. It sees its `View`, fed from the changes of the store like an informer from a watch,
//! perhaps late, each resource at its own pace; so it can act on what is no longer true, as the real ones do. What it
//! wants done it returns as `Act`s; whoever runs it sends them through the server, in order.

pub mod autoscaler;
mod disruption;
pub mod drain;
mod garbage;
pub mod gitops;
mod kubelet;
mod namespaces;
mod node_lifecycle;
pub mod person;
mod scheduler;
mod stateful_set;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::object::{Key, Object};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch, Server};
use crate::store::{Change, ChangeKind};

pub use disruption::Disruption;
pub use garbage::Garbage;
pub use kubelet::{Kubelets, Misbehaviour, Order, Pace, Whom};
pub use namespaces::Namespaces;
pub use node_lifecycle::NodeLifecycle;
pub use scheduler::Scheduler;
pub use stateful_set::StatefulSets;

/// What an actor knows.
#[derive(Clone, Default)]
pub struct View {
    objects: BTreeMap<Resource, BTreeMap<Key, Object>>,
    reached: BTreeMap<Resource, u64>,
}

impl View {
    /// Takes a change in.
    pub fn take(&mut self, change: &Change) {
        let reached = self.reached.entry(change.resource).or_default();
        *reached = change.revision.max(*reached);
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

    /// The newest revision of the store that is known of a resource.
    pub fn reached(&self, resource: Resource) -> u64 {
        self.reached.get(&resource).copied().unwrap_or_default()
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
    /// The end of a pod, if its budget allows it.
    Evict(Key),
}

/// What an actor does when it is its turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Sent in this order, each whether or not another was refused: what must not be done after a refusal is kept for
    /// a later turn.
    pub acts: Vec<Act>,
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
    fn notice(&mut self, _now: Timestamp, _view: &View, _change: &Change) {}

    /// Its turn: called again until it returns no acts and a later moment, or none, to wake it.
    fn turn(&mut self, now: Timestamp, view: &View) -> Turn;

    /// An act of its last turn was answered, in the order in which they were sent.
    fn answered(&mut self, _now: Timestamp, _act: &Act, _answer: Result<&Object, &Refusal>) {}

    /// Fate has something in store for pods or machines; most are not concerned.
    fn ordered(&mut self, _now: Timestamp, _order: &Order) {}
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
            Self::Evict(key) => server.evict(now, caller, key, &Deletion::default()),
        }
    }
}

/// Everybody that a cluster has by itself. The seed orders what the real ones leave to chance.
pub fn everybody(seed: u64) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(StatefulSets::new(seed)),
        Box::new(Scheduler::default()),
        Box::new(Kubelets::default()),
        Box::new(NodeLifecycle::default()),
        Box::new(Disruption::default()),
        Box::new(Garbage::default()),
        Box::new(Namespaces::default()),
    ]
}
