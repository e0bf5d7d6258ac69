//! The picture of a run for the terminal: a row for each pod, a column for each stretch of time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;

use super::analyses::Analysis;
use super::axis::Axis;
use super::story::{PodLife, Span, State, Story, Version};
use crate::kubectl::render::{BAD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, paint, seen_width};

/// Columns of the picture, beside the names, where there is room.
const MOST_COLUMNS: usize = 90;
/// Fewer show nothing.
const FEWEST_COLUMNS: usize = 20;
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

/// Where everything is drawn.
struct Canvas {
    axis: Axis,
    columns: usize,
}

/// The picture, its axis and its legend, in no more than so many columns.
pub(super) fn picture(story: &Story, columns: usize) -> String {
    let share = story.pods.len().div_ceil(ROWS).max(1);
    let rows: Vec<(String, &[PodLife])> = story.pods.chunks(share).map(|pods| (name(pods), pods)).collect();
    let measured = measured(story);
    let names = rows.iter().map(|(name, _)| name).chain(measured.iter().map(|(name, _)| name));
    let width = names.map(|name| name.chars().count()).max().unwrap_or_default();
    let room = columns.saturating_sub(width + 1).clamp(FEWEST_COLUMNS, MOST_COLUMNS);
    let canvas = Canvas { axis: Axis::of(story), columns: room };
    let mut text = String::new();
    for (name, pods) in &rows {
        let _ = writeln!(text, "{name:>width$} {}", canvas.pods(pods));
    }
    for (name, analyses) in &measured {
        let _ = writeln!(text, "{name:>width$} {}", canvas.analyses(analyses).trim_end());
    }
    let _ = writeln!(text, "{:width$} {}", "", canvas.steps(story));
    let end = story.end.at.stamp();
    let _ = writeln!(text, "{:width$} +00:00:00{end:>room$}", "", room = room - 9);
    text.push_str(&legend(!canvas.axis.shortened.is_empty(), !measured.is_empty(), columns));
    text
}

fn name(pods: &[PodLife]) -> String {
    match pods {
        [first, .., last] => format!("{} … {}", first.name, last.name),
        [only] => only.name.clone(),
        [] => String::new(),
    }
}

/// The analyses of each place where something is measured.
fn measured(story: &Story) -> Vec<(String, Vec<&Analysis>)> {
    let mut rows: BTreeMap<Option<usize>, Vec<&Analysis>> = BTreeMap::new();
    for analysis in &story.analyses {
        rows.entry(analysis.step).or_default().push(analysis);
    }
    let name =
        |step: Option<usize>| step.map_or_else(|| "background".to_owned(), |step| format!("analysis {step}"));
    rows.into_iter().map(|(step, analyses)| (name(step), analyses)).collect()
}

impl Canvas {
    fn column(&self, place: f64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "places are between 0 and 1, columns are few"
        )]
        let column = (place * self.columns as f64) as usize;
        column.min(self.columns - 1)
    }

    /// What a row shows in each column: the worst that its pods did there, and of those that are well the older version.
    fn pods(&self, pods: &[PodLife]) -> String {
        let axis = &self.axis;
        let mut shown: Vec<Option<(State, Version)>> = vec![None; self.columns];
        for Span { from, to, version, state } in pods.iter().flat_map(|pod| &pod.spans) {
            let (first, last) = (self.column(axis.place(*from)), self.column(axis.end(*to)));
            let end = if axis.end(*to) >= 1.0 { self.columns } else { last.max(first + 1) };
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

    /// When something is measured, with what it came to at its end.
    fn analyses(&self, analyses: &[&Analysis]) -> String {
        let mut cells: Vec<Option<(Style, &str)>> = vec![None; self.columns];
        for analysis in analyses {
            let first = self.column(self.axis.place(analysis.from));
            let last = self.column(self.axis.end(analysis.to)).max(first);
            cells[first..=last].fill(Some(MEASURES));
            if let Some(verdict) = &analysis.verdict {
                cells[last] = Some(verdict_look(verdict));
            }
        }
        let shown = cells
            .iter()
            .map(|cell| cell.map_or_else(|| " ".to_owned(), |(style, letter)| paint(style, letter)));
        shown.collect()
    }

    /// The number of each step where it begins, as far as there is room.
    fn steps(&self, story: &Story) -> String {
        let mut line = String::new();
        for step in &story.steps {
            let at = self.column(self.axis.place(step.at));
            let written = line.chars().count();
            if at >= written {
                line.push_str(&" ".repeat(at - written));
                line.push_str(&step.step.to_string());
            }
        }
        line
    }
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

fn legend(shortened: bool, measured: bool, columns: usize) -> String {
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
    let mut legend = in_lines(&entries, columns);
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
        legend.push_str(&in_lines(&entries, columns));
    }
    legend
}

/// Entries beside each other, as far as there is room.
fn in_lines(entries: &[String], columns: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for entry in entries {
        if !line.is_empty() && seen_width(&line) + 3 + seen_width(entry) > columns {
            lines.extend([std::mem::take(&mut line).as_str(), "\n"]);
        }
        let gap = if line.is_empty() { "" } else { "   " };
        line.extend([gap, entry]);
    }
    lines + &line + "\n"
}
