//! What is stored, and everything that was ever written, in order: the memory behind lists and watches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::object::{self, Key, Object};
use crate::resource::Resource;

/// How many changes are remembered; a watch that asks for older ones has to list again.
const REMEMBERED: usize = 100_000;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// One write.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision of the store that it made.
    pub revision: u64,
    /// Of which resource.
    pub resource: Resource,
    /// Which object.
    pub key: Key,
    /// What happened.
    pub kind: ChangeKind,
    /// The object after it; its last state if it is gone.
    pub object: Object,
    /// The object before it.
    pub before: Option<Object>,
}

/// What is stored.
#[derive(Clone, Default)]
pub struct Store {
    objects: BTreeMap<Resource, BTreeMap<Key, Object>>,
    changes: VecDeque<Change>,
    revision: u64,
    forgotten: u64,
}

impl Store {
    /// The number of writes so far.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An object.
    pub fn get(&self, resource: Resource, key: &Key) -> Option<&Object> {
        self.objects.get(&resource)?.get(key)
    }

    /// All objects of a resource, by namespace and name.
    pub fn all(&self, resource: Resource) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.get(&resource).into_iter().flatten()
    }

    /// The objects of a resource in one namespace, by name.
    pub fn within<'a>(
        &'a self,
        resource: Resource,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Object)> {
        let from = Key::new(namespace, "");
        let range = self.objects.get(&resource).map(|all| all.range(from..));
        range.into_iter().flatten().take_while(move |(key, _)| key.namespace == namespace)
    }

    /// Stores an object under a new revision.
    pub(crate) fn put(&mut self, resource: Resource, mut object: Value) -> Object {
        let key = Key::of(&object);
        self.stamp(&mut object);
        let object = Arc::new(object);
        let before = self.objects.entry(resource).or_default().insert(key.clone(), Arc::clone(&object));
        let kind = if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.remember(Change {
            revision: self.revision,
            resource,
            key,
            kind,
            object: Arc::clone(&object),
            before,
        });
        object
    }

    /// Takes an object out, whose last state is this.
    pub(crate) fn remove_as(&mut self, resource: Resource, key: &Key, mut last: Value) -> Option<Object> {
        let before = self.objects.get_mut(&resource)?.remove(key)?;
        self.stamp(&mut last);
        let last = Arc::new(last);
        self.remember(Change {
            revision: self.revision,
            resource,
            key: key.clone(),
            kind: ChangeKind::Deleted,
            object: Arc::clone(&last),
            before: Some(before),
        });
        Some(last)
    }

    /// Takes in an object as another server stored it: its version stays what it is there.
    pub fn mirror(&mut self, resource: Resource, object: Value) {
        self.revision += 1;
        let (key, object) = (Key::of(&object), Arc::new(object));
        let before = self.objects.entry(resource).or_default().insert(key.clone(), Arc::clone(&object));
        let kind = if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.remember(Change { revision: self.revision, resource, key, kind, object, before });
    }

    /// Takes out what another server has no more; this was its last state.
    pub fn mirror_end(&mut self, resource: Resource, last: Value) {
        self.revision += 1;
        let (key, object) = (Key::of(&last), Arc::new(last));
        let before = self.objects.get_mut(&resource).and_then(|objects| objects.remove(&key));
        let revision = self.revision;
        self.remember(Change { revision, resource, key, kind: ChangeKind::Deleted, object, before });
    }

    fn stamp(&mut self, object: &mut Value) {
        self.revision += 1;
        object::map_at(object, &["metadata"])
            .insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
    }

    fn remember(&mut self, change: Change) {
        self.changes.push_back(change);
        if self.changes.len() > REMEMBERED {
            self.forget_before(self.revision.saturating_sub(REMEMBERED as u64 / 2));
        }
    }

    /// Forgets older changes, as etcd does when it is compacted.
    pub fn forget_before(&mut self, revision: u64) {
        while let Some(change) = self.changes.front()
            && change.revision <= revision
        {
            self.forgotten = change.revision;
            self.changes.pop_front();
        }
    }

    /// The changes after a revision, in order; none if they are forgotten.
    pub fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        if revision < self.forgotten {
            return None;
        }
        let skip = self.changes.partition_point(|change| change.revision <= revision);
        Some(self.changes.range(skip..))
    }
}
