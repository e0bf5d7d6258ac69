//! `analyze`: measures what a template measures, once, against the real provider, and judges it.
//!
//! `subjects` turns files and flags into questions; `ask` asks them; `report` shows what came of it. Only `ask` touches
//! the network, and only `secrets` reads files of its own.

mod ask;
mod report;
mod secrets;
mod subjects;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use self::report::Report;
use self::secrets::Secrets;
use crate::cli::{AnalyzeArguments, AnalyzeOutput, Connection, Output};
use crate::failure::Failure;
use crate::kubectl::{Terminal, in_runtime, serialised};
use crate::plan;

/// What the command ends with when of a value nobody can tell.
const INCONCLUSIVE: u8 = 2;

/// Measures, and prints what came of it.
pub(crate) fn run(connection: &Connection, arguments: &AnalyzeArguments) -> Result<ExitCode, Failure> {
    let manifests = plan::manifests(&arguments.files, arguments.recursive)?;
    let secrets = Secrets::read(&arguments.secrets)?;
    let subjects = subjects::subjects(&manifests, arguments, connection.namespace.as_deref(), &secrets)?;
    let report = in_runtime(async { Ok(ask::ask(subjects, &secrets).await) })?;
    let shown = match arguments.output {
        AnalyzeOutput::Text => report.text(),
        AnalyzeOutput::Json => serialised(&report, Output::Json)?,
    };
    match Terminal::new().print(&shown) {
        Err(Failure::PipeClosed) | Ok(()) => {}
        Err(failure) => return Err(failure),
    }
    Ok(code(&report))
}

fn code(report: &Report) -> ExitCode {
    use windlass_api::analysis::Phase;
    match report.phase {
        Phase::Successful => ExitCode::SUCCESS,
        Phase::Inconclusive => ExitCode::from(INCONCLUSIVE),
        Phase::Failed | Phase::Error | Phase::Running | Phase::Pending => ExitCode::FAILURE,
    }
}
