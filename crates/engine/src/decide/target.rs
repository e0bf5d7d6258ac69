//! Follows the workload's target: a run starts, is superseded, or turns back.

use crate::decision::Announcement;
use crate::memo::{Ending, Journey, Outcome, Run};
use crate::names::{PodName, Revision};

use super::Pass;

impl Pass<'_> {
    /// True when the target is another one than the run was about, or when there was no run: what people asked for
    /// before they were shown this one was not meant for it.
    pub(super) fn follow_target(&mut self) -> bool {
        let Some(run) = &self.memo.run else {
            self.start_if_needed();
            return self.memo.run.is_some();
        };
        if &self.seen.target == run.expects() {
            return false;
        }
        if self.seen.target == run.stable && run.journey != Journey::Returning {
            self.turn_back();
        } else {
            self.supersede();
        }
        true
    }

    fn start_if_needed(&mut self) {
        let (target, stable) = (&self.seen.target, &self.seen.stable);
        if target != stable {
            let mut run = Run::start(self.beginning(), target.clone(), stable.clone());
            self.announcements.push(Announcement::Started { target: target.clone() });
            let ahead: Vec<PodName> = self.ahead(target);
            if !ahead.is_empty() {
                run.ahead = ahead.iter().cloned().collect();
                self.announcements.push(Announcement::Unguarded { pods: ahead });
            }
            self.memo.run = Some(run);
        } else if let Some(foreign) = self.foreign_revision() {
            // The template was put back while nobody looked: pods of the abandoned revision are still there.
            let mut run = Run::start(self.beginning(), foreign.clone(), stable.clone());
            run.journey = Journey::Returning;
            self.announcements
                .push(Announcement::Returning { abandoned: foreign.clone(), stable: stable.clone() });
            self.memo.run = Some(run);
        }
    }

    /// Pods that are on the target although nobody exposed them.
    fn ahead(&self, target: &Revision) -> Vec<PodName> {
        if self.seen.marked {
            return Vec::new();
        }
        self.seen.pods_on(target).map(|pod| pod.name.clone()).collect()
    }

    fn foreign_revision(&self) -> Option<&Revision> {
        self.seen
            .pods()
            .filter_map(|pod| pod.revision.as_ref())
            .find(|revision| **revision != self.seen.stable)
    }

    fn turn_back(&mut self) {
        let all_back = self.seen.stable == self.seen.target && self.foreign_revision().is_none();
        let Some(run) = &mut self.memo.run else { return };
        if all_back && matches!(run.journey, Journey::Aborted { .. }) {
            let target = run.target.clone();
            self.announcements.push(Announcement::Returned { stable: run.stable.clone() });
            self.end(target, Outcome::Returned);
            return;
        }
        let (abandoned, stable) = (run.target.clone(), run.stable.clone());
        run.journey = Journey::Returning;
        run.freed.clear();
        self.announcements.push(Announcement::Returning { abandoned, stable });
    }

    fn supersede(&mut self) {
        let Some(run) = self.memo.run.take() else { return };
        let at = self.now.max(run.started_at);
        self.memo.ended = Some(Ending { target: run.target.clone(), outcome: Outcome::Superseded, at });
        let (target, stable) = (self.seen.target.clone(), self.seen.stable.clone());
        self.announcements.push(Announcement::Superseded { abandoned: run.target, target: target.clone() });
        if target == stable {
            self.start_if_needed();
        } else {
            self.memo.run = Some(Run::start(self.beginning(), target, stable));
        }
    }

    /// The run is over. It did not end before it began, also where a clock was set back meanwhile: whatever was begun in it
    /// is known to be past by that moment.
    pub(super) fn end(&mut self, target: Revision, outcome: Outcome) {
        let began = self.memo.run.take().map_or(self.now, |run| run.started_at);
        self.memo.ended = Some(Ending { target, outcome, at: self.now.max(began) });
    }
}
