//! The server's HTTP dialect: paths, queries and bodies in, objects and watches out. It knows no socket and no clock:
//! `service` puts it behind a client, and `serve` behind a port.

mod call;
mod discovery;
mod form;
mod list;
mod openapi;
mod protobuf;
mod strict;
mod table;
mod watch;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{self, Key, Object};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Server};

pub use call::{Call, List, Request, ScaleCall};
pub use form::Form;
pub use table::Included;
pub use watch::{Event, EventKind, Progress, Start, Watch};

/// What the server answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// One body.
    Body {
        /// The HTTP code.
        code: u16,
        /// The body.
        body: Object,
        /// What the server has to say besides.
        warnings: Vec<String>,
    },
    /// Something about the server itself.
    Document {
        /// What it is.
        content_type: &'static str,
        /// How it reads.
        text: String,
    },
    /// A stream of changes.
    Watch(Watch),
}

impl Answer {
    fn new(code: u16, body: Value) -> Self {
        Self::Body { code, body: Arc::new(body), warnings: Vec::new() }
    }

    fn warning(mut self, more: Vec<String>) -> Self {
        if let Self::Body { warnings, .. } = &mut self {
            warnings.extend(more);
        }
        self
    }
}

/// Answers a request.
pub fn answer(server: &mut Server, now: Timestamp, caller: &Caller, request: &Request) -> Answer {
    let answered = Call::read(request).and_then(|call| {
        let warnings = strict::check(request, &call)?;
        if !request.is_dry_run() {
            return carry_out(server, now, caller, request, call).map(|it| it.warning(warnings));
        }
        // What happens to a copy does not happen.
        let mut copy = server.clone();
        let answer = carry_out(&mut copy, now, caller, request, call)?;
        server.skip_uids_of(&copy);
        Ok(unwritten(server, answer).warning(warnings))
    });
    answered.unwrap_or_else(|refusal| Answer::new(refusal.code, refusal.status()))
}

/// An object that was not written has the version that is stored, if any.
fn unwritten(server: &Server, answer: Answer) -> Answer {
    let Answer::Body { code, body, warnings } = answer else { return answer };
    let text = |field| object::text(&body, &[field]).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let Some(resource) = Resource::of_kind(group, text("kind")) else {
        return Answer::Body { code, body, warnings };
    };
    let stored = server.store().get(resource, &Key::of(&body));
    let version = stored.and_then(|it| object::at(it, &["metadata", "resourceVersion"])).cloned();
    let mut body = Value::clone(&body);
    let meta = object::map_at(&mut body, &["metadata"]);
    match version {
        Some(version) => drop(meta.insert("resourceVersion".to_owned(), version)),
        None => drop(meta.remove("resourceVersion")),
    }
    Answer::Body { code, body: Arc::new(body), warnings }
}

fn carry_out(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    request: &Request,
    call: Call,
) -> Result<Answer, Refusal> {
    let shown = |code: u16, resource: Resource, object: &Object| Answer::Body {
        code,
        body: Form::asked(request).one(resource, object, now),
        warnings: Vec::new(),
    };
    let managed = Caller { user: caller.user.clone(), manager: request.manager().map(str::to_owned) };
    let caller = &managed;
    match call {
        Call::Get(resource, key) => server.get(resource, &key).map(|it| shown(200, resource, it)),
        Call::List(list) => list::list(server, now, &list, &Form::asked(request)),
        Call::Watch(watch) => Ok(Answer::Watch(watch)),
        Call::Create(resource, body) => {
            server.create(now, caller, resource, body).map(|it| shown(201, resource, &it))
        }
        Call::Update(resource, part, body) => {
            server.update(now, caller, resource, part, body).map(|it| shown(200, resource, &it))
        }
        Call::Patch(resource, key, part, patch) => {
            let existed = server.store().get(resource, &key).is_some();
            let code = if existed { 200 } else { 201 };
            server.patch(now, caller, resource, &key, part, &patch).map(|it| shown(code, resource, &it))
        }
        Call::Delete(resource, key, deletion) => {
            let last = server.delete(now, caller, resource, &key, &deletion)?;
            let gone = server.store().get(resource, &key).is_none();
            Ok(deleted(resource, &last, gone))
        }
        Call::DeleteMany(list, deletion) => delete_many(server, now, caller, &list, &deletion),
        Call::Scale(resource, key, call) => scale(server, now, caller, resource, &key, call),
        Call::Evict(key, deletion) => {
            server.evict(now, caller, &key, &deletion)?;
            let mut status = success();
            status["code"] = json!(201);
            Ok(Answer::new(201, status))
        }
        Call::Review(review) => Ok(Answer::new(201, reviewed(caller, review))),
        Call::Document(content_type, text) => Ok(Answer::Document { content_type, text }),
    }
}

/// A real server answers with a `Status` once the object is gone, but with the last state of a pod and the like.
fn deleted(resource: Resource, last: &Object, gone: bool) -> Answer {
    let shows_object = !gone
        || matches!(
            resource,
            Resource::Pods
                | Resource::Services
                | Resource::Claims
                | Resource::ServiceAccounts
                | Resource::Quotas
        );
    if shows_object {
        return Answer::Body { code: 200, body: Arc::clone(last), warnings: Vec::new() };
    }
    let mut status = success();
    let mut details =
        json!({"name": object::name(last), "kind": resource.plural(), "uid": object::uid(last)});
    if !resource.group().is_empty() {
        details["group"] = json!(resource.group());
    }
    status["details"] = details;
    Answer::new(200, status)
}

fn success() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
}

fn delete_many(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    list: &List,
    deletion: &Deletion,
) -> Result<Answer, Refusal> {
    let meant = watch::meant(server.store(), list.resource, list.namespace.as_deref(), &list.selector);
    let keys: Vec<Key> = meant.map(|(key, _)| key.clone()).collect();
    let mut items = Vec::new();
    for key in keys {
        items.push(server.delete(now, caller, list.resource, &key, deletion)?);
    }
    let items: Vec<&Object> = items.iter().collect();
    Ok(Answer::new(200, Form::Whole.many(list.resource, &items, server.store().revision(), now)))
}

fn scale(
    server: &mut Server,
    now: Timestamp,
    caller: &Caller,
    resource: Resource,
    key: &Key,
    call: ScaleCall,
) -> Result<Answer, Refusal> {
    let scale = match call {
        ScaleCall::Get => server.scale(resource, key)?,
        ScaleCall::Update(scale) => server.set_scale(now, caller, resource, key, |_| Ok(scale))?,
        ScaleCall::Patch(patch) => server.set_scale(now, caller, resource, key, |mut scale| {
            patch.apply_plainly(&mut scale)?;
            Ok(scale)
        })?,
    };
    Ok(Answer::new(200, scale))
}

/// Everything is allowed here, and everybody is who they say.
fn reviewed(caller: &Caller, mut review: Value) -> Value {
    let kind = object::text(&review, &["kind"]).unwrap_or_default().to_owned();
    review["status"] = match kind.as_str() {
        "SelfSubjectReview" => {
            json!({"userInfo": {"username": caller.user, "groups": ["system:authenticated"]}})
        }
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "incomplete": false,
        }),
        _ => json!({"allowed": true}),
    };
    review
}
