//! What came of a question becomes a measurement: its phase, the reason, and the value as text.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use windlass_api::analysis::{Measurement, Phase};

use crate::expression::Value;
use crate::gauge::{Answer, Measured, OfPod, Reading};
use crate::redact::{CUT, Redactor};
use crate::rules::Conditions;
use crate::verdict::{Judgement, judge};

/// How many characters of a value or a message are kept: they stand in a status, which must not grow without end.
const LONGEST: usize = 4096;
/// How many of the value of one pod of several.
const LONGEST_OF_POD: usize = 1024;
/// How many pods are named besides the first bad one.
const NAMED: usize = 8;

/// Judges what came of a question, and takes the secrets out of what is shown of it; or says why nobody was asked. When the
/// measurement began is for whoever asked to add. Secrets go before texts are cut: half of one would not be found.
pub fn measurement(answer: Answer, conditions: &Conditions, now: Timestamp) -> Result<Measurement, String> {
    let Answer { reading, secrets } = answer;
    let made = judged(reading, conditions, now).map_err(|why| shown_of(&secrets, &why))?;
    let Made { phase, message, value, besides } = made;
    let (metadata, resume_at) = match besides {
        Besides::Told(told) => {
            let shown = |(name, text): (&String, &String)| (secrets.text(name), shown_of(&secrets, text));
            (told.iter().map(shown).collect(), None)
        }
        Besides::Needed(needed, resume_at) => (needed, resume_at),
    };
    Ok(Measurement {
        phase,
        message: shown_of(&secrets, &message),
        started_at: None,
        finished_at: phase.is_completed().then_some(now),
        value: shown_of(&secrets, &value),
        metadata,
        resume_at,
    })
}

fn shown_of(secrets: &Redactor, text: &str) -> String {
    kept(secrets.text(text))
}

/// A text without secrets, as much of it as is kept.
pub(crate) fn kept(text: String) -> String {
    cut(text, LONGEST)
}

/// What a measurement says, before anything is taken out of it.
struct Made {
    phase: Phase,
    message: String,
    value: String,
    besides: Besides,
}

/// What there is besides phase and value.
enum Besides {
    /// For people.
    Told(BTreeMap<String, String>),
    /// For the provider, which knows its measurement again by it, and when to ask it again: nothing may be taken out.
    Needed(BTreeMap<String, String>, Option<Timestamp>),
}

fn judged(reading: Reading, conditions: &Conditions, now: Timestamp) -> Result<Made, String> {
    let told =
        |phase, message, value, metadata| Made { phase, message, value, besides: Besides::Told(metadata) };
    Ok(match reading {
        Reading::Value(measured) => {
            let Judgement { phase, message } = judge(conditions, &measured.value, now);
            told(phase, message, shown(&measured.value), measured.metadata)
        }
        Reading::PerPod(pods) => worst(&pods),
        Reading::Verdict { phase, message, metadata } => {
            Made { phase, message, value: String::new(), besides: Besides::Needed(metadata, None) }
        }
        Reading::Later { at, metadata } => Made {
            phase: Phase::Running,
            message: String::new(),
            value: String::new(),
            besides: Besides::Needed(metadata, Some(at)),
        },
        Reading::Error(error) => told(Phase::Error, error, String::new(), BTreeMap::new()),
        Reading::NotAsked(why) => return Err(why),
    })
}

/// Judges the value of one pod of several. That is done where it arrives: of a hundred large ones no more than this is kept.
pub fn of_pod(
    pod: &str,
    measured: Result<Measured, String>,
    conditions: &Conditions,
    now: Timestamp,
) -> OfPod {
    let failed = |message| Judgement { phase: Phase::Error, message };
    let Measured { value, metadata } = match measured {
        Ok(measured) => measured,
        Err(error) => return OfPod { judgement: failed(error), value: None, metadata: BTreeMap::new() },
    };
    let judgement = match conditions.of_pod(pod) {
        Ok(conditions) => judge(&conditions, &value, now),
        Err(error) => failed(error),
    };
    let text = written(&value, LONGEST_OF_POD);
    let value = if text.ends_with(CUT) { Json::from(text) } else { json_of(&value) };
    OfPod { judgement, value: Some(value), metadata }
}

/// The worst pod decides, and is named.
fn worst(pods: &BTreeMap<String, OfPod>) -> Made {
    let Some(phase) = pods.values().map(|it| it.judgement.phase).max() else {
        let message = "there is no pod to ask for".to_owned();
        let besides = Besides::Told(BTreeMap::new());
        return Made { phase: Phase::Error, message, value: String::new(), besides };
    };
    let worst: Vec<(&String, &OfPod)> = pods.iter().filter(|(_, it)| it.judgement.phase == phase).collect();
    let message = match &worst[..] {
        [(pod, of), others @ ..] if phase != Phase::Successful => {
            let value = of.value.as_ref().map(|value| match value {
                Json::String(text) => format!(" has value {text}"),
                other => format!(" has value {other}"),
            });
            format!("pod {pod}{}: {}{}", value.unwrap_or_default(), of.judgement.message, also(others))
        }
        _ => String::new(),
    };
    let metadata = worst.first().map(|(_, of)| of.metadata.clone()).unwrap_or_default();
    let json = |all: &mut dyn Iterator<Item = (&String, &OfPod)>| {
        let value = |(pod, of): (&String, &OfPod)| (pod.clone(), of.value.clone().unwrap_or_default());
        Json::Object(all.map(value).collect()).to_string()
    };
    let mut value = json(&mut pods.iter());
    if value.chars().count() > LONGEST {
        // Those that are not the worst are left out, so that it stays readable.
        value = json(&mut worst.into_iter());
    }
    Made { phase, message, value, besides: Besides::Told(metadata) }
}

/// Which pods are as bad.
fn also(others: &[(&String, &OfPod)]) -> String {
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
        _ => written(value, LONGEST),
    }
}

/// A value as JSON, as far as there is room: as many letters as are kept, whatever they are.
fn written(value: &Value, letters: usize) -> String {
    let mut room = Room { taken: Vec::new(), bytes: letters * char::MAX.len_utf8() + 1 };
    let is_whole = serde_json::to_writer(&mut room, &Written(value)).is_ok();
    let text = String::from_utf8_lossy(&room.taken);
    if is_whole {
        return text.into_owned();
    }
    let mut text = text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned();
    text.push(CUT);
    text
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

/// Takes what is written until it is full.
struct Room {
    taken: Vec<u8>,
    bytes: usize,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = self.bytes.saturating_sub(self.taken.len());
        let taken = bytes.get(..most).unwrap_or(bytes);
        self.taken.extend_from_slice(taken);
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

pub(crate) fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push(CUT);
    }
    text
}
