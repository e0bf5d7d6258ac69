//! Whether an object says what we want it to say. What the server fills in besides does not matter, so this asks
//! whether one is within the other and not whether they are equal.

use serde_json::Value;

/// Where `found` first lacks or contradicts something that `wanted` says, such as `versions[0].schema`; `None` when
/// all of it is there.
pub fn first_difference(wanted: &Value, found: &Value) -> Option<String> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().find_map(|(key, value)| {
            let deeper = found.get(key).map_or(Some(String::new()), |other| first_difference(value, other));
            deeper.map(|path| join(key, &path))
        }),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            wanted.iter().zip(found).enumerate().find_map(|(index, (wanted, found))| {
                first_difference(wanted, found).map(|path| join(&format!("[{index}]"), &path))
            })
        }
        (wanted, found) => (wanted != found).then(String::new),
    }
}

fn join(step: &str, rest: &str) -> String {
    match rest {
        "" => step.to_owned(),
        rest if rest.starts_with('[') => format!("{step}{rest}"),
        rest => format!("{step}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_adds_is_no_difference() {
        let wanted = json!({"a": {"b": 1}, "list": [{"c": true}]});
        let found = json!({"a": {"b": 1, "default": 2}, "list": [{"c": true, "d": false}], "e": null});
        assert_eq!(first_difference(&wanted, &found), None);
    }

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let wanted = json!({"versions": [{"schema": {"type": "object"}}]});
        let differ = |found: Value| first_difference(&wanted, &found).unwrap();
        assert_eq!(differ(json!({"versions": [{"schema": {"type": "string"}}]})), "versions[0].schema.type");
        assert_eq!(differ(json!({"versions": [{}]})), "versions[0].schema");
        assert_eq!(differ(json!({"versions": []})), "versions");
        assert_eq!(differ(json!({})), "versions");
    }
}
