//! Lists: which objects, in pages, in the form that is asked for.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Answer;
use super::call::List;
use super::form::Form;
use super::watch::{expired, meant};
use crate::object::Key;
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema;
use crate::server::Server;
use crate::store::Store;

/// Answers a list. A page that continues another shows what is there now, not what was there then: the store keeps no
/// old states. A real server keeps them for some minutes.
pub(super) fn list(server: &Server, now: Timestamp, list: &List, form: &Form) -> Result<Answer, Refusal> {
    let store = server.store();
    if let Some(revision) = list.exactly.filter(|&revision| revision != store.revision()) {
        return Err(expired(revision));
    }
    let from = match &list.from {
        None => None,
        Some(text) => Some(continued(store, text)?),
    };
    let all = meant(store, list.resource, list.namespace.as_deref(), &list.selector);
    let mut rest = all.skip_while(|(key, _)| from.as_ref().is_some_and(|from| *key <= from)).peekable();
    let mut page = Vec::new();
    let mut end = None;
    while let Some((key, object)) = rest.peek() {
        if list.limit.is_some_and(|limit| page.len() >= limit) {
            break;
        }
        end = Some((*key).clone());
        page.push(*object);
        rest.next();
    }
    let left = rest.count();
    let mut body = form.many(list.resource, &page, store.revision(), now);
    if let Some(last) = end.filter(|_| left > 0) {
        let token = format!("{}:{}/{}", store.revision(), last.namespace, last.name);
        body["metadata"]["continue"] = json!(token);
        if list.selector.is_empty() {
            body["metadata"]["remainingItemCount"] = json!(left);
        }
    }
    Ok(Answer::new(200, body))
}

/// The last object of the page before.
fn continued(store: &Store, token: &str) -> Result<Key, Refusal> {
    let read = || {
        let (revision, key) = token.split_once(':')?;
        let (namespace, name) = key.split_once('/')?;
        Some((revision.parse::<u64>().ok()?, Key::new(namespace, name)))
    };
    let (revision, key) = read()
        .ok_or_else(|| Refusal::bad_request("continue key is not valid: it was not made by this server"))?;
    if store.since(revision).is_none() {
        return Err(Refusal::new(
            410,
            "Expired",
            "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
        ));
    }
    Ok(key)
}

/// A list around its items.
pub(super) fn envelope(resource: Resource, revision: u64, items: Vec<Value>) -> Value {
    let mut list = json!({
        "apiVersion": resource.api_version(),
        "kind": format!("{}List", resource.kind()),
        "metadata": {"resourceVersion": revision.to_string()},
    });
    if schema::of(resource).is_some() {
        list["metadata"]["continue"] = json!("");
    }
    // Not within the macro, which would copy them.
    list["items"] = Value::Array(items);
    list
}
