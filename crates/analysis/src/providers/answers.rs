//! What services say when they refuse, made into one sentence. A service may repeat what was sent to it, so secrets are
//! taken out of its words before anybody sees them.

use serde_json::Value as Json;

use super::Answer;

/// How much of a service's own words is told.
const WORDS: usize = 300;
/// What stands in the place of a secret, as users know it.
const HIDDEN: &str = "*****";

/// Who answers, and what it must not be quoted with.
#[derive(Clone, Copy)]
pub(super) struct Service<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Where the credentials are from, for whoever has to mend them.
    pub(super) credentials: &'a str,
    /// What must not be seen.
    pub(super) secrets: &'a [&'a str],
}

impl Service<'_> {
    /// The JSON of an answer that is good; otherwise why it is not.
    pub(super) fn json(
        self,
        answer: &Answer,
        reason: impl FnOnce(&Json) -> Option<String>,
    ) -> Result<Json, String> {
        let json: Option<Json> = serde_json::from_slice(&answer.body).ok();
        if !(200..300).contains(&answer.status) {
            return Err(self.refusal(answer, json.as_ref().and_then(reason)));
        }
        json.ok_or_else(|| {
            let said = self.quote(&String::from_utf8_lossy(&answer.body));
            format!("{} answered with something that is not JSON: {said}", self.name)
        })
    }

    /// Why there is no value, when the status says so.
    pub(super) fn refusal(self, answer: &Answer, reason: Option<String>) -> String {
        let status = answer.status;
        let said = reason.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned());
        let said = if said.trim().is_empty() { "it said nothing more".to_owned() } else { self.quote(&said) };
        let advice = match status {
            401 | 403 => format!("; check {}", self.credentials),
            429 => "; it is asked too often: make the metric's interval longer".to_owned(),
            300..=399 => {
                "; it points elsewhere, and that is not followed: write the address it points to".to_owned()
            }
            _ => String::new(),
        };
        format!("{} answered with status {status}: {said}{advice}", self.name)
    }

    /// The service's own words on one line, not too many of them, and no secret among them.
    pub(super) fn quote(self, words: &str) -> String {
        // The longest first: one secret may be a part of another.
        let mut secrets: Vec<&str> =
            self.secrets.iter().copied().filter(|secret| !secret.is_empty()).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let words = secrets.iter().fold(words.to_owned(), |words, secret| words.replace(secret, HIDDEN));
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(WORDS) {
            Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
            None => words,
        }
    }
}

/// A text in JSON, by the path of fields to it.
pub(super) fn text_at(json: &Json, pointer: &str) -> Option<String> {
    json.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
