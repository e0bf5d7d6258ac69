//! Everybody else in a cluster behaves as the real ones do.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod golden;
mod invariants;
mod stage;
mod stateful_set;
