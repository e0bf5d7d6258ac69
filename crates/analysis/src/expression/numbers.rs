//! Functions of numbers.

use super::calls::keeps;
use super::functions::Function;
use super::operators::{self, compare, float};
use super::time::nanoseconds;
use super::value::Value;
use super::written::{to_float, to_integer};

/// Functions of one or two numbers.
pub(super) fn compute(function: Function, first: &Value, second: &Value) -> Result<Value, String> {
    let rounded = |round: fn(f64) -> f64| operators::number(first).map(|number| Value::Float(round(number)));
    let bits = |compute: fn(i64, i64) -> i64| Ok(Value::Integer(compute(whole(first)?, whole(second)?)));
    match function {
        Function::Absolute => match first {
            Value::Integer(number) => Ok(Value::Integer(number.wrapping_abs())),
            Value::Float(number) if *number < 0.0 => Ok(Value::Float(-number)),
            Value::Float(number) => Ok(Value::Float(*number)),
            other => Err(format!("a number is expected, not {}", other.kind())),
        },
        Function::Ceiling => rounded(f64::ceil),
        Function::Floor => rounded(f64::floor),
        Function::Round => rounded(f64::round),
        Function::Integer => match first {
            Value::Duration(duration) => Ok(Value::Integer(nanoseconds(*duration))),
            other => to_integer(other).map(Value::Integer),
        },
        Function::AsInteger => to_integer(first).map(Value::Integer),
        Function::Float | Function::AsFloat => to_float(first).map(Value::Float),
        Function::IsNan => exact_float(first).map(|number| Value::Bool(number.is_nan())),
        Function::IsInfinite => exact_float(first).map(|number| Value::Bool(number.is_infinite())),
        Function::BitAnd => bits(|one, two| one & two),
        Function::BitOr => bits(|one, two| one | two),
        Function::BitXor => bits(|one, two| one ^ two),
        Function::BitAndNot => bits(|one, two| one & !two),
        Function::BitNot => Ok(Value::Integer(!whole(first)?)),
        Function::ShiftLeft | Function::ShiftRight | Function::ShiftRightUnsigned => {
            shifted(function, whole(first)?, whole(second)?)
        }
        other => Err(format!("{other:?} is not a function of numbers")),
    }
}

fn whole(value: &Value) -> Result<i64, String> {
    match value {
        Value::Integer(number) => Ok(*number),
        other => Err(format!("an integer is expected, not {}: use int(…)", other.kind())),
    }
}

/// Only a float can be NaN or infinite; asking it of anything else is a mistake.
fn exact_float(value: &Value) -> Result<f64, String> {
    match value {
        Value::Float(number) => Ok(*number),
        other => Err(format!("a number with a fraction is expected, not {}: use asFloat(…)", other.kind())),
    }
}

#[expect(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "bits are moved, not counted")]
fn shifted(function: Function, number: i64, by: i64) -> Result<Value, String> {
    let Ok(by) = u32::try_from(by) else {
        return if by < 0 {
            Err("bits cannot be shifted by less than nothing".to_owned())
        } else {
            shifted(function, number, 64)
        };
    };
    Ok(Value::Integer(match function {
        Function::ShiftLeft => number.checked_shl(by).unwrap_or(0),
        Function::ShiftRight => number >> by.min(63),
        _ => (number as u64).checked_shr(by).unwrap_or(0) as i64,
    }))
}

/// `max`, `min`, `mean` and `median` of numbers and of lists of them.
pub(super) fn aggregate<'v>(
    function: Function,
    arguments: impl ExactSizeIterator<Item = &'v Value> + Clone,
) -> Result<Value, String> {
    match function {
        Function::Greatest | Function::Least => {
            let count = arguments.len();
            let mut best = None;
            for argument in arguments.clone() {
                match argument {
                    Value::List(items) => extreme(function, items, &mut best)?,
                    Value::Integer(_) | Value::Float(_) | Value::Duration(_) => {
                        keep(function, argument, &mut best)?;
                    }
                    // As in the library: of a single value that is no number, the value.
                    other if count == 1 => return Ok(other.clone()),
                    other => return Err(format!("numbers are expected, not {}", other.kind())),
                }
            }
            Ok(best.unwrap_or(Value::Nil))
        }
        Function::Mean => {
            let all = collected(arguments)?;
            let mut sum = 0.0;
            for number in &all {
                sum += number;
            }
            let count = float(i64::try_from(all.len()).unwrap_or(i64::MAX));
            Ok(Value::Float(if all.is_empty() { 0.0 } else { sum / count }))
        }
        _ => Ok(Value::Float(median(collected(arguments)?))),
    }
}

fn keep(function: Function, value: &Value, best: &mut Option<Value>) -> Result<(), String> {
    let better = match best {
        None => true,
        Some(best) => compare(keeps(function), best, value)?,
    };
    if better {
        *best = Some(value.clone());
    }
    Ok(())
}

fn extreme(function: Function, items: &[Value], best: &mut Option<Value>) -> Result<(), String> {
    for item in items {
        match item {
            Value::Integer(_) | Value::Float(_) => keep(function, item, best)?,
            Value::List(inner) => {
                let mut inside = None;
                extreme(function, inner, &mut inside)?;
                if let Some(inside) = inside {
                    keep(function, &inside, best)?;
                }
            }
            other => return Err(format!("numbers are expected, not {}", other.kind())),
        }
    }
    Ok(())
}

fn collected<'v>(values: impl Iterator<Item = &'v Value>) -> Result<Vec<f64>, String> {
    let mut all = Vec::new();
    for value in values {
        match value {
            Value::Integer(number) => all.push(float(*number)),
            Value::Float(number) => all.push(*number),
            Value::Duration(duration) => all.push(float(nanoseconds(*duration))),
            Value::List(items) => all.extend(collected(items.iter())?),
            other => return Err(format!("numbers are expected, not {}", other.kind())),
        }
    }
    Ok(all)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    // NaN comes first, as Go sorts.
    numbers.sort_by(|one, two| one.partial_cmp(two).unwrap_or_else(|| two.is_nan().cmp(&one.is_nan())));
    let middle = numbers.len() / 2;
    let at = |index: usize| numbers.get(index).copied().unwrap_or(0.0);
    match numbers.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => at(middle),
        _ => f64::midpoint(at(middle - 1), at(middle)),
    }
}
