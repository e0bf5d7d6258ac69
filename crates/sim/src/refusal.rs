//! Why the server refuses a request, in the words and numbers of the real one.

use serde_json::{Value, json};

use crate::object::Key;
use crate::resource::Resource;
use crate::schema::Flaw;

/// A request that was refused: the `Status` object of the API.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// The machine's word for it.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about.
    pub details: Option<Value>,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    /// A refusal that is about no object.
    pub(crate) fn bare(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { details: Some(json!({})), ..Self::new(code, reason, message) }
    }

    /// There is no such object.
    pub fn not_found(resource: Resource, name: &str) -> Self {
        let mut refusal =
            Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified()));
        refusal.details = Some(details(resource, name));
        refusal
    }

    /// There is one of that name.
    pub fn already_exists(resource: Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        let mut refusal = Self::new(409, "AlreadyExists", message);
        refusal.details = Some(details(resource, name));
        refusal
    }

    /// The object is another one than the request rests on.
    pub fn conflict(resource: Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        let mut refusal = Self::new(409, "Conflict", message);
        refusal.details = Some(details(resource, name));
        refusal
    }

    /// A replace has to say which version it replaces.
    pub(crate) fn without_version(resource: Resource, name: &str) -> Self {
        let why = "Invalid value: 0: must be specified for an update";
        let message =
            format!("{} \"{name}\" is invalid: metadata.resourceVersion: {why}", resource.qualified());
        let mut refusal = Self::new(422, "Invalid", message);
        let mut details = details(resource, name);
        details["causes"] =
            json!([{"reason": "FieldValueInvalid", "message": why, "field": "metadata.resourceVersion"}]);
        refusal.details = Some(details);
        refusal
    }

    /// The object has changed since it was read.
    pub fn modified(resource: Resource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// A policy says no.
    pub fn forbidden(resource: Resource, key: &Key, why: &str) -> Self {
        let message = format!("{} \"{}\" is forbidden: {why}", resource.qualified(), key.name);
        let mut refusal = Self::new(403, "Forbidden", message);
        refusal.details = Some(details(resource, &key.name));
        refusal
    }

    /// The body is of a type that is not taken.
    pub fn unsupported(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The object would be wrong in one or more ways.
    pub(crate) fn flawed(resource: Resource, name: &str, flaws: &[Flaw]) -> Self {
        let mut said: Vec<String> = flaws.iter().map(|it| format!("{}: {}", it.field, it.why)).collect();
        // A real server finds some flaws twice, and says them once.
        said.dedup();
        let said = match said.as_slice() {
            [only] => only.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let kind = qualified_kind(resource);
        let mut refusal = Self::new(422, "Invalid", format!("{kind} \"{name}\" is invalid: {said}"));
        let causes: Vec<Value> = flaws
            .iter()
            .map(|it| json!({"reason": it.reason, "message": it.why, "field": it.field}))
            .collect();
        let mut details = json!({"kind": resource.kind(), "causes": causes});
        if !name.is_empty() {
            details["name"] = json!(name);
        }
        if !resource.group().is_empty() {
            details["group"] = json!(resource.group());
        }
        refusal.details = Some(details);
        refusal
    }

    /// The object would be wrong.
    pub fn invalid(resource: Resource, name: &str, field: &str, why: &str) -> Self {
        let flaw = Flaw { field: field.to_owned(), reason: "FieldValueInvalid", why: why.to_owned() };
        Self::flawed(resource, name, &[flaw])
    }

    /// The request cannot be understood.
    pub fn bad_request(why: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", why)
    }

    /// As an object of the API.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

fn qualified_kind(resource: Resource) -> String {
    match resource.group() {
        "" => resource.kind().to_owned(),
        group => format!("{}.{group}", resource.kind()),
    }
}

fn details(resource: Resource, name: &str) -> Value {
    match resource.group() {
        "" => json!({"name": name, "kind": resource.plural()}),
        group => json!({"name": name, "group": group, "kind": resource.plural()}),
    }
}
