//! What a client wants to hear about fields that nobody knows (`fieldValidation`).

use super::call::{Call, Request};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema;
use crate::server::{Apply, Patch};

/// Refuses unknown fields, or warns of them, as the request asks. Only our own kinds are checked: those of Kubernetes
/// itself have no schema here. Who asks for nothing gets no warnings, because nobody would read them.
pub(super) fn check(request: &Request, call: &Call) -> Result<Vec<String>, Refusal> {
    let strict = match request.asked("fieldValidation") {
        "Strict" => true,
        "Warn" => false,
        _ => return Ok(Vec::new()),
    };
    let (resource, body) = match call {
        Call::Create(resource, body) | Call::Update(resource, _, body) => (*resource, body),
        Call::Patch(resource, _, _, Patch::Merge(body) | Patch::Apply(Apply { wanted: body, .. })) => {
            (*resource, body)
        }
        _ => return Ok(Vec::new()),
    };
    let Some(schema) = schema::of(resource) else { return Ok(Vec::new()) };
    let mut unknown = schema::prune(schema, &mut body.clone());
    unknown.sort();
    let said: Vec<String> = unknown.into_iter().map(|field| format!("unknown field \"{field}\"")).collect();
    if strict && !said.is_empty() {
        return Err(refused(resource, call, &said.join(", ")));
    }
    Ok(said)
}

fn refused(resource: Resource, call: &Call, said: &str) -> Refusal {
    match call {
        Call::Patch(..) => Refusal::new(
            422,
            "Invalid",
            format!(" \"\" is invalid: patch: Invalid value: strict decoding error: {said}"),
        ),
        _ => Refusal::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {said}",
            kind = resource.kind(),
            version = resource.version()
        )),
    }
}
