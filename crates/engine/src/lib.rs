//! The pure core of Windlass.
//!
//! [`decide`] looks at what is wanted ([`Plan`]), what is there ([`Seen`]), what is remembered ([`Memo`]) and what
//! people asked for ([`Intents`]), and answers with a [`Decision`]: at most one [`Move`], the memory to keep, and a
//! typed [`Reason`] for everything that has to wait. It is total and deterministic; it knows no clock, no client, no
//! Kubernetes. [`audit`] is its second opinion, written without looking at it.

mod align;
mod audit;
mod check;
mod decide;
mod decision;
mod intents;
mod memo;
mod names;
mod observation;
mod plan;
mod reason;
mod words;

pub use audit::{Violation, audit};
pub use check::{Blame, CheckId, CheckMove, CheckPlace, CheckState, SeenCheck, Undecided, Verdict};
pub use decide::decide;
pub use decision::{Announcement, Answer, Decision, Move, Order, PodRef, Standing};
pub use intents::{Intent, Intents, Promotion, Rejection};
pub use memo::{AbortCause, Ending, Journey, Memo, Outcome, Part, Progress, Run};
pub use names::{CheckName, PodName, PodUid, Revision, RolloutName, WorkloadUid};
pub use observation::{Exposure, Observation, Pod, PodState, Record, Refusal, Seen, Slot};
pub use plan::{
    Amount, Background, Caution, Check, Deadline, Expose, Flaw, Hold, Obstacle, OnError, Plan, Rounding,
    Route, Stage,
};
pub use reason::{PodTrouble, Reason, Wait};
pub use words::{Explanation, age_words, duration_words, explain, pod_words, reject_words};
