//! Everybody else in a cluster behaves as the real ones do.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod disorder;
mod endings;
mod golden;
mod invariants;
mod machines;
mod people;
mod stage;
mod staleness;
mod stateful_set;
