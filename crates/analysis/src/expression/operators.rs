//! Arithmetic and comparison, as Go computes them.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::syntax::Operator;
use super::time::{between, later, nanoseconds};
use super::value::Value;

/// A float as a whole number. What does not fit becomes the smallest one, as on the machines Go runs on here.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn truncated(number: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// A whole number as a float; beyond 53 bits the nearest.
#[expect(clippy::cast_precision_loss, reason = "that is what a float is")]
pub(super) fn float(number: i64) -> f64 {
    number as f64
}

/// Two numbers made alike.
enum Pair {
    Integers(i64, i64),
    Floats(f64, f64),
}

fn numbers(left: &Value, right: &Value) -> Option<Pair> {
    Some(match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Pair::Integers(*left, *right),
        (Value::Float(left), Value::Float(right)) => Pair::Floats(*left, *right),
        (Value::Integer(left), Value::Float(right)) => Pair::Floats(float(*left), *right),
        (Value::Float(left), Value::Integer(right)) => Pair::Floats(*left, float(*right)),
        _ => return None,
    })
}

/// Equality across kinds: numbers by value, lists item by item, everything else only to its own kind.
#[expect(clippy::float_cmp, reason = "users ask for it")]
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    if let Some(pair) = numbers(left, right) {
        return match pair {
            Pair::Integers(left, right) => left == right,
            Pair::Floats(left, right) => left == right,
        };
    }
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        // Inside of maps a whole number is not a float.
        _ => left == right,
    }
}

/// `<`, `>`, `<=` or `>=`.
pub(super) fn compare(operator: Operator, left: &Value, right: &Value) -> Result<bool, String> {
    fn by<T: PartialOrd>(operator: Operator, left: &T, right: &T) -> bool {
        match operator {
            Operator::Less => left < right,
            Operator::More => left > right,
            Operator::LessOrEqual => left <= right,
            _ => left >= right,
        }
    }
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => by(operator, left, right),
        (Value::Moment(left), Value::Moment(right)) => by(operator, left, right),
        (Value::Duration(left), Value::Duration(right)) => by(operator, left, right),
        _ => match numbers(left, right) {
            Some(Pair::Integers(left, right)) => by(operator, &left, &right),
            Some(Pair::Floats(left, right)) => by(operator, &left, &right),
            None => return Err(mismatch(operator, left, right)),
        },
    })
}

/// Whether a list or map has it.
pub(super) fn contains(needle: &Value, collection: &Value) -> Result<bool, String> {
    match collection {
        Value::Nil => Ok(false),
        Value::List(items) => Ok(items.iter().any(|item| equal(item, needle))),
        Value::Map(fields) => key(needle).map(|key| fields.contains_key(key)),
        Value::Moment(_) if matches!(needle, Value::Text(_)) => Ok(false),
        Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Moment(_)
        | Value::Duration(_) => Err(format!("`in` looks in lists and maps, not in {}", collection.kind())),
    }
}

/// The name of a field. Nil is the empty name.
pub(super) fn key(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(name) => Ok(name),
        Value::Nil => Ok(""),
        other => Err(format!("a field has a name, it cannot be found by {}", other.kind())),
    }
}

pub(super) fn field<'a>(fields: &'a BTreeMap<String, Value>, name: &Value) -> Result<&'a Value, String> {
    Ok(fields.get(key(name)?).unwrap_or(&Value::Nil))
}

/// A position in a list.
pub(super) fn index(value: &Value) -> Result<i64, String> {
    match value {
        Value::Integer(number) => Ok(*number),
        Value::Float(number) => Ok(truncated(*number)),
        other => Err(format!("an integer is expected, not {}", other.kind())),
    }
}

pub(super) fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Integer(number) => Ok(float(*number)),
        Value::Float(number) => Ok(*number),
        other => Err(format!("a number is expected, not {}", other.kind())),
    }
}

fn mismatch(operator: Operator, left: &Value, right: &Value) -> String {
    format!("`{}` does not go with {} and {}", operator.sign(), left.kind(), right.kind())
}

/// `+`, `-`, `*`, `/`, `%` or `**`.
pub(super) fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Result<Value, String> {
    match (operator, numbers(left, right)) {
        (Operator::Power, _) => return Ok(Value::Float(power(number(left)?, number(right)?))),
        (Operator::Modulo, Some(Pair::Integers(left, right))) => {
            return if right == 0 {
                Err("the remainder of a division by zero is not defined".to_owned())
            } else {
                Ok(Value::Integer(left.wrapping_rem(right)))
            };
        }
        (Operator::Divide, Some(Pair::Integers(left, right))) => {
            return Ok(Value::Float(float(left) / float(right)));
        }
        (Operator::Divide, Some(Pair::Floats(left, right))) => return Ok(Value::Float(left / right)),
        (Operator::Add, Some(Pair::Integers(left, right))) => {
            return Ok(Value::Integer(left.wrapping_add(right)));
        }
        (Operator::Subtract, Some(Pair::Integers(left, right))) => {
            return Ok(Value::Integer(left.wrapping_sub(right)));
        }
        (Operator::Multiply, Some(Pair::Integers(left, right))) => {
            return Ok(Value::Integer(left.wrapping_mul(right)));
        }
        (Operator::Add, Some(Pair::Floats(left, right))) => return Ok(Value::Float(left + right)),
        (Operator::Subtract, Some(Pair::Floats(left, right))) => return Ok(Value::Float(left - right)),
        (Operator::Multiply, Some(Pair::Floats(left, right))) => return Ok(Value::Float(left * right)),
        _ => {}
    }
    with_time(operator, left, right).unwrap_or_else(|| Err(mismatch(operator, left, right)))
}

/// Texts, times and durations.
fn with_time(operator: Operator, left: &Value, right: &Value) -> Option<Result<Value, String>> {
    let lasting = |nanoseconds: i64| Ok(Value::Duration(SignedDuration::from_nanos(nanoseconds)));
    Some(match (operator, left, right) {
        (Operator::Add, Value::Text(left), Value::Text(right)) => Ok(Value::Text(format!("{left}{right}"))),
        (Operator::Add, Value::Moment(moment), Value::Duration(duration))
        | (Operator::Add, Value::Duration(duration), Value::Moment(moment)) => {
            later(*moment, nanoseconds(*duration))
        }
        (Operator::Subtract, Value::Moment(moment), Value::Duration(duration)) => {
            later(*moment, nanoseconds(*duration).wrapping_neg())
        }
        (Operator::Subtract, Value::Moment(left), Value::Moment(right)) => Ok(between(*left, *right)),
        (Operator::Add, Value::Duration(left), Value::Duration(right)) => {
            lasting(nanoseconds(*left).wrapping_add(nanoseconds(*right)))
        }
        (Operator::Subtract, Value::Duration(left), Value::Duration(right)) => {
            lasting(nanoseconds(*left).wrapping_sub(nanoseconds(*right)))
        }
        (Operator::Multiply, Value::Duration(left), Value::Duration(right)) => {
            lasting(nanoseconds(*left).wrapping_mul(nanoseconds(*right)))
        }
        (Operator::Multiply, Value::Duration(duration), Value::Integer(number))
        | (Operator::Multiply, Value::Integer(number), Value::Duration(duration)) => {
            lasting(nanoseconds(*duration).wrapping_mul(*number))
        }
        // As in the library: a duration times a float is a plain number of nanoseconds.
        (Operator::Multiply, Value::Duration(duration), Value::Float(number))
        | (Operator::Multiply, Value::Float(number), Value::Duration(duration)) => {
            Ok(Value::Float(float(nanoseconds(*duration)) * number))
        }
        _ => return None,
    })
}

/// A power. Go multiplies for the whole part of the exponent, and that shows in the last digit.
fn power(base: f64, exponent: f64) -> f64 {
    let size = exponent.abs();
    let (mut whole, mut rest) = (size.trunc(), size.fract());
    let beyond = !base.is_finite() || base == 0.0 || !(size > 0.0 && size < 9_223_372_036_854_775_808.0);
    if beyond || (rest != 0.0 && base < 0.0) {
        return base.powf(exponent);
    }
    if size.to_bits() == 0.5_f64.to_bits() {
        return if exponent < 0.0 { 1.0 / base.sqrt() } else { base.sqrt() };
    }
    if rest > 0.5 {
        rest -= 1.0;
        whole += 1.0;
    }
    let mut product = if rest == 0.0 { 1.0 } else { (rest * base.ln()).exp() };
    let mut total = 0_i64;
    let mut left = truncated(whole);
    let (mut part, mut shift) = split(base);
    while left != 0 {
        if !(-(1 << 12)..=1 << 12).contains(&shift) {
            // Far out of range, one way or the other.
            total += shift;
            break;
        }
        if left & 1 == 1 {
            product *= part;
            total += shift;
        }
        part *= part;
        shift <<= 1;
        if part.abs() < 0.5 {
            part += part;
            shift -= 1;
        }
        left >>= 1;
    }
    if exponent < 0.0 {
        product = 1.0 / product;
        total = -total;
    }
    scaled(product, total)
}

/// A number as a fraction from a half to one, and a power of two.
fn split(number: f64) -> (f64, i64) {
    let normal = if number.abs() < f64::MIN_POSITIVE { number * 2.0_f64.powi(52) } else { number };
    let lift = if number.abs() < f64::MIN_POSITIVE { -52 } else { 0 };
    let bits = normal.to_bits();
    let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0) - 1022;
    (f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52)), exponent + lift)
}

/// A number times a power of two.
fn scaled(number: f64, shift: i64) -> f64 {
    let mut number = number;
    let mut left = shift.clamp(-4000, 4000);
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        number *= 2.0_f64.powi(i32::try_from(step).unwrap_or(0));
        left -= step;
    }
    number
}
