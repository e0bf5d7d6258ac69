//! Heeds what checks say: a bad one turns the run round, one that nobody can read holds everything, and those that
//! nobody waits for any more are ended.

use jiff::Timestamp;

use crate::check::{
    Blame, CheckId, CheckMove, CheckPlace, CheckState, Meaning, SeenCheck, Undecided, Verdict, meaning,
};
use crate::decision::{Announcement, Move};
use crate::memo::{AbortCause, Journey, Part, Run};
use crate::names::CheckName;
use crate::plan::{Check, Flaw, OnError, Plan};
use crate::reason::{Reason, Wait};

use super::{Pass, Step};

/// A verdict that is in.
struct Heard {
    id: CheckId,
    seen: SeenCheck,
    verdict: Verdict,
    why: String,
    meaning: Meaning,
}

/// The check that a plan asks for at a place.
fn check_at(plan: &Plan, place: CheckPlace) -> Option<Check> {
    match place {
        CheckPlace::Stage(stage) => plan.stages.get(stage).and_then(|stage| stage.check),
        CheckPlace::Background => plan.background.map(|background| background.check),
    }
}

impl Pass<'_> {
    /// Takes in the verdicts of the checks that the run listens to. While a person has paused the rollout, or while
    /// there are no pods, nothing is concluded from them.
    pub(super) fn heed_checks(&mut self) {
        if self.plan.paused || self.seen.replicas() == 0 {
            return;
        }
        let Some(run) = &self.memo.run else { return };
        let asked_for = run.checks().filter(|id| check_at(self.plan, id.place).is_some());
        let mut heard: Vec<Heard> = asked_for.filter_map(|id| self.heard(id)).collect();
        // Whoever goes back asks nobody, and measures nothing again.
        heard.sort_by_key(|heard| heard.meaning != Meaning::Abort);
        for verdict in heard {
            match verdict.meaning {
                Meaning::Abort => return self.go_back_because(verdict),
                Meaning::Ask => self.ask_a_person(verdict),
                Meaning::Again(at) => {
                    // Under another policy than now somebody may have been asked about it.
                    self.ask_nobody(verdict.id.place);
                    self.mark_unmeasured(verdict.id.place);
                    if at <= self.now {
                        self.measure_again(verdict.id);
                        self.announcements.push(Announcement::CheckAgain { place: verdict.id.place });
                        // The next attempt may be there already.
                        return self.heed_checks();
                    }
                }
                Meaning::Pass => {}
            }
        }
    }

    /// With no pods there is nothing to judge: what a check says from now on, it says of nobody. The run waits for the
    /// next attempt instead, which begins when there are pods again. What a person is asked about was said before.
    pub(super) fn judge_nobody(&mut self) {
        if self.seen.replicas() > 0 {
            return;
        }
        let Some(run) = &self.memo.run else { return };
        let asked = run.undecided.as_ref().map(|undecided| undecided.place);
        let there = |id: &CheckId| Some(id.place) != asked && self.seen_check(*id).is_some();
        let of_nobody: Vec<CheckId> = run.checks().filter(there).collect();
        let now = self.now;
        if let Some(run) = &mut self.memo.run {
            for id in of_nobody {
                run.listen_to_the_next(id, now);
            }
        }
    }

    /// What the plan does not ask for any more is not listened to, and nobody has to decide about it.
    pub(super) fn forget_checks(&mut self) {
        let (plan, beside) = (self.plan, self.beside_the_stages());
        let seen = beside.and_then(|id| self.seen_check(id));
        let over = seen.is_some_and(|check| check.state != CheckState::Running);
        let has_value = seen.is_some_and(|check| check.measured && !over);
        let said = beside.and_then(|id| self.heard(id)).map(|heard| heard.meaning);
        let is_judged = said.is_some_and(|meaning| !matches!(meaning, Meaning::Again(_)));
        let Some(run) = &mut self.memo.run else { return };
        run.unmeasured &= beside.is_some() && !has_value && !is_judged;
        if plan.background.is_none()
            && let Some(attempt) = run.background.take()
        {
            run.unmeasured = false;
            // Put back before it was ended, one that measures goes on.
            run.background_behind = if over { Some(attempt) } else { attempt.checked_sub(1) };
        }
        let listened = |place| run.checks().any(|id| id.place == place) && check_at(plan, place).is_some();
        if run.undecided.as_ref().is_some_and(|undecided| !listened(undecided.place)) {
            run.undecided = None;
        }
    }

    /// The check beside the stages that the run listens to.
    fn beside_the_stages(&self) -> Option<CheckId> {
        self.memo.run.as_ref()?.checks().find(|id| id.place == CheckPlace::Background)
    }

    fn seen_check(&self, id: CheckId) -> Option<&SeenCheck> {
        self.seen.checks.iter().find(|check| check.id == id)
    }

    /// The attempt that a run listens to which begins to listen at a place: the latest one that is there, whoever began
    /// it, but none that was asked to end. What such a one says, it says because it was ended.
    pub(super) fn attempt_to_listen_to(&self, place: CheckPlace) -> u32 {
        let Some(run) = &self.memo.run else { return 0 };
        let there = |check: &&SeenCheck| check.id.run == run.started_at && check.id.place == place;
        let latest = self.seen.checks.iter().filter(there).max_by_key(|check| check.id.attempt);
        let there = latest.map_or(0, |check| check.id.attempt.saturating_add(u32::from(check.ending)));
        let behind = run.background_behind.filter(|_| place == CheckPlace::Background);
        there.max(behind.map_or(0, |attempt| attempt.saturating_add(1)))
    }

    fn heard(&self, id: CheckId) -> Option<Heard> {
        let seen = self.seen_check(id)?;
        let CheckState::Over { verdict, why, at } = &seen.state else { return None };
        let meaning = meaning(*verdict, self.policy(id.place), id.attempt, *at);
        Some(Heard { id, seen: seen.clone(), verdict: *verdict, why: why.clone(), meaning })
    }

    fn policy(&self, place: CheckPlace) -> OnError {
        check_at(self.plan, place).unwrap_or_default().on_error
    }

    fn go_back_because(&mut self, heard: Heard) {
        if self.abort(AbortCause::Check).is_err() {
            // Nothing can be put back any more: whether it stays is for a person to say.
            self.ask_a_person(heard);
            return;
        }
        if let Some(run) = &mut self.memo.run {
            let (place, name) = (heard.id.place, heard.seen.name);
            run.blame = Some(Blame { place, name, verdict: heard.verdict, why: heard.why });
        }
    }

    fn ask_a_person(&mut self, heard: Heard) {
        let since = self.now;
        let Some(run) = &mut self.memo.run else { return };
        if run.undecided.is_none() {
            run.undecided = Some(Undecided {
                place: heard.id.place,
                name: heard.seen.name,
                verdict: heard.verdict,
                why: heard.why,
                since,
            });
            self.announcements
                .push(Announcement::Undecided { place: heard.id.place, verdict: heard.verdict });
        }
    }

    fn ask_nobody(&mut self, place: CheckPlace) {
        let Some(run) = &mut self.memo.run else { return };
        if run.undecided.as_ref().is_some_and(|undecided| undecided.place == place) {
            run.undecided = None;
        }
    }

    /// What could not be measured there is measured again; beside the stages, nothing goes further until that works. That
    /// is remembered from now on, because whoever deletes what could not be measured has not measured it.
    fn mark_unmeasured(&mut self, place: CheckPlace) {
        let Some(run) = &mut self.memo.run else { return };
        run.unmeasured |= place == CheckPlace::Background;
    }

    fn measure_again(&mut self, id: CheckId) {
        let now = self.now;
        let Some(run) = &mut self.memo.run else { return };
        run.listen_to_the_next(id, now);
    }

    /// A person has decided: what was undecided counts as passed. A check beside the stages is begun anew, so that
    /// the rest of the run is watched too.
    pub(super) fn decide_for(&mut self, undecided: &Undecided) {
        let Some(run) = &mut self.memo.run else { return };
        run.undecided = None;
        let (place, name, verdict) = (undecided.place, undecided.name.clone(), undecided.verdict);
        self.announcements.push(Announcement::Decided { place, name, verdict });
        match undecided.place {
            CheckPlace::Background => run.background = run.background.map(|it| it.saturating_add(1)),
            CheckPlace::Stage(stage) => self.leave_check(stage),
        }
    }

    /// Whether the run listens to the check beside the stages from this stage on, and did not before. What that check
    /// has said already is heeded at once: whoever knows less than another did meanwhile finds it there.
    pub(super) fn listens_from_now_on(&mut self, stage: usize) -> bool {
        let wanted = self.plan.background.is_some_and(|background| background.from <= stage);
        let (attempt, obstructed) =
            (self.attempt_to_listen_to(CheckPlace::Background), self.obstacle().is_some());
        let Some(run) = &mut self.memo.run else { return false };
        if !wanted || obstructed || run.background.is_some() {
            return false;
        }
        run.background = Some(attempt);
        self.announcements.push(Announcement::CheckBegan { place: CheckPlace::Background });
        self.heed_checks();
        true
    }

    /// The move that begins the check beside the stages, when its stage has come.
    pub(super) fn begin_background(&self, stage: usize) -> Option<Step> {
        self.plan.background.filter(|background| background.from <= stage)?;
        self.begin(CheckPlace::Background)
    }

    /// The move that begins a check which the run listens to and which does not exist.
    pub(super) fn begin(&self, place: CheckPlace) -> Option<Step> {
        let id = self.memo.run.as_ref()?.checks().find(|id| id.place == place)?;
        match self.seen_check(id) {
            Some(_) => None,
            None if self.obstacle().is_some() => None,
            None => Some(Step::make(Move::Check(CheckMove::Begin(id)))),
        }
    }

    /// What the check of a stage waits for; none when it has passed.
    pub(super) fn stay_in_check(&self, stage: usize) -> Option<Step> {
        if let Some(begin) = self.begin(CheckPlace::Stage(stage)) {
            return Some(begin);
        }
        let id = self.memo.run.as_ref()?.checks().find(|id| id.place == CheckPlace::Stage(stage))?;
        let since = match self.memo.run.as_ref()?.journey {
            Journey::Advancing { part: Part::Check { since, .. }, .. } => Some(since),
            _ => None,
        };
        match self.heard(id) {
            Some(Heard { meaning: Meaning::Pass, .. }) => None,
            // Said by whoever holds everything.
            Some(Heard { meaning: Meaning::Ask | Meaning::Again(_), .. }) => Some(Step::default()),
            Some(Heard { meaning: Meaning::Abort, .. }) | None => {
                let name = self.seen_check(id)?.name.clone();
                Some(Step::wait(Reason::Checking { place: id.place, name }, since))
            }
        }
    }

    /// The name of the check that a stage waits for.
    pub(super) fn name_of_check(&self, stage: usize) -> Option<CheckName> {
        let id = self.memo.run.as_ref()?.checks().find(|id| id.place == CheckPlace::Stage(stage))?;
        self.seen_check(id).map(|check| check.name.clone())
    }

    /// What a check holds everything for, if one does: nothing more is exposed, and no stage is left.
    pub(super) fn held_by_check(&self) -> Option<Wait> {
        let run = self.memo.run.as_ref()?;
        if let Some(obstacle) = self.obstacle() {
            return Some(obstacle);
        }
        if let Some(undecided) = &run.undecided {
            let since = Some(undecided.since);
            return Some(Wait { reason: Reason::Undecided(undecided.clone()), since });
        }
        let again = run.checks().filter_map(|id| self.heard(id)).find_map(|heard| match heard.meaning {
            Meaning::Again(at) => Some(Wait {
                reason: Reason::CheckAgain {
                    place: heard.id.place,
                    name: heard.seen.name,
                    why: heard.why,
                    at,
                },
                since: None,
            }),
            _ => None,
        });
        again.or_else(|| self.measuring_again())
    }

    /// What follows a check that could not be measured, and has not measured yet.
    fn measuring_again(&self) -> Option<Wait> {
        let id =
            self.beside_the_stages().filter(|_| self.memo.run.as_ref().is_some_and(|run| run.unmeasured))?;
        let name = self.seen_check(id)?.name.clone();
        Some(Wait { reason: Reason::Checking { place: id.place, name }, since: None })
    }

    /// Whether a check has said something that a person's pause keeps from being heeded.
    pub(super) fn has_more_to_heed(&self) -> bool {
        let checks = self.memo.run.as_ref().into_iter().flat_map(Run::checks);
        let mut heard =
            checks.filter(|id| check_at(self.plan, id.place).is_some()).filter_map(|id| self.heard(id));
        self.plan.paused && heard.any(|heard| heard.meaning != Meaning::Pass)
    }

    /// Checks cannot be begun when their time comes; those of a run whose time has passed do not matter.
    pub(super) fn obstacle(&self) -> Option<Wait> {
        let ahead = self.plan.obstacles.iter().filter(|it| self.may_come_to(it.place));
        let flaws: Vec<Flaw> = ahead.map(|obstacle| obstacle.flaw.clone()).collect();
        (!flaws.is_empty()).then_some(Wait { reason: Reason::Invalid { flaws }, since: None })
    }

    /// Whether a check may still have to be begun there; without a run, in the next one.
    fn may_come_to(&self, place: CheckPlace) -> bool {
        let Some(run) = &self.memo.run else { return true };
        match (&run.journey, place) {
            (Journey::Advancing { .. }, CheckPlace::Background) => true,
            (Journey::Advancing { stage, part }, CheckPlace::Stage(at)) => {
                at > *stage || (at == *stage && !matches!(part, Part::Hold { .. }))
            }
            // Whoever skips everything skips the checks too.
            (Journey::Completing, CheckPlace::Background) => run.background.is_some(),
            (Journey::Completing, CheckPlace::Stage(_))
            | (Journey::Returning | Journey::Aborting { .. } | Journey::Aborted { .. }, _) => false,
        }
    }

    /// When a check that could not be measured begins again.
    pub(super) fn check_begins_again(&self) -> Option<Timestamp> {
        let run = self.memo.run.as_ref()?;
        let again = run.checks().filter_map(|id| self.heard(id)).filter_map(|heard| match heard.meaning {
            Meaning::Again(at) => Some(at),
            _ => None,
        });
        again.filter(|at| *at > self.now).min()
    }

    /// A check that measures and that nobody listens to any more.
    pub(super) fn nobodys_check(&self) -> Option<Move> {
        let nobodys = |check: &&SeenCheck| {
            check.state == CheckState::Running && !check.ending && self.is_past(check.id)
        };
        let check = self.seen.checks.iter().find(nobodys)?;
        Some(Move::Check(CheckMove::End(check.name.clone())))
    }

    /// The run has this check behind it. One that is ahead of what is remembered was begun by somebody who knows more,
    /// and the memo will follow: ended now, it would pass without having measured.
    fn is_past(&self, id: CheckId) -> bool {
        let Some(run) = &self.memo.run else {
            return self.memo.ended.as_ref().is_none_or(|ending| id.run <= ending.at);
        };
        if id.run != run.started_at {
            return id.run < run.started_at;
        }
        match (&run.journey, id.place) {
            (Journey::Advancing { .. } | Journey::Completing, CheckPlace::Background) => {
                match run.background {
                    Some(attempt) => id.attempt < attempt,
                    // Taken out of the plan, or skipped; else it has not begun yet.
                    None => self.plan.background.is_none() || run.journey == Journey::Completing,
                }
            }
            (Journey::Advancing { stage, part }, CheckPlace::Stage(at)) if at == *stage => match part {
                Part::Expose => false,
                Part::Check { attempt, .. } => id.attempt < *attempt,
                Part::Hold { .. } => true,
            },
            (Journey::Advancing { stage, .. }, CheckPlace::Stage(at)) => at < *stage,
            (Journey::Completing, CheckPlace::Stage(_))
            | (Journey::Returning | Journey::Aborting { .. } | Journey::Aborted { .. }, _) => true,
        }
    }
}
