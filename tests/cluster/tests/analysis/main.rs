//! Analysis on a real control plane: the kinds that are installed, and what the tests of runs stand on, a real Prometheus
//! with a target whose errors a test controls, and Jobs whose pods end as a test says.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod definitions;
mod jobs;
mod metrics;
