//! What happened, in order, with virtual time stamps: for people, for pictures, and for comparing two clusters.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::object::{at, controller, is_going, label, list, number, text, uid};
use crate::resource::Resource;
use crate::store::{Change, ChangeKind};

/// What happened, in order.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// All of it.
    pub moments: Vec<Moment>,
    #[serde(skip)]
    letters: BTreeMap<String, char>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Happening {
    /// A line of the script: somebody did something, or something broke.
    Line {
        /// The line.
        text: String,
    },
    /// A pod changed.
    Pod {
        /// Its name.
        name: String,
        /// The letter of its revision.
        revision: char,
        /// What it does now.
        state: PodState,
    },
    /// The set was changed.
    Set {
        /// The letter of the template.
        template: char,
        /// How many pods it wants.
        replicas: i64,
        /// The partition; none where it holds everything.
        partition: Option<i64>,
    },
    /// A rollout said something else.
    Rollout {
        /// Its name.
        name: String,
        /// Its phase.
        phase: String,
        /// Its steps.
        step: String,
        /// Its message.
        message: String,
    },
    /// An analysis began, measured for the first time, came to its verdict, or was asked to end.
    Analysis {
        /// Its name, with the letter of the revision.
        name: String,
        /// The step that waits for it, counted from zero; none where it runs beside the steps.
        step: Option<usize>,
        /// What it does now.
        state: AnalysisState,
    },
    /// An event was told.
    Told {
        /// One word.
        reason: String,
        /// The sentence.
        note: String,
    },
}

/// What a pod does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// It is there, and not ready; perhaps with a word why.
    Unready(Option<String>),
    /// It is ready.
    Ready,
    /// It is going.
    Going,
    /// It is gone.
    Gone,
}

/// What an analysis does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AnalysisState {
    /// It was made.
    Made,
    /// It measures.
    Measures,
    /// Nobody waits for it any more.
    AskedToEnd,
    /// It has its verdict.
    Over {
        /// Which.
        verdict: String,
        /// Why, if it is not good.
        why: String,
    },
    /// It is gone.
    Gone,
}

/// The partition that holds everything.
const HOLD: i64 = 2_147_483_647;

impl Timeline {
    /// A line of a script.
    pub fn line(&mut self, at: Timestamp, text: String) {
        self.moments.push(Moment { at, what: Happening::Line { text } });
    }

    /// A change of the store, if it is worth telling.
    pub fn change(&mut self, at: Timestamp, change: &Change) {
        let what = match change.resource {
            Resource::Pods => self.pod(change),
            Resource::StatefulSets => self.set(change),
            Resource::RolloutPlugins => rollout(change),
            Resource::Events => event(change),
            Resource::AnalysisRuns => self.analysis(change),
            _ => None,
        };
        if let Some(what) = what {
            self.moments.push(Moment { at, what });
        }
    }

    /// Revisions are letters, in the order in which they were first seen.
    fn letter(&mut self, revision: &str) -> char {
        let next = u8::try_from(self.letters.len()).unwrap_or(u8::MAX).min(25);
        *self.letters.entry(revision.to_owned()).or_insert(char::from(b'A' + next))
    }

    /// The letter of a revision that was seen.
    pub fn letter_of(&self, revision: &str) -> Option<char> {
        self.letters.get(revision).copied()
    }

    fn pod(&mut self, change: &Change) -> Option<Happening> {
        controller(&change.object)?;
        let state = match change.kind {
            ChangeKind::Deleted => PodState::Gone,
            ChangeKind::Added | ChangeKind::Modified => pod_state(&change.object),
        };
        let before = change.before.as_ref().filter(|it| uid(it) == uid(&change.object));
        if change.kind != ChangeKind::Deleted && before.is_some_and(|before| pod_state(before) == state) {
            return None;
        }
        let revision = self.letter(label(&change.object, "controller-revision-hash").unwrap_or_default());
        Some(Happening::Pod { name: change.key.name.clone(), revision, state })
    }

    fn analysis(&self, change: &Change) -> Option<Happening> {
        let state = match change.kind {
            ChangeKind::Deleted => AnalysisState::Gone,
            ChangeKind::Added | ChangeKind::Modified => analysis_state(&change.object),
        };
        let before = change.before.as_ref().filter(|it| uid(it) == uid(&change.object));
        if change.kind != ChangeKind::Deleted && before.is_some_and(|before| analysis_state(before) == state)
        {
            return None;
        }
        let named = |name: String, (revision, letter): (&String, &char)| {
            if revision.is_empty() { name } else { name.replace(revision, &letter.to_string()) }
        };
        let name = self.letters.iter().fold(change.key.name.clone(), named);
        let step = label(&change.object, "step-index").and_then(|step| step.parse().ok());
        Some(Happening::Analysis { name, step, state })
    }

    fn set(&mut self, change: &Change) -> Option<Happening> {
        if change.kind == ChangeKind::Deleted {
            return None;
        }
        // The revision of a template is known once the set's controller has named it.
        let facts = |set: &Value| {
            let revision = text(set, &["status", "updateRevision"]).unwrap_or_default().to_owned();
            let partition = number(set, &["spec", "updateStrategy", "rollingUpdate", "partition"]);
            (revision, number(set, &["spec", "replicas"]).unwrap_or_default(), partition.unwrap_or_default())
        };
        let now = facts(&change.object);
        if now.0.is_empty() || change.before.as_ref().is_some_and(|before| facts(before) == now) {
            return None;
        }
        let (revision, replicas, partition) = now;
        let template = self.letter(&revision);
        Some(Happening::Set { template, replicas, partition: Some(partition).filter(|it| *it != HOLD) })
    }
}

pub(crate) fn pod_state(pod: &Value) -> PodState {
    if is_going(pod) {
        return PodState::Going;
    }
    let ready = list(pod, &["status", "conditions"])
        .iter()
        .any(|it| text(it, &["type"]) == Some("Ready") && text(it, &["status"]) == Some("True"));
    if ready {
        return PodState::Ready;
    }
    let why = list(pod, &["status", "containerStatuses"])
        .iter()
        .find_map(|it| text(it, &["state", "waiting", "reason"]))
        .or_else(|| text(pod, &["status", "reason"]))
        .filter(|why| *why != "ContainerCreating");
    PodState::Unready(why.map(str::to_owned))
}

pub(crate) fn analysis_state(run: &Value) -> AnalysisState {
    let status = |field| text(run, &["status", field]).unwrap_or_default();
    let ending = at(run, &["spec", "terminate"]).and_then(Value::as_bool) == Some(true);
    match status("phase") {
        "" | "Pending" | "Running" if ending => AnalysisState::AskedToEnd,
        "" | "Pending" => AnalysisState::Made,
        "Running" => AnalysisState::Measures,
        verdict => AnalysisState::Over { verdict: verdict.to_owned(), why: status("message").to_owned() },
    }
}

fn rollout(change: &Change) -> Option<Happening> {
    let facts = |rollout: &Value| {
        let field = |name| text(rollout, &["status", name]).unwrap_or_default().to_owned();
        (field("phase"), field("step"), field("message"))
    };
    let now = facts(&change.object);
    let same = change.before.as_ref().is_some_and(|before| facts(before) == now);
    if same || now.0.is_empty() || change.kind == ChangeKind::Deleted {
        return None;
    }
    let (phase, step, message) = now;
    Some(Happening::Rollout { name: change.key.name.clone(), phase, step, message })
}

fn event(change: &Change) -> Option<Happening> {
    if change.kind != ChangeKind::Added || at(&change.object, &["involvedObject"]).is_none() {
        return None;
    }
    if text(&change.object, &["involvedObject", "kind"]) != Some("RolloutPlugin") {
        return None;
    }
    let field = |name| text(&change.object, &[name]).unwrap_or_default().to_owned();
    Some(Happening::Told { reason: field("reason"), note: field("message") })
}

impl fmt::Display for PodState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unready(None) => out.write_str("starting"),
            Self::Unready(Some(why)) => write!(out, "not ready: {why}"),
            Self::Ready => out.write_str("ready"),
            Self::Going => out.write_str("going"),
            Self::Gone => out.write_str("gone"),
        }
    }
}

impl fmt::Display for AnalysisState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made => out.write_str("begins"),
            Self::Measures => out.write_str("measures"),
            Self::AskedToEnd => out.write_str("is asked to end"),
            Self::Over { verdict, why } if why.is_empty() => out.write_str(verdict),
            Self::Over { verdict, why } => write!(out, "{verdict}: {why}"),
            Self::Gone => out.write_str("gone"),
        }
    }
}

impl fmt::Display for Happening {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { text } => write!(out, "> {text}"),
            Self::Pod { name, revision, state } => write!(out, "pod {name} {revision} {state}"),
            Self::Set { template, replicas, partition } => match partition {
                Some(partition) => write!(out, "set {template}, {replicas} pods, partition {partition}"),
                None => write!(out, "set {template}, {replicas} pods, held"),
            },
            Self::Rollout { name, phase, step, message } => {
                write!(out, "rollout {name} {phase} {step}: {message}")
            }
            Self::Analysis { name, state, .. } => write!(out, "analysis {name} {state}"),
            Self::Told { reason, note } => write!(out, "event {reason}: {note}"),
        }
    }
}
