//! Checks: analyses that judge a run. The engine knows that there is one, which one is current, and what it came to;
//! what is measured is the dialect's matter.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::names::CheckName;
use crate::plan::OnError;

/// Where a check belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckPlace {
    /// To one stage, which waits for it.
    Stage(usize),
    /// To the whole run, beside its stages.
    Background,
}

/// One check by its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckId {
    /// The run, by the moment it started.
    pub run: Timestamp,
    /// Where in it.
    pub place: CheckPlace,
    /// How many there were before at that place.
    pub attempt: u32,
}

/// A check that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenCheck {
    /// Which.
    pub id: CheckId,
    /// Its name.
    pub name: CheckName,
    /// What it came to.
    pub state: CheckState,
    /// It has measured something.
    pub measured: bool,
    /// Somebody has asked it to end.
    pub ending: bool,
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// It measures.
    Running,
    /// It has its verdict.
    Over {
        /// Which.
        verdict: Verdict,
        /// Why, in the words of whoever measured.
        why: String,
        /// Since when.
        at: Timestamp,
    },
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The new version is good.
    Successful,
    /// Nobody can tell.
    Inconclusive,
    /// It could not be measured.
    Error,
    /// The new version is bad.
    Failed,
}

/// One change of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckMove {
    /// Begin this one.
    Begin(CheckId),
    /// End this one: nobody waits for it any more.
    End(CheckName),
}

/// A check that a person has to decide about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Undecided {
    /// Where.
    pub place: CheckPlace,
    /// Its name.
    pub name: CheckName,
    /// Inconclusive; Error where an error asks for a person; Failed where nothing can be put back any more.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
    /// Since when everything is held.
    pub since: Timestamp,
}

/// A check that ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blame {
    /// Where.
    pub place: CheckPlace,
    /// Its name.
    pub name: CheckName,
    /// Failed, or Error where an error aborts.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// What a verdict means for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It may go on.
    Pass,
    /// It goes back.
    Abort,
    /// A person decides.
    Ask,
    /// It is measured again, from then on.
    Again(Timestamp),
}

/// What a verdict means, by the policy for errors.
pub(crate) fn meaning(verdict: Verdict, on_error: OnError, attempt: u32, at: Timestamp) -> Meaning {
    match (verdict, on_error) {
        (Verdict::Successful, _) => Meaning::Pass,
        (Verdict::Failed, _) | (Verdict::Error, OnError::Abort) => Meaning::Abort,
        (Verdict::Inconclusive, _) | (Verdict::Error, OnError::Pause) => Meaning::Ask,
        (Verdict::Error, OnError::Retry) => {
            Meaning::Again(at.checked_add(patience(attempt)).unwrap_or(Timestamp::MAX))
        }
    }
}

/// How long to wait before a check is tried again: 10 seconds, then twice as long each time, up to 5 minutes.
fn patience(attempt: u32) -> SignedDuration {
    const LONGEST: i64 = 300;
    SignedDuration::from_secs((10_i64 << attempt.min(5)).min(LONGEST))
}

impl CheckPlace {
    /// As upstream's users know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stage(_) => "Step-based",
            Self::Background => "Background",
        }
    }
}

impl Verdict {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Successful => "Successful",
            Self::Inconclusive => "Inconclusive",
            Self::Error => "Error",
            Self::Failed => "Failed",
        }
    }
}
