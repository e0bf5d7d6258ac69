//! The binary against a real API server and the real StatefulSet controller. Each test reads like the sentence it
//! proves, has a namespace and a controller of its own, and runs beside all others on one control plane.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod canary;
