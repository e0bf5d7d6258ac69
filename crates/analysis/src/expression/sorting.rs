//! Sorting by the comparison of the language, which may fail and which knows NaN.

use super::operators::compare;
use super::syntax::Operator;
use super::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

impl Order {
    pub(super) fn named(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) if text == "asc" => Ok(Self::Ascending),
            Value::Text(text) if text == "desc" => Ok(Self::Descending),
            _ => Err("the order is \"asc\" or \"desc\"".to_owned()),
        }
    }

    fn before(self, left: &Value, right: &Value) -> Result<bool, String> {
        match self {
            Self::Ascending => compare(Operator::Less, left, right),
            Self::Descending => compare(Operator::Less, right, left),
        }
    }
}

/// Up to so many the library sorts by insertion.
const FEW: usize = 12;

/// About how many steps sorting takes, by the weight of what is compared.
pub(super) fn steps(weight: usize) -> usize {
    weight.saturating_mul(weight.checked_ilog2().unwrap_or(0) as usize + 1)
}

/// Sorted by the first of each pair. Equal ones keep their order.
pub(super) fn sorted(pairs: Vec<(Value, Value)>, order: Order) -> Result<Vec<(Value, Value)>, String> {
    if pairs.len() <= FEW {
        return inserted(pairs, order);
    }
    let mut left = pairs;
    let right = left.split_off(left.len() / 2);
    merged(sorted(left, order)?, sorted(right, order)?, order)
}

fn inserted(mut pairs: Vec<(Value, Value)>, order: Order) -> Result<Vec<(Value, Value)>, String> {
    for end in 1..pairs.len() {
        let mut place = end;
        while place > 0 {
            let (Some((one, _)), Some((two, _))) = (pairs.get(place), pairs.get(place - 1)) else { break };
            if !order.before(one, two)? {
                break;
            }
            pairs.swap(place, place - 1);
            place -= 1;
        }
    }
    Ok(pairs)
}

fn merged(
    left: Vec<(Value, Value)>,
    right: Vec<(Value, Value)>,
    order: Order,
) -> Result<Vec<(Value, Value)>, String> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let from_right = match (left.peek(), right.peek()) {
            (Some((one, _)), Some((two, _))) => order.before(two, one)?,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return Ok(out),
        };
        out.extend(if from_right { right.next() } else { left.next() });
    }
}
