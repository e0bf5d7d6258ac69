//! The one function that decides. It works in a fixed order: recognise the workload, follow its target, answer
//! people, walk the journey, look at the clock.

mod answers;
mod checks;
mod clock;
mod journey;
mod target;

use jiff::{SignedDuration, Timestamp};

use crate::check::{CheckId, CheckMove, CheckState, SeenCheck};
use crate::decision::{Announcement, Answer, Decision, Move, Order, Standing};
use crate::intents::{Intents, Rejection};
use crate::memo::{Journey, Memo, Part, Run};
use crate::observation::{Observation, PodState, Refusal, Seen};
use crate::plan::{Flaw, Plan};
use crate::reason::{Reason, Wait};

/// What to do next, and why not more. Total: whatever is wrong comes out as a decision to stand still.
pub fn decide(
    now: Timestamp,
    plan: Result<&Plan, &[Flaw]>,
    seen: &Seen,
    memo: &Memo,
    intents: &Intents,
) -> Decision {
    let stand_still = |reason| judge_what_is_gone(now, seen, stand_still(reason, memo, intents));
    let plan = match plan {
        Ok(plan) => plan,
        Err(flaws) => return stand_still(Reason::Invalid { flaws: flaws.to_vec() }),
    };
    let not_served = plan.not_served();
    if !not_served.is_empty() {
        return stand_still(Reason::Invalid { flaws: not_served });
    }
    match seen {
        Seen::Refused { refusal, .. } => stand_still(Reason::Refused(refusal.clone())),
        Seen::Workload(seen) => Pass::new(now, plan, seen, memo).decide(intents),
    }
}

/// Nothing is touched, nothing is forgotten, and whoever asked for something is told.
fn stand_still(reason: Reason, memo: &Memo, intents: &Intents) -> Decision {
    let announcements = intents
        .asked()
        .into_iter()
        .map(|intent| Announcement::Answered { intent, answer: Answer::Rejected(Rejection::CannotAct) })
        .collect();
    Decision {
        memo: memo.clone(),
        next: None,
        order: Order::MemoFirst,
        lift_pause: false,
        standing: Standing::Degraded,
        waits: vec![Wait { reason, since: None }],
        cautions: Vec::new(),
        announcements,
        wake: None,
    }
}

/// Without a workload there is nobody left to judge, so what still measures is ended. What it says then, it says because it
/// was ended: should the workload be there again, the run waits for the next check. Whatever else is refused is there, and
/// may be managed again.
fn judge_what_is_gone(now: Timestamp, seen: &Seen, decision: Decision) -> Decision {
    let Seen::Refused { refusal: Refusal::Missing { .. }, checks } = seen else { return decision };
    let measures = |check: &&SeenCheck| check.state == CheckState::Running && !check.ending;
    let Some(first) = checks.iter().find(measures) else { return decision };
    let mut memo = decision.memo;
    if let Some(run) = &mut memo.run {
        let listened: Vec<CheckId> = run.checks().collect();
        let measuring = checks.iter().filter(measures).map(|check| check.id);
        for id in measuring.filter(|id| listened.contains(id)) {
            run.listen_to_the_next(id, now);
        }
    }
    Decision { memo, next: Some(Move::Check(CheckMove::End(first.name.clone()))), ..decision }
}

/// One look: what went in, and what has been worked out so far.
struct Pass<'a> {
    now: Timestamp,
    plan: &'a Plan,
    seen: &'a Observation,
    before: &'a Memo,
    memo: Memo,
    announcements: Vec<Announcement>,
    lift_pause: bool,
}

/// What the journey needs next.
#[derive(Default)]
struct Step {
    next: Option<Move>,
    waits: Vec<Wait>,
}

impl Step {
    fn wait(reason: Reason, since: Option<Timestamp>) -> Self {
        Self { next: None, waits: vec![Wait { reason, since }] }
    }

    fn make(next: Move) -> Self {
        Self { next: Some(next), waits: vec![Wait { reason: Reason::Working, since: None }] }
    }

    /// Nothing but a check is waited for, or a person who has to say something about one. Whoever waits for pods besides
    /// does not wait for the check alone: it may be the pods that keep it from measuring.
    fn is_checking(&self) -> bool {
        let Some(first) = self.waits.first() else { return false };
        match first.reason {
            Reason::Undecided(_) | Reason::Invalid { .. } => true,
            Reason::Checking { .. } | Reason::CheckAgain { .. } => {
                !self.waits.iter().any(|wait| matches!(wait.reason, Reason::Pods { .. }))
            }
            _ => false,
        }
    }

    fn is_parked(&self) -> bool {
        self.waits.iter().any(|wait| wait.reason == Reason::ParkedAtZero)
    }
}

impl<'a> Pass<'a> {
    fn new(now: Timestamp, plan: &'a Plan, seen: &'a Observation, memo: &'a Memo) -> Self {
        Self {
            now,
            plan,
            seen,
            before: memo,
            memo: memo.clone(),
            announcements: Vec::new(),
            lift_pause: false,
        }
    }

    fn decide(mut self, intents: &Intents) -> Decision {
        self.recognise();
        let target_changed = self.seen.settled && self.follow_target();
        self.follow_plan();
        self.forget_checks();
        self.answer(intents, target_changed);
        self.judge_nobody();
        self.heed_checks();
        let mut step = self.walk();
        if self.look_at_the_clock(&step) {
            step = self.walk();
        }
        self.forget_nothing_but_say_overdue(&mut step);
        self.conclude(step)
    }

    /// A workload that was deleted and made again has nothing to do with what is remembered; one whose revisions were
    /// renamed has.
    fn recognise(&mut self) {
        if self.memo.workload.as_ref() != Some(&self.seen.workload) {
            self.memo = Memo { workload: Some(self.seen.workload.clone()), ..Memo::default() };
        }
        if let Some(run) = &mut self.memo.run {
            run.target = self.seen.known_as(&run.target).clone();
            run.stable = self.seen.known_as(&run.stable).clone();
        }
        self.catch_up_with_the_record();
    }

    /// When a run that begins now has begun. A run is known by that moment, on the workload and by its checks, so it is
    /// always later than the moments of the runs before, whatever their clocks were.
    fn beginning(&self) -> Timestamp {
        let recorded = self.seen.recorded.map(|record| record.run);
        let remembered = self.before.run.as_ref().map(|run| run.started_at);
        let over = self.memo.ended.as_ref().map(|ending| ending.at).filter(|at| *at > self.now);
        match recorded.max(remembered).max(over) {
            Some(latest) if latest >= self.now => {
                latest.checked_add(SignedDuration::from_nanos(1)).unwrap_or(self.now)
            }
            _ => self.now,
        }
    }

    /// The exposure of a later stage was written, and the memo of it was not: go on from there.
    fn catch_up_with_the_record(&mut self) {
        let (Some(run), Some(record)) = (&mut self.memo.run, self.seen.recorded) else { return };
        if let Journey::Advancing { stage, .. } = run.journey
            && record.run == run.started_at
            && record.stage > stage
        {
            run.journey = Journey::Advancing { stage: record.stage, part: Part::Expose };
        }
    }

    /// Nothing but the stage moved on, and the move itself says so.
    fn order(&self, next: Option<&Move>) -> Order {
        let same_run = match (&self.before.run, &self.memo.run) {
            (Some(before), Some(now)) => before.started_at == now.started_at && before.journey != now.journey,
            _ => false,
        };
        match next {
            Some(Move::Expose(_, Some(_))) if same_run && self.announcements.is_empty() => Order::MoveFirst,
            _ => Order::MemoFirst,
        }
    }

    fn forget_nothing_but_say_overdue(&self, step: &mut Step) {
        let overdue = self.memo.run.as_ref().filter(|run| run.progress.overdue && !run.is_aborted());
        if let Some(run) = overdue {
            let reason = Reason::Overdue { after: self.plan.deadline.after };
            step.waits.push(Wait { reason, since: run.progress.at });
        }
    }

    fn conclude(mut self, step: Step) -> Decision {
        let aborted = self.memo.run.as_ref().is_some_and(Run::is_aborted);
        let stopped = self.plan.paused && !aborted;
        let mut waits = step.waits;
        let mut next = step.next;
        if stopped {
            next = None;
            waits.retain(|wait| wait.reason != Reason::Working);
            waits.insert(0, Wait { reason: Reason::PausedByPerson, since: None });
        } else if !self.seen.claimed {
            // Healthy also means ready to hold: before the label is on, a change would not be held.
            next = Some(Move::Claim);
            if waits.is_empty() {
                waits.push(Wait { reason: Reason::Working, since: None });
            }
        }
        // Last: nothing waits for it.
        let next = next.or_else(|| self.nobodys_check());
        if let Some(Move::Free(pod)) = &next
            && let Some(run) = &mut self.memo.run
        {
            run.freed.insert(pod.name.clone(), pod.uid.clone());
        }
        self.date(&mut waits);
        Decision {
            standing: self.standing(stopped, &waits),
            wake: self.wake(),
            order: self.order(next.as_ref()),
            memo: self.memo,
            next,
            lift_pause: self.lift_pause,
            waits,
            cautions: self.plan.cautions.clone(),
            announcements: self.announcements,
        }
    }

    /// What has no beginning of its own began with the latest progress.
    fn date(&self, waits: &mut [Wait]) {
        let Some(at) = self.memo.run.as_ref().and_then(|run| run.progress.at) else { return };
        for wait in waits.iter_mut().filter(|wait| matches!(wait.reason, Reason::Pods { .. })) {
            wait.since = wait.since.or(Some(at));
        }
    }

    fn standing(&self, stopped: bool, waits: &[Wait]) -> Standing {
        let run = self.memo.run.as_ref();
        let broken = waits.iter().any(|wait| {
            matches!(
                wait.reason,
                Reason::CameBackWrong { .. } | Reason::StableForgotten { .. } | Reason::Invalid { .. }
            )
        });
        let holds = waits.iter().any(|wait| {
            matches!(
                wait.reason,
                Reason::HoldUntil { .. }
                    | Reason::HoldForPerson { .. }
                    | Reason::Undecided(_)
                    | Reason::ParkedAtZero
            )
        });
        if broken || run.is_some_and(|run| run.is_aborted() || run.progress.overdue) {
            Standing::Degraded
        } else if stopped || holds {
            Standing::Paused
        } else if run.is_none()
            && self.seen.claimed
            && self.seen.ready_to_hold
            && self.seen.settled
            && self.seen.target == self.seen.stable
            && self.seen.is_all_on(&self.seen.stable, self.now)
        {
            Standing::Healthy
        } else {
            Standing::Progressing
        }
    }

    /// The next moment at which time alone changes something.
    fn wake(&self) -> Option<Timestamp> {
        let probation = self.seen.pods().filter_map(|pod| match pod.state {
            PodState::Ready { available_at } if available_at > self.now => Some(available_at),
            _ => None,
        });
        let times =
            self.hold_ends().into_iter().chain(self.deadline_passes()).chain(self.check_begins_again());
        probation.chain(times).min()
    }

    fn hold_ends(&self) -> Option<Timestamp> {
        let run = self.memo.run.as_ref()?;
        let Journey::Advancing { stage, .. } = run.journey else { return None };
        self.hold_until(stage, run.holding_since()?).filter(|&until| until > self.now)
    }
}
