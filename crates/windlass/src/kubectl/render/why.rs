//! The answer to "why is nothing happening?", in full.

use jiff::Timestamp;
use windlass_api::rollout_plugin::{PodNote, RolloutPlugin, WaitNote};
use windlass_engine::age_words;

use super::header::{remarks, unseen};
use super::judged::judged;
use super::style::{BOLD, FAINT, HELD, paint, phase_line};
use super::table::{Cell, Table, wrap};
use crate::kubectl::checks::Checks;
use crate::kubectl::picture::Rolling;

/// The phase and its message, then each wait, then each analysis that has to do with it.
pub(crate) fn why(now: Timestamp, rollout: &RolloutPlugin, checks: &Checks, columns: usize) -> String {
    let Some(status) = rollout.told() else { return unseen(rollout, columns) };
    let phase = status.phase.as_deref();
    let message = match (phase, &status.message) {
        (_, Some(message)) => Some(message.as_str()),
        (Some("Healthy"), None) => {
            Some("every pod is on the wanted revision and available; nothing is waited for")
        }
        (_, None) => None,
    };
    let mut text = wrap(&phase_line(phase, message), columns.saturating_sub(2), "  ");
    text.push('\n');
    text.extend(remarks(status).into_iter().map(|(style, label, remark)| {
        let remark = wrap(&format!("{label}: {remark}"), columns.saturating_sub(2), "  ");
        format!(
            "
{}
",
            paint(style, &remark)
        )
    }));
    for wait in &status.waits {
        text.push('\n');
        text.push_str(&one(now, wait, columns));
    }
    for block in judged(now, rollout, checks, columns) {
        text.push('\n');
        text.push_str(&block);
    }
    if !rollout.is_seen() {
        text.push('\n');
        text.push_str(&unseen(rollout, columns));
    }
    text
}

fn one(now: Timestamp, wait: &WaitNote, columns: usize) -> String {
    let person = if wait.needs_person {
        format!(" {}", paint(HELD, "(only a person can end this)"))
    } else {
        String::new()
    };
    let mut text = format!(
        "{}{person}\n  {}\n",
        paint(BOLD, &wait.reason),
        wrap(&wait.message, columns.saturating_sub(2), "  ")
    );
    if let Some(since) = &wait.since {
        text.push_str(&labelled("since:", &moment(now, since.0), columns));
    }
    text.push_str(&labelled("ends when:", &wait.ends_when, columns));
    if !wait.pods.is_empty() {
        text.push_str(&pods(now, &wait.pods));
    }
    text
}

/// A fact under a wait or an analysis.
pub(super) fn labelled(label: &str, value: &str, columns: usize) -> String {
    let label = format!("{label:<11}");
    format!("  {}{}\n", paint(FAINT, &label), wrap(value, columns.saturating_sub(13), &" ".repeat(13)))
}

fn pods(now: Timestamp, pods: &[PodNote]) -> String {
    let mut table = Table::new(&["POD", "REVISION", "STATE", "SINCE"]);
    for pod in pods {
        table.row(vec![
            Cell::new(&pod.name),
            Cell::new(pod.revision.as_deref().unwrap_or("-")),
            Cell::new(&pod.state),
            Cell::new(pod.since.as_ref().map_or_else(|| "-".to_owned(), |since| moment(now, since.0))),
        ]);
    }
    format!("\n{}", table.lines("  "))
}

/// `2m ago (2026-01-01T00:00:00Z)`.
pub(super) fn moment(now: Timestamp, at: Timestamp) -> String {
    // Nobody looks for nanoseconds.
    let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
    format!("{} ago ({whole})", age_words(at, now))
}
