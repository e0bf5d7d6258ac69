//! The tree of `get`: the rollout, its steps, its workload, its pods.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use windlass_engine::age_words;
use windlass_workloads::{HOLD, StatefulSetView, UpdateStrategy};

use super::pods::{PodRow, pods};
use super::steps::steps;
use super::style::{BAD, BOLD, FAILED, FAINT, PLAIN, phase, phase_word};
use super::table::{Cell, Table};
use crate::kubectl::picture::{Picture, Rolling};

/// The tree, in columns.
pub(super) fn tree(now: Timestamp, picture: &Picture, wide: bool) -> String {
    let mut headings = vec!["NAME", "STATE", "REVISION", "AGE"];
    if wide {
        headings.extend(["NODE", "UID", "READY FOR"]);
    }
    let mut table = Table::new(&headings);
    table.row(root(now, picture));
    let steps = steps(now, &picture.rollout);
    if !steps.is_empty() {
        table.row(vec![branch(&[], false).and(PLAIN, "Steps")]);
    }
    let last = steps.len().saturating_sub(1);
    for (index, mut cells) in steps.into_iter().enumerate() {
        if let Some(name) = cells.first_mut() {
            *name = branch(&[false], index == last).with(std::mem::take(name));
        }
        table.row(cells);
    }
    table.row(workload(now, picture));
    let pods = pods(now, picture, wide);
    let last = pods.len().saturating_sub(1);
    for (index, PodRow { name, rest }) in pods.into_iter().enumerate() {
        let mut cells = vec![branch(&[true], index == last).and(PLAIN, name)];
        cells.extend(rest);
        table.row(cells);
    }
    table.lines("")
}

fn root(now: Timestamp, picture: &Picture) -> Vec<Cell> {
    let rollout = &picture.rollout;
    let told = rollout.told().and_then(|status| status.phase.as_deref());
    let (symbol, style) = phase(told);
    vec![
        Cell::styled(BOLD, format!("RolloutPlugin {}", rollout.name())),
        Cell::styled(style, format!("{symbol} {}", phase_word(told))),
        Cell::default(),
        Cell::new(rollout.created().map(|at| age_words(at, now)).unwrap_or_default()),
    ]
}

fn workload(now: Timestamp, picture: &Picture) -> Vec<Cell> {
    let name = branch(&[], true).and(PLAIN, picture.rollout.workload_words());
    let Some(set) = &picture.set else {
        // Nothing but StatefulSets was looked for.
        let known = picture.rollout.spec.workload_ref.kind == "StatefulSet";
        let state = if known {
            Cell::styled(BAD, format!("{FAILED} not found"))
        } else {
            Cell::styled(FAINT, "? not looked at")
        };
        return vec![name, state];
    };
    let created = set.metadata.creation_timestamp.as_ref().map(|time| age_words(time.0, now));
    vec![name, Cell::new(hold_words(set)), Cell::default(), Cell::new(created.unwrap_or_default())]
}

/// How the workload is set.
fn hold_words(set: &StatefulSet) -> String {
    let view = StatefulSetView::of(set);
    match view.strategy {
        UpdateStrategy::OnDelete => "OnDelete".to_owned(),
        UpdateStrategy::RollingUpdate { partition: HOLD, .. } => "holds all".to_owned(),
        UpdateStrategy::RollingUpdate { partition, .. } => format!("partition {partition}"),
    }
}

/// The lines that lead to a node: one flag per level above it (was that the last branch?), and for itself.
fn branch(above: &[bool], last: bool) -> Cell {
    let lines: String = above.iter().map(|last| if *last { "   " } else { "│  " }).collect();
    Cell::styled(FAINT, format!("{lines}{}", if last { "└─ " } else { "├─ " }))
}
