//! Resident memory, and silence, with a thousand Healthy rollouts.

use std::time::Duration;

use tokio::time::Instant;
use windlass_bed::audit;
use windlass_bed::{Controller, bed};

use crate::fleet::Fleet;
use crate::report::Report;

const COUNT: usize = 1000;
const SILENCE: Duration = Duration::from_secs(30);

pub(crate) async fn measure(report: &mut Report) {
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-memory");
    let fleet = Fleet::new("memory", COUNT).await;
    fleet.add_rollouts().await;
    let log = bed().audit_log.clone().unwrap();
    let grown = resident(controller.pid());
    // A fresh process lists everything at once: the other way to a thousand rollouts.
    drop(controller);
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-memory");
    windlass_bed::until("the fresh controller has listed everything", async || {
        let text = std::fs::read_to_string(&controller.log).unwrap_or_default();
        (text.matches("caches are filled").count() >= 2).then_some(())
    })
    .await;
    let start = (audit::position(&log), Instant::now());
    windlass_bed::until("the window is over", async || (start.1.elapsed() >= SILENCE).then_some(())).await;
    let writes = audit::since(&log, start.0)
        .iter()
        .filter(|request| request.is_windlass() && request.is_write())
        .count();
    let fresh = resident(controller.pid());
    report.add(
        "resident memory with 1,000 Healthy rollouts of 5 pods",
        format!("{fresh:.0} MB freshly started, {grown:.0} MB after making them"),
        "under 50 MB",
        "118 MB / 135 MB",
        fresh < 50.0 && grown < 50.0,
    );
    report.add("writes in 30 s at rest", writes.to_string(), "none", "0 / some", writes == 0);
    drop(controller);
    fleet.end();
}

/// The resident set of a process, in MB (10^6 bytes).
pub(crate) fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap();
    kib * 1024.0 / 1_000_000.0
}
