//! What expressions work on: the values of the library, and nothing of its host language that a condition cannot see.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::meter::effort;

/// What a map weighs, however few fields it has: it takes room for eleven.
pub(super) const MAP: usize = 16;

/// A value in an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: `nil`, JSON's `null`, a field that is not there.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number, 64 bits. Arithmetic on it wraps around, as in Go.
    Integer(i64),
    /// A number with a fraction; may be NaN or infinite.
    Float(f64),
    /// A text.
    Text(String),
    /// A list of values of any kind.
    List(Vec<Value>),
    /// Fields by name.
    Map(BTreeMap<String, Value>),
    /// A point in time.
    Moment(Timestamp),
    /// A length of time.
    Duration(SignedDuration),
}

impl Value {
    /// Whether it is NaN or a list with NaN in it. Of a map each field stands for itself: it counts when somebody
    /// looks at it.
    pub(crate) fn has_nan(&self) -> bool {
        match self {
            Self::Float(number) => number.is_nan(),
            Self::List(items) => items.iter().any(Self::has_nan),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Text(_)
            | Self::Map(_)
            | Self::Moment(_)
            | Self::Duration(_) => false,
        }
    }

    /// Whether there is nothing at all: nil or an empty list. NaN is something, though no number.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Nil => true,
            Self::List(items) => items.is_empty(),
            Self::Bool(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Text(_)
            | Self::Map(_)
            | Self::Moment(_)
            | Self::Duration(_) => false,
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a bool",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Moment(_) => "a time",
            Self::Duration(_) => "a duration",
        }
    }

    /// How many values this is, itself included: what looking at it or copying it costs. The name of a field is copied
    /// and looked at as a text is.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::List(items) => items.iter().map(Self::weight).fold(1, usize::saturating_add),
            Self::Map(fields) => fields
                .iter()
                .map(|(name, field)| effort(name.len()).saturating_add(field.weight()))
                .fold(MAP, usize::saturating_add),
            Self::Text(text) => 1 + effort(text.len()),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Moment(_)
            | Self::Duration(_) => 1,
        }
    }

    /// How deep lists and maps are nested in it.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Map(fields) => 1 + fields.values().map(Self::depth).max().unwrap_or(0),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Text(_)
            | Self::Moment(_)
            | Self::Duration(_) => 0,
        }
    }
}

impl From<serde_json::Value> for Value {
    /// Every JSON number is a float, as Go reads them into a value of no known type. For a real integer use
    /// [`Value::Integer`].
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(fields) => {
                Self::Map(fields.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}
