//! Arguments: what a template declares, what its user gives, and `{{args.name}}` in any text of a metric; and, for a
//! metric that is asked once for each pod, `{{pod.name}}` and `{{pod.ordinal}}`.

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
    /// It is about a rollout, and there is none.
    #[error(
        "args.{name} was not resolved: {from} is about a rollout, and this run belongs to none: give it a value"
    )]
    NoRollout {
        /// The argument.
        name: String,
        /// Where its value should come from.
        from: &'static str,
    },
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
    /// The number of a pod that has none.
    #[error(
        "{{{{pod.ordinal}}}} in metric {metric:?} has no value: pod {pod:?} does not end in a number; use {{{{pod.name}}}}"
    )]
    NoOrdinal {
        /// The metric.
        metric: String,
        /// The pod.
        pod: String,
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

/// Fills the arguments in, in every text of a metric. What stands for a pod stays as it is in a metric that is asked
/// once for each of them.
pub fn fill(metric: &Metric, values: &BTreeMap<String, String>) -> Result<Metric, ArgumentError> {
    let pod = if metric.for_each_pod.is_some() { Pod::Any } else { Pod::None };
    Filling { metric: &metric.name, values, pod }.whole(metric)
}

/// The same for one pod.
pub fn fill_for_pod(
    metric: &Metric,
    values: &BTreeMap<String, String>,
    pod: &str,
) -> Result<Metric, ArgumentError> {
    Filling { metric: &metric.name, values, pod: Pod::One(pod) }.whole(metric)
}

/// What stands for a pod, in one text of a metric whose arguments are filled in.
pub fn fill_text_for_pod(metric: &str, text: &str, pod: &str) -> Result<String, ArgumentError> {
    Filling { metric, values: &BTreeMap::new(), pod: Pod::One(pod) }.text(text)
}

/// The arguments that a text names.
pub fn named(text: &str) -> impl Iterator<Item = &str> {
    let tags = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    tags.filter_map(|(tag, _)| tag.trim().strip_prefix("args."))
}

/// Whom a metric is asked for.
#[derive(Clone, Copy)]
enum Pod<'a> {
    /// No pod.
    None,
    /// Each pod, one by one, later.
    Any,
    /// This one.
    One(&'a str),
}

struct Filling<'a> {
    /// The name of the metric, for messages.
    metric: &'a str,
    values: &'a BTreeMap<String, String>,
    pod: Pod<'a>,
}

impl Filling<'_> {
    fn whole(&self, metric: &Metric) -> Result<Metric, ArgumentError> {
        let unreadable = |error: serde_json::Error| ArgumentError::Unreadable {
            metric: self.metric.to_owned(),
            why: error.to_string(),
        };
        let mut tree = serde_json::to_value(metric).map_err(unreadable)?;
        self.tree(&mut tree)?;
        serde_json::from_value(tree).map_err(unreadable)
    }

    fn tree(&self, tree: &mut Value) -> Result<(), ArgumentError> {
        match tree {
            Value::String(text) => {
                if text.contains("{{") {
                    *text = self.text(text)?;
                }
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.tree(item))?,
            Value::Object(fields) => {
                fields.values_mut().try_for_each(|value| self.tree(value))?;
                for name in fields.keys().filter(|name| name.contains("{{")).cloned().collect::<Vec<_>>() {
                    if let Some(value) = fields.remove(&name) {
                        fields.insert(self.text(&name)?, value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn text(&self, text: &str) -> Result<String, ArgumentError> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            // Braces without an end are text, as upstream.
            let Some((tag, behind)) = after.split_once("}}") else { break };
            filled += before;
            filled += &self.tag(tag)?;
            rest = behind;
        }
        Ok(filled + rest)
    }

    fn tag(&self, tag: &str) -> Result<String, ArgumentError> {
        let argument = tag.trim().strip_prefix("args.").and_then(|name| self.values.get(name));
        match (tag.trim(), self.pod) {
            ("pod.name" | "pod.ordinal", Pod::Any) => Ok(format!("{{{{{tag}}}}}")),
            ("pod.name", Pod::One(pod)) => Ok(pod.to_owned()),
            ("pod.ordinal", Pod::One(pod)) => {
                let ordinal = pod.rsplit_once('-').map(|(_, ordinal)| ordinal);
                let is_number =
                    |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                ordinal.filter(is_number).map(ToOwned::to_owned).ok_or_else(|| ArgumentError::NoOrdinal {
                    metric: self.metric.to_owned(),
                    pod: pod.to_owned(),
                })
            }
            (tag, _) => argument.cloned().ok_or_else(|| self.unknown(tag)),
        }
    }

    fn unknown(&self, tag: &str) -> ArgumentError {
        let hint = if tag.starts_with("args.") {
            let declared: Vec<&str> = self.values.keys().map(String::as_str).collect();
            let declared = if declared.is_empty() { "nothing".to_owned() } else { declared.join(", ") };
            format!("declare it in args (declared: {declared})")
        } else if matches!(tag, "pod.name" | "pod.ordinal") {
            "it stands for a pod only in a metric with forEachPod: {}".to_owned()
        } else if tag.starts_with("pod.") {
            "of a pod there are {{pod.name}} and {{pod.ordinal}}".to_owned()
        } else {
            "only {{args.name}} is filled in; write braces of another language in another way".to_owned()
        };
        ArgumentError::Unknown { metric: self.metric.to_owned(), tag: tag.to_owned(), hint }
    }
}
