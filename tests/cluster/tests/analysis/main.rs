//! Analysis on a real control plane: the kinds that are installed, rollouts that are judged by a real Prometheus with a
//! target whose errors a test controls, by Jobs whose pods end as a test says, and by the cluster itself.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is test code, and some figures are for people"
)]

mod bad_input;
mod by_job;
mod by_numbers;
mod by_objects;
mod definitions;
mod jobs;
mod metrics;
mod outage;
mod runs;
mod undecided;
