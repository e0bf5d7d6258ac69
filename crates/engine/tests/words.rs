//! Every reason in words. A change of these sentences is a change of what people read in status, events and terminals.

use jiff::{SignedDuration, Timestamp};
use windlass_engine::{
    Flaw, Intent, PodName, PodState, PodTrouble, Reason, Refusal, Rejection, Revision, RolloutName, age_words,
    duration_words, explain, reject_words,
};

const SENTENCES: &str = "";

const REJECTIONS: &str = "";

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

/// One of each. The match makes sure of it: a new reason does not compile until it is here.
fn every_reason() -> Vec<Reason> {
    let workload = || "StatefulSet web".to_owned();
    let (a, b) = (Revision::new("A"), Revision::new("B"));
    let names = || vec![PodName::new("web-4"), PodName::new("web-3")];
    let broken = troubles().split_off(5);
    let reasons = vec![
        Reason::Invalid { flaws: vec![Flaw::new("no steps"), Flaw::new("no workloadRef")] },
        Reason::Refused(Refusal::Missing { workload: workload() }),
        Reason::Refused(Refusal::ReplacesOnDeleteOnly { workload: workload() }),
        Reason::Refused(Refusal::Taken { workload: workload(), by: RolloutName::new("other") }),
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
        Reason::Aborted { target: b },
    ];
    for reason in &reasons {
        match reason {
            Reason::Invalid { .. }
            | Reason::Refused(
                Refusal::Missing { .. } | Refusal::ReplacesOnDeleteOnly { .. } | Refusal::Taken { .. },
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
        text += &[reason.code(), person, "\n  ", &words.headline, "\n  until: ", &words.ends_when, "\n"].concat();
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
    let text: String = rows.iter().map(|(intent, why)| format!("\n{}", reject_words(*intent, why))).collect();
    assert_eq!(text, REJECTIONS, "{text}");
}

#[test]
fn durations_have_whole_units_the_largest_first() {
    for (seconds, words) in
        [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (90, "1m30s"), (3600, "1h"), (3660, "1h1m"), (3605, "1h0m5s")]
    {
        assert_eq!(duration_words(SignedDuration::from_secs(seconds)), words);
        assert_eq!(age_words(at(0), at(seconds)), words);
    }
}
