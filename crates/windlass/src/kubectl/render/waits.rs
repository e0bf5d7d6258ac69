//! What is waited for, under the tree.

use jiff::Timestamp;
use windlass_api::rollout_plugin::{PodNote, RolloutPlugin, WaitNote};
use windlass_engine::age_words;

use super::style::{BAD, BOLD, FAINT, HELD, paint};
use super::table::wrap;
use crate::kubectl::picture::Rolling;

/// The waits, each with its age, its pods and its end; empty when there are none.
pub(super) fn waiting(now: Timestamp, rollout: &RolloutPlugin, columns: usize) -> String {
    let waits = rollout.told().map(|status| status.waits.as_slice()).unwrap_or_default();
    if waits.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint(BOLD, "Waiting for:"));
    for wait in waits {
        text.push_str(&one(now, wait, columns));
    }
    text
}

fn one(now: Timestamp, wait: &WaitNote, columns: usize) -> String {
    let bullet = if wait.needs_person { paint(HELD, "!") } else { "-".to_owned() };
    let since = wait.since.as_ref().map(|since| format!(" (for {})", age_words(since.0, now)));
    let message = format!("{}{}", wait.message, since.unwrap_or_default());
    let mut text = format!("  {bullet} {}\n", wrap(&message, columns.saturating_sub(4), "    "));
    text.extend(wait.pods.iter().map(|pod| format!("      {}\n", pod_words(now, pod))));
    let ends = format!("ends when: {}", wait.ends_when);
    let ends = paint(FAINT, &wrap(&ends, columns.saturating_sub(4), "    "));
    format!("{text}    {ends}\n")
}

fn pod_words(now: Timestamp, pod: &PodNote) -> String {
    let since = pod.since.as_ref().map(|since| format!(" for {}", age_words(since.0, now)));
    let revision = pod.revision.as_ref().map(|revision| format!(", on {revision}"));
    let state = paint(BAD, &pod.state);
    format!("{} {state}{}{}", pod.name, since.unwrap_or_default(), revision.unwrap_or_default())
}
