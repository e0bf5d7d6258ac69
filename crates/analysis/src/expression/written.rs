//! Values as texts, the way `string()` and `toJSON()` of the library write them; and texts as numbers.

use std::fmt::Write as _;

use super::operators::float;
use super::value::Value;
use super::{limits, time};

/// A text in quotes for a message, which need not be as long as the text.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
    }
}

/// What is written must not grow without end: in JSON every line is as far in as its value is deep.
fn fits(out: &str) -> Result<(), String> {
    if out.len() <= limits::CHARACTERS {
        return Ok(());
    }
    Err(format!("the expression makes texts of more than {} bytes", limits::CHARACTERS))
}

/// What `string()` gives.
pub(super) fn plain(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    write_plain(value, &mut out)?;
    Ok(out)
}

fn write_plain(value: &Value, out: &mut String) -> Result<(), String> {
    fits(out)?;
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Integer(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&shortest(*number, -4, 6, 2)),
        Value::Text(text) => out.push_str(text),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_plain(item, out)?;
            }
            out.push(']');
        }
        Value::Map(fields) => {
            out.push_str("map[");
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                write_plain(field, out)?;
            }
            out.push(']');
        }
        Value::Duration(duration) => out.push_str(&time::written(time::nanoseconds(*duration))),
        Value::Moment(_) => return Err(no_text_of_a_time()),
    }
    Ok(())
}

fn no_text_of_a_time() -> String {
    "a time cannot be turned into a text here: use its method Unix, or compare times".to_owned()
}

/// The shortest digits that mean this number; with an exponent below and from the given powers of ten on.
fn shortest(number: f64, below: i32, from: i32, width: usize) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && (exponent < below || exponent >= from) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:0width$}", exponent.unsigned_abs());
    }
    format!("{number}")
}

/// What `toJSON()` gives: indented by two, names in order.
pub(super) fn json(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    write_json(value, 0, &mut out)?;
    Ok(out)
}

fn write_json(value: &Value, depth: usize, out: &mut String) -> Result<(), String> {
    fits(out)?;
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    match value {
        Value::Nil => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Integer(number) => out.push_str(&number.to_string()),
        Value::Float(number) if number.is_finite() => out.push_str(&shortest(*number, -6, 21, 1)),
        Value::Float(number) => {
            return Err(format!("JSON has no number {}", shortest(*number, 0, 0, 0)));
        }
        Value::Text(text) => quote(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                write_json(item, depth + 1, out)?;
            }
            if !items.is_empty() {
                line(out, depth);
            }
            out.push(']');
        }
        Value::Map(fields) => {
            out.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                quote(name, out);
                out.push_str(": ");
                write_json(field, depth + 1, out)?;
            }
            if !fields.is_empty() {
                line(out, depth);
            }
            out.push('}');
        }
        Value::Duration(duration) => out.push_str(&time::nanoseconds(*duration).to_string()),
        Value::Moment(_) => return Err(no_text_of_a_time()),
    }
    Ok(())
}

/// A JSON text, safe to stand in HTML too.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for next in text.chars() {
        match next {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                // Writing into a text cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(next));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Reads a whole number: digits, maybe a sign.
pub(super) fn read_integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("{} is not a whole number", quoted(text)))
}

/// Reads a number as Go does: also `inf`, `NaN` and `1_000`, but nothing too large.
pub(super) fn read_float(text: &str) -> Result<f64, String> {
    let wrong = || format!("{} is not a number", quoted(text));
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => {
            return Ok(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        "nan" if unsigned.len() == text.len() => return Ok(f64::NAN),
        _ => {}
    }
    let bytes = unsigned.as_bytes();
    let digit =
        |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit);
    for (index, byte) in bytes.iter().enumerate() {
        let fits = match byte {
            b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-' => true,
            b'_' => digit(index.checked_sub(1)) && digit(Some(index + 1)),
            _ => false,
        };
        if !fits {
            return Err(wrong());
        }
    }
    let number: f64 = text.replace('_', "").parse().map_err(|_| wrong())?;
    if number.is_finite() { Ok(number) } else { Err(format!("{} is too large for a number", quoted(text))) }
}

/// `int()` and `asInt()`.
pub(super) fn to_integer(value: &Value) -> Result<i64, String> {
    match value {
        Value::Integer(number) => Ok(*number),
        Value::Float(number) => Ok(super::operators::truncated(*number)),
        Value::Text(text) => read_integer(text),
        other => Err(format!("{} cannot be turned into an integer", other.kind())),
    }
}

/// `float()` and `asFloat()`.
pub(super) fn to_float(value: &Value) -> Result<f64, String> {
    match value {
        Value::Integer(number) => Ok(float(*number)),
        Value::Float(number) => Ok(*number),
        Value::Text(text) => read_float(text),
        other => Err(format!("{} cannot be turned into a number", other.kind())),
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn to_base64(text: &str) -> String {
    let mut out = String::with_capacity(text.len().div_ceil(3) * 4);
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = ALPHABET.get(((bits >> shift) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if index > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

pub(super) fn from_base64(text: &str) -> Result<String, String> {
    let wrong = || format!("{} is not base64", quoted(text));
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    if !digits.len().is_multiple_of(4) {
        return Err(wrong());
    }
    let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
    if padding > 2 {
        return Err(wrong());
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for digit in digits.iter().take(digits.len() - padding) {
        let value = ALPHABET.iter().position(|known| known == digit).ok_or_else(wrong)?;
        bits = bits << 6 | u32::try_from(value).unwrap_or(0);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xff) as u8);
        }
    }
    String::from_utf8(out).map_err(|_| "what is inside the base64 is not a text".to_owned())
}
