//! Answers what people asked for: each intent is taken or turned down in the pass that sees it, never kept for later.

use crate::decision::{Announcement, Answer};
use crate::intents::{Intent, Intents, Promotion, Rejection};
use crate::memo::{AbortCause, Journey, Outcome, Part, Run};

use super::Pass;

impl Pass<'_> {
    pub(super) fn answer(&mut self, intents: &Intents, target_changed: bool) {
        if intents.abort {
            let answer = self.answer_abort(target_changed);
            self.tell(Intent::Abort, answer);
        }
        if intents.promote_full {
            let answer = self.answer_promote_full(intents.abort, target_changed);
            self.tell(Intent::PromoteFull, answer);
        }
        if let Some(promotion) = &intents.promote {
            let answer = self.answer_promote(promotion, intents.abort, target_changed);
            self.tell(Intent::Promote, answer);
        }
        // Last: what was asked of the aborted run is not meant for the one that begins here.
        if intents.restart {
            let answer = self.answer_restart(intents.abort);
            self.tell(Intent::Restart, answer);
        }
    }

    fn tell(&mut self, intent: Intent, answer: Result<(), Rejection>) {
        let answer = answer.map_or_else(Answer::Rejected, |()| Answer::Accepted);
        self.announcements.push(Announcement::Answered { intent, answer });
    }

    fn answer_abort(&mut self, target_changed: bool) -> Result<(), Rejection> {
        let Some(run) = &self.memo.run else { return Err(self.nothing_to_abort()) };
        match run.journey {
            Journey::Aborting { .. } | Journey::Aborted { .. } => Err(Rejection::AlreadyAborted),
            Journey::Returning => Err(Rejection::Returning),
            Journey::Advancing { .. } | Journey::Completing if target_changed => {
                Err(Rejection::TargetChanged)
            }
            Journey::Advancing { .. } | Journey::Completing => self.abort(AbortCause::Person),
        }
    }

    /// Turns the run round, unless there is nothing to turn to.
    pub(super) fn abort(&mut self, cause: AbortCause) -> Result<(), Rejection> {
        let Some(run) = &mut self.memo.run else { return Err(Rejection::NoRun) };
        if self.seen.stable != run.stable {
            return Err(Rejection::StableForgotten);
        }
        let stage = run.stage().unwrap_or(self.plan.stages.len());
        // What came back wrong stays remembered: it is not deleted a second time. One that the workload's controller is
        // replacing by itself has not come back yet.
        let exposed = match run.journey {
            Journey::Advancing { stage, .. } => self.plan.exposure(stage, self.seen.replicas()),
            _ => self.seen.replicas(),
        } as usize;
        let (seen, target, stable) = (self.seen, &run.target, &run.stable);
        run.freed.retain(|name, uid| {
            let rank = seen.slots.iter().position(|slot| slot.name == *name);
            let pod = rank.and_then(|rank| seen.slots[rank].pod.as_ref());
            let belongs = if rank.is_some_and(|rank| rank < exposed) { target } else { stable };
            pod.is_some_and(|pod| pod.uid != *uid && !pod.is_on(belongs) && !pod.is_terminating())
        });
        run.journey = Journey::Aborting { cause, at: self.now, stage };
        (run.undecided, run.unmeasured) = (None, false);
        run.progress.overdue = cause == AbortCause::Deadline;
        self.announcements.push(Announcement::Aborted { cause });
        Ok(())
    }

    fn answer_restart(&mut self, abort_too: bool) -> Result<(), Rejection> {
        let (now, beginning) = (self.now, self.beginning());
        match &mut self.memo.run {
            Some(_) if abort_too => Err(Rejection::AbortWins),
            Some(run) if run.is_aborted() => {
                let restarts = run.restarts.saturating_add(1);
                *run = Run {
                    restarts,
                    restarted_at: Some(now),
                    ..Run::start(beginning, run.target.clone(), run.stable.clone())
                };
                Ok(())
            }
            _ => Err(Rejection::NotAborted),
        }
    }

    fn answer_promote_full(&mut self, abort_too: bool, target_changed: bool) -> Result<(), Rejection> {
        if abort_too {
            return Err(Rejection::AbortWins);
        }
        let Some(run) = &mut self.memo.run else { return Err(Rejection::NoRun) };
        match run.journey {
            Journey::Aborting { .. } | Journey::Aborted { .. } => Err(Rejection::Aborted),
            Journey::Returning => Err(Rejection::Returning),
            Journey::Advancing { .. } | Journey::Completing if target_changed => {
                Err(Rejection::TargetChanged)
            }
            Journey::Advancing { .. } | Journey::Completing => {
                run.journey = Journey::Completing;
                // Whoever skips everything skips the checks too.
                (run.background, run.undecided, run.unmeasured) = (None, None, false);
                run.progress.at = Some(self.now);
                run.progress.overdue = false;
                self.lift_pause = self.plan.paused;
                Ok(())
            }
        }
    }

    fn answer_promote(
        &mut self,
        promotion: &Promotion,
        abort_too: bool,
        target_changed: bool,
    ) -> Result<(), Rejection> {
        if abort_too {
            return Err(Rejection::AbortWins);
        }
        let Some(run) = &mut self.memo.run else { return Err(Rejection::NoRun) };
        if target_changed || self.seen.known_as(&promotion.target) != &run.target {
            return Err(Rejection::TargetChanged);
        }
        if run.stage() == promotion.stage
            && let Some(undecided) = run.undecided.clone()
        {
            // A hold that was shown beside it is left as well: both were shown.
            let holds = matches!(run.journey, Journey::Advancing { part: Part::Hold { .. }, .. });
            self.decide_for(&undecided);
            if let (true, Some(stage)) = (holds, promotion.stage) {
                self.leave_hold(stage);
            }
            return Ok(());
        }
        match run.journey {
            Journey::Advancing { stage, part: Part::Hold { .. } } if Some(stage) == promotion.stage => {
                self.leave_hold(stage);
                Ok(())
            }
            Journey::Aborting { .. } | Journey::Aborted { .. } => Err(Rejection::Aborted),
            Journey::Returning => Err(Rejection::Returning),
            Journey::Advancing { .. } | Journey::Completing => Err(Rejection::NoRun),
        }
    }

    fn nothing_to_abort(&self) -> Rejection {
        match &self.memo.ended {
            Some(ending) if ending.outcome == Outcome::Completed => Rejection::Completed,
            _ => Rejection::NoRun,
        }
    }
}
