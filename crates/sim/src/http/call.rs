//! From a path, a query and a body to what is asked for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::form::Form;
use super::protobuf;
use super::watch::{Start, Watch};
use crate::object::{self, Key, map_at, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::server::{Apply, Deletion, Part, Patch, Propagation};

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
    /// The program that asks; what it writes belongs to it, unless it names a field manager.
    pub agent: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    pub(super) fn asked(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    fn is_asked(&self, name: &str) -> bool {
        matches!(self.asked(name), "true" | "1")
    }

    /// Who owns the fields that are written.
    pub(super) fn manager(&self) -> Option<&str> {
        let agent = self.agent.split('/').next().unwrap_or_default();
        [self.asked("fieldManager"), agent].into_iter().find(|name| !name.is_empty())
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.asked("dryRun") == "All"
    }

    pub(super) fn json(&self) -> Result<Value, Refusal> {
        if let Ok(value) = serde_json::from_slice(&self.body) {
            return Ok(value);
        }
        if self.content_type.contains("yaml") {
            let text = String::from_utf8_lossy(&self.body);
            return serde_saphyr::from_str(&text)
                .map_err(|error| Refusal::bad_request(format!("error decoding YAML: {error}")));
        }
        if self.content_type.contains("protobuf") {
            return protobuf::read(&self.body)
                .ok_or_else(|| Refusal::unsupported("application/json, application/yaml"));
        }
        Err(Refusal::bad_request("the object provided is unrecognized: it is not JSON"))
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Call {
    /// One object.
    Get(Resource, Key),
    /// Many.
    List(List),
    /// Changes.
    Watch(Watch),
    /// A new one.
    Create(Resource, Value),
    /// Another state of an object, or of a part of it.
    Update(Resource, Part, Value),
    /// A change of an object, or of a part of it.
    Patch(Resource, Key, Part, Patch),
    /// An end.
    Delete(Resource, Key, Deletion),
    /// The end of many.
    DeleteMany(List, Deletion),
    /// The number of replicas.
    Scale(Resource, Key, ScaleCall),
    /// The polite end of a pod.
    Evict(Key, Deletion),
    /// A review that needs no memory, such as who the caller is.
    Review(Value),
    /// Something about the server itself: what it is, and how it reads.
    Document(&'static str, String),
}

/// What is done to a number of replicas.
#[derive(Clone, Debug)]
pub enum ScaleCall {
    /// It is read.
    Get,
    /// It is replaced.
    Update(Value),
    /// It is changed.
    Patch(Patch),
}

/// Which objects, and how many of them.
#[derive(Clone, Debug)]
pub struct List {
    /// Of which resource.
    pub resource: Resource,
    /// In which namespace; none for all.
    pub namespace: Option<String>,
    /// Which of them.
    pub selector: Selector,
    /// At most so many.
    pub limit: Option<usize>,
    /// From where a former page ended.
    pub from: Option<String>,
    /// As of this revision.
    pub exactly: Option<u64>,
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
        if let Some(call) = about_the_server(request) {
            return Ok(call);
        }
        let place = place(&request.path)?;
        let resource = place.resource;
        let Some(name) = place.name else {
            return on_many(request, &place);
        };
        if resource.is_namespaced() && place.namespace.is_none() {
            return Err(unknown_path());
        }
        let key = Key::new(place.namespace.unwrap_or_default(), name);
        match place.subresource {
            Some("scale") if resource.has_scale() => scale(request, resource, key),
            Some("eviction") if resource == Resource::Pods => match request.method.as_str() {
                "POST" => {
                    // kubectl drain sends it in protobuf; then the pod's own grace is what it gets.
                    let eviction = request.json().unwrap_or_default();
                    let none = Value::Null;
                    Ok(Self::Evict(key, deletion(eviction.get("deleteOptions").unwrap_or(&none))))
                }
                _ => Err(not_allowed()),
            },
            None => on_one(request, resource, key, Part::Whole),
            Some("status") if resource.has_status() => on_one(request, resource, key, Part::Status),
            Some("scale" | "status") if resource.is_custom() => Err(Refusal::not_found(resource, &key.name)),
            Some("finalize") if resource == Resource::Namespaces => {
                on_one(request, resource, key, Part::Finalizers)
            }
            Some(_) => Err(unknown_path()),
        }
    }
}

fn on_one(request: &Request, resource: Resource, key: Key, part: Part) -> Result<Call, Refusal> {
    match request.method.as_str() {
        "GET" => Ok(Call::Get(resource, key)),
        "PUT" => Ok(Call::Update(resource, part, body(request, resource, &key)?)),
        "PATCH" => Ok(Call::Patch(resource, key, part, patch(request)?)),
        "DELETE" if part == Part::Whole => Ok(Call::Delete(resource, key, asked_deletion(request)?)),
        _ => Err(not_allowed()),
    }
}

fn on_many(request: &Request, place: &Place<'_>) -> Result<Call, Refusal> {
    let resource = place.resource;
    match request.method.as_str() {
        "GET" if request.is_asked("watch") => watch(request, place).map(Call::Watch),
        "GET" => list(request, place).map(Call::List),
        "POST" if place.namespace.is_some() || !resource.is_namespaced() => {
            let key = Key::new(place.namespace.unwrap_or_default(), "");
            Ok(Call::Create(resource, body(request, resource, &key)?))
        }
        "DELETE" => Ok(Call::DeleteMany(list(request, place)?, asked_deletion(request)?)),
        _ => Err(not_allowed()),
    }
}

fn about_the_server(request: &Request) -> Option<Call> {
    if let ("POST", Some(review)) = (request.method.as_str(), review(request)) {
        return Some(Call::Review(review));
    }
    if request.method != "GET" {
        return None;
    }
    let (content_type, text) = super::discovery::document(&request.path, &request.accept)?;
    Some(Call::Document(content_type, text))
}

/// A question about the caller. Its answer does not depend on what else is asked, so a body that cannot be read (kubectl
/// sends some in protobuf) does no harm.
fn review(request: &Request) -> Option<Value> {
    let (group, kind) = match request.path.as_str() {
        "/apis/authentication.k8s.io/v1/selfsubjectreviews" => ("authentication", "SelfSubjectReview"),
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
            ("authorization", "SelfSubjectAccessReview")
        }
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews" => {
            ("authorization", "SelfSubjectRulesReview")
        }
        _ => return None,
    };
    let mut review = request.json().unwrap_or_else(|_| json!({}));
    let map = map_at(&mut review, &[]);
    map.insert("apiVersion".to_owned(), json!(format!("{group}.k8s.io/v1")));
    map.insert("kind".to_owned(), json!(kind));
    map.entry("metadata").or_insert_with(|| json!({}));
    Some(review)
}

fn selector(request: &Request, resource: Resource) -> Result<Selector, Refusal> {
    Selector::parse(resource, request.asked("labelSelector"), request.asked("fieldSelector"))
}

fn list(request: &Request, place: &Place<'_>) -> Result<List, Refusal> {
    let exact = request.asked("resourceVersionMatch") == "Exact";
    Ok(List {
        resource: place.resource,
        namespace: place.namespace.map(str::to_owned),
        selector: selector(request, place.resource)?,
        limit: request.asked("limit").parse().ok().filter(|&limit| limit > 0),
        from: Some(request.asked("continue").to_owned()).filter(|it| !it.is_empty()),
        exactly: version(request)?.filter(|_| exact),
    })
}

fn watch(request: &Request, place: &Place<'_>) -> Result<Watch, Refusal> {
    let start = match version(request)? {
        _ if request.is_asked("sendInitialEvents") => Start::InitialEvents,
        None | Some(0) => Start::Anew,
        Some(revision) => Start::After(revision),
    };
    Ok(Watch {
        resource: place.resource,
        namespace: place.namespace.map(str::to_owned),
        selector: selector(request, place.resource)?,
        form: Form::asked(request),
        start,
        bookmarks: request.is_asked("allowWatchBookmarks"),
        timeout_seconds: request.asked("timeoutSeconds").parse().ok(),
    })
}

fn version(request: &Request) -> Result<Option<u64>, Refusal> {
    let text = request.asked("resourceVersion");
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Refusal::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
        ))
    })
}

fn scale(request: &Request, resource: Resource, key: Key) -> Result<Call, Refusal> {
    let call = match request.method.as_str() {
        "GET" => ScaleCall::Get,
        "PUT" => ScaleCall::Update(request.json()?),
        "PATCH" => ScaleCall::Patch(patch(request)?),
        _ => return Err(not_allowed()),
    };
    Ok(Call::Scale(resource, key, call))
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
    let resource = resource.ok_or_else(unknown_path)?;
    if namespace.is_some() && !resource.is_namespaced() || rest.len() > 3 {
        return Err(unknown_path());
    }
    Ok(Place { resource, namespace, name: rest.get(1).copied(), subresource: rest.get(2).copied() })
}

fn is_subresource_of_namespace(rest: &[&str]) -> bool {
    matches!(rest, ["status" | "finalize"])
}

/// The object in the body, with the namespace and the name that the path says.
fn body(request: &Request, resource: Resource, key: &Key) -> Result<Value, Refusal> {
    let readable = ["", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
    if !readable.contains(&request.content_type.split(';').next().unwrap_or_default()) {
        let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        return Err(Refusal::unsupported(accepted));
    }
    let mut body = request.json()?;
    if !body.is_object() {
        let kind = resource.kind();
        return Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind})"
        )));
    }
    let sent = Key::of(&body);
    let kind = text(&body, &["kind"]).unwrap_or_default();
    if !kind.is_empty() && kind != resource.kind() {
        return Err(Refusal::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {}: no kind \"{kind}\" is registered for it",
            resource.version(),
            resource.kind()
        )));
    }
    if !sent.namespace.is_empty() && sent.namespace != key.namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Refusal::bad_request(why));
    }
    let meta = map_at(&mut body, &["metadata"]);
    if !key.namespace.is_empty() {
        meta.insert("namespace".to_owned(), key.namespace.as_str().into());
    }
    if !key.name.is_empty() {
        if !sent.name.is_empty() && sent.name != key.name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                sent.name, key.name
            )));
        }
        meta.insert("name".to_owned(), key.name.as_str().into());
    }
    Ok(body)
}

/// A patch, from the type of its content.
fn patch(request: &Request) -> Result<Patch, Refusal> {
    let body = request.json()?;
    match request.content_type.split(';').next().unwrap_or_default() {
        "application/merge-patch+json" => Ok(Patch::Merge(body)),
        "application/strategic-merge-patch+json" => Ok(Patch::Strategic(body)),
        "application/json-patch+json" => serde_json::from_value(body)
            .map(Patch::Json)
            .map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}"))),
        "application/apply-patch+yaml" => {
            let manager = request.asked("fieldManager");
            if manager.is_empty() {
                return Err(needs_manager());
            }
            Ok(Patch::Apply(Apply {
                wanted: body,
                manager: manager.to_owned(),
                force: request.is_asked("force"),
            }))
        }
        _ => Err(Refusal::bare(415, "UnsupportedMediaType", "415: Unsupported Media Type")),
    }
}

fn needs_manager() -> Refusal {
    let why = "Required value: is required for apply patch";
    let message = format!("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: {why}");
    let mut refusal = Refusal::new(422, "Invalid", message);
    refusal.details = Some(json!({
        "group": "meta.k8s.io", "kind": "PatchOptions",
        "causes": [{"reason": "FieldValueRequired", "message": why, "field": "fieldManager"}],
    }));
    refusal
}

/// The options of a deletion, from its body or its query.
fn asked_deletion(request: &Request) -> Result<Deletion, Refusal> {
    let options = if request.body.is_empty() { Value::Null } else { request.json()? };
    let mut deletion = deletion(&options);
    if let Ok(grace) = request.asked("gracePeriodSeconds").parse() {
        deletion.grace_seconds = Some(grace);
    }
    if let Some(propagation) = propagation(request.asked("propagationPolicy")) {
        deletion.propagation = propagation;
    }
    Ok(deletion)
}

fn deletion(options: &Value) -> Deletion {
    let text = |path: &[&str]| object::text(options, path).map(str::to_owned);
    Deletion {
        uid: text(&["preconditions", "uid"]),
        version: text(&["preconditions", "resourceVersion"]),
        grace_seconds: number(options, &["gracePeriodSeconds"]),
        propagation: text(&["propagationPolicy"]).as_deref().and_then(propagation).unwrap_or_default(),
    }
}

fn propagation(text: &str) -> Option<Propagation> {
    match text {
        "Foreground" => Some(Propagation::Foreground),
        "Background" => Some(Propagation::Background),
        "Orphan" => Some(Propagation::Orphan),
        _ => None,
    }
}

fn not_allowed() -> Refusal {
    Refusal::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}

fn unknown_path() -> Refusal {
    Refusal::bare(404, "NotFound", "the server could not find the requested resource")
}
