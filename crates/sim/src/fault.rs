//! Faults on the way between a controller and its API server: a layer around the service that answers. Requests are
//! counted; a fault waits for its number. What the controller wrote is judged at once, by the truth of that moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body as AxumBody;
use axum::http::{Request, Response};
use futures::future::BoxFuture;
use kube::client::Body;
use serde_json::json;
use tokio::sync::Notify;
use tower::Service;

use crate::chance::Chance;
use crate::judge::Judge;
use crate::refusal::Refusal;
use crate::script::Fault;
use crate::service::Cluster;

/// What happens to a request that meets a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    CrashBefore,
    CrashAfter,
    Lost,
    Refused(u16),
    Hangs,
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
    judge: Judge,
}

impl Line {
    /// A line that is never late, unless there is a source of lags.
    pub fn new(lags: Option<Chance>, judge: Judge) -> Self {
        let state = State { requests: 0, armed: BTreeMap::new(), lags, writes: 0, leads: true, judge };
        Self(Arc::new(Mutex::new(state)), Arc::new(Notify::new()))
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
                state.writes += 1;
                state.judge.catch_up(now, store, Some(before));
                if !state.leads {
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
                Fate::Answered | Fate::CrashAfter | Fate::Lost => {}
            }
            let what = format!("{} {}", request.method(), request.uri().path());
            let before = server.with(|server, _| server.store().revision());
            let answer = inner.call(request).await;
            line.judge(&server, before, &what);
            match fate {
                Fate::CrashAfter => line.crash().await,
                Fate::Lost => Err("the connection was closed before the answer came".into()),
                _ => {
                    if !lag.is_zero() {
                        tokio::time::sleep(lag).await;
                    }
                    answer
                }
            }
        })
    }
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
