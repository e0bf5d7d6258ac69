//! Objects as the API server keeps them: JSON, shared, never changed in place; and the few fields that everybody reads.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

/// An object as it was stored at one revision.
pub type Object = Arc<Value>;

/// An object by namespace and name; the namespace of cluster-wide objects is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// A name in a namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub fn of(object: &Value) -> Self {
        Self::new(namespace(object), name(object))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return out.write_str(&self.name);
        }
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// A text somewhere in an object.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// A number somewhere in an object.
pub(crate) fn number(object: &Value, path: &[&str]) -> Option<i64> {
    at(object, path)?.as_i64()
}

/// A value somewhere in an object.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, &field| value.get(field))
}

/// The elements of a list somewhere in an object; none where there is no list.
pub(crate) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The map at a path, made where it is missing.
pub(crate) fn map_at<'a>(object: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut here = object;
    for &field in path {
        here = as_map(here).entry(field).or_insert_with(|| Value::Object(Map::new()));
    }
    as_map(here)
}

/// The value as a map; whatever else it was is replaced by an empty one.
fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        // It was made a map two lines above.
        _ => unreachable!("a value that was just made a map"),
    }
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"]).unwrap_or_default()
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"]).unwrap_or_default()
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"]).unwrap_or_default()
}

/// The revision of the store at which the object was written.
pub(crate) fn version(object: &Value) -> u64 {
    text(object, &["metadata", "resourceVersion"]).and_then(|text| text.parse().ok()).unwrap_or_default()
}

pub(crate) fn generation(object: &Value) -> i64 {
    number(object, &["metadata", "generation"]).unwrap_or_default()
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    text(object, &["metadata", "labels", key])
}

pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    text(object, &["metadata", "annotations", key])
}

/// Whether somebody has asked for its end.
pub(crate) fn is_going(object: &Value) -> bool {
    at(object, &["metadata", "deletionTimestamp"]).is_some_and(|value| !value.is_null())
}

/// The uid of the owner that controls the object.
pub(crate) fn controller(object: &Value) -> Option<&str> {
    list(object, &["metadata", "ownerReferences"])
        .iter()
        .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
        .and_then(|owner| text(owner, &["uid"]))
}

/// A moment as the API writes it: in whole seconds.
pub(crate) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment that the API wrote.
pub(crate) fn parse_moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// A moment some whole seconds later.
pub(crate) fn later(at: Timestamp, seconds: i64) -> Timestamp {
    at.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}
