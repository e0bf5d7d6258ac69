//! Label selectors, as they stand in objects and in queries.

use serde_json::Value;

use crate::object::{self, list, text};

/// Whether the labels of an object match the selector that another object carries.
pub(crate) fn matches(selector: &Value, object: &Value) -> bool {
    let equal = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let all_equal = equal.into_iter().all(|(key, value)| object::label(object, key) == value.as_str());
    all_equal && list(selector, &["matchExpressions"]).iter().all(|it| matches_expression(it, object))
}

fn matches_expression(expression: &Value, object: &Value) -> bool {
    let found = object::label(object, text(expression, &["key"]).unwrap_or_default());
    let among = || list(expression, &["values"]).iter().any(|value| value.as_str() == found);
    match text(expression, &["operator"]).unwrap_or_default() {
        "In" => found.is_some() && among(),
        "NotIn" => found.is_none() || !among(),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}
