//! The binary against a real API server and the real StatefulSet controller. Each test reads like the sentence it
//! proves, has a namespace and a controller of its own, and runs beside all others on one control plane.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is test code, and some of it prints figures"
)]

mod abort;
mod canary;
mod change;
mod changes;
mod crash;
mod crash_series;
mod deadline;
mod disturbed;
mod doctor;
mod foreign;
mod gitops;
mod hold;
mod lease;
mod lens;
mod people;
mod plan;
mod precondition;
mod rest;
mod scale;
mod spec;
mod usual;

/// Promotes the pause that is shown, as upstream's users do.
const PROMOTE: &str = r#"{"status":{"pauseConditions":null}}"#;
/// Skips all remaining steps, as upstream's users do.
const PROMOTE_FULL: &str = r#"{"status":{"promoteFull":true}}"#;
/// Aborts, as upstream's users do.
const ABORT: &str = r#"{"status":{"abort":true}}"#;
/// Restarts, as upstream's users do.
const RESTART: &str = r#"{"status":{"restart":true}}"#;

/// The names of the pods of a set.
fn pod_names(set: &str, replicas: usize) -> Vec<String> {
    (0..replicas).map(|ordinal| format!("{set}-{ordinal}")).collect()
}
