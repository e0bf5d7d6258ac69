//! Every reason in words. A change of these sentences is a change of what people read in status, events and terminals.

use jiff::{SignedDuration, Timestamp};
use windlass_engine::{
    Blame, CheckName, CheckPlace, Flaw, Intent, PodName, PodState, PodTrouble, Reason, Refusal, Rejection,
    Revision, RolloutName, Undecided, Verdict, age_words, duration_words, explain, reject_words,
};

const SENTENCES: &str = "
InvalidSpec (person)
  no steps; no workloadRef
  until: mend the specification; nothing is touched until then
WorkloadMissing (person)
  StatefulSet web does not exist in this namespace
  until: create it, or mend the reference to it
WorkloadMissing (person)
  spec.workloadRef.name is required
  until: mend the reference
WorkloadCannotBeHeld (person)
  StatefulSet web has the update strategy OnDelete: its pods are replaced whenever somebody deletes them, so nothing can be held
  until: set its update strategy to RollingUpdate
WorkloadTaken (person)
  StatefulSet web belongs to the rollout other already; a workload has one rollout
  until: delete this rollout or other
StatusFromNewerVersion (person)
  what is remembered of this rollout was written by a newer version of Windlass (status.memo has version 2, this one knows 1)
  until: run that version again, or clear status.memo: this one then starts the run anew
ControllerLags
  waiting for the workload's own controller to catch up with the latest change
  until: the workload's controller observes it, usually at once; is that controller running?
Working
  the next change is being written
  until: the write is done
WaitingForPods
  1 of 7 pods are available on B; waiting for web-5 (does not exist yet), web-4 (terminating on B), web-3 (not ready on B), web-2 (ready, available from 2023-11-14T22:13:50Z on B), web-1 (ready on A) and 1 more
  until: web-0 becomes available: look at its logs and events
WaitingForPods
  2 of 3 pods are available on B; waiting for web-5 (does not exist yet)
  until: these pods are available
OneAtATime
  web-4, web-3 still to be put right, one at a time; waiting for web-0 (CrashLoopBackOff on B)
  until: web-0 becomes available: look at its logs and events
CameBackWrong (person)
  came back on another revision than A, and not deleted a second time: web-4, web-3
  until: look at who makes these pods, then delete them by hand or restart the rollout
StableForgotten (person)
  the workload's controller has forgotten A: no pod can be put back on it
  until: promote fully to accept the new version, or undo: put the former template back
ScalingDown
  scaling down: waiting for web-4 (terminating on B) to go
  until: these pods are gone
ParkedAtZero (person)
  parked: the workload was scaled to zero in the middle of the run
  until: scale it up again: the run goes on from stable
HoldUntil
  holding at step 2 until 2023-11-14T22:18:20Z
  until: the time is over, or a person promotes
HoldForPerson (person)
  holding at step 2 for a person
  until: promote to go on, or abort to go back
PausedByPerson (person)
  paused by a person
  until: resume it; an abort works all the same
ProgressDeadlineExceeded
  no progress for 1m30s
  until: pods make progress again, or abort to go back, or promote fully
AnalysisRunning
  the analysis of step 3 is running (web-B-2)
  until: it is over; `kubectl windlass get` shows what was measured so far
AnalysisUndecided (person)
  the analysis of step 3 is inconclusive: the value is NaN (web-B)
  until: promote to go on all the same, or abort to go back
AnalysisUndecided (person)
  the background analysis could not be measured: the value is NaN (web-B)
  until: promote to go on all the same, or abort to go back
AnalysisUndecided (person)
  the analysis of step 3 has failed when every pod was updated, so nothing can be put back: the value is NaN (web-B)
  until: promote to keep it, or undo: put the former template back
AnalysisError
  the background analysis could not be measured: cannot reach prometheus:9090 (web-B); it begins again at 2023-11-14T22:18:20Z
  until: it can be measured again; promote fully to go on without it, or abort to go back
Aborted (person)
  B was aborted; every pod belongs on stable
  until: restart to try it again from the first step, or change the template
Aborted (person)
  B was aborted because of the analysis of step 3: Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0); every pod belongs on stable
  until: restart to try it again from the first step, or change the template
";

const REJECTIONS: &str = "
abort rejected: no update is waiting for it
abort rejected: the update is completed, so there is nothing to abort; to go back, undo: put the former template back
abort rejected: every pod is updated and the workload's controller has forgotten the former version; to go back, undo: put the former template back
abort rejected: the update is aborted already
full promotion rejected: the update is aborted; restart it first
restart rejected: nothing is aborted
full promotion rejected: the template was put back and every pod is on its way to it already
promotion rejected: the template changed meanwhile, so it was meant for another version
restart rejected: an abort came at the same moment and wins
promotion rejected: nothing is touched until what is wrong with this rollout is mended";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap_or_default()
}

fn trouble(name: &str, revision: Option<&str>, state: Option<PodState>) -> PodTrouble {
    let since = state.is_some().then(|| at(0));
    PodTrouble { name: PodName::new(name), revision: revision.map(Revision::new), state, since }
}

fn troubles() -> Vec<PodTrouble> {
    let broken = PodState::NotReady { why: Some("CrashLoopBackOff".to_owned()) };
    vec![
        trouble("web-5", None, None),
        trouble("web-4", Some("B"), Some(PodState::Terminating)),
        trouble("web-3", Some("B"), Some(PodState::NotReady { why: None })),
        trouble("web-2", Some("B"), Some(PodState::Ready { available_at: at(30) })),
        trouble("web-1", Some("A"), Some(PodState::Ready { available_at: at(0) })),
        trouble("web-0", Some("B"), Some(broken)),
    ]
}

fn undecided(place: CheckPlace, verdict: Verdict) -> Undecided {
    let why = "the value is NaN".to_owned();
    Undecided { place, name: CheckName::new("web-B"), verdict, why, since: at(0) }
}

/// One of each. The match makes sure of it: a new reason does not compile until it is here.
fn every_reason() -> Vec<Reason> {
    let workload = || "StatefulSet web".to_owned();
    let (a, b) = (Revision::new("A"), Revision::new("B"));
    let names = || vec![PodName::new("web-4"), PodName::new("web-3")];
    let broken = troubles().split_off(5);
    let reasons = vec![
        Reason::Invalid { flaws: vec![Flaw::new("no steps"), Flaw::new("no workloadRef")] },
        Reason::Refused(Refusal::Missing { workload: workload() }),
        Reason::Refused(Refusal::NotNamed { why: "spec.workloadRef.name is required".to_owned() }),
        Reason::Refused(Refusal::ReplacesOnDeleteOnly { workload: workload() }),
        Reason::Refused(Refusal::Taken { workload: workload(), by: RolloutName::new("other") }),
        Reason::Refused(Refusal::RememberedByNewer { version: 2, known: 1 }),
        Reason::ControllerLags,
        Reason::Working,
        Reason::Pods { revision: b.clone(), pods: troubles(), right: 1, wanted: 7 },
        Reason::Pods { revision: b.clone(), pods: troubles()[..1].to_vec(), right: 2, wanted: 3 },
        Reason::OneAtATime { left: names(), waits_for: broken },
        Reason::CameBackWrong { pods: names(), revision: a.clone() },
        Reason::StableForgotten { stable: a },
        Reason::Surplus { pods: troubles()[1..2].to_vec() },
        Reason::ParkedAtZero,
        Reason::HoldUntil { stage: 1, until: at(300) },
        Reason::HoldForPerson { stage: 1 },
        Reason::PausedByPerson,
        Reason::Overdue { after: SignedDuration::from_secs(90) },
        Reason::Checking { place: CheckPlace::Stage(2), name: CheckName::new("web-B-2") },
        Reason::Undecided(undecided(CheckPlace::Stage(2), Verdict::Inconclusive)),
        Reason::Undecided(undecided(CheckPlace::Background, Verdict::Error)),
        Reason::Undecided(undecided(CheckPlace::Stage(2), Verdict::Failed)),
        Reason::CheckAgain {
            place: CheckPlace::Background,
            name: CheckName::new("web-B"),
            why: "cannot reach prometheus:9090".to_owned(),
            at: at(300),
        },
        Reason::Aborted { target: b.clone(), blame: None },
        Reason::Aborted {
            target: b,
            blame: Some(Blame {
                place: CheckPlace::Stage(2),
                name: CheckName::new("web-B-2"),
                verdict: Verdict::Failed,
                why: "Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0)".to_owned(),
            }),
        },
    ];
    for reason in &reasons {
        match reason {
            Reason::Invalid { .. }
            | Reason::Refused(
                Refusal::Missing { .. }
                | Refusal::NotNamed { .. }
                | Refusal::ReplacesOnDeleteOnly { .. }
                | Refusal::Taken { .. }
                | Refusal::RememberedByNewer { .. },
            )
            | Reason::ControllerLags
            | Reason::Working
            | Reason::Pods { .. }
            | Reason::OneAtATime { .. }
            | Reason::CameBackWrong { .. }
            | Reason::StableForgotten { .. }
            | Reason::Surplus { .. }
            | Reason::ParkedAtZero
            | Reason::HoldUntil { .. }
            | Reason::HoldForPerson { .. }
            | Reason::Checking { .. }
            | Reason::Undecided(_)
            | Reason::CheckAgain { .. }
            | Reason::PausedByPerson
            | Reason::Overdue { .. }
            | Reason::Aborted { .. } => {}
        }
    }
    reasons
}

#[test]
fn every_reason_is_a_sentence_that_says_what_would_end_it() {
    let mut text = String::from("\n");
    for reason in every_reason() {
        let words = explain(&reason);
        let person = if reason.needs_person() { " (person)" } else { "" };
        text +=
            &[reason.code(), person, "\n  ", &words.headline, "\n  until: ", &words.ends_when, "\n"].concat();
    }
    assert_eq!(text, SENTENCES, "{text}");
}

#[test]
fn every_rejection_says_who_is_rejected_and_why() {
    let rows = [
        (Intent::Abort, Rejection::NoRun),
        (Intent::Abort, Rejection::Completed),
        (Intent::Abort, Rejection::StableForgotten),
        (Intent::Abort, Rejection::AlreadyAborted),
        (Intent::PromoteFull, Rejection::Aborted),
        (Intent::Restart, Rejection::NotAborted),
        (Intent::PromoteFull, Rejection::Returning),
        (Intent::Promote, Rejection::TargetChanged),
        (Intent::Restart, Rejection::AbortWins),
        (Intent::Promote, Rejection::CannotAct),
    ];
    let lines: Vec<String> = rows.iter().map(|(intent, why)| reject_words(*intent, why)).collect();
    let text = ["\n", &lines.join("\n")].concat();
    assert_eq!(text, REJECTIONS, "{text}");
}

#[test]
fn durations_have_whole_units_the_largest_first() {
    for (seconds, words) in [
        (-5, "0s"),
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (90, "1m30s"),
        (3600, "1h"),
        (3660, "1h1m"),
        (3605, "1h0m5s"),
    ] {
        assert_eq!(duration_words(SignedDuration::from_secs(seconds)), words);
    }
}

#[test]
fn an_age_gets_coarser_as_it_grows() {
    for (seconds, words) in
        [(-5, "0s"), (90, "1m30s"), (605, "10m"), (3660, "1h1m"), (86_400, "24h"), (259_205, "3d")]
    {
        assert_eq!(age_words(at(0), at(seconds)), words);
    }
}
