//! Label and field selectors, as they stand in objects and in queries.

use serde_json::Value;

use crate::object::{self, list, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

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

/// What a query asks of labels and fields; everything matches an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldTerm {
    field: String,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads the two texts of a query.
    pub fn parse(resource: Resource, labels: &str, fields: &str) -> Result<Self, Refusal> {
        Ok(Self {
            labels: terms(labels).into_iter().map(requirement).collect::<Result<_, _>>()?,
            fields: terms(fields).into_iter().map(|it| field(resource, it)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether everything is meant.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is meant.
    pub fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|it| it.holds(object))
            && self.fields.iter().all(|it| (it.read(object) == it.value) == it.equal)
    }
}

impl Requirement {
    fn holds(&self, object: &Value) -> bool {
        let found = |key: &str| object::label(object, key);
        match self {
            Self::In(key, values) => found(key).is_some_and(|it| values.iter().any(|value| value == it)),
            Self::NotIn(key, values) => found(key).is_none_or(|it| values.iter().all(|value| value != it)),
            Self::Exists(key) => found(key).is_some(),
            Self::Missing(key) => found(key).is_none(),
        }
    }
}

impl FieldTerm {
    /// What is not there reads as an empty text.
    fn read<'a>(&self, object: &'a Value) -> &'a str {
        let found = self.field.split('.').try_fold(object, |value, part| value.get(part));
        found.and_then(Value::as_str).unwrap_or_default()
    }
}

/// The terms between commas; a comma within parentheses belongs to its term.
fn terms(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn requirement(term: &str) -> Result<Requirement, Refusal> {
    let read = || -> Option<Requirement> {
        if let Some(key) = term.strip_prefix('!') {
            return Some(Requirement::Missing(label_key(key)?));
        }
        if let Some((left, values)) = term.strip_suffix(')').and_then(|it| it.split_once('(')) {
            let values = values.split(',').map(|value| value.trim().to_owned()).collect();
            let (key, operator) = left.trim().rsplit_once(' ')?;
            return match operator {
                "in" => Some(Requirement::In(label_key(key)?, values)),
                "notin" => Some(Requirement::NotIn(label_key(key)?, values)),
                _ => None,
            };
        }
        if let Some((key, value)) = term.split_once("!=") {
            return Some(Requirement::NotIn(label_key(key)?, vec![value.trim().to_owned()]));
        }
        match term.split_once("==").or_else(|| term.split_once('=')) {
            Some((key, value)) => Some(Requirement::In(label_key(key)?, vec![value.trim().to_owned()])),
            None => Some(Requirement::Exists(label_key(term)?)),
        }
    };
    read().ok_or_else(|| {
        Refusal::bad_request(format!("unable to parse requirement: {term:?} is not a label selector"))
    })
}

fn label_key(key: &str) -> Option<String> {
    let key = key.trim();
    let fine = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
    (!key.is_empty() && key.chars().all(fine)).then(|| key.to_owned())
}

fn field(resource: Resource, term: &str) -> Result<FieldTerm, Refusal> {
    let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
        (field, value, false)
    } else if let Some((field, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        (field, value, true)
    } else {
        let why = format!("invalid selector: '{term}'; can't understand '{term}'");
        return Err(Refusal::bad_request(why));
    };
    let known =
        matches!(field, "metadata.name" | "metadata.namespace") || fields_of(resource).contains(&field);
    if !known {
        return Err(Refusal::bad_request(match fields_of(resource) {
            [] => format!(
                "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
            _ => format!("field label not supported: {field}"),
        }));
    }
    Ok(FieldTerm { field: field.to_owned(), value: value.to_owned(), equal })
}

/// The fields that can be selected by, besides name and namespace.
fn fields_of(resource: Resource) -> &'static [&'static str] {
    match resource {
        Resource::Pods => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        Resource::Events => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        Resource::Namespaces => &["status.phase"],
        Resource::Nodes => &["spec.unschedulable"],
        Resource::Secrets => &["type"],
        Resource::Services => &["spec.clusterIP", "spec.type"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(labels: &str) -> Vec<&'static str> {
        let objects = [
            ("one", json!({"metadata": {"labels": {"a": "1", "b": "x"}}})),
            ("two", json!({"metadata": {"labels": {"a": "2"}}})),
            ("bare", json!({"metadata": {}})),
        ];
        let selector = Selector::parse(Resource::Pods, labels, "").unwrap();
        objects.iter().filter(|(_, it)| selector.matches(it)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn every_form_of_a_label_selector_selects() {
        assert_eq!(selects(""), ["one", "two", "bare"]);
        assert_eq!(selects("a=1"), ["one"]);
        assert_eq!(selects("a==2"), ["two"]);
        assert_eq!(selects("a!=1"), ["two", "bare"]);
        assert_eq!(selects("a"), ["one", "two"]);
        assert_eq!(selects("!a"), ["bare"]);
        assert_eq!(selects("a in (1, 2),b"), ["one"]);
        assert_eq!(selects("a notin (1)"), ["two", "bare"]);
    }

    #[test]
    fn a_selector_that_cannot_be_read_is_refused() {
        assert!(Selector::parse(Resource::Pods, "a in 1)", "").is_err());
        assert!(Selector::parse(Resource::Pods, "", "spec.nodeName").is_err());
        let refusal = Selector::parse(Resource::StatefulSets, "", "status.phase=x").unwrap_err();
        assert!(refusal.message.contains("not a known field selector"), "{}", refusal.message);
    }

    #[test]
    fn a_field_that_is_not_there_reads_as_empty() {
        let unbound = Selector::parse(Resource::Pods, "", "spec.nodeName=").unwrap();
        assert!(unbound.matches(&json!({"spec": {}})));
        assert!(!unbound.matches(&json!({"spec": {"nodeName": "node-1"}})));
    }
}
