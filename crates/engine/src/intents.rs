//! What people asked for, and how they are answered: each intent is consumed or rejected in the pass that sees it.

use crate::names::Revision;

/// What people asked for since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intents {
    /// End the run and put everything back.
    pub abort: bool,
    /// Take up an aborted run again, from its first stage.
    pub restart: bool,
    /// Skip all remaining stages.
    pub promote_full: bool,
    /// Go on from the hold that was shown.
    pub promote: Option<Promotion>,
}

/// The go-ahead for what is held at one stage; it is worth nothing for another revision or stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The target that was shown.
    pub target: Revision,
    /// The stage at which it was shown; none past the stages.
    pub stage: Option<usize>,
}

/// One kind of intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Intent {
    /// End the run and put everything back.
    Abort,
    /// Take up an aborted run again.
    Restart,
    /// Skip all remaining stages.
    PromoteFull,
    /// Go on from the hold that was shown.
    Promote,
}

/// Why an intent was turned down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is no run.
    NoRun,
    /// The run is completed: stable is the new version already.
    Completed,
    /// Every pod is on the target, and the workload's controller has forgotten stable.
    StableForgotten,
    /// The run is aborted already.
    AlreadyAborted,
    /// The run is aborted; only a restart takes it up again.
    Aborted,
    /// There is nothing aborted to restart.
    NotAborted,
    /// The template was put back; every pod is on its way to stable already.
    Returning,
    /// A new target came, so the go-ahead was for something else.
    TargetChanged,
    /// An abort came in the same moment and wins.
    AbortWins,
    /// The specification is invalid, or the workload cannot be managed; nothing is touched.
    CannotAct,
}

impl Intents {
    /// The intents that are set, in the order in which they are answered.
    pub fn asked(&self) -> Vec<Intent> {
        let asked = [
            (self.abort, Intent::Abort),
            (self.promote_full, Intent::PromoteFull),
            (self.promote.is_some(), Intent::Promote),
            (self.restart, Intent::Restart),
        ];
        asked.into_iter().filter_map(|(set, intent)| set.then_some(intent)).collect()
    }
}
