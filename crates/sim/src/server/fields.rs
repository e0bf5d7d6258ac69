//! Which fields an object has, as `managedFields` writes them down: `f:spec`, `f:replicas`; `k:{"name":"app"}` for an
//! element of a list with keys; `v:"…"` for an element of a set.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::shape::{Shape, key, shape};
use crate::resource::Resource;

/// The way to a field.
pub(super) type Path = Vec<String>;
/// Some fields.
pub(super) type Fields = BTreeSet<Path>;

/// The fields of an object that can have an owner.
pub(super) fn of(resource: Resource, object: &Value) -> Fields {
    let mut fields = Fields::new();
    let Some(map) = object.as_object() else { return fields };
    for (field, value) in map {
        match (field.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(meta)) => {
                for (field, value) in meta.iter().filter(|(field, _)| is_owned(field)) {
                    let mut path = vec!["f:metadata".to_owned(), format!("f:{field}")];
                    collect(resource, field, value, &mut path, &mut fields);
                }
            }
            _ => collect(resource, field, value, &mut vec![format!("f:{field}")], &mut fields),
        }
    }
    fields
}

/// The fields of the metadata that clients write.
fn is_owned(field: &str) -> bool {
    matches!(field, "labels" | "annotations" | "finalizers" | "ownerReferences")
}

fn collect(resource: Resource, field: &str, value: &Value, path: &mut Path, fields: &mut Fields) {
    match (shape(resource, field, value), value) {
        (Shape::Fields, Value::Object(map)) if !map.is_empty() => {
            for (field, value) in map {
                path.push(format!("f:{field}"));
                collect(resource, field, value, path, fields);
                path.pop();
            }
        }
        (Shape::Set, Value::Array(items)) => {
            for item in items {
                path.push(format!("v:{item}"));
                fields.insert(path.clone());
                path.pop();
            }
        }
        (Shape::Keyed(keys), Value::Array(items)) => {
            for item in items {
                path.push(key_step(item, keys));
                fields.insert(path.clone());
                for (field, value) in item.as_object().into_iter().flatten() {
                    path.push(format!("f:{field}"));
                    collect(resource, field, value, path, fields);
                    path.pop();
                }
                path.pop();
            }
        }
        _ => drop(fields.insert(path.clone())),
    }
}

fn key_step(item: &Value, keys: &[&str]) -> String {
    let map: Map<String, Value> =
        keys.iter().zip(key(item, keys)).map(|(&name, value)| (name.to_owned(), value)).collect();
    format!("k:{}", Value::Object(map))
}

/// Whether an element of a list is the one that a step names.
fn is_named(item: &Value, step: &str) -> bool {
    if let Some(text) = step.strip_prefix("v:") {
        return serde_json::from_str::<Value>(text).is_ok_and(|value| value == *item);
    }
    let wanted: Option<Map<String, Value>> =
        step.strip_prefix("k:").and_then(|it| serde_json::from_str(it).ok());
    wanted.is_some_and(|wanted| {
        let names: Vec<&str> = wanted.keys().map(String::as_str).collect();
        key(item, &names).iter().eq(wanted.values())
    })
}

/// The value at a path.
pub(super) fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| match step.strip_prefix("f:") {
        Some(field) => value.get(field),
        None => value.as_array()?.iter().find(|item| is_named(item, step)),
    })
}

/// Takes out what is at a path, and maps and lists that are empty by that.
pub(super) fn remove(object: &mut Value, path: &[String]) {
    let Some((step, rest)) = path.split_first() else { return };
    match (step.strip_prefix("f:"), object) {
        (Some(field), Value::Object(map)) => {
            let Some(value) = map.get_mut(field) else { return };
            if !rest.is_empty() {
                remove(value, rest);
            }
            let emptied = match value {
                Value::Object(map) => map.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            if rest.is_empty() || emptied {
                map.remove(field);
            }
        }
        (None, Value::Array(items)) => {
            let Some(place) = items.iter().position(|item| is_named(item, step)) else { return };
            if rest.is_empty() {
                items.remove(place);
            } else {
                remove(&mut items[place], rest);
            }
        }
        _ => {}
    }
}

/// Writes the wanted fields into an object.
pub(super) fn merge(resource: Resource, field: &str, object: &mut Value, wanted: &Value) {
    match (shape(resource, field, wanted), wanted) {
        (Shape::Fields, Value::Object(wanted)) => {
            if !object.is_object() {
                *object = json!({});
            }
            let Value::Object(map) = object else { return };
            for (field, value) in wanted {
                match map.get_mut(field) {
                    Some(had) => merge(resource, field, had, value),
                    None => drop(map.insert(field.clone(), value.clone())),
                }
            }
        }
        (Shape::Set, Value::Array(wanted)) => {
            if let Value::Array(items) = object {
                let new: Vec<Value> = wanted.iter().filter(|it| !items.contains(it)).cloned().collect();
                items.extend(new);
            } else {
                *object = Value::Array(wanted.clone());
            }
        }
        (Shape::Keyed(keys), Value::Array(wanted)) => {
            let Value::Array(items) = object else {
                *object = Value::Array(wanted.clone());
                return;
            };
            for element in wanted {
                match items.iter_mut().find(|it| key(it, keys) == key(element, keys)) {
                    Some(item) => merge(resource, "", item, element),
                    None => items.push(element.clone()),
                }
            }
        }
        _ => *object = wanted.clone(),
    }
}

/// As `fieldsV1` writes fields: each step within the one before.
pub(super) fn write(fields: &Fields) -> Value {
    let mut root = json!({});
    for path in fields {
        let mut here = &mut root;
        for step in path {
            here = crate::object::map_at(here, &[]).entry(step.clone()).or_insert_with(|| json!({}));
        }
        let is_element = path.last().is_some_and(|step| step.starts_with("k:"));
        if is_element {
            here["."] = json!({});
        }
    }
    root
}

/// Reads `fieldsV1`.
pub(super) fn read(written: &Value) -> Fields {
    let mut fields = Fields::new();
    read_below(written, &mut Vec::new(), &mut fields);
    fields
}

fn read_below(written: &Value, path: &mut Path, fields: &mut Fields) {
    let Some(map) = written.as_object() else { return };
    if map.is_empty() && !path.is_empty() {
        fields.insert(path.clone());
    }
    for (step, below) in map {
        if step == "." {
            fields.insert(path.clone());
            continue;
        }
        path.push(step.clone());
        read_below(below, path, fields);
        path.pop();
    }
}

/// A path as messages write it.
pub(super) fn shown(path: &[String]) -> String {
    let step = |step: &String| match (step.strip_prefix("f:"), step.strip_prefix("k:")) {
        (Some(field), _) => format!(".{field}"),
        (None, Some(key)) => {
            let named: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
            let terms: Vec<String> = named.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", terms.join(","))
        }
        (None, None) => format!("[={}]", step.trim_start_matches("v:")),
    };
    path.iter().map(step).collect()
}
