//! Watches: which changes belong into a stream, and as what. Whoever serves a watch keeps a `Progress` and pulls from the
//! store whenever something was written: there is no queue that could fall behind.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::form::Form;
use crate::object::{Key, Object, map_at};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::store::{Change, ChangeKind, Store};

/// A stream of changes that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Of which resource.
    pub resource: Resource,
    /// In which namespace; none for all.
    pub namespace: Option<String>,
    /// Of which objects.
    pub selector: Selector,
    /// In which form objects are shown.
    pub form: Form,
    /// What comes first.
    pub start: Start,
    /// Whether signs of life are wanted.
    pub bookmarks: bool,
    /// After how many seconds the stream ends.
    pub timeout_seconds: Option<u64>,
}

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the changes after this revision.
    After(u64),
    /// With everything that exists.
    Anew,
    /// With everything that exists, and a bookmark that says where that ends.
    InitialEvents,
}

/// What an event of a watch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventKind {
    /// The object is new in the stream.
    Added,
    /// It is another.
    Modified,
    /// It is gone, or no longer meant.
    Deleted,
    /// Everything up to this version was sent.
    Bookmark,
    /// The stream cannot go on.
    Error,
}

/// One event of a watch.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it says.
    pub kind: EventKind,
    /// Of what.
    pub object: Arc<Value>,
}

impl Event {
    /// As a line of the stream.
    pub fn line(&self) -> Vec<u8> {
        // An object of the API has texts as keys, which is all that JSON asks.
        let line = Line { kind: self.kind, object: &self.object };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: EventKind,
    object: &'a Value,
}

/// How far a watch has come.
#[derive(Clone, Debug)]
pub struct Progress {
    watch: Watch,
    at: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Fresh,
    Following,
    Over,
}

impl Progress {
    /// A watch that has sent nothing yet.
    pub fn new(watch: Watch) -> Self {
        Self { watch, at: 0, stage: Stage::Fresh }
    }

    /// What is watched.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Whether the last event was the end.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// What has happened since the last pull.
    pub fn pull(&mut self, store: &Store, now: Timestamp) -> Vec<Event> {
        let mut events = Vec::new();
        if self.stage == Stage::Fresh {
            self.stage = Stage::Following;
            match self.watch.start {
                Start::After(revision) => self.at = revision,
                Start::Anew => events = self.everything(store, now),
                Start::InitialEvents => {
                    events = self.everything(store, now);
                    events.push(self.bookmark(Some("k8s.io/initial-events-end")));
                }
            }
        }
        let Some(changes) = store.since(self.at) else {
            self.stage = Stage::Over;
            let refusal = expired(self.at);
            events.push(Event { kind: EventKind::Error, object: Arc::new(refusal.status()) });
            return events;
        };
        for change in changes {
            if self.watch.covers(change.resource, &change.key)
                && let Some(event) = self.watch.event(change, now)
            {
                events.push(event);
                // The heading of a table stands over its first row only.
                self.watch.form = self.watch.form.without_heading();
            }
        }
        self.at = self.at.max(store.revision());
        events
    }

    /// A sign of life.
    pub fn bookmark(&self, annotation: Option<&str>) -> Event {
        let resource = self.watch.resource;
        let mut object = json!({
            "kind": resource.kind(), "apiVersion": resource.api_version(),
            "metadata": {"resourceVersion": self.at.to_string()},
        });
        if let Some(annotation) = annotation {
            object["metadata"]["annotations"] = json!({annotation: "true"});
        }
        Event { kind: EventKind::Bookmark, object: self.watch.form.bookmark(object) }
    }

    fn everything(&mut self, store: &Store, now: Timestamp) -> Vec<Event> {
        self.at = store.revision();
        let meant = meant(store, self.watch.resource, self.watch.namespace.as_deref(), &self.watch.selector);
        let mut form = self.watch.form.clone();
        let mut events = Vec::new();
        for (_, object) in meant {
            events.push(Event { kind: EventKind::Added, object: form.one(self.watch.resource, object, now) });
            form = form.without_heading();
        }
        self.watch.form = form;
        events
    }
}

/// The objects that a query means, by namespace and name.
pub(super) fn meant<'a>(
    store: &'a Store,
    resource: Resource,
    namespace: Option<&'a str>,
    selector: &'a Selector,
) -> Box<dyn Iterator<Item = (&'a Key, &'a Object)> + 'a> {
    match namespace {
        Some(namespace) => Box::new(store.within(resource, namespace).filter(|(_, it)| selector.matches(it))),
        None => Box::new(store.all(resource).filter(|(_, it)| selector.matches(it))),
    }
}

/// The changes that somebody asks for are forgotten.
pub(super) fn expired(since: u64) -> Refusal {
    Refusal::new(410, "Expired", format!("too old resource version: {since}"))
}

impl Watch {
    fn covers(&self, resource: Resource, key: &Key) -> bool {
        resource == self.resource && self.namespace.as_ref().is_none_or(|it| *it == key.namespace)
    }

    /// An object that enters what is meant is new, and one that leaves it is gone.
    fn event(&self, change: &Change, now: Timestamp) -> Option<Event> {
        let was = change.before.as_ref().is_some_and(|it| self.selector.matches(it));
        let is = change.kind != ChangeKind::Deleted && self.selector.matches(&change.object);
        let kind = match (was, is) {
            (false, false) => return None,
            (false, true) => EventKind::Added,
            (true, true) => EventKind::Modified,
            (true, false) => EventKind::Deleted,
        };
        let object = match (&change.before, change.kind) {
            // What leaves the selection is shown as it was last meant, with the version of the change.
            (Some(before), ChangeKind::Modified) if kind == EventKind::Deleted => {
                let mut last = Value::clone(before);
                let version = json!(change.revision.to_string());
                map_at(&mut last, &["metadata"]).insert("resourceVersion".to_owned(), version);
                Arc::new(last)
            }
            _ => Arc::clone(&change.object),
        };
        Some(Event { kind, object: self.form.one(self.resource, &object, now) })
    }
}
