//! Anything that answers over HTTP: the value is what a path finds in the JSON of the answer, or the text of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{Service, Unread, read_json};
use super::authentication::{Authentication, Introduction};
use super::fields::{Fields, is_open};
use super::json_path::JsonPath;
use super::{Answer, Method, Provider, Request, SecretWanted, Setting, Step, Trust};
use crate::expression::Value;
use crate::gauge::Measured;

/// How long an answer is waited for, unless somebody says otherwise.
const PATIENCE: u64 = 10;

/// Who answers.
const SERVER: Service<'_> =
    Service { name: "the server", credentials: "headers and authentication of the metric", secrets: &[] };

/// The settings.
struct Web {
    url: String,
    method: Method,
    headers: Vec<(String, String)>,
    body: Option<String>,
    path: Option<JsonPath>,
    authentication: Authentication,
    timeout: Duration,
    trust: Trust,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let url = fields.required_address("url");
    let method = match fields.one_of("method", &["GET", "POST", "PUT"]).as_deref() {
        Some("POST") => Method::Post,
        Some("PUT") => Method::Put,
        _ => Method::Get,
    };
    let mut headers = fields.headers("headers");
    let (text, json) = (fields.text("body"), fields.json("jsonBody"));
    if text.is_some() && json.is_some() {
        fields.flaw("jsonBody", "there is a body too: keep one of them");
    }
    if method == Method::Get && (text.is_some() || json.is_some()) {
        let name = if text.is_some() { "body" } else { "jsonBody" };
        fields.flaw(name, "GET has no body: leave it out, or write method: POST");
    }
    let names_its_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
    if json.is_some() && !names_its_type {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    let web = Web {
        url,
        method,
        headers,
        body: text.or_else(|| json.map(ToString::to_string)),
        path: path(fields),
        authentication: Authentication::read(fields),
        timeout: fields.seconds("timeoutSeconds", PATIENCE),
        trust: fields.trust(),
    };
    if matches!(web.authentication, Authentication::Signed { .. }) {
        fields.flaw("authentication.sigv4", "only requests of prometheus are signed");
    }
    Box::new(web)
}

fn path(fields: &mut Fields<'_>) -> Option<JsonPath> {
    let text = fields.text("jsonPath").filter(|text| !is_open(text))?;
    match JsonPath::read(&text) {
        Ok(path) => Some(path),
        Err(why) => {
            fields.flaw("jsonPath", format!("{text:?} is no path: {why}"));
            None
        }
    }
}

impl Provider for Web {
    fn longest(&self) -> Duration {
        self.authentication.longest(self.timeout).saturating_add(self.timeout)
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        None
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        match self.authentication.introduce(setting, answers, self.timeout, &self.trust)? {
            Introduction::Ask(request) => Ok(Step::Ask(request)),
            Introduction::Done(_, [answer, ..]) => self.measured(answer).map(Step::Done),
            Introduction::Done(proof, []) => {
                let mut request = Request {
                    method: self.method,
                    url: self.url.clone(),
                    headers: self.headers.clone(),
                    body: self.body.clone(),
                    timeout: self.timeout,
                    trust: self.trust.clone(),
                };
                proof.put_on(&mut request, setting.now);
                Ok(Step::Ask(request))
            }
        }
    }
}

impl Web {
    fn measured(&self, answer: &Answer) -> Result<Measured, String> {
        if !answer.is_good() {
            return Err(SERVER.refusal(answer, None));
        }
        let value = match (read_json(&answer.body), &self.path) {
            (Ok(json), Some(path)) => path.first(&json)?.clone().into(),
            (Ok(json), None) => json.into(),
            (Err(Unread::TooMuch), _) => return Err(SERVER.too_much()),
            (Err(Unread::NoJson), _) => Value::Text(String::from_utf8_lossy(&answer.body).into_owned()),
        };
        Ok(Measured { value, metadata: BTreeMap::new() })
    }
}
