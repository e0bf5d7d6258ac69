//! `doctor`: looks at the installation and at what rollouts and workloads say of each other, says what is wrong, and
//! how to mend it.
//!
//! `look` reads facts from the cluster, `diagnose` makes findings of them, `words` says them, and `render` draws the
//! checklist. All but `look` is pure. What the asking person may not read is said as such and is nobody's fault.

mod diagnose;
mod facts;
mod finding;
mod look;
#[cfg(test)]
mod tests;
mod words;

use std::process::ExitCode;

use jiff::Timestamp;
use serde::Serialize;

pub(super) use self::finding::{Check, Standing};
pub(super) use self::words::Remedy;

use self::facts::{Asked, LeaseFacts};
use self::finding::Finding;
use super::reach::Reach;
use super::render;
use super::terminal::Terminal;
use crate::cli::{DoctorArguments, ListOutput};
use crate::controller::lease_name;
use crate::failure::Failure;

/// Where Windlass is installed for all namespaces.
const DEFAULT_NAMESPACE: &str = "windlass";

/// One line of the checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    /// What was looked at.
    pub(super) check: Check,
    /// How it stands.
    pub(super) result: Standing,
    /// The finding, one word.
    pub(super) code: &'static str,
    /// The object that it is about, as `namespace/name`, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    /// The finding, a sentence.
    pub(super) message: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<Remedy>,
}

/// Checks the installation; 1 when something is wrong.
pub(super) async fn doctor(reach: &Reach, arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let asked = asked(reach, arguments).await?;
    let facts = look::look(reach, &asked).await?;
    let now = Timestamp::now();
    let lines = lines(now, &asked, &diagnose::diagnose(&facts, &asked, now));
    let text = match arguments.output {
        Some(ListOutput::Json) => super::get::serialised(&lines, crate::cli::Output::Json)?,
        None => render::doctor(&asked.words(), &lines),
    };
    Terminal::new().print(&text)?;
    let wrong = lines.iter().any(|line| line.result == Standing::Wrong);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Which installation is meant, where the flags do not say it.
async fn asked(reach: &Reach, arguments: &DoctorArguments) -> Result<Asked, Failure> {
    let namespace = (!arguments.all_namespaces).then(|| reach.namespace.clone());
    let lease = lease_name(arguments.instance.as_deref());
    let lease_namespace = match (&arguments.lease_namespace, &namespace) {
        (Some(given), _) => given.clone(),
        (None, Some(served)) if served != DEFAULT_NAMESPACE => {
            let there = look::lease_in(reach, served, &lease).await?;
            let everywhere = look::lease_in(reach, DEFAULT_NAMESPACE, &lease).await?;
            let is_own = serves_itself(there.as_ref(), everywhere.as_ref(), Timestamp::now());
            if is_own { served.clone() } else { DEFAULT_NAMESPACE.to_owned() }
        }
        _ => DEFAULT_NAMESPACE.to_owned(),
    };
    let identity = arguments.identity.clone().unwrap_or_else(|| account(&lease_namespace));
    Ok(Asked { identity, namespace, lease_namespace, lease })
}

/// Whether a namespace has a controller of its own, by the Lease in it and that of the controller for all: whoever leads
/// counts. A Lease that was left behind by a controller of the past counts only where nobody else leads.
fn serves_itself(there: Option<&LeaseFacts>, everywhere: Option<&LeaseFacts>, now: Timestamp) -> bool {
    let leads = |lease: Option<&LeaseFacts>| lease.is_some_and(|lease| lease.leader(now).is_some());
    leads(there) || (there.is_some() && !leads(everywhere))
}

/// The account that an installation in this namespace has.
fn account(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:windlass")
}

/// The findings as a checklist.
fn lines(now: Timestamp, asked: &Asked, findings: &[Finding]) -> Vec<Line> {
    findings
        .iter()
        .map(|finding| {
            let words = words::explain(finding, asked, now);
            Line {
                check: finding.check(),
                result: finding.standing(),
                code: finding.code(),
                object: finding.object(),
                message: words.message,
                remedy: words.remedy,
            }
        })
        .collect()
}
