//! Arguments: what a template declares, what its user gives, and `{{args.name}}` in any text of a metric.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_api::analysis::{Argument, Metric};

/// What stands in place of a secret, wherever a person can see it.
pub const HIDDEN: &str = "*****";

/// Why arguments do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Declared, and without a value.
    #[error(
        "args.{0} was not resolved: give it a value where the template is used, or in the template itself"
    )]
    Unresolved(String),
    /// A tag that means nothing.
    #[error("{{{{{tag}}}}} in metric {metric:?} means nothing: {hint}")]
    Unknown {
        /// The metric.
        metric: String,
        /// What stands between the braces.
        tag: String,
        /// What could be meant.
        hint: String,
    },
    /// A metric that is none any more once its arguments are filled in.
    #[error("metric {metric:?} cannot be read with its arguments filled in: {why}")]
    Unreadable {
        /// The metric.
        metric: String,
        /// Why.
        why: String,
    },
}

/// What a template declares, with what its user gives. Names that the template does not declare are left out, and said.
pub fn merge(declared: &[Argument], given: &[Argument]) -> (Vec<Argument>, Vec<String>) {
    let merged = declared
        .iter()
        .map(|declared| {
            let given = given.iter().find(|it| it.name == declared.name);
            given.filter(|it| it.value.is_some() || it.value_from.is_some()).unwrap_or(declared).clone()
        })
        .collect();
    let unknown = given
        .iter()
        .filter(|it| !declared.iter().any(|declared| declared.name == it.name))
        .map(|it| it.name.clone())
        .collect();
    (merged, unknown)
}

/// The values of arguments by name; `resolved` has those that come from elsewhere.
pub fn values(
    arguments: &[Argument],
    resolved: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ArgumentError> {
    let value = |argument: &Argument| {
        let value = argument.value.as_ref().or_else(|| resolved.get(&argument.name));
        value
            .map(|value| (argument.name.clone(), value.clone()))
            .ok_or_else(|| ArgumentError::Unresolved(argument.name.clone()))
    };
    arguments.iter().map(value).collect()
}

/// Fills the arguments in, in every text of a metric.
pub fn fill(metric: &Metric, values: &BTreeMap<String, String>) -> Result<Metric, ArgumentError> {
    let unreadable = |error: serde_json::Error| ArgumentError::Unreadable {
        metric: metric.name.clone(),
        why: error.to_string(),
    };
    let mut tree = serde_json::to_value(metric).map_err(unreadable)?;
    fill_tree(&metric.name, &mut tree, values)?;
    serde_json::from_value(tree).map_err(unreadable)
}

fn fill_tree(metric: &str, tree: &mut Value, values: &BTreeMap<String, String>) -> Result<(), ArgumentError> {
    match tree {
        Value::String(text) => {
            if text.contains("{{") {
                *text = fill_text(metric, text, values)?;
            }
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill_tree(metric, item, values))?,
        Value::Object(fields) => {
            fields.values_mut().try_for_each(|value| fill_tree(metric, value, values))?;
            for name in fields.keys().filter(|name| name.contains("{{")).cloned().collect::<Vec<_>>() {
                if let Some(value) = fields.remove(&name) {
                    fields.insert(fill_text(metric, &name, values)?, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn fill_text(metric: &str, text: &str, values: &BTreeMap<String, String>) -> Result<String, ArgumentError> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        // Braces without an end are text, as upstream.
        let Some((tag, behind)) = after.split_once("}}") else { break };
        filled += before;
        let value = tag.trim().strip_prefix("args.").and_then(|name| values.get(name));
        filled += value.ok_or_else(|| unknown(metric, tag, values))?;
        rest = behind;
    }
    Ok(filled + rest)
}

fn unknown(metric: &str, tag: &str, values: &BTreeMap<String, String>) -> ArgumentError {
    let hint = if tag.trim().starts_with("args.") {
        let declared: Vec<&str> = values.keys().map(String::as_str).collect();
        format!("declare it in args (declared: {})", declared.join(", "))
    } else {
        "only {{args.name}} is filled in; write braces of another language in another way".to_owned()
    };
    ArgumentError::Unknown { metric: metric.to_owned(), tag: tag.trim().to_owned(), hint }
}
