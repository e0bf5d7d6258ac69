//! Parts of values: fields, items, slices.

use super::evaluate::{Evaluator, Halt, at, failed};
use super::held::{ABSENT, Held};
use super::operators;
use super::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn slice(
        &mut self,
        position: usize,
        base: &Value,
        from: Option<&Value>,
        to: Option<&Value>,
    ) -> Result<Held<'a>, Halt> {
        let length = match base {
            Value::List(items) => items.len(),
            Value::Text(text) => text.len(),
            other => return failed(position, format!("{} cannot be cut into slices", other.kind())),
        };
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let from = at(position, from.map_or(Ok(0), operators::index))?;
        let to = at(position, to.map_or(Ok(length), operators::index))?;
        let back = |bound: i64| if bound < 0 { length.saturating_add(bound).max(0) } else { bound };
        let to = back(to).min(length);
        let from = back(from).min(to);
        let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
        match base {
            Value::Text(text) => match text.get(range) {
                Some(part) => {
                    self.write(position, part.len())?;
                    Ok(Held::Owned(Value::Text(part.to_owned())))
                }
                None => failed(
                    position,
                    "the slice cuts a character of the text in two: it counts bytes".to_owned(),
                ),
            },
            Value::List(items) => {
                let part = items.get(range).unwrap_or_default();
                self.work(position, part.iter().map(Value::weight).fold(1, usize::saturating_add))?;
                Ok(Held::Owned(Value::List(part.to_vec())))
            }
            _ => Ok(Held::Borrowed(ABSENT)),
        }
    }
}

/// A field or an item.
pub(super) fn member<'v>(base: &'v Value, property: &Value) -> Result<&'v Value, String> {
    match base {
        Value::Map(fields) => operators::field(fields, property),
        Value::List(items) => {
            let index = operators::index(property)?;
            item(items, index)
                .ok_or_else(|| format!("there is no item {index}: the list has {}", items.len()))
        }
        Value::Text(_) => Err("a text has no items here: cut it with a slice, as in [0:1]".to_owned()),
        Value::Nil => Err("nil has no fields: use ?. or ?? where a value may be missing".to_owned()),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Moment(_) | Value::Duration(_) => {
            Err(format!("{} has no fields", base.kind()))
        }
    }
}

/// An item, counted from the end if negative.
pub(super) fn item(items: &[Value], index: i64) -> Option<&Value> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let index = if index < 0 { length.checked_add(index)? } else { index };
    items.get(usize::try_from(index).ok()?)
}
