//! What came of a question becomes a measurement: its phase, the reason, and the value as text.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use windlass_api::analysis::{Measurement, Phase};

use crate::expression::Value;
use crate::gauge::{Answer, Reading};
use crate::redact::Redactor;
use crate::rules::Conditions;
use crate::verdict::{Judgement, judge};

/// How many characters of a value or a message are kept: they stand in a status, which must not grow without end.
const LONGEST: usize = 4096;
/// How many pods are named besides the first bad one.
const NAMED: usize = 8;

/// Judges what came of a question, and takes the secrets out of what is shown of it; none if nobody was asked. Secrets go
/// before texts are cut: half of one would not be found.
pub fn measurement(
    answer: &Answer,
    conditions: &Conditions,
    started: Timestamp,
    now: Timestamp,
) -> Option<Measurement> {
    let Answer { reading, secrets } = answer;
    let made = judged(reading.clone(), conditions, now)?;
    Some(Measurement {
        phase: made.phase,
        message: shown_of(secrets, &made.message),
        started_at: Some(started),
        finished_at: made.phase.is_completed().then_some(now),
        value: shown_of(secrets, &made.value),
        metadata: made
            .metadata
            .iter()
            .map(|(name, text)| (secrets.text(name), shown_of(secrets, text)))
            .collect(),
        resume_at: made.resume_at,
    })
}

fn shown_of(secrets: &Redactor, text: &str) -> String {
    cut(secrets.text(text))
}

/// What a measurement says, before anything is taken out of it.
fn judged(reading: Reading, conditions: &Conditions, now: Timestamp) -> Option<Measurement> {
    let finished = |phase: Phase, message: String, value: String, metadata: BTreeMap<String, String>| {
        Measurement { phase, message, value, metadata, ..Measurement::default() }
    };
    Some(match reading {
        Reading::Value(measured) => {
            let Judgement { phase, message } = judge(conditions, &measured.value, now);
            finished(phase, message, shown(&measured.value), measured.metadata)
        }
        Reading::PerPod(pods) => {
            let Judged { phase, message, value } = judge_pods(conditions, &pods, now);
            finished(phase, message, value, BTreeMap::new())
        }
        Reading::Verdict { phase, message, metadata } => finished(phase, message, String::new(), metadata),
        Reading::Later { at, metadata } => Measurement {
            resume_at: Some(at),
            ..finished(Phase::Running, String::new(), String::new(), metadata)
        },
        Reading::Error(error) => finished(Phase::Error, error, String::new(), BTreeMap::new()),
        Reading::NotAsked(_) => return None,
    })
}

struct Judged {
    phase: Phase,
    message: String,
    value: String,
}

/// The worst pod decides, and is named.
fn judge_pods(
    conditions: &Conditions,
    pods: &BTreeMap<String, Result<Value, String>>,
    now: Timestamp,
) -> Judged {
    let one = |(pod, value): (&String, &Result<Value, String>)| {
        let judgement = match value {
            Ok(value) => match conditions.of_pod(pod) {
                Ok(conditions) => judge(&conditions, value, now),
                Err(error) => Judgement { phase: Phase::Error, message: error },
            },
            Err(error) => Judgement { phase: Phase::Error, message: error.clone() },
        };
        (pod.clone(), judgement)
    };
    let judged: BTreeMap<String, Judgement> = pods.iter().map(one).collect();
    let Some(phase) = judged.values().map(|it| it.phase).max() else {
        let message = "there is no pod to ask for".to_owned();
        return Judged { phase: Phase::Error, message, value: String::new() };
    };
    let worst: Vec<(&String, &Judgement)> = judged.iter().filter(|(_, it)| it.phase == phase).collect();
    let message = match &worst[..] {
        [(pod, judgement), others @ ..] if phase != Phase::Successful => {
            let value = pods.get(*pod).and_then(|value| value.as_ref().ok()).map(shown);
            let value = value.map(|value| format!(" has value {value}")).unwrap_or_default();
            format!("pod {pod}{value}: {}{}", judgement.message, also(others))
        }
        _ => String::new(),
    };
    let json = |all: &mut dyn Iterator<Item = (&String, &Result<Value, String>)>| {
        let value = |value: &Result<Value, String>| value.as_ref().map_or(Json::Null, json_of);
        Json::Object(all.map(|(pod, it)| (pod.clone(), value(it))).collect()).to_string()
    };
    let mut value = json(&mut pods.iter());
    if value.chars().count() > LONGEST {
        // Those that are not the worst are left out, so that it stays readable.
        value =
            json(&mut pods.iter().filter(|(pod, _)| judged.get(*pod).is_some_and(|it| it.phase == phase)));
    }
    Judged { phase, message, value }
}

/// Which pods are as bad.
fn also(others: &[(&String, &Judgement)]) -> String {
    let names: Vec<&str> = others.iter().take(NAMED).map(|(pod, _)| pod.as_str()).collect();
    match others.len().checked_sub(NAMED).filter(|more| *more > 0) {
        _ if names.is_empty() => String::new(),
        Some(more) => format!("; so it is with {} and {more} more", names.join(", ")),
        None => format!("; so it is with {}", names.join(", ")),
    }
}

/// A value as text, as users know it from the status of a run: a number or a text as it is, everything else as JSON. No
/// more of that is written than could be kept.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        // NaN and the like are texts in JSON, but alone they need no quotes.
        Value::Float(number) => match number_of(*number) {
            Json::String(text) => text,
            json => json.to_string(),
        },
        _ => {
            let mut room = Room(Vec::new());
            let is_whole = serde_json::to_writer(&mut room, &Written(value)).is_ok();
            let text = String::from_utf8_lossy(&room.0).into_owned();
            if is_whole {
                text
            } else {
                text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned() + "…"
            }
        }
    }
}

/// A value as JSON, in which NaN and the infinite ones are texts, because it has no such numbers.
pub fn json_of(value: &Value) -> Json {
    // Values have nothing in them that JSON has not.
    serde_json::to_value(Written(value)).unwrap_or_default()
}

/// A value, to be written as JSON.
struct Written<'a>(&'a Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Nil => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Float(number) => number_of(*number).serialize(serializer),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items.iter().map(Written)),
            Value::Map(fields) => serializer.collect_map(fields.iter().map(|(name, it)| (name, Written(it)))),
            Value::Moment(moment) => serializer.collect_str(moment),
            Value::Duration(duration) => serializer.collect_str(&format_args!("{duration:#}")),
        }
    }
}

/// Takes what is written until it is full: as many letters as are kept, whatever they are.
struct Room(Vec<u8>);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = (LONGEST * char::MAX.len_utf8() + 1).saturating_sub(self.0.len());
        let taken = bytes.get(..most).unwrap_or(bytes);
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn number_of(number: f64) -> Json {
    /// Up to here every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_nan() {
        return Json::from("NaN");
    }
    if number.is_infinite() {
        return Json::from(if number > 0.0 { "+Inf" } else { "-Inf" });
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    if number.fract() == 0.0 && number.abs() <= EXACT {
        Json::from(number as i64)
    } else {
        Json::from(number)
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}
