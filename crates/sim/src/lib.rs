//! A cluster in a test tube: the Kubernetes API in memory, the controllers around it as pure steps, and virtual time.
//!
//! `server` answers requests as a real API server does; `actors` are everybody else in a cluster (the StatefulSet
//! controller, kubelets, people); nothing here looks at a clock or a random source: time is an argument, chance is a seed.

pub mod actors;
pub mod budget;
mod cast;
mod chance;
mod clock;
pub mod cluster;
pub mod deed;
mod fault;
pub mod http;
mod judge;
mod live;
mod object;
mod play;
mod readings;
mod refusal;
mod resource;
pub mod scenario;
mod schema;
pub mod script;
pub mod seed;
mod selector;
pub mod serve;
mod server;
pub mod service;
mod shrink;
mod soak;
pub mod start;
mod store;
mod timeline;
mod trace;
mod whole;

pub use cast::Cast;
pub use chance::Chance;
pub use clock::{ORIGIN, VirtualClock};
pub use fault::{Faulty, Line};
pub use judge::{Judge, Violation};
pub use live::Live;
pub use object::{Key, Object};
pub use play::{Attendance, Attended, Ending, Outcome, Over, Statistics, attend, holds, play, play_from};
pub use readings::{Sample, Says, Shape};
pub use refusal::Refusal;
pub use resource::Resource;
pub use selector::Selector;
pub use server::{Apply, Caller, Deletion, Part, Patch, Propagation, Server};
pub use service::{Cluster, Service};
pub use shrink::shrink;
pub use soak::{Broken, Soaked};
pub use store::{Change, ChangeKind, Store};
pub use timeline::{AnalysisState, Happening, Moment, PodState, Timeline};
pub use trace::{Checkpoint, Trace};
pub use whole::{Rehearsed, rehearse};
