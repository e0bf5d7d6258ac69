//! New Relic: what an NRQL query gives, asked through NerdGraph, its GraphQL interface.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::answers::{Service, text_at};
use super::fields::{Fields, base_address};
use super::{Answer, Method, Provider, Request, SecretPlace, SecretWanted, Setting, Step, Trust};
use crate::expression::Value;
use crate::gauge::Measured;

/// The Secret beside the controller, unless a template names one.
const SECRET: &str = "newrelic";
/// How long New Relic works on a query, in seconds, unless somebody says otherwise.
const TIMEOUT: u64 = 5;
/// The longest that New Relic lets anybody ask for.
const LONGEST: Duration = Duration::from_secs(120);
/// How much longer than New Relic works on the query its answer is waited for.
const GRACE: Duration = Duration::from_secs(5);
/// What is asked. The query is a variable, so nothing in it can change what is asked.
const QUESTION: &str = "query($accountId: Int!, $query: Nrql!, $timeout: Seconds) { actor { account(id: $accountId) { nrql(query: $query, timeout: $timeout) { results } } } }";

struct NewRelic {
    query: String,
    timeout: Duration,
    secret: String,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Box<dyn Provider> {
    let secret = fields.object_name("profile").unwrap_or_else(|| SECRET.to_owned());
    let query = fields.needed("query", "write what is asked, in NRQL");
    let timeout = fields.any_seconds("timeout", TIMEOUT);
    if timeout > LONGEST {
        fields.flaw(
            "timeout",
            format!("New Relic works no longer than {} seconds on a query", LONGEST.as_secs()),
        );
    }
    Box::new(NewRelic { query, timeout, secret })
}

impl Provider for NewRelic {
    fn longest(&self) -> Duration {
        self.timeout + GRACE
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        Some(SecretWanted { name: self.secret.clone(), place: SecretPlace::Controller, optional: false })
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        let access = self.access(setting)?;
        let Some(answer) = answers.first() else { return Ok(Step::Ask(self.request(&access))) };
        let credentials = format!(
            "personal-api-key, account-id and region in the Secret {} beside the controller",
            self.secret
        );
        let service = Service { name: "New Relic", credentials: &credentials, secrets: &[access.key] };
        let json = service.json(answer, reason)?;
        if let Some(reason) = reason(&json) {
            return Err(format!("New Relic could not answer the query: {}", service.quote(&reason)));
        }
        let results = json.pointer("/data/actor/account/nrql/results").and_then(Json::as_array).ok_or(
            "New Relic answered without results; check that the account exists and the key may read it",
        )?;
        let value = match results.as_slice() {
            [Json::Object(only)] if !only.is_empty() => Value::from(Json::Object(only.clone())),
            [] | [_] => return Err("the NRQL query has no results".to_owned()),
            several => Value::from(Json::Array(several.to_vec())),
        };
        Ok(Step::Done(Measured { value, metadata: BTreeMap::new() }))
    }
}

struct Access<'a> {
    url: String,
    key: &'a str,
    account: i64,
}

impl NewRelic {
    fn access<'a>(&self, setting: &Setting<'a>) -> Result<Access<'a>, String> {
        let entry =
            |name: &str| setting.secret.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
        let missing = |name: &str| format!("the Secret {} beside the controller has no {name}", self.secret);
        let key = entry("personal-api-key").ok_or_else(|| missing("personal-api-key"))?;
        let account = entry("account-id").ok_or_else(|| missing("account-id"))?;
        let account = account.parse().map_err(|_| {
            format!("account-id in the Secret {} beside the controller is not a number", self.secret)
        })?;
        let url = match entry("base-url-nerdgraph") {
            Some(address) => base_address(address).map_err(|what| {
                format!("base-url-nerdgraph in the Secret {} beside the controller is {what}", self.secret)
            })?,
            None => self.endpoint(entry("region").unwrap_or("us"))?.to_owned(),
        };
        Ok(Access { url, key, account })
    }

    fn endpoint(&self, region: &str) -> Result<&'static str, String> {
        match region.to_lowercase().as_str() {
            "us" => Ok("https://api.newrelic.com/graphql"),
            "eu" => Ok("https://api.eu.newrelic.com/graphql"),
            "staging" => Ok("https://staging-api.newrelic.com/graphql"),
            _ => Err(format!(
                "region in the Secret {} beside the controller is not known; there are us, eu and staging",
                self.secret
            )),
        }
    }

    fn request(&self, access: &Access<'_>) -> Request {
        let variables =
            json!({"accountId": access.account, "query": self.query, "timeout": self.timeout.as_secs()});
        Request {
            method: Method::Post,
            url: access.url.clone(),
            headers: vec![
                ("API-Key".to_owned(), access.key.to_owned()),
                ("Content-Type".to_owned(), "application/json".to_owned()),
            ],
            body: Some(json!({"query": QUESTION, "variables": variables}).to_string()),
            timeout: self.timeout + GRACE,
            trust: Trust::default(),
        }
    }
}

/// What New Relic says is wrong: GraphQL tells it with a good status too.
fn reason(json: &Json) -> Option<String> {
    let errors = json.get("errors")?.as_array()?;
    let texts: Vec<String> = errors.iter().filter_map(|error| text_at(error, "/message")).collect();
    if errors.is_empty() {
        return None;
    }
    Some(if texts.is_empty() { "it said nothing more".to_owned() } else { texts.join("; ") })
}
