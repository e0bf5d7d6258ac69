//! The few objects that kubectl sends in protobuf and that people make in passing: `kubectl create namespace`,
//! `configmap` and `serviceaccount`. Everything else is sent as JSON, or refused.

use serde_json::{Map, Value, json};

/// What every body in protobuf starts with.
const MAGIC: &[u8] = b"k8s\0";

/// Reads a body; none if it is of another kind, or broken.
pub(super) fn read(body: &[u8]) -> Option<Value> {
    let envelope = fields(body.strip_prefix(MAGIC)?)?;
    let kind = fields(one(&envelope, 1)?)?;
    let (version, kind) = (text(&kind, 1)?, text(&kind, 2)?);
    let object = fields(one(&envelope, 2)?)?;
    let meta = one(&object, 1).map_or(Some(Vec::new()), fields)?;
    let mut read = json!({"apiVersion": version, "kind": kind, "metadata": metadata(&meta)?});
    match kind {
        "Namespace" | "ServiceAccount" => {}
        "ConfigMap" => read["data"] = Value::Object(pairs(&object, 2)?),
        _ => return None,
    }
    Some(read)
}

fn metadata(meta: &[Field<'_>]) -> Option<Value> {
    let mut read = Map::new();
    for (number, name) in [(1, "name"), (2, "generateName"), (3, "namespace")] {
        if let Some(text) = text(meta, number).filter(|text| !text.is_empty()) {
            read.insert(name.to_owned(), json!(text));
        }
    }
    for (number, name) in [(11, "labels"), (12, "annotations")] {
        read.insert(name.to_owned(), Value::Object(pairs(meta, number)?));
    }
    Some(Value::Object(read))
}

/// A field that holds bytes: its number and them.
type Field<'a> = (u64, &'a [u8]);

/// The fields of a message that hold bytes; numbers are passed over.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes)?;
        match tag & 7 {
            0 => drop(number(&mut bytes)?),
            1 => bytes = bytes.get(8..)?,
            2 => {
                let length = usize::try_from(number(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                found.push((tag >> 3, value));
                bytes = rest;
            }
            5 => bytes = bytes.get(4..)?,
            _ => return None,
        }
    }
    Some(found)
}

/// Seven bits a byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn one<'a>(fields: &[Field<'a>], number: u64) -> Option<&'a [u8]> {
    fields.iter().find(|(it, _)| *it == number).map(|(_, bytes)| *bytes)
}

fn text<'a>(fields: &[Field<'a>], number: u64) -> Option<&'a str> {
    std::str::from_utf8(one(fields, number)?).ok()
}

/// A map: one message with key and value for each of its pairs.
fn pairs(found: &[Field<'_>], number: u64) -> Option<Map<String, Value>> {
    let entries = found.iter().filter(|(it, _)| *it == number);
    entries
        .map(|(_, bytes)| {
            let pair = fields(bytes)?;
            Some((text(&pair, 1)?.to_owned(), json!(text(&pair, 2)?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_read_and_what_is_broken_is_not() {
        let body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x0a\x0a\x06\x0a\x04data\x12\x00";
        let read = read(body).unwrap();
        assert_eq!(
            (read["kind"].as_str(), read["metadata"]["name"].as_str()),
            (Some("Namespace"), Some("data"))
        );
        assert_eq!(super::read(&body[..12]), None);
        assert_eq!(super::read(b"{}"), None);
    }
}
