//! What comes out of a look.

use jiff::Timestamp;

use crate::check::{CheckMove, CheckPlace, Verdict};
use crate::intents::{Intent, Rejection};
use crate::memo::{AbortCause, Memo};
use crate::names::{CheckName, PodName, PodUid, Revision};
use crate::observation::{Exposure, Record};
use crate::plan::Caution;
use crate::reason::{Reason, Wait};

/// What comes out of a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to remember.
    pub memo: Memo,
    /// The next change of the workload, if any.
    pub next: Option<Move>,
    /// The move comes first, and the memo is found again from the record that the move leaves: see [`Order`].
    pub order: Order,
    /// A person's pause has to be lifted, because the same person asked for full promotion.
    pub lift_pause: bool,
    /// How the rollout stands, in one word.
    pub standing: Standing,
    /// Why it is not further: most important first.
    pub waits: Vec<Wait>,
    /// What is allowed but probably not meant.
    pub cautions: Vec<Caution>,
    /// What changed in this pass, worth telling.
    pub announcements: Vec<Announcement>,
    /// When to look again though nothing happens.
    pub wake: Option<Timestamp>,
}

/// What is written first. The rule is the memo, so that the intent stands in status before the act. The one exception
/// is the step from one stage to the next: its write carries its own record, so nothing is lost by a crash in between,
/// and pods wait one write less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The memo, then the move.
    MemoFirst,
    /// The move, then the memo.
    MoveFirst,
}

/// How a rollout stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Everything is on the wanted revision and available.
    Healthy,
    /// On its way.
    Progressing,
    /// Waits for time or a person.
    Paused,
    /// Something is wrong.
    Degraded,
}

/// One intended change of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Mark the workload as having a rollout.
    Claim,
    /// Let so many pods be on the target, no more. The record travels in the same write.
    Expose(Exposure, Option<Record>),
    /// Delete this pod, so that it comes back on the revision it belongs on.
    Free(PodRef),
    /// The run is over: take its mark off and let the workload rest, ready to hold the next target.
    Release,
    /// Begin or end a check; the workload is not touched.
    Check(CheckMove),
}

/// A pod, by name and identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    /// Its name.
    pub name: PodName,
    /// Its identity: no other pod of that name may be touched.
    pub uid: PodUid,
}

/// How an intent was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done, or under way.
    Accepted,
    /// It is not, and why.
    Rejected(Rejection),
}

/// Something that changed, worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// A new target was seen.
    Started {
        /// Which.
        target: Revision,
    },
    /// Another target came in the middle of a run.
    Superseded {
        /// The former target.
        abandoned: Revision,
        /// The new one.
        target: Revision,
    },
    /// The template was put back to stable in the middle of a run.
    Returning {
        /// The former target.
        abandoned: Revision,
        /// Where the pods go.
        stable: Revision,
    },
    /// They are all there.
    Returned {
        /// Where the pods are.
        stable: Revision,
    },
    /// A stage's hold began.
    HoldBegan {
        /// Which stage.
        stage: usize,
    },
    /// A stage's hold is over.
    HoldEnded {
        /// Which stage.
        stage: usize,
    },
    /// An intent was answered.
    Answered {
        /// Which intent.
        intent: Intent,
        /// How.
        answer: Answer,
    },
    /// The run was ended.
    Aborted {
        /// By whom.
        cause: AbortCause,
    },
    /// Every pod is back on stable after an abort.
    Reverted {
        /// Where the pods are.
        stable: Revision,
    },
    /// A check began.
    CheckBegan {
        /// Where.
        place: CheckPlace,
    },
    /// The check of a stage passed.
    CheckPassed {
        /// Which stage.
        stage: usize,
        /// Its name.
        name: CheckName,
    },
    /// A person has decided about a check that held everything: the run goes on.
    Decided {
        /// Where.
        place: CheckPlace,
        /// Its name.
        name: CheckName,
        /// What it had come to.
        verdict: Verdict,
    },
    /// A check holds everything until a person decides.
    Undecided {
        /// Where.
        place: CheckPlace,
        /// Inconclusive; Error where an error asks for a person; Failed where nothing can be put back any more.
        verdict: Verdict,
    },
    /// A check could not be measured, and is begun again.
    CheckAgain {
        /// Where.
        place: CheckPlace,
    },
    /// The deadline passed without progress.
    Overdue,
    /// Pods were on the target before anything held them back.
    Unguarded {
        /// Which.
        pods: Vec<PodName>,
    },
    /// Every pod is on the target.
    Completed {
        /// Which.
        target: Revision,
    },
}

impl Decision {
    /// The reasons of the waits, most important first.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        self.waits.iter().map(|wait| &wait.reason)
    }
}
