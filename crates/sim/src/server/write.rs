//! Creating and changing objects: identity, generation, status apart, conflicts, admission.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::patch::Apply;
use super::{Caller, Part, Server, admission, defaults, owners, validate};
use crate::object::{self, Key, Object, at, is_going, list, map_at, moment, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::{self, Flaw};

/// The fields of the metadata that nobody outside may change.
const KEPT: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"];

/// The fields that metadata has.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

pub(super) fn create(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    resource: Resource,
    mut object: Value,
    applied: Option<&Apply>,
) -> Result<Object, Refusal> {
    let uid = server.new_uid();
    named(server, &mut object);
    let key = Key::of(&object);
    if key.name.is_empty() {
        let flaw = Flaw {
            field: "metadata.name".to_owned(),
            reason: "FieldValueRequired",
            why: "Required value: name or generateName is required".to_owned(),
        };
        return Err(Refusal::flawed(resource, "", &[flaw]));
    }
    if resource.is_namespaced() {
        in_namespace(server, resource, &key)?;
    }
    identify(resource, &mut object);
    let meta = map_at(&mut object, &["metadata"]);
    for field in KEPT {
        meta.remove(field);
    }
    meta.remove("resourceVersion");
    meta.insert("uid".to_owned(), uid);
    meta.insert("creationTimestamp".to_owned(), json!(moment(now)));
    if resource.has_generation() {
        meta.insert("generation".to_owned(), json!(1));
    }
    // A node registers itself with what it is.
    if resource.has_status() && resource != Resource::Nodes {
        map_at(&mut object, &[]).remove("status");
    }
    fill(resource, &mut object);
    defaults::at_birth(resource, now, &mut object);
    match applied {
        None => owners::note(resource, now, caller, Part::Whole, None, &mut object),
        Some(applied) => owners::first(resource, now, &mut object, applied),
    }
    validate::validate(resource, Part::Whole, None, &object)?;
    admission::create(server, caller, resource, &object)?;
    // Last, as in a real server: what is wrong with the object is said first.
    if server.store.get(resource, &key).is_some() {
        return Err(Refusal::already_exists(resource, &key.name));
    }
    Ok(server.store.put(resource, object))
}

/// How a change is said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As a whole object.
    Replace,
    /// As a difference.
    Patch,
    /// As what somebody wants, who then owns it.
    Apply,
}

/// What is written, and how.
#[derive(Clone, Copy)]
pub(super) struct Writing<'a> {
    /// Of which resource.
    pub(super) resource: Resource,
    /// Which object.
    pub(super) key: &'a Key,
    /// Which part of it.
    pub(super) part: Part,
    /// How it is said.
    pub(super) way: Way,
}

/// Changes an object, or a part of it, to what `make` makes of its present state.
pub(super) fn change(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    writing: Writing<'_>,
    make: impl FnOnce(&Value) -> Result<Value, Refusal>,
) -> Result<Object, Refusal> {
    let Writing { resource, key, part, way } = writing;
    let before = Object::clone(server.get(resource, key)?);
    let mut after = make(&before)?;
    preconditions(resource, way, &before, &after)?;
    identify(resource, &mut after);
    keep_what_is_not_theirs(resource, part, &before, &mut after);
    fill(resource, &mut after);
    if way != Way::Apply {
        owners::note(resource, now, caller, part, Some(&before), &mut after);
    }
    admission::change(server, caller, resource, part, &before, &mut after)?;
    validate::validate(resource, part, Some(&before), &after)?;
    if resource.has_generation() && before.get("spec") != after.get("spec") {
        let next = object::generation(&before) + 1;
        map_at(&mut after, &["metadata"]).insert("generation".to_owned(), json!(next));
    }
    if is_going(&after) && list(&after, &["metadata", "finalizers"]).is_empty() && !waits(resource, &after) {
        server.store.remove_as(resource, key, after.clone());
        return Ok(Arc::new(after));
    }
    if after == *before {
        return Ok(before);
    }
    Ok(server.store.put(resource, after))
}

/// A pod that is going and has time left waits for its kubelet, and a namespace for its content, whatever their
/// finalizers are.
fn waits(resource: Resource, object: &Value) -> bool {
    let content = resource == Resource::Namespaces && !list(object, &["spec", "finalizers"]).is_empty();
    content || object::number(object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or_default() > 0
}

fn fill(resource: Resource, object: &mut Value) {
    match schema::of(resource) {
        Some(schema) => {
            schema::prune(schema, object);
            schema::fill(schema, object);
        }
        None => defaults::fill(resource, object),
    }
    let meta = map_at(object, &["metadata"]);
    meta.retain(|field, _| METADATA.contains(&field.as_str()));
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match meta.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            meta.remove(field);
        }
    }
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
        let namespace = &key.namespace;
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut refusal = Refusal::forbidden(resource, key, &why);
        if let Some(details) = &mut refusal.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating", "field": "metadata.namespace",
                "message": format!("namespace {namespace} is being terminated"),
            }]);
        }
        return Err(refusal);
    }
    Ok(())
}

fn identify(resource: Resource, object: &mut Value) {
    let map = map_at(object, &[]);
    map.insert("apiVersion".to_owned(), json!(resource.api_version()));
    map.insert("kind".to_owned(), json!(resource.kind()));
}

/// A uid or a version in what is sent must be the ones that are stored.
fn preconditions(resource: Resource, way: Way, before: &Value, after: &Value) -> Result<(), Refusal> {
    let name = object::name(before);
    let sent = |field| text(after, &["metadata", field]).filter(|text| !text.is_empty());
    if let Some(uid) = sent("uid").filter(|&uid| uid != object::uid(before)) {
        return Err(match way {
            Way::Replace => another_uid(resource, before, uid),
            Way::Patch | Way::Apply => {
                let why = format!("Invalid value: \"{uid}\": field is immutable");
                let flaw = Flaw { field: "metadata.uid".to_owned(), reason: "FieldValueInvalid", why };
                Refusal::flawed(resource, name, &[flaw.clone(), flaw])
            }
        });
    }
    match sent("resourceVersion") {
        Some(version) if Some(version) != text(before, &["metadata", "resourceVersion"]) => {
            Err(Refusal::modified(resource, name))
        }
        None if way == Way::Replace && resource.is_replaced_by_version() => {
            Err(Refusal::without_version(resource, name))
        }
        _ => Ok(()),
    }
}

fn another_uid(resource: Resource, before: &Value, uid: &str) -> Refusal {
    let (key, stored) = (Key::of(before), object::uid(before));
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}",
        resource.plural(),
        key.namespace,
        key.name
    );
    Refusal::conflict(resource, &key.name, &why)
}

/// Puts back what this way of writing does not change. The status of a built-in kind is written together with its
/// metadata, that of a custom resource alone.
fn keep_what_is_not_theirs(resource: Resource, part: Part, before: &Value, after: &mut Value) {
    let keep = |after: &mut Value, path: &[&str], field: &str| {
        let kept = at(before, path).and_then(|it| it.get(field)).cloned();
        let map = map_at(after, path);
        match kept {
            Some(value) => drop(map.insert(field.to_owned(), value)),
            None => drop(map.remove(field)),
        }
    };
    for field in KEPT.into_iter().chain(["resourceVersion", "name", "namespace"]) {
        keep(after, &["metadata"], field);
    }
    match part {
        Part::Whole | Part::Scale if resource.has_status() => keep(after, &[], "status"),
        Part::Whole | Part::Scale => {}
        Part::Status => {
            keep(after, &[], "spec");
            if schema::of(resource).is_some() {
                keep(after, &[], "metadata");
            }
        }
        Part::Finalizers => {
            keep(after, &[], "status");
            keep(after, &[], "metadata");
            if list(after, &["spec", "finalizers"]).is_empty() {
                map_at(after, &["spec"]).remove("finalizers");
            }
        }
    }
}
