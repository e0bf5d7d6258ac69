//! What may happen in the small world, and its words.

use std::fmt;

use crate::look::Request;
use crate::memory::SmallMemo;
use crate::set::{HOLD, PODS, Version};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The set's controller, on the latest spec.
    Sync,
    /// The set's controller, on the spec it saw last.
    SyncOnFormerSpec,
    /// A pod becomes ready.
    Ready(u8),
    /// A pod that was told to go is gone.
    Gone(u8),
    /// A pod is not ready any more.
    Fails(u8),
    /// The controller looks and sends this.
    Look(Request),
    /// The request arrives, and its answer.
    Arrives,
    /// The controller ends before its request gets out, and starts again.
    CrashBefore,
    /// The controller ends after its request was done, and starts again.
    CrashAfter,
    /// The watches stand still.
    Stalls,
    /// The watches catch up.
    CatchesUp,
    /// A timed hold is over.
    HoldEnds,
    /// More time passes than the deadline allows.
    Delay,
    /// Somebody changes the template.
    Template(Version),
    /// A person pushes this.
    Promote,
    /// A person pushes this.
    PromoteFull,
    /// A person pushes this.
    Abort,
    /// A person pushes this.
    Restart,
    /// A person pushes this.
    Pause,
    /// A person pushes this.
    Resume,
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync => write!(out, "the set's controller works"),
            Self::SyncOnFormerSpec => write!(out, "the set's controller works, on the spec before"),
            Self::Ready(pod) => write!(out, "web-{pod} becomes ready"),
            Self::Gone(pod) => write!(out, "web-{pod} is gone"),
            Self::Fails(pod) => write!(out, "web-{pod} fails"),
            Self::Look(request) => write!(out, "windlass looks and sends: {request}"),
            Self::Arrives => write!(out, "the request arrives"),
            Self::CrashBefore => write!(out, "windlass crashes before the request is out"),
            Self::CrashAfter => write!(out, "windlass crashes after the request is done"),
            Self::Stalls => write!(out, "the watches stand still"),
            Self::CatchesUp => write!(out, "the watches catch up"),
            Self::HoldEnds => write!(out, "the time of the hold is over"),
            Self::Delay => write!(out, "more time passes than the deadline allows"),
            Self::Template(version) => write!(out, "somebody applies template {version}"),
            Self::Promote => write!(out, "a person promotes"),
            Self::PromoteFull => write!(out, "a person promotes in full"),
            Self::Abort => write!(out, "a person aborts"),
            Self::Restart => write!(out, "a person restarts"),
            Self::Pause => write!(out, "a person pauses"),
            Self::Resume => write!(out, "a person resumes"),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(SmallMemo { run: Some(run), .. }, _) => {
                write!(out, "status, {:?} from {} to {}", run.way, run.stable, run.target)?;
                let freed = (0..PODS).zip(run.freed).filter(|(_, uid)| uid.is_some());
                for (pod, _) in freed {
                    write!(out, ", web-{pod} freed")?;
                }
                Ok(())
            }
            Self::Store(SmallMemo { run: None, ended }, _) => write!(out, "status, no run, {ended:?}"),
            Self::LiftPause => write!(out, "the pause is lifted"),
            Self::Expose(HOLD, _) => write!(out, "partition HOLD"),
            Self::Expose(partition, _) => write!(out, "partition {partition}"),
            Self::Release => write!(out, "the mark is off"),
            Self::Delete(pod, uid) => write!(out, "delete web-{pod} (uid {uid})"),
        }
    }
}

impl Action {
    /// Which of the fair steps this is: they happen some day if they stay possible.
    pub fn fair(self) -> Option<u8> {
        match self {
            Self::Sync => Some(0),
            Self::Look(_) => Some(1),
            Self::Arrives => Some(2),
            Self::CatchesUp => Some(3),
            Self::HoldEnds => Some(4),
            Self::Ready(pod) => Some(5 + pod),
            Self::Gone(pod) => Some(5 + PODS + pod),
            Self::SyncOnFormerSpec
            | Self::Fails(_)
            | Self::CrashBefore
            | Self::CrashAfter
            | Self::Stalls
            | Self::Delay
            | Self::Template(_)
            | Self::Promote
            | Self::PromoteFull
            | Self::Abort
            | Self::Restart
            | Self::Pause
            | Self::Resume => None,
        }
    }
}
