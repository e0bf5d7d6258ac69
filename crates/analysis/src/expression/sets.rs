//! What is written out behind `in`. The library turns it into a set of texts or of integers, or into two comparisons, and
//! that shows when the needle is of another kind.

use super::operators::{compare, equal};
use super::syntax::{Kind, Node, Operator};
use super::value::Value;

pub(super) enum Set<'a> {
    Texts(&'a [Value]),
    Integers(&'a [Value]),
    Range(&'a Value, &'a Value),
}

impl<'a> Set<'a> {
    /// The set that a node is, if it is one; one of integers only if the needle is known to be an integer.
    pub(super) fn of(node: &'a Node, integer: bool) -> Option<Self> {
        match &node.kind {
            Kind::Literal(Value::List(items)) if items.iter().all(|item| matches!(item, Value::Text(_))) => {
                Some(Self::Texts(items))
            }
            Kind::Literal(Value::List(items))
                if integer && items.iter().all(|item| matches!(item, Value::Integer(_))) =>
            {
                Some(Self::Integers(items))
            }
            Kind::Binary(Operator::Range, from, to) if integer => match (&from.kind, &to.kind) {
                (Kind::Literal(from @ Value::Integer(_)), Kind::Literal(to @ Value::Integer(_))) => {
                    Some(Self::Range(from, to))
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(items) | Self::Integers(items) => items.len(),
            Self::Range(..) => 2,
        }
    }

    /// Nil is looked for as the empty text, or as zero.
    pub(super) fn has(&self, needle: &Value) -> Result<bool, String> {
        let among = |items: &[Value], needle: &Value| items.iter().any(|item| equal(item, needle));
        match (self, needle) {
            (Self::Texts(items), Value::Text(_)) | (Self::Integers(items), Value::Integer(_)) => {
                Ok(among(items, needle))
            }
            (Self::Texts(items), Value::Nil) => Ok(among(items, &Value::Text(String::new()))),
            (Self::Integers(items), Value::Nil) => Ok(among(items, &Value::Integer(0))),
            (Self::Texts(_) | Self::Integers(_), other) => {
                Err(format!("{} cannot be one of these", other.kind()))
            }
            (Self::Range(from, to), needle) => {
                Ok(compare(Operator::MoreOrEqual, needle, from)?
                    && compare(Operator::LessOrEqual, needle, to)?)
            }
        }
    }
}
