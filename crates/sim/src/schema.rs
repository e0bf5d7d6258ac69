//! The schemas of our own kinds: what is pruned, what is filled in, and what is refused, as the server does it for custom
//! resources. The schemas come from the definitions that are installed, once per process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value};

use crate::resource::Resource;

/// The schema of a resource; none for the kinds of Kubernetes itself.
pub(crate) fn of(resource: Resource) -> Option<&'static Value> {
    described(resource)?.get("schema")
}

/// The columns of a resource of ours.
pub(crate) fn columns(resource: Resource) -> Option<&'static Vec<Value>> {
    described(resource)?.get("columns").and_then(Value::as_array)
}

fn described(resource: Resource) -> Option<&'static Value> {
    static READ: OnceLock<BTreeMap<Resource, Value>> = OnceLock::new();
    READ.get_or_init(|| windlass_api::crds().iter().filter_map(description).collect()).get(&resource)
}

fn description(definition: &CustomResourceDefinition) -> Option<(Resource, Value)> {
    let resource = Resource::of_kind(&definition.spec.group, &definition.spec.names.kind)?;
    let definition = serde_json::to_value(definition).ok()?;
    let at = |path: &str| definition.pointer(path).cloned().unwrap_or_default();
    let said = serde_json::json!({
        "schema": at("/spec/versions/0/schema/openAPIV3Schema"),
        "columns": at("/spec/versions/0/additionalPrinterColumns"),
    });
    Some((resource, said))
}

/// Where something is in an object: every value is visited, and hardly ever is its place asked for.
#[derive(Clone, Copy)]
enum Path<'a> {
    Top,
    Field(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Field(Self::Top, field) => out.write_str(field),
            Self::Field(above, field) => write!(out, "{above}.{field}"),
            Self::Item(above, index) => write!(out, "{above}[{index}]"),
        }
    }
}

/// Takes out what the schema does not know, and says what that was. The outermost level and the metadata are the
/// server's own.
pub(crate) fn prune(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let Some(map) = object.as_object_mut() else { return unknown };
    let known = |field: &str| matches!(field, "apiVersion" | "kind" | "metadata");
    prune_map(schema, map, &Path::Top, &known, &mut unknown);
    unknown
}

fn prune_map(
    schema: &Value,
    map: &mut Map<String, Value>,
    path: &Path<'_>,
    known: &dyn Fn(&str) -> bool,
    unknown: &mut Vec<String>,
) {
    let properties = schema.get("properties");
    let others = schema.get("additionalProperties").filter(|it| it.is_object());
    let keeps_all = keeps_unknown(schema);
    map.retain(|field, value| {
        let place = Path::Field(path, field);
        match properties.and_then(|it| it.get(field)).or(others) {
            Some(schema) => prune_value(schema, value, &place, unknown),
            None if keeps_all || known(field) => {}
            None => {
                unknown.push(place.to_string());
                return false;
            }
        }
        true
    });
}

fn keeps_unknown(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

fn prune_value(schema: &Value, value: &mut Value, path: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => prune_map(schema, map, path, &|_| false, unknown),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = schema.get("items") {
                    prune_value(schema, item, &Path::Item(path, index), unknown);
                }
            }
        }
        _ => {}
    }
}

/// Fills in what the schema says of missing fields. A null where none is allowed counts as missing.
pub(crate) fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (field, schema) in properties.into_iter().flatten() {
                let nullable = schema.get("nullable") == Some(&Value::Bool(true));
                if !nullable && map.get(field).is_some_and(Value::is_null) {
                    map.remove(field);
                }
                if let Some(default) = schema.get("default") {
                    map.entry(field.clone()).or_insert_with(|| default.clone());
                }
                if let Some(value) = map.get_mut(field) {
                    fill(schema, value);
                }
            }
            if let Some(others) = schema.get("additionalProperties").filter(|it| it.is_object()) {
                for value in map.values_mut() {
                    fill(others, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    fill(schema, item);
                }
            }
        }
        _ => {}
    }
}

/// Something that is wrong with a value: where, and in which words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The path.
    pub(crate) field: String,
    /// The machine's word for it.
    pub(crate) reason: &'static str,
    /// The sentence.
    pub(crate) why: String,
}

/// Everything that is wrong.
pub(crate) fn validate(schema: &Value, object: &Value) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    check(schema, object, &Path::Top, &mut flaws);
    let blocks = |flaw: &Flaw| matches!(flaw.reason, "FieldValueTypeInvalid" | "FieldValueRequired");
    if flaws.iter().any(blocks) && has_rules(schema) {
        let why = "Invalid value: null: some validation rules were not checked because the object was invalid; \
                   correct the existing errors to complete validation";
        flaws.push(Flaw { field: "<nil>".to_owned(), reason: "FieldValueInvalid", why: why.to_owned() });
    }
    flaws
}

/// Whether there are rules in CEL, which a server leaves alone once something more basic is wrong.
fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("x-kubernetes-validations") || map.values().any(has_rules),
        _ => false,
    }
}

fn check(schema: &Value, value: &Value, path: &Path<'_>, flaws: &mut Vec<Flaw>) {
    if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
        return;
    }
    let said = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let either = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    let found = type_of(value);
    let fits = match said {
        "" => !either || matches!(found, "integer" | "string"),
        "number" => matches!(found, "integer" | "number"),
        said => said == found,
    };
    if !fits {
        let expected = if either { "integer,string" } else { said };
        let broken = format!("must be of type {expected}: \"{found}\"");
        flaws.push(invalid(path, "FieldValueTypeInvalid", &format!("\"{found}\""), &broken));
        return;
    }
    check_bounds(schema, value, path, flaws);
    check_below(schema, value, path, flaws);
}

/// The smallest number and the shortest text that are taken.
fn check_bounds(schema: &Value, value: &Value, path: &Path<'_>, flaws: &mut Vec<Flaw>) {
    let broken = match value {
        Value::Number(number) => schema
            .get("minimum")
            .and_then(Value::as_f64)
            .filter(|least| number.as_f64().is_some_and(|number| number < *least))
            .map(|least| format!("should be greater than or equal to {least}")),
        Value::String(text) => schema
            .get("minLength")
            .and_then(Value::as_u64)
            .filter(|least| (text.chars().count() as u64) < *least)
            .map(|least| format!("should be at least {least} chars long")),
        _ => None,
    };
    flaws.extend(broken.map(|broken| invalid(path, "FieldValueInvalid", &value.to_string(), &broken)));
}

/// A status is checked by itself, so its fields are named from there.
fn invalid(path: &Path<'_>, reason: &'static str, value: &str, broken: &str) -> Flaw {
    let field = path.to_string();
    let named = field.strip_prefix("status.").unwrap_or(&field);
    let why = format!("Invalid value: {value}: {named} in body {broken}");
    Flaw { field, reason, why }
}

fn check_below(schema: &Value, value: &Value, path: &Path<'_>, flaws: &mut Vec<Flaw>) {
    match value {
        Value::Object(map) => {
            for required in crate::object::list(schema, &["required"]).iter().filter_map(Value::as_str) {
                if !map.contains_key(required) {
                    let why = "Required value".to_owned();
                    let field = Path::Field(path, required).to_string();
                    flaws.push(Flaw { field, reason: "FieldValueRequired", why });
                }
            }
            let others = schema.get("additionalProperties").filter(|it| it.is_object());
            for (field, value) in map {
                let known = schema.get("properties").and_then(|it| it.get(field)).or(others);
                if let Some(schema) = known {
                    check(schema, value, &Path::Field(path, field), flaws);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = schema.get("items") {
                    check(schema, item, &Path::Item(path, index), flaws);
                }
            }
        }
        _ => {}
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
