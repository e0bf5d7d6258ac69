//! The services that cannot run here, at the wire: what is sent to them to the last byte, and what is made of the answers
//! that they document, refusals included.
#![expect(clippy::unwrap_used, clippy::panic, reason = "this is test code")]

mod aws;
mod cloud_watch;
mod datadog;
mod documents;
mod graphite;
mod influxdb;
mod new_relic;
mod signed;
mod wire;
