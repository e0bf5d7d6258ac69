//! Tables: what `kubectl get` prints.

mod cells;
mod pods;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::form::metadata;
use crate::object::{Object, at, parse_moment, text};
use crate::resource::Resource;
use crate::schema;

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
    resource: Resource,
    objects: &[&Object],
    version: &str,
    heading: bool,
    included: Included,
    now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|it| {
            let cells = match schema::columns(resource) {
                Some(columns) => custom_cells(columns, it, now),
                None => cells::cells(resource, it, now),
            };
            let mut row = json!({"cells": cells});
            match included {
                Included::Nothing => row["object"] = Value::Null,
                Included::Metadata => row["object"] = metadata(it),
                Included::Object => row["object"] = Value::clone(it),
            }
            row
        })
        .collect();
    let columns = if heading { columns(resource) } else { Value::Null };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": version},
        "columnDefinitions": columns, "rows": rows,
    })
}

fn columns(resource: Resource) -> Value {
    let column = |name: &str, kind: &str, priority: i64, description: &str| {
        let format = if name == "Name" { "name" } else { "" };
        json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
    };
    if let Some(custom) = schema::columns(resource) {
        let said = |it: &Value, field: &str| text(it, &[field]).unwrap_or_default().to_owned();
        let named = custom.iter().map(|it| {
            let priority = at(it, &["priority"]).and_then(Value::as_i64).unwrap_or_default();
            column(&said(it, "name"), &said(it, "type"), priority, &said(it, "description"))
        });
        return std::iter::once(column("Name", "string", 0, "")).chain(named).collect();
    }
    cells::columns(resource).iter().map(|&(name, kind, priority)| column(name, kind, priority, "")).collect()
}

/// The cells that a definition asks for; its paths are plain: fields, one within the other.
fn custom_cells(columns: &[Value], object: &Value, now: Timestamp) -> Vec<Value> {
    let cell = |column: &Value| {
        let path = text(column, &["jsonPath"]).unwrap_or_default();
        let mut steps = path.split('.').filter(|step| !step.is_empty());
        let found = steps.try_fold(object, |value, step| value.get(step));
        match (text(column, &["type"]), found) {
            (_, None | Some(Value::Null)) => Value::Null,
            (Some("date"), Some(value)) => json!(since(value.as_str(), now)),
            (_, Some(value)) => value.clone(),
        }
    };
    let name = json!(crate::object::name(object));
    std::iter::once(name).chain(columns.iter().map(cell)).collect()
}

/// How long ago a moment was, as kubectl says it.
fn since(moment: Option<&str>, now: Timestamp) -> String {
    match moment.and_then(parse_moment) {
        None => "<unknown>".to_owned(),
        Some(moment) => duration(now.as_second() - moment.as_second()),
    }
}

fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(text(object, &["metadata", "creationTimestamp"]), now))
}

/// Two units at most, and fewer the longer it is.
fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_gets_coarser_the_longer_it_is() {
        let said = [5, 119, 120, 125, 3599, 7200, 10_800, 14_460, 90_000, 180_000, 864_000].map(duration);
        let expected = ["5s", "119s", "2m", "2m5s", "59m", "120m", "3h", "4h1m", "25h", "2d2h", "10d"];
        assert_eq!(said, expected);
    }
}
