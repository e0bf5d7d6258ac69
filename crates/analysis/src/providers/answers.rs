//! What whoever was asked says when it refuses, made into one sentence. It may repeat what was sent to it: the secrets of
//! the provider are taken out here, those of the arguments by whoever asked, who also finds one that was cut.

use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::Answer;
use crate::redact::{CUT, Redactor};

/// How much of its own words is told.
const WORDS: usize = 300;

/// How much of an answer is read: so many values, of which a block counts as [`BLOCK`]. It takes that much more memory than
/// a number, and a small answer can be made of little else.
const VALUES: usize = 50_000;
const BLOCK: usize = 16;

/// Why an answer is no JSON for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is something else.
    NoJson,
    /// It has too many values.
    TooMuch,
}

/// The JSON in a body. One that would take too much memory is not read at all.
pub(super) fn read_json(body: &[u8]) -> Result<Json, Unread> {
    if values(body) <= VALUES {
        return serde_json::from_slice(body).map_err(|_| Unread::NoJson);
    }
    let is_json = serde_json::from_slice::<IgnoredAny>(body).is_ok();
    Err(if is_json { Unread::TooMuch } else { Unread::NoJson })
}

/// How many values a body could have, if it is JSON: each is the first of a list or a block, or stands behind a comma.
fn values(body: &[u8]) -> usize {
    let (mut values, mut quoted, mut escaped) = (1, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' if !quoted => values += 1,
            b'{' if !quoted => values += BLOCK,
            _ => {}
        }
    }
    values
}

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
        let json = read_json(&answer.body);
        if !answer.is_good() {
            return Err(self.refusal(answer, json.as_ref().ok().and_then(reason)));
        }
        json.map_err(|unread| match unread {
            Unread::NoJson => {
                format!("{} answered with something that is not JSON: {}", self.name, self.excerpt(answer))
            }
            Unread::TooMuch => self.too_much(),
        })
    }

    /// Why an answer is not read.
    pub(super) fn too_much(self) -> String {
        format!("{} answered with more values than are read: ask for less", self.name)
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
        if words.is_empty() { "(an empty answer)".to_owned() } else { brief(&words) }
    }
}

/// Not too much of something that was answered. Where it is cut is marked, so that what is left of a secret there is found.
pub(super) fn brief(words: &(impl ToString + ?Sized)) -> String {
    let mut words = words.to_string();
    if let Some((end, _)) = words.char_indices().nth(WORDS) {
        words.truncate(end);
        words.push(CUT);
    }
    words
}

/// A text in JSON, by the path of fields to it.
pub(super) fn text_at(json: &Json, pointer: &str) -> Option<String> {
    json.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
