//! A target that Prometheus scrapes: requests and errors that count up steadily, at an error rate that the test sets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::extract::State;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How many requests each series counts in a second.
const REQUESTS_A_SECOND: f64 = 100.0;

/// The counters by their labels, as `revision="v1"`.
type Series = Arc<Mutex<BTreeMap<String, Counter>>>;

/// A server with `/metrics`, which has `requests_total` and `errors_total`; it ends with this value.
pub struct Scraped {
    /// Where it answers.
    pub address: SocketAddr,
    series: Series,
    task: JoinHandle<()>,
}

/// What was counted until a moment, and how it goes on from there.
#[derive(Clone, Copy)]
struct Counter {
    at: Instant,
    requests: f64,
    errors: f64,
    error_rate: f64,
}

impl Counter {
    /// The same, counted until this moment.
    fn until(self, now: Instant) -> Self {
        let more = now.duration_since(self.at).as_secs_f64() * REQUESTS_A_SECOND;
        let (requests, errors) = (self.requests + more, self.errors + more * self.error_rate);
        Self { at: now, requests, errors, ..self }
    }
}

impl Scraped {
    /// Starts one without any series.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let series = Series::default();
        let app = axum::Router::new().route("/metrics", get(metrics)).with_state(Arc::clone(&series));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, series, task }
    }

    /// From now on this part of a revision's requests fails: 0.2 is one of five.
    pub fn set_error_rate(&self, revision: &str, error_rate: f64) {
        self.set_error_rate_of(&[("revision", revision)], error_rate);
    }

    /// The same for a series with other labels, such as that of one pod.
    pub fn set_error_rate_of(&self, labels: &[(&str, &str)], error_rate: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let now = Instant::now();
        let fresh = Counter { at: now, requests: 0.0, errors: 0.0, error_rate };
        let mut series = self.series.lock().unwrap();
        let counter = series.entry(labels.join(",")).or_insert(fresh);
        *counter = Counter { error_rate, ..counter.until(now) };
    }
}

impl Drop for Scraped {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn metrics(State(series): State<Series>) -> String {
    let now = Instant::now();
    let counters: Vec<(String, Counter)> =
        series.lock().unwrap().iter().map(|(labels, counter)| (labels.clone(), counter.until(now))).collect();
    let mut text = "# TYPE requests_total counter\n".to_owned();
    for (labels, counter) in &counters {
        writeln!(text, "requests_total{{{labels}}} {}", counter.requests).unwrap();
    }
    text.push_str("# TYPE errors_total counter\n");
    for (labels, counter) in &counters {
        writeln!(text, "errors_total{{{labels}}} {}", counter.errors).unwrap();
    }
    text
}
