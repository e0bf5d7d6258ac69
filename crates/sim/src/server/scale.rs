//! The scale of a workload: one number of its spec, under an address of its own that admission policies on the workload
//! do not see.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::write::{self, Way, Writing};
use super::{Caller, Part, Server};
use crate::object::{Key, at, map_at, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

pub(super) fn get(server: &Server, resource: Resource, key: &Key) -> Result<Value, Refusal> {
    server.get(resource, key).map(|it| of(it))
}

pub(super) fn set(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    resource: Resource,
    key: &Key,
    make: impl FnOnce(Value) -> Result<Value, Refusal>,
) -> Result<Value, Refusal> {
    let writing = Writing { resource, key, part: Part::Scale, way: Way::Patch };
    let after = write::change(server, now, caller, writing, |before| {
        let wanted = make(of(before))?;
        let replicas = number(&wanted, &["spec", "replicas"]).unwrap_or_default();
        if replicas < 0 {
            return Err(negative(&key.name, replicas));
        }
        let mut after = before.clone();
        map_at(&mut after, &["spec"]).insert("replicas".to_owned(), json!(replicas));
        let meta = map_at(&mut after, &["metadata"]);
        for field in ["uid", "resourceVersion"] {
            match text(&wanted, &["metadata", field]).filter(|it| !it.is_empty()) {
                Some(sent) => drop(meta.insert(field.to_owned(), json!(sent))),
                None => drop(meta.remove(field)),
            }
        }
        Ok(after)
    })?;
    Ok(of(&after))
}

fn negative(name: &str, replicas: i64) -> Refusal {
    let why = format!("Invalid value: {replicas}: must be greater than or equal to 0");
    let message = format!("Scale.autoscaling \"{name}\" is invalid: spec.replicas: {why}");
    let mut refusal = Refusal::new(422, "Invalid", message);
    refusal.details = Some(json!({
        "name": name, "group": "autoscaling", "kind": "Scale",
        "causes": [{"reason": "FieldValueInvalid", "message": why, "field": "spec.replicas"}],
    }));
    refusal
}

fn of(object: &Value) -> Value {
    let mut meta = serde_json::Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = at(object, &["metadata", field]) {
            meta.insert(field.to_owned(), value.clone());
        }
    }
    let mut status = json!({"replicas": number(object, &["status", "replicas"]).unwrap_or_default()});
    let selector = selector(at(object, &["spec", "selector"]).unwrap_or(&Value::Null));
    if !selector.is_empty() {
        status["selector"] = json!(selector);
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta,
        "spec": {"replicas": number(object, &["spec", "replicas"]).unwrap_or_default()},
        "status": status,
    })
}

/// A selector as a query writes it.
fn selector(selector: &Value) -> String {
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let terms = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    terms.collect::<Vec<_>>().join(",")
}
