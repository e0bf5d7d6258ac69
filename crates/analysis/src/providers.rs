//! Where values come from. A provider is read from a metric whose arguments are filled in; it says what is to be asked
//! next, from the answers so far, until it has a value. That is pure: sending is somebody else's work.

mod answers;
mod answers_with;
mod authentication;
pub mod aws;
mod cel;
mod cloud_watch;
mod datadog;
mod fields;
mod graphite;
mod influxdb;
mod json_path;
pub mod kubernetes;
mod new_relic;
mod prometheus;
mod web;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;

pub use self::answers_with::Answers;
use self::fields::Fields;
use self::kubernetes::Kubernetes;
use crate::gauge::Measured;
use crate::rules::Flaw;
use crate::suggest::did_you_mean;

/// Reads the settings of a provider; what does not make sense is noted in the fields.
type Reader = fn(&mut Fields<'_>) -> Box<dyn Provider>;

/// The providers that are asked over HTTP.
const OVER_HTTP: [(&str, Reader); 7] = [
    ("prometheus", prometheus::read),
    ("web", web::read),
    ("datadog", datadog::read),
    ("newRelic", new_relic::read),
    ("cloudWatch", cloud_watch::read),
    ("graphite", graphite::read),
    ("influxdb", influxdb::read),
];
/// The providers that a cluster answers by itself.
pub(crate) const IN_THE_CLUSTER: [&str; 2] = ["job", "kubernetes"];
/// Those that Argo Rollouts has besides.
const NOT_SERVED: [&str; 4] = ["wavefront", "skywalking", "kayenta", "plugin"];

/// The provider of a metric, with its settings.
pub enum Settings {
    /// It is asked over HTTP.
    Http(Box<dyn Provider>),
    /// A Kubernetes Job, as it was written.
    Job(Json),
    /// An expression over objects of the cluster.
    Kubernetes(Box<Kubernetes>),
}

/// The name of the provider of a metric, if it has exactly one.
pub fn name(provider: &Json) -> Option<&str> {
    match named(provider)[..] {
        [(name, _)] => Some(name),
        _ => None,
    }
}

/// What is null is not there, as it is not for Go.
fn named(provider: &Json) -> Vec<(&String, &Json)> {
    provider.as_object().into_iter().flatten().filter(|(_, settings)| !settings.is_null()).collect()
}

/// Reads the provider of a metric, which stands in `field`: there must be exactly one. Or everything that does not make
/// sense.
pub fn read(field: &str, provider: &Json) -> Result<Settings, Vec<Flaw>> {
    let flaw = |field: &str, what: String| Err(vec![Flaw { field: field.to_owned(), what }]);
    let named = named(provider);
    let (name, settings) = match named[..] {
        [one] => one,
        [] => return flaw(field, format!("no provider: name one of {}", served().join(", "))),
        _ => {
            let all: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
            return flaw(field, format!("more than one provider: {}; keep one", all.join(", ")));
        }
    };
    let field = format!("{field}.{name}");
    if let Some((_, read)) = OVER_HTTP.iter().find(|(known, _)| known == name) {
        return Fields::read(&field, settings, read).map(Settings::Http);
    }
    match name.as_str() {
        "job" => {
            return Fields::read(&field, settings, job).map(|()| Settings::Job(settings.clone()));
        }
        "kubernetes" => {
            let read = Fields::read(&field, settings, kubernetes::read);
            return read.map(|it| Settings::Kubernetes(Box::new(it)));
        }
        _ => {}
    }
    if NOT_SERVED.contains(&name.as_str()) {
        return flaw(&field, format!("Windlass does not serve {name}; it serves {}", served().join(", ")));
    }
    let meant = did_you_mean(name, &served()).map(|meant| format!(" (did you mean {meant}?)"));
    let there_are = served().join(", ");
    flaw(&field, format!("there is no provider {name}{}; there are {there_are}", meant.unwrap_or_default()))
}

/// What a Job needs at least: the rest of it is for the API server to judge.
fn job(fields: &mut Fields<'_>) {
    fields.optional_object("metadata");
    fields.needed_object(&["spec", "template", "spec"]);
}

/// The names of all providers that are served.
fn served() -> Vec<&'static str> {
    OVER_HTTP.iter().map(|(name, _)| *name).chain(IN_THE_CLUSTER).collect()
}

/// Pairs as the body of a form, or behind the question mark of an address.
fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// What a provider says of its metric, rather than of one measurement: the query, filled in. Users know it by this name.
pub const RESOLVED_QUERY: &str = "ResolvedPrometheusQuery";

/// That query, of a metric with its arguments; none for other providers.
pub(crate) fn resolved_query(provider: &Json) -> Option<&str> {
    provider.get("prometheus")?.get("query")?.as_str()
}

/// How many requests a provider may make for one value: the ten pages that CloudWatch is asked for, and before them
/// whoever gives credentials.
pub const MOST_REQUESTS: u32 = 10 + aws::credentials::MOST_ASKED;

/// A provider with its settings.
pub trait Provider: Send + Sync {
    /// How long one value may take at most: every request that may be needed, each as late as it may be.
    fn longest(&self) -> Duration;

    /// The Secret that holds its credentials, if it needs one besides its arguments and what is in the environment.
    fn secret(&self, environment: &BTreeMap<String, String>) -> Option<SecretWanted>;

    /// What to do, given the answers so far.
    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String>;
}

/// A Secret that a provider reads its credentials from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretWanted {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: SecretPlace,
    /// Without it the environment is asked.
    pub optional: bool,
}

/// What must not be seen of such a Secret. Who is asked, and about whom, stands in it beside the keys; to hide that would make
/// messages unreadable.
pub fn hidden(secret: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    const OPEN: [&str; 4] = ["address", "region", "org", "account-id"];
    let is_open = |name: &str| OPEN.contains(&name) || name.starts_with("base-url");
    secret.iter().filter(move |(name, _)| !is_open(name)).map(|(_, value)| value)
}

/// Where a Secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// Beside the controller.
    Controller,
    /// In the namespace of the run.
    Run,
}

/// What a provider may use besides its settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The time.
    pub now: Timestamp,
    /// The namespace that asks: each has its share of what there is room for.
    pub namespace: &'a str,
    /// The Secret that it asked for.
    pub secret: &'a BTreeMap<String, String>,
    /// The environment of the process.
    pub environment: &'a BTreeMap<String, String>,
}

/// What a provider does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It asks.
    Ask(Request),
    /// It has a value.
    Done(Measured),
}

/// How something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Without a body.
    Get,
    /// With one.
    Post,
    /// With one.
    Put,
}

/// What is to be asked. Headers, bodies and keys may hold secrets, so they are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// Where.
    pub url: String,
    /// With these headers.
    pub headers: Vec<(String, String)>,
    /// With this body.
    pub body: Option<String>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Whom to trust.
    pub trust: Trust,
}

/// Whom to ask at all, whom to trust on an encrypted connection, and who we are.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trust {
    /// The server's certificate is not checked.
    pub insecure: bool,
    /// Certificates of authorities, instead of the usual ones (PEM).
    pub authorities: Option<String>,
    /// Our own certificate and its key (PEM).
    pub identity: Option<(String, String)>,
    /// How near whoever is asked may be.
    pub reach: Reach,
}

/// How near whoever is asked may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Not at the addresses by which a cloud tells a machine about itself: whoever writes a template names the address.
    #[default]
    Network,
    /// There too: the controller's own environment names the address.
    Machine,
}

/// Headers that say to whom a message goes, how long it is, and what becomes of its connection. That is for whoever sends it
/// to say: a server might read another message than was sent. Go leaves out the first four, too.
const OF_THE_SENDER: [&str; 10] = [
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Trailer",
    "TE",
    "Expect",
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "Upgrade",
];

/// Whether a header that a template names is sent.
pub(crate) fn is_sent(name: &str) -> bool {
    !OF_THE_SENDER.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Whether it is an answer to what was asked.
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
