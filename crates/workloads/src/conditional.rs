//! A change of an object under conditions: a JSON patch whose first lines test that the object is still what was judged.
//!
//! The tests name the uid, the generation and each mark that is touched, not the resourceVersion. The generation moves
//! with the spec and with nothing else, so whatever could make the change wrong (template, replicas, strategy, another
//! hand on the partition) refuses it, and the counters that a workload's controller writes all the time do not.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use serde_json::{Value, json};

/// A mark: one entry of the labels or the annotations.
pub(crate) struct Mark<'a> {
    /// The map that it is in: `labels` or `annotations`.
    pub(crate) map: &'static str,
    /// Whether the object has that map at all; an entry can only be added to a map that is there.
    pub(crate) map_exists: bool,
    /// Its key.
    pub(crate) key: &'static str,
    /// What was read.
    pub(crate) before: Option<&'a str>,
}

/// A JSON patch in the making.
pub(crate) struct Conditional(Vec<PatchOperation>);

impl Conditional {
    /// A change of this object, as long as its spec is the one that was read.
    pub(crate) fn by(uid: &str, generation: i64) -> Self {
        let mut change = Self(Vec::new());
        change.test(&["metadata", "uid"], json!(uid));
        change.test(&["metadata", "generation"], json!(generation));
        change
    }

    /// Sets a mark, or takes it off, if it is still what was read.
    pub(crate) fn mark(mut self, mark: &Mark<'_>, after: Option<&str>) -> Self {
        let map = ["metadata", mark.map];
        let entry = ["metadata", mark.map, mark.key];
        if !mark.map_exists {
            // A map that came meanwhile must not be replaced by ours.
            self.test(&map, Value::Null);
            if let Some(value) = after {
                self.add(&map, json!({mark.key: value}));
            }
            return self;
        }
        self.test(&entry, json!(mark.before));
        match after {
            Some(value) if mark.before != after => self.add(&entry, json!(value)),
            None if mark.before.is_some() => {
                self.0.push(PatchOperation::Remove(RemoveOperation { path: path(&entry) }));
            }
            Some(_) | None => {}
        }
        self
    }

    /// Sets a field. Its parent must exist.
    pub(crate) fn set(mut self, field: &[&str], value: Value) -> Self {
        self.add(field, value);
        self
    }

    pub(crate) fn patch(self) -> Patch {
        Patch(self.0)
    }

    fn test(&mut self, field: &[&str], value: Value) {
        self.0.push(PatchOperation::Test(TestOperation { path: path(field), value }));
    }

    fn add(&mut self, field: &[&str], value: Value) {
        self.0.push(PatchOperation::Add(AddOperation { path: path(field), value }));
    }
}

fn path(tokens: &[&str]) -> PointerBuf {
    PointerBuf::from_tokens(tokens.iter().copied())
}
