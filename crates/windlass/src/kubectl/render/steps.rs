//! The steps of a rollout, and how far they are.

use anstyle::Style;
use jiff::Timestamp;
use serde_json::Value;
use windlass_api::Front;
use windlass_api::rollout_plugin::{RolloutPlugin, Step};
use windlass_engine::{Hold, duration_words};

use super::style::{AT_WORK, BAD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, PAUSED, PLAIN, TO_COME};
use super::table::Cell;
use crate::kubectl::picture::Rolling;

/// One row per step: what it is, and how long a pause that is on still takes.
pub(super) fn steps(now: Timestamp, rollout: &RolloutPlugin) -> Vec<Vec<Cell>> {
    let plan = rollout.asked().plan.ok();
    let hold =
        |index: usize| plan.as_ref().and_then(|plan| plan.stages.get(index)).and_then(|stage| stage.hold);
    let steps = rollout.spec.strategy.canary.iter().flat_map(|canary| &canary.steps);
    let cell = |(index, step): (usize, &Step)| {
        let (symbol, style) = progress(rollout, index);
        let text = Cell::styled(style, symbol);
        let words = format!(" {}", words(step, hold(index)));
        let text = text.and(if symbol == TO_COME { FAINT } else { PLAIN }, words);
        let left = if symbol == PAUSED { left(now, rollout, hold(index)) } else { None };
        vec![text, left.map(|left| Cell::styled(HELD, left)).unwrap_or_default()]
    };
    steps.enumerate().map(cell).collect()
}

/// Each step in words, in the order of the plan.
pub(crate) fn step_words(rollout: &RolloutPlugin) -> Vec<String> {
    let plan = rollout.asked().plan.ok();
    let steps = rollout.spec.strategy.canary.iter().flat_map(|canary| &canary.steps);
    let hold = |index: usize| plan.as_ref()?.stages.get(index)?.hold;
    steps.enumerate().map(|(index, step)| words(step, hold(index))).collect()
}

/// How long a timed pause still takes.
fn left(now: Timestamp, rollout: &RolloutPlugin, hold: Option<Hold>) -> Option<String> {
    let since = rollout.told()?.pause_conditions.as_ref()?.first()?.start_time.0;
    let Hold::For(duration) = hold? else { return None };
    Some(format!("{} left", duration_words(duration - now.duration_since(since))))
}

/// How far a step is. An aborted rollout shows where it was left.
fn progress(rollout: &RolloutPlugin, index: usize) -> (&'static str, Style) {
    let Some(status) = rollout.told() else { return (TO_COME, FAINT) };
    let current = status.current_step_index.and_then(|current| usize::try_from(current).ok());
    match current {
        Some(current) if index < current => (DONE, GOOD),
        Some(current) if index == current => match status.phase.as_deref() {
            _ if status.aborted => (FAILED, BAD),
            Some("Paused") => (PAUSED, HELD),
            Some("Degraded") => (AT_WORK, BAD),
            _ if status.controller_pause => (PAUSED, HELD),
            _ => (AT_WORK, BUSY),
        },
        _ => (TO_COME, FAINT),
    }
}

/// A step as its author would say it; one with several things in it is wrong, and shows them all.
fn words(step: &Step, hold: Option<Hold>) -> String {
    let weight = step.set_weight.map(|weight| format!("setWeight {weight}"));
    let pause = step.pause.as_ref().map(|pause| match (hold, &pause.duration) {
        (Some(Hold::For(duration)), _) => format!("pause {}", duration_words(duration)),
        (_, None) => "pause until promoted".to_owned(),
        (_, Some(Value::String(duration))) => format!("pause {duration}"),
        (_, Some(duration)) => format!("pause {duration}"),
    });
    let analysis = step.analysis.as_ref().map(|analysis| {
        let names: Vec<&str> = analysis.templates.iter().map(|it| it.template_name.as_str()).collect();
        format!("analysis {}", names.join(", ")).trim_end().to_owned()
    });
    let known = [weight, pause, analysis].into_iter().flatten();
    let things: Vec<String> = known.chain(step.other.keys().cloned()).collect();
    if things.is_empty() { "empty step".to_owned() } else { things.join(" + ") }
}
