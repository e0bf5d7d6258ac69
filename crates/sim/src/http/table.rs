//! Tables: what `kubectl get` prints.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::form::metadata;
use crate::object::{self, Object};
use crate::resource::Resource;

/// What each row carries of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Included {
    /// Nothing.
    Nothing,
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
}

impl Included {
    pub(super) fn asked(text: &str) -> Self {
        match text {
            "None" => Self::Nothing,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }
}

/// The objects as rows.
pub(super) fn table(
    _resource: Resource,
    objects: &[&Object],
    version: Value,
    _heading: bool,
    included: Included,
    _now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|it| {
            let mut row = json!({"cells": [object::name(it)]});
            match included {
                Included::Nothing => {}
                Included::Metadata => row["object"] = metadata(it),
                Included::Object => row["object"] = Value::clone(it),
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": version},
        "columnDefinitions": [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}],
        "rows": rows,
    })
}
