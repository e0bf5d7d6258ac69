//! The test bench of the real-cluster tests and benchmarks: one control plane per process, one namespace and one
//! controller per test, and records of what really happened.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "this crate is test code: a failure here is a failed test, told on stderr"
)]

mod accounts;
pub mod analyses;
pub mod audit;
mod bed;
mod controller;
mod echo;
mod election;
mod ending;
mod etcd;
mod history;
mod listening;
pub mod manifests;
mod prometheus;
mod proxy;
mod record;
mod scraped;
mod story;
mod wait;
mod world;

pub use bed::{Bed, User, bed, built, connect, run, windlass, windlass_command};
pub use controller::{Controller, Launch};
pub use echo::Echo;
pub use election::took_the_lease;
pub use ending::{Deeds, Ending};
pub use history::{Faults, History};
pub use prometheus::Prometheus;
pub use proxy::{Disturbance, Passed, Proxy};
pub use record::{Record, Sighting};
pub use scraped::Scraped;
pub use story::Story;
pub use wait::{DEADLINE, asked, before_the_next_try, found_within, until, until_within};
pub use world::{World, test, test_without_controller};
