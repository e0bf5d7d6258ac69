//! What is installed in a cluster, and in a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use windlass_workloads::{DEFAULT_IDENTITY, Holder, policies, rights_table};

use crate::cli::{self, Cli, CrdsArguments, ManifestsArguments, OnlyCrds, Part};
use crate::failure::Failure;

/// One file of the folder `manifests`.
macro_rules! manifest {
    ($file:literal) => {
        include_str!(concat!("../../../manifests/", $file))
    };
}

/// What lets the controller in: the namespace comes first, because the rest lives in it.
const RIGHTS: [&str; 4] = [
    manifest!("rights/namespace.yaml"),
    manifest!("controller/serviceaccount.yaml"),
    manifest!("rights/clusterrole.yaml"),
    manifest!("rights/lease.yaml"),
];

/// The right that people narrow: by itself, so that what they made of it outlives the next version.
const SECRETS: &str = manifest!("secrets/secrets.yaml");

/// What runs the controller.
const CONTROLLER: [&str; 4] = [
    manifest!("controller/deployment.yaml"),
    manifest!("controller/poddisruptionbudget.yaml"),
    manifest!("controller/networkpolicy.yaml"),
    manifest!("controller/service.yaml"),
];

/// Prints the definitions that were asked for.
pub(crate) fn crds(arguments: &CrdsArguments) -> Result<ExitCode, Failure> {
    print(&match arguments.only {
        None => definitions(&windlass_api::crds()),
        Some(OnlyCrds::Rollouts) => definitions(&windlass_api::rollout_crds()),
        Some(OnlyCrds::Analysis) => definitions(&windlass_api::analysis_crds()),
    }?)
}

/// Prints the parts that were asked for, in the order in which a cluster takes them.
pub(crate) fn manifests(arguments: &ManifestsArguments) -> Result<ExitCode, Failure> {
    let is_wanted = |part: &&Part| arguments.parts.contains(part) && !arguments.without.contains(part);
    let wanted = Part::value_variants().iter().filter(is_wanted);
    let documents: Result<Vec<String>, Failure> = wanted.map(|part| text(*part, arguments)).collect();
    print(&documents?.join("---\n"))
}

/// Everything but the controller, for one that runs elsewhere.
pub(crate) fn without_controller() -> Result<String, Failure> {
    let policies = policies(Holder::Policy, &[DEFAULT_IDENTITY.to_owned()]);
    let definitions = definitions(&windlass_api::crds())?;
    Ok([definitions, policies, RIGHTS.join("---\n"), SECRETS.to_owned()].join("---\n"))
}

fn text(part: Part, arguments: &ManifestsArguments) -> Result<String, Failure> {
    match part {
        Part::Definitions => definitions(&windlass_api::rollout_crds()),
        Part::Analysis => definitions(&windlass_api::analysis_crds()),
        Part::Policies => Ok(policies(arguments.hold.into(), &arguments.identities)),
        Part::Rights => Ok(RIGHTS.join("---\n")),
        Part::Secrets => Ok(SECRETS.to_owned()),
        Part::Controller => Ok(CONTROLLER.join("---\n")),
    }
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

fn definitions(all: &[CustomResourceDefinition]) -> Result<String, Failure> {
    let documents: Result<Vec<String>, _> = all.iter().map(windlass_api::definition_yaml).collect();
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
