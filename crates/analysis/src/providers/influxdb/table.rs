//! The CSV of Flux: tables one after another, each with notes (`#datatype`, `#default`) above the names of its columns.
//! What a query is judged by is in the column `_value`. A query that fails late says so in a table of its own.

use jiff::Timestamp;
use windlass_api::go_duration;

use super::super::answers::brief;
use crate::expression::Value;

/// How many fields are read: each takes far more memory than it has letters.
const FIELDS: usize = 100_000;

/// Why there are no values.
pub(super) enum Wrong {
    /// The server says so.
    Said(String),
    /// It is not what a server should answer.
    Unreadable(String),
    /// It has too many fields.
    TooMuch,
}

/// The values of all records of all tables.
pub(super) fn values(body: &[u8]) -> Result<Vec<Value>, Wrong> {
    let text = std::str::from_utf8(body).map_err(|_| Wrong::Unreadable("it is not text".to_owned()))?;
    if text.split([',', '\n']).nth(FIELDS).is_some() {
        return Err(Wrong::TooMuch);
    }
    let mut values = Vec::new();
    let mut table = Table::default();
    for record in records(text).map_err(Wrong::Unreadable)? {
        match record.first().map(String::as_str) {
            // An empty line ends a table.
            Some("") if record.len() == 1 => table = Table::default(),
            Some("#datatype") => {
                // Notes may begin the next table without an empty line before them.
                table = Table { types: record, ..Table::default() };
            }
            Some("#default") => table.defaults = record,
            Some(note) if note.starts_with('#') => {}
            _ if table.names.is_empty() => table.named(record)?,
            _ => values.push(table.value(&record)?),
        }
    }
    Ok(values)
}

#[derive(Default)]
struct Table {
    types: Vec<String>,
    defaults: Vec<String>,
    names: Vec<String>,
}

impl Table {
    fn named(&mut self, names: Vec<String>) -> Result<(), Wrong> {
        self.names = names;
        if self.column("_value").is_none() && self.column("error").is_none() {
            let names: Vec<&str> =
                self.names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
            return Err(Wrong::Unreadable(format!(
                "a table has no column _value, which holds what is judged; it has {}",
                brief(&names.join(", "))
            )));
        }
        Ok(())
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|named| named == name)
    }

    fn value(&self, record: &[String]) -> Result<Value, Wrong> {
        let Some(column) = self.column("_value") else {
            let words = self.column("error").and_then(|column| record.get(column));
            return Err(Wrong::Said(words.cloned().unwrap_or_default()));
        };
        let written = record.get(column).map(String::as_str).filter(|text| !text.is_empty());
        let default = self.defaults.get(column).map(String::as_str).filter(|text| !text.is_empty());
        let kind = self.types.get(column).map_or("string", String::as_str);
        let Some(text) = written.or(default) else {
            return Ok(if kind == "string" { Value::Text(String::new()) } else { Value::Nil });
        };
        typed(kind, text).ok_or_else(|| {
            Wrong::Unreadable(format!("{:?} is not a value of the type {}", brief(text), brief(kind)))
        })
    }
}

fn typed(kind: &str, text: &str) -> Option<Value> {
    Some(match kind {
        "double" => Value::Float(match text {
            "+Inf" => f64::INFINITY,
            "-Inf" => f64::NEG_INFINITY,
            text => text.parse().ok()?,
        }),
        "long" => Value::Integer(text.parse().ok()?),
        // What is too large for a whole number here is one with a fraction.
        "unsignedLong" => match text.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Float(text.parse().ok()?),
        },
        "boolean" => Value::Bool(text == "true"),
        "duration" => Value::Duration(go_duration(text)?),
        kind if kind.starts_with("dateTime") => Value::Moment(text.parse::<Timestamp>().ok()?),
        _ => Value::Text(text.to_owned()),
    })
}

/// The records of a CSV (RFC 4180): fields may be quoted, and then hold commas, doubled quotes and ends of lines.
fn records(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    if quoted {
        return Err("a quoted field has no end: the answer was cut off".to_owned());
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    Ok(records)
}
