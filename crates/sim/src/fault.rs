//! Faults on the way between a controller and its API server: a layer around the service that answers. Requests are
//! counted; a fault waits for its number. What the controller wrote is judged at once, by the truth of that moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body as AxumBody;
use axum::http::{Request, Response};
use futures::StreamExt;
use futures::future::BoxFuture;
use kube::client::Body;
use serde_json::json;
use tokio::sync::{Notify, watch};
use tower::Service;

use crate::chance::Chance;
use crate::judge::Judge;
use crate::object::{Key, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::script::Fault;
use crate::service::Cluster;
use crate::store::Store;

/// What happens to a request that meets a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    CrashBefore,
    CrashAfter,
    Lost,
    Refused(u16),
    Hangs,
    Slow(Duration),
}

/// One controller's line to the server.
#[derive(Clone)]
pub struct Line(Arc<Mutex<State>>, Arc<Notify>);

struct State {
    requests: u32,
    armed: BTreeMap<u32, Fate>,
    lags: Option<Chance>,
    writes: u64,
    leads: bool,
    /// The name under which the controller at this end stands for the lease, if it does.
    candidate: Option<String>,
    /// Grows whenever the open watches are cut.
    cuts: watch::Sender<u32>,
    judge: Judge,
}

impl Line {
    /// A line that is never late, unless there is a source of lags.
    pub fn new(lags: Option<Chance>, judge: Judge) -> Self {
        let state = State {
            requests: 0,
            armed: BTreeMap::new(),
            lags,
            writes: 0,
            leads: true,
            candidate: None,
            cuts: watch::Sender::new(0),
            judge,
        };
        Self(Arc::new(Mutex::new(state)), Arc::new(Notify::new()))
    }

    /// The line of a controller that stands for the lease under this name.
    pub fn of_candidate(judge: Judge, identity: &str) -> Self {
        let line = Self::new(None, judge);
        line.state().candidate = Some(identity.to_owned());
        line
    }

    /// Ends the open watches.
    pub fn cut(&self) {
        self.state().cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Ends the controller, whatever it does.
    pub fn end(&self) {
        self.1.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a fault wait for its request. False if it is not one of requests.
    pub fn arm(&self, fault: &Fault) -> bool {
        let (count, fate) = match fault {
            Fault::CrashBefore(count) => (count, Fate::CrashBefore),
            Fault::CrashAfter(count) => (count, Fate::CrashAfter),
            Fault::Lose(count) => (count, Fate::Lost),
            Fault::Refuse(count, code) => (count, Fate::Refused(*code)),
            Fault::Hang(count) => (count, Fate::Hangs),
            Fault::Slow(count, time) => (count, Fate::Slow(*time)),
            Fault::Late(..) | Fault::Relist | Fault::Repeat | Fault::Stop(_) | Fault::Clock(_) => {
                return false;
            }
        };
        let mut state = self.state();
        let number = state.requests.saturating_add((*count).max(1));
        state.armed.insert(number, fate);
        true
    }

    /// No fault waits any more.
    pub fn disarm(&self) {
        self.state().armed.clear();
    }

    /// No fault waits any more, and no answer is late.
    pub fn be_well(&self) {
        let mut state = self.state();
        state.armed.clear();
        state.lags = None;
    }

    /// Whether the controller at this end holds the lease.
    pub fn leads(&self, leads: bool) {
        self.state().leads = leads;
    }

    /// Ready when the controller crashes.
    pub async fn crashed(&self) {
        self.1.notified().await;
    }

    /// How many requests changed something.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// How many requests were sent.
    pub fn requests(&self) -> u32 {
        self.state().requests
    }

    fn begin(&self) -> (Fate, Duration) {
        let mut state = self.state();
        state.requests += 1;
        let number = state.requests;
        let fate = state.armed.remove(&number).unwrap_or(Fate::Answered);
        let lag = state.lags.as_mut().map_or(Duration::ZERO, |lags| lags.lag(Duration::from_millis(200)));
        (fate, lag)
    }

    /// Gives what a request changed to the judge.
    fn judge(&self, server: &Cluster, before: u64, what: &str) {
        let mut state = self.state();
        server.with(|server, now| {
            let store = server.store();
            if store.revision() > before {
                // Whoever leads says so all the time, and an analysis stores every measurement; that is no work.
                let stores_measurements = what.contains("/analysisruns/") && what.ends_with("/status");
                state.writes += u64::from(!what.contains("/leases") && !stores_measurements);
                state.judge.catch_up(now, store, Some(before));
                let holds = state.candidate.as_deref().is_none_or(|me| holder(store) == Some(me));
                if (!state.leads || !holds) && !what.contains("/leases") {
                    state.judge.find(now, "rule 6", format!("a controller without the lease wrote: {what}"));
                }
            }
        });
    }

    async fn crash<T>(&self) -> T {
        self.1.notify_one();
        std::future::pending().await
    }
}

/// A service behind a line with faults.
#[derive(Clone)]
pub struct Faulty<S> {
    inner: S,
    line: Line,
    server: Cluster,
}

impl<S> Faulty<S> {
    /// Puts the line in front of a service that answers from this server.
    pub fn new(inner: S, line: Line, server: Cluster) -> Self {
        Self { inner, line, server }
    }
}

impl<S> Service<Request<Body>> for Faulty<S>
where
    S: Service<Request<Body>, Response = Response<AxumBody>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<AxumBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut inner = self.inner.clone();
        let (line, server) = (self.line.clone(), self.server.clone());
        Box::pin(async move {
            let (fate, lag) = line.begin();
            match fate {
                Fate::CrashBefore => return line.crash().await,
                Fate::Refused(code) => return Ok(refused(code)),
                Fate::Hangs => return std::future::pending().await,
                Fate::Answered | Fate::CrashAfter | Fate::Lost | Fate::Slow(_) => {}
            }
            let what = format!("{} {}", request.method(), request.uri().path());
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let cuts = line.state().cuts.subscribe();
            let before = server.with(|server, _| server.store().revision());
            let answer = inner.call(request).await;
            line.judge(&server, before, &what);
            match fate {
                Fate::CrashAfter => line.crash().await,
                Fate::Lost => Err("the connection was closed before the answer came".into()),
                _ => {
                    let lag = if let Fate::Slow(time) = fate { time } else { lag };
                    if !lag.is_zero() {
                        tokio::time::sleep(lag).await;
                    }
                    answer.map(|answer| if is_watch { until_cut(answer, cuts) } else { answer })
                }
            }
        })
    }
}

/// Who holds the lease.
fn holder(store: &Store) -> Option<&str> {
    let lease = store.get(Resource::Leases, &Key::new("windlass", "windlass"))?;
    text(lease, &["spec", "holderIdentity"])
}

/// A body that ends when the watches are cut.
fn until_cut(answer: Response<AxumBody>, mut cuts: watch::Receiver<u32>) -> Response<AxumBody> {
    let cut = async move { drop(cuts.changed().await) };
    answer.map(|body| AxumBody::from_stream(body.into_data_stream().take_until(Box::pin(cut))))
}

/// As a server in trouble answers.
fn refused(code: u16) -> Response<AxumBody> {
    let refusal = match code {
        409 => Refusal::new(409, "Conflict", "Operation cannot be fulfilled: the object has been modified"),
        410 => Refusal::new(410, "Expired", "The provided continue parameter is too old"),
        429 => Refusal {
            details: Some(json!({"retryAfterSeconds": 2})),
            ..Refusal::new(429, "TooManyRequests", "too many requests, please try again later")
        },
        503 => {
            Refusal::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        }
        504 => Refusal::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout"),
        other => Refusal::new(other, "InternalError", "Internal error occurred: etcdserver: leader changed"),
    };
    let mut response = Response::new(AxumBody::from(refusal.status().to_string()));
    *response.status_mut() = axum::http::StatusCode::from_u16(code).unwrap_or_default();
    response
}
