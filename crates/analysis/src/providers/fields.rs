//! The settings of a provider as a person wrote them, read field by field. Everything that does not make sense is
//! collected with its path, so that all of it is told at once. A field that nobody asked for is a mistake too: a
//! misspelled one would silently change what is measured.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Map, Value as Json};
use windlass_api::go_duration;

use super::Trust;
use super::kubernetes::object_name;
use crate::arguments::HIDDEN;
use crate::rules::Flaw;
use crate::suggest::did_you_mean;

/// What is said of a field that must be there, when nothing better can be said.
const MISSING: &str = "it is missing";

/// The longest that anybody is waited for.
const LONGEST: Duration = Duration::from_secs(300);

/// A block of settings that is being read.
pub(super) struct Fields<'a> {
    path: String,
    /// What should be a block and is something else.
    no_block: Option<&'a Json>,
    given: Option<&'a Map<String, Json>>,
    known: Vec<&'static str>,
    flaws: Vec<Flaw>,
}

/// Whether a text is still to be filled in: it holds the placeholder of a secret, or a tag of a pod. It is not checked
/// then for what it will be.
pub(super) fn is_open(text: &str) -> bool {
    text.contains(HIDDEN) || text.contains("{{")
}

impl<'a> Fields<'a> {
    /// Reads the settings at a path; nothing at all counts as an empty block. Or everything that does not make sense.
    pub(super) fn read<T>(
        path: &str,
        settings: &'a Json,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, Vec<Flaw>> {
        let mut fields = Self::new(path, settings);
        let read = read(&mut fields);
        let flaws = fields.finish();
        if flaws.is_empty() { Ok(read) } else { Err(flaws) }
    }

    fn new(path: &str, settings: &'a Json) -> Self {
        let given = settings.as_object();
        let no_block = (given.is_none() && !settings.is_null()).then_some(settings);
        Self { path: path.to_owned(), no_block, given, known: Vec::new(), flaws: Vec::new() }
    }

    /// Everything that does not make sense, unknown fields included.
    fn finish(mut self) -> Vec<Flaw> {
        if let Some(other) = self.no_block {
            // That everything is missing in it goes without saying.
            let what = format!("expected a block of settings, not {}", kind(other));
            return vec![Flaw { field: self.path, what }];
        }
        let given = self.given.into_iter().flatten();
        for (name, _) in given.filter(|(name, _)| !self.known.contains(&name.as_str())) {
            let what = match did_you_mean(name, &self.known) {
                Some(meant) => format!("there is no such field; did you mean {meant}?"),
                None => format!("there is no such field; there are {}", self.known.join(", ")),
            };
            self.flaws.push(Flaw { field: format!("{}.{name}", self.path), what });
        }
        self.flaws
    }

    /// Notes that a field does not make sense.
    pub(super) fn flaw(&mut self, name: &str, what: impl Into<String>) {
        self.flaws.push(Flaw { field: format!("{}.{name}", self.path), what: what.into() });
    }

    /// What stands in a field; null counts as nothing.
    pub(super) fn json(&mut self, name: &'static str) -> Option<&'a Json> {
        self.known.push(name);
        self.given?.get(name).filter(|value| !value.is_null())
    }

    /// Whether something stands in a field.
    pub(super) fn has(&self, name: &str) -> bool {
        let value = self.given.and_then(|given| given.get(name));
        value.is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
    }

    /// A text; an empty one counts as nothing.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        match self.json(name)? {
            Json::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            other => {
                self.flaw(name, format!("expected a text, not {}", kind(other)));
                None
            }
        }
    }

    /// A text that must be there; empty if it is not, which is noted.
    pub(super) fn required(&mut self, name: &'static str) -> String {
        self.needed(name, MISSING)
    }

    /// The same, with what is said if it is not there.
    pub(super) fn needed(&mut self, name: &'static str, advice: &str) -> String {
        if !self.has(name) {
            self.flaw(name, advice);
        }
        self.text(name).unwrap_or_default()
    }

    /// The name of an object of Kubernetes.
    pub(super) fn object_name(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        if let Err(what) = object_name(&text) {
            self.flaw(name, what);
        }
        Some(text)
    }

    /// One that must be there, with what is said if it is not.
    pub(super) fn needed_object_name(&mut self, name: &'static str, advice: &str) -> String {
        if !self.has(name) {
            self.flaw(name, advice);
        }
        self.object_name(name).unwrap_or_default()
    }

    /// One of a few words.
    pub(super) fn one_of(&mut self, name: &'static str, words: &[&str]) -> Option<String> {
        let text = self.text(name)?;
        if !words.contains(&text.as_str()) && !is_open(&text) {
            self.flaw(name, format!("{text:?} is none of {}", words.join(", ")));
        }
        Some(text)
    }

    /// A yes or no.
    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        match self.json(name)? {
            Json::Bool(flag) => Some(*flag),
            Json::String(text) if text == "true" => Some(true),
            Json::String(text) if text == "false" => Some(false),
            Json::String(text) if text.is_empty() || is_open(text) => None,
            other => {
                self.flaw(name, format!("expected true or false, not {}", kind(other)));
                None
            }
        }
    }

    /// A whole number, also written as a text, because arguments are texts.
    pub(super) fn number(&mut self, name: &'static str) -> Option<i64> {
        let value = self.json(name)?;
        let read = match value {
            Json::Number(number) => number.as_i64(),
            Json::String(text) if text.is_empty() || is_open(text) => return None,
            Json::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        if read.is_none() {
            self.flaw(name, format!("expected a whole number, not {}", kind(value)));
        }
        read
    }

    /// A whole number above 0.
    pub(super) fn count(&mut self, name: &'static str) -> Option<u32> {
        let number = self.number(name)?;
        let count = u32::try_from(number).ok().filter(|count| *count > 0);
        if count.is_none() {
            self.flaw(name, format!("expected a whole number above 0, not {number}"));
        }
        count
    }

    /// A time limit in seconds, which is not too long; 0 means the usual one, as upstream.
    pub(super) fn seconds(&mut self, name: &'static str, usual: u64) -> Duration {
        let limit = self.any_seconds(name, usual);
        self.no_longer(name, limit).unwrap_or(Duration::from_secs(usual))
    }

    /// The same, for whoever has a limit of its own for it.
    pub(super) fn any_seconds(&mut self, name: &'static str, usual: u64) -> Duration {
        let given = self.number(name).unwrap_or(0);
        let limit = u64::try_from(given).unwrap_or_else(|_| {
            self.flaw(name, format!("{given} is no time limit: write whole seconds above 0"));
            0
        });
        Duration::from_secs(if limit == 0 { usual } else { limit })
    }

    /// A time limit as Go writes durations.
    pub(super) fn time_limit(&mut self, name: &'static str, usual: Duration) -> Duration {
        let limit = self.duration(name).and_then(|limit| Duration::try_from(limit).ok()).unwrap_or(usual);
        self.no_longer(name, limit).unwrap_or(usual)
    }

    /// A time limit, unless it is none: whoever does not answer is not waited for without end.
    fn no_longer(&mut self, name: &'static str, limit: Duration) -> Option<Duration> {
        if limit > LONGEST {
            self.flaw(name, format!("an answer is waited for {} seconds at most", LONGEST.as_secs()));
            return None;
        }
        Some(limit)
    }

    /// A duration as Go writes it, above zero.
    pub(super) fn duration(&mut self, name: &'static str) -> Option<SignedDuration> {
        let text = self.text(name).filter(|text| !is_open(text))?;
        let duration = go_duration(&text).filter(SignedDuration::is_positive);
        if duration.is_none() {
            self.flaw(name, format!("{text:?} is no duration above 0: write it as 30s, 5m or 1h30m"));
        }
        duration
    }

    /// An address that can be asked.
    pub(super) fn address(&mut self, name: &'static str) -> Option<String> {
        let address = self.text(name)?.trim().to_owned();
        match checked_address(&address) {
            Err(BadAddress::NoAddress) if !is_open(&address) => {
                self.flaw(name, format!("{address:?} is {}", BadAddress::NoAddress));
            }
            // It is not repeated, because of the password.
            Err(BadAddress::WithPassword) => self.flaw(name, format!("it is {}", BadAddress::WithPassword)),
            Err(BadAddress::NoAddress) | Ok(()) => {}
        }
        Some(address)
    }

    /// An address that must be there; empty if it is not, which is noted.
    pub(super) fn required_address(&mut self, name: &'static str) -> String {
        self.needed_address(name, MISSING)
    }

    /// The same, with what is said if it is not there.
    pub(super) fn needed_address(&mut self, name: &'static str, advice: &str) -> String {
        if !self.has(name) {
            self.flaw(name, advice);
        }
        self.address(name).unwrap_or_default()
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<String> {
        let mut texts = Vec::new();
        for (index, item) in self.list(name).iter().enumerate() {
            match item {
                Json::String(text) => texts.push(text.clone()),
                other => {
                    self.flaw(&format!("{name}[{index}]"), format!("expected a text, not {}", kind(other)));
                }
            }
        }
        texts
    }

    /// Texts by name.
    pub(super) fn named_texts(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        match self.json(name) {
            None => {}
            Some(Json::Object(fields)) => {
                for (key, value) in fields {
                    match value {
                        Json::String(text) => drop(texts.insert(key.clone(), text.clone())),
                        other => {
                            let what = format!("expected a text, not {}", kind(other));
                            self.flaw(&format!("{name}.{key}"), what);
                        }
                    }
                }
            }
            Some(other) => self.flaw(name, format!("expected texts by name, not {}", kind(other))),
        }
        texts
    }

    /// A list of blocks.
    pub(super) fn items<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Fields<'a>) -> T,
    ) -> Vec<T> {
        let items = self.list(name).iter().enumerate();
        items.map(|(index, item)| self.below(&format!("{name}[{index}]"), item, &mut read)).collect()
    }

    /// A block within the block; nothing if it is not there or has nothing in it.
    pub(super) fn block<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'a>) -> T,
    ) -> Option<T> {
        let block = self.json(name)?;
        let is_blank = block.as_object().is_some_and(|fields| fields.values().all(is_blank));
        (!is_blank).then(|| self.below(name, block, read))
    }

    /// A block whose fields are for somebody else to judge.
    pub(super) fn optional_object(&mut self, name: &'static str) {
        if let Some(other) = self.json(name).filter(|value| !value.is_object()) {
            self.flaw(name, format!("expected a block, not {}", kind(other)));
        }
    }

    /// The same, in a block in a block, which must all be there.
    pub(super) fn needed_object(&mut self, path: &[&'static str]) {
        self.known.extend(path.first());
        let mut here = self.given;
        for (index, name) in path.iter().enumerate() {
            let what = match here.and_then(|block| block.get(*name)) {
                Some(Json::Object(block)) => {
                    here = Some(block);
                    continue;
                }
                None | Some(Json::Null) => MISSING.to_owned(),
                Some(other) => format!("expected a block, not {}", kind(other)),
            };
            return self.flaw(&path[..=index].join("."), what);
        }
    }

    /// Headers, as upstream writes them: `key` and `value`.
    pub(super) fn headers(&mut self, name: &'static str) -> Vec<(String, String)> {
        self.items(name, |header| {
            let (key, value) = (header.required("key"), header.text("value").unwrap_or_default());
            let is_token =
                |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
            if !key.chars().all(is_token) && !is_open(&key) {
                header.flaw("key", format!("{key:?} is no name of a header"));
            }
            // The value is not told: it may be a secret.
            if value.chars().any(|letter| letter.is_control() && letter != '\t') {
                header.flaw(
                    "value",
                    "a header has no line breaks: a Secret made from a file often ends with one",
                );
            }
            (key, value)
        })
    }

    /// Whom to trust: `insecure`, and `tls` with `ca`, `certificate` and `key`, all PEM.
    pub(super) fn trust(&mut self) -> Trust {
        let insecure = self.flag("insecure").unwrap_or_default();
        let read = self.block("tls", |tls| {
            let (authorities, certificate, key) = (tls.pem("ca"), tls.pem("certificate"), tls.pem("key"));
            let identity = match (certificate, key) {
                (Some(certificate), Some(key)) => Some((certificate, key)),
                (None, None) => None,
                (Some(_), None) => {
                    tls.flaw("key", "it is missing: a certificate needs its key");
                    None
                }
                (None, Some(_)) => {
                    tls.flaw("certificate", "it is missing: a key needs its certificate");
                    None
                }
            };
            (authorities, identity)
        });
        let (authorities, identity) = read.unwrap_or_default();
        if insecure && authorities.is_some() {
            self.flaw("insecure", "with insecure nothing is checked, so tls.ca has no use: keep one of them");
        }
        Trust { insecure, authorities, identity, ..Trust::default() }
    }

    fn pem(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        // The text is not told: it may be a key.
        if !text.contains("-----BEGIN ") && !is_open(&text) {
            self.flaw(name, "expected PEM, a text with the line -----BEGIN …-----");
        }
        Some(text)
    }

    fn list(&mut self, name: &'static str) -> &'a [Json] {
        match self.json(name) {
            None => &[],
            Some(Json::Array(items)) => items,
            Some(other) => {
                self.flaw(name, format!("expected a list, not {}", kind(other)));
                &[]
            }
        }
    }

    fn below<T>(&mut self, name: &str, block: &'a Json, read: impl FnOnce(&mut Fields<'a>) -> T) -> T {
        let mut fields = Fields::new(&format!("{}.{name}", self.path), block);
        let read = read(&mut fields);
        self.flaws.append(&mut fields.finish());
        read
    }
}

/// What somebody wrote instead of an address that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadAddress {
    /// Something else.
    NoAddress,
    /// An address that gives a name and password away.
    WithPassword,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoAddress => "no address: it begins with http:// or https:// and names a host",
            Self::WithPassword => {
                "an address with a name and password in it; prometheus and web have authentication.basicAuth for that"
            },
        })
    }
}

/// Whether an address can be asked: http or https, with a host and without a password.
pub(super) fn checked_address(address: &str) -> Result<(), BadAddress> {
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.contains('@') {
        return Err(BadAddress::WithPassword);
    }
    if host.is_empty() || host.starts_with(':') || address.contains(char::is_whitespace) {
        return Err(BadAddress::NoAddress);
    }
    Ok(())
}

/// An address that paths are put behind, so without a slash at its end.
pub(super) fn base_address(address: &str) -> Result<String, BadAddress> {
    checked_address(address).map(|()| address.trim_end_matches('/').to_owned())
}

fn is_blank(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.values().all(is_blank),
        Json::Bool(true) | Json::Number(_) => false,
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a block",
    }
}
