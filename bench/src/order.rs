//! Whether any step was left too early, or any pod got ahead, with pods that take their time.

use windlass_bed::{Controller, History};

use crate::fleet::{Fleet, updated};
use crate::report::Report;

/// Rollouts with pods that take two seconds to get ready.
const SLOW: usize = 12;

pub(crate) async fn measure(report: &mut Report) {
    let controller = Controller::start_with(&["--listen", "none", "--leader-elect=false"], "bench-order");
    let fleet = Fleet::new("slow", SLOW).await;
    fleet.add_rollouts().await;
    let history = History::start(&fleet.client, &fleet.namespace).await;
    fleet.change("app:v2-slow").await;
    fleet.until_sets("every set is updated", |set| updated(set) == Some(true)).await;
    let faults = history.faults();
    report.add(
        "with pods that take 2 s to get ready: steps left early, pods ahead",
        format!("{} and {} in {SLOW} rollouts ({} steps)", faults.early, faults.ahead, faults.steps),
        "none",
        "12 of 12 rollouts left a step early / none",
        faults.early == 0 && faults.ahead == 0 && faults.steps >= SLOW * 4,
    );
    drop(controller);
    fleet.end();
}
