//! Labels and annotations as the API server takes them, so that those it would refuse are told before anything moves.

use std::collections::BTreeMap;

/// The longest name and the longest value of a label.
pub(crate) const LONGEST_NAME: usize = 63;
/// The longest domain before a name.
const LONGEST_DOMAIN: usize = 253;
/// What the annotations of an object may come to, names and values together, in bytes.
const ALL_ANNOTATIONS: usize = 256 * 1024;

/// How a name is written, and a value of a label.
const NAME: &str = "write at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";

/// What is wrong with labels; the first thing of it.
pub(crate) fn flaw_of_labels(labels: &BTreeMap<String, String>) -> Option<String> {
    let is_value = |value: &str| value.is_empty() || is_name(value);
    labels.iter().find_map(|(key, value)| match (is_key(key), is_value(value)) {
        (false, _) => {
            Some(format!("labels: {key:?} is no name of a label: {NAME}, maybe behind a domain and '/'"))
        }
        (true, false) => Some(format!("labels.{key}: {value:?} is no value of a label: {NAME}, or nothing")),
        (true, true) => None,
    })
}

/// What is wrong with annotations; the first thing of it.
pub(crate) fn flaw_of_annotations(annotations: &BTreeMap<String, String>) -> Option<String> {
    // Their domains may have capital letters.
    let wrong = annotations.keys().find(|key| !is_key(&key.to_lowercase()));
    if let Some(key) = wrong {
        return Some(format!(
            "annotations: {key:?} is no name of an annotation: {NAME}, maybe behind a domain and '/'"
        ));
    }
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    (size > ALL_ANNOTATIONS)
        .then(|| format!("annotations: they come to {size} bytes, and at most {ALL_ANNOTATIONS} are taken"))
}

/// A name, maybe with a domain before it: `team` or `example.com/team`.
fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((domain, name)) => is_domain(domain) && is_name(name),
    }
}

fn is_name(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= LONGEST_NAME && is_enclosed(name, |byte| byte.is_ascii_alphanumeric(), inside)
}

fn is_domain(domain: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    domain.len() <= LONGEST_DOMAIN
        && domain.split('.').all(|part| is_enclosed(part, end, |byte| end(byte) || byte == b'-'))
}

/// Whether a text has the one kind of letters at both ends, and the other between them.
fn is_enclosed(text: &str, end: impl Fn(u8) -> bool, inside: impl Fn(u8) -> bool) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.into_iter().all(|byte| byte.is_some_and(&end)) && text.bytes().all(inside)
}
