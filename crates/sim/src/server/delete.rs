//! Deleting: preconditions, grace, finalizers.

use std::sync::Arc;

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
    let held = !list(&after, &["metadata", "finalizers"]).is_empty()
        || !list(&after, &["spec", "finalizers"]).is_empty();
    if !held && grace == 0 {
        return Ok(at_once(server, now, resource, key, &before, after));
    }
    let shorter = number(&before, &["metadata", "deletionGracePeriodSeconds"]).is_some_and(|had| grace < had);
    if is_going(&before) && !shorter {
        return Ok(before);
    }
    mark(resource, now, grace, &before, &mut after);
    Ok(server.store.put(resource, after))
}

/// A pod is told that it goes even where it goes at once; everything else is just gone.
fn at_once(
    server: &mut Server,
    now: Timestamp,
    resource: Resource,
    key: &Key,
    before: &Value,
    mut after: Value,
) -> Object {
    if resource != Resource::Pods {
        server.store.remove_as(resource, key, after.clone());
        return Arc::new(after);
    }
    mark(resource, now, 0, before, &mut after);
    let last = server.store.put(resource, after);
    server.store.remove_as(resource, key, Value::clone(&last));
    last
}

/// Notes that an object is going, and when it has to be gone.
fn mark(resource: Resource, now: Timestamp, grace: i64, before: &Value, after: &mut Value) {
    let meta = map_at(after, &["metadata"]);
    meta.insert("deletionTimestamp".to_owned(), json!(moment(later(now, grace))));
    if resource == Resource::Namespaces {
        map_at(after, &["status"]).insert("phase".to_owned(), json!("Terminating"));
        return;
    }
    meta.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
    if !is_going(before) && resource.has_generation() {
        meta.insert("generation".to_owned(), json!(object::generation(before) + 1));
    }
}

fn preconditions(resource: Resource, before: &Value, deletion: &Deletion) -> Result<(), Refusal> {
    if let Some(uid) = deletion.uid.as_deref().filter(|&uid| uid != object::uid(before)) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            object::uid(before)
        );
        return Err(other(resource, before, &why));
    }
    let stored = text(before, &["metadata", "resourceVersion"]).unwrap_or_default();
    if let Some(version) = deletion.version.as_deref().filter(|&version| version != stored) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({stored}). The object might have been modified"
        );
        return Err(other(resource, before, &why));
    }
    Ok(())
}

/// These conflicts name the kind where all others name the resource.
fn other(resource: Resource, before: &Value, why: &str) -> Refusal {
    let (name, kind) = (object::name(before), resource.kind());
    let qualified = match resource.group() {
        "" => kind.to_owned(),
        group => format!("{kind}.{group}"),
    };
    let message = format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}");
    let mut refusal = Refusal::new(409, "Conflict", message);
    let mut details = json!({"name": name, "kind": kind});
    if !resource.group().is_empty() {
        details["group"] = json!(resource.group());
    }
    refusal.details = Some(details);
    refusal
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
