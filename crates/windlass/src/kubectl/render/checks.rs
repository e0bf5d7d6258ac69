//! The analyses of a rollout under its tree: each run, its metrics, and their last values against what is wanted.

use anstyle::Style;
use jiff::Timestamp;
use windlass_analysis::rules::Length;
use windlass_api::analysis::{MetricResult, Phase};
use windlass_engine::age_words;

use super::sparkline::sparkline;
use super::style::{AT_WORK, BAD, BOLD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, PLAIN, TO_COME, paint};
use super::table::{Cell, Table, seen_width, wrap};
use super::values::{numbers_in, value_words};
use crate::kubectl::checks::{CheckView, MetricView};
use crate::kubectl::picture::{Picture, Rolling};

/// So many runs that do not count any more are shown.
const OTHERS: usize = 3;
/// What stands before a metric.
const INDENT: &str = "      ";

/// The marks of measurements and phases, each with one meaning on every screen.
pub(super) const NEITHER: &str = "?";
pub(super) const NO_VALUE: &str = "⚠";

/// How a phase of an analysis looks: its symbol and its colour.
pub(super) fn phase(phase: Phase) -> (&'static str, Style) {
    match phase {
        Phase::Successful => (DONE, GOOD),
        Phase::Running => (AT_WORK, BUSY),
        Phase::Pending => (TO_COME, FAINT),
        Phase::Inconclusive => (NEITHER, HELD),
        Phase::Error => (NO_VALUE, HELD),
        Phase::Failed => (FAILED, BAD),
    }
}

/// The analyses in lines of at most so many columns; empty when there are none.
pub(super) fn checks(now: Timestamp, picture: &Picture, columns: usize) -> String {
    let rollout = &picture.rollout;
    if let Some(why) = picture.checks.missing(rollout) {
        let text = format!("not shown: {why}");
        return format!("{}\n  {}\n", paint(BOLD, "Analyses:"), wrap(&text, columns.saturating_sub(2), "  "));
    }
    let views = picture.checks.of(rollout);
    if views.is_empty() {
        return String::new();
    }
    let counting = views.iter().filter(|view| view.counts).count();
    let shown = &views[..views.len().min(counting + OTHERS)];
    let fits = |text: &String| text.lines().all(|line| seen_width(line) <= columns);
    // What the rollout says of itself need not be said again.
    let said = rollout.told().and_then(|status| status.message.as_deref()).unwrap_or_default();
    let shapes = [Shape::OneLine, Shape::TwoLines, Shape::ThreeLines];
    let shapes = shapes.map(|shape| Layout { shape, columns, said });
    let drawn = |layout: &Layout| shown.iter().map(|view| layout.run(now, view)).collect::<String>();
    let narrowest = shapes[2];
    let runs = shapes.iter().map(drawn).find(fits).unwrap_or_else(|| drawn(&narrowest));
    let mut text = format!("{}\n{runs}", paint(BOLD, "Analyses:"));
    if shown.len() < views.len() {
        let more = format!(
            "… {} more: kubectl -n {} get analysisruns -l rollout-plugin-name={}",
            views.len() - shown.len(),
            rollout.namespace(),
            rollout.name()
        );
        let more = paint(FAINT, &wrap(&more, columns.saturating_sub(2), "  "));
        text.extend(["  ", &more, "\n"]);
    }
    text
}

/// How much of a metric stands in one line.
#[derive(Clone, Copy)]
enum Shape {
    OneLine,
    /// The value stands below.
    TwoLines,
    /// The counters too.
    ThreeLines,
}

#[derive(Clone, Copy)]
struct Layout<'a> {
    shape: Shape,
    columns: usize,
    said: &'a str,
}

impl Layout<'_> {
    fn run(&self, now: Timestamp, view: &CheckView) -> String {
        let (symbol, style) = phase(view.status.phase);
        let place = view.place_words().map(|place| format!(", {place}")).unwrap_or_default();
        let state = format!("{} {}", paint(style, view.status.phase.as_str()), when(now, view));
        let line = format!("{} {}{place}: {state}", paint(style, symbol), paint(BOLD, &view.name));
        let mut text = format!("  {}\n", wrap(&line, self.columns.saturating_sub(2), "    "));
        let good = view.status.phase == Phase::Successful;
        if !good && !view.status.message.is_empty() && !self.said.contains(&view.status.message) {
            let message = wrap(&view.status.message, self.columns.saturating_sub(4), "    ");
            text.extend(["    ", &message, "\n"]);
        }
        text.push_str(&self.metrics(&view.metrics));
        text
    }

    fn metrics(&self, metrics: &[MetricView]) -> String {
        let mut table = Table::default();
        let mut below: Vec<Vec<String>> = Vec::new();
        for metric in metrics {
            let head =
                vec![name(metric), Cell::styled(phase(metric.result.phase).1, metric.result.phase.as_str())];
            let counters = vec![
                Cell::new(measured(metric)),
                counts(&metric.result),
                sparkline(&metric.result.measurements, metric.scope),
            ];
            let value = value(metric);
            let (row, mut under) = match self.shape {
                Shape::OneLine => ([head, counters, vec![Cell::new(value)]].concat(), Vec::new()),
                Shape::TwoLines => ([head, counters].concat(), vec![value]),
                Shape::ThreeLines => {
                    let mut line = Table::default();
                    line.row(counters);
                    (head, vec![line.lines("").trim_end().to_owned(), value])
                }
            };
            under.extend(metric.obstacle().map(|why| format!("not asked: {why}")));
            table.row(row);
            below.push(under.into_iter().filter(|line| !line.is_empty()).collect());
        }
        let mut text = String::new();
        let indent = format!("{INDENT}  ");
        for (line, under) in table.lines(INDENT).lines().zip(below) {
            text.push_str(line);
            text.push('\n');
            for line in under {
                let line = wrap(&line, self.columns.saturating_sub(indent.len()), &indent);
                text.extend([&indent, line.as_str(), "\n"]);
            }
        }
        text
    }
}

/// How long it has been at it, or when it ended and after how long.
fn when(now: Timestamp, view: &CheckView) -> String {
    match (view.status.started_at, view.status.completed_at) {
        (Some(started), Some(ended)) => {
            format!("{} ago, after {}", age_words(ended, now), age_words(started, ended))
        }
        (Some(started), None) => format!("for {}", age_words(started, now)),
        (None, Some(ended)) => format!("{} ago", age_words(ended, now)),
        (None, None) => "not begun yet".to_owned(),
    }
}

fn name(metric: &MetricView) -> Cell {
    let (symbol, style) = phase(metric.result.phase);
    let name = Cell::styled(style, symbol).and(PLAIN, format!(" {}", metric.result.name));
    if metric.result.dry_run { name.and(FAINT, " (dry run)") } else { name }
}

/// How many measurements gave a value, and of how many.
pub(super) fn measured(metric: &MetricView) -> String {
    let done = metric.result.count;
    match metric.rules.as_ref().map(|rules| rules.length) {
        Some(Length::Count(count)) => format!("{done} of {count}"),
        Some(Length::Endless) | None => done.to_string(),
    }
}

/// Good, bad, neither, and without a value; those that there are.
fn counts(result: &MetricResult) -> Cell {
    let all = [
        (GOOD, DONE, result.successful),
        (BAD, FAILED, result.failed),
        (HELD, NEITHER, result.inconclusive),
        (HELD, NO_VALUE, result.error),
    ];
    let some = all.into_iter().filter(|(.., count)| *count > 0);
    some.enumerate().fold(Cell::default(), |cell, (index, (style, symbol, count))| {
        let gap = if index == 0 { "" } else { " " };
        cell.and(PLAIN, gap).and(style, format!("{symbol} {count}"))
    })
}

/// The last value, against what is wanted.
pub(super) fn value(metric: &MetricView) -> String {
    let condition = metric.condition_words();
    let value = metric.last().map(|last| match last.phase {
        Phase::Error => "no value".to_owned(),
        _ if last.value.is_empty() => String::new(),
        _ => value_words(last, metric.scope, &numbers_in(condition.as_deref().unwrap_or_default())),
    });
    let value = value.filter(|value| !value.is_empty());
    let words: Vec<String> = [value, condition].into_iter().flatten().collect();
    words.join(", ")
}
