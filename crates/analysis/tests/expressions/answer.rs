//! Answers as texts that show the kind of a value, from both sides.

use std::collections::BTreeMap;

use windlass_analysis::expression::Value;

/// What `now()` says, as in the helper.
pub(crate) const NOW: &str = "2026-07-14T12:00:00Z";

/// A result of the table, with the values that JSON cannot say: `{"$float": "NaN"}`, `{"$int": "3"}`, and for the library
/// a list that it knows to be of floats, `{"$floats": [0.5, "NaN"]}`.
pub(crate) fn result(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Object(fields) => {
            if let Some(text) = fields.get("$float").and_then(serde_json::Value::as_str) {
                return Value::Float(text.parse().unwrap());
            }
            if let Some(text) = fields.get("$int").and_then(serde_json::Value::as_str) {
                return Value::Integer(text.parse().unwrap());
            }
            if let Some(items) = fields.get("$floats").and_then(serde_json::Value::as_array) {
                let float = |item: &serde_json::Value| match item {
                    serde_json::Value::String(text) => text.parse().unwrap(),
                    number => number.as_f64().unwrap(),
                };
                return Value::List(items.iter().map(float).map(Value::Float).collect());
            }
            Value::Map(fields.iter().map(|(name, field)| (name.clone(), result(field))).collect())
        }
        serde_json::Value::Array(items) => Value::List(items.iter().map(result).collect()),
        other => Value::from(other.clone()),
    }
}

fn float(number: f64) -> String {
    if number.is_nan() { "NaN".to_owned() } else { format!("{number:?}") }
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn fields(fields: impl Iterator<Item = (String, String)>) -> String {
    let sorted: BTreeMap<String, String> = fields.collect();
    let shown: Vec<String> = sorted.into_iter().map(|(name, field)| format!("{name}: {field}")).collect();
    format!("{{{}}}", shown.join(", "))
}

pub(crate) fn of_value(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => float(*number),
        Value::Text(value) => text(value),
        Value::List(items) => format!("[{}]", items.iter().map(of_value).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => fields(map.iter().map(|(name, field)| (text(name), of_value(field)))),
        Value::Moment(moment) => format!("time {moment}"),
        Value::Duration(duration) => format!("duration {}", duration.as_nanos()),
    }
}

pub(crate) fn of_library(answer: &serde_json::Value) -> String {
    if answer.get("error").is_some() {
        return "error".to_owned();
    }
    let kind = answer["type"].as_str().unwrap();
    let value = &answer["value"];
    let plain = || value.as_str().unwrap_or_default();
    match kind {
        "nil" => "nil".to_owned(),
        "bool" | "int" => plain().to_owned(),
        "float" => float(plain().parse().unwrap()),
        "string" => text(plain()),
        "time" | "duration" | "uint" => format!("{kind} {}", plain()),
        "array" => {
            let items = value.as_array().into_iter().flatten().map(of_library);
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        "map" => fields(
            value.as_array().into_iter().flatten().map(|pair| (of_library(&pair[0]), of_library(&pair[1]))),
        ),
        other => other.to_owned(),
    }
}
