//! A plan for the terminal.

use super::forecast::Forecast;
use super::report::{Problem, Report};
use super::warnings::{Level, Warning};
use super::words;
use crate::kubectl::render::{BAD, BOLD, Cell, FAILED, FAINT, HELD, PLAIN, Table, fact, paint, wrap};

/// Every report, below each other, in lines of at most so many columns; tables are as wide as they are.
pub(crate) fn text(reports: &[Report], columns: usize) -> String {
    reports.iter().map(|report| one(report, columns)).collect::<Vec<_>>().join("\n")
}

fn one(report: &Report, columns: usize) -> String {
    let mut text =
        format!("{}\n\n", paint(BOLD, &wrap(&words::title(report), columns.saturating_sub(2), "  ")));
    if let Some(forecast) = &report.plan {
        for (label, value) in words::facts(forecast) {
            text.push_str(&fact(label, &value, columns));
        }
        text.push('\n');
        text.push_str(&stages(forecast));
        if !forecast.analyses.is_empty() {
            text.push('\n');
            text.push_str(&analyses(forecast));
        }
    }
    if !report.wrong.is_empty() {
        text.push_str("Nothing will happen until this is mended:\n");
        text.extend(report.wrong.iter().map(|it| problem(it, columns)));
    }
    if !report.warnings.is_empty() {
        text.push('\n');
        text.extend(report.warnings.iter().map(|it| warning(it, columns)));
    }
    text
}

fn stages(forecast: &Forecast) -> String {
    let headings = words::HEADINGS.map(str::to_uppercase);
    let mut table = Table::new(&headings.each_ref().map(String::as_str));
    for stage in &forecast.stages {
        let row = words::row(forecast, stage, words::short_pod_list);
        let style = if stage.to_target.is_empty() && stage.to_stable.is_empty() { FAINT } else { PLAIN };
        table.row(row.into_iter().map(|cell| Cell::styled(style, cell)).collect());
    }
    table.lines("")
}

fn analyses(forecast: &Forecast) -> String {
    let headings = words::ANALYSIS_HEADINGS.map(str::to_uppercase);
    let mut table = Table::new(&headings.each_ref().map(String::as_str));
    for row in forecast.analyses.iter().flat_map(words::analysis_rows) {
        table.row(row.into_iter().map(|cell| Cell::styled(PLAIN, cell)).collect());
    }
    table.lines("")
}

fn problem(problem: &Problem, columns: usize) -> String {
    let place = problem.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    item(&paint(BAD, FAILED), &format!("{place}{}", problem.message), columns)
}

fn warning(warning: &Warning, columns: usize) -> String {
    let mark = match warning.level {
        Level::Warning => paint(HELD, "!"),
        Level::Note => paint(FAINT, "i"),
    };
    item(&mark, &warning.message, columns)
}

fn item(mark: &str, text: &str, columns: usize) -> String {
    format!("  {mark} {}\n", wrap(text, columns.saturating_sub(4), "    "))
}
