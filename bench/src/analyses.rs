//! A thousand runs of analyses at once: memory, processor time, and how late measurements are. Lateness is read from what
//! is stored: from the end of one measurement and the interval to the beginning of the next.

use std::net::SocketAddr;
use std::time::Duration;

use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use windlass_api::analysis::AnalysisRun;
use windlass_bed::{Controller, User, bed, connect, until};

use crate::memory::resident;
use crate::report::Report;

const COUNT: usize = 1000;
const INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// Long enough for seven measurements of each run.
const WINDOW: Duration = Duration::from_secs(75);
const NAMESPACE: &str = "analyses";
/// Requests that are under way at the same time while the runs are made.
const AT_ONCE: usize = 16;

pub(crate) async fn measure(report: &mut Report) {
    let provider = serve().await;
    bed().kubectl_ok(User::Admin, &["create", "namespace", NAMESPACE], "");
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-analyses");
    let api: Api<AnalysisRun> = Api::namespaced(connect(User::Developer).await, NAMESPACE);
    let start = Instant::now();
    stream::iter(0..COUNT)
        .for_each_concurrent(AT_ONCE, async |number| {
            api.create(&PostParams::default(), &run(number, provider)).await.unwrap();
        })
        .await;
    let made = start.elapsed();
    let (before, since) = (processor_time(controller.pid()), Instant::now());
    until("the window is over", async || (since.elapsed() >= WINDOW).then_some(())).await;
    let used =
        processor_time(controller.pid()).saturating_sub(before).as_secs_f64() / since.elapsed().as_secs_f64();
    let memory = resident(controller.pid());
    let runs = api.list(&ListParams::default()).await.unwrap().items;
    drop(controller);
    let late = lateness(&runs);
    let worst = late.iter().max().copied().unwrap_or_default();
    let within = late.len() >= COUNT * 5 && worst < SignedDuration::from_secs(1);
    report.add(
        "1,000 AnalysisRuns at once, one measurement every 10 s: latest measurement",
        format!(
            "{} ms late (of {}; p99 {} ms); the runs were made in {:.0} s",
            worst.as_millis(),
            late.len(),
            percentile(&late, 99).as_millis(),
            made.as_secs_f64()
        ),
        "at most 1 s",
        "not measured",
        within,
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
    serde_json::from_value(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "metadata": {"name": format!("run-{number}")},
        "spec": {
            "metrics": [{
                "name": "errors", "interval": "10s", "successCondition": "result < 0.1",
                "provider": {"web": {"url": format!("http://{provider}/errors")}},
            }],
            "measurementRetention": [{"metricName": "errors", "limit": 20}],
        },
    }))
    .unwrap()
}

/// How late each measurement was; the first one of a run is due when it began.
fn lateness(runs: &[AnalysisRun]) -> Vec<SignedDuration> {
    let mut late = Vec::new();
    for status in runs.iter().filter_map(|run| run.status.as_ref()) {
        let mut due: Option<Timestamp> = status.started_at;
        for measurement in status.metric_results.iter().flat_map(|result| &result.measurements) {
            if let (Some(due), Some(started)) = (due, measurement.started_at) {
                late.push(started.duration_since(due));
            }
            due = measurement.finished_at.map(|finished| finished + INTERVAL);
        }
    }
    late.sort();
    late
}

fn percentile(sorted: &[SignedDuration], percent: usize) -> SignedDuration {
    sorted.get(sorted.len() * percent / 100).or_else(|| sorted.last()).copied().unwrap_or_default()
}

/// The time that a process has had the processor for.
fn processor_time(pid: u32) -> Duration {
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// A provider on loopback that answers every request with the same number. It ends with the program.
async fn serve() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection));
        }
    });
    address
}

async fn answer(mut connection: TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n0.01";
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = connection.read(&mut piece).await {
        request.extend_from_slice(&piece[..count]);
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            if connection.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}
