//! `OpenAPI`, as far as kubectl reads it: which parameters a write takes, and the schema of our own kinds (`kubectl
//! explain`). For the kinds of Kubernetes itself kubectl falls back on what it knows by heart.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::resource::Resource;
use crate::schema;

/// The document at a path below `/openapi/v3`.
pub(super) fn document(path: &[&str]) -> Option<Value> {
    let place = path.join("/");
    if place.is_empty() {
        let places: BTreeSet<String> = Resource::ALL.iter().copied().map(place_of).collect();
        let paths: Map<String, Value> = places
            .into_iter()
            .map(|place| {
                let address = json!({"serverRelativeURL": format!("/openapi/v3/{place}?hash=1")});
                (place, address)
            })
            .collect();
        return Some(json!({"paths": paths}));
    }
    let here: Vec<Resource> = Resource::ALL.iter().copied().filter(|it| place_of(*it) == place).collect();
    if here.is_empty() {
        return None;
    }
    let paths: Map<String, Value> = here.iter().map(|it| address(&place, *it)).collect();
    let schemas: Map<String, Value> = here.iter().map(|it| (component(*it), schema_of(*it))).collect();
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Windlass simulator", "version": "1.36"},
        "paths": paths, "components": {"schemas": schemas},
    }))
}

fn place_of(resource: Resource) -> String {
    match resource.group() {
        "" => format!("api/{}", resource.version()),
        group => format!("apis/{group}/{}", resource.version()),
    }
}

fn component(resource: Resource) -> String {
    format!("{}.{}.{}", resource.group(), resource.version(), resource.kind())
}

fn kind(resource: Resource) -> Value {
    json!({"group": resource.group(), "version": resource.version(), "kind": resource.kind()})
}

fn address(place: &str, resource: Resource) -> (String, Value) {
    let scope = if resource.is_namespaced() { "namespaces/{namespace}/" } else { "" };
    let reference = json!({"$ref": format!("#/components/schemas/{}", component(resource))});
    let content = json!({"application/json": {"schema": reference}});
    let operation = |action: &str| {
        let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
        let parameters = ["dryRun", "fieldManager", "fieldValidation"].map(parameter);
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind(resource),
            "parameters": parameters,
            "responses": {"200": {"description": "OK", "content": content}},
        })
    };
    let item = json!({
        "get": operation("get"), "put": operation("put"), "patch": operation("patch"), "delete": operation("delete"),
    });
    (format!("/{place}/{scope}{}/{{name}}", resource.plural()), item)
}

fn schema_of(resource: Resource) -> Value {
    let mut schema = schema::of(resource).map_or_else(|| json!({"type": "object"}), Clone::clone);
    schema["x-kubernetes-group-version-kind"] = json!([kind(resource)]);
    schema
}
