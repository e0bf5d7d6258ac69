//! The memo, small. What the engine never reads again is forgotten: when a run ended and was aborted, how often it was
//! restarted, and which revision the ended one was about. Everything is taken apart by name, so a field that is added
//! to the memo has to be thought of here.

use std::collections::BTreeSet;

use windlass_engine::{AbortCause, Ending, Journey, Memo, Outcome, Part, Progress, Run};

use crate::moments::{Age, number, some_day, started};
use crate::set::{NEWBORN, PODS, Version, ordinal, pod_name, pod_uid, read_uid, workload};

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SmallMemo {
    /// The run.
    pub run: Option<SmallRun>,
    /// How the latest one ended.
    pub ended: Option<End>,
}

/// The run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SmallRun {
    /// Which run, among those that anybody still remembers.
    pub number: u8,
    /// What is wanted.
    pub target: Version,
    /// What ran before.
    pub stable: Version,
    /// Where it is.
    pub way: Way,
    /// The latest progress.
    pub progress: Option<Age>,
    /// The most available pods seen.
    pub best: u8,
    /// The deadline has passed.
    pub overdue: bool,
    /// By ordinal.
    pub freed: [Option<u8>; PODS as usize],
    /// By ordinal.
    pub ahead: [bool; PODS as usize],
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// `Advancing`, exposing.
    Expose(u8),
    /// `Advancing`, holding since.
    Hold(u8, Age),
    /// `Completing`
    Completing,
    /// `Returning`
    Returning,
    /// `Aborting`; the flag says by the deadline.
    Aborting(u8, bool),
    /// `Aborted`; the flag says by the deadline.
    Aborted(u8, bool),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// `Completed`
    Completed,
    /// `Returned`
    Returned,
    /// `Superseded`
    Superseded,
}

impl SmallMemo {
    /// Nothing happened yet.
    pub const BLANK: Self = Self { run: None, ended: None };

    /// As the engine knows it.
    pub fn memo(&self) -> Memo {
        Memo {
            workload: Some(workload()),
            run: self.run.as_ref().map(write_run),
            ended: self.ended.map(|end| Ending {
                target: Version::A.revision(),
                outcome: match end {
                    End::Completed => Outcome::Completed,
                    End::Returned => Outcome::Returned,
                    End::Superseded => Outcome::Superseded,
                },
                at: some_day(),
            }),
        }
    }

    /// As the engine told it.
    pub fn read(memo: &Memo) -> Self {
        let Memo { workload: _, run, ended } = memo;
        Self {
            run: run.as_ref().map(read_run),
            ended: ended.as_ref().map(|Ending { target: _, outcome, at: _ }| match outcome {
                Outcome::Completed => End::Completed,
                Outcome::Returned => End::Returned,
                Outcome::Superseded => End::Superseded,
            }),
        }
    }

    /// The run, if it is aborting or aborted.
    pub fn is_aborted(&self) -> bool {
        self.run.is_some_and(|run| matches!(run.way, Way::Aborting(..) | Way::Aborted(..)))
    }

    /// The stage whose hold is on, and since when.
    pub fn hold(&self) -> Option<(u8, Age)> {
        match self.run?.way {
            Way::Hold(stage, since) => Some((stage, since)),
            _ => None,
        }
    }

    /// Long enough for any hold and any deadline.
    pub fn let_time_pass(&mut self) {
        let Some(run) = &mut self.run else { return };
        run.progress = run.progress.map(|_| Age::LongAgo);
        if let Way::Hold(_, since) = &mut run.way {
            *since = Age::LongAgo;
        }
    }

    /// A change of nothing but this need not be stored at once (`RolloutPluginStatus::essence`).
    #[must_use]
    pub fn essence(mut self) -> Self {
        if let Some(run) = &mut self.run {
            (run.progress, run.best) = (None, 0);
            if let Way::Expose(stage) = &mut run.way {
                *stage = 0;
            }
        }
        self
    }
}

fn write_run(run: &SmallRun) -> Run {
    let cause = |deadline| if deadline { AbortCause::Deadline } else { AbortCause::Person };
    let at = some_day();
    let freed = (0..PODS).zip(run.freed);
    let ahead = (0..PODS).zip(run.ahead);
    Run {
        target: run.target.revision(),
        stable: run.stable.revision(),
        started_at: started(run.number),
        journey: match run.way {
            Way::Expose(stage) => Journey::Advancing { stage: usize::from(stage), part: Part::Expose },
            Way::Hold(stage, since) => {
                Journey::Advancing { stage: usize::from(stage), part: Part::Hold { since: since.at() } }
            }
            Way::Completing => Journey::Completing,
            Way::Returning => Journey::Returning,
            Way::Aborting(stage, deadline) => {
                Journey::Aborting { cause: cause(deadline), at, stage: usize::from(stage) }
            }
            Way::Aborted(stage, deadline) => {
                Journey::Aborted { cause: cause(deadline), at, stage: usize::from(stage) }
            }
        },
        progress: Progress { at: run.progress.map(Age::at), best: u32::from(run.best), overdue: run.overdue },
        freed: freed.filter_map(|(ordinal, uid)| Some((pod_name(ordinal), pod_uid(uid?)))).collect(),
        ahead: ahead.filter(|(_, is)| *is).map(|(ordinal, _)| pod_name(ordinal)).collect::<BTreeSet<_>>(),
        restarts: 0,
        restarted_at: None,
        background: None,
        background_behind: None,
        unmeasured: false,
        undecided: None,
        blame: None,
    }
}

fn read_run(run: &Run) -> SmallRun {
    let Run { target, stable, started_at, journey, progress, freed, ahead, .. } = run;
    let Progress { at, best, overdue } = progress;
    let mut small = SmallRun {
        number: number(*started_at).unwrap_or(NEWBORN),
        target: Version::read(target),
        stable: Version::read(stable),
        way: read_way(journey),
        progress: at.map(Age::read),
        best: u8::try_from(*best).unwrap_or(u8::MAX),
        overdue: *overdue,
        freed: [None; PODS as usize],
        ahead: [false; PODS as usize],
    };
    for (name, uid) in freed {
        small.freed[ordinal(name)] = Some(read_uid(uid));
    }
    for name in ahead {
        small.ahead[ordinal(name)] = true;
    }
    small
}

fn read_way(journey: &Journey) -> Way {
    let small = |stage: usize| u8::try_from(stage).unwrap_or(u8::MAX);
    match *journey {
        // The plans of this model have no checks.
        Journey::Advancing { stage, part: Part::Expose | Part::Check { .. } } => Way::Expose(small(stage)),
        Journey::Advancing { stage, part: Part::Hold { since } } => Way::Hold(small(stage), Age::read(since)),
        Journey::Completing => Way::Completing,
        Journey::Returning => Way::Returning,
        Journey::Aborting { cause, at: _, stage } => {
            Way::Aborting(small(stage), cause == AbortCause::Deadline)
        }
        Journey::Aborted { cause, at: _, stage } => Way::Aborted(small(stage), cause == AbortCause::Deadline),
    }
}
