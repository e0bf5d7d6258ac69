//! In which form objects are shown: whole, as metadata only, or as rows of a table.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::Request;
use super::list::envelope;
use super::table::{self, Included};
use crate::object::{Object, text};
use crate::resource::Resource;
use crate::schema;

/// What the client accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Objects as they are.
    Whole,
    /// Their metadata.
    Metadata,
    /// Rows, with or without a heading.
    Table {
        /// Whether the columns are named.
        heading: bool,
        /// What each row carries of its object.
        included: Included,
    },
}

impl Form {
    /// The first alternative that we know.
    pub fn asked(request: &Request) -> Self {
        for alternative in request.accept.split(',') {
            let mut parts = alternative.split(';').map(str::trim);
            if parts.next() != Some("application/json") {
                continue;
            }
            return match parts.find_map(|part| part.strip_prefix("as=")) {
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Self::Metadata,
                Some("Table") => {
                    Self::Table { heading: true, included: Included::asked(request.asked("includeObject")) }
                }
                _ => Self::Whole,
            };
        }
        Self::Whole
    }

    /// The same, with no heading.
    #[must_use]
    pub fn without_heading(&self) -> Self {
        match self {
            Self::Table { included, .. } => Self::Table { heading: false, included: *included },
            other => other.clone(),
        }
    }

    /// One object.
    pub fn one(&self, resource: Resource, object: &Object, now: Timestamp) -> Arc<Value> {
        match self {
            Self::Whole => Arc::clone(object),
            Self::Metadata => Arc::new(metadata(object)),
            Self::Table { heading, included } => {
                let version = text(object, &["metadata", "resourceVersion"]).unwrap_or_default();
                Arc::new(table::table(resource, &[object], version, *heading, *included, now))
            }
        }
    }

    /// Many objects.
    pub(super) fn many(
        &self,
        resource: Resource,
        objects: &[&Object],
        revision: u64,
        now: Timestamp,
    ) -> Value {
        match self {
            Self::Whole => {
                let mut items: Vec<Value> = objects.iter().map(|it| Value::clone(it)).collect();
                if schema::of(resource).is_none() {
                    for item in items.iter_mut().filter_map(Value::as_object_mut) {
                        item.remove("apiVersion");
                        item.remove("kind");
                    }
                }
                envelope(resource, revision, items)
            }
            Self::Metadata => json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": revision.to_string()},
                "items": objects.iter().map(|it| metadata(it)).collect::<Vec<_>>(),
            }),
            Self::Table { heading, included } => {
                table::table(resource, objects, &revision.to_string(), *heading, *included, now)
            }
        }
    }

    /// A sign of life.
    pub(super) fn bookmark(&self, object: Value) -> Arc<Value> {
        match self {
            Self::Whole => Arc::new(object),
            Self::Metadata => Arc::new(metadata(&object)),
            Self::Table { .. } => Arc::new(json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
                "columnDefinitions": [], "rows": [],
            })),
        }
    }
}

pub(super) fn metadata(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
