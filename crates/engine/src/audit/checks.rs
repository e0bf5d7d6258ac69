//! The second opinion on checks.

use crate::check::{CheckId, CheckMove, CheckPlace, CheckState, SeenCheck, Verdict};
use crate::decision::Move;
use crate::intents::Intent;
use crate::memo::{AbortCause, Ending, Journey, Outcome, Part, Run};
use crate::observation::Exposure;
use crate::plan::{Check, OnError};

use super::{Look, Violation};

impl Look<'_> {
    pub(super) fn checks(&self, found: &mut Vec<Violation>) {
        self.check_moves(found);
        let goes_on = |run: &&Run| matches!(run.journey, Journey::Advancing { .. } | Journey::Completing);
        let listened: Vec<&SeenCheck> = self
            .is
            .filter(goes_on)
            .into_iter()
            .flat_map(Run::checks)
            .filter_map(|id| self.check(id))
            .collect();
        if let Some(Move::Expose(exposure @ Exposure::First(count), _)) = self.decision.next
            && count > self.seen.exposed()
            && (listened.iter().any(|check| verdict(check).is_some_and(|it| it != Verdict::Successful))
                || listened.iter().any(|check| self.follows_an_error(check))
                || self.is_obstructed())
        {
            found.push(Violation::ExposedUnchecked(exposure));
        }
        let possible = self.is.is_some_and(|run| self.seen.stable == run.stable) && self.may_judge();
        let bad = listened.iter().filter(|check| self.is_bad(check));
        found.extend(bad.filter(|_| possible).map(|check| Violation::VerdictIgnored(check.id)));
        self.completed_unchecked(found);
        self.aborted_by_check(found);
        self.adopted(found);
    }

    /// It measures again beside the stages what the one before it could not, and has not measured yet.
    fn follows_an_error(&self, check: &SeenCheck) -> bool {
        let before = |it: &&SeenCheck| {
            let CheckId { run, place, attempt } = it.id;
            (run, place, attempt.checked_add(1)) == (check.id.run, check.id.place, Some(check.id.attempt))
        };
        let before = self.seen.checks.iter().find(before).and_then(verdict);
        let retried = self.asked_for(check.id.place).is_some_and(|asked| asked.on_error == OnError::Retry);
        retried
            && check.id.place == CheckPlace::Background
            && before == Some(Verdict::Error)
            && !check.measured
    }

    /// A run whose checks were all listened to until its end. A person may skip them, or decide for one.
    fn completed_unchecked(&self, found: &mut Vec<Violation>) {
        let completed = |ending: &Ending| ending.outcome == Outcome::Completed;
        let (Some(was), None, true) =
            (self.was, self.is, self.decision.memo.ended.as_ref().is_some_and(completed))
        else {
            return;
        };
        if self.accepted(Intent::PromoteFull) || self.accepted(Intent::Promote) {
            return;
        }
        let listened = was.checks().filter(|id| self.asked_for(id.place).is_some());
        let bad = listened.filter(|id| {
            let said = self.check(*id).and_then(verdict);
            said.is_some_and(|said| said != Verdict::Successful)
        });
        found.extend(bad.map(Violation::CompletedUnchecked));
    }

    /// Verdicts count: nobody has paused the rollout, and there are pods to judge.
    fn may_judge(&self) -> bool {
        !self.plan.paused && self.seen.replicas() > 0
    }

    /// The check that the plan asks for at a place.
    fn asked_for(&self, place: CheckPlace) -> Option<Check> {
        match place {
            CheckPlace::Stage(stage) => self.plan.stages.get(stage)?.check,
            CheckPlace::Background => Some(self.plan.background?.check),
        }
    }

    /// What a check came to turns a run round.
    fn is_bad(&self, check: &SeenCheck) -> bool {
        let Some(asked) = self.asked_for(check.id.place) else { return false };
        match verdict(check) {
            Some(Verdict::Failed) => true,
            Some(Verdict::Error) => asked.on_error == OnError::Abort,
            Some(Verdict::Successful | Verdict::Inconclusive) | None => false,
        }
    }

    /// A check cannot be begun that the run has not left behind.
    fn is_obstructed(&self) -> bool {
        let Some(run) = self.is else { return false };
        self.plan.obstacles.iter().any(|obstacle| match (&run.journey, obstacle.place) {
            (Journey::Advancing { .. }, CheckPlace::Background) => true,
            (Journey::Advancing { stage, part }, CheckPlace::Stage(at)) => {
                let after_it = matches!(part, Part::Hold { .. });
                at > *stage || (at == *stage && !after_it)
            }
            (Journey::Completing, CheckPlace::Background) => run.background.is_some(),
            _ => false,
        })
    }

    /// A check that a run begins to listen to was not asked to end before.
    fn adopted(&self, found: &mut Vec<Violation>) {
        let before: Vec<CheckId> = self.was.into_iter().flat_map(Run::checks).collect();
        let new = self.is.into_iter().flat_map(Run::checks).filter(|id| !before.contains(id));
        let ended = new.filter(|id| self.check(*id).is_some_and(|check| check.ending));
        found.extend(ended.map(Violation::AdoptedEnded));
    }

    fn check_moves(&self, found: &mut Vec<Violation>) {
        let listened: Vec<CheckId> = self.is.into_iter().flat_map(Run::checks).collect();
        match &self.decision.next {
            Some(Move::Check(CheckMove::Begin(id))) => {
                if self.check(*id).is_some() || !listened.contains(id) {
                    found.push(Violation::BegunInVain(*id));
                }
            }
            Some(Move::Check(CheckMove::End(name))) => {
                let meant = self.seen.checks.iter().find(|check| check.name == *name);
                let right = meant.is_some_and(|check| {
                    verdict(check).is_none()
                        && !check.ending
                        && !listened.contains(&check.id)
                        && !self.is_ahead(check.id)
                });
                if !right {
                    found.push(Violation::EndedInVain(name.clone()));
                }
            }
            Some(Move::Claim | Move::Expose(..) | Move::Free(_) | Move::Release) | None => {}
        }
    }

    /// A check of a later run, stage or attempt than is remembered: somebody knows more.
    fn is_ahead(&self, id: CheckId) -> bool {
        let Some(run) = self.is else { return false };
        let later_stage = match (&run.journey, id.place) {
            (Journey::Advancing { stage, .. }, CheckPlace::Stage(at)) => at > *stage,
            _ => false,
        };
        let mut listened = run.checks().filter(|listened| listened.place == id.place);
        let later_attempt = listened.any(|listened| listened.attempt < id.attempt);
        id.run > run.started_at || (id.run == run.started_at && (later_stage || later_attempt))
    }

    /// A run that a check turned round in this very look.
    fn aborted_by_check(&self, found: &mut Vec<Violation>) {
        let by_check = |run: &Run| {
            matches!(
                run.journey,
                Journey::Aborting { cause: AbortCause::Check, .. }
                    | Journey::Aborted { cause: AbortCause::Check, .. }
            )
        };
        let (Some(was), Some(is)) = (self.was, self.is) else { return };
        if !by_check(is) || by_check(was) {
            return;
        }
        // The one that is blamed is of this run and of the stage that was left, or beside the stages; it is not one that
        // the run has behind it; and it is bad. The look may have come to it only now.
        let in_place =
            |place| place == CheckPlace::Background || is.stage().map(CheckPlace::Stage) == Some(place);
        let blamed = |check: &&SeenCheck| {
            is.blame.as_ref().is_some_and(|blame| blame.name == check.name)
                && check.id.run == was.started_at
                && in_place(check.id.place)
                && !is_behind(was, check.id)
        };
        let bad = self.seen.checks.iter().find(blamed).is_some_and(|check| self.is_bad(check));
        if !bad || !self.may_judge() {
            found.push(Violation::AbortedUnproven);
        }
    }

    /// The check of a stage that was left has passed, or a person has decided for it.
    pub(super) fn has_passed(&self, stage: usize) -> bool {
        let place = CheckPlace::Stage(stage);
        let Some(was) = self.was else { return false };
        // The stage's hold comes after its check, if it has one.
        let has_hold = self.plan.stages.get(stage).is_some_and(|stage| stage.hold.is_some());
        let holds = has_hold
            && matches!(was.journey, Journey::Advancing { stage: at, part: Part::Hold { .. } } if at == stage);
        let decided = self.accepted(Intent::Promote)
            && was.undecided.as_ref().is_some_and(|undecided| undecided.place == place);
        // Also one that this look came to only now, because another has begun it; of several the latest.
        let of_the_stage = |check: &&SeenCheck| {
            check.id.run == was.started_at && check.id.place == place && !is_behind(was, check.id)
        };
        let latest = self.seen.checks.iter().filter(of_the_stage).max_by_key(|check| check.id.attempt);
        let passed = latest.and_then(verdict) == Some(Verdict::Successful) && self.seen.replicas() > 0;
        holds || decided || passed
    }

    fn check(&self, id: CheckId) -> Option<&SeenCheck> {
        self.seen.checks.iter().find(|check| check.id == id)
    }
}

fn verdict(check: &SeenCheck) -> Option<Verdict> {
    match &check.state {
        CheckState::Running => None,
        CheckState::Over { verdict, .. } => Some(*verdict),
    }
}

/// An attempt before the one that the run listened to.
fn is_behind(was: &Run, id: CheckId) -> bool {
    was.checks().any(|listened| listened.place == id.place && id.attempt < listened.attempt)
}
