//! The head of `get`: what a person wants to know first.

use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};

use super::style::{BAD, BOLD, FAINT, HELD, paint, phase_words};
use super::table::{fact, wrap};
use crate::kubectl::picture::{Picture, Rolling};

/// The head: one line per fact, and what is wrong with the resource itself.
pub(super) fn header(picture: &Picture, columns: usize) -> String {
    let rollout = &picture.rollout;
    let mut text = String::new();
    let mut fact = |label: &str, value: String| text.push_str(&fact(label, &value, columns));
    fact("Name", paint(BOLD, rollout.name()));
    fact("Namespace", rollout.namespace().to_owned());
    fact("Workload", rollout.workload_words());
    let status = rollout.told();
    fact("Status", phase_words(status.and_then(|status| status.phase.as_deref())));
    let Some(status) = status else {
        text.push('\n');
        text.push_str(&unseen(rollout, columns));
        return text;
    };
    if let Some(step) = &status.step {
        fact("Step", step.clone());
    }
    revisions(picture, status, &mut fact);
    if status.replicas.is_some() {
        fact("Replicas", replicas(status));
    }
    if let Some(message) = &status.message {
        fact("Message", message.clone());
    }
    for (style, label, message) in remarks(status) {
        fact(label, paint(style, message));
    }
    if !rollout.is_seen() {
        text.push('\n');
        text.push_str(&unseen(rollout, columns));
    }
    text
}

fn revisions(picture: &Picture, status: &RolloutPluginStatus, fact: &mut impl FnMut(&str, String)) {
    if let Some(stable) = &status.current_revision {
        fact("Stable", described(picture, stable));
    }
    if let Some(target) = &status.updated_revision {
        fact("Target", described(picture, target));
    }
}

fn described(picture: &Picture, revision: &str) -> String {
    let images = picture.images(revision);
    if images.is_empty() { revision.to_owned() } else { format!("{revision} ({})", images.join(", ")) }
}

/// Stable and target in one line.
pub(super) fn versions(picture: &Picture) -> String {
    let status = picture.rollout.told();
    let named = |label, revision: Option<&String>| {
        revision.map(|revision| format!("{} {}", paint(FAINT, label), described(picture, revision)))
    };
    let stable = named("Stable:", status.and_then(|status| status.current_revision.as_ref()));
    let target = named("Target:", status.and_then(|status| status.updated_revision.as_ref()));
    [stable, target].into_iter().flatten().collect::<Vec<_>>().join("   ")
}

fn replicas(status: &RolloutPluginStatus) -> String {
    let number = |count: Option<i32>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!(
        "{} wanted, {} updated, {} ready, {} available",
        number(status.replicas),
        number(status.updated_replicas),
        number(status.ready_replicas),
        number(status.available_replicas)
    )
}

/// What the conditions say beyond the message.
pub(super) fn remarks(status: &RolloutPluginStatus) -> Vec<(anstyle::Style, &'static str, &str)> {
    let kinds = [
        (BAD, "InvalidSpec", "Invalid", "True"),
        (HELD, "UnguardedUpdate", "Unguarded", "True"),
        (HELD, "HoldGuarded", "Hold", "False"),
        (HELD, "SpecWarning", "Warning", "True"),
    ];
    let said = |(style, type_, label, worth_telling)| {
        let condition = status.condition(type_).filter(|condition| condition.status == worth_telling)?;
        Some((style, label, condition.message.as_str()))
    };
    // The message of an invalid specification says the same already.
    kinds.into_iter().filter_map(said).filter(|(_, _, text)| !repeats(status, text)).collect()
}

fn repeats(status: &RolloutPluginStatus, text: &str) -> bool {
    status.message.as_deref().is_some_and(|message| message.ends_with(text))
}

/// For a rollout that nobody has looked at, or not at its latest change.
pub(super) fn unseen(rollout: &RolloutPlugin, columns: usize) -> String {
    let said = match rollout.told() {
        None => "No controller has looked at this rollout yet.",
        Some(_) => {
            "No controller has looked at the latest change of this rollout yet; what is shown may be old."
        }
    };
    let check =
        "Is `windlass controller` running, and may it read this namespace? Its log says what it does.";
    format!("{}\n{}\n", paint(HELD, &wrap(said, columns, "")), wrap(check, columns, ""))
}
