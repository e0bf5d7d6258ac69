//! What can be said about a value before it is there. The library checks kinds before it evaluates, with the kind of the
//! real result in hand; so `result == "a"` is an error for a number, not `false`.

use super::value::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// Nothing is known.
    Unknown,
    /// Known to be able to hold anything: an item of a list, a field. Differs from unknown only in what fits where.
    Any,
    Nil,
    Bool,
    Integer,
    Float,
    Text,
    Moment,
    Duration,
    List(Box<Nature>),
    Map {
        any_key: bool,
        item: Box<Nature>,
    },
}

use Nature as N;

impl Nature {
    pub(super) fn list_of(item: Nature) -> Self {
        N::List(Box::new(item))
    }

    pub(super) fn map(any_key: bool) -> Self {
        N::Map { any_key, item: Box::new(N::Any) }
    }

    /// The nature of a result. What is inside of it shows only when it is looked at.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Nil => N::Nil,
            Value::Bool(_) => N::Bool,
            Value::Integer(_) => N::Integer,
            Value::Float(_) => N::Float,
            Value::Text(_) => N::Text,
            Value::List(_) => N::list_of(N::Any),
            Value::Map(_) => N::map(false),
            Value::Moment(_) => N::Moment,
            Value::Duration(_) => N::Duration,
        }
    }

    pub(super) fn shown(&self) -> &'static str {
        match self {
            N::Unknown | N::Any => "something",
            N::Nil => "nil",
            N::Bool => "a bool",
            N::Integer => "an integer",
            N::Float => "a number",
            N::Text => "a text",
            N::Moment => "a time",
            N::Duration => "a duration",
            N::List(_) => "a list",
            N::Map { .. } => "a map",
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, N::Unknown | N::Any)
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, N::Integer | N::Float)
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, N::List(_))
    }

    /// Whether a list of both has one kind of items. What is unknown and nil have none.
    pub(super) fn is_of_kind(&self, other: &Nature) -> bool {
        let none = |nature: &Nature| matches!(nature, N::Unknown | N::Nil);
        std::mem::discriminant(self) == std::mem::discriminant(other) || none(self) && none(other)
    }

    /// What an item of it is.
    pub(super) fn item(&self) -> Nature {
        match self {
            N::List(item) | N::Map { item, .. } => (**item).clone(),
            _ => N::Unknown,
        }
    }

    /// Whether this can stand where the other is expected.
    pub(super) fn fits(&self, other: &Nature) -> bool {
        match (self, other) {
            (N::Unknown, _) | (_, N::Unknown) => false,
            (_, N::Any) | (N::Nil, N::List(_) | N::Map { .. }) | (N::List(_), N::List(_)) => true,
            (N::Nil, _) => false,
            (N::Map { any_key: one, item: of }, N::Map { any_key: two, item: and }) => {
                one == two && of.is_list() == and.is_list()
            }
            (one, two) => one == two,
        }
    }

    pub(super) fn comparable_to(&self, other: &Nature) -> bool {
        self.is_unknown()
            || other.is_unknown()
            || *self == N::Nil
            || *other == N::Nil
            || self.is_number() && other.is_number()
            || self.fits(other)
    }

    /// Whether nothing is known that speaks against it: one of them is unknown, and the other is one of those wanted.
    pub(super) fn maybe(&self, other: &Nature, wanted: impl Fn(&Nature) -> bool) -> bool {
        match (self.is_unknown(), other.is_unknown()) {
            (true, true) => true,
            (true, false) => wanted(other),
            (false, true) => wanted(self),
            (false, false) => false,
        }
    }
}
