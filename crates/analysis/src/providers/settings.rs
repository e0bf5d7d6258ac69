//! Reads the settings of a provider field by field, so that everything wrong with them is told at once and by its path.
//! A field that nobody knows is wrong too: a misspelled one would silently change what is measured.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use windlass_api::go_duration;

use crate::rules::Flaw;

/// The fields of one object of settings.
pub(super) struct Fields<'a> {
    path: String,
    written: Option<&'a Map<String, Json>>,
    asked: Vec<&'static str>,
    flaws: Vec<Flaw>,
}

impl<'a> Fields<'a> {
    /// The settings that were written under this path.
    pub(super) fn read(path: &str, settings: &'a Json) -> Self {
        let mut read = Self {
            path: path.to_owned(),
            written: settings.as_object(),
            asked: Vec::new(),
            flaws: Vec::new(),
        };
        if read.written.is_none() {
            let what = format!("fields are wanted here, not {}", kind(settings));
            read.flaws.push(Flaw { field: path.to_owned(), what });
        }
        read
    }

    /// The path of a field.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Something is wrong with a field.
    pub(super) fn flaw(&mut self, name: &str, what: impl Into<String>) {
        self.flaws.push(Flaw { field: self.path(name), what: what.into() });
    }

    /// A text; an empty one counts as none, as Go reads it.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let text = self.typed(name, "a text", |value| value.as_str().map(str::to_owned))?;
        Some(text).filter(|text| !text.is_empty())
    }

    /// A text that has to be there.
    pub(super) fn needed_text(&mut self, name: &'static str, why: &str) -> String {
        let before = self.flaws.len();
        let text = self.text(name);
        if text.is_none() && self.flaws.len() == before && self.written.is_some() {
            self.flaw(name, why);
        }
        text.unwrap_or_default()
    }

    /// An address, without the slash at its end.
    pub(super) fn address(&mut self, name: &'static str, why: &str) -> String {
        let text = self.needed_text(name, why);
        if text.is_empty() {
            return text;
        }
        address(&text).unwrap_or_else(|what| {
            self.flaw(name, format!("this is {what}"));
            String::new()
        })
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.typed(name, "true or false", Json::as_bool)
    }

    /// A duration above 0, as Go writes it.
    pub(super) fn duration(&mut self, name: &'static str) -> Option<Duration> {
        let text = self.text(name)?;
        let read = go_duration(&text).and_then(|duration| Duration::try_from(duration).ok());
        if let Some(duration) = read.filter(|duration| !duration.is_zero()) {
            return Some(duration);
        }
        self.flaw(name, format!("{text:?} is not a duration above 0, such as 30s or 5m"));
        None
    }

    /// A whole number above 0, which may be written as a text.
    pub(super) fn count(&mut self, name: &'static str) -> Option<u32> {
        let number = self.typed(name, "a whole number", |value| match value {
            Json::String(text) => text.parse::<u32>().ok(),
            other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
        })?;
        if number == 0 {
            self.flaw(name, "the number must be above 0");
            return None;
        }
        Some(number)
    }

    /// Texts by name.
    pub(super) fn texts(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let fields =
            self.typed(name, "texts by name", |value| value.as_object().cloned()).unwrap_or_default();
        let mut texts = BTreeMap::new();
        for (key, value) in fields {
            match value {
                Json::String(text) => {
                    texts.insert(key, text);
                }
                other => {
                    self.flaw(&format!("{name}.{key}"), format!("a text is wanted, not {}", kind(&other)));
                }
            }
        }
        texts
    }

    /// What is in a list, each item by its path.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<(String, &'a Json)> {
        let path = self.path(name);
        let items = self.typed(name, "a list", Json::as_array);
        items
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, item)| (format!("{path}[{index}]"), item))
            .collect()
    }

    /// Fields within a field.
    pub(super) fn object(&mut self, name: &'static str) -> Option<Fields<'a>> {
        let path = self.path(name);
        self.typed(name, "fields", |value| value.is_object().then_some(value))
            .map(|settings| Fields::read(&path, settings))
    }

    /// Takes over what is wrong with fields within a field.
    pub(super) fn absorb(&mut self, within: Fields<'_>) {
        self.flaws.extend(within.flaws());
    }

    /// The provider, unless something is wrong.
    pub(super) fn finish<T>(self, provider: T) -> Result<T, Vec<Flaw>> {
        let flaws = self.flaws();
        if flaws.is_empty() { Ok(provider) } else { Err(flaws) }
    }

    /// Everything that is wrong, fields included that nobody asked for.
    fn flaws(mut self) -> Vec<Flaw> {
        let names: Vec<&str> = self.written.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        for name in names {
            if self.asked.contains(&name) {
                continue;
            }
            let near = self
                .asked
                .iter()
                .map(|known| {
                    (strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase()), *known)
                })
                .filter(|(distance, _)| *distance <= 2)
                .min();
            let hint = match near {
                Some((_, known)) => format!("did you mean {known}?"),
                None => format!("known are {}", self.asked.join(", ")),
            };
            self.flaw(name, format!("this field is not known; {hint}"));
        }
        self.flaws
    }

    fn typed<T>(
        &mut self,
        name: &'static str,
        wanted: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Option<T> {
        self.asked.push(name);
        let value = self.written?.get(name).filter(|value| !value.is_null())?;
        let typed = read(value);
        if typed.is_none() {
            self.flaw(name, format!("{wanted} is wanted, not {}", kind(value)));
        }
        typed
    }
}

/// An address without the slash at its end, or what is wrong with it. It is not repeated: it may hold a password, or come
/// from a Secret.
pub(super) fn address(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if host.is_none_or(|host| host.is_empty() || host.starts_with('/') || text.contains(char::is_whitespace))
    {
        return Err("not an address: it should begin with http:// or https:// and name a host");
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "this number",
        Json::String(_) => "this text",
        Json::Array(_) => "a list",
        Json::Object(_) => "fields",
    }
}
