//! The picture of a run for the terminal: a row for each pod, a column for each stretch of time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;

use super::analyses::Analysis;
use super::axis::Axis;
use super::story::{PodLife, Span, State, Story, Version};
use crate::kubectl::render::{BAD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, paint};

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
    let measured = measured(story, &axis);
    let names = rows.iter().map(|(name, _)| name).chain(measured.iter().map(|(name, _)| name));
    let width = names.map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, pods) in &rows {
        let _ = writeln!(text, "{name:>width$} {}", cells(pods, &axis));
    }
    for (name, cells) in &measured {
        let _ = writeln!(text, "{name:>width$} {}", cells.trim_end());
    }
    let _ = writeln!(text, "{:width$} {}", "", steps(story, &axis));
    let end = story.end.at.stamp();
    let _ = writeln!(text, "{:width$} +00:00:00{end:>room$}", "", room = COLUMNS - 9);
    text.push_str(&legend(!axis.shortened.is_empty(), !measured.is_empty()));
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

/// A row for each place where something is measured, with what it came to at its end.
fn measured(story: &Story, axis: &Axis) -> Vec<(String, String)> {
    let mut rows: BTreeMap<Option<usize>, Vec<&Analysis>> = BTreeMap::new();
    for analysis in &story.analyses {
        rows.entry(analysis.step).or_default().push(analysis);
    }
    let row = |(step, analyses): (Option<usize>, Vec<&Analysis>)| {
        let name = step.map_or_else(|| "background".to_owned(), |step| format!("analysis {step}"));
        let mut cells: Vec<Option<(Style, &str)>> = vec![None; COLUMNS];
        for analysis in analyses {
            let (first, last) = (column(axis.place(analysis.from)), column(axis.end(analysis.to)));
            cells[first..=last.max(first)].fill(Some(MEASURES));
            if let Some(verdict) = &analysis.verdict {
                cells[last.max(first)] = Some(verdict_look(verdict));
            }
        }
        let shown = cells
            .iter()
            .map(|cell| cell.map_or_else(|| " ".to_owned(), |(style, letter)| paint(style, letter)));
        (name, shown.collect::<String>())
    };
    rows.into_iter().map(row).collect()
}

/// How measuring is drawn.
const MEASURES: (Style, &str) = (BUSY, "-");

fn verdict_look(verdict: &str) -> (Style, &'static str) {
    match verdict {
        "Successful" => (GOOD, DONE),
        "Failed" => (BAD, FAILED),
        _ => (HELD, "?"),
    }
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

fn legend(shortened: bool, measured: bool) -> String {
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
    let mut legend = format!("{}\n", entries.join("   "));
    if measured {
        let verdict = |verdict, words: &str| {
            let (style, letter) = verdict_look(verdict);
            format!("{} {words}", paint(style, letter))
        };
        let entries = [
            format!("{} measuring", paint(MEASURES.0, MEASURES.1)),
            verdict("Successful", "passed"),
            verdict("Failed", "failed"),
            verdict("Inconclusive", "undecided"),
        ];
        let _ = writeln!(legend, "{}", entries.join("   "));
    }
    legend
}
