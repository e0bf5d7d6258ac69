//! A plan as Markdown, fit for a comment on a pull request.

use super::forecast::Forecast;
use super::report::{Problem, Report};
use super::warnings::{Level, Warning};
use super::words;

/// Every report, below each other.
pub(crate) fn markdown(reports: &[Report]) -> String {
    reports.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(report: &Report) -> String {
    let mut text = format!("### {}\n\n", words::title(report));
    if let Some(forecast) = &report.plan {
        text.push_str(&stages(forecast));
        text.push('\n');
        if !forecast.analyses.is_empty() {
            text.push_str(&analyses(forecast));
            text.push('\n');
        }
        text.extend(words::facts(forecast).iter().map(fact));
    }
    if !report.wrong.is_empty() {
        text.push_str("**Nothing will happen until this is mended:**\n\n");
        text.extend(report.wrong.iter().map(problem));
    }
    if !report.warnings.is_empty() {
        text.push('\n');
        text.extend(report.warnings.iter().map(warning));
    }
    text
}

fn fact((label, value): &(&'static str, String)) -> String {
    format!("- **{label}**: {}\n", escaped(value))
}

fn stages(forecast: &Forecast) -> String {
    let mut text = line(&words::HEADINGS.map(str::to_owned));
    text.push_str(&line(&words::HEADINGS.map(|_| "---".to_owned())));
    for stage in &forecast.stages {
        text.push_str(&line(&words::row(forecast, stage, words::pod_list).map(|cell| escaped(&cell))));
    }
    text
}

fn analyses(forecast: &Forecast) -> String {
    let mut text = line(&words::ANALYSIS_HEADINGS.map(str::to_owned));
    text.push_str(&line(&words::ANALYSIS_HEADINGS.map(|_| "---".to_owned())));
    for row in forecast.analyses.iter().flat_map(words::analysis_rows) {
        text.push_str(&line(&row.map(|cell| escaped(&cell))));
    }
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn problem(problem: &Problem) -> String {
    let place = problem.place.as_ref().map(|place| format!("`{place}`: ")).unwrap_or_default();
    format!("- ❌ {place}{}\n", escaped(&problem.message))
}

fn warning(warning: &Warning) -> String {
    let mark = match warning.level {
        Level::Warning => "⚠️",
        Level::Note => "ℹ️",
    };
    format!("- {mark} {}\n", escaped(&warning.message))
}

/// What would be read as markup, as it is: words of a manifest may be among these.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if matches!(letter, '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '@' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
