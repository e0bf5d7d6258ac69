//! The pods of a workload, newest first: those that exist, and those that should.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use windlass_api::rollout_plugin::RolloutPluginStatus;
use windlass_engine::{Revision, age_words, duration_words, pod_words};
use windlass_workloads::{PodView, StatefulSetView};

use super::style::{AT_WORK, BAD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, PLAIN};
use super::table::Cell;
use crate::kubectl::picture::{Picture, Rolling};

/// One pod, in the columns of the tree: its name, then the rest.
pub(super) struct PodRow {
    pub(super) name: String,
    pub(super) rest: Vec<Cell>,
}

/// Every pod of the workload, highest ordinal first, with a row for each that is missing.
pub(super) fn pods(now: Timestamp, picture: &Picture, wide: bool) -> Vec<PodRow> {
    let set = picture.set.as_ref().map(StatefulSetView::of);
    let mut found: BTreeMap<i64, Option<&Pod>> = BTreeMap::new();
    if let Some(set) = &set {
        let first = i64::from(set.first_ordinal);
        found.extend((first..first + i64::from(set.replicas)).map(|ordinal| (ordinal, None)));
    }
    found.extend(picture.pods.iter().filter_map(|pod| Some((ordinal(pod)?, Some(pod)))));
    let row = |(ordinal, pod): (i64, Option<&Pod>)| match (pod, &set) {
        (Some(pod), set) => Some(pod_row(now, picture, set.as_ref(), pod, wide)),
        (None, Some(set)) => Some(missing(format!("{}-{ordinal}", set.name))),
        (None, None) => None,
    };
    found.into_iter().rev().filter_map(row).collect()
}

fn ordinal(pod: &Pod) -> Option<i64> {
    pod.metadata.name.as_deref()?.rsplit_once('-')?.1.parse().ok()
}

fn missing(name: String) -> PodRow {
    PodRow { name, rest: vec![Cell::styled(FAINT, format!("{AT_WORK} {}", pod_words(None)))] }
}

fn pod_row(
    now: Timestamp,
    picture: &Picture,
    set: Option<&StatefulSetView>,
    pod: &Pod,
    wide: bool,
) -> PodRow {
    let view = PodView::of(pod);
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| age_words(time.0, now));
    let mut rest = vec![
        state(now, &view, set.map_or(0, |set| set.min_ready_seconds)),
        revision(view.revision.as_ref().map(Revision::as_str), picture.rollout.told()),
        Cell::new(created.unwrap_or_default()),
    ];
    if wide {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let ready = view.ready_since.map(|since| age_words(since, now));
        rest.push(Cell::new(node.unwrap_or_else(|| "-".to_owned())));
        rest.push(Cell::new(view.uid.as_str().chars().take(8).collect::<String>()));
        rest.push(Cell::new(ready.unwrap_or_else(|| "-".to_owned())));
    }
    PodRow { name: view.name.to_string(), rest }
}

/// What a pod does, in the words that `kubectl get pods` has for it.
fn state(now: Timestamp, pod: &PodView, min_ready_seconds: i32) -> Cell {
    if pod.terminating_since.is_some() {
        return Cell::styled(HELD, format!("{AT_WORK} Terminating"));
    }
    let Some(since) = pod.ready_since else {
        let trouble = pod.trouble.as_deref().unwrap_or("NotReady");
        let waits = matches!(trouble, "Pending" | "ContainerCreating" | "PodInitializing" | "NotReady");
        let (symbol, style) = if waits { (AT_WORK, BUSY) } else { (FAILED, BAD) };
        return Cell::styled(style, format!("{symbol} {trouble}"));
    };
    let left = SignedDuration::from_secs(i64::from(min_ready_seconds)) - now.duration_since(since);
    if left.is_positive() {
        return Cell::styled(BUSY, format!("{AT_WORK} Ready, available in {}", duration_words(left)));
    }
    Cell::styled(GOOD, format!("{DONE} Ready"))
}

fn revision(revision: Option<&str>, status: Option<&RolloutPluginStatus>) -> Cell {
    let Some(revision) = revision else { return Cell::styled(FAINT, "none") };
    let stable = status.and_then(|status| status.current_revision.as_deref()) == Some(revision);
    let target = status.and_then(|status| status.updated_revision.as_deref()) == Some(revision);
    let (style, mark) = match (stable, target) {
        (true, true) => (PLAIN, ""),
        (true, false) => (PLAIN, " stable"),
        (false, true) => (BUSY, " target"),
        (false, false) if status.is_none() => (PLAIN, ""),
        (false, false) => (HELD, " other"),
    };
    Cell::styled(style, revision).and(style, mark)
}
