//! The picture of a run for the terminal: a row for each pod, a column for each stretch of time.

use std::fmt::Write as _;

use anstyle::Style;

use super::axis::Axis;
use super::story::{PodLife, Span, State, Story, Version};
use crate::kubectl::render::{BAD, BUSY, FAINT, GOOD, HELD, paint};

/// Columns of the picture, beside the names.
const COLUMNS: usize = 90;
/// Rows; where there are more pods, a row stands for several.
const ROWS: usize = 25;

/// How a pod is drawn.
fn look(version: Version, state: State) -> (Style, &'static str) {
    match (state, version) {
        (State::Ready, Version::Old) => (FAINT, "░"),
        (State::Ready, Version::New) => (GOOD, "█"),
        (State::Starting, _) => (BUSY, "▄"),
        (State::Going | State::Gone, _) => (HELD, "·"),
        (State::Failing, _) => (BAD, "x"),
    }
}

/// The picture, its axis and its legend.
pub(super) fn picture(story: &Story) -> String {
    let axis = Axis::of(story);
    let share = story.pods.len().div_ceil(ROWS).max(1);
    let rows: Vec<(String, &[PodLife])> = story.pods.chunks(share).map(|pods| (name(pods), pods)).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, pods) in &rows {
        let _ = writeln!(text, "{name:>width$} {}", cells(pods, &axis));
    }
    let _ = writeln!(text, "{:width$} {}", "", steps(story, &axis));
    let end = story.end.at.stamp();
    let _ = writeln!(text, "{:width$} +00:00:00{end:>room$}", "", room = COLUMNS - 9);
    text.push_str(&legend(!axis.shortened.is_empty()));
    text
}

fn name(pods: &[PodLife]) -> String {
    match pods {
        [first, .., last] => format!("{} … {}", first.name, last.name),
        [only] => only.name.clone(),
        [] => String::new(),
    }
}

fn column(place: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "places are between 0 and 1, columns are few"
    )]
    let column = (place * COLUMNS as f64) as usize;
    column.min(COLUMNS - 1)
}

/// What a row shows in each column: the worst that its pods did there, and of those that are well the older version.
fn cells(pods: &[PodLife], axis: &Axis) -> String {
    let mut shown: Vec<Option<(State, Version)>> = vec![None; COLUMNS];
    for Span { from, to, version, state } in pods.iter().flat_map(|pod| &pod.spans) {
        let (first, last) = (column(axis.place(*from)), column(axis.end(*to)));
        let end = if axis.end(*to) >= 1.0 { COLUMNS } else { last.max(first + 1) };
        for cell in &mut shown[first..end] {
            let worse = match cell {
                None => true,
                Some((before, older)) => {
                    *state > *before || (state == before && pods.len() > 1 && *older == Version::New)
                }
            };
            if worse {
                *cell = Some((*state, *version));
            }
        }
    }
    let mut text = String::new();
    for run in shown.chunk_by(|one, other| one == other) {
        match run.first() {
            Some(Some((state, version))) => {
                let (style, letter) = look(*version, *state);
                text.push_str(&paint(style, &letter.repeat(run.len())));
            }
            _ => text.push_str(&" ".repeat(run.len())),
        }
    }
    text
}

/// The number of each step where it begins, as far as there is room.
fn steps(story: &Story, axis: &Axis) -> String {
    let mut line = String::new();
    for step in &story.steps {
        let at = column(axis.place(step.at));
        let written = line.chars().count();
        if at >= written {
            line.push_str(&" ".repeat(at - written));
            line.push_str(&step.step.to_string());
        }
    }
    line
}

fn legend(shortened: bool) -> String {
    let entry = |version, state, words: &str| {
        let (style, letter) = look(version, state);
        format!("{} {words}", paint(style, letter))
    };
    let mut entries = vec![
        entry(Version::Old, State::Ready, "ready, old"),
        entry(Version::New, State::Ready, "ready, new"),
        entry(Version::New, State::Starting, "starting"),
        entry(Version::Old, State::Going, "going"),
        entry(Version::New, State::Failing, "failing"),
        "1 2 3 steps".to_owned(),
    ];
    if shortened {
        entries.push(paint(FAINT, "(long waits are drawn short)"));
    }
    format!("{}\n", entries.join("   "))
}
