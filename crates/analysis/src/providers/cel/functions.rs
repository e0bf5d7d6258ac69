//! The functions of expressions, beside the operators: those of the language, and a few that Kubernetes has too.

use std::sync::Arc;

use cel::extractors::This;
use cel::{Context, ExecutionError, Value};
use jiff::Timestamp;

/// Every function that may be called. Those that loop (`all`, `exists`, `exists_one`, `filter`, `map`) and `has` are part
/// of the grammar.
pub(super) const FUNCTIONS: [&str; 17] = [
    "bool",
    "contains",
    "double",
    "dyn",
    "endsWith",
    "hasValue",
    "int",
    "max",
    "min",
    "or",
    "orValue",
    "size",
    "startsWith",
    "string",
    "sum",
    "uint",
    "unix",
];

/// Adds the functions that are not the crate's own.
pub(super) fn add(context: &mut Context<'_, '_>) -> Result<(), String> {
    let added = context
        .add_function("sum", sum)
        .and_then(|()| context.add_function("max", max))
        .and_then(|()| context.add_function("min", min))
        .and_then(|()| context.add_function("unix", unix));
    added.map_err(|error| format!("the functions of the expression clash: {error}"))
}

fn sum(This(items): This<Arc<Vec<Value>>>) -> Result<Value, ExecutionError> {
    let wrong =
        || ExecutionError::function_error("sum", "a list of whole numbers, or of fractions, is wanted");
    if items.iter().any(|item| matches!(item, Value::Float(_))) {
        let mut sum = 0.0;
        for item in items.iter() {
            let Value::Float(number) = item else { return Err(wrong()) };
            sum += number;
        }
        return Ok(Value::Float(sum));
    }
    let mut sum: i64 = 0;
    for item in items.iter() {
        let Value::Int(number) = item else { return Err(wrong()) };
        sum = sum
            .checked_add(*number)
            .ok_or_else(|| ExecutionError::function_error("sum", "the sum is too large"))?;
    }
    Ok(Value::Int(sum))
}

fn max(This(items): This<Arc<Vec<Value>>>) -> Result<Value, ExecutionError> {
    outermost("max", &items, std::cmp::Ordering::Greater)
}

fn min(This(items): This<Arc<Vec<Value>>>) -> Result<Value, ExecutionError> {
    outermost("min", &items, std::cmp::Ordering::Less)
}

fn outermost(name: &str, items: &[Value], side: std::cmp::Ordering) -> Result<Value, ExecutionError> {
    let wrong = |what: &str| ExecutionError::function_error(name, what);
    let (first, rest) = items.split_first().ok_or_else(|| wrong("the list is empty"))?;
    let mut found = first;
    for item in rest {
        let order = item.partial_cmp(found).ok_or_else(|| wrong("not all of the list can be compared"))?;
        if order == side {
            found = item;
        }
    }
    Ok(found.clone())
}

fn unix(This(text): This<Arc<String>>) -> Result<Value, ExecutionError> {
    let time: Timestamp = text.parse().map_err(|_| {
        ExecutionError::function_error("unix", "a time such as 2026-01-31T12:00:00Z is wanted")
    })?;
    Ok(Value::Int(time.as_second()))
}

/// Why there is no result. The crate's own words may quote whole objects, and a status is no place for those.
pub(super) fn failure(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => {
            format!(
                "the field {name} is not there; has(…) tells whether it is, and .?{name}.orValue(…) does without"
            )
        }
        ExecutionError::NoSuchOverload(overload) => format!(
            "{} cannot be applied to {}",
            overload.function(),
            overload.argument_types().join(" and ")
        ),
        ExecutionError::UndeclaredReference(name) => format!("{name} is not known here"),
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        ExecutionError::UnexpectedType { got, want } => format!("{want} is wanted, not {got}"),
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("a function takes {expected} arguments and is given {actual}")
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "a division by 0".to_owned()
        }
        ExecutionError::Overflow(..) => "a number becomes too large".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "a list is shorter than the index into it".to_owned(),
        ExecutionError::ValuesNotComparable(one, other) => {
            format!("{} and {} cannot be compared", one.type_of(), other.type_of())
        }
        ExecutionError::UnsupportedBinaryOperator(sign, one, other) => {
            format!("{sign} cannot be applied to {} and {}", one.type_of(), other.type_of())
        }
        ExecutionError::UnsupportedIndex(index, list) => {
            format!("{} is no index into {}", index.type_of(), list.type_of())
        }
        _ => "its parts do not fit together".to_owned(),
    }
}
