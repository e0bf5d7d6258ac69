//! A document as it was written: every value with its line, so that whatever is wrong with it can be pointed at.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::Spanned;

/// A line and a column of a file, both counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl From<serde_saphyr::Location> for Position {
    fn from(location: serde_saphyr::Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) data: Data,
}

/// What is written there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Null,
    Truth(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// The keys in the order in which they were written.
    Map(Vec<(Key, Node)>),
}

/// A key, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) at: Position,
    pub(crate) name: String,
}

impl Node {
    /// The value under a key.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The text under a key.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Where a path such as `spec.strategy.canary.steps[2]` leads, or as far as it can be followed.
    pub(crate) fn place(&self, path: &str) -> Position {
        let mut at = self.at;
        let mut node = self;
        for part in path.split(['.', '[']) {
            let next = match part.strip_suffix(']') {
                Some(index) => node.item(index).map(|item| (item.at, item)),
                None => node.entry(part).map(|(key, value)| (key.at, value)),
            };
            let Some(next) = next else { return at };
            (at, node) = next;
        }
        at
    }

    /// The keys of a block.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        let entries = match &self.data {
            Data::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, _)| key)
    }

    /// Everything that a path leads to, each with its own path; `steps[]` is every item of the list.
    pub(crate) fn all(&self, path: &str) -> Vec<(String, &Self)> {
        let (path, every) = path.strip_suffix("[]").map_or((path, false), |path| (path, true));
        let Some(node) = path.split('.').try_fold(self, |node, part| node.get(part)) else {
            return Vec::new();
        };
        match &node.data {
            Data::List(items) if every => {
                items.iter().enumerate().map(|(index, item)| (format!("{path}[{index}]"), item)).collect()
            }
            _ if every => Vec::new(),
            _ => vec![(path.to_owned(), node)],
        }
    }

    fn entry(&self, name: &str) -> Option<&(Key, Self)> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|(key, _)| key.name == name),
            _ => None,
        }
    }

    fn item(&self, index: &str) -> Option<&Self> {
        match &self.data {
            Data::List(items) => items.get(index.parse::<usize>().ok()?),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Data>::deserialize(deserializer)?;
        Ok(Self { at: spanned.referenced.into(), data: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Data;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_none<E>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Data, D::Error> {
        Data::deserialize(deserializer)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Data, E> {
        Ok(Data::Truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Data, E> {
        Ok(Data::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Data, E> {
        Ok(Data::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Data, E> {
        // JSON has no infinity; neither has any field of Kubernetes.
        Ok(Number::from_f64(number).map_or_else(|| Data::Text(number.to_string()), Data::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Data, E> {
        Ok(Data::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Data, E> {
        Ok(Data::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Data, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Data::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Data, A::Error> {
        let mut map = Vec::new();
        while let Some((key, node)) = entries.next_entry::<Spanned<String>, Node>()? {
            map.push((Key { at: key.referenced.into(), name: key.value }, node));
        }
        Ok(Data::Map(map))
    }
}
