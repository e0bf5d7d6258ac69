//! A thousand runs of analyses at once: memory, processor time, and how late measurements are. Lateness is what the
//! provider sees: how much later than the interval after the last question the next one comes, and, at the end, how long
//! each run has been owing one. Nothing that the controller says of itself is believed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use windlass_api::analysis::AnalysisRun;
use windlass_bed::{Controller, User, bed, connect, until};

use crate::memory::resident;
use crate::report::Report;

const COUNT: usize = 1000;
const INTERVAL: Duration = Duration::from_secs(10);
/// Long enough for seven measurements of each run after the last one was made.
const WINDOW: Duration = Duration::from_secs(75);
const LEAST_OF_EACH: usize = 7;
const LATEST: Duration = Duration::from_secs(1);
const NAMESPACE: &str = "analyses";
/// Requests that are under way at the same time while the runs are made.
const AT_ONCE: usize = 16;

/// When each run was made, and then when it asked.
type Moments = Arc<Mutex<BTreeMap<String, Vec<Instant>>>>;

pub(crate) async fn measure(report: &mut Report) {
    let moments = Moments::default();
    let provider = serve(Arc::clone(&moments)).await;
    bed().kubectl_ok(User::Admin, &["create", "namespace", NAMESPACE], "");
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-analyses");
    let api: Api<AnalysisRun> = Api::namespaced(connect(User::Developer).await, NAMESPACE);
    let start = Instant::now();
    stream::iter(0..COUNT)
        .for_each_concurrent(AT_ONCE, async |number| {
            let run = run(number, provider);
            note(&moments, run.metadata.name.as_deref().unwrap());
            api.create(&PostParams::default(), &run).await.unwrap();
        })
        .await;
    let made = start.elapsed();
    let (before, since) = (processor_time(controller.pid()), Instant::now());
    until("the window is over", async || (since.elapsed() >= WINDOW).then_some(())).await;
    let used =
        processor_time(controller.pid()).saturating_sub(before).as_secs_f64() / since.elapsed().as_secs_f64();
    let memory = resident(controller.pid());
    let found = Found::of(&moments.lock().unwrap(), Instant::now());
    drop(controller);
    report.add(
        "1,000 AnalysisRuns at once, one measurement every 10 s: latest measurement, seen by the provider",
        format!(
            "{} ms late (of {}; p99 {} ms, median {} ms), at least {} of each run; made in {:.0} s",
            found.late.last().copied().unwrap_or_default().as_millis(),
            found.late.len(),
            found.percentile(99).as_millis(),
            found.percentile(50).as_millis(),
            found.least,
            made.as_secs_f64()
        ),
        "at most 1 s",
        "not measured",
        found.least >= LEAST_OF_EACH && found.late.last().is_some_and(|latest| *latest <= LATEST),
    );
    report.add(
        "the same: resident memory and processor time of the controller",
        format!("{memory:.0} MB, {:.0} % of one core", used * 100.0),
        "under 100 MB",
        "not measured",
        memory < 100.0,
    );
    let gone = ["delete", "namespace", NAMESPACE, "--wait=true", "--timeout=300s"];
    bed().kubectl_ok(User::Admin, &gone, "");
}

fn run(number: usize, provider: SocketAddr) -> AnalysisRun {
    let name = format!("run-{number}");
    serde_json::from_value(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "metadata": {"name": name},
        "spec": {
            "metrics": [{
                "name": "errors", "interval": "10s", "successCondition": "result < 0.1",
                "provider": {"web": {"url": format!("http://{provider}/{name}")}},
            }],
        },
    }))
    .unwrap()
}

fn note(moments: &Moments, run: &str) {
    moments.lock().unwrap().entry(run.to_owned()).or_default().push(Instant::now());
}

/// What the provider saw.
struct Found {
    /// How late each measurement was, those that are still owed included; the first one is due when the run is made.
    late: Vec<Duration>,
    /// The fewest measurements of a run.
    least: usize,
}

impl Found {
    fn of(moments: &BTreeMap<String, Vec<Instant>>, now: Instant) -> Self {
        let mut late = Vec::new();
        for moments in moments.values() {
            let mut due = moments.first().copied();
            for asked in moments.iter().skip(1) {
                late.extend(due.map(|due| asked.saturating_duration_since(due)));
                due = Some(*asked + INTERVAL);
            }
            late.extend(due.map(|due| now.saturating_duration_since(due)));
        }
        late.sort();
        Self { late, least: moments.values().map(|moments| moments.len() - 1).min().unwrap_or_default() }
    }

    fn percentile(&self, percent: usize) -> Duration {
        let at = self.late.len() * percent / 100;
        self.late.get(at).or_else(|| self.late.last()).copied().unwrap_or_default()
    }
}

/// The time that a process has had the processor for.
fn processor_time(pid: u32) -> Duration {
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// A provider on loopback that notes who asks, and answers every request with the same number. It ends with the program.
async fn serve(moments: Moments) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection, Arc::clone(&moments)));
        }
    });
    address
}

async fn answer(mut connection: TcpStream, moments: Moments) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n0.01";
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = connection.read(&mut piece).await {
        request.extend_from_slice(&piece[..count]);
        if request.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&request);
            let path = text.split_whitespace().nth(1).unwrap_or_default();
            note(&moments, path.trim_start_matches('/'));
            request.clear();
            if connection.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}
