//! What whoever was asked says when it refuses, made into one sentence. It may repeat what was sent to it, so secrets are
//! taken out of its words before anybody sees them, and before the words are cut.

use serde_json::Value as Json;

use super::Answer;
use crate::redact::Redactor;

/// How much of its own words is told.
const WORDS: usize = 300;

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
        if !answer.is_good() {
            return Err(self.refusal(answer, json.as_ref().and_then(reason)));
        }
        json.ok_or_else(|| {
            format!("{} answered with something that is not JSON: {}", self.name, self.excerpt(answer))
        })
    }

    /// Why there is no value, when the status says so.
    pub(super) fn refusal(self, answer: &Answer, reason: Option<String>) -> String {
        let status = answer.status;
        let said = reason.map_or_else(|| self.excerpt(answer), |reason| self.quote(&reason));
        let advice = match status {
            401 | 403 => format!("; check {}", self.credentials),
            429 => "; it is asked too often: make the metric's interval longer".to_owned(),
            _ => String::new(),
        };
        format!("{} answered with HTTP status {status}: {said}{advice}", self.name)
    }

    /// The beginning of an answer.
    pub(super) fn excerpt(self, answer: &Answer) -> String {
        self.quote(&String::from_utf8_lossy(&answer.body))
    }

    /// Its own words on one line, not too many of them, and no secret among them.
    pub(super) fn quote(self, words: &str) -> String {
        let words = Redactor::new(self.secrets).text(words);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(WORDS) {
            Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
            None if words.is_empty() => "(an empty answer)".to_owned(),
            None => words,
        }
    }
}

/// A text in JSON, by the path of fields to it.
pub(super) fn text_at(json: &Json, pointer: &str) -> Option<String> {
    json.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
