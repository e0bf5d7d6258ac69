//! Asks providers over HTTP: the one place of this crate that sends anything. Connections are kept and used again; every
//! request has a limit of time and of size; nobody is led to another host; a slow host holds up nobody but those who ask
//! the same one. No message has more of an address in it than host and port, because the rest may hold secrets.

mod client;
mod in_time;
mod lookup;
mod reach;
mod redirect;
mod taken;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::{Response, Uri};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Error as ClientError;

use self::client::{Body, Client, Encryption, Incoming, client, why};
use self::lookup::{Asking, Lookups};
use self::redirect::{Origin, redirected};
use self::taken::{Clock, Taken};
use crate::gauge::Measured;
use crate::providers::{Answer, MOST_REQUESTS, Method, Provider, Request, Setting, Step, Trust, is_sent};
use crate::rooms::{Place, Rooms};

/// How often an answer may lead elsewhere.
const REDIRECTS: usize = 5;
/// How large an answer may be; all pages of one together.
const LARGEST: usize = 1024 * 1024;
/// From here on an answer is large: few are there at once, so that the memory of all of them has a bound. What is read from
/// JSON may take a hundred times as much as its text.
const LARGE: usize = 8 * 1024;
/// How many large ones are read, or wait to be judged, at once.
const LARGE_AT_ONCE: usize = 32;

/// How many requests are under way at once, and how long one waits until it may be. One namespace has no more than half
/// of the places, of a host's and of all, so that nobody else waits for what is slow there. A place is held until the
/// answer is judged: no more of them are kept in memory than there are places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// To one host.
    pub per_host: usize,
    /// To all of them: each is a socket.
    pub in_all: usize,
    /// How long a place is waited for, there or among those whose answers are large.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_host: 64, in_all: 256, wait: Duration::from_secs(60) }
    }
}

/// How many clients, of different trust, are kept. Certificates that are renewed leave old ones behind.
const CLIENTS: usize = 64;

/// Whoever asks. Cheap to share; one is enough for a process.
pub struct Asker {
    clients: Mutex<BTreeMap<(Encryption, Trust), Client>>,
    lookups: Lookups,
    rooms: Rooms<Room>,
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
    /// For large answers.
    Large,
    /// For those to one namespace.
    LargeOf(String),
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmeasured {
    /// Others were in the way, so nobody was asked: that says nothing of what is measured.
    #[error("{0}")]
    Crowded(String),
    /// Whoever was asked has none, or cannot be asked.
    #[error("{0}")]
    Failed(String),
}

/// What came of the question about one pod: what is kept of it, unless others were in the way.
enum OfPod<Made> {
    Good(Made),
    Failed(Made),
    Crowded(String),
}

impl From<String> for Unmeasured {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// A value, and the places that it takes until it is judged.
pub struct Fetched {
    /// The value.
    pub measured: Measured,
    /// To be held as long as the value is. Whoever waits with them waits for nobody who asks.
    pub places: Vec<Place>,
}

impl Default for Asker {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Asker {
    /// One that keeps to these limits.
    pub fn new(limits: Limits) -> Self {
        Self { clients: Mutex::default(), lookups: Lookups::default(), rooms: Rooms::default(), limits }
    }

    /// Asks a provider until it has a value. The credentials that were sent are added to `sent`: the caller takes them out
    /// of what is shown, with those that it knows besides, once the value is judged.
    pub async fn measure(
        &self,
        provider: &dyn Provider,
        setting: &Setting<'_>,
        sent: &mut Vec<String>,
    ) -> Result<Fetched, Unmeasured> {
        let mut answers = Vec::new();
        let mut taken = Taken::new(&self.rooms, self.limits, setting.namespace);
        loop {
            match provider.step(setting, &answers)? {
                Step::Done(measured) => return Ok(Fetched { measured, places: taken.places() }),
                Step::Ask(_) if answers.len() >= MOST_REQUESTS as usize => {
                    return Err(
                        format!("the provider asked {MOST_REQUESTS} times and has no value yet").into()
                    );
                }
                Step::Ask(request) => {
                    sent.extend(credentials(&request));
                    answers.push(self.answer(&request, &mut taken).await?);
                }
            }
        }
    }

    /// Asks for each pod, all at once. `made` says what is kept of each. Where others are in the way of one, nothing is
    /// known of all; inside, why. But where one of them has failed, that is known: those that waited behind it could not be
    /// measured either.
    pub async fn measure_each<'made, Made>(
        &self,
        providers: &BTreeMap<String, Box<dyn Provider>>,
        setting: &Setting<'_>,
        made: impl Fn(String, Result<Measured, String>) -> BoxFuture<'made, Made>,
        sent: &mut Vec<String>,
    ) -> Result<BTreeMap<String, Made>, String> {
        let made = &made;
        let one = async |pod: &String, provider: &dyn Provider| {
            let mut sent = Vec::new();
            let value = match self.measure(provider, setting, &mut sent).await {
                Ok(Fetched { measured, places: _places }) => {
                    OfPod::Good(made(pod.clone(), Ok(measured)).await)
                }
                Err(Unmeasured::Failed(why)) => OfPod::Failed(made(pod.clone(), Err(why)).await),
                Err(Unmeasured::Crowded(why)) => OfPod::Crowded(why),
            };
            (pod.clone(), value, sent)
        };
        let all = providers.iter().map(|(pod, provider)| one(pod, provider.as_ref()));
        let mut values = BTreeMap::new();
        let answers = join_all(all).await;
        sent.extend(answers.iter().flat_map(|(_, _, more)| more.iter().cloned()));
        let one_failed = answers.iter().any(|(_, value, _)| matches!(value, OfPod::Failed(_)));
        for (pod, value, _) in answers {
            let value = match value {
                OfPod::Good(value) | OfPod::Failed(value) => value,
                OfPod::Crowded(why) if one_failed => made(pod.clone(), Err(why)).await,
                OfPod::Crowded(why) => return Err(why),
            };
            values.insert(pod, value);
        }
        Ok(values)
    }

    /// The answer to one request, within its time, which begins when there is a place for it.
    async fn answer(&self, request: &Request, taken: &mut Taken<'_>) -> Result<Answer, Unmeasured> {
        let uri: Uri = request.url.parse().map_err(|_| "the address cannot be read".to_owned())?;
        let origin = Origin::of(&uri)?;
        taken.host(&origin).await?;
        let clock = Clock::start(&origin, request.timeout);
        self.follow(request, uri, &origin, taken, clock).await
    }

    /// The answer, wherever on the same host it is.
    async fn follow(
        &self,
        request: &Request,
        mut uri: Uri,
        origin: &Origin,
        taken: &mut Taken<'_>,
        mut clock: Clock<'_>,
    ) -> Result<Answer, Unmeasured> {
        reach::check(&uri, request.trust.reach)?;
        let client = self.client(origin.encryption(), &request.trust)?;
        let (mut method, mut body) = (request.method, request.body.clone());
        for _ in 0..=REDIRECTS {
            let message = message(request, method, &uri, body.as_deref())?;
            let asking = Asking::new(taken.namespace());
            let response = clock.run(asking.run(client.request(message))).await;
            let response = response.and_then(|it| it.map_err(|error| unreachable(origin, &error)));
            let response = response.map_err(|why| {
                if asking.stands_in_line() {
                    let others = "is not looked up yet: those of others take long";
                    Unmeasured::Crowded(format!("the name of {origin} {others}"))
                } else {
                    Unmeasured::Failed(why)
                }
            })?;
            let status = response.status().as_u16();
            let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let Some(location) = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308)) else {
                return received(response, origin, taken, &mut clock).await;
            };
            uri = redirected(&uri, location)?;
            let other = Origin::of(&uri)?;
            if other != *origin {
                return Err(format!(
                    "{origin} leads to another server, {other}, which is not followed: if that is where the value is, write its address into the template"
                )
                .into());
            }
            // As browsers and Go do it: only 307 and 308 ask the same again.
            if !matches!(status, 307 | 308) {
                (method, body) = (Method::Get, None);
            }
        }
        Err(format!("{origin} leads from one address to the next, more than {REDIRECTS} times").into())
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
        let made = client(trust, encryption, self.lookups.clone())?;
        clients.insert(kind, made.clone());
        Ok(made)
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
    let body = body.unwrap_or_default();
    let mut message = http::Request::new(body.to_owned());
    *message.method_mut() = match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
    };
    *message.uri_mut() = uri.clone();
    let agent = HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    message.headers_mut().insert(USER_AGENT, agent);
    if body.is_empty() && method != Method::Get {
        // Some servers refuse what does not say how long it is. Go says it, too.
        message.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| is_sent(name)) {
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
async fn received(
    response: Response<Incoming>,
    origin: &Origin,
    taken: &mut Taken<'_>,
    clock: &mut Clock<'_>,
) -> Result<Answer, Unmeasured> {
    let status = response.status().as_u16();
    let (mut incoming, mut body) = (response.into_body(), Vec::new());
    while let Some(frame) = clock.run(incoming.frame()).await? {
        let frame = frame.map_err(|error| format!("the answer of {origin} broke off: {}", why(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        taken.more(data.len(), clock).await?;
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
