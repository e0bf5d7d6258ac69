//! Two hundred rollouts at once, beside the same update without any rollout, in the same run.

use std::time::Duration;

use tokio::time::Instant;
use windlass_bed::audit;
use windlass_bed::{Controller, History, bed};

use crate::fleet::{Fleet, updated};
use crate::report::Report;

const COUNT: usize = 200;

pub(crate) async fn measure(report: &mut Report) {
    let fleet = Fleet::new("herd", COUNT).await;
    // The control plane gets slower as its history grows, so the StatefulSet controller alone is measured before and
    // after, and the mean counts.
    let before = native(&fleet, "app:v2").await;
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-herd");
    fleet.add_rollouts().await;
    let log = bed().audit_log.clone().unwrap();
    let from = quiet_position(&log).await;
    let history = History::start(&fleet.client, &fleet.namespace).await;
    let start = Instant::now();
    fleet.change("app:v3").await;
    until_all_healthy(&fleet).await;
    let took = start.elapsed();
    quiet_position(&log).await;
    judge_requests(report, &log, from);
    judge_order(report, &history);
    drop(history);
    fleet.remove_rollouts().await;
    drop(controller);
    let after = native(&fleet, "app:v4").await;
    judge_time(report, before, after, took);
    fleet.end();
}

fn judge_order(report: &mut Report, history: &History) {
    let faults = history.faults();
    report.add(
        "200 at once: steps left early, pods ahead",
        format!("{} and {} ({} steps)", faults.early, faults.ahead, faults.steps),
        "none",
        "18 of 200 rollouts had too many new pods / none",
        faults.early == 0 && faults.ahead == 0,
    );
}

/// The StatefulSet controller alone.
async fn native(fleet: &Fleet, image: &str) -> Duration {
    // Watched like the run with rollouts, so that watching costs both the same.
    let _watched = History::start(&fleet.client, &fleet.namespace).await;
    let start = Instant::now();
    fleet.change(image).await;
    fleet.until_sets("every set is updated", |set| updated(set) == Some(true)).await;
    start.elapsed()
}

async fn until_all_healthy(fleet: &Fleet) {
    fleet.until_sets("every set is updated", |set| updated(set) == Some(true)).await;
    fleet
        .until_rollouts("every rollout is Healthy again", |rollout| {
            let status = rollout.status.as_ref();
            status.and_then(|status| status.phase.as_deref()) == Some("Healthy")
                && status.and_then(|status| status.current_step_index) == Some(5)
        })
        .await;
}

/// The end of the log once the controller has been silent for a second.
async fn quiet_position(log: &std::path::Path) -> u64 {
    let mut last = (audit::position(log), Instant::now());
    let mut seen = last.0;
    windlass_bed::until("the controller is silent", async || {
        let now = audit::position(log);
        if audit::since(log, seen).iter().any(|request| request.is_windlass() && request.is_write()) {
            last = (now, Instant::now());
        }
        seen = now;
        (last.1.elapsed() > Duration::from_secs(1)).then_some(now)
    })
    .await
}

fn judge_time(report: &mut Report, before: Duration, after: Duration, took: Duration) {
    let (before, after, took) = (before.as_secs_f64(), after.as_secs_f64(), took.as_secs_f64());
    let ratio = took / f64::midpoint(before, after);
    report.add(
        "200 rollouts at once, beside the StatefulSet controller alone",
        format!("{took:.1} s, {ratio:.2} times ({before:.1} s before, {after:.1} s after)"),
        "at most 1.5 times",
        "95 s, 7.5 times / 592 s, 47 times",
        ratio <= 1.5,
    );
}

fn judge_requests(report: &mut Report, log: &std::path::Path, from: u64) {
    let requests: Vec<_> = audit::since(log, from).into_iter().filter(audit::Request::is_windlass).collect();
    let writes: Vec<_> = requests.iter().filter(|request| request.is_write()).collect();
    let reads = requests.iter().filter(|request| matches!(request.verb.as_str(), "get" | "list")).count();
    let kind = |resource: &str, subresource: &str| {
        writes
            .iter()
            .filter(|request| {
                request.object().resource == resource && request.object().subresource == subresource
            })
            .count()
    };
    let per = |count: usize| {
        f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / f64::from(u32::try_from(COUNT).unwrap())
    };
    let found = format!(
        "{:.1} (status {:.1}, workload {:.1}, events {:.1})",
        per(writes.len()),
        per(kind("rolloutplugins", "status")),
        per(kind("statefulsets", "")),
        per(kind("events", "")),
    );
    let enough = !writes.is_empty() && per(writes.len()) <= 16.0;
    report.add("writes per rollout, events included", found, "at most 16", "20 to 34 / 120 to 175", enough);
    report.add("reads per rollout", format!("{:.1}", per(reads)), "none", "0 / 2", reads == 0);
}
