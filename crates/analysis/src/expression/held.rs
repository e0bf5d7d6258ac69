//! Values that are borrowed from the result or from the expression as long as that is possible.

use std::ops::Deref;
use std::rc::Rc;

use super::value::Value;

/// What is not there.
pub(super) const ABSENT: &Value = &Value::Nil;

/// A value that is borrowed, shared or owned.
#[derive(Clone, Debug)]
pub(super) enum Held<'a> {
    Borrowed(&'a Value),
    Shared(Rc<Value>),
    Owned(Value),
}

impl Deref for Held<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Borrowed(value) => value,
            Self::Shared(value) => value,
            Self::Owned(value) => value,
        }
    }
}

impl Held<'_> {
    /// Makes copies cheap.
    pub(super) fn shared(self) -> Self {
        match self {
            Self::Owned(value) => Self::Shared(Rc::new(value)),
            other => other,
        }
    }
}
