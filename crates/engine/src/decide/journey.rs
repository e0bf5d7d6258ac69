//! Walks a run along its journey: through the stages, to completion, or back.

use jiff::Timestamp;

use crate::align::{Alignment, Goal, align, forget_what_came_back, pods_wait, trouble};
use crate::check::CheckPlace;
use crate::decision::{Announcement, Move};
use crate::memo::{AbortCause, Journey, Outcome, Part, Run};
use crate::names::Revision;
use crate::observation::{Exposure, Record};
use crate::plan::Hold;
use crate::reason::{Reason, Wait};

use super::{Pass, Step};

impl Pass<'_> {
    /// Goes as far as what is seen allows, in one pass: several parts may be done already.
    pub(super) fn walk(&mut self) -> Step {
        loop {
            let Some(run) = &self.memo.run else { return self.rest() };
            let step = match run.journey {
                Journey::Advancing { stage, part } => self.advance(stage, part),
                Journey::Completing => self.complete(),
                Journey::Returning => self.return_to_stable(),
                Journey::Aborting { cause, at, stage } => self.go_back(cause, at, stage),
                Journey::Aborted { .. } => Some(self.stay_aborted()),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn rest(&self) -> Step {
        if !self.seen.settled {
            return Step::wait(Reason::ControllerLags, None);
        }
        let mut waits: Vec<Wait> = self.obstacle().into_iter().collect();
        if self.seen.marked || !self.seen.ready_to_hold {
            return Step { next: Some(Move::Release), waits };
        }
        waits.extend(pods_wait(self.now, &self.seen.slots, &self.seen.stable));
        if !self.seen.surplus.is_empty() {
            let pods = self.seen.surplus.iter().map(trouble).collect();
            waits.push(Wait { reason: Reason::Surplus { pods }, since: None });
        }
        Step { next: None, waits }
    }

    fn advance(&mut self, stage: usize, part: Part) -> Option<Step> {
        if stage >= self.plan.stages.len() {
            self.journey(Journey::Completing);
            return None;
        }
        if matches!(part, Part::Check { .. }) && self.plan.stages[stage].check.is_none() {
            // Somebody has taken it out of the plan.
            self.leave_check(stage);
            return None;
        }
        if let Some(parked) = self.park() {
            return Some(parked);
        }
        if self.listens_from_now_on(stage) {
            return None;
        }
        if let Some(begin) = self.begin_background(stage) {
            return Some(begin);
        }
        let mut exposed = self.plan.exposure(stage, self.seen.replicas());
        let held = self.held_by_check();
        if held.is_some() {
            exposed = exposed.min(self.seen.exposed());
        }
        let alignment = self.align(exposed);
        if let Some(held) = held {
            return Some(self.with_hold(stage, held_step(alignment, held)));
        }
        match (part, alignment) {
            (_, Alignment::Move(next)) => Some(self.with_hold(stage, Step::make(next))),
            (Part::Expose | Part::Check { .. }, Alignment::Wait(waits)) => Some(Step { next: None, waits }),
            (Part::Expose, Alignment::Aligned) => self.leave_expose(stage, exposed),
            (Part::Check { .. }, Alignment::Aligned) => {
                let step = self.stay_in_check(stage);
                if step.is_none() {
                    let name = self.name_of_check(stage);
                    self.announcements.extend(name.map(|name| Announcement::CheckPassed { stage, name }));
                    self.leave_check(stage);
                }
                step
            }
            (Part::Hold { .. }, Alignment::Wait(waits)) => {
                Some(self.with_hold(stage, Step { next: None, waits }))
            }
            (Part::Hold { since }, Alignment::Aligned) => self.stay_in_hold(stage, since),
        }
    }

    fn leave_expose(&mut self, stage: usize, exposed: u32) -> Option<Step> {
        let is_last = stage + 1 == self.plan.stages.len();
        if self.plan.stages[stage].check.is_some() {
            self.begin_check(stage);
            self.heed_checks();
        } else if self.plan.stages[stage].hold.is_some() {
            self.begin_hold(stage);
        } else if is_last && exposed == self.seen.replicas() && !self.is_taken_over() {
            return Some(Step::wait(Reason::ControllerLags, None));
        } else {
            self.journey(Journey::Advancing { stage: stage + 1, part: Part::Expose });
        }
        None
    }

    /// A hold whose place a check has taken in the plan: somebody lets numbers decide, and they have not been asked yet.
    /// A promotion that was given for the hold says nothing about them, so this comes before people are answered.
    pub(super) fn follow_plan(&mut self) {
        let Some(Journey::Advancing { stage, part: Part::Hold { .. } }) =
            self.memo.run.as_ref().map(|run| run.journey.clone())
        else {
            return;
        };
        let at = self.plan.stages.get(stage);
        if at.is_some_and(|stage| stage.check.is_some() && stage.hold.is_none()) {
            self.begin_check(stage);
        }
    }

    fn begin_check(&mut self, stage: usize) {
        let place = CheckPlace::Stage(stage);
        let attempt = self.attempt_to_listen_to(place);
        self.journey(Journey::Advancing { stage, part: Part::Check { attempt, since: self.now } });
        self.announcements.push(Announcement::CheckBegan { place });
    }

    fn begin_hold(&mut self, stage: usize) {
        self.journey(Journey::Advancing { stage, part: Part::Hold { since: self.now } });
        self.announcements.push(Announcement::HoldBegan { stage });
    }

    /// On to the stage's hold, or to the next stage.
    pub(super) fn leave_check(&mut self, stage: usize) {
        if self.plan.stages.get(stage).is_some_and(|stage| stage.hold.is_some()) {
            self.begin_hold(stage);
        } else {
            self.journey(Journey::Advancing { stage: stage + 1, part: Part::Expose });
        }
    }

    fn stay_in_hold(&mut self, stage: usize, since: Timestamp) -> Option<Step> {
        match self.plan.stages[stage].hold {
            Some(Hold::UntilPromoted) => Some(self.with_hold(stage, Step::default())),
            Some(Hold::For(_)) if self.hold_until(stage, since).is_some_and(|until| self.now < until) => {
                Some(self.with_hold(stage, Step::default()))
            }
            Some(Hold::For(_)) | None => {
                self.leave_hold(stage);
                None
            }
        }
    }

    /// The reason of a hold that is on, in front of whatever else there is to say.
    fn with_hold(&self, stage: usize, mut step: Step) -> Step {
        let since = self.memo.run.as_ref().and_then(Run::holding_since);
        let Some(since) = since else { return step };
        let reason = match self.hold_until(stage, since) {
            Some(until) if self.now < until => Reason::HoldUntil { stage, until },
            Some(_) => return step,
            None => Reason::HoldForPerson { stage },
        };
        step.waits.insert(0, Wait { reason, since: Some(since) });
        step
    }

    /// When a hold that began at `since` is over by itself.
    pub(super) fn hold_until(&self, stage: usize, since: Timestamp) -> Option<Timestamp> {
        match self.plan.stages.get(stage)?.hold? {
            Hold::For(duration) => Some(since.checked_add(duration).unwrap_or(Timestamp::MAX)),
            Hold::UntilPromoted => None,
        }
    }

    pub(super) fn leave_hold(&mut self, stage: usize) {
        self.announcements.push(Announcement::HoldEnded { stage });
        self.journey(Journey::Advancing { stage: stage + 1, part: Part::Expose });
    }

    fn complete(&mut self) -> Option<Step> {
        if let Some(parked) = self.park() {
            return Some(parked);
        }
        if let Some(begin) = self.begin(CheckPlace::Background) {
            return Some(begin);
        }
        if let Some(held) = self.held_by_check() {
            let alignment = self.align(self.seen.exposed());
            return Some(held_step(alignment, held));
        }
        match self.align(self.seen.replicas()) {
            Alignment::Move(next) => Some(Step::make(next)),
            Alignment::Wait(waits) => Some(Step { next: None, waits }),
            Alignment::Aligned if !self.is_taken_over() => Some(Step::wait(Reason::ControllerLags, None)),
            // It is heeded once the pause is over; a run that is over heeds nothing.
            Alignment::Aligned if self.has_more_to_heed() => Some(Step::default()),
            Alignment::Aligned => {
                let target = self.memo.run.as_ref()?.target.clone();
                self.announcements.push(Announcement::Completed { target: target.clone() });
                self.end(target, Outcome::Completed);
                None
            }
        }
    }

    /// The workload's controller takes the target for stable now.
    fn is_taken_over(&self) -> bool {
        self.seen.stable == self.seen.target
    }

    fn return_to_stable(&mut self) -> Option<Step> {
        match self.align(self.seen.replicas()) {
            Alignment::Move(next) => Some(Step::make(next)),
            Alignment::Wait(waits) => Some(Step { next: None, waits }),
            Alignment::Aligned if !self.is_taken_over() => Some(Step::wait(Reason::ControllerLags, None)),
            Alignment::Aligned => {
                let (target, stable) =
                    self.memo.run.as_ref().map(|run| (run.target.clone(), run.stable.clone()))?;
                if let Some(surplus) = self.surplus_off(&stable) {
                    return Some(surplus);
                }
                self.announcements.push(Announcement::Returned { stable });
                self.end(target, Outcome::Returned);
                None
            }
        }
    }

    fn go_back(&mut self, cause: AbortCause, at: Timestamp, stage: usize) -> Option<Step> {
        match self.align(0) {
            Alignment::Move(next) => Some(Step::make(next)),
            Alignment::Wait(waits) => Some(Step { next: None, waits }),
            Alignment::Aligned => {
                let stable = self.memo.run.as_ref()?.stable.clone();
                if let Some(wait) = pods_wait(self.now, &self.seen.slots, &stable) {
                    return Some(Step { next: None, waits: vec![wait] });
                }
                if let Some(surplus) = self.surplus_off(&stable) {
                    return Some(surplus);
                }
                self.announcements.push(Announcement::Reverted { stable });
                self.journey(Journey::Aborted { cause, at, stage });
                None
            }
        }
    }

    /// The wait for surplus pods that are not on stable to go: a way back is not over before.
    fn surplus_off(&self, stable: &Revision) -> Option<Step> {
        if self.seen.surplus.iter().all(|pod| pod.is_on(stable)) {
            return None;
        }
        let pods = self.seen.surplus.iter().map(trouble).collect();
        Some(Step::wait(Reason::Surplus { pods }, None))
    }

    fn stay_aborted(&mut self) -> Step {
        let alignment = self.align(0);
        let mut step = match alignment {
            Alignment::Move(next) => Step::make(next),
            Alignment::Wait(waits) => Step { next: None, waits },
            Alignment::Aligned => Step::default(),
        };
        if let Some(run) = &self.memo.run {
            let since = match run.journey {
                Journey::Aborted { at, .. } => Some(at),
                _ => None,
            };
            let reason = Reason::Aborted { target: run.target.clone(), blame: run.blame.clone() };
            step.waits.insert(0, Wait { reason, since });
        }
        step
    }

    /// With no pods there is nothing to judge, and the next ones must be born on stable.
    fn park(&self) -> Option<Step> {
        if self.seen.replicas() > 0 {
            return None;
        }
        let next = (self.seen.exposure != Exposure::Held).then_some(Move::Expose(Exposure::Held, None));
        Some(Step { next, waits: vec![Wait { reason: Reason::ParkedAtZero, since: None }] })
    }

    fn align(&mut self, exposed: u32) -> Alignment {
        let Some(run) = &mut self.memo.run else { return Alignment::Aligned };
        let stable = run.stable.clone();
        let target = run.expects().clone();
        let everything = run.journey == Journey::Returning;
        let record = match run.journey {
            Journey::Advancing { stage, .. } => Some(Record { run: run.started_at, stage }),
            _ => None,
        };
        let goal = Goal { exposed, everything, target: &target, stable: &stable, record };
        forget_what_came_back(self.seen, goal, &mut run.freed);
        align(self.now, self.seen, goal, &run.freed)
    }

    fn journey(&mut self, journey: Journey) {
        if let Some(run) = &mut self.memo.run {
            run.journey = journey;
        }
        self.forget_checks();
    }
}

/// A check holds everything: pods are put right where they are, and nothing goes further.
fn held_step(alignment: Alignment, held: Wait) -> Step {
    let mut step = match alignment {
        Alignment::Move(next) => Step::make(next),
        Alignment::Wait(waits) => Step { next: None, waits },
        Alignment::Aligned => Step::default(),
    };
    step.waits.insert(0, held);
    step
}
