//! The API server's verbs on objects, without HTTP: what is stored, what is refused, and in which words.
//!
//! Everybody writes through here, the actors of the cluster as well as requests from outside, so that generation,
//! admission, conflicts and graceful deletion are the same for all.

mod admission;
mod defaults;
mod delete;
mod evict;
mod fields;
mod owners;
mod patch;
mod scale;
mod shape;
mod strategic;
mod validate;
mod write;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{Key, Object, map_at};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::store::Store;
use write::{Way, Writing};

pub use delete::{Deletion, Propagation};
pub use patch::{Apply, Patch};

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user's name.
    pub user: String,
    /// Who owns the fields that are written; nobody remembers that where there is none.
    pub manager: Option<String>,
}

impl Caller {
    /// A user.
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: user.into(), manager: None }
    }

    /// One of the cluster's own controllers.
    pub fn controller(name: &str) -> Self {
        Self::new(format!("system:serviceaccount:kube-system:{name}"))
    }
}

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status.
    Whole,
    /// The status.
    Status,
    /// The number of replicas, by the address of the scale.
    Scale,
    /// The finalizers of a namespace's content.
    Finalizers,
}

/// The API server.
#[derive(Clone, Default)]
pub struct Server {
    store: Store,
    uids: u64,
}

impl Server {
    /// What is stored.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Forgets older changes, so that watches have to list again.
    pub fn compact(&mut self) {
        let now = self.store.revision();
        self.store.forget_before(now);
    }

    /// An object, or the refusal that says that there is none.
    pub fn get(&self, resource: Resource, key: &Key) -> Result<&Object, Refusal> {
        self.store.get(resource, key).ok_or_else(|| Refusal::not_found(resource, &key.name))
    }

    /// Stores a new object.
    pub fn create(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        resource: Resource,
        object: Value,
    ) -> Result<Object, Refusal> {
        write::create(self, now, caller, resource, object, None)
    }

    /// Replaces an object, or the part of it. A resourceVersion in it is a precondition.
    pub fn update(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        resource: Resource,
        part: Part,
        object: Value,
    ) -> Result<Object, Refusal> {
        let key = Key::of(&object);
        let writing = Writing { resource, key: &key, part, way: Way::Replace };
        write::change(self, now, caller, writing, |_| Ok(object))
    }

    /// Changes an object, or the part of it.
    pub fn patch(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        resource: Resource,
        key: &Key,
        part: Part,
        patch: &Patch,
    ) -> Result<Object, Refusal> {
        if let Patch::Apply(apply) = patch {
            return self.apply(now, caller, resource, key, part, apply);
        }
        let writing = Writing { resource, key, part, way: Way::Patch };
        write::change(self, now, caller, writing, |before| {
            let mut after = before.clone();
            patch.apply(resource, &mut after)?;
            Ok(after)
        })
    }

    /// An apply makes the object where there is none.
    fn apply(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        resource: Resource,
        key: &Key,
        part: Part,
        apply: &Apply,
    ) -> Result<Object, Refusal> {
        if self.store.get(resource, key).is_none() && part == Part::Whole {
            let mut object = apply.wanted.clone();
            let meta = map_at(&mut object, &["metadata"]);
            meta.insert("name".to_owned(), json!(key.name));
            if resource.is_namespaced() {
                meta.insert("namespace".to_owned(), json!(key.namespace));
            }
            return write::create(self, now, caller, resource, object, Some(apply));
        }
        let writing = Writing { resource, key, part, way: Way::Apply };
        write::change(self, now, caller, writing, |before| owners::apply(resource, now, part, before, apply))
    }

    /// Asks for the end of an object.
    pub fn delete(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        resource: Resource,
        key: &Key,
        deletion: &Deletion,
    ) -> Result<Object, Refusal> {
        delete::delete(self, now, caller, resource, key, deletion)
    }

    /// The polite end of a pod: the budgets that cover it are asked.
    pub fn evict(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        key: &Key,
        deletion: &Deletion,
    ) -> Result<Object, Refusal> {
        evict::evict(self, now, caller, key, deletion)
    }

    /// The scale of a workload.
    pub fn scale(&self, resource: Resource, key: &Key) -> Result<Value, Refusal> {
        scale::get(self, resource, key)
    }

    /// Sets the scale of a workload to what `make` makes of the present one.
    pub fn set_scale(
        &mut self,
        now: Timestamp,
        caller: &Caller,
        resource: Resource,
        key: &Key,
        make: impl FnOnce(Value) -> Result<Value, Refusal>,
    ) -> Result<Value, Refusal> {
        scale::set(self, now, caller, resource, key, make)
    }

    /// What another server has given away is not given again.
    pub(crate) fn skip_uids_of(&mut self, other: &Self) {
        self.uids = self.uids.max(other.uids);
    }

    fn new_uid(&mut self) -> Value {
        self.uids += 1;
        json!(format!("5eed0000-0000-4000-8000-{:012x}", self.uids))
    }
}
