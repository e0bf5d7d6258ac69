//! A way to the API server on which things go wrong when a test says so: a controller is given a kubeconfig that points
//! here, and its requests are passed on as its own account. Everything that is not disturbed is the real server's.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::Response;
use futures::StreamExt;
use kube::Client;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::bed::{User, connect};

/// A way to the API server; it ends with this value.
pub struct Proxy {
    /// The kubeconfig of a controller that goes this way.
    pub kubeconfig: PathBuf,
    way: Arc<Way>,
    task: JoinHandle<()>,
}

/// What happens to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// It is not done: the server is busy and asks to wait so many seconds, in the words of its own flow control.
    Busy(u64),
    /// It is not done: the object is said to have changed.
    Conflict,
    /// It is not done: something is broken.
    Broken(u16),
    /// It is not done: the connection is cut.
    Cut,
    /// It is done, and answered later.
    Slow(Duration),
    /// It is done, and the connection is cut before the answer.
    Lost,
}

/// A write that came along.
#[derive(Clone, Debug)]
pub struct Passed {
    /// When.
    pub at: Instant,
    /// Such as PATCH.
    pub method: Method,
    /// Of which object.
    pub path: String,
    /// What happened to it, if not the usual.
    pub disturbed: Option<Disturbance>,
}

struct Way {
    client: Client,
    orders: Mutex<VecDeque<(String, Disturbance)>>,
    passed: Mutex<Vec<Passed>>,
    /// How many watches are answered with 410 Gone.
    gone: AtomicU64,
    watches: AtomicU64,
    fate: watch::Sender<Fate>,
}

/// Watches up to these numbers are silent, or are cut.
#[derive(Clone, Copy, Default)]
struct Fate {
    silent: u64,
    cut: u64,
}

impl Proxy {
    /// Opens a way for a controller; its kubeconfig is named after `name`.
    pub async fn start(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let file = format!("windlass-{}-{name}.kubeconfig", std::process::id());
        let kubeconfig = std::env::temp_dir().join(file);
        std::fs::write(&kubeconfig, kubeconfig_of(&server)).unwrap();
        let way = Arc::new(Way {
            client: connect(User::Windlass).await,
            orders: Mutex::default(),
            passed: Mutex::default(),
            gone: AtomicU64::default(),
            watches: AtomicU64::default(),
            fate: watch::Sender::default(),
        });
        let app = axum::Router::new().fallback(handle).with_state(Arc::clone(&way));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { kubeconfig, way, task }
    }

    /// Disturbs the next writes, so many of them, to objects whose path contains this.
    pub fn disturb(&self, path: &str, times: usize, disturbance: Disturbance) {
        let order = (path.to_owned(), disturbance);
        self.way.orders.lock().unwrap().extend(std::iter::repeat_n(order, times));
    }

    /// Everything that was to be disturbed has been.
    pub fn is_done(&self) -> bool {
        self.way.orders.lock().unwrap().is_empty() && self.way.gone.load(Ordering::SeqCst) == 0
    }

    /// The watches that are open fall silent, without an end: as behind a router that forgot them.
    pub fn silence_watches(&self) {
        let open = self.way.watches.load(Ordering::SeqCst);
        self.way.fate.send_modify(|fate| fate.silent = open);
    }

    /// The watches that are open are cut.
    pub fn cut_watches(&self) {
        let open = self.way.watches.load(Ordering::SeqCst);
        self.way.fate.send_modify(|fate| fate.cut = open);
    }

    /// The watches that are open are cut, and so many new ones are told that their version is too old.
    pub fn expire_watches(&self, times: u64) {
        self.way.gone.store(times, Ordering::SeqCst);
        self.cut_watches();
    }

    /// Every write so far.
    pub fn passed(&self) -> Vec<Passed> {
        self.way.passed.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        std::fs::remove_file(&self.kubeconfig).ok();
    }
}

fn kubeconfig_of(server: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": server}}],
        "users": [{"name": "proxy", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
    })
    .to_string()
}

async fn handle(State(way): State<Arc<Way>>, request: Request) -> Response {
    let is_write = request.method() != Method::GET && request.uri().path().contains("/namespaces/");
    if is_write {
        return way.write(request).await;
    }
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    if is_watch { way.watch(request).await } else { way.pass_on(request).await }
}

impl Way {
    async fn write(&self, request: Request) -> Response {
        let disturbed = self.disturbance(request.uri());
        self.passed.lock().unwrap().push(Passed {
            at: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            disturbed,
        });
        match disturbed {
            None => self.pass_on(request).await,
            Some(Disturbance::Busy(seconds)) => busy(seconds),
            Some(Disturbance::Conflict) => failure(409, "Conflict", "the object has been modified"),
            Some(Disturbance::Broken(code)) => failure(code, "InternalError", "a test says no"),
            Some(Disturbance::Cut) => cut(),
            Some(Disturbance::Slow(delay)) => {
                let answer = self.pass_on(request).await;
                tokio::time::sleep(delay).await;
                answer
            }
            Some(Disturbance::Lost) => {
                self.pass_on(request).await;
                cut()
            }
        }
    }

    /// What was ordered for the next write of this kind.
    fn disturbance(&self, uri: &Uri) -> Option<Disturbance> {
        let mut orders = self.orders.lock().unwrap();
        let next = orders.iter().position(|(path, _)| uri.path().contains(path.as_str()))?;
        orders.remove(next).map(|(_, disturbance)| disturbance)
    }

    async fn watch(&self, request: Request) -> Response {
        let number = self.watches.fetch_add(1, Ordering::SeqCst) + 1;
        let is_gone = |left: u64| left.checked_sub(1);
        if self.gone.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_gone).is_ok() {
            return expired();
        }
        let fate = self.fate.subscribe();
        let (parts, body) = self.pass_on(request).await.into_parts();
        let frames = futures::stream::unfold((body.into_data_stream(), fate), move |(frames, fate)| {
            follow(number, frames, fate)
        });
        Response::from_parts(parts, Body::from_stream(frames))
    }

    async fn pass_on(&self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        parts.headers = only(&parts.headers, &[header::CONTENT_TYPE, header::ACCEPT]);
        let request = Request::from_parts(parts, kube::client::Body::from(body));
        let Ok(answer) = self.client.send(request).await else { cut() };
        let (mut parts, body) = answer.into_parts();
        parts.headers = only(&parts.headers, &[header::CONTENT_TYPE, header::RETRY_AFTER]);
        Response::from_parts(parts, Body::new(body))
    }
}

type Frames = (BodyDataStream, watch::Receiver<Fate>);

/// The next piece of a watch: passed on, kept back for ever, or an error that cuts the connection.
async fn follow(
    number: u64,
    mut frames: BodyDataStream,
    mut fate: watch::Receiver<Fate>,
) -> Option<(Result<axum::body::Bytes, axum::Error>, Frames)> {
    let is_cut = |fate: &Fate| number <= fate.cut;
    let frame = tokio::select! {
        frame = frames.next() => frame?,
        _ = fate.wait_for(is_cut) => Err(axum::Error::new("cut by a test")),
    };
    let silent = frame.is_ok() && number <= fate.borrow().silent;
    if silent {
        std::future::pending::<Infallible>().await;
    }
    Some((frame, (frames, fate)))
}

fn only(headers: &HeaderMap, names: &[header::HeaderName]) -> HeaderMap {
    let kept = names.iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    kept.collect()
}

/// Ends the task that serves this connection, and the connection with it: no byte of an answer is sent.
fn cut() -> ! {
    std::panic::resume_unwind(Box::new("cut by a test"))
}

/// As the API server's flow control answers: words, and the wait in a header.
fn busy(seconds: u64) -> Response {
    Response::builder()
        .status(429)
        .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(header::RETRY_AFTER, seconds)
        .body(Body::from("Too many requests, please try again later."))
        .unwrap()
}

fn status(code: u16, reason: &str, message: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    })
}

fn failure(code: u16, reason: &str, message: &str) -> Response {
    let body = status(code, reason, message).to_string();
    let json = (header::CONTENT_TYPE, "application/json");
    Response::builder().status(code).header(json.0, json.1).body(Body::from(body)).unwrap()
}

/// As the API server answers a watch whose version it has no more.
fn expired() -> Response {
    let object = status(410, "Expired", "too old resource version");
    let body = format!("{}\n", json!({"type": "ERROR", "object": object}));
    Response::builder().header(header::CONTENT_TYPE, "application/json").body(Body::from(body)).unwrap()
}
