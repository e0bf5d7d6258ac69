//! The answer to "why is nothing happening?", in full.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use windlass_api::rollout_plugin::{PodNote, RolloutPlugin, WaitNote};
use windlass_engine::age_words;

use super::WIDTH;
use super::header::{remarks, unseen};
use super::style::{BOLD, FAINT, HELD, paint, phase_line};
use super::table::{Cell, Table, wrap};
use crate::kubectl::picture::Rolling;

/// The phase and its message, then each wait.
pub(crate) fn why(now: Timestamp, rollout: &RolloutPlugin) -> String {
    let Some(status) = rollout.told() else { return unseen(rollout) };
    let phase = status.phase.as_deref();
    let message = match (phase, &status.message) {
        (_, Some(message)) => Some(message.as_str()),
        (Some("Healthy"), None) => {
            Some("every pod is on the wanted revision and available; nothing is waited for")
        }
        (_, None) => None,
    };
    let mut text = wrap(&phase_line(phase, message), WIDTH, "  ");
    text.push('\n');
    text.extend(remarks(status).into_iter().map(|(style, label, remark)| {
        let remark = wrap(&format!("{label}: {remark}"), WIDTH, "  ");
        format!(
            "
{}
",
            paint(style, &remark)
        )
    }));
    for wait in &status.waits {
        text.push('\n');
        text.push_str(&one(now, wait));
    }
    if !rollout.is_seen() {
        text.push('\n');
        text.push_str(&unseen(rollout));
    }
    text
}

fn one(now: Timestamp, wait: &WaitNote) -> String {
    let person = if wait.needs_person {
        format!(" {}", paint(HELD, "(only a person can end this)"))
    } else {
        String::new()
    };
    let mut text =
        format!("{}{person}\n  {}\n", paint(BOLD, &wait.reason), wrap(&wait.message, WIDTH - 2, "  "));
    let mut fact = |label: &str, value: &str| {
        let label = format!("{label:<11}");
        let line = format!(
            "  {}{}
",
            paint(FAINT, &label),
            wrap(value, WIDTH - 13, &" ".repeat(13))
        );
        text.push_str(&line);
    };
    if let Some(since) = &wait.since {
        fact("since:", &moment(now, since));
    }
    fact("ends when:", &wait.ends_when);
    if !wait.pods.is_empty() {
        text.push_str(&pods(now, &wait.pods));
    }
    text
}

fn pods(now: Timestamp, pods: &[PodNote]) -> String {
    let mut table = Table::new(&["POD", "REVISION", "STATE", "SINCE"]);
    for pod in pods {
        table.row(vec![
            Cell::new(&pod.name),
            Cell::new(pod.revision.as_deref().unwrap_or("-")),
            Cell::new(&pod.state),
            Cell::new(pod.since.as_ref().map_or_else(|| "-".to_owned(), |since| moment(now, since))),
        ]);
    }
    format!("\n{}", table.lines("  "))
}

/// `2m ago (2026-01-01T00:00:00Z)`.
fn moment(now: Timestamp, at: &Time) -> String {
    format!("{} ago ({})", age_words(at.0, now), at.0)
}
