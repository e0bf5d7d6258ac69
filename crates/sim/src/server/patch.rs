//! Patches: what a client sends instead of a whole object.

use json_patch::{PatchOperation, TestOperation};
use serde_json::Value;

use super::strategic;
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema;

/// A change in one of the forms that the API knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// `application/merge-patch+json`.
    Merge(Value),
    /// `application/json-patch+json`.
    Json(json_patch::Patch),
    /// `application/strategic-merge-patch+json`.
    Strategic(Value),
    /// `application/apply-patch+yaml`.
    Apply(Apply),
}

/// What a manager wants an object to say, and no more than that.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// The fields.
    pub wanted: Value,
    /// Who wants them.
    pub manager: String,
    /// Whether to take fields from other managers.
    pub force: bool,
}

impl Patch {
    /// Changes an object. What an apply does depends on who owns what: `owners` does it.
    pub(super) fn apply(&self, resource: Resource, object: &mut Value) -> Result<(), Refusal> {
        match self {
            Self::Strategic(_) if schema::of(resource).is_some() => Err(Refusal::unsupported(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            Self::Strategic(change) => {
                strategic::merge(resource, object, change);
                Ok(())
            }
            _ => self.apply_plainly(object),
        }
    }

    /// Changes a document whose lists have no keys and whose fields have no owners.
    pub(crate) fn apply_plainly(&self, object: &mut Value) -> Result<(), Refusal> {
        match self {
            Self::Merge(change) | Self::Strategic(change) => json_patch::merge(object, change),
            Self::Apply(apply) => json_patch::merge(object, &apply.wanted),
            Self::Json(patch) => apply_json(patch, object)?,
        }
        Ok(())
    }
}

/// Whether a field of something that is there is null or missing.
fn is_null(object: &Value, path: &str) -> bool {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    object.pointer(parent).is_some() && object.pointer(path).is_none_or(Value::is_null)
}

/// The server's library takes a test for null as passed where there is nothing; ours does not.
fn apply_json(patch: &json_patch::Patch, object: &mut Value) -> Result<(), Refusal> {
    for operation in &patch.0 {
        if let PatchOperation::Test(TestOperation { path, value: Value::Null }) = operation
            && is_null(object, path.as_str())
        {
            continue;
        }
        json_patch::patch(object, std::slice::from_ref(operation)).map_err(|_| {
            Refusal::bare(422, "Invalid", "the server rejected our request due to an error in our request")
        })?;
    }
    Ok(())
}
