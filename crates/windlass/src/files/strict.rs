//! From a document to a type, as strict as a server asked for strictness: a field that the type does not have, and a
//! value of the wrong type, are mistakes with a path and a line. All unknown fields up to the first value of a wrong
//! type are found; what follows such a value is read once it is mended.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::node::{Data, Key, Node, Position};
use windlass_analysis::suggest::did_you_mean;

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: Position,
    pub(crate) text: String,
}

/// The fields that every object has, whether its type names them or not.
const OF_EVERY_OBJECT: [&str; 2] = ["apiVersion", "kind"];

/// The typed object, or everything that is wrong.
pub(crate) fn strictly<T: DeserializeOwned>(node: &Node) -> Result<T, Vec<Wrong>> {
    let unknown = RefCell::new(Vec::new());
    let read = T::deserialize(Reader { node, path: String::new(), unknown: &unknown });
    let mut wrong = unknown.into_inner();
    match read {
        Ok(object) if wrong.is_empty() => Ok(object),
        Ok(_) => Err(wrong),
        Err(mismatch) => {
            wrong.push(mismatch.placed(node.at, ""));
            wrong.sort_by_key(|wrong| wrong.at);
            Err(wrong)
        }
    }
}

#[derive(Clone)]
struct Reader<'a> {
    node: &'a Node,
    path: String,
    unknown: &'a RefCell<Vec<Wrong>>,
}

impl<'a> Reader<'a> {
    fn member(&self, name: &str, node: &'a Node) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { node, path, unknown: self.unknown }
    }

    fn item(&self, index: usize, node: &'a Node) -> Self {
        Self { node, path: format!("{}[{index}]", self.path), unknown: self.unknown }
    }

    /// Keeps the fields that are known, and notes the others.
    fn known(&self, entries: &'a [(Key, Node)], fields: &'static [&'static str]) -> Vec<&'a (Key, Node)> {
        let is_known = |(key, _): &&(Key, Node)| {
            let of_every = self.path.is_empty() && OF_EVERY_OBJECT.contains(&key.name.as_str());
            let known = of_every || fields.contains(&key.name.as_str());
            if !known {
                self.note(key, fields);
            }
            known
        };
        entries.iter().filter(is_known).collect()
    }

    fn note(&self, key: &Key, fields: &[&str]) {
        let parent = if self.path.is_empty() { "the object" } else { &self.path };
        let hint = did_you_mean(&key.name, fields).map_or_else(
            || format!("; expected one of {}", fields.join(", ")),
            |meant| format!("; did you mean {meant}?"),
        );
        let text = format!("unknown field {} in {parent}{hint}", key.name);
        self.unknown.borrow_mut().push(Wrong { at: key.at, text });
    }

    fn placed<T>(&self, result: Result<T, Mismatch>) -> Result<T, Mismatch> {
        result.map_err(|mismatch| Mismatch::Placed(mismatch.placed(self.node.at, &self.path)))
    }
}

impl<'de, 'a: 'de> Deserializer<'de> for Reader<'a> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let result = match &self.node.data {
            Data::Null => visitor.visit_unit(),
            Data::Truth(truth) => visitor.visit_bool(*truth),
            Data::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_i64(number),
                (None, Some(number), _) => visitor.visit_u64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Data::Text(text) => visitor.visit_str(text),
            Data::List(items) => visitor.visit_seq(Items { reader: &self, list: items, next: 0 }),
            Data::Map(entries) => visitor.visit_map(Entries::of(&self, entries.iter().collect())),
        };
        self.placed(result)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Map(entries) => {
                let known = self.known(entries, fields);
                let result = visitor.visit_map(Entries::of(&self, known));
                self.placed(result)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

struct Items<'r, 'a> {
    reader: &'r Reader<'a>,
    list: &'a [Node],
    next: usize,
}

impl<'de, 'a: 'de> SeqAccess<'de> for Items<'_, 'a> {
    type Error = Mismatch;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mismatch> {
        let Some(node) = self.list.get(self.next) else { return Ok(None) };
        let reader = self.reader.item(self.next, node);
        self.next += 1;
        seed.deserialize(reader).map(Some)
    }
}

struct Entries<'r, 'a> {
    reader: &'r Reader<'a>,
    left: std::vec::IntoIter<&'a (Key, Node)>,
    value: Option<&'a (Key, Node)>,
}

impl<'r, 'a> Entries<'r, 'a> {
    fn of(reader: &'r Reader<'a>, entries: Vec<&'a (Key, Node)>) -> Self {
        Self { reader, left: entries.into_iter(), value: None }
    }
}

impl<'de, 'a: 'de> MapAccess<'de> for Entries<'_, 'a> {
    type Error = Mismatch;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mismatch> {
        self.value = self.left.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        let name: StrDeserializer<'_, Mismatch> = key.name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mismatch> {
        match self.value.take() {
            Some((key, node)) => seed.deserialize(self.reader.member(&key.name, node)),
            None => Err(Mismatch::custom("a value without a key")),
        }
    }
}

/// A value that the type does not take: with its place, once somebody knew it.
#[derive(Debug)]
enum Mismatch {
    Bare(String),
    Placed(Wrong),
}

impl Mismatch {
    fn placed(self, at: Position, path: &str) -> Wrong {
        match self {
            Self::Placed(wrong) => wrong,
            Self::Bare(text) if path.is_empty() => Wrong { at, text },
            Self::Bare(text) => Wrong { at, text: format!("{path}: {text}") },
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(text) => out.write_str(text),
            Self::Placed(wrong) => out.write_str(&wrong.text),
        }
    }
}

impl std::error::Error for Mismatch {}

impl Error for Mismatch {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::Bare(text.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Bare(format!(
            "expected {}, found {}",
            expected_words(&expected.to_string()),
            found_words(found)
        ))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Bare(format!("the field {field} is missing"))
    }
}

/// Types in the words of whoever writes a manifest.
fn expected_words(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" | "Vec" => "a list",
        "IntOrString" => "a whole number or a text",
        "a map" => "a block of fields",
        block if block.starts_with("struct ") => "a block of fields",
        block if block.starts_with(|first: char| first.is_ascii_uppercase()) => "a block of fields",
        other => other,
    }
}

fn found_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(truth) => truth.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Float(number) => number.to_string(),
        Unexpected::Str(text) => format!("the text {text:?}"),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a block of fields".to_owned(),
        other => other.to_string(),
    }
}
