//! Datadog: one number from a query over a window of time, by its older API (v1: the last point of the first series) or
//! the newer one (v2: Datadog itself puts the points together, applies a formula, and gives a number for each group).

use std::collections::BTreeMap;
use std::time::Duration;

use form_urlencoded::Serializer;
use jiff::SignedDuration;
use serde_json::{Value as Json, json};

use super::answers::{Service, brief, text_at};
use super::fields::{Fields, base_address, is_open};
use super::{Answer, Method, Provider, Request, SecretPlace, SecretWanted, Setting, Step, Trust};
use crate::expression::Value;
use crate::gauge::Measured;

/// The Secret beside the controller, unless a template names one.
const SECRET: &str = "datadog";
/// What the environment calls the address and both keys.
const ENVIRONMENT: [&str; 3] = ["DD_ADDRESS", "DD_API_KEY", "DD_APP_KEY"];
/// Where Datadog is, unless somebody says otherwise.
const ADDRESS: &str = "https://api.datadoghq.com";
/// The window that is looked at.
const WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many groups are told by name.
const GROUPS: usize = 100;
/// How many letters that may take: less than what is kept of a text in a measurement, or it would be cut and be no JSON.
const LETTERS: usize = 3_900;
/// What makes one number out of many points.
const AGGREGATORS: [&str; 9] = ["avg", "min", "max", "sum", "last", "percentile", "mean", "l2norm", "area"];

struct Datadog {
    api: Api,
    window: SignedDuration,
    timeout: Duration,
    secret: Option<SecretWanted>,
}

enum Api {
    V1 { query: String },
    V2 { queries: BTreeMap<String, String>, formula: Option<String>, aggregator: String },
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let window = fields.duration("interval").unwrap_or(WINDOW);
    let timeout = fields.time_limit("requestTimeout", TIMEOUT);
    let secret = fields.block("secretRef", |named| {
        let name = named.needed_object_name("name", "name the Secret");
        let place = match named.flag("namespaced") {
            Some(true) => SecretPlace::Run,
            Some(false) | None => SecretPlace::Controller,
        };
        // Whoever names one of their own namespace means that account, and no other one.
        SecretWanted { name, place, optional: place == SecretPlace::Controller }
    });
    let api = api(fields);
    Box::new(Datadog { api, window, timeout, secret })
}

fn api(fields: &mut Fields<'_>) -> Api {
    let version = fields.text("apiVersion");
    let query = fields.text("query");
    let queries = fields.named_texts("queries");
    let formula = fields.text("formula");
    let aggregator = fields.text("aggregator");
    match version.as_deref() {
        Some("v2") => v2(fields, query, queries, formula, aggregator),
        None | Some("v1") => {
            let newer = [
                ("queries", !queries.is_empty()),
                ("formula", formula.is_some()),
                ("aggregator", aggregator.is_some()),
            ];
            for (name, written) in newer {
                if written {
                    fields.flaw(name, "this needs apiVersion: v2");
                }
            }
            if !fields.has("query") && queries.is_empty() {
                fields.flaw("query", "write what is asked");
            }
            Api::V1 { query: query.unwrap_or_default() }
        }
        Some(open) if is_open(open) => Api::V1 { query: String::new() },
        Some(other) => {
            fields.flaw("apiVersion", format!("{other:?} is not known; there are v1 and v2"));
            Api::V1 { query: String::new() }
        }
    }
}

fn v2(
    fields: &mut Fields<'_>,
    query: Option<String>,
    mut queries: BTreeMap<String, String>,
    formula: Option<String>,
    aggregator: Option<String>,
) -> Api {
    match (query, queries.len()) {
        (Some(_), 1..) => fields.flaw("query", "there are queries too: write one of the two"),
        (None, 0) => fields.flaw("query", "write what is asked, here or in queries"),
        (Some(query), 0) => {
            if formula.is_some() {
                fields.flaw("formula", "a formula needs queries, whose names it uses");
            }
            queries.insert("query".to_owned(), query);
        }
        (None, 2..) if formula.is_none() => {
            fields.flaw("formula", "there is more than one query: write how they make one number");
        }
        (None, _) => {}
    }
    let aggregator = aggregator.unwrap_or_else(|| "last".to_owned());
    if !AGGREGATORS.contains(&aggregator.as_str()) && !is_open(&aggregator) {
        fields
            .flaw("aggregator", format!("{aggregator:?} is not known; there are {}", AGGREGATORS.join(", ")));
    }
    Api::V2 { queries, formula, aggregator }
}

impl Provider for Datadog {
    fn longest(&self) -> Duration {
        self.timeout
    }

    fn secret(&self, environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        match &self.secret {
            Some(named) => Some(named.clone()),
            // Nothing is read that nobody uses: the controller may have no right to.
            None if is_complete(environment) => None,
            None => {
                let (name, place) = (SECRET.to_owned(), SecretPlace::Controller);
                Some(SecretWanted { name, place, optional: true })
            }
        }
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        let keys = self.keys(setting)?;
        let Some(answer) = answers.first() else { return Ok(Step::Ask(self.request(setting, &keys))) };
        let credentials = self.credentials();
        let service = Service {
            name: "Datadog",
            credentials: &credentials,
            secrets: &[keys.api.as_str(), keys.application.as_str()],
        };
        let json = service.json(answer, reason)?;
        if let Some(reason) = reason(&json) {
            return Err(format!("Datadog could not answer the query: {}", service.quote(&reason)));
        }
        match &self.api {
            Api::V1 { .. } => last_point(&json).map(Step::Done),
            Api::V2 { .. } => scalar(&json).map(Step::Done),
        }
    }
}

struct Keys {
    address: String,
    api: String,
    application: String,
}

impl Datadog {
    /// Where the keys are looked for, in words.
    fn credentials(&self) -> String {
        let name = match &self.secret {
            Some(SecretWanted { name, place: SecretPlace::Run, .. }) => {
                return format!("api-key and app-key in the Secret {name} of the run's namespace");
            }
            Some(named) => named.name.as_str(),
            None => SECRET,
        };
        format!(
            "api-key and app-key in the Secret {name} beside the controller, or DD_API_KEY and DD_APP_KEY in the controller's environment"
        )
    }

    /// A Secret of the run's namespace stands alone. One beside the controller comes before the environment; the common one
    /// after an environment that is complete, as upstream.
    fn keys(&self, setting: &Setting<'_>) -> Result<Keys, String> {
        let secret = keys(setting.secret, ["address", "api-key", "app-key"]);
        let environment = || keys(setting.environment, ENVIRONMENT);
        let found = match &self.secret {
            Some(SecretWanted { place: SecretPlace::Run, .. }) => secret,
            None if is_complete(setting.environment) => environment(),
            Some(_) | None => secret.or_else(environment),
        };
        let (address, api, application) =
            found.ok_or_else(|| format!("Datadog needs two keys: put {}", self.credentials()))?;
        let address = base_address(&address)
            .map_err(|what| format!("the address of Datadog, beside its keys, is {what}"))?;
        Ok(Keys { address, api, application })
    }

    fn request(&self, setting: &Setting<'_>, keys: &Keys) -> Request {
        let now = setting.now.as_second();
        let from = now.saturating_sub(self.window.as_secs());
        let (method, url, body) = match &self.api {
            Api::V1 { query } => {
                let query = Serializer::new(String::new())
                    .append_pair("from", &from.to_string())
                    .append_pair("query", query)
                    .append_pair("to", &now.to_string())
                    .finish();
                (Method::Get, format!("{}/api/v1/query?{query}", keys.address), None)
            }
            Api::V2 { queries, formula, aggregator } => {
                let body = question(queries, formula.as_deref(), aggregator, (from, now));
                (Method::Post, format!("{}/api/v2/query/scalar", keys.address), Some(body.to_string()))
            }
        };
        let headers = [
            ("Content-Type", "application/json"),
            ("DD-API-KEY", keys.api.as_str()),
            ("DD-APPLICATION-KEY", keys.application.as_str()),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Request { method, url, headers, body, timeout: self.timeout, trust: Trust::default() }
    }
}

/// Whether the environment says everything, so that no Secret is asked.
fn is_complete(environment: &BTreeMap<String, String>) -> bool {
    let [address, ..] = ENVIRONMENT;
    environment.contains_key(address) && keys(environment, ENVIRONMENT).is_some()
}

/// The address and both keys, if both are there.
fn keys(place: &BTreeMap<String, String>, names: [&str; 3]) -> Option<(String, String, String)> {
    let [address, api, application] =
        names.map(|name| place.get(name).map(|value| value.trim()).filter(|value| !value.is_empty()));
    Some((address.unwrap_or(ADDRESS).to_owned(), api?.to_owned(), application?.to_owned()))
}

fn question(
    queries: &BTreeMap<String, String>,
    formula: Option<&str>,
    aggregator: &str,
    (from, to): (i64, i64),
) -> Json {
    let queries: Vec<Json> = queries
        .iter()
        .map(|(name, query)| {
            json!({"aggregator": aggregator, "data_source": "metrics", "name": name, "query": query})
        })
        .collect();
    let mut attributes =
        json!({"from": from.saturating_mul(1000), "to": to.saturating_mul(1000), "queries": queries});
    if let (Some(formula), Some(attributes)) = (formula, attributes.as_object_mut()) {
        attributes.insert("formulas".to_owned(), json!([{"formula": formula}]));
    }
    json!({"data": {"type": "scalar_request", "attributes": attributes}})
}

/// What Datadog says is wrong: a list or a text, and in v1 with a good status too.
fn reason(json: &Json) -> Option<String> {
    let listed =
        json.get("errors").and_then(Json::as_array).filter(|errors| !errors.is_empty()).map(|errors| {
            let texts = errors.iter().map(|error| match error {
                Json::String(text) => text.clone(),
                other => text_at(other, "/detail").unwrap_or_else(|| other.to_string()),
            });
            texts.collect::<Vec<_>>().join("; ")
        });
    listed
        .or_else(|| text_at(json, "/error"))
        .or_else(|| text_at(json, "/errors"))
        .or_else(|| text_at(json, "/data/errors"))
}

/// Of v1: the last point of the first series. No series, no point and a point without a value are nothing.
fn last_point(json: &Json) -> Result<Measured, String> {
    let series = json
        .get("series")
        .and_then(Json::as_array)
        .ok_or("Datadog answered without series, which is no answer to a query")?;
    let point = series.first().and_then(|series| series.get("pointlist")?.as_array()?.last());
    let value = match point.map(|point| point.get(1).unwrap_or(&Json::Null)) {
        None | Some(Json::Null) => Value::Nil,
        Some(value) => number(value)?,
    };
    Ok(Measured { value, metadata: BTreeMap::new() })
}

/// Of v2: one number, or one for each group.
fn scalar(json: &Json) -> Result<Measured, String> {
    let columns = json
        .pointer("/data/attributes/columns")
        .and_then(Json::as_array)
        .ok_or("Datadog answered without columns, which is no answer to a scalar query")?;
    let is_group = |column: &&Json| column.get("type").and_then(Json::as_str) == Some("group");
    let groups: Vec<&[Json]> = columns.iter().filter(is_group).map(values).collect();
    let numbers = columns.iter().find(|column| !is_group(column));
    if let Some(column) = numbers
        && !column.get("values").is_some_and(Json::is_array)
    {
        return Err("Datadog answered with a column that has no list of values".to_owned());
    }
    let numbers = numbers.map(values).unwrap_or_default();
    if groups.is_empty() {
        let value = numbers.first().filter(|value| !value.is_null()).map(number).transpose()?;
        return Ok(Measured { value: value.unwrap_or(Value::Nil), metadata: BTreeMap::new() });
    }
    grouped(&groups, numbers)
}

/// A number for each group that has one, and the names of the groups for people. Where no group has one there is nothing, as
/// without groups.
fn grouped(groups: &[&[Json]], numbers: &[Json]) -> Result<Measured, String> {
    let mut named = Vec::new();
    for (index, value) in numbers.iter().enumerate().filter(|(_, value)| !value.is_null()) {
        let measured = value.as_f64().ok_or_else(|| not_a_number(value))?;
        named.push((name_of_group(groups, index)?, measured));
    }
    if named.is_empty() {
        return Ok(Measured { value: Value::Nil, metadata: BTreeMap::new() });
    }
    let values = named.iter().map(|(_, value)| Value::Float(*value)).collect();
    named.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (told, is_whole) = told(&named);
    let mut metadata = BTreeMap::from([("groups".to_owned(), told)]);
    if !is_whole {
        metadata.insert("groups_truncated".to_owned(), "true".to_owned());
    }
    Ok(Measured { value: Value::List(values), metadata })
}

/// The groups as JSON, in their order, and whether that is all of them. People look for the one that is too high, or too low:
/// where there is no room for all, those at both ends are told.
fn told(named: &[(String, f64)]) -> (String, bool) {
    let (mut first, mut last, mut rest, mut letters) = (Vec::new(), Vec::new(), named, 0);
    while first.len() + last.len() < GROUPS {
        let is_first = first.len() <= last.len();
        let next = if is_first { rest.split_first() } else { rest.split_last() };
        let Some(((name, value), others)) = next else { break };
        let group = json!({"name": brief(name), "value": value}).to_string();
        letters += group.chars().count() + 1;
        if letters > LETTERS {
            break;
        }
        let end = if is_first { &mut first } else { &mut last };
        end.push(group);
        rest = others;
    }
    first.extend(last.into_iter().rev());
    (format!("[{}]", first.join(",")), rest.is_empty())
}

/// What the group in a row is called: its tags, one column after the other.
fn name_of_group(columns: &[&[Json]], row: usize) -> Result<String, String> {
    let mut tags: Vec<&str> = Vec::new();
    for column in columns {
        let more: Vec<&str> = match column.get(row) {
            Some(Json::Array(more)) => more.iter().filter_map(Json::as_str).collect(),
            Some(Json::String(tag)) => vec![tag.as_str()],
            _ => Vec::new(),
        };
        if more.is_empty() {
            return Err(
                "Datadog answered with groups, and with a number that belongs to none of them".to_owned()
            );
        }
        tags.extend(more);
    }
    Ok(tags.join(","))
}

fn values(column: &Json) -> &[Json] {
    column.get("values").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Json) -> Result<Value, String> {
    value.as_f64().map(Value::Float).ok_or_else(|| not_a_number(value))
}

fn not_a_number(value: &Json) -> String {
    format!("Datadog answered with {} where a number is wanted", brief(value))
}
