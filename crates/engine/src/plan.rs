//! What is wanted: the stages of a rollout, neutral to the API dialect that described them.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::check::CheckPlace;

/// The ordered stages, and what a person asked for besides them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The stages, in order. Never empty: a front refuses a plan without stages.
    pub stages: Vec<Stage>,
    /// A check beside the stages.
    pub background: Option<Background>,
    /// What keeps the plan from being carried out further, though it can be read: checks that cannot be begun. As long
    /// as a run may come to one of them nothing is exposed, and everything can still be put back.
    pub obstacles: Vec<Obstacle>,
    /// A person holds the whole rollout where it is.
    pub paused: bool,
    /// How long the run may go without progress.
    pub deadline: Deadline,
    /// What is allowed but probably not meant.
    pub cautions: Vec<Caution>,
}

/// One stage: up to four parts, done in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// How many pods may be on the target.
    pub expose: Option<Expose>,
    /// How traffic is split; no engine serves this yet.
    pub route: Option<Route>,
    /// An analysis that must pass.
    pub check: Option<Check>,
    /// A wait for time or for a person.
    pub hold: Option<Hold>,
}

/// How many pods may be on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expose {
    /// Percent or count.
    pub amount: Amount,
    /// What happens to a fraction of a pod.
    pub rounding: Rounding,
}

/// Percent of the replicas, or a plain number of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// 0 to 100; more counts as 100.
    Percent(u32),
    /// So many pods; more than there are counts as all.
    Count(u32),
}

/// What happens to a fraction of a pod. Dialects differ, so the plan says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Down, but at least one pod when more than nothing was asked for.
    DownAtLeastOne,
    /// Up.
    Up,
}

impl Expose {
    /// The number of pods out of `replicas`.
    pub fn pods(self, replicas: u32) -> u32 {
        let pods = match self.amount {
            Amount::Count(count) => count,
            Amount::Percent(percent) => {
                let share = u64::from(replicas) * u64::from(percent.min(100));
                let pods = match self.rounding {
                    Rounding::DownAtLeastOne if percent > 0 => (share / 100).max(1),
                    Rounding::DownAtLeastOne => 0,
                    Rounding::Up => share.div_ceil(100),
                };
                u32::try_from(pods).unwrap_or(u32::MAX)
            }
        };
        pods.min(replicas)
    }

    /// True when every pod is asked for, whatever their number.
    fn is_everything(self) -> bool {
        matches!(self.amount, Amount::Percent(100..))
    }
}

/// How traffic is split or matched. A seam: only its name is known so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What the dialect called it.
    pub described: String,
}

/// An analysis that must pass. What it measures is the dialect's matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// What happens when it cannot be measured.
    pub on_error: OnError,
}

/// What happens when a check cannot be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run is aborted, as when the check had failed.
    #[default]
    Abort,
    /// Everything is held until a person decides.
    Pause,
    /// Everything is held, and it is measured again, until that works.
    Retry,
}

/// A check beside the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// The check.
    pub check: Check,
    /// The stage with which it begins.
    pub from: usize,
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// For so long.
    For(SignedDuration),
    /// Until a person promotes.
    UntilPromoted,
}

/// How long a run may go without observed progress; pauses do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Time since the last progress.
    pub after: SignedDuration,
    /// Abort the run when it passes, instead of only saying so.
    pub abort: bool,
}

/// Why a specification is no plan. The words are the dialect's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaw {
    /// What is wrong, where, and what would be right.
    pub text: String,
}

impl Flaw {
    /// A flaw in the words of the dialect.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// Why a check cannot be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Which check.
    pub place: CheckPlace,
    /// Why, in the words of the dialect.
    pub flaw: Flaw,
}

/// What is allowed but probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// What may surprise, in the words of the dialect.
    pub text: String,
}

impl Plan {
    /// How many of `replicas` pods may be on the target at `stage`: what the nearest stage up to it exposes.
    pub fn exposure(&self, stage: usize, replicas: u32) -> u32 {
        self.nearest_expose(stage).map_or(0, |expose| expose.pods(replicas))
    }

    /// The parts of the plan that no engine serves yet, one flaw each.
    pub fn not_served(&self) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        for (index, stage) in self.stages.iter().enumerate() {
            if let Some(Route { described }) = &stage.route {
                flaws.push(Flaw::new(format!(
                    "step {index} asks for {described}, which this version of Windlass does not do yet; \
                     remove it, or wait for a version that does"
                )));
            }
        }
        flaws
    }

    /// The first stage that exposes every pod although more stages follow.
    pub fn everything_before_the_end(&self) -> Option<usize> {
        let last = self.stages.len().saturating_sub(1);
        self.stages
            .iter()
            .position(|stage| stage.expose.is_some_and(Expose::is_everything))
            .filter(|&stage| stage < last)
    }

    fn nearest_expose(&self, stage: usize) -> Option<Expose> {
        let upto = self.stages.len().min(stage.saturating_add(1));
        self.stages[..upto].iter().rev().find_map(|stage| stage.expose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(percent: u32, rounding: Rounding) -> Expose {
        Expose { amount: Amount::Percent(percent), rounding }
    }

    #[test]
    fn a_small_weight_exposes_one_pod_and_the_rest_rounds_down() {
        let rows =
            [(5, 20, 1), (2, 20, 1), (10, 25, 2), (10, 99, 9), (5, 0, 0), (0, 50, 0), (1, 1, 1), (3, 100, 3)];
        for (replicas, weight, pods) in rows {
            let expose = percent(weight, Rounding::DownAtLeastOne);
            assert_eq!(expose.pods(replicas), pods, "{weight}% of {replicas}");
        }
    }

    #[test]
    fn the_other_dialect_rounds_up() {
        for (replicas, weight, pods) in [(10, 25, 3), (2, 20, 1), (5, 0, 0), (7, 100, 7)] {
            assert_eq!(percent(weight, Rounding::Up).pods(replicas), pods, "{weight}% of {replicas}");
        }
    }

    #[test]
    fn a_count_never_exceeds_the_replicas() {
        let expose = Expose { amount: Amount::Count(9), rounding: Rounding::Up };
        assert_eq!(expose.pods(4), 4);
    }
}
