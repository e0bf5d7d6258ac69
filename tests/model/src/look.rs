//! One look of the controller: what it sees, what the engine decides, which one request goes out. As in
//! `crates/controller/src/reconcile.rs`: at most one write, then it looks again. Whatever must hold at every look is
//! judged here.

use windlass_engine::{
    Announcement, Answer, Decision, Exposure, Intent, Intents, Memo, Move, Observation, Order, Plan,
    Promotion, Reason, Seen, Standing, audit, decide,
};

use crate::memory::SmallMemo;
use crate::moments::{now, number};
use crate::set::{Does, HOLD, Holder, PODS, Set, SmallRecord, ordinal, read_uid};

/// The rollout: what a person can push, and what is remembered.
#[expect(clippy::struct_excessive_bools, reason = "five buttons, each pushed or not")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rollout {
    /// As stored in the status.
    pub memo: SmallMemo,
    /// A person holds it.
    pub paused: bool,
    /// Pushed and not yet answered.
    pub abort: bool,
    /// Pushed and not yet answered.
    pub restart: bool,
    /// Pushed and not yet answered.
    pub promote_full: bool,
    /// Pushed and not yet answered: for the hold in the same status.
    pub promote: bool,
}

/// A request on its way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// The status of the rollout; the flag says that a restart is answered with it.
    Store(SmallMemo, bool),
    /// The pause of the rollout is lifted.
    LiftPause,
    /// The set is patched.
    Expose(u8, Option<SmallRecord>),
    /// The set is patched.
    Release,
    /// A pod is deleted: its ordinal and its uid.
    Delete(u8, u8),
}

/// What came of a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// What may go out: more than one when it is a matter of time which is first.
    pub requests: Vec<Request>,
    /// How the rollout stands.
    pub standing: Standing,
    /// The reasons of the waits.
    pub waits: Vec<&'static str>,
}

/// Looks, and judges the look.
pub fn look(holder: Holder, plan: &Plan, set: &Set, rollout: &Rollout) -> Result<Looked, String> {
    let observation = set.observe(holder);
    let seen = Seen::Workload(observation.clone());
    let plan = Plan { paused: rollout.paused, ..plan.clone() };
    let memo = rollout.memo.memo();
    let intents = intents(rollout, &memo);
    let decision = decide(now(), Ok(&plan), &seen, &memo, &intents);
    let found = audit(now(), &plan, &observation, &memo, &intents, &decision);
    if !found.is_empty() {
        return Err(format!("audit: {found:?}"));
    }
    second_look(&plan, &seen, &decision)?;
    let requests = requests(&memo, &decision);
    own_rules(set, rollout, &observation, &decision, &requests)?;
    Ok(Looked {
        requests,
        standing: decision.standing,
        waits: decision.reasons().map(Reason::code).collect(),
    })
}

fn intents(rollout: &Rollout, memo: &Memo) -> Intents {
    let shown = memo.run.as_ref().and_then(|run| {
        run.holding_since()?;
        Some(Promotion { target: run.target.clone(), stage: run.stage() })
    });
    Intents {
        abort: rollout.abort,
        restart: rollout.restart,
        promote_full: rollout.promote_full,
        promote: shown.filter(|_| rollout.promote),
    }
}

/// Rule 7: looked at again, nothing is new.
fn second_look(plan: &Plan, seen: &Seen, first: &Decision) -> Result<(), String> {
    if first.lift_pause {
        return Ok(()); // the plan is about to change
    }
    let second = decide(now(), Ok(plan), seen, &first.memo, &Intents::default());
    let same = second.memo == first.memo
        && second.next == first.next
        && second.standing == first.standing
        && second.announcements.is_empty();
    if same { Ok(()) } else { Err(format!("rule 7: a second look differs: {first:?}, then {second:?}")) }
}

/// What `look_once` would send.
fn requests(before: &Memo, decision: &Decision) -> Vec<Request> {
    if decision.lift_pause {
        return vec![Request::LiftPause];
    }
    let next = decision.next.as_ref().and_then(request);
    if decision.order == Order::MoveFirst {
        return next.into_iter().collect();
    }
    let after = SmallMemo::read(&decision.memo);
    let restarts = decision.announcements.iter().any(|told| {
        matches!(told, Announcement::Answered { intent: Intent::Restart, answer: Answer::Accepted })
    });
    let store = Request::Store(after, restarts);
    let urgent = after.essence() != SmallMemo::read(before).essence() || !decision.announcements.is_empty();
    if urgent {
        vec![store]
    } else if decision.memo == *before {
        next.into_iter().collect()
    } else {
        // Stored a moment later, or right now: it depends on what else is going on.
        next.into_iter().chain([store]).collect()
    }
}

fn request(next: &Move) -> Option<Request> {
    match next {
        // The plans of this model have no checks.
        Move::Claim | Move::Check(_) => None,
        Move::Expose(exposure, record) => Some(Request::Expose(
            match exposure {
                Exposure::Held => HOLD,
                Exposure::First(count) => PODS.saturating_sub(u8::try_from(*count).unwrap_or(PODS)),
            },
            record.map(|record| SmallRecord {
                run: number(record.run).unwrap_or(crate::set::NEWBORN),
                stage: u8::try_from(record.stage).unwrap_or(u8::MAX),
            }),
        )),
        Move::Free(pod) => {
            Some(Request::Delete(u8::try_from(ordinal(&pod.name)).unwrap_or(0), read_uid(&pod.uid)))
        }
        Move::Release => Some(Request::Release),
    }
}

/// The invariants once more, judged on the small state and not by `audit`.
fn own_rules(
    set: &Set,
    rollout: &Rollout,
    seen: &Observation,
    decision: &Decision,
    requests: &[Request],
) -> Result<(), String> {
    let aborted = SmallMemo::read(&decision.memo).is_aborted();
    for request in requests {
        if rollout.paused && !aborted && !matches!(request, Request::Store(..) | Request::LiftPause) {
            return Err(format!("I4: {request:?} although a person paused it"));
        }
        if rollout.paused && *request == Request::LiftPause && !rollout.promote_full {
            return Err("I4: the pause is lifted, and nobody asked".to_owned());
        }
        if let Request::Delete(ordinal, uid) = *request {
            may_delete(set, ordinal, uid)?;
        }
    }
    let healthy = set.former.is_none()
        && set.current == set.spec.template
        && set.is_all_on(set.spec.template)
        && decision.memo.run.is_none();
    if decision.standing == Standing::Healthy && !healthy {
        return Err(format!("I7: called healthy: {seen:?}"));
    }
    Ok(())
}

/// I2, on what the controller sees.
fn may_delete(set: &Set, ordinal: u8, uid: u8) -> Result<(), String> {
    let pod = set.pods[usize::from(ordinal)].filter(|pod| pod.uid == uid);
    let Some(pod) = pod else { return Err(format!("I2: nobody saw pod {ordinal} with uid {uid}")) };
    let comes_back = if ordinal < set.spec.partition { set.current } else { set.spec.template };
    if pod.version == comes_back || set.former.is_some() {
        return Err(format!("I2: pod {ordinal} is deleted and may come back no better"));
    }
    let others = (0..PODS).zip(set.pods).filter(|(other, _)| *other != ordinal);
    let down = others.filter(|(_, pod)| pod.is_none_or(|pod| pod.does != Does::Ready)).count();
    if pod.does == Does::Ready && down > 0 {
        return Err(format!("I2: pod {ordinal} is deleted while another one is down"));
    }
    Ok(())
}
