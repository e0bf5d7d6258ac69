//! Reads the API server's own record of requests: who asked what, when, and with what answer.

use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Its identity.
    #[serde(rename = "auditID")]
    pub id: String,
    /// get, list, watch, create, update, patch, delete.
    pub verb: String,
    /// Who.
    pub user: Who,
    /// On what.
    #[serde(default)]
    pub object_ref: Option<Object>,
    /// With what answer.
    #[serde(default)]
    pub response_status: Option<Answer>,
    /// When it came in.
    pub request_received_timestamp: Timestamp,
    /// When it was answered.
    pub stage_timestamp: Timestamp,
    /// Which program sent it.
    #[serde(default)]
    pub user_agent: String,
}

/// Who sent a request.
#[derive(Clone, Debug, Deserialize)]
pub struct Who {
    /// The user.
    pub username: String,
}

/// What a request was about.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Object {
    /// The kind, in the plural.
    #[serde(default)]
    pub resource: String,
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// Such as status.
    #[serde(default)]
    pub subresource: String,
}

/// What was answered.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// The HTTP code.
    #[serde(default)]
    pub code: u16,
}

impl Request {
    /// It asked for a change.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// It was done, and not refused.
    pub fn is_done(&self) -> bool {
        self.response_status.as_ref().is_some_and(|answer| (200..300).contains(&answer.code))
    }

    /// The controller under test sent it.
    pub fn is_windlass(&self) -> bool {
        self.is_by("windlass")
    }

    /// A controller that runs as this account sent it.
    pub fn is_by(&self, account: &str) -> bool {
        self.user.username == crate::accounts::identity(account)
    }

    /// What it was about.
    pub fn object(&self) -> Object {
        self.object_ref.clone().unwrap_or_default()
    }
}

/// The length of the record: where to read on from later.
pub fn position(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |meta| meta.len())
}

/// Every request after `position`.
pub fn since(log: &Path, position: u64) -> Vec<Request> {
    let mut file = std::fs::File::open(log).unwrap();
    file.seek(SeekFrom::Start(position)).unwrap();
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
}
