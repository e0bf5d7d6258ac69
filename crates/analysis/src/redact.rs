//! Secrets are never shown: whatever a person can see passes here first.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::analysis::Measurement;

use crate::arguments::HIDDEN;
use crate::expression::{Value, to_base64};
use crate::gauge::{Measured, Reading};

/// Replaces secrets by `*****`, also where they are written in another way: without the spaces around them, escaped, in
/// an address, or in base64. Numbers that were measured are numbers, whatever a secret says; texts are replaced.
#[derive(Clone, Default)]
pub struct Redactor {
    /// The longest first, so that no part of one is left over.
    secrets: Vec<String>,
}

impl Redactor {
    /// For these secrets; empty ones are nothing to hide.
    pub fn new<Secret: AsRef<str>>(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let all: BTreeSet<String> =
            secrets.into_iter().flat_map(|secret| spellings(secret.as_ref())).collect();
        let mut secrets: Vec<String> = all.into_iter().filter(|secret| !secret.is_empty()).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// A text without secrets. One pass, so that nothing is found in what was put in.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let secret = self.secrets.iter().find(|secret| rest.starts_with(secret.as_str()));
            if let Some(secret) = secret {
                out.push_str(HIDDEN);
                rest = &rest[secret.len()..];
            } else {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        out
    }

    /// A value without secrets in its texts.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => Value::Text(self.text(&text)),
            Value::List(items) => Value::List(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Map(fields) => {
                let field = |(name, value): (String, Value)| (self.text(&name), self.value(value));
                Value::Map(fields.into_iter().map(field).collect())
            }
            other @ (Value::Nil
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Moment(_)
            | Value::Duration(_)) => other,
        }
    }

    /// What was measured, without secrets.
    pub fn measured(&self, measured: Measured) -> Measured {
        Measured { value: self.value(measured.value), metadata: self.metadata(measured.metadata) }
    }

    /// What came of a question, without secrets.
    pub fn reading(&self, reading: Reading) -> Reading {
        match reading {
            Reading::Value(measured) => Reading::Value(self.measured(measured)),
            Reading::PerPod(pods) => {
                let pod = |(pod, value): (String, Result<Value, String>)| {
                    (pod, value.map(|value| self.value(value)).map_err(|error| self.text(&error)))
                };
                Reading::PerPod(pods.into_iter().map(pod).collect())
            }
            Reading::Verdict { phase, message, metadata } => {
                Reading::Verdict { phase, message: self.text(&message), metadata: self.metadata(metadata) }
            }
            Reading::Later { at, metadata } => Reading::Later { at, metadata: self.metadata(metadata) },
            Reading::Error(error) => Reading::Error(self.text(&error)),
        }
    }

    /// A measurement without secrets: conditions may hold some too, and stand in its message.
    pub fn measurement(&self, measurement: Measurement) -> Measurement {
        Measurement {
            message: self.text(&measurement.message),
            value: self.text(&measurement.value),
            metadata: self.metadata(measurement.metadata),
            ..measurement
        }
    }

    fn metadata(&self, metadata: BTreeMap<String, String>) -> BTreeMap<String, String> {
        metadata.into_iter().map(|(name, text)| (self.text(&name), self.text(&text))).collect()
    }
}

/// A secret as it may be written somewhere.
fn spellings(secret: &str) -> Vec<String> {
    let trimmed = secret.trim();
    // What stands between the quotes.
    let inner = |quoted: String| quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
    vec![
        secret.to_owned(),
        trimmed.to_owned(),
        inner(format!("{trimmed:?}")),
        inner(serde_json::Value::from(trimmed).to_string()),
        form_urlencoded::byte_serialize(trimmed.as_bytes()).collect(),
        to_base64(secret),
        to_base64(trimmed),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_left_however_it_is_written() {
        let redactor = Redactor::new(["pass", "password\n", "", "a \"quoted\" one", "key/="]);
        let rows = [
            ("nothing to hide", "nothing to hide"),
            ("the password is pass", "the ***** is *****"),
            ("Basic cGFzc3dvcmQK and cGFzc3dvcmQ=", "Basic ***** and *****"),
            ("{\"a\":\"a \\\"quoted\\\" one\"}", "{\"a\":\"*****\"}"),
            ("?key=key%2F%3D", "?key=*****"),
            ("grün pass grün", "grün ***** grün"),
        ];
        for (text, wanted) in rows {
            assert_eq!(redactor.text(text), wanted);
        }
    }

    #[test]
    fn what_was_put_in_is_not_looked_at_again() {
        assert_eq!(Redactor::new(["*", "ab"]).text("ab*"), "**********");
    }

    #[test]
    fn values_and_what_is_said_besides_are_clean_and_numbers_are_left_alone() {
        let redactor = Redactor::new(["5ecret", "5"]);
        let value = Value::from(serde_json::json!({"5ecret": ["my 5ecret", 5]}));
        let wanted = Value::from(serde_json::json!({"*****": ["my *****", 5]}));
        assert_eq!(redactor.value(value), wanted);
        let reading = Reading::PerPod(BTreeMap::from([("db-0".to_owned(), Err("not 5ecret".to_owned()))]));
        let wanted = Reading::PerPod(BTreeMap::from([("db-0".to_owned(), Err("not *****".to_owned()))]));
        assert_eq!(redactor.reading(reading), wanted);
    }
}
