//! Strategic merge patches: lists with keys are merged element by element, and directives say what a plain merge cannot.

use serde_json::{Map, Value};

use super::shape::{Shape, key, shape};
use crate::resource::Resource;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

/// Merges a patch into an object.
pub(super) fn merge(resource: Resource, object: &mut Value, patch: &Value) {
    if let Some(patch) = patch.as_object() {
        merge_map(resource, object, patch);
    }
}

fn merge_map(resource: Resource, object: &mut Value, patch: &Map<String, Value>) {
    let directive = patch.get(PATCH).and_then(Value::as_str);
    if matches!(directive, Some("replace" | "delete")) {
        let mut rest = patch.clone();
        rest.remove(PATCH);
        *object = Value::Object(if directive == Some("replace") { rest } else { Map::new() });
        return;
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Value::Object(map) = object else { return };
    for (field, value) in patch {
        if field.starts_with('$') {
            continue;
        }
        merge_field(resource, map, field, value, patch.get(&format!("{ORDER}{field}")));
    }
    for (field, wanted) in patch {
        if let Some(field) = field.strip_prefix(DELETE) {
            let gone = wanted.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(Value::Array(items)) = map.get_mut(field) {
                items.retain(|item| !gone.contains(item));
            }
        }
        if let Some(field) = field.strip_prefix(ORDER)
            && !patch.contains_key(field)
            && let Some(Value::Array(items)) = map.get_mut(field)
        {
            let keys = keys_of(resource, field, items);
            reorder(items, wanted, &items.clone(), keys);
        }
    }
    if let Some(Value::Array(kept)) = patch.get(RETAIN) {
        map.retain(|field, _| kept.iter().any(|it| it.as_str() == Some(field)));
    }
}

fn merge_field(
    resource: Resource,
    map: &mut Map<String, Value>,
    field: &str,
    value: &Value,
    order: Option<&Value>,
) {
    match value {
        Value::Null => drop(map.remove(field)),
        Value::Object(patch) => {
            merge_map(resource, map.entry(field).or_insert(Value::Null), patch);
            let emptied = patch.get(PATCH).and_then(Value::as_str) == Some("delete");
            if emptied {
                map.remove(field);
            }
        }
        Value::Array(patch) => match shape(resource, field, value) {
            Shape::Keyed(keys) => {
                // Strategic merge knows an element by its first key alone.
                let keys = &keys[..1];
                let had = map.entry(field).or_insert_with(|| Value::Array(Vec::new()));
                merge_keyed(resource, had, patch, keys, order);
            }
            Shape::Set => {
                let had = map.entry(field).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(items) = had {
                    let new: Vec<Value> = patch.iter().filter(|it| !items.contains(it)).cloned().collect();
                    let before = items.clone();
                    items.extend(new);
                    reorder(items, order.unwrap_or(value), &before, None);
                }
            }
            Shape::Atomic | Shape::Fields => drop(map.insert(field.to_owned(), value.clone())),
        },
        other => drop(map.insert(field.to_owned(), other.clone())),
    }
}

fn merge_keyed(
    resource: Resource,
    had: &mut Value,
    patch: &[Value],
    keys: &'static [&'static str],
    order: Option<&Value>,
) {
    if !had.is_array() {
        *had = Value::Array(Vec::new());
    }
    let Value::Array(items) = had else { return };
    let directive = |it: &Value| it.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    let replaces = patch.iter().any(|it| directive(it).as_deref() == Some("replace") && is_bare(it));
    if replaces {
        *items = patch.iter().filter(|it| !is_bare(it)).cloned().collect();
        return;
    }
    let before = items.clone();
    for element in patch {
        let Some(change) = element.as_object() else { continue };
        let name = key(element, keys);
        if directive(element).as_deref() == Some("delete") {
            items.retain(|it| key(it, keys) != name);
            continue;
        }
        let place = items.iter().position(|it| key(it, keys) == name).unwrap_or_else(|| {
            items.push(Value::Object(Map::new()));
            items.len() - 1
        });
        merge_map(resource, &mut items[place], change);
    }
    // Where no order is given it is that of the patch: what is new comes first.
    match order {
        Some(order) => reorder(items, order, &before, Some(keys)),
        None => reorder(items, &Value::Array(patch.to_vec()), &before, Some(keys)),
    }
}

/// Whether an element says what to do with the list, and nothing else.
fn is_bare(element: &Value) -> bool {
    element.as_object().is_some_and(|it| it.len() == 1 && it.contains_key(PATCH))
}

fn keys_of(resource: Resource, field: &str, items: &[Value]) -> Option<&'static [&'static str]> {
    match shape(resource, field, &Value::Array(items.to_vec())) {
        Shape::Keyed(keys) => Some(&keys[..1]),
        _ => None,
    }
}

/// Puts the elements that the patch names into its order; those that only the server has stay where they were among them.
fn reorder(items: &mut Vec<Value>, order: &Value, before: &[Value], keys: Option<&[&str]>) {
    let same = |left: &Value, right: &Value| match keys {
        Some(keys) => key(left, keys) == key(right, keys),
        None => left == right,
    };
    let order = order.as_array().map_or(&[][..], Vec::as_slice);
    let place = |list: &[Value], wanted: &Value| list.iter().position(|it| same(it, wanted));
    let (mut named, others): (Vec<Value>, Vec<Value>) =
        items.drain(..).partition(|it| place(order, it).is_some());
    named.sort_by_key(|it| place(order, it));
    let mut others = others.into_iter().peekable();
    for item in named {
        while let Some(other) = others.peek() {
            match (place(before, &item), place(before, other)) {
                (Some(left), Some(right)) if right < left => items.extend(others.next()),
                _ => break,
            }
        }
        items.push(item);
    }
    items.extend(others);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(mut object: Value, patch: &Value) -> Value {
        merge(Resource::Pods, &mut object, patch);
        object
    }

    fn names(object: &Value) -> Vec<&str> {
        crate::object::list(object, &["containers"]).iter().filter_map(|it| it["name"].as_str()).collect()
    }

    fn two() -> Value {
        json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]})
    }

    #[test]
    fn an_element_is_changed_where_it_stands() {
        let after = merged(two(), &json!({"containers": [{"name": "b", "image": "b:2"}]}));
        assert_eq!(
            after,
            json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]})
        );
    }

    #[test]
    fn what_is_new_comes_first_unless_an_order_is_given() {
        let new = json!({"containers": [{"name": "c"}]});
        assert_eq!(names(&merged(two(), &new)), ["c", "a", "b"]);
        let ordered = json!({
            "$setElementOrder/containers": [{"name": "a"}, {"name": "c"}, {"name": "b"}],
            "containers": [{"name": "c"}],
        });
        assert_eq!(names(&merged(two(), &ordered)), ["a", "c", "b"]);
    }

    #[test]
    fn directives_delete_replace_and_retain() {
        assert_eq!(names(&merged(two(), &json!({"containers": [{"name": "a", "$patch": "delete"}]}))), ["b"]);
        let replaced = json!({"containers": [{"$patch": "replace"}, {"name": "z"}]});
        assert_eq!(names(&merged(two(), &replaced)), ["z"]);
        let strategy = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}});
        let retained = json!({"strategy": {"$retainKeys": ["type"], "type": "OnDelete"}});
        assert_eq!(merged(strategy, &retained), json!({"strategy": {"type": "OnDelete"}}));
    }
}
