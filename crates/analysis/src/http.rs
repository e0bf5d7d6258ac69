//! Asks providers over HTTP: the one place of this crate that sends anything. Connections are kept and used again; every
//! request has a limit of time and of size; nobody is led to another host; a slow host holds up nobody but those who ask
//! the same one. No message has more of an address in it than host and port, because the rest may hold secrets.

mod client;
mod reach;
mod redirect;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use http::header::{HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::{Response, Uri};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Error as ClientError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::client::{Body, Client, Encryption, Incoming, client, why};
use self::redirect::{Origin, redirected};
use crate::expression::Value;
use crate::gauge::Measured;
use crate::providers::{Answer, Method, Provider, Request, Setting, Step, Trust};
use crate::redact::Redactor;

/// How many requests a provider may make for one value: the pages that CloudWatch is asked for, and before them somebody for
/// credentials.
const STEPS: usize = 12;
/// How often an answer may lead elsewhere.
const REDIRECTS: usize = 5;
/// How large an answer may be.
const LARGEST: usize = 1024 * 1024;
/// How many requests are under way at once, and how long one waits until it may be. One namespace has no more than half
/// of the places, of a host's and of all, so that nobody else waits for what is slow there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// To one host.
    pub per_host: usize,
    /// To all of them: each is a socket.
    pub in_all: usize,
    /// How long a place is waited for.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_host: 64, in_all: 256, wait: Duration::from_secs(60) }
    }
}

/// How many clients, of different trust, are kept. Certificates that are renewed leave old ones behind.
const CLIENTS: usize = 64;
/// How many rooms are remembered before those that nobody is in are forgotten.
const ROOMS: usize = 1024;

/// Whoever asks. Cheap to share; one is enough for a process.
pub struct Asker {
    clients: Mutex<BTreeMap<(Encryption, Trust), Client>>,
    rooms: Mutex<BTreeMap<Room, Arc<Semaphore>>>,
    limits: Limits,
}

/// Where there is a number of places for requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// For all.
    All,
    /// For what is sent to one host.
    Host(String),
    /// For what one namespace sends to one host.
    HostOf(String, String),
    /// For what one namespace sends.
    Of(String),
}

impl Default for Asker {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Asker {
    /// One that keeps to these limits.
    pub fn new(limits: Limits) -> Self {
        Self { clients: Mutex::default(), rooms: Mutex::default(), limits }
    }

    /// Asks a provider until it has a value. What it says of a failure has no credentials in it that were sent; the
    /// caller takes out those that it knows besides.
    pub async fn measure(&self, provider: &dyn Provider, setting: &Setting<'_>) -> Result<Measured, String> {
        let (mut answers, mut sent) = (Vec::new(), Vec::new());
        loop {
            let step = provider.step(setting, &answers).map_err(|error| Redactor::new(&sent).text(&error))?;
            match step {
                Step::Done(measured) => return Ok(Redactor::new(&sent).measured(measured)),
                Step::Ask(_) if answers.len() == STEPS => {
                    return Err(format!("the provider asked {STEPS} times and has no value yet"));
                }
                Step::Ask(request) => {
                    sent.extend(credentials(&request));
                    let answer = self.answer(&request, setting.namespace).await;
                    answers.push(answer.map_err(|error| Redactor::new(&sent).text(&error))?);
                }
            }
        }
    }

    /// Asks for each pod, all at once.
    pub async fn measure_each(
        &self,
        providers: &BTreeMap<String, Box<dyn Provider>>,
        setting: &Setting<'_>,
    ) -> BTreeMap<String, Result<Value, String>> {
        let one = async |pod: &String, provider: &dyn Provider| {
            let measured = self.measure(provider, setting).await;
            (pod.clone(), measured.map(|measured| measured.value))
        };
        let all = providers.iter().map(|(pod, provider)| one(pod, provider.as_ref()));
        join_all(all).await.into_iter().collect()
    }

    /// The answer to one request, within its time, which begins when there is a place for it.
    async fn answer(&self, request: &Request, namespace: &str) -> Result<Answer, String> {
        let uri: Uri = request.url.parse().map_err(|_| "the address cannot be read".to_owned())?;
        let origin = Origin::of(&uri)?;
        let places = self.places(&origin, namespace);
        let _places = tokio::time::timeout(self.limits.wait, places).await.map_err(|_| {
            let wait = words_of(self.limits.wait);
            format!(
                "waited {wait} behind other requests, to {origin} or of the same namespace, which are slow"
            )
        })?;
        let answer = tokio::time::timeout(request.timeout, self.follow(request, uri, &origin)).await;
        answer
            .unwrap_or_else(|_| Err(format!("no answer from {origin} within {}", words_of(request.timeout))))
    }

    /// A place in every room that a request goes through. The smallest comes first: whoever waits there takes no place
    /// from others.
    async fn places(&self, origin: &Origin, namespace: &str) -> Vec<Option<OwnedSemaphorePermit>> {
        let (host, namespace) = (origin.to_string(), namespace.to_owned());
        let rooms =
            [Room::HostOf(host.clone(), namespace.clone()), Room::Of(namespace), Room::Host(host), Room::All];
        let mut places = Vec::new();
        for room in rooms {
            // Nobody closes it, so there is always a place one day.
            places.push(self.room(room).acquire_owned().await.ok());
        }
        places
    }

    /// The answer, wherever on the same host it is.
    async fn follow(&self, request: &Request, mut uri: Uri, origin: &Origin) -> Result<Answer, String> {
        reach::check(&uri, request.trust.reach)?;
        let client = self.client(origin.encryption(), &request.trust)?;
        let (mut method, mut body) = (request.method, request.body.clone());
        for _ in 0..=REDIRECTS {
            let message = message(request, method, &uri, body.as_deref())?;
            let response = client.request(message).await.map_err(|error| unreachable(origin, &error))?;
            let status = response.status().as_u16();
            let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let Some(location) = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308)) else {
                return received(response, origin).await;
            };
            uri = redirected(&uri, location)?;
            let other = Origin::of(&uri)?;
            if other != *origin {
                return Err(format!(
                    "{origin} leads to another server, {other}, which is not followed: if that is where the value is, write its address into the template"
                ));
            }
            // As browsers and Go do it: only 307 and 308 ask the same again.
            if !matches!(status, 307 | 308) {
                (method, body) = (Method::Get, None);
            }
        }
        Err(format!("{origin} leads from one address to the next, more than {REDIRECTS} times"))
    }

    fn client(&self, encryption: Encryption, trust: &Trust) -> Result<Client, String> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = (encryption, trust.clone());
        if let Some(known) = clients.get(&kind) {
            return Ok(known.clone());
        }
        if clients.len() >= CLIENTS {
            clients.clear();
        }
        let made = client(trust, encryption)?;
        clients.insert(kind, made.clone());
        Ok(made)
    }

    fn room(&self, room: Room) -> Arc<Semaphore> {
        let Limits { per_host, in_all, .. } = self.limits;
        let places = match room {
            Room::All => in_all,
            Room::Host(_) => per_host,
            Room::HostOf(..) => per_host / 2,
            Room::Of(_) => in_all / 2,
        };
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() >= ROOMS {
            // Whoever is in one, or waits for it, has it too.
            rooms.retain(|_, room| Arc::strong_count(room) > 1);
        }
        rooms.entry(room).or_insert_with(|| Arc::new(Semaphore::new(places.max(1)))).clone()
    }
}

/// What a request says of who asks: a token may be one that no Secret has.
fn credentials(request: &Request) -> Vec<String> {
    let about_who = ["Authorization", "X-Amz-Security-Token"];
    let is_about_who = |name: &str| about_who.iter().any(|known| name.eq_ignore_ascii_case(known));
    let values = request.headers.iter().filter(|(name, _)| is_about_who(name)).map(|(_, value)| value);
    values.map(|value| value.split_once(' ').map_or(value.as_str(), |(_, rest)| rest).to_owned()).collect()
}

fn message(
    request: &Request,
    method: Method,
    uri: &Uri,
    body: Option<&str>,
) -> Result<http::Request<Body>, String> {
    let method = match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
    };
    let mut message = http::Request::new(body.unwrap_or_default().to_owned());
    *message.method_mut() = method;
    *message.uri_mut() = uri.clone();
    let agent = HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    message.headers_mut().insert(USER_AGENT, agent);
    for (name, value) in &request.headers {
        let name = HeaderName::try_from(name).map_err(|_| format!("{name:?} is no name of a header"))?;
        // The value is not told: it may be a secret.
        let value = HeaderValue::try_from(value).map_err(|_| {
            format!("the value of the header {name} cannot be sent: it has a line break in it, or such")
        })?;
        message.headers_mut().insert(name, value);
    }
    Ok(message)
}

/// The whole answer, unless it is too large.
async fn received(response: Response<Incoming>, origin: &Origin) -> Result<Answer, String> {
    let status = response.status().as_u16();
    let (mut incoming, mut body) = (response.into_body(), Vec::new());
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| format!("the answer of {origin} broke off: {}", why(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        if body.len() + data.len() > LARGEST {
            return Err(format!("the answer of {origin} is larger than 1 MiB: ask for less"));
        }
        body.extend_from_slice(data);
    }
    Ok(Answer { status, body })
}

fn unreachable(origin: &Origin, error: &ClientError) -> String {
    if error.is_connect() {
        format!("cannot reach {origin}: {}", why(error))
    } else {
        format!("no answer from {origin}: {}", why(error))
    }
}

fn words_of(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{}s", time.as_secs()) } else { format!("{}ms", time.as_millis()) }
}
