//! The words for people. Every reason becomes a sentence here and nowhere else: what is waited for, and what would end
//! the wait. Sentences carry no ages, only moments, because a text that changes by itself would be a write at rest.

use jiff::{SignedDuration, Timestamp};

use crate::check::{CheckPlace, Verdict};
use crate::intents::{Intent, Rejection};
use crate::observation::{PodState, Refusal};
use crate::reason::{PodTrouble, Reason};

/// A reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What is waited for.
    pub headline: String,
    /// What would end the wait.
    pub ends_when: String,
}

/// A reason in words.
pub fn explain(reason: &Reason) -> Explanation {
    let (headline, ends_when) = match reason {
        Reason::Invalid { flaws } => (
            flaws.iter().map(|flaw| flaw.text.as_str()).collect::<Vec<_>>().join("; "),
            "mend the specification; nothing is touched until then".to_owned(),
        ),
        Reason::Refused(refusal) => refusal_words(refusal),
        Reason::ControllerLags => (
            "waiting for the workload's own controller to catch up with the latest change".to_owned(),
            "the workload's controller observes it, usually at once; is that controller running?".to_owned(),
        ),
        Reason::Working => ("the next change is being written".to_owned(), "the write is done".to_owned()),
        Reason::Pods { revision, pods, right, wanted } => (
            format!("{right} of {wanted} pods are available on {revision}; waiting for {}", troubles(pods)),
            pods_remedy(pods),
        ),
        Reason::OneAtATime { left, waits_for } => (
            format!(
                "{} still to be put right, one at a time; waiting for {}",
                names(left),
                troubles(waits_for)
            ),
            pods_remedy(waits_for),
        ),
        Reason::CameBackWrong { pods, revision } => (
            format!(
                "came back on another revision than {revision}, and not deleted a second time: {}",
                names(pods)
            ),
            "look at who makes these pods, then delete them by hand or restart the rollout".to_owned(),
        ),
        Reason::StableForgotten { stable } => (
            format!("the workload's controller has forgotten {stable}: no pod can be put back on it"),
            "promote fully to accept the new version, or undo: put the former template back".to_owned(),
        ),
        Reason::Surplus { pods } => {
            (format!("scaling down: waiting for {} to go", troubles(pods)), "these pods are gone".to_owned())
        }
        Reason::ParkedAtZero => (
            "parked: the workload was scaled to zero in the middle of the run".to_owned(),
            "scale it up again: the run goes on from stable".to_owned(),
        ),
        Reason::HoldUntil { stage, until } => (
            format!("holding at step {} until {}", stage + 1, moment(*until)),
            "the time is over, or a person promotes".to_owned(),
        ),
        Reason::HoldForPerson { stage } => (
            format!("holding at step {} for a person", stage + 1),
            "promote to go on, or abort to go back".to_owned(),
        ),
        Reason::Checking { place, name } => (
            format!("{} is running ({name})", check_words(*place)),
            "it is over; `kubectl windlass get` shows what was measured so far".to_owned(),
        ),
        Reason::Undecided(undecided) => (
            format!(
                "{} {}: {} ({})",
                check_words(undecided.place),
                verdict_words(undecided.verdict),
                undecided.why,
                undecided.name
            ),
            match undecided.verdict {
                Verdict::Failed => "promote to keep it, or undo: put the former template back",
                _ => "promote to go on all the same, or abort to go back",
            }
            .to_owned(),
        ),
        Reason::CheckAgain { place, name, why, at } => (
            format!(
                "{} could not be measured: {why} ({name}); it begins again at {}",
                check_words(*place),
                moment(*at)
            ),
            "it can be measured again; promote fully to go on without it, or abort to go back".to_owned(),
        ),
        Reason::PausedByPerson => {
            ("paused by a person".to_owned(), "resume it; an abort works all the same".to_owned())
        }
        Reason::Overdue { after } => (
            format!("no progress for {}", duration_words(*after)),
            "pods make progress again, or abort to go back, or promote fully".to_owned(),
        ),
        Reason::Aborted { target, blame } => (
            match blame {
                Some(blame) => format!(
                    "{target} was aborted because of {}: {}; every pod belongs on stable",
                    check_words(blame.place),
                    blame.why
                ),
                None => format!("{target} was aborted; every pod belongs on stable"),
            },
            "restart to try it again from the first step, or change the template".to_owned(),
        ),
    };
    Explanation { headline, ends_when }
}

fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Successful => "has passed",
        Verdict::Inconclusive => "is inconclusive",
        Verdict::Error => "could not be measured",
        Verdict::Failed => "has failed when every pod was updated, so nothing can be put back",
    }
}

fn check_words(place: CheckPlace) -> String {
    match place {
        CheckPlace::Stage(stage) => format!("the analysis of step {}", stage + 1),
        CheckPlace::Background => "the background analysis".to_owned(),
    }
}

/// Why an intent was turned down, in words.
pub fn reject_words(intent: Intent, rejection: &Rejection) -> String {
    let what = match intent {
        Intent::Abort => "abort",
        Intent::Restart => "restart",
        Intent::PromoteFull => "full promotion",
        Intent::Promote => "promotion",
    };
    let why = match rejection {
        Rejection::NoRun => "no update is waiting for it",
        Rejection::Completed => {
            "the update is completed, so there is nothing to abort; to go back, undo: put the former template back"
        }
        Rejection::StableForgotten => {
            "every pod is updated and the workload's controller has forgotten the former version; \
             to go back, undo: put the former template back"
        }
        Rejection::AlreadyAborted => "the update is aborted already",
        Rejection::Aborted => "the update is aborted; restart it first",
        Rejection::NotAborted => "nothing is aborted",
        Rejection::Returning => "the template was put back and every pod is on its way to it already",
        Rejection::TargetChanged => "the template changed meanwhile, so it was meant for another version",
        Rejection::AbortWins => "an abort came at the same moment and wins",
        Rejection::CannotAct => "nothing is touched until what is wrong with this rollout is mended",
    };
    format!("{what} rejected: {why}")
}

fn refusal_words(refusal: &Refusal) -> (String, String) {
    match refusal {
        Refusal::Missing { workload } => (
            format!("{workload} does not exist in this namespace"),
            "create it, or mend the reference to it".to_owned(),
        ),
        Refusal::NotNamed { why } => (why.clone(), "mend the reference".to_owned()),
        Refusal::ReplacesOnDeleteOnly { workload } => (
            format!(
                "{workload} has the update strategy OnDelete: its pods are replaced whenever somebody deletes them, so nothing can be held"
            ),
            "set its update strategy to RollingUpdate".to_owned(),
        ),
        Refusal::Taken { workload, by } => (
            format!("{workload} belongs to the rollout {by} already; a workload has one rollout"),
            format!("delete this rollout or {by}"),
        ),
        Refusal::RememberedByNewer { version, known } => (
            format!(
                "what is remembered of this rollout was written by a newer version of Windlass (status.memo has version {version}, this one knows {known})"
            ),
            "run that version again, or clear status.memo: this one then starts the run anew".to_owned(),
        ),
    }
}

fn troubles(pods: &[PodTrouble]) -> String {
    list(pods.iter().map(trouble))
}

fn trouble(pod: &PodTrouble) -> String {
    let state = match &pod.state {
        Some(PodState::Ready { available_at }) if pod.since.is_some_and(|since| since < *available_at) => {
            format!("ready, available from {}", moment(*available_at))
        }
        state => pod_words(state.as_ref()),
    };
    let revision = pod.revision.as_ref().map(|revision| format!(" on {revision}")).unwrap_or_default();
    format!("{} ({state}{revision})", pod.name)
}

/// What a pod does, in a word or two; no state means that there is no such pod at the moment.
pub fn pod_words(state: Option<&PodState>) -> String {
    match state {
        None => "does not exist yet".to_owned(),
        Some(PodState::Terminating) => "terminating".to_owned(),
        Some(PodState::NotReady { why: Some(why) }) => why.clone(),
        Some(PodState::NotReady { why: None }) => "not ready".to_owned(),
        Some(PodState::Ready { .. }) => "ready".to_owned(),
    }
}

fn pods_remedy(pods: &[PodTrouble]) -> String {
    let broken = pods
        .iter()
        .find(|pod| matches!(&pod.state, Some(PodState::NotReady { why: Some(why) }) if is_broken(why)));
    match broken {
        Some(pod) => format!("{} becomes available: look at its logs and events", pod.name),
        None if pods.iter().any(|pod| pod.state == Some(PodState::Terminating)) => {
            "what is terminating is gone, and its successor available".to_owned()
        }
        None => "these pods are available".to_owned(),
    }
}

/// Words of a kubelet that time alone seldom mends.
fn is_broken(why: &str) -> bool {
    why.contains("BackOff") || why.contains("Err") || why.contains("Invalid") || why.contains("Unschedulable")
}

fn names(pods: &[crate::names::PodName]) -> String {
    list(pods.iter().map(ToString::to_string))
}

/// At most five, then how many more: a sentence stays a sentence with a thousand pods.
fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let more = items.len().saturating_sub(SHOWN);
    let mut text = items.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text = format!("{text} and {more} more");
    }
    text
}

/// `90s` as `1m30s`: whole seconds, the largest unit first.
pub fn duration_words(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, rest) => format!("{rest}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, rest) => format!("{minutes}m{rest}s"),
        (hours, 0, 0) => format!("{hours}h"),
        (hours, minutes, 0) => format!("{hours}h{minutes}m"),
        (hours, minutes, rest) => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// The age of something, for terminals: two units at most, as kubectl does.
pub fn age_words(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..600 => duration_words(SignedDuration::from_secs(seconds)),
        600..36_000 => duration_words(SignedDuration::from_secs(seconds - seconds % 60)),
        36_000..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A moment in whole seconds: nobody plans by nanoseconds.
fn moment(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}
