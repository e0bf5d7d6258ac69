//! From "the last pod of a step is available" to "the next partition is written", for one rollout at a time.

use jiff::Timestamp;
use windlass_bed::audit::{self, Request};
use windlass_bed::{Controller, bed};

use crate::fleet::{Fleet, name, updated};
use crate::report::Report;

/// Runs of five steps: four gaps each.
const RUNS: usize = 40;

pub(crate) async fn measure(report: &mut Report) {
    let log = bed().audit_log.clone().unwrap();
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-latency");
    let fleet = Fleet::new("latency", 1).await;
    fleet.add_rollouts().await;
    let mut gaps = Vec::new();
    for run in 0..RUNS {
        let start = audit::position(&log);
        fleet.change(&format!("app:v{}", run + 2)).await;
        until_completed(&fleet).await;
        let requests = complete_log(&log, start).await;
        gaps.extend(gaps_of(&requests));
    }
    gaps.sort_by(f64::total_cmp);
    let (median, p99) = (percentile(&gaps, 50), percentile(&gaps, 99));
    let count = gaps.len();
    report.add(
        "last pod of a step available → next partition written, median",
        format!("{median:.1} ms (of {count})"),
        "under 10 ms",
        "17 ms / 4.1 s",
        median < 10.0 && count >= RUNS * 3,
    );
    report.add(
        "the same, 99th percentile",
        format!("{p99:.1} ms"),
        "under 100 ms",
        "1.0 s / 6.1 s",
        p99 < 100.0,
    );
    drop(controller);
    fleet.end();
}

/// Both the set and its rollout say that it is done.
async fn until_completed(fleet: &Fleet) {
    fleet.until_sets("the set is updated", |set| updated(set) == Some(true)).await;
    fleet
        .until_sets("the mark is off", |set| {
            !set.metadata.annotations.as_ref().is_some_and(|marks| marks.contains_key("windlass.sh/held"))
        })
        .await;
}

/// The log lags by its batch: wait until the last write of the run, which takes the mark off, is in it.
async fn complete_log(log: &std::path::Path, start: u64) -> Vec<Request> {
    windlass_bed::until("the audit log has the whole run", async || {
        let requests = audit::since(log, start);
        (partition_writes(&requests).len() >= 6).then_some(requests)
    })
    .await
}

fn partition_writes(requests: &[Request]) -> Vec<Timestamp> {
    let mut writes: Vec<Timestamp> = requests
        .iter()
        .filter(|request| {
            request.is_windlass()
                && request.is_done()
                && request.verb == "patch"
                && request.object().resource == "statefulsets"
        })
        .map(|request| request.stage_timestamp)
        .collect();
    writes.sort_unstable();
    writes
}

/// For each step but the last: the time from the status write that made its pod ready to the next partition write.
fn gaps_of(requests: &[Request]) -> Vec<f64> {
    let writes = partition_writes(requests);
    let mut gaps = Vec::new();
    for (step, pair) in writes.windows(2).take(4).enumerate() {
        let pod = format!("{}-{}", name(0), 4 - step);
        let ready = requests
            .iter()
            .filter(|request| {
                let object = request.object();
                object.resource == "pods" && object.subresource == "status" && object.name == pod
            })
            .map(|request| request.stage_timestamp)
            .filter(|at| *at > pair[0] && *at < pair[1])
            .max();
        if let Some(ready) = ready {
            gaps.push(pair[1].duration_since(ready).as_secs_f64() * 1000.0);
        }
    }
    gaps
}

pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len().max(1));
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}
