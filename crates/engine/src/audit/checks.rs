//! The second opinion on checks.

use crate::check::{CheckId, CheckMove, CheckPlace, CheckState, SeenCheck, Verdict};
use crate::decision::Move;
use crate::intents::Intent;
use crate::memo::{AbortCause, Journey, Part, Run};
use crate::observation::Exposure;

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
                || (!self.plan.obstacles.is_empty() && self.is.is_some_and(|run| goes_on(&run))))
        {
            found.push(Violation::ExposedUnchecked(exposure));
        }
        let possible = self.is.is_some_and(|run| self.seen.stable == run.stable) && !self.plan.paused;
        let failed = listened.iter().filter(|check| verdict(check) == Some(Verdict::Failed));
        found.extend(failed.filter(|_| possible).map(|check| Violation::VerdictIgnored(check.id)));
        self.aborted_by_check(found);
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
                    verdict(check).is_none() && !check.ending && !listened.contains(&check.id)
                });
                if !right {
                    found.push(Violation::EndedInVain(name.clone()));
                }
            }
            Some(Move::Claim | Move::Expose(..) | Move::Free(_) | Move::Release) | None => {}
        }
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
        // The one that is blamed is of this run and is bad; the look may have come to it only now.
        let blamed = |check: &&SeenCheck| {
            is.blame.as_ref().is_some_and(|blame| blame.name == check.name) && check.id.run == was.started_at
        };
        let bad = self.seen.checks.iter().find(blamed).and_then(verdict);
        if self.plan.paused || !matches!(bad, Some(Verdict::Failed | Verdict::Error)) {
            found.push(Violation::AbortedUnproven);
        }
    }

    /// The check of a stage that was left has passed, or a person has decided for it.
    pub(super) fn has_passed(&self, stage: usize) -> bool {
        let place = CheckPlace::Stage(stage);
        let Some(was) = self.was else { return false };
        // The stage's hold comes after its check.
        let holds =
            matches!(was.journey, Journey::Advancing { stage: at, part: Part::Hold { .. } } if at == stage);
        let decided = self.accepted(Intent::Promote)
            && was.undecided.as_ref().is_some_and(|undecided| undecided.place == place);
        // Also one that this look came to only now, because another has begun it.
        let of_the_stage = |check: &&SeenCheck| check.id.run == was.started_at && check.id.place == place;
        let passed = self
            .seen
            .checks
            .iter()
            .filter(of_the_stage)
            .any(|check| verdict(check) == Some(Verdict::Successful));
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
