//! What is installed in a cluster, and in a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;
use windlass_workloads::{policies, rights_table};

use crate::cli::{self, Cli, ManifestsArguments};
use crate::failure::Failure;

/// Prints the definitions.
pub(crate) fn crds() -> Result<ExitCode, Failure> {
    print(&definitions()?)
}

/// Prints the definitions and the policies.
pub(crate) fn manifests(arguments: &ManifestsArguments) -> Result<ExitCode, Failure> {
    print(&format!("{}---\n{}", definitions()?, policies(arguments.hold.into(), &arguments.identity)))
}

/// Prints the rights that the controller needs, as a table for the documents.
pub(crate) fn rights() -> Result<ExitCode, Failure> {
    print(&rights_table())
}

/// Prints a completion script.
pub(crate) fn completion(shell: Shell) -> Result<ExitCode, Failure> {
    let mut command = cli::named(Cli::command());
    let name = command.get_name().replace(' ', "-");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))
}

fn definitions() -> Result<String, Failure> {
    let documents: Result<Vec<String>, _> = windlass_api::crds().iter().map(windlass_api::to_yaml).collect();
    let documents = documents.map_err(|error| Failure::Output(error.to_string()))?;
    Ok(documents.join("---\n"))
}

/// A closed pipe (`windlass manifests | head`) is no error.
fn print(text: &str) -> Result<ExitCode, Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Output(error.to_string()))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
