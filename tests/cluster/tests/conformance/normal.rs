//! Answers without what no two servers share. Versions and uids are numbered as they appear, so that "the same version
//! as before" stays visible.

use std::collections::BTreeMap;

use axum::http::Request;
use serde_json::{Value, json};
use windlass_bed::User;

use crate::ask::{Ask, Case};
use crate::planes::{Plane, send};

/// The answers of a server to a case.
pub(crate) async fn answers(case: &Case, namespace: &str, plane: &impl Plane) -> Vec<Value> {
    let mut names = Names::new(namespace);
    let admin = plane.client(User::Admin);
    for (path, body) in [
        ("/api/v1/namespaces".to_owned(), json!({"metadata": {"name": namespace}})),
        (format!("/api/v1/namespaces/{namespace}/serviceaccounts"), json!({"metadata": {"name": "default"}})),
    ] {
        let request = Request::post(path).header("content-type", "application/json");
        let (code, _) = send(&admin, request.body(body.to_string().into_bytes()).unwrap()).await;
        assert!(code == 201 || code == 409, "{code}");
    }
    let mut answers = Vec::new();
    for ask in &case.steps {
        answers.push(answer(ask, plane, &mut names).await);
    }
    answers
}

async fn answer(ask: &Ask, plane: &impl Plane, names: &mut Names) -> Value {
    let request = Request::builder()
        .method(ask.method)
        .uri(names.fill(&ask.path))
        .header("content-type", ask.content_type)
        .header("accept", ask.accept)
        .header("user-agent", "conformance/1")
        .body(names.fill(&ask.body).into_bytes())
        .unwrap();
    let (code, body) = send(&plane.client(ask.user), request).await;
    let text = String::from_utf8_lossy(&body);
    if ask.is_watch() && code == 200 {
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events: Vec<Value> = events.filter(is_an_event).map(|it| names.normal(it)).collect();
        return json!({"code": code, "events": events});
    }
    let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
    if let Some(name) = ask.remembered {
        for (field, short) in [("uid", "uid"), ("resourceVersion", "rv")] {
            let value = body.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
            names.remembered.insert(format!("{{{name}.{short}}}"), value.unwrap_or_default().to_owned());
        }
        let token = body.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default();
        names.remembered.insert(format!("{{{name}.continue}}"), token.to_owned());
    }
    json!({"code": code, "body": names.normal(body)})
}

/// A sign of life comes when it comes; only the one that ends the initial events has its place.
fn is_an_event(event: &Value) -> bool {
    event["type"] != "BOOKMARK" || event.pointer("/object/metadata/annotations").is_some()
}

struct Names {
    namespace: String,
    remembered: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    uids: BTreeMap<String, String>,
}

impl Names {
    fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            remembered: BTreeMap::new(),
            versions: BTreeMap::new(),
            uids: BTreeMap::new(),
        }
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text.replace("{ns}", &self.namespace);
        for (placeholder, value) in &self.remembered {
            text = text.replace(placeholder, value);
        }
        text
    }

    fn normal(&mut self, mut value: Value) -> Value {
        self.number(&value);
        self.rename(&mut value, "");
        value
    }

    /// Gives uids and versions of objects their numbers, in order of appearance.
    fn number(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                let is_list = map.contains_key("items") || map.contains_key("rows");
                if let Some(meta) = map.get("metadata").filter(|_| !is_list) {
                    let next = format!("version {}", self.versions.len() + 1);
                    if let Some(version) = meta["resourceVersion"].as_str() {
                        self.versions.entry(version.to_owned()).or_insert(next);
                    }
                    let next = format!("uid {}", self.uids.len() + 1);
                    if let Some(uid) = meta["uid"].as_str() {
                        self.uids.entry(uid.to_owned()).or_insert(next);
                    }
                }
                map.values().for_each(|value| self.number(value));
            }
            Value::Array(items) => items.iter().for_each(|value| self.number(value)),
            _ => {}
        }
    }

    fn rename(&self, value: &mut Value, field: &str) {
        match value {
            Value::Object(map) => {
                let is_list = map.contains_key("items") || map.contains_key("rows");
                // Custom resources are discovered in no order.
                if let Some(Value::Array(resources)) = map.get_mut("resources") {
                    resources.sort_by_key(|resource| resource["name"].to_string());
                }
                if let Some(Value::Object(meta)) = map.get_mut("metadata") {
                    meta.remove("managedFields");
                    meta.remove("selfLink");
                    if is_list {
                        meta.remove("resourceVersion");
                    }
                    if meta.get("continue").is_some_and(|it| it != "") {
                        meta.insert("continue".to_owned(), json!("token"));
                    }
                }
                for (field, value) in map.iter_mut() {
                    self.rename(value, field);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|value| self.rename(value, field)),
            Value::String(text) => *text = self.renamed(text, field),
            _ => {}
        }
    }

    fn renamed(&self, text: &str, field: &str) -> String {
        if field == "resourceVersion" {
            return self.versions.get(text).cloned().unwrap_or_else(|| "another version".to_owned());
        }
        let is_moment = text.len() >= 20 && text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok();
        if is_moment {
            return "a moment".to_owned();
        }
        let is_age = |text: &str| text.strip_suffix('s').is_some_and(|it| it.parse::<u32>().is_ok());
        if field == "cells" && is_age(text) {
            return "an age".to_owned();
        }
        let mut text = text.replace(&self.namespace, "NAMESPACE");
        for (uid, name) in &self.uids {
            text = text.replace(uid, name);
        }
        if field == "message" {
            for (version, name) in &self.versions {
                text = text.replace(&format!(": {version}"), &format!(": {name}"));
                text = text.replace(&format!("({version})"), &format!("({name})"));
            }
        }
        text
    }
}

/// Where two answers differ.
pub(crate) struct Difference {
    pub(crate) place: String,
    pub(crate) real: Option<Value>,
    pub(crate) simulated: Option<Value>,
}

pub(crate) fn compare(place: &str, real: &Value, simulated: &Value, found: &mut Vec<Difference>) {
    match (real, simulated) {
        (Value::Object(left), Value::Object(right)) => {
            let fields: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for field in fields {
                let here = format!("{place}/{field}");
                match (left.get(field), right.get(field)) {
                    (Some(real), Some(simulated)) => compare(&here, real, simulated, found),
                    (real, simulated) => found.push(Difference {
                        place: here,
                        real: real.cloned(),
                        simulated: simulated.cloned(),
                    }),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (real, simulated)) in left.iter().zip(right).enumerate() {
                compare(&format!("{place}/{index}"), real, simulated, found);
            }
        }
        (real, simulated) if real == simulated => {}
        (real, simulated) => found.push(Difference {
            place: place.to_owned(),
            real: Some(real.clone()),
            simulated: Some(simulated.clone()),
        }),
    }
}
