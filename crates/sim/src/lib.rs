//! A cluster in a test tube: the Kubernetes API in memory, the controllers around it as pure steps, and virtual time.
//!
//! `server` answers requests as a real API server does; `actors` are everybody else in a cluster (the StatefulSet
//! controller, kubelets, people); nothing here looks at a clock or a random source: time is an argument, chance is a seed.

pub mod actors;
pub mod budget;
pub mod cluster;
pub mod http;
mod object;
mod refusal;
mod resource;
mod selector;
mod server;
mod store;

pub use object::{Key, Object};
pub use refusal::Refusal;
pub use resource::Resource;
pub use server::{Caller, Deletion, Part, Patch, Propagation, Server};
pub use store::{Change, ChangeKind, Store};
