//! Where values come from. A provider is read from a metric whose arguments are filled in; it says what is to be asked
//! next, from the answers so far, until it has a value. That is pure: sending is somebody else's work.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::gauge::Measured;

/// A provider with its settings.
pub trait Provider: Send + Sync {
    /// The Secret that holds its credentials, if it needs one besides its arguments.
    fn secret(&self) -> Option<SecretWanted>;

    /// What to do, given the answers so far.
    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String>;
}

/// A Secret that a provider reads its credentials from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretWanted {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: SecretPlace,
    /// Without it the environment is asked.
    pub optional: bool,
}

/// Where a Secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// Beside the controller.
    Controller,
    /// In the namespace of the run.
    Run,
}

/// What a provider may use besides its settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The time.
    pub now: Timestamp,
    /// The Secret that it asked for.
    pub secret: &'a BTreeMap<String, String>,
    /// The environment of the process.
    pub environment: &'a BTreeMap<String, String>,
}

/// What a provider does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It asks.
    Ask(Request),
    /// It has a value.
    Done(Measured),
}

/// How something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Without a body.
    Get,
    /// With one.
    Post,
    /// With one.
    Put,
}

/// What is to be asked. Headers, bodies and keys may hold secrets, so they are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// Where.
    pub url: String,
    /// With these headers.
    pub headers: Vec<(String, String)>,
    /// With this body.
    pub body: Option<String>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Whom to trust.
    pub trust: Trust,
}

/// Whom to trust on an encrypted connection, and who we are.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trust {
    /// The server's certificate is not checked.
    pub insecure: bool,
    /// Certificates of authorities, instead of the usual ones (PEM).
    pub authorities: Option<String>,
    /// Our own certificate and its key (PEM).
    pub identity: Option<(String, String)>,
}

impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

mod answers;
mod cel;
mod settings;

pub mod aws;
pub mod cloud_watch;
pub mod datadog;
pub mod graphite;
pub mod influxdb;
pub mod kubernetes;
pub mod new_relic;
