//! Prometheus, and whatever speaks its language: a query at one moment, or over a range.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;

use super::answers::{Service, Unread, brief, read_json};
use super::authentication::{Authentication, Introduction, Proof};
use super::fields::{Fields, checked_address, is_open};
use super::{Answer, Method, Provider, RESOLVED_QUERY, Request, SecretWanted, Setting, Step, Trust, form};
use crate::expression::{self, Environment, Program, Value};
use crate::gauge::Measured;

/// How long an answer is waited for, unless somebody says otherwise.
const PATIENCE: u64 = 30;
/// Where the address is when the settings do not say it.
const ADDRESS: &str = "ARGO_ROLLOUTS_PROMETHEUS_ADDRESS";

/// Who answers.
const SERVER: Service<'_> =
    Service { name: "Prometheus", credentials: "headers and authentication of the metric", secrets: &[] };

/// The settings.
struct Prometheus {
    address: Option<String>,
    query: String,
    range: Option<Range>,
    headers: Vec<(String, String)>,
    authentication: Authentication,
    timeout: Duration,
    trust: Trust,
}

/// Over which time.
struct Range {
    start: Moment,
    end: Moment,
    step: SignedDuration,
}

/// Which end of the interface is asked, and with what.
type Parameters = (&'static str, Vec<(&'static str, String)>);

/// An expression that gives a time, such as `now() - duration("5m")`.
struct Moment {
    text: String,
    program: Program,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let prometheus = Prometheus {
        address: fields.address("address"),
        query: fields.required("query"),
        range: fields.block("rangeQuery", range).flatten(),
        headers: fields.headers("headers"),
        authentication: Authentication::read(fields),
        timeout: fields.seconds("timeout", PATIENCE),
        trust: fields.trust(),
    };
    if let Some(address) = prometheus.address.as_deref().filter(|address| !is_open(address))
        && let Err(what) = prometheus.authentication.check(address)
    {
        fields.flaw("address", what);
    }
    Box::new(prometheus)
}

fn range(fields: &mut Fields<'_>) -> Option<Range> {
    let (start, end) = (moment(fields, "start"), moment(fields, "end"));
    let step = fields.duration("step");
    if step.is_none() && !fields.has("step") {
        fields.flaw("step", "it is missing: write how far apart the values are, such as 1m");
    }
    Some(Range { start: start?, end: end?, step: step? })
}

fn moment(fields: &mut Fields<'_>, name: &'static str) -> Option<Moment> {
    let text = fields.required(name);
    if text.is_empty() || is_open(&text) {
        return None;
    }
    match expression::compile(&text) {
        Ok(program) => Some(Moment { text, program }),
        Err(error) => {
            fields.flaw(name, format!("{text:?} is no time such as now() - duration(\"5m\"): {error}"));
            None
        }
    }
}

impl Provider for Prometheus {
    fn longest(&self) -> Duration {
        // A server that refuses POST is asked a second time.
        self.authentication.longest(self.timeout).saturating_add(self.timeout.saturating_mul(2))
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        None
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        // It is known where the question goes before anybody is told a token for it.
        let address = self.address(setting)?;
        let introduced = self.authentication.introduce(setting, answers, self.timeout, &self.trust)?;
        let (proof, answers) = match introduced {
            Introduction::Ask(request) => return Ok(Step::Ask(request)),
            Introduction::Done(proof, answers) => (proof, answers),
        };
        match answers {
            [] => Ok(Step::Ask(self.request(Method::Post, address, setting, proof)?)),
            // Some servers and proxies take no POST: the same again, as GET.
            [refused] if matches!(refused.status, 405 | 501) => {
                Ok(Step::Ask(self.request(Method::Get, address, setting, proof)?))
            }
            [.., answer] => self.measured(answer).map(Step::Done),
        }
    }
}

impl Prometheus {
    fn request(
        &self,
        method: Method,
        address: &str,
        setting: &Setting<'_>,
        proof: Proof,
    ) -> Result<Request, String> {
        let (end, pairs) = self.parameters(setting.now)?;
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        // An address may have parameters of its own, such as a tenant.
        let (base, own) = address.split_once('?').map_or((address, None), |(base, own)| (base, Some(own)));
        let base = base.trim_end_matches('/');
        let mut headers = self.headers.clone();
        let (parameters, body) = match method {
            Method::Get => (own.into_iter().map(ToOwned::to_owned).chain([form(&pairs)]).collect(), None),
            Method::Post | Method::Put => {
                headers.push(("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
                (own.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>(), Some(form(&pairs)))
            }
        };
        let mark = if parameters.is_empty() { "" } else { "?" };
        let url = format!("{base}/api/v1/{end}{mark}{}", parameters.join("&"));
        let mut request =
            Request { method, url, headers, body, timeout: self.timeout, trust: self.trust.clone() };
        proof.put_on(&mut request, setting.now);
        Ok(request)
    }

    fn address<'a>(&'a self, setting: &'a Setting<'_>) -> Result<&'a str, String> {
        if let Some(address) = &self.address {
            // Once more, now that everything is filled in.
            self.authentication.check(address)?;
            return Ok(address);
        }
        let address =
            setting.environment.get(ADDRESS).filter(|address| !address.is_empty()).ok_or_else(|| {
                format!("the metric has no address of Prometheus, and {ADDRESS} is not set: give one of them")
            })?;
        checked_address(address).map_err(|what| format!("{ADDRESS} is {what}"))?;
        Ok(address)
    }

    fn parameters(&self, now: Timestamp) -> Result<Parameters, String> {
        let query = ("query", self.query.clone());
        let Some(range) = &self.range else {
            return Ok(("query", vec![query, ("time", seconds(now.as_duration()))]));
        };
        let (start, end) = (range.start.at(now)?, range.end.at(now)?);
        if end < start {
            return Err(format!("the range ends ({end}) before it starts ({start}): mend rangeQuery"));
        }
        let [start, end, step] = [start.as_duration(), end.as_duration(), range.step].map(seconds);
        Ok(("query_range", vec![query, ("start", start), ("end", end), ("step", step)]))
    }

    fn measured(&self, answer: &Answer) -> Result<Measured, String> {
        let json = match read_json(&answer.body) {
            Ok(json) => json,
            Err(_) if !answer.is_good() => return Err(SERVER.refusal(answer, None)),
            Err(Unread::TooMuch) => return Err(SERVER.too_much()),
            Err(Unread::NoJson) => {
                return Err(format!(
                    "what answered is no Prometheus: its answer is no JSON: {}; look at the address",
                    SERVER.excerpt(answer)
                ));
            }
        };
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        match text("status") {
            Some("success") if answer.is_good() => {}
            Some("error") => {
                let kind = text("errorType").unwrap_or("error");
                let why = text("error").unwrap_or("no reason given");
                return Err(format!("Prometheus refused the query: {}: {}", brief(kind), SERVER.quote(why)));
            }
            _ => {
                return Err(format!(
                    "what answered is no Prometheus: HTTP status {}: {}; look at the address",
                    answer.status,
                    SERVER.excerpt(answer)
                ));
            }
        }
        let warnings: Vec<&str> = json
            .get("warnings")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let mut metadata = BTreeMap::from([(RESOLVED_QUERY.to_owned(), self.query.clone())]);
        if !warnings.is_empty() {
            metadata.insert("warnings".to_owned(), warnings.join("; "));
        }
        let data = json.get("data").unwrap_or(&Json::Null);
        let value = value(data).ok_or_else(|| {
            format!("the result of Prometheus cannot be read: {}", SERVER.excerpt(answer))
        })??;
        Ok(Measured { value, metadata })
    }
}

impl Moment {
    fn at(&self, now: Timestamp) -> Result<Timestamp, String> {
        let wrong = |why: String| format!("{:?} gives no time: {why}", self.text);
        match self.program.run(&Environment { result: Value::Nil, now }) {
            Ok(Value::Moment(moment)) => Ok(moment),
            Ok(other) => Err(wrong(format!("it is {}; write it as now() - duration(\"5m\")", other.kind()))),
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}

/// Seconds with a fraction, as short as they can be.
fn seconds(duration: SignedDuration) -> String {
    let (millis, sign) = (duration.as_millis().unsigned_abs(), if duration.is_negative() { "-" } else { "" });
    let text = format!("{sign}{}.{:03}", millis / 1000, millis % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The value of a result; nothing if it is not written as it should be.
fn value(data: &Json) -> Option<Result<Value, String>> {
    let result = data.get("result")?;
    Some(Ok(match data.get("resultType")?.as_str()? {
        "scalar" => Value::Float(sample(result)?),
        "vector" => {
            let series = result.as_array()?;
            if series.iter().any(|it| it.get("histogram").is_some()) {
                return Some(Err(no_histograms()));
            }
            Value::List(
                series.iter().map(|it| sample(it.get("value")?).map(Value::Float)).collect::<Option<_>>()?,
            )
        }
        "matrix" => {
            let mut all = Vec::new();
            for series in result.as_array()? {
                let Some(values) = series.get("values") else { return Some(Err(no_histograms())) };
                for value in values.as_array()? {
                    all.push(Value::Float(sample(value)?));
                }
            }
            Value::List(all)
        }
        other => {
            let what = format!(
                "a result of the type {} cannot be judged: query a scalar, a vector or a range",
                brief(other)
            );
            return Some(Err(what));
        }
    }))
}

fn no_histograms() -> String {
    "the result is a native histogram: make numbers of it, for example with histogram_quantile".to_owned()
}

/// The number of a pair of time and number, which is written as a text.
fn sample(pair: &Json) -> Option<f64> {
    match pair.get(1)?.as_str()? {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        text => text.parse().ok(),
    }
}
