//! The server's HTTP dialect: paths, queries and bodies in, objects and watches out. It knows no socket and no clock:
//! `service` puts it behind a client, and `serve` behind a port.

mod call;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{Key, Object};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch, Propagation, Server};

pub use call::{Call, Request};

/// What the server answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// One body.
    Body {
        /// The HTTP code.
        code: u16,
        /// The body.
        body: Value,
    },
    /// A stream of changes.
    Watch(Watch),
}

/// A stream of changes that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Of which resource.
    pub resource: Resource,
    /// In which namespace; none for all.
    pub namespace: Option<String>,
    /// The changes after this revision.
    pub since: u64,
}

impl Watch {
    /// Whether a change belongs into the stream.
    pub fn wants(&self, resource: Resource, key: &Key) -> bool {
        resource == self.resource && self.namespace.as_ref().is_none_or(|it| *it == key.namespace)
    }
}

/// Answers a request.
pub fn answer(server: &mut Server, now: Timestamp, caller: &Caller, request: &Request) -> Answer {
    match Call::read(request).and_then(|call| carry_out(server, now, caller, call)) {
        Ok(answer) => answer,
        Err(refusal) => Answer::Body { code: refusal.code, body: refusal.status() },
    }
}

fn carry_out(server: &mut Server, now: Timestamp, caller: &Caller, call: Call) -> Result<Answer, Refusal> {
    let object = |code: u16, object: Object| Answer::Body { code, body: Value::clone(&object) };
    match call {
        Call::Get { resource, key, .. } => {
            server.get(resource, &key).map(|it| object(200, Object::clone(it)))
        }
        Call::List { resource, namespace } => Ok(list(server, resource, namespace.as_deref())),
        Call::Watch(watch) => Ok(Answer::Watch(watch)),
        Call::Create { resource, body } => {
            server.create(now, caller, resource, body).map(|it| object(201, it))
        }
        Call::Update { resource, part, body } => {
            server.update(now, caller, resource, part, body).map(|it| object(200, it))
        }
        Call::Patch { resource, key, part, patch } => {
            server.patch(now, caller, resource, &key, part, &patch).map(|it| object(200, it))
        }
        Call::Delete { resource, key, deletion } => {
            server.delete(now, caller, resource, &key, &deletion).map(|it| object(200, it))
        }
        Call::WhoAmI => Ok(Answer::Body {
            code: 201,
            body: json!({
                "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {},
                "status": {"userInfo": {"username": caller.user}},
            }),
        }),
    }
}

fn list(server: &Server, resource: Resource, namespace: Option<&str>) -> Answer {
    let store = server.store();
    let items: Vec<Value> = match namespace {
        Some(namespace) => store.within(resource, namespace).map(|(_, it)| Value::clone(it)).collect(),
        None => store.all(resource).map(|(_, it)| Value::clone(it)).collect(),
    };
    let body = json!({
        "apiVersion": resource.api_version(),
        "kind": format!("{}List", resource.kind()),
        "metadata": {"resourceVersion": store.revision().to_string()},
        "items": items,
    });
    Answer::Body { code: 200, body }
}

/// The options of a deletion, from its body.
fn deletion(body: &Value) -> Deletion {
    let text = |path: &[&str]| crate::object::text(body, path).map(str::to_owned);
    Deletion {
        uid: text(&["preconditions", "uid"]),
        version: text(&["preconditions", "resourceVersion"]),
        grace_seconds: crate::object::number(body, &["gracePeriodSeconds"]),
        propagation: match text(&["propagationPolicy"]).as_deref() {
            Some("Foreground") => Propagation::Foreground,
            Some("Orphan") => Propagation::Orphan,
            _ => Propagation::Background,
        },
    }
}

/// A patch, from the type of its content.
fn patch(content_type: &str, body: Value) -> Result<Patch, Refusal> {
    match content_type.split(';').next().unwrap_or_default() {
        "application/merge-patch+json" => Ok(Patch::Merge(body)),
        "application/json-patch+json" => serde_json::from_value(body)
            .map(Patch::Json)
            .map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}"))),
        other => Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json; this was {other}"
            ),
        )),
    }
}

/// The part that a subresource names.
fn part(subresource: Option<&str>) -> Result<Part, Refusal> {
    match subresource {
        None => Ok(Part::Whole),
        Some("status") => Ok(Part::Status),
        Some(_) => Err(unknown_path()),
    }
}

fn unknown_path() -> Refusal {
    Refusal::new(404, "NotFound", "the server could not find the requested resource")
}
