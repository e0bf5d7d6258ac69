//! The table of `list`.

use jiff::Timestamp;
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_engine::age_words;

use super::style::{phase, phase_word};
use super::table::{Cell, Table};
use crate::kubectl::picture::Rolling;

/// One row per rollout. The state stands without its symbol here, so that `awk` finds the columns.
pub(in crate::kubectl) fn list(
    now: Timestamp,
    rollouts: &[RolloutPlugin],
    namespaces: bool,
    wide: bool,
) -> String {
    let mut headings = vec!["NAME", "STATUS", "STEP", "UPDATED", "READY", "WORKLOAD", "AGE"];
    if namespaces {
        headings.insert(0, "NAMESPACE");
    }
    if wide {
        headings.push("MESSAGE");
    }
    let mut table = Table::new(&headings);
    for rollout in rollouts {
        table.row(row(now, rollout, namespaces, wide));
    }
    table.lines("")
}

fn row(now: Timestamp, rollout: &RolloutPlugin, namespaces: bool, wide: bool) -> Vec<Cell> {
    let nothing = RolloutPluginStatus::default();
    let status = rollout.told().unwrap_or(&nothing);
    let (_, style) = phase(status.phase.as_deref());
    let reference = &rollout.spec.workload_ref;
    let mut cells = vec![
        Cell::new(rollout.name()),
        Cell::styled(style, phase_word(status.phase.as_deref())),
        Cell::new(status.step.as_deref().unwrap_or("-")),
        Cell::new(of_all(status.updated_replicas, status.replicas)),
        Cell::new(of_all(status.ready_replicas, status.replicas)),
        Cell::new(format!("{}/{}", reference.kind.to_lowercase(), reference.name)),
        Cell::new(rollout.created().map_or_else(|| "-".to_owned(), |at| age_words(at, now))),
    ];
    if namespaces {
        cells.insert(0, Cell::new(rollout.namespace()));
    }
    if wide {
        cells.push(Cell::new(status.message.as_deref().unwrap_or("-")));
    }
    cells
}

fn of_all(some: Option<i32>, all: Option<i32>) -> String {
    match (some, all) {
        (Some(some), Some(all)) => format!("{some}/{all}"),
        _ => "-".to_owned(),
    }
}
