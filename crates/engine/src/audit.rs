//! The second opinion: looks at what went into a decision and what came out, and lists what breaks an invariant of
//! DESIGN section 5. It is written without looking at `decide`, so that a mistake has to be made twice to go unseen.
//!
//! I8 and I10 cannot be judged from one decision on a workload that is there; the controller's tests see to them.

mod checks;

use jiff::Timestamp;

use crate::check::{CheckId, CheckMove};
use crate::decision::{Announcement, Answer, Decision, Move, PodRef, Standing};
use crate::intents::{Intent, Intents};
use crate::memo::{Journey, Memo, Outcome, Part, Run};
use crate::names::{CheckName, PodName, Revision};
use crate::observation::{Exposure, Observation, Pod, PodState, Slot};
use crate::plan::{Hold, Plan};
use crate::reason::Reason;

/// An invariant that a decision breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// I1: more pods would be let to the target than the run's place in the plan allows.
    TooExposed(Exposure),
    /// I1: a move that cannot be taken back was made on revisions that may be old.
    ActedBlind,
    /// I1: the workload wants another revision than the run that goes on, so a move would let the wrong one through.
    StaleTarget(Revision),
    /// I1: a stage was left although its pods are not on the target and available.
    AdvancedUnproven(usize),
    /// I1, I6: a hold was left before its time, and nobody promoted it.
    HoldCutShort(usize),
    /// I1: the mark was taken off while pods may still be moved by that.
    ReleasedEarly,
    /// I2, rule 9: a pod nobody saw under that name and identity was to be deleted.
    FreedUnseen(PodRef),
    /// I2: a pod already on its way out was to be deleted.
    FreedTerminating(PodRef),
    /// Rule 9: a deletion was not in the memo before the act.
    FreedUnrecorded(PodRef),
    /// I2: the successor of a pod deleted in this run was to be deleted as well.
    FreedTwice(PodRef),
    /// I2: a pod would come back no better than it went.
    FreedInVain(PodRef),
    /// I2: a ready pod was to be deleted while the place of one deleted before is not available yet.
    FreedOutOfTurn(PodRef),
    /// I3: called aborted while pods are not back on stable, or left off stable without a word.
    AbortedTooSoon(Vec<PodName>),
    /// I4: the workload would be changed although a person paused the rollout.
    MovedWhilePaused(Move),
    /// I4: a person's pause was lifted although nobody asked for full promotion.
    PauseLiftedUnasked,
    /// I5: an intent was not answered exactly once, or answered without being asked.
    AnsweredWrong {
        /// Which.
        intent: Intent,
        /// How often it was answered.
        times: usize,
    },
    /// I5: an intent was accepted, but what it asked for is not what the memo says.
    AcceptedWithoutEffect(Intent),
    /// I3, I5: an abort was accepted although the workload's controller has forgotten stable.
    AcceptedImpossibleAbort,
    /// I6: a promotion was accepted for another target or stage than it was given for.
    PromotedAnother,
    /// I7: called healthy while something speaks against it.
    HealthyUnproven,
    /// I7: a run was called completed or returned while something speaks against it.
    EndedUnproven(Outcome),
    /// I9: nothing is done and nothing is said about it.
    SilentWait,
    /// I9: the next look is in the past.
    WakeInThePast(Timestamp),
    /// I9: the end of a timed hold would be slept through.
    Oversleeps(Timestamp),
    /// Rule 7: something was told although nothing changed; it would be told at every look.
    AnnouncedAtRest(Announcement),
    /// Rule 7: a move asks for what is there already; it would be made at every look.
    IdleMove(Move),
    /// I1: a stage was left although its check has not passed, and nobody promoted it.
    CheckSkipped(usize),
    /// I1: more pods would be let to the target although a check speaks against it, or nobody can tell.
    ExposedUnchecked(Exposure),
    /// I1: a run was called completed although a check that it listened to says something else than good.
    CompletedUnchecked(CheckId),
    /// I3: a check failed, everything could be put back, and the run goes on.
    VerdictIgnored(CheckId),
    /// I3, I4: a run was turned round because of a check that did not say so, or while a person had paused it.
    AbortedUnproven,
    /// Rule 7: a check was to be begun that is there, or that nobody listens to.
    BegunInVain(CheckId),
    /// A check was to be ended that somebody listens to or may listen to, or that is ending already.
    EndedInVain(CheckName),
    /// I1: a run begins to listen to a check that was asked to end, and would believe what it says because of that.
    AdoptedEnded(CheckId),
    /// The memo belongs to another workload.
    WrongWorkload,
}

/// Lists what breaks an invariant in one decision; empty is good.
pub fn audit(
    now: Timestamp,
    plan: &Plan,
    seen: &Observation,
    before: &Memo,
    intents: &Intents,
    decision: &Decision,
) -> Vec<Violation> {
    // The memory of a workload that was made again is worth nothing.
    let forgotten = before.workload.as_ref().is_some_and(|workload| *workload != seen.workload);
    let was = before.run.as_ref().filter(|_| !forgotten).map(|run| with_record(run, seen));
    let look = Look { now, plan, seen, decision, intents, was: was.as_ref(), is: decision.memo.run.as_ref() };
    let mut found = Vec::new();
    look.exposure(&mut found);
    look.frees(&mut found);
    look.journey(&mut found);
    look.moves(&mut found);
    look.checks(&mut found);
    look.answers(&mut found);
    look.words(before, &mut found);
    found
}

/// A stage whose exposure was written and recorded was proven then: the look that did it was audited as well.
fn with_record(run: &Run, seen: &Observation) -> Run {
    let mut run = run.clone();
    if let (Journey::Advancing { stage, part }, Some(record)) = (&mut run.journey, seen.recorded)
        && record.run == run.started_at
        && record.stage > *stage
    {
        (*stage, *part) = (record.stage, Part::Expose);
    }
    run
}

struct Look<'a> {
    now: Timestamp,
    plan: &'a Plan,
    seen: &'a Observation,
    decision: &'a Decision,
    intents: &'a Intents,
    was: Option<&'a Run>,
    is: Option<&'a Run>,
}

impl Look<'_> {
    /// I1: what a move lets through.
    fn exposure(&self, found: &mut Vec<Violation>) {
        let seen = self.seen;
        if let Some(run) = self.is.filter(|run| seen.settled && !self.same(run.expects(), &seen.target)) {
            found.push(Violation::StaleTarget(run.expects().clone()));
        }
        let Some(Move::Expose(asked, _)) = self.decision.next else { return };
        let within = match (asked, self.allowed()) {
            (Exposure::Held, _) => true,
            (Exposure::First(_), Exposure::Held) => false,
            (Exposure::First(asked), Exposure::First(allowed)) => asked <= allowed,
        };
        if !within {
            found.push(Violation::TooExposed(asked));
        }
        // To hold more back is safe at any time; to let more through needs to know what.
        if !seen.settled && matches!(asked, Exposure::First(count) if count > seen.exposed()) {
            found.push(Violation::ActedBlind);
        }
    }

    /// I2, I3 and rule 9: what a deletion does.
    fn frees(&self, found: &mut Vec<Violation>) {
        let Some(Move::Free(free)) = &self.decision.next else { return };
        let is_meant = |pod: &&Pod| pod.uid == free.uid && pod.name == free.name;
        let Some(pod) = self.seen.pods().chain(&self.seen.surplus).find(is_meant) else {
            found.push(Violation::FreedUnseen(free.clone()));
            return;
        };
        if pod.is_terminating() {
            found.push(Violation::FreedTerminating(free.clone()));
        }
        if !self.seen.settled {
            found.push(Violation::ActedBlind);
        }
        if self.is.and_then(|run| run.freed.get(&free.name)) != Some(&free.uid) {
            found.push(Violation::FreedUnrecorded(free.clone()));
        }
        // A surplus pod does not come back; it may be in the way of others that have to go.
        let wanted = match self.is.map(|run| &run.journey) {
            Some(Journey::Returning) => &self.seen.target,
            _ => &self.seen.stable,
        };
        let surplus = self.seen.surplus.iter().any(|pod| pod.uid == free.uid && !pod.is_on(wanted));
        if !surplus && self.comes_back_on(&free.name).is_none_or(|revision| pod.is_on(revision)) {
            found.push(Violation::FreedInVain(free.clone()));
        }
        let Some(was) = self.was.filter(|_| self.goes_on()) else { return };
        // A template that is put back gives every pod another goal: what was freed for the old one may have to go again.
        let turned =
            was.journey != Journey::Returning && self.is.is_some_and(|run| run.journey == Journey::Returning);
        if !turned && was.freed.get(&free.name).is_some_and(|earlier| *earlier != free.uid) {
            found.push(Violation::FreedTwice(free.clone()));
        }
        // A pod that serves nobody may be deleted at any time: others may be unable to come up until it is gone.
        if matches!(pod.state, PodState::Ready { .. }) {
            let is_there = |slot: &Slot| {
                slot.pod.as_ref().is_some_and(|pod| {
                    // One that was to be deleted, and came up before it was, serves on.
                    let serves = was.freed.get(&pod.name) == Some(&pod.uid)
                        && matches!(pod.state, PodState::Ready { .. });
                    pod.is_available(self.now) || serves
                })
            };
            let freed = |slot: &Slot| slot.name != free.name && was.freed.contains_key(&slot.name);
            if self.seen.slots.iter().any(|slot| freed(slot) && !is_there(slot)) {
                found.push(Violation::FreedOutOfTurn(free.clone()));
            }
        }
    }

    /// I1, I3, I7: where the run went.
    fn journey(&self, found: &mut Vec<Violation>) {
        if let Some(Run { journey: Journey::Aborted { .. }, stable, .. }) = self.is {
            let entered = !matches!(self.was, Some(Run { journey: Journey::Aborted { .. }, .. }));
            let stable = self.seen.known_as(stable);
            let off = |pod: &&Pod| !pod.is_on(stable);
            let mut strays: Vec<_> = self.seen.pods().filter(off).map(|pod| pod.name.clone()).collect();
            if entered {
                let missing = self.seen.slots.iter().filter(|slot| slot.pod.is_none());
                strays.extend(missing.map(|slot| slot.name.clone()));
                strays.extend(self.seen.surplus.iter().filter(off).map(|pod| pod.name.clone()));
            }
            // One that turns up later is put right from there, as long as that is done or said.
            let silent = self.decision.next.is_none() && self.decision.waits.len() < 2;
            if (entered && !self.seen.settled) || (!strays.is_empty() && (entered || silent)) {
                found.push(Violation::AbortedTooSoon(strays));
            }
        }
        if let Some(ended) = &self.decision.memo.ended
            && let (Some(was), None) = (self.was, self.is)
        {
            let proven = match ended.outcome {
                Outcome::Completed => {
                    // Scaled to zero is parked, not completed.
                    self.same(&was.target, &self.seen.target)
                        && self.seen.replicas() > 0
                        && self.are_there(self.seen.replicas())
                }
                Outcome::Returned => {
                    let back = self.seen.pods().all(|pod| pod.is_on(&self.seen.target));
                    let there = self.are_there(self.seen.replicas());
                    // After an abort they were all back before, whatever became of one of them since.
                    self.same(&was.stable, &self.seen.target) && if was.is_aborted() { back } else { there }
                }
                Outcome::Superseded => true,
            };
            if !proven || !self.seen.settled {
                found.push(Violation::EndedUnproven(ended.outcome));
            }
        }
        self.advance(found);
    }

    /// I1, I6: whether a stage was left for a reason.
    fn advance(&self, found: &mut Vec<Violation>) {
        let Some(Journey::Advancing { stage, part }) = self.was.map(|run| run.journey.clone()) else {
            return;
        };
        let completed = |memo: &Memo| matches!(&memo.ended, Some(end) if end.outcome == Outcome::Completed);
        let (next, now_does) = match self.is.map(|run| &run.journey) {
            Some(Journey::Advancing { stage, part }) => (*stage, *part),
            Some(Journey::Completing) => (self.plan.stages.len(), Part::Expose),
            None if completed(&self.decision.memo) => (self.plan.stages.len(), Part::Expose),
            _ => return,
        };
        let checked = matches!((part, now_does), (Part::Check { .. }, Part::Hold { .. }));
        let wanted = self.plan.stages.get(stage).is_some_and(|stage| stage.check.is_some());
        if next == stage && checked && wanted && !self.has_passed(stage) {
            found.push(Violation::CheckSkipped(stage));
        }
        let stays = next == stage && (part != Part::Expose || now_does == Part::Expose);
        let another = self.is.is_some() && !self.goes_on();
        if next < stage || stays || another || self.accepted(Intent::PromoteFull) {
            return;
        }
        for (index, left) in self.plan.stages.iter().enumerate().take(next).skip(stage) {
            let held = matches!(part, Part::Hold { .. }) && index == stage;
            // A hold that was not on before has been on for no time at all.
            let since = self.was.and_then(Run::holding_since).filter(|_| held).unwrap_or(self.now);
            let past = |time| self.now.duration_since(since) >= time;
            let over = left.hold.is_none_or(|hold| matches!(hold, Hold::For(time) if past(time)));
            let promoted = held && self.accepted(Intent::Promote);
            if !over && !promoted {
                found.push(Violation::HoldCutShort(index));
            }
            if left.check.is_some() && !self.has_passed(index) {
                found.push(Violation::CheckSkipped(index));
            }
        }
        let wanted = self.plan.exposure(stage, self.seen.replicas());
        let exact = self.seen.pods_on(&self.seen.target).count() <= wanted as usize;
        let proven = self.seen.settled && exact && self.seen.exposed() == wanted && self.are_there(wanted);
        let exposes = self.plan.stages.get(stage).is_some_and(|left| left.expose.is_some());
        if part == Part::Expose && exposes && !proven {
            found.push(Violation::AdvancedUnproven(stage));
        }
    }

    /// I4 and rule 7: whether there may be a move at all.
    fn moves(&self, found: &mut Vec<Violation>) {
        let decision = self.decision;
        if decision.lift_pause && !self.accepted(Intent::PromoteFull) {
            found.push(Violation::PauseLiftedUnasked);
        }
        let Some(next) = &decision.next else { return };
        // To end a check touches neither the workload nor its pods.
        let touches = !matches!(next, Move::Check(CheckMove::End(_)));
        if touches && self.plan.paused && !decision.lift_pause && !self.is.is_some_and(Run::is_aborted) {
            found.push(Violation::MovedWhilePaused(next.clone()));
        }
        let idle = match next {
            Move::Claim => self.seen.claimed,
            Move::Expose(exposure, _) => *exposure == self.seen.exposure && self.seen.marked,
            // Those of checks are judged among the checks.
            Move::Free(_) | Move::Check(_) => false,
            Move::Release => !self.seen.marked && self.seen.ready_to_hold,
        };
        if idle {
            found.push(Violation::IdleMove(next.clone()));
        }
        let at_rest = self.is.is_none() && self.seen.settled && self.seen.stable == self.seen.target;
        if *next == Move::Release && !at_rest {
            found.push(Violation::ReleasedEarly);
        }
    }

    /// I5 and I6: what people were told.
    fn answers(&self, found: &mut Vec<Violation>) {
        let asked = self.intents.asked();
        for intent in [Intent::Abort, Intent::Restart, Intent::PromoteFull, Intent::Promote] {
            let times = self.answers_to(intent).count();
            if times != usize::from(asked.contains(&intent)) {
                found.push(Violation::AnsweredWrong { intent, times });
            }
        }
        let aborted = self.is.is_some_and(Run::is_aborted);
        if self.accepted(Intent::Abort) {
            if !aborted {
                found.push(Violation::AcceptedWithoutEffect(Intent::Abort));
            }
            if self.seen.settled && self.is.is_some_and(|run| !self.same(&run.stable, &self.seen.stable)) {
                found.push(Violation::AcceptedImpossibleAbort);
            }
        }
        if self.accepted(Intent::Restart) && (aborted || !self.was.is_some_and(Run::is_aborted)) {
            found.push(Violation::AcceptedWithoutEffect(Intent::Restart));
        }
        let past = self.is.is_none_or(|run| run.journey == Journey::Completing);
        if self.accepted(Intent::PromoteFull) && !past {
            found.push(Violation::AcceptedWithoutEffect(Intent::PromoteFull));
        }
        if let Some(promotion) = self.intents.promote.as_ref().filter(|_| self.accepted(Intent::Promote)) {
            let meant = self.was.is_some_and(|run| {
                self.same(&run.target, &promotion.target)
                    && run.stage() == promotion.stage
                    && (run.holding_since().is_some() || run.undecided.is_some())
            });
            if !meant || (self.seen.settled && !self.same(&promotion.target, &self.seen.target)) {
                found.push(Violation::PromotedAnother);
            }
        }
    }

    /// I7, I9 and rule 7: what is said about it.
    fn words(&self, before: &Memo, found: &mut Vec<Violation>) {
        let (decision, seen) = (self.decision, self.seen);
        if decision.memo.workload.as_ref() != Some(&seen.workload) {
            found.push(Violation::WrongWorkload);
        }
        let proven = seen.settled
            && seen.stable == seen.target
            && seen.is_all_on(&seen.target, self.now)
            && self.is.is_none();
        if decision.standing == Standing::Healthy && !proven {
            found.push(Violation::HealthyUnproven);
        }
        if decision.standing != Standing::Healthy && decision.waits.is_empty() && decision.next.is_none() {
            found.push(Violation::SilentWait);
        }
        if let Some(wake) = decision.wake.filter(|wake| *wake <= self.now) {
            found.push(Violation::WakeInThePast(wake));
        }
        for reason in decision.reasons().filter(|_| !self.plan.paused) {
            if let Reason::HoldUntil { until, .. } = *reason
                && decision.wake.is_none_or(|wake| wake > until)
            {
                found.push(Violation::Oversleeps(until));
            }
        }
        if decision.memo == *before {
            let news = |told: &&Announcement| !matches!(told, Announcement::Answered { .. });
            let told = decision.announcements.iter().filter(news).cloned();
            found.extend(told.map(Violation::AnnouncedAtRest));
        }
    }

    /// How much the run's place in the plan lets through.
    fn allowed(&self) -> Exposure {
        let replicas = self.seen.replicas();
        match self.is.map(|run| &run.journey) {
            None | Some(Journey::Aborting { .. } | Journey::Aborted { .. }) => Exposure::Held,
            Some(Journey::Completing | Journey::Returning) => Exposure::First(replicas),
            Some(Journey::Advancing { stage, .. }) => Exposure::First(self.plan.exposure(*stage, replicas)),
        }
    }

    /// What the workload's controller makes a pod of that name of, as the workload is set now.
    fn comes_back_on(&self, name: &PodName) -> Option<&Revision> {
        let place = self.seen.slots.iter().position(|slot| slot.name == *name)?;
        let exposed = place < self.seen.exposed() as usize;
        Some(if exposed { &self.seen.target } else { &self.seen.stable })
    }

    /// The first so many slots have an available pod of the wanted revision. Pods beyond the slots do not matter here.
    fn are_there(&self, count: u32) -> bool {
        let is_there = |pod: &Pod| pod.is_on(&self.seen.target) && pod.is_available(self.now);
        self.seen.slots.iter().take(count as usize).all(|slot| slot.pod.as_ref().is_some_and(is_there))
    }

    /// The same run as before, not a new or restarted one.
    fn goes_on(&self) -> bool {
        match (self.was, self.is) {
            (Some(was), Some(is)) => {
                let count = |run: &Run| (run.started_at, run.restarts);
                self.same(&was.target, &is.target) && count(was) == count(is)
            }
            _ => false,
        }
    }

    fn same(&self, one: &Revision, other: &Revision) -> bool {
        self.seen.known_as(one) == self.seen.known_as(other)
    }

    fn answers_to(&self, intent: Intent) -> impl Iterator<Item = &Answer> {
        self.decision.announcements.iter().filter_map(move |told| match told {
            Announcement::Answered { intent: answered, answer } if *answered == intent => Some(answer),
            _ => None,
        })
    }

    fn accepted(&self, intent: Intent) -> bool {
        self.answers_to(intent).any(|answer| *answer == Answer::Accepted)
    }
}
