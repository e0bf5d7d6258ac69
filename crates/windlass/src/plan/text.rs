//! A plan for the terminal.

use super::forecast::Forecast;
use super::report::{Problem, Report};
use super::warnings::{Level, Warning};
use super::words;
use crate::kubectl::render::{BAD, BOLD, Cell, FAILED, FAINT, HELD, PLAIN, Table, WIDTH, fact, paint, wrap};

/// Every report, below each other.
pub(crate) fn text(reports: &[Report]) -> String {
    reports.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(report: &Report) -> String {
    let mut text = format!("{}\n\n", paint(BOLD, &wrap(&words::title(report), WIDTH, "  ")));
    if let Some(forecast) = &report.plan {
        for (label, value) in words::facts(forecast) {
            text.push_str(&fact(label, &value));
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
        text.extend(report.wrong.iter().map(problem));
    }
    if !report.warnings.is_empty() {
        text.push('\n');
        text.extend(report.warnings.iter().map(warning));
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

fn problem(problem: &Problem) -> String {
    let place = problem.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    item(&paint(BAD, FAILED), &format!("{place}{}", problem.message))
}

fn warning(warning: &Warning) -> String {
    let mark = match warning.level {
        Level::Warning => paint(HELD, "!"),
        Level::Note => paint(FAINT, "i"),
    };
    item(&mark, &warning.message)
}

fn item(mark: &str, text: &str) -> String {
    format!("  {mark} {}\n", wrap(text, WIDTH - 4, "    "))
}
