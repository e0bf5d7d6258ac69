//! The progress deadline: time since the last observed progress, with pauses and holds taken out.

use jiff::Timestamp;

use crate::decision::Announcement;
use crate::memo::{AbortCause, Journey, Run};

use super::{Pass, Step};

impl Pass<'_> {
    /// True when the deadline turned the run round.
    pub(super) fn look_at_the_clock(&mut self, step: &Step) -> bool {
        let stopped = self.clock_stands(step);
        let available = self.available_on_target();
        let before = self.before.run.as_ref();
        let now = self.now;
        let Some(run) = &mut self.memo.run else { return false };
        if run.is_aborted() {
            return false;
        }
        let moved = before.is_none_or(|before| {
            before.journey != run.journey || before.freed != run.freed || before.target != run.target
        });
        if moved {
            run.progress.best = available;
        }
        if stopped {
            run.progress.at = None;
            run.progress.overdue = false;
            return false;
        }
        if moved || available > run.progress.best || run.progress.at.is_none() {
            run.progress.best = run.progress.best.max(available);
            run.progress.at = Some(now);
            run.progress.overdue = false;
            return false;
        }
        self.judge()
    }

    fn judge(&mut self) -> bool {
        let passed = self.deadline_passes().is_none_or(|limit| limit <= self.now);
        let Some(run) = &mut self.memo.run else { return false };
        if !passed {
            run.progress.overdue = false;
            return false;
        }
        if !run.progress.overdue {
            run.progress.overdue = true;
            self.announcements.push(Announcement::Overdue);
        }
        self.plan.deadline.abort
            && !matches!(run.journey, Journey::Returning)
            && self.abort(AbortCause::Deadline).is_ok()
    }

    /// When the deadline passes; none while the clock stands still or after it has passed.
    pub(super) fn deadline_passes(&self) -> Option<Timestamp> {
        let run = self.memo.run.as_ref().filter(|run| !run.is_aborted())?;
        let limit = run.progress.at?.checked_add(self.plan.deadline.after).unwrap_or(Timestamp::MAX);
        (limit > self.now).then_some(limit)
    }

    fn clock_stands(&self, step: &Step) -> bool {
        let holds = self.memo.run.as_ref().is_some_and(|run| match run.journey {
            Journey::Advancing { stage, .. } => run
                .holding_since()
                .is_some_and(|since| self.hold_until(stage, since).is_none_or(|until| self.now < until)),
            _ => false,
        });
        self.plan.paused || holds || step.is_parked() || step.is_checking()
    }

    fn available_on_target(&self) -> u32 {
        let Some(revision) = self.memo.run.as_ref().map(Run::expects) else { return 0 };
        let count = self.seen.pods_on(revision).filter(|pod| pod.is_available(self.now)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}
