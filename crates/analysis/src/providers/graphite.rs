//! Graphite: the points of the first series that a render query gives, as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use form_urlencoded::Serializer;
use serde_json::Value as Json;

use super::answers::{Service, brief};
use super::fields::{Fields, is_open};
use super::{Answer, Method, Provider, Request, SecretWanted, Setting, Step, Trust};
use crate::expression::Value;
use crate::gauge::Measured;

/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(10);

struct Graphite {
    url: String,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let address = fields.needed_address("address", "write where Graphite is");
    let query = fields.needed("query", "write what is asked, such as target=…&from=-5min");
    // It is written over several lines for people; in an address it is one.
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parameters: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .filter(|(name, _)| name != "format")
        .collect();
    let has_target = parameters.iter().any(|(name, value)| name == "target" && !value.is_empty());
    if !query.is_empty() && !has_target && !is_open(&query) {
        fields.flaw("query", "it names no target: write target=… for the series that is asked for");
    }
    parameters.push(("format".to_owned(), "json".to_owned()));
    let query = Serializer::new(String::new()).extend_pairs(&parameters).finish();
    Box::new(Graphite { url: format!("{}/render?{query}", address.trim_end_matches('/')) })
}

impl Provider for Graphite {
    fn longest(&self) -> Duration {
        TIMEOUT
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        None
    }

    fn step(&self, _: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        let Some(answer) = answers.first() else {
            return Ok(Step::Ask(Request {
                method: Method::Get,
                url: self.url.clone(),
                headers: Vec::new(),
                body: None,
                timeout: TIMEOUT,
                trust: Trust::default(),
            }));
        };
        let service = Service {
            name: "Graphite",
            credentials: "whether it lets the controller in: there is no field for credentials",
            secrets: &[],
        };
        let json = service.json(answer, |_| None)?;
        let series = json.as_array().ok_or("Graphite answered without a list of series")?;
        let points = series
            .first()
            .and_then(|series| series.get("datapoints")?.as_array())
            .filter(|points| !points.is_empty())
            .ok_or("Graphite has no points for the query: check its target and its time")?;
        let values = points.iter().filter_map(|point| value(point).transpose()).collect::<Result<_, _>>()?;
        let mut metadata = BTreeMap::new();
        if let [first, _, ..] = series.as_slice() {
            let name = first.get("target").and_then(Json::as_str).unwrap_or("it");
            let warning =
                format!("the query gives {} series, and only the first is judged: {name}", series.len());
            metadata.insert("warnings".to_owned(), warning);
        }
        Ok(Step::Done(Measured { value: Value::List(values), metadata }))
    }
}

/// The value of a point, if it has one.
fn value(point: &Json) -> Result<Option<Value>, String> {
    let wrong =
        || format!("Graphite answered with {} where a point is wanted: a value and a time", brief(point));
    match point.as_array().map(Vec::as_slice) {
        Some([Json::Null, _]) => Ok(None),
        Some([Json::String(text), _]) => {
            text.parse().map(|number| Some(Value::Float(number))).map_err(|_| wrong())
        }
        Some([value, _]) => value.as_f64().map(|number| Some(Value::Float(number))).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}
