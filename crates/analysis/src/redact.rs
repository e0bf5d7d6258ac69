//! Secrets are never shown: whatever a person can see passes here first.

use std::collections::BTreeSet;
use std::fmt;

use crate::arguments::HIDDEN;
use crate::expression::to_base64;

/// What stands where a text was cut.
pub(crate) const CUT: char = '…';
/// How much of a long secret is enough to know it by. What follows is hidden as far as it is the secret's.
const HEAD: usize = 32;
/// How deep texts are looked for within texts: a page that quotes JSON is a text of the JSON in which the values of several
/// pods stand.
const NESTED: usize = 3;
/// How much of a secret is looked for there: far more than is kept of what is nested. Each level makes it longer.
const LONG: usize = 64 * 1024;
/// How much of a secret may be seen where a text was cut in the middle of it.
const SEEN: usize = 1;

/// Replaces secrets by `*****`, also where they are written in another way: without the spaces around them, escaped, even
/// several times over, in an address, or in base64; and where only their beginning is left, because a text was cut there (`…`). A measured
/// number is a text here too: one that contains a secret's digits shows stars. However many secrets there are and however
/// long they are, that takes about as long as the text is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    /// In order.
    secrets: Vec<String>,
    /// For each one the longest other one that it begins with and that is no longer than a head.
    within: Vec<Option<usize>>,
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
        let secrets: Vec<String> = all.into_iter().filter(|secret| !secret.is_empty()).collect();
        let mut within: Vec<Option<usize>> = Vec::with_capacity(secrets.len());
        for (index, secret) in secrets.iter().enumerate() {
            // Whatever it begins with stands before it, and begins those in between as well.
            let mut known = index.checked_sub(1);
            while let Some(other) = known.and_then(|known| secrets.get(known))
                && (other.len() > HEAD || !secret.starts_with(other.as_str()))
            {
                known = known.and_then(|known| within.get(known).copied().flatten());
            }
            within.push(known);
        }
        Self { secrets, within }
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
        if self.secrets.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let length = if let Some(hidden) = self.begins(rest).max(self.cut_off(rest)) {
                out.push_str(HIDDEN);
                hidden
            } else {
                out.push(next);
                next.len_utf8()
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        out
    }

    /// How much of the beginning of a text is a secret; the longest one counts.
    fn begins(&self, text: &str) -> Option<usize> {
        let head = head(text.as_bytes());
        let next = self.secrets.partition_point(|secret| self::head(secret.as_bytes()) <= head);
        let mut at = next.checked_sub(1);
        while let Some(secret) = at.and_then(|at| self.secrets.get(at)) {
            if secret.len() <= HEAD && text.starts_with(secret.as_str()) {
                return Some(secret.len());
            }
            if secret.len() > HEAD && self::head(secret.as_bytes()) == head {
                return Some(self.common(text));
            }
            at = at.and_then(|at| self.within.get(at).copied().flatten());
        }
        None
    }

    /// How much of a text that is cut off soon is the beginning of a secret.
    fn cut_off(&self, text: &str) -> Option<usize> {
        let window = text.char_indices().take(HEAD).find(|(_, letter)| *letter == CUT)?.0;
        let left = text.get(..window)?;
        let place = self.secrets.partition_point(|secret| secret.as_str() < left);
        let begun = self.secrets.get(place).is_some_and(|secret| secret.starts_with(left));
        (begun && left.chars().count() > SEEN).then_some(window)
    }

    /// How much a text has in common with the secret that it has most in common with: one of its neighbours.
    fn common(&self, text: &str) -> usize {
        let place = self.secrets.partition_point(|secret| secret.as_str() <= text);
        let neighbours = [place.checked_sub(1), Some(place)].into_iter().flatten();
        let common = |secret: &String| {
            let pairs = text.chars().zip(secret.chars()).take_while(|(one, other)| one == other);
            pairs.map(|(letter, _)| letter.len_utf8()).sum()
        };
        neighbours.filter_map(|at| self.secrets.get(at)).map(common).max().unwrap_or(0)
    }
}

fn head(text: &[u8]) -> &[u8] {
    text.get(..HEAD).unwrap_or(text)
}

/// A secret as it may be written somewhere.
fn spellings(secret: &str) -> BTreeSet<String> {
    let trimmed = secret.trim();
    let in_an_address: String = form_urlencoded::byte_serialize(trimmed.as_bytes()).collect();
    let mut all = BTreeSet::from([
        secret.to_owned(),
        trimmed.to_owned(),
        in_an_address.replace('+', "%20"),
        in_an_address,
        to_base64(secret),
        to_base64(trimmed),
    ]);
    all.extend(escaped(trimmed));
    let mut texts = BTreeSet::from([
        start(trimmed).to_owned(),
        // As answers are quoted.
        start(trimmed).split_whitespace().collect::<Vec<_>>().join(" "),
    ]);
    for _ in 0..NESTED {
        let within: BTreeSet<String> = texts.iter().flat_map(|text| escaped(text)).collect();
        all.append(&mut std::mem::replace(&mut texts, within));
    }
    all.append(&mut texts);
    all
}

/// A text as it stands between the quotes of another one.
fn escaped(text: &str) -> [String; 3] {
    let inner = |quoted: String| quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let json = inner(serde_json::Value::from(text).to_string());
    // Go writes these three so, even where nobody reads them as HTML.
    let in_go = json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    [inner(format!("{text:?}")), in_go, json]
}

/// As much of a secret as is looked for in texts within texts.
fn start(secret: &str) -> &str {
    let end = secret.char_indices().nth(LONG);
    end.and_then(|(end, _)| secret.get(..end)).unwrap_or(secret)
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
    fn a_secret_is_hidden_in_every_spelling_that_servers_repeat_it_in() {
        let redactor = Redactor::new(["a<b>&c", "two words\nand a line", "p+q r"]);
        let rows = [
            ("{\"error\":\"a\\u003cb\\u003e\\u0026c\"}", "{\"error\":\"*****\"}"),
            ("two words and a line.", "*****."),
            ("two words\\nand a line.", "*****."),
            ("p%2Bq+r p%2Bq%20r", "***** *****"),
        ];
        for (text, wanted) in rows {
            assert_eq!(redactor.text(text), wanted);
        }
    }

    #[test]
    fn a_secret_is_hidden_in_a_text_within_a_text_within_a_text() {
        let redactor = Redactor::new(["pa\"ss\\wo<rd", "1\u{7}2"]);
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        for secret in ["pa\"ss\\wo<rd", "1\u{7}2"] {
            let json = quoted(secret);
            assert_eq!(redactor.text(&json), "\"*****\"");
            assert_eq!(redactor.text(&quoted(&json)), "\"\\\"*****\\\"\"");
            assert_eq!(redactor.text(&quoted(&quoted(&json))), quoted(&quoted("\"*****\"")));
            assert_eq!(redactor.text(&quoted(&format!("{secret:?}"))), quoted("\"*****\""));
            assert_eq!(redactor.text(&format!("{json:?}")), quoted("\"*****\""));
        }
    }

    #[test]
    fn what_is_left_of_a_secret_where_a_text_was_cut_is_hidden_too() {
        let token = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH";
        let redactor = Redactor::new([token, "short", "0123"]);
        for length in 2..token.len() {
            let text = format!("no: Bearer {}…; look", &token[..length]);
            assert_eq!(redactor.text(&text), "no: Bearer *****…; look", "{length}");
        }
        assert_eq!(redactor.text("sh… short… shirt… 0…"), "*****… *****… shirt… 0…");
    }

    #[test]
    fn a_long_secret_is_hidden_as_far_as_it_goes_and_the_longest_counts() {
        let long = "x".repeat(50);
        let redactor = Redactor::new([
            format!("{long}-one"),
            format!("{long}-other"),
            "xx".to_owned(),
            "xxxx".to_owned(),
        ]);
        assert_eq!(
            redactor.text(&format!("{long}-other, {long}-one, {long}-none")),
            "*****, *****, *****none"
        );
        assert_eq!(redactor.text("xxxxx xxx"), "*****x *****x");
    }

    #[test]
    fn what_was_put_in_is_not_looked_at_again() {
        assert_eq!(Redactor::new(["*", "ab"]).text("ab*"), "**********");
    }
}
