//! `plan`: what a rollout will do, before it does anything. From files without a cluster, or from what a cluster has.
//!
//! `facts` is what is looked at, `forecast` what will happen, `checks` what will be measured, `warnings` what may surprise; `report` puts them together,
//! and `text` and `markdown` show it. Only `live` talks to a cluster, and only `files` reads the disk.

mod checks;
#[cfg(test)]
mod documents;
mod facts;
mod forecast;
mod live;
mod markdown;
mod offline;
mod report;
#[cfg(test)]
mod tests;
mod text;
mod warnings;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

pub(crate) use self::checks::measured;
pub(crate) use self::facts::Facts;
pub(crate) use self::offline::pairs;
pub(crate) use self::report::{Report, Subject};
use crate::cli::{Connection, Output, PlanArguments, PlanOutput};
use crate::failure::Failure;
use crate::files;
use crate::kubectl::{Terminal, in_runtime, serialised};

/// Where the objects of a file belong that do not say it, as kubectl would have it without a context.
const DEFAULT_NAMESPACE: &str = "default";

/// Prints the plan. What is wrong with a specification ends with 1.
pub(crate) fn run(connection: &Connection, arguments: &PlanArguments) -> Result<ExitCode, Failure> {
    let reports = match arguments.name.as_deref() {
        Some(name) if arguments.files.is_empty() => in_runtime(live::reports(connection, name))?,
        _ => from_files(connection, arguments)?,
    };
    let terminal = Terminal::new();
    match terminal.print(&shown(&reports, arguments.output, terminal.columns())?) {
        Err(Failure::PipeClosed) | Ok(()) => {}
        Err(failure) => return Err(failure),
    }
    let wrong = reports.iter().any(|report| !report.wrong.is_empty());
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn from_files(connection: &Connection, arguments: &PlanArguments) -> Result<Vec<Report>, Failure> {
    let manifests = manifests(&arguments.files, arguments.recursive)?;
    offline::reports(&manifests, namespace(connection), arguments.name.as_deref()).map_err(Failure::Manifests)
}

/// The objects of the files, or every mistake in them.
pub(crate) fn manifests(paths: &[PathBuf], recursive: bool) -> Result<files::Manifests, Failure> {
    let sources = files::load(paths, recursive)?;
    files::read(&sources).map_err(|mistakes| Failure::Manifests(mistakes_words(&mistakes)))
}

/// Where objects are that do not say it.
pub(crate) fn namespace(connection: &Connection) -> &str {
    connection.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
}

fn mistakes_words(mistakes: &[files::Mistake]) -> String {
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n       ")
}

/// Everything as one object, so that more can be added beside the rollouts.
#[derive(Serialize)]
struct All<'a> {
    rollouts: &'a [Report],
}

fn shown(reports: &[Report], output: PlanOutput, columns: usize) -> Result<String, Failure> {
    match output {
        PlanOutput::Text => Ok(text::text(reports, columns)),
        PlanOutput::Markdown => Ok(markdown::markdown(reports)),
        PlanOutput::Json => serialised(&All { rollouts: reports }, Output::Json),
    }
}
