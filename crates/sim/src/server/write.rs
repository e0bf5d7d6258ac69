//! Creating and changing objects: identity, generation, status apart, conflicts, admission.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Caller, Part, Server, admission, defaults};
use crate::object::{self, Key, Object, at, is_going, list, map_at, moment, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

/// The fields of the metadata that nobody outside may change.
const KEPT: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"];

pub(super) fn create(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    resource: Resource,
    mut object: Value,
) -> Result<Object, Refusal> {
    let uid = server.new_uid();
    named(server, &mut object);
    let key = Key::of(&object);
    if key.name.is_empty() {
        return Err(Refusal::invalid(
            resource,
            "",
            "metadata.name",
            "Required value: name or generateName is required",
        ));
    }
    if resource.is_namespaced() {
        in_namespace(server, resource, &key)?;
    }
    if server.store.get(resource, &key).is_some() {
        return Err(Refusal::already_exists(resource, &key.name));
    }
    identify(resource, &mut object);
    let meta = map_at(&mut object, &["metadata"]);
    for field in KEPT {
        meta.remove(field);
    }
    meta.insert("uid".to_owned(), uid);
    meta.insert("creationTimestamp".to_owned(), json!(moment(now)));
    if resource.has_generation() {
        meta.insert("generation".to_owned(), json!(1));
    }
    if resource.has_status() {
        map_at(&mut object, &[]).remove("status");
    }
    defaults::fill(resource, &mut object);
    admission::create(server, caller, resource, &object)?;
    Ok(server.store.put(resource, object))
}

/// Changes an object, or a part of it, to what `make` makes of its present state.
pub(super) fn change(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    resource: Resource,
    key: &Key,
    part: Part,
    make: impl FnOnce(&Value) -> Result<Value, Refusal>,
) -> Result<Object, Refusal> {
    let before = Object::clone(server.get(resource, key)?);
    let mut after = make(&before)?;
    preconditions(resource, &before, &after)?;
    identify(resource, &mut after);
    match part {
        Part::Whole | Part::Scale => keep_what_is_not_theirs(resource, &before, &mut after),
        Part::Finalizers => after = only(&before, &after, "spec"),
        Part::Status => after = only(&before, &after, "status"),
    }
    defaults::fill(resource, &mut after);
    admission::change(server, caller, resource, part, &before, &mut after)?;
    if resource.has_generation() && before.get("spec") != after.get("spec") {
        let next = object::generation(&before) + 1;
        map_at(&mut after, &["metadata"]).insert("generation".to_owned(), json!(next));
    }
    if is_going(&after) && list(&after, &["metadata", "finalizers"]).is_empty() && !has_grace(&after) {
        let key = Key::of(&after);
        server.store.put(resource, after);
        return Ok(server.store.remove(resource, &key).unwrap_or(before));
    }
    let _ = now;
    if after == *before {
        return Ok(before);
    }
    Ok(server.store.put(resource, after))
}

/// A pod that is going and has time left waits for its kubelet, whatever its finalizers are.
fn has_grace(object: &Value) -> bool {
    object::number(object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or_default() > 0
}

/// A name made from `generateName`, as the server does; made from a counter, so that a run can be repeated.
fn named(server: &mut Server, object: &mut Value) {
    let name = text(object, &["metadata", "name"]).unwrap_or_default();
    let prefix = text(object, &["metadata", "generateName"]).unwrap_or_default().to_owned();
    if name.is_empty() && !prefix.is_empty() {
        let name = json!(format!("{prefix}{:05x}", server.uids));
        map_at(object, &["metadata"]).insert("name".to_owned(), name);
    }
}

fn in_namespace(server: &Server, resource: Resource, key: &Key) -> Result<(), Refusal> {
    let Some(namespace) = server.store.get(Resource::Namespaces, &Key::new("", &key.namespace)) else {
        return Err(Refusal::not_found(Resource::Namespaces, &key.namespace));
    };
    if is_going(namespace) {
        let why = format!(
            "unable to create new content in namespace {} because it is being terminated",
            key.namespace
        );
        return Err(Refusal::forbidden(resource, key, &why));
    }
    Ok(())
}

fn identify(resource: Resource, object: &mut Value) {
    let map = map_at(object, &[]);
    map.insert("apiVersion".to_owned(), json!(resource.api_version()));
    map.insert("kind".to_owned(), json!(resource.kind()));
}

/// A uid or a version in what is sent must be the ones that are stored.
fn preconditions(resource: Resource, before: &Value, after: &Value) -> Result<(), Refusal> {
    let name = object::name(before);
    let sent = |field| text(after, &["metadata", field]).filter(|text| !text.is_empty());
    if let Some(uid) = sent("uid").filter(|&uid| uid != object::uid(before)) {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(before)
        );
        return Err(Refusal::conflict(resource, name, &why));
    }
    match sent("resourceVersion") {
        Some(version) if Some(version) != text(before, &["metadata", "resourceVersion"]) => {
            Err(Refusal::modified(resource, name))
        }
        _ => Ok(()),
    }
}

fn keep_what_is_not_theirs(resource: Resource, before: &Value, after: &mut Value) {
    let meta = map_at(after, &["metadata"]);
    for field in KEPT.into_iter().chain(["resourceVersion", "name", "namespace"]) {
        match at(before, &["metadata", field]) {
            Some(value) => drop(meta.insert(field.to_owned(), value.clone())),
            None => drop(meta.remove(field)),
        }
    }
    if resource.has_status() {
        match before.get("status") {
            Some(status) => drop(map_at(after, &[]).insert("status".to_owned(), status.clone())),
            None => drop(map_at(after, &[]).remove("status")),
        }
    }
}

/// The state before, with one part of the state after.
fn only(before: &Value, after: &Value, part: &str) -> Value {
    let mut only = before.clone();
    if let Some(value) = after.get(part) {
        map_at(&mut only, &[]).insert(part.to_owned(), value.clone());
    }
    only
}
