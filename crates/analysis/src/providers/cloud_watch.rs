//! Amazon CloudWatch: what `GetMetricData` gives for a window of time, by the JSON protocol of AWS (1.0), signed. An
//! answer may come in pages; they are put together.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value as Json, json};

use super::answers::{Service, brief, text_at};
use super::aws::credentials::{self, Wanted};
use super::aws::{self, Credentials, Scope};
use super::fields::{Fields, is_open};
use super::{Answer, MOST_REQUESTS, Method, Provider, Request, SecretWanted, Setting, Step, Trust};
use crate::expression::Value;
use crate::gauge::Measured;

/// The window that is looked at.
const WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How many pages are read: each may hold a hundred thousand values, and a condition needs few.
const PAGES: usize = 10;
/// How many queries CloudWatch takes at once.
const QUERIES: usize = 500;

struct CloudWatch {
    window: SignedDuration,
    /// As they are sent.
    queries: Vec<Json>,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let window = fields.duration("interval").unwrap_or(WINDOW);
    let mut ids = BTreeSet::new();
    let queries = fields.items("metricDataQueries", |item| query(item, &mut ids));
    if queries.is_empty() || queries.len() > QUERIES {
        fields.flaw("metricDataQueries", format!("write from one to {QUERIES} queries"));
    }
    Box::new(CloudWatch { window, queries })
}

/// One query, as it is sent.
fn query(fields: &mut Fields<'_>, ids: &mut BTreeSet<String>) -> Json {
    let id = fields.needed("id", "a query needs an id, such as m1");
    let first = id.chars().next().is_some_and(|first| first.is_ascii_lowercase());
    let sound = id.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    let is_known = !id.is_empty() && !is_open(&id);
    if is_known && (!first || !sound) {
        fields.flaw("id", "an id begins with a small letter and has letters, digits and _ only");
    }
    if is_known && !ids.insert(id.clone()) {
        fields.flaw("id", format!("there are two queries with the id {id}"));
    }
    let mut sent = Map::from_iter([("Id".to_owned(), Json::from(id))]);
    let expression = fields.text("expression");
    let metric = fields.block("metricStat", statistic);
    if expression.is_some() == metric.is_some() {
        fields.flaw("expression", "a query has either an expression or a metricStat");
    }
    put(&mut sent, "Expression", expression);
    put(&mut sent, "Label", fields.text("label"));
    put(&mut sent, "Period", fields.count("period"));
    put(&mut sent, "ReturnData", fields.flag("returnData"));
    put(&mut sent, "MetricStat", metric);
    Json::Object(sent)
}

fn statistic(fields: &mut Fields<'_>) -> Json {
    let mut sent = Map::new();
    let metric = fields.block("metric", named);
    if metric.is_none() {
        fields.flaw("metric", "name the metric");
    }
    put(&mut sent, "Metric", metric);
    let period = fields.count("period");
    if !fields.has("period") {
        fields.flaw("period", "write over how many seconds a value goes, such as 60");
    }
    put(&mut sent, "Period", period);
    put(&mut sent, "Stat", Some(fields.needed("stat", "write the statistic, such as Average or p99")));
    put(&mut sent, "Unit", fields.text("unit"));
    Json::Object(sent)
}

fn named(fields: &mut Fields<'_>) -> Json {
    let mut sent = Map::new();
    put(&mut sent, "Namespace", fields.text("namespace"));
    put(&mut sent, "MetricName", Some(fields.needed("metricName", "name the metric")));
    let dimensions = fields.items("dimensions", |dimension| {
        let name = dimension.needed("name", "name the dimension");
        let value = dimension.needed("value", "write the value of the dimension");
        json!({"Name": name, "Value": value})
    });
    put(&mut sent, "Dimensions", (!dimensions.is_empty()).then_some(dimensions));
    Json::Object(sent)
}

fn put<T: Into<Json>>(fields: &mut Map<String, Json>, name: &str, value: Option<T>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value.into());
    }
}

impl Provider for CloudWatch {
    fn longest(&self) -> Duration {
        // As many pages as may be read; whoever gives credentials answers sooner.
        TIMEOUT.saturating_mul(MOST_REQUESTS)
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        None
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        let region = credentials::region(setting.environment)?;
        let (known, pages) = match credentials::find(setting, &Wanted::default(), answers)? {
            credentials::Found::Ask(request) => return Ok(Step::Ask(request)),
            credentials::Found::Known(known, pages) => (known, pages),
        };
        let mut data = Data::default();
        let mut next = None;
        for page in pages {
            next = data.add(&known, page)?;
        }
        if !pages.is_empty() && next.is_none() {
            return data.measured().map(Step::Done);
        }
        if pages.len() >= PAGES {
            return Err(format!(
                "CloudWatch has more than {PAGES} pages of values: make the interval shorter or the periods longer"
            ));
        }
        self.request(setting, region, &known, next.as_deref()).map(Step::Ask)
    }
}

impl CloudWatch {
    fn request(
        &self,
        setting: &Setting<'_>,
        region: &str,
        known: &Credentials,
        next: Option<&str>,
    ) -> Result<Request, String> {
        let end = setting.now.as_second();
        let start = end.saturating_sub(self.window.as_secs());
        let mut body = json!({"StartTime": start, "EndTime": end, "MetricDataQueries": self.queries});
        if let (Some(next), Some(body)) = (next, body.as_object_mut()) {
            body.insert("NextToken".to_owned(), Json::from(next));
        }
        let address =
            credentials::endpoint(setting.environment, "AWS_ENDPOINT_URL_CLOUDWATCH", "monitoring", region)?;
        let headers = [
            ("Accept", "application/json"),
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", "GraniteServiceVersion20100801.GetMetricData"),
        ];
        let mut request = Request {
            method: Method::Post,
            url: format!("{address}/"),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            body: Some(body.to_string()),
            timeout: TIMEOUT,
            trust: Trust::default(),
        };
        aws::sign(&mut request, known, Scope { region, service: "monitoring" }, setting.now);
        Ok(request)
    }
}

/// What the pages say together.
#[derive(Default)]
struct Data {
    results: Vec<Series>,
    messages: Vec<String>,
}

/// The values of one query, or of one group of it: these have one id and differ in their labels.
struct Series {
    id: String,
    label: String,
    status: String,
    times: Vec<Value>,
    values: Vec<Value>,
}

impl Data {
    /// Takes a page, and gives what the next one is asked with.
    fn add(&mut self, known: &Credentials, page: &Answer) -> Result<Option<String>, String> {
        let service = Service {
            name: "CloudWatch",
            credentials: "the controller's AWS credentials, and that they allow cloudwatch:GetMetricData",
            secrets: &[known.secret.as_str(), known.token.as_deref().unwrap_or_default()],
        };
        let json = service.json(page, reason)?;
        let results = json
            .get("MetricDataResults")
            .and_then(Json::as_array)
            .ok_or("CloudWatch answered without MetricDataResults")?;
        for result in results {
            self.result(result)?;
            let id = result.get("Id").and_then(Json::as_str).unwrap_or_default();
            self.messages.extend(messages(result).map(|words| service.quote(&format!("{id}: {words}"))));
        }
        self.messages.extend(messages(&json).map(|words| service.quote(&words)));
        Ok(text_at(&json, "/NextToken"))
    }

    fn result(&mut self, result: &Json) -> Result<(), String> {
        let part = |name: &str| result.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let list = |name: &str| result.get(name).and_then(Json::as_array).into_iter().flatten();
        let wrong =
            |value: &Json| format!("CloudWatch answered with {} where a number is wanted", brief(value));
        let values = list("Values")
            .map(|value| value.as_f64().map(Value::Float).ok_or_else(|| wrong(value)))
            .collect::<Result<Vec<_>, _>>()?;
        let times = list("Timestamps")
            .map(|time| moment(time).map(Value::Moment).ok_or_else(|| wrong(time)))
            .collect::<Result<Vec<_>, _>>()?;
        let (id, label, status) = (part("Id"), part("Label"), part("StatusCode"));
        match self.results.iter_mut().find(|series| series.id == id && series.label == label) {
            Some(series) => {
                series.values.extend(values);
                series.times.extend(times);
                series.status = status;
            }
            None => self.results.push(Series { id, label, status, times, values }),
        }
        Ok(())
    }

    fn measured(self) -> Result<Measured, String> {
        if let Some(bad) =
            self.results.iter().find(|series| matches!(series.status.as_str(), "InternalError" | "Forbidden"))
        {
            return Err(format!(
                "CloudWatch could not answer the query {}: {}{}",
                bad.id,
                bad.status,
                if self.messages.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", self.messages.join("; "))
                }
            ));
        }
        let mut metadata = BTreeMap::new();
        let partial: Vec<&str> =
            self.results.iter().filter(|it| it.status == "PartialData").map(|it| it.id.as_str()).collect();
        if !partial.is_empty() {
            metadata.insert("warnings".to_owned(), format!("values are missing in {}", partial.join(", ")));
        }
        if !self.messages.is_empty() {
            metadata.insert("messages".to_owned(), self.messages.join("; "));
        }
        let value = Value::List(self.results.into_iter().map(Series::value).collect());
        Ok(Measured { value, metadata })
    }
}

impl Series {
    /// With the names of fields that conditions use, such as `result[0].Values[0]`.
    fn value(self) -> Value {
        let fields = [
            ("Id", Value::Text(self.id)),
            ("Label", Value::Text(self.label)),
            ("StatusCode", Value::Text(self.status)),
            ("Timestamps", Value::List(self.times)),
            ("Values", Value::List(self.values)),
        ];
        Value::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// What CloudWatch has to say of all queries, or of one: why values are missing, or forbidden.
fn messages(place: &Json) -> impl Iterator<Item = String> + '_ {
    let all = place.get("Messages").and_then(Json::as_array).into_iter().flatten();
    all.map(|message| {
        let part = |name: &str| message.get(name).and_then(Json::as_str).unwrap_or_default();
        format!("{}: {}", part("Code"), part("Value"))
    })
}

/// A point in time, which this protocol writes as seconds, with a fraction or without.
fn moment(time: &Json) -> Option<Timestamp> {
    if let Some(seconds) = time.as_i64() {
        return Timestamp::from_second(seconds).ok();
    }
    let span = SignedDuration::try_from_secs_f64(time.as_f64()?).ok()?;
    Timestamp::from_duration(span).ok()
}

/// What AWS says is wrong: the name of the error after the name of the service, and a sentence.
fn reason(json: &Json) -> Option<String> {
    let kind = text_at(json, "/__type")?;
    let kind = kind.rsplit('#').next().unwrap_or(&kind);
    let message = text_at(json, "/message").or_else(|| text_at(json, "/Message"));
    let often = if kind.starts_with("Throttling") {
        " (it is asked too often: make the metric's interval longer)"
    } else {
        ""
    };
    Some(message.map_or_else(|| format!("{kind}{often}"), |message| format!("{kind}: {message}{often}")))
}
