//! What happened in a run, told from the change of its template on: every moment, every pod's life, every step, the
//! end. Pure: a timeline in, facts out; whoever shows them computes nothing.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_sim::{AnalysisState, Attended, Happening, Over, PodState, Resource};

use super::analyses::{Analysis, analyses};
use super::setting::{Assumed, Change, Setting};
use crate::plan::Subject;

/// A time, counted from the change of the template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seconds(pub(super) SignedDuration);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_secs_f64())
    }
}

impl Seconds {
    /// `+00:05:10`.
    pub(super) fn stamp(self) -> String {
        let seconds = self.0.as_secs();
        format!("+{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Story {
    pub(super) rollout: Subject,
    pub(super) workload: Subject,
    pub(super) change: Change,
    pub(super) assumed: Assumed,
    pub(super) end: End,
    /// The most pods that were unavailable at once, and when that was so first.
    pub(super) pods_down_at_once: u32,
    #[serde(rename = "podsDownAtOnceSinceSeconds")]
    pub(super) down_since: Option<Seconds>,
    pub(super) steps: Vec<StepBegin>,
    pub(super) pods: Vec<PodLife>,
    /// What was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) analyses: Vec<Analysis>,
    pub(super) timeline: Vec<Entry>,
    /// What was asked for, but the run ended before.
    pub(super) missed: Vec<String>,
}

/// How it ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct End {
    pub(super) outcome: Outcome,
    #[serde(rename = "atSeconds")]
    pub(super) at: Seconds,
    pub(super) phase: String,
    pub(super) message: String,
    /// Why it is not further, each with what would end it.
    pub(super) waits: Vec<Wait>,
    /// How many pods are on the old version, and on the new one.
    pub(super) pods_on_old: usize,
    pub(super) pods_on_new: usize,
    pub(super) pods_ready: usize,
}

/// The same as the simulator's, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outcome {
    Completed,
    Aborted,
    StandsStill,
    Unfinished,
    NeverBegan,
}

impl From<Over> for Outcome {
    fn from(over: Over) -> Self {
        match over {
            Over::Completed => Self::Completed,
            Over::Aborted => Self::Aborted,
            Over::StandsStill => Self::StandsStill,
            Over::Unfinished => Self::Unfinished,
            Over::NeverBegan => Self::NeverBegan,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wait {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) ends_when: String,
}

/// A step, and when it began.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepBegin {
    /// Counted from 1.
    pub(super) step: usize,
    pub(super) does: String,
    #[serde(rename = "atSeconds")]
    pub(super) at: Seconds,
}

/// What became of the pods of one name.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodLife {
    pub(super) name: String,
    /// Without gaps, from the change to the end.
    pub(super) spans: Vec<Span>,
}

/// A time in which nothing changed for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    #[serde(rename = "fromSeconds")]
    pub(super) from: Seconds,
    #[serde(rename = "toSeconds")]
    pub(super) to: Seconds,
    pub(super) version: Version,
    pub(super) state: State,
}

/// Which template a pod was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Version {
    Old,
    New,
}

impl Version {
    /// The simulator names revisions by letters, in the order in which they came.
    fn of(letter: char) -> Self {
        if letter == 'A' { Self::Old } else { Self::New }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }
}

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    Ready,
    Starting,
    Going,
    Gone,
    Failing,
}

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Entry {
    #[serde(rename = "atSeconds")]
    pub(super) at: Seconds,
    #[serde(flatten)]
    pub(super) what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(super) enum What {
    /// A pod changed.
    Pod { pod: String, version: Version, state: State, reason: Option<String> },
    /// The partition moved; none holds everything.
    Partition { partition: Option<i64> },
    /// The rollout says something else.
    Rollout { phase: String, step: String, message: String },
    /// An analysis began, or came to its verdict.
    Analysis { analysis: String, step: Option<usize>, state: AnalysisState },
    /// An event was told.
    Event { reason: String, note: String },
    /// Somebody did something, or something befell a pod.
    Deed { deed: String },
}

impl Story {
    pub(super) fn of(setting: &Setting, attended: &Attended) -> Self {
        let end = Seconds(attended.ended.duration_since(attended.began));
        let entries = entries(attended);
        let pods = lives(&setting.pods, &entries, end);
        let (pods_down_at_once, down_since) = down(&pods, setting.probation, attended.began, end);
        let upto = |entry: &Entry| entry.at >= Seconds::default() && entry.at <= end;
        let timeline: Vec<Entry> = entries.into_iter().filter(upto).collect();
        Self {
            rollout: setting.rollout.clone(),
            workload: setting.workload.clone(),
            change: setting.change.clone(),
            assumed: setting.assumed.clone(),
            end: end_of(setting, attended, end, &pods),
            pods_down_at_once,
            down_since,
            steps: steps(&setting.steps, &timeline),
            pods,
            analyses: analyses(&timeline, end),
            timeline,
            missed: attended.missed.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Every moment, those before the change with times below zero.
fn entries(attended: &Attended) -> Vec<Entry> {
    let began = attended.began;
    let mut changed = false;
    let mut entries = Vec::new();
    for moment in &attended.outcome.timeline.moments {
        changed |=
            matches!(&moment.what, Happening::Set { template, .. } if Version::of(*template) == Version::New);
        let mut at = Seconds(moment.at.duration_since(began));
        // What happened at the very moment of the change, but before it.
        let before = at == Seconds::default() && !changed && !matches!(moment.what, Happening::Line { .. });
        if before {
            at = Seconds(SignedDuration::from_nanos(-1));
        }
        entries.push(Entry { at, what: what(&moment.what, began) });
    }
    entries
}

fn what(happening: &Happening, began: Timestamp) -> What {
    match happening {
        Happening::Line { text } => What::Deed { deed: text.clone() },
        Happening::Pod { name, revision, state } => {
            let (state, reason) = match state {
                PodState::Ready => (State::Ready, None),
                PodState::Unready(None) => (State::Starting, None),
                PodState::Unready(Some(why)) => (State::Failing, Some(why.clone())),
                PodState::Going => (State::Going, None),
                PodState::Gone => (State::Gone, None),
            };
            What::Pod { pod: name.clone(), version: Version::of(*revision), state, reason }
        }
        Happening::Set { partition, .. } => What::Partition { partition: *partition },
        Happening::Rollout { phase, step, message, .. } => What::Rollout {
            phase: phase.clone(),
            step: step.clone(),
            message: since_the_change(message, began),
        },
        Happening::Analysis { name, step, state } => {
            What::Analysis { analysis: name.clone(), step: step.map(|step| step + 1), state: state.clone() }
        }
        Happening::Told { reason, note } => {
            What::Event { reason: reason.clone(), note: since_the_change(note, began) }
        }
    }
}

/// Moments of the virtual day mean nothing to anybody: they are told as times since the change.
fn since_the_change(text: &str, began: Timestamp) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches([',', ';', '.', '(', ')']);
        match bare.parse::<Timestamp>() {
            Ok(at) => {
                let after = at.duration_since(began);
                let stamp = if after.is_negative() { "before".to_owned() } else { Seconds(after).stamp() };
                word.replace(bare, &stamp)
            }
            Err(_) => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What became of each pod, from the change to the end.
fn lives(names: &[String], entries: &[Entry], end: Seconds) -> Vec<PodLife> {
    let mut now: BTreeMap<&str, (Seconds, Version, State)> = BTreeMap::new();
    let mut spans: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.at <= end) {
        let What::Pod { pod, version, state, .. } = &entry.what else { continue };
        let at = entry.at.max(Seconds::default());
        if let Some((from, version, state)) = now.insert(pod, (at, *version, *state))
            && from < at
        {
            spans.entry(pod).or_default().push(Span { from, to: at, version, state });
        }
    }
    for (pod, (from, version, state)) in now {
        spans.entry(pod).or_default().push(Span { from, to: end, version, state });
    }
    let life = |name: &String| {
        let spans = spans.remove(name.as_str()).unwrap_or_default();
        PodLife { name: name.clone(), spans }
    };
    names.iter().map(life).collect()
}

/// The most pods that were unavailable at once, and since when. A pod counts again once it has been ready for as long as
/// the set asks; Kubernetes counts that from the whole second in which it became ready.
fn down(
    pods: &[PodLife],
    probation: SignedDuration,
    began: Timestamp,
    end: Seconds,
) -> (u32, Option<Seconds>) {
    let available_from = |ready: Seconds| {
        let fraction = began.checked_add(ready.0).map_or(0, Timestamp::subsec_nanosecond);
        let counted = ready.0 - SignedDuration::from_nanos(i64::from(fraction)) + probation;
        Seconds(counted).max(ready)
    };
    let mut changes: Vec<(Seconds, i32)> = Vec::new();
    for pod in pods {
        // Whoever was there at the change had been available before.
        let mut is_down = false;
        for span in &pod.spans {
            let available = available_from(span.from);
            match (span.state, is_down) {
                (State::Ready, true) if available <= span.to => {
                    changes.push((available, -1));
                    is_down = false;
                }
                (State::Ready, _) | (_, true) => {}
                (_, false) => {
                    changes.push((span.from, 1));
                    is_down = true;
                }
            }
        }
    }
    changes.retain(|(at, _)| *at <= end);
    // One that comes back makes room for the next one at the same moment.
    changes.sort_unstable();
    let (mut count, mut most, mut when) = (0, 0, None);
    for (at, change) in changes {
        count += change;
        if count > most {
            (most, when) = (count, Some(at));
        }
    }
    (u32::try_from(most).unwrap_or_default(), when)
}

/// When each step began, as the rollout told it.
fn steps(words: &[String], timeline: &[Entry]) -> Vec<StepBegin> {
    let mut begun: Vec<StepBegin> = Vec::new();
    for entry in timeline {
        let What::Rollout { step, .. } = &entry.what else { continue };
        let Some(done) = step.split('/').next().and_then(|done| done.parse::<usize>().ok()) else { continue };
        let Some(does) = words.get(done) else { continue };
        if begun.last().is_none_or(|last| last.step < done + 1) {
            begun.push(StepBegin { step: done + 1, does: does.clone(), at: entry.at });
        }
    }
    begun
}

fn end_of(setting: &Setting, attended: &Attended, at: Seconds, pods: &[PodLife]) -> End {
    let store = &attended.outcome.store;
    let rollout = store.get(Resource::RolloutPlugins, &setting.start.rollout_key());
    let rollout: Option<RolloutPlugin> =
        rollout.and_then(|rollout| serde_json::from_value((**rollout).clone()).ok());
    let status: RolloutPluginStatus = rollout.and_then(|rollout| rollout.status).unwrap_or_default();
    let told = |text: Option<&str>| since_the_change(text.unwrap_or_default(), attended.began);
    let last = |is: &dyn Fn(&Span) -> bool| {
        pods.iter().filter_map(|pod| pod.spans.last()).filter(|span| is(span)).count()
    };
    let there = |span: &Span| span.state != State::Gone;
    End {
        outcome: attended.over.into(),
        at,
        phase: status.phase.clone().unwrap_or_else(|| "Unknown".to_owned()),
        message: told(status.message.as_deref()),
        waits: status
            .waits
            .iter()
            .map(|wait| Wait {
                reason: wait.reason.clone(),
                message: told(Some(&wait.message)),
                ends_when: wait.ends_when.clone(),
            })
            .collect(),
        pods_on_old: last(&|span| there(span) && span.version == Version::Old),
        pods_on_new: last(&|span| there(span) && span.version == Version::New),
        pods_ready: last(&|span| span.state == State::Ready),
    }
}
