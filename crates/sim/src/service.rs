//! The server behind a client: `kube::Client::new(cluster.service(caller), "default")` talks to the memory of this
//! process. Watches are bodies that never end by themselves; they wake when something is written.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, Response, header};
use futures::Stream;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use windlass_controller::Clock;

use crate::http::{self, Answer, Event, Progress, Watch};
use crate::server::{Caller, Server};

/// How often a watch gives a sign of life.
const BOOKMARK: Duration = Duration::from_secs(60);
/// How long before its end a watch gives the last one.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// A server that many share, with its clock. Writes go through `with`, so that every watch hears of them.
#[derive(Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
}

struct Shared {
    server: Mutex<Server>,
    clock: Arc<dyn Clock>,
    written: watch::Sender<u64>,
}

impl Cluster {
    /// Shares a server.
    pub fn new(server: Server, clock: Arc<dyn Clock>) -> Self {
        let written = watch::Sender::new(server.store().revision());
        Self { shared: Arc::new(Shared { server: Mutex::new(server), clock, written }) }
    }

    /// Works on the server, alone and at the present moment; then every watch hears of what was written.
    pub fn with<T>(&self, work: impl FnOnce(&mut Server, Timestamp) -> T) -> T {
        let mut server = self.shared.server.lock().unwrap_or_else(PoisonError::into_inner);
        let done = work(&mut server, self.shared.clock.now());
        let revision = server.store().revision();
        drop(server);
        self.shared.written.send_if_modified(|known| {
            let newer = revision > *known;
            *known = revision.max(*known);
            newer
        });
        done
    }

    /// The newest revision, each time there is one.
    pub fn written(&self) -> watch::Receiver<u64> {
        self.shared.written.subscribe()
    }

    /// The server as this user sees it.
    pub fn service(&self, caller: Caller) -> Service {
        Service { cluster: self.clone(), caller }
    }

    /// A client of this user.
    pub fn client(&self, caller: Caller) -> kube::Client {
        kube::Client::new(self.service(caller), "default")
    }
}

/// The server as one user sees it.
#[derive(Clone)]
pub struct Service {
    cluster: Cluster,
    caller: Caller,
}

impl<B> tower::Service<Request<B>> for Service
where
    B: axum::body::HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<Body>;
    type Error = axum::BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { cluster, caller } = self.clone();
        Box::pin(async move {
            let request = read(request).await?;
            let answer = cluster.with(|server, now| http::answer(server, now, &caller, &request));
            respond(answer, &cluster)
        })
    }
}

async fn read<B>(request: Request<B>) -> Result<http::Request, axum::BoxError>
where
    B: axum::body::HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let (head, body) = request.into_parts();
    let text = |name: header::HeaderName| {
        head.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned()
    };
    Ok(http::Request {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()).into_owned().collect(),
        content_type: text(header::CONTENT_TYPE),
        accept: text(header::ACCEPT),
        agent: text(header::USER_AGENT),
        body: axum::body::to_bytes(Body::new(body), usize::MAX).await?.to_vec(),
    })
}

fn respond(answer: Answer, cluster: &Cluster) -> Result<Response<Body>, axum::BoxError> {
    let response = Response::builder();
    Ok(match answer {
        Answer::Body { code, body, warnings } => {
            let mut response = response.status(code).header(header::CONTENT_TYPE, "application/json");
            for warning in warnings {
                let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
                response = response.header(header::WARNING, HeaderValue::try_from(text)?);
            }
            response.body(Body::from(serde_json::to_vec(&*body)?))?
        }
        Answer::Document { content_type, text } => {
            response.header(header::CONTENT_TYPE, content_type).body(Body::from(text))?
        }
        Answer::Watch(watch) => response
            .status(200)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from_stream(events(cluster.clone(), watch)))?,
    })
}

/// A watch as a stream of lines.
struct Following {
    cluster: Cluster,
    progress: Progress,
    /// What is to be sent; what was there when the watch began is in it from the start.
    ready: Vec<Event>,
    written: watch::Receiver<u64>,
    end: Option<Instant>,
    bookmark: Option<Instant>,
}

fn events(cluster: Cluster, watch: Watch) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let end = watch.timeout_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let written = cluster.written();
    let bookmarks = watch.bookmarks;
    let mut progress = Progress::new(watch);
    let ready = cluster.with(|server, now| progress.pull(server.store(), now));
    let mut following = Following { cluster, progress, ready, written, end, bookmark: None };
    if bookmarks {
        following.bookmark = following.next_bookmark();
    }
    futures::stream::unfold(following, |mut following| async move {
        let lines = following.next().await?;
        Some((Ok(Bytes::from(lines)), following))
    })
}

impl Following {
    /// The next lines; none at the end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let events = std::mem::take(&mut self.ready);
            if !events.is_empty() {
                return Some(events.iter().flat_map(Event::line).collect());
            }
            if self.progress.is_over() {
                return None;
            }
            self.written.borrow_and_update();
            let progress = &mut self.progress;
            self.ready = self.cluster.with(|server, now| progress.pull(server.store(), now));
            if !self.ready.is_empty() || self.progress.is_over() {
                continue;
            }
            tokio::select! {
                biased;
                // The sender lives as long as the cluster that this stream holds.
                _ = self.written.changed() => {}
                () = at(self.bookmark) => {
                    self.bookmark = self.next_bookmark();
                    return Some(self.progress.bookmark(None).line());
                }
                () = at(self.end) => return None,
            }
        }
    }

    /// A minute from now, and once more just before the end.
    fn next_bookmark(&self) -> Option<Instant> {
        let now = Instant::now();
        let last = self.end.and_then(|end| end.checked_sub(LAST_BOOKMARK)).filter(|&last| last > now);
        match (last, self.end) {
            (Some(last), _) => Some(last.min(now + BOOKMARK)),
            (None, Some(_)) => None,
            (None, None) => Some(now + BOOKMARK),
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, TryStreamExt};
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kube::Api;
    use kube::api::{PostParams, WatchEvent, WatchParams};
    use serde_json::json;

    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    async fn maps() -> Api<ConfigMap> {
        let cluster = Cluster::new(Server::default(), Arc::new(Stopped));
        let client = cluster.client(Caller::new("admin"));
        let space: Namespace = serde_json::from_value(json!({"metadata": {"name": "default"}})).unwrap();
        Api::all(client.clone()).create(&PostParams::default(), &space).await.unwrap();
        Api::default_namespaced(client)
    }

    fn map(name: &str, label: &str) -> ConfigMap {
        serde_json::from_value(json!({"metadata": {"name": name, "labels": {"app": label}}})).unwrap()
    }

    fn told(event: WatchEvent<ConfigMap>) -> String {
        let name = |it: ConfigMap| it.metadata.name.unwrap_or_default();
        match event {
            WatchEvent::Added(it) => format!("added {}", name(it)),
            WatchEvent::Modified(it) => format!("modified {}", name(it)),
            WatchEvent::Deleted(it) => format!("deleted {}", name(it)),
            WatchEvent::Bookmark(it) => format!("bookmark {}", it.metadata.annotations.len()),
            WatchEvent::Error(it) => format!("error {}", it.code),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_shows_what_is_there_then_what_is_written_and_gives_signs_of_life() {
        let maps = maps().await;
        maps.create(&PostParams::default(), &map("one", "web")).await.unwrap();
        let params = WatchParams::default().labels("app=web").timeout(200);
        let watch = maps.watch(&params, "0").await.unwrap();
        maps.create(&PostParams::default(), &map("two", "db")).await.unwrap();
        maps.create(&PostParams::default(), &map("three", "web")).await.unwrap();
        maps.replace("two", &PostParams::default(), &map("two", "web")).await.unwrap();
        maps.replace("one", &PostParams::default(), &map("one", "db")).await.unwrap();
        let seen: Vec<String> = watch.map_ok(told).try_collect().await.unwrap();
        let events = ["added one", "added three", "added two", "deleted one"].map(str::to_owned);
        assert_eq!(seen[..4], events);
        assert_eq!(seen[4..], ["bookmark 0", "bookmark 0", "bookmark 0", "bookmark 0"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_streaming_list_ends_with_a_marked_bookmark() {
        let maps = maps().await;
        maps.create(&PostParams::default(), &map("one", "web")).await.unwrap();
        let params = WatchParams::default().initial_events();
        let watch = maps.watch(&params, "").await.unwrap();
        let seen: Vec<String> = watch.take(2).map_ok(told).try_collect().await.unwrap();
        assert_eq!(seen, ["added one", "bookmark 1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_from_a_forgotten_version_is_told_so_within_the_stream() {
        let cluster = Cluster::new(Server::default(), Arc::new(Stopped));
        let spaces: Api<Namespace> = Api::all(cluster.client(Caller::new("admin")));
        for name in ["one", "two", "three"] {
            let space: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            spaces.create(&PostParams::default(), &space).await.unwrap();
        }
        cluster.with(|server, _| server.compact());
        let watch = spaces.watch(&WatchParams::default(), "1").await.unwrap();
        let seen: Vec<_> = watch.try_collect().await.unwrap();
        assert!(matches!(seen.as_slice(), [WatchEvent::Error(status)] if status.code == 410));
    }
}
