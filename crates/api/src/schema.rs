//! Pieces of schemas that types alone do not tell.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A free-form object that the API server keeps as it is.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "nullable": true,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

/// A number, or a text that becomes one.
pub(crate) fn integer_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true, "nullable": true})
}

/// How much is borne: a number, or a text that becomes one.
pub(crate) fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true, "nullable": true, "minimum": 0})
}

/// The same, where -1 stands for any number.
pub(crate) fn limit_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true, "nullable": true, "minimum": -1})
}

/// How often something happened. Servers warn of the format that Rust's own type has.
pub(crate) fn counter(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "format": "int64", "minimum": 0})
}

/// A moment.
pub(crate) fn moment(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time", "nullable": true})
}
