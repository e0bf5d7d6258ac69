//! From a path, a query and a body to what is asked for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Watch, deletion, part, patch, unknown_path};
use crate::object::{Key, map_at};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Deletion, Part, Patch};

/// A request, without the socket that it came through.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query, decoded.
    pub query: BTreeMap<String, String>,
    /// The type of the body.
    pub content_type: String,
    /// The types that are accepted.
    pub accept: String,
    /// The body.
    pub body: Vec<u8>,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Call {
    /// One object.
    Get {
        /// Of which resource.
        resource: Resource,
        /// Which.
        key: Key,
        /// Which part.
        part: Part,
    },
    /// Many.
    List {
        /// Of which resource.
        resource: Resource,
        /// In which namespace; none for all.
        namespace: Option<String>,
    },
    /// Changes.
    Watch(Watch),
    /// A new one.
    Create {
        /// Of which resource.
        resource: Resource,
        /// The object.
        body: Value,
    },
    /// Another state.
    Update {
        /// Of which resource.
        resource: Resource,
        /// Of which part.
        part: Part,
        /// The object.
        body: Value,
    },
    /// A change.
    Patch {
        /// Of which resource.
        resource: Resource,
        /// Which.
        key: Key,
        /// Of which part.
        part: Part,
        /// The change.
        patch: Patch,
    },
    /// An end.
    Delete {
        /// Of which resource.
        resource: Resource,
        /// Which.
        key: Key,
        /// How.
        deletion: Deletion,
    },
    /// Who the caller is.
    WhoAmI,
}

/// What a path names.
struct Place<'a> {
    resource: Resource,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    subresource: Option<&'a str>,
}

impl Call {
    /// Reads a request.
    pub fn read(request: &Request) -> Result<Self, Refusal> {
        if request.path == "/apis/authentication.k8s.io/v1/selfsubjectreviews" {
            return Ok(Self::WhoAmI);
        }
        let place = place(&request.path)?;
        let resource = place.resource;
        let key = |name: &str| Key::new(place.namespace.unwrap_or_default(), name);
        match (request.method.as_str(), place.name) {
            ("GET", Some(name)) => Ok(Self::Get { resource, key: key(name), part: part(place.subresource)? }),
            ("GET", None) if asks_to_watch(request) => Ok(Self::Watch(Watch {
                resource,
                namespace: place.namespace.map(str::to_owned),
                since: request
                    .query
                    .get("resourceVersion")
                    .and_then(|it| it.parse().ok())
                    .unwrap_or_default(),
            })),
            ("GET", None) => Ok(Self::List { resource, namespace: place.namespace.map(str::to_owned) }),
            ("POST", None) => Ok(Self::Create { resource, body: body(request, place.namespace, None)? }),
            ("PUT", Some(name)) => Ok(Self::Update {
                resource,
                part: part(place.subresource)?,
                body: body(request, place.namespace, Some(name))?,
            }),
            ("PATCH", Some(name)) => Ok(Self::Patch {
                resource,
                key: key(name),
                part: part(place.subresource)?,
                patch: patch(&request.content_type, json(request)?)?,
            }),
            ("DELETE", Some(name)) => {
                let options = if request.body.is_empty() { Value::Null } else { json(request)? };
                Ok(Self::Delete { resource, key: key(name), deletion: deletion(&options) })
            }
            _ => Err(Refusal::new(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )),
        }
    }
}

fn asks_to_watch(request: &Request) -> bool {
    request.query.get("watch").is_some_and(|it| it == "true" || it == "1")
}

/// `/api/v1/…` or `/apis/GROUP/VERSION/…`, then perhaps a namespace, the resource, a name, a subresource.
fn place(path: &str) -> Result<Place<'_>, Refusal> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let (group, version) = match parts.next() {
        Some("api") => ("", parts.next().unwrap_or_default()),
        Some("apis") => (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()),
        _ => return Err(unknown_path()),
    };
    let rest: Vec<&str> = parts.collect();
    let (namespace, rest) = match rest.as_slice() {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() && !is_subresource_of_namespace(rest) => {
            (Some(*namespace), rest)
        }
        rest => (None, rest),
    };
    let resource = rest.first().and_then(|plural| Resource::named(group, version, plural));
    Ok(Place {
        resource: resource.ok_or_else(unknown_path)?,
        namespace,
        name: rest.get(1).copied(),
        subresource: rest.get(2).copied(),
    })
}

fn is_subresource_of_namespace(rest: &[&str]) -> bool {
    matches!(rest, ["status" | "finalize"])
}

fn json(request: &Request) -> Result<Value, Refusal> {
    serde_json::from_slice(&request.body)
        .map_err(|error| Refusal::bad_request(format!("the body is not JSON: {error}")))
}

/// The object in the body, with the namespace and the name that the path says.
fn body(request: &Request, namespace: Option<&str>, name: Option<&str>) -> Result<Value, Refusal> {
    let mut body = json(request)?;
    let meta = map_at(&mut body, &["metadata"]);
    if let Some(namespace) = namespace {
        meta.insert("namespace".to_owned(), namespace.into());
    }
    if let Some(name) = name {
        meta.insert("name".to_owned(), name.into());
    }
    Ok(body)
}
