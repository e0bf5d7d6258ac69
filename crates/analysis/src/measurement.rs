//! What came of a question becomes a measurement: its phase, the reason, and the value as text.

use std::collections::BTreeMap;

use jiff::Timestamp;
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

/// A value as text, as users know it from the status of a run: a number or a text as it is, everything else as JSON.
pub fn shown(value: &Value) -> String {
    match (value, json_of(value)) {
        (Value::Text(text), _) => text.clone(),
        // NaN and the like are texts in JSON, but alone they need no quotes.
        (Value::Float(_), Json::String(text)) => text,
        (_, json) => json.to_string(),
    }
}

/// A value as JSON, in which NaN and the infinite ones are texts, because it has no such numbers.
pub fn json_of(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::from(*value),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => number_of(*number),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(fields) => fields.iter().map(|(name, value)| (name.clone(), json_of(value))).collect(),
        Value::Moment(moment) => Json::from(moment.to_string()),
        Value::Duration(duration) => Json::from(format!("{duration:#}")),
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
