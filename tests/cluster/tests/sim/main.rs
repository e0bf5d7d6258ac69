//! The real kubectl against `windlass sim serve`: a person can look around in the cluster in memory, and work in it.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod looks;
mod served;
mod work;
