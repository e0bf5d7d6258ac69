//! Secrets are never shown: whatever a person can see passes here first.

use std::collections::BTreeSet;
use std::fmt;

use crate::arguments::HIDDEN;
use crate::expression::to_base64;

/// Replaces secrets by `*****`, also where they are written in another way: without the spaces around them, escaped, in
/// an address, or in base64. Numbers that were measured are numbers, whatever a secret says; texts are replaced.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    /// The longest first, so that no part of one is left over.
    secrets: Vec<String>,
}

impl fmt::Debug for Redactor {
    /// How many there are, and none of them.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Redactor({})", self.secrets.len())
    }
}

impl Redactor {
    /// For these secrets; empty ones are nothing to hide.
    pub fn new<Secret: AsRef<str>>(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let all: BTreeSet<String> =
            secrets.into_iter().flat_map(|secret| spellings(secret.as_ref())).collect();
        Self::sorted(all)
    }

    fn sorted(all: BTreeSet<String>) -> Self {
        let mut secrets: Vec<String> = all.into_iter().filter(|secret| !secret.is_empty()).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The same, for more secrets.
    #[must_use]
    pub fn with<Secret: AsRef<str>>(&self, more: impl IntoIterator<Item = Secret>) -> Self {
        let more = Self::new(more).secrets;
        let all: BTreeSet<String> = self.secrets.iter().cloned().chain(more).collect();
        Self::sorted(all)
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
}
