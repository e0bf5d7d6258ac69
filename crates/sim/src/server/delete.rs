//! Deleting: preconditions, grace, finalizers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Caller, Server};
use crate::object::{self, Key, Object, is_going, later, list, map_at, moment, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

/// What happens to the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They go afterwards.
    #[default]
    Background,
    /// They go first.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Only the object with this uid.
    pub uid: Option<String>,
    /// Only this version of it.
    pub version: Option<String>,
    /// How long a pod gets; none for what it asks for itself.
    pub grace_seconds: Option<i64>,
    /// What happens to what it owns.
    pub propagation: Propagation,
}

pub(super) fn delete(
    server: &mut Server,
    now: Timestamp,
    _caller: &Caller,
    resource: Resource,
    key: &Key,
    deletion: &Deletion,
) -> Result<Object, Refusal> {
    let before = Object::clone(server.get(resource, key)?);
    preconditions(resource, &before, deletion)?;
    let finalizer = match deletion.propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some("foregroundDeletion"),
        Propagation::Orphan => Some("orphan"),
    };
    let mut after = Value::clone(&before);
    if let Some(finalizer) = finalizer {
        let meta = map_at(&mut after, &["metadata"]);
        let finalizers = meta.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(all) = finalizers.as_array_mut()
            && !all.iter().any(|it| it == finalizer)
        {
            all.push(json!(finalizer));
        }
    }
    let grace = grace(resource, &before, deletion);
    let waits = grace > 0 || !list(&after, &["metadata", "finalizers"]).is_empty();
    if !waits {
        return server.store.remove(resource, key).ok_or_else(|| Refusal::not_found(resource, &key.name));
    }
    let shorter = number(&before, &["metadata", "deletionGracePeriodSeconds"]).is_some_and(|had| grace < had);
    if is_going(&before) && !shorter {
        return Ok(before);
    }
    let first = !is_going(&before);
    let generation = object::generation(&before) + 1;
    let meta = map_at(&mut after, &["metadata"]);
    meta.insert("deletionTimestamp".to_owned(), json!(moment(later(now, grace))));
    meta.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
    if first && resource.has_generation() {
        meta.insert("generation".to_owned(), json!(generation));
    }
    Ok(server.store.put(resource, after))
}

fn preconditions(resource: Resource, before: &Value, deletion: &Deletion) -> Result<(), Refusal> {
    let name = object::name(before);
    if let Some(uid) = deletion.uid.as_deref().filter(|&uid| uid != object::uid(before)) {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(before)
        );
        return Err(Refusal::conflict(resource, name, &why));
    }
    let stored = text(before, &["metadata", "resourceVersion"]).unwrap_or_default();
    if let Some(version) = deletion.version.as_deref().filter(|&version| version != stored) {
        let why = format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {stored}"
        );
        return Err(Refusal::conflict(resource, name, &why));
    }
    Ok(())
}

/// Only pods get time, and only those that a kubelet runs.
fn grace(resource: Resource, before: &Value, deletion: &Deletion) -> i64 {
    if resource != Resource::Pods {
        return 0;
    }
    let scheduled = text(before, &["spec", "nodeName"]).is_some_and(|node| !node.is_empty());
    let over = matches!(text(before, &["status", "phase"]), Some("Failed" | "Succeeded"));
    if !scheduled || over {
        return 0;
    }
    let asked = deletion.grace_seconds.or_else(|| number(before, &["spec", "terminationGracePeriodSeconds"]));
    asked.unwrap_or(30)
}
