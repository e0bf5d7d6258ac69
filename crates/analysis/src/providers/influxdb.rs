//! InfluxDB 2: the values of a Flux query, which come as CSV with notes on the type of each column.

mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use form_urlencoded::Serializer;
use serde_json::json;

use super::answers::{Service, read_json, text_at};
use super::fields::{Fields, base_address};
use super::{Answer, Method, Provider, Request, SecretPlace, SecretWanted, Setting, Step, Trust};
use crate::expression::Value;
use crate::gauge::Measured;

/// The Secret beside the controller, unless a template names one.
const SECRET: &str = "influxdb";
/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(30);

struct Influx {
    query: String,
    secret: String,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let secret = fields.object_name("profile").unwrap_or_else(|| SECRET.to_owned());
    let query = fields.needed("query", "write what is asked, in Flux");
    Box::new(Influx { query, secret })
}

impl Provider for Influx {
    fn longest(&self) -> Duration {
        TIMEOUT
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        Some(SecretWanted { name: self.secret.clone(), place: SecretPlace::Controller, optional: false })
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        let entry = |name: &str| {
            let text = setting.secret.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
            text.ok_or_else(|| format!("the Secret {} beside the controller has no {name}", self.secret))
        };
        let (address, token, org) = (entry("address")?, entry("authToken")?, entry("org")?);
        let address = base_address(address).map_err(|what| {
            format!("address in the Secret {} beside the controller is {what}", self.secret)
        })?;
        let Some(answer) = answers.first() else {
            return Ok(Step::Ask(self.request(&address, token, org)));
        };
        let credentials = format!("authToken and org in the Secret {} beside the controller", self.secret);
        let service = Service { name: "InfluxDB", credentials: &credentials, secrets: &[token] };
        if !answer.is_good() {
            let json = read_json(&answer.body).ok();
            return Err(service.refusal(answer, json.and_then(|json| text_at(&json, "/message"))));
        }
        let values = table::values(&answer.body).map_err(|what| match what {
            table::Wrong::Said(words) => {
                format!("InfluxDB could not answer the query: {}", service.quote(&words))
            }
            table::Wrong::TooMuch => service.too_much(),
            table::Wrong::Unreadable(what) => format!("InfluxDB's answer cannot be read: {what}"),
        })?;
        if values.is_empty() {
            return Err("the Flux query has no results".to_owned());
        }
        Ok(Step::Done(Measured { value: Value::List(values), metadata: BTreeMap::new() }))
    }
}

impl Influx {
    fn request(&self, address: &str, token: &str, org: &str) -> Request {
        let query = Serializer::new(String::new()).append_pair("org", org).finish();
        let dialect =
            json!({"annotations": ["datatype", "group", "default"], "delimiter": ",", "header": true});
        let body = json!({"dialect": dialect, "query": self.query, "type": "flux"});
        let headers = [
            ("Authorization", format!("Token {token}")),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/csv".to_owned()),
        ];
        Request {
            method: Method::Post,
            url: format!("{address}/api/v2/query?{query}"),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: Some(body.to_string()),
            timeout: TIMEOUT,
            trust: Trust::default(),
        }
    }
}
