//! Functions of texts. Positions count bytes, as in Go.

use super::functions::Function;
use super::operators::index;
use super::value::Value;
use super::written::{from_base64, to_base64};

/// More repetitions the library refuses.
const REPETITIONS: i64 = 1_000_000;

fn text<'v>(arguments: &[&'v Value], at: usize) -> Result<&'v str, String> {
    match arguments.get(at) {
        Some(Value::Text(text)) => Ok(text),
        Some(other) => Err(format!("a text is expected, not {}", other.kind())),
        None => Err("a text is expected".to_owned()),
    }
}

fn text_or<'v>(arguments: &[&'v Value], at: usize, otherwise: &'static str) -> Result<&'v str, String> {
    if arguments.len() > at { text(arguments, at) } else { Ok(otherwise) }
}

/// How many characters it will make at most, before it makes them.
pub(super) fn size(function: Function, arguments: &[&Value]) -> Result<usize, String> {
    Ok(match function {
        Function::Repeat => {
            let count = index(arguments.get(1).unwrap_or(&&Value::Nil))?;
            if count < 0 {
                return Err("a text cannot be repeated less than never".to_owned());
            }
            if count > REPETITIONS {
                return Err(format!("a text can be repeated {REPETITIONS} times at most"));
            }
            text(arguments, 0)?.len().saturating_mul(usize::try_from(count).unwrap_or(usize::MAX))
        }
        Function::Replace => {
            let (whole, new) = (text(arguments, 0)?, text(arguments, 2)?);
            whole.len().saturating_add(1).saturating_mul(new.len().saturating_add(1))
                / text(arguments, 1)?.len().max(1)
                + whole.len()
        }
        Function::Join => match arguments.first() {
            Some(Value::List(items)) => {
                let glue = text_or(arguments, 1, "")?.len();
                let length = |item: &Value| if let Value::Text(text) = item { text.len() } else { 0 };
                items.iter().map(|item| length(item).saturating_add(glue)).fold(0, usize::saturating_add)
            }
            _ => 0,
        },
        Function::IndexOf | Function::LastIndexOf | Function::HasPrefix | Function::HasSuffix => 0,
        Function::Upper | Function::Lower | Function::ToBase64 => text(arguments, 0)?.len().saturating_mul(2),
        _ => text(arguments, 0)?.len(),
    })
}

/// How many parts `split` makes at most.
pub(super) fn parts(arguments: &[&Value]) -> Result<usize, String> {
    let (whole, separator) = (text(arguments, 0)?, text(arguments, 1)?);
    let all = whole.matches(separator).count() + 1;
    let limit = arguments.get(2).map_or(Ok(-1), |limit| index(limit))?;
    Ok(usize::try_from(limit).map_or(all, |limit| all.min(limit)))
}

pub(super) fn compute(function: Function, arguments: &[&Value]) -> Result<Value, String> {
    if function == Function::Join {
        return join(arguments);
    }
    let whole = text(arguments, 0)?;
    let plain = |text: &str| Ok(Value::Text(text.to_owned()));
    let place = |place: Option<usize>| {
        Ok(Value::Integer(place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1)))
    };
    match function {
        Function::Trim if arguments.len() == 1 => plain(whole.trim()),
        Function::Trim => {
            let cut: Vec<char> = text(arguments, 1)?.chars().collect();
            plain(whole.trim_matches(|next| cut.contains(&next)))
        }
        Function::TrimPrefix => {
            let prefix = text_or(arguments, 1, " ")?;
            plain(whole.strip_prefix(prefix).unwrap_or(whole))
        }
        Function::TrimSuffix => {
            let suffix = text_or(arguments, 1, " ")?;
            plain(whole.strip_suffix(suffix).unwrap_or(whole))
        }
        Function::Upper => Ok(Value::Text(whole.chars().map(upper).collect())),
        Function::Lower => Ok(Value::Text(whole.chars().map(lower).collect())),
        Function::Split | Function::SplitAfter => {
            let limit = arguments.get(2).map_or(Ok(-1), |limit| index(limit))?;
            Ok(split(whole, text(arguments, 1)?, limit, function == Function::SplitAfter))
        }
        Function::Replace => {
            let (old, new) = (text(arguments, 1)?, text(arguments, 2)?);
            let limit = arguments.get(3).map_or(Ok(-1), |limit| index(limit))?;
            Ok(Value::Text(match usize::try_from(limit) {
                Ok(limit) => whole.replacen(old, new, limit),
                Err(_) => whole.replace(old, new),
            }))
        }
        Function::Repeat => {
            let count = index(arguments.get(1).unwrap_or(&&Value::Nil))?;
            Ok(Value::Text(whole.repeat(usize::try_from(count).unwrap_or(0))))
        }
        Function::IndexOf => place(whole.find(text(arguments, 1)?)),
        Function::LastIndexOf => place(whole.rfind(text(arguments, 1)?)),
        Function::HasPrefix => Ok(Value::Bool(whole.starts_with(text(arguments, 1)?))),
        Function::HasSuffix => Ok(Value::Bool(whole.ends_with(text(arguments, 1)?))),
        Function::ToBase64 => Ok(Value::Text(to_base64(whole))),
        Function::FromBase64 => from_base64(whole).map(Value::Text),
        other => Err(format!("{other:?} is not a function of texts")),
    }
}

/// One character for one, as Go does it.
fn upper(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

fn lower(character: char) -> char {
    // The one letter whose small form is two: Go takes the first.
    character.to_lowercase().next().unwrap_or(character)
}

fn join(arguments: &[&Value]) -> Result<Value, String> {
    let glue = text_or(arguments, 1, "")?;
    let Some(Value::List(items)) = arguments.first() else {
        return Err("a list of texts is expected".to_owned());
    };
    let parts = items
        .iter()
        .map(|item| match item {
            Value::Text(text) => Ok(text.as_str()),
            other => Err(format!("a list of texts is expected, it has {}", other.kind())),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Value::Text(parts.join(glue)))
}

/// At most `limit` parts, all of them if it is negative; with the separator kept at their ends or not.
fn split(whole: &str, separator: &str, limit: i64, keep: bool) -> Value {
    if limit == 0 {
        return Value::List(Vec::new());
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = whole;
    while parts.len() + 1 < most {
        let (end, next) = if separator.is_empty() {
            match rest.chars().next() {
                Some(first) if rest.len() > first.len_utf8() => (first.len_utf8(), first.len_utf8()),
                _ => break,
            }
        } else {
            match rest.find(separator) {
                Some(end) => (end, end + separator.len()),
                None => break,
            }
        };
        parts.push(Value::Text(rest[..if keep { next } else { end }].to_owned()));
        rest = &rest[next..];
    }
    if !(separator.is_empty() && rest.is_empty()) {
        parts.push(Value::Text(rest.to_owned()));
    }
    Value::List(parts)
}
