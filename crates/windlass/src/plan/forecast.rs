//! What will happen, stage by stage, when the template changes. Pure: the engine's own plan in, a forecast out. How many
//! pods a stage exposes, and which, is asked of the engine and the lens, so that the forecast cannot differ from the run.

use std::fmt;

use jiff::SignedDuration;
use serde::{Serialize, Serializer};
use windlass_engine::{Exposure, Hold, Observation, Plan, PodName, duration_words};

use super::checks::CheckForecast;
use super::facts::Facts;

/// What will happen.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    /// The pods, in the order in which they move.
    pub(crate) pods: Vec<PodName>,
    /// How many of them are unavailable at once, at most.
    pub(crate) pods_down_at_once: u32,
    pub(crate) stages: Vec<StageForecast>,
    /// What is measured.
    pub(crate) analyses: Vec<CheckForecast>,
    /// Timed pauses, and the time that pods have to be ready; not the time that they take to stop and start.
    #[serde(rename = "shortestSeconds")]
    pub(crate) shortest: Span,
    /// When each pod takes as long as the deadline lets it, pauses for a person left out.
    #[serde(rename = "longestSeconds")]
    pub(crate) longest: Span,
    /// How often a person has to promote.
    pub(crate) holds_for_a_person: usize,
    pub(crate) deadline: DeadlineForecast,
    /// Where an abort stops being of use; none when there is no pod.
    pub(crate) revert_ends: Option<RevertEnd>,
}

/// One stage.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StageForecast {
    /// Counted from 1, as everywhere else; none for what follows the last step.
    pub(crate) step: Option<usize>,
    /// The step in the words of the dialect.
    pub(crate) does: String,
    /// Pods that get the new version, in this order.
    pub(crate) to_target: Vec<PodName>,
    /// Pods that go back, in this order: the weight falls.
    pub(crate) to_stable: Vec<PodName>,
    /// How many pods are on the new version when the stage is done.
    pub(crate) on_target: u32,
    pub(crate) partition: i32,
    pub(crate) gate: Gate,
    #[serde(rename = "shortestSeconds")]
    pub(crate) shortest: Span,
    /// None when a person is waited for, and when the end of an analysis is not known.
    #[serde(rename = "longestSeconds")]
    pub(crate) longest: Option<Span>,
    /// What an abort in this stage is worth.
    pub(crate) abort: Abort,
}

/// What has to come true for the next stage to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum Gate {
    /// Every pod that is exposed is available, and no other is off stable.
    Available,
    /// The time is over.
    Time {
        /// How long it is.
        #[serde(rename = "seconds")]
        span: Span,
    },
    /// A person promotes.
    Person,
    /// An analysis passes.
    Analysis {
        /// Its templates are at hand.
        known: bool,
    },
}

/// What an abort in a stage is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Abort {
    /// Every updated pod goes back.
    PutsBack,
    /// The same, until the last pod of the stage is ready.
    PutsBackUntilTheLastPodIsReady,
    /// It is refused: the workload's controller has forgotten stable.
    Refused,
}

/// How long a run may go without progress, and what then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeadlineForecast {
    #[serde(rename = "seconds")]
    pub(crate) after: Span,
    /// The run is aborted; otherwise it is Degraded and goes on waiting.
    pub(crate) abort: bool,
}

/// Where an abort stops being of use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevertEnd {
    /// The step; none for what follows the last step.
    pub(crate) step: Option<usize>,
    /// The pod whose readiness makes the workload's controller forget stable.
    pub(crate) pod: PodName,
}

/// A duration: words for people, seconds for machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) SignedDuration);

impl Span {
    pub(crate) fn is_zero(self) -> bool {
        self.0.as_secs() == 0
    }

    /// So many times one after the other.
    fn times(each: SignedDuration, count: usize) -> Self {
        Self(each.saturating_mul(i32::try_from(count).unwrap_or(i32::MAX)))
    }

    fn sum(spans: impl Iterator<Item = Self>) -> Self {
        Self(spans.fold(SignedDuration::ZERO, |sum, span| sum.saturating_add(span.0)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&duration_words(self.0))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.as_secs())
    }
}

/// What will happen when this plan is carried out on what is seen. `does` has the words for each stage.
pub(crate) fn forecast(
    plan: &Plan,
    facts: &Facts,
    seen: &Observation,
    does: &[String],
    analyses: Vec<CheckForecast>,
) -> Forecast {
    let stages = Walk::new(plan, facts, seen).stages(does, &analyses);
    Forecast {
        pods: seen.slots.iter().map(|slot| slot.name.clone()).collect(),
        pods_down_at_once: facts.max_unavailable().min(seen.replicas()),
        shortest: Span::sum(stages.iter().map(|stage| stage.shortest)),
        longest: Span::sum(stages.iter().filter_map(|stage| stage.longest)),
        holds_for_a_person: stages.iter().filter(|stage| stage.gate == Gate::Person).count(),
        deadline: DeadlineForecast { after: Span(plan.deadline.after), abort: plan.deadline.abort },
        revert_ends: revert_ends(&stages, seen),
        stages,
        analyses,
    }
}

/// What a stage waits for once its pods are available.
#[derive(Clone, Copy)]
enum Wait<'a> {
    Nothing,
    Hold(Hold),
    Check(&'a CheckForecast),
}

impl<'a> Wait<'a> {
    fn of(hold: Option<Hold>, check: Option<&'a CheckForecast>) -> Self {
        match (hold, check) {
            (_, Some(check)) => Self::Check(check),
            (Some(hold), None) => Self::Hold(hold),
            (None, None) => Self::Nothing,
        }
    }
}

/// A walk through the stages, with as many pods on the target as the stage before left there.
struct Walk<'a> {
    plan: &'a Plan,
    facts: &'a Facts,
    seen: &'a Observation,
    before: u32,
    /// Every pod was updated: the workload's controller takes the target for stable.
    forgotten: bool,
}

impl<'a> Walk<'a> {
    fn new(plan: &'a Plan, facts: &'a Facts, seen: &'a Observation) -> Self {
        Self { plan, facts, seen, before: 0, forgotten: false }
    }

    fn stages(mut self, does: &[String], analyses: &[CheckForecast]) -> Vec<StageForecast> {
        let replicas = self.seen.replicas();
        let mut stages = Vec::new();
        for (index, stage) in self.plan.stages.iter().enumerate() {
            let words = does.get(index).cloned().unwrap_or_default();
            let exposed = self.plan.exposure(index, replicas);
            let check = analyses.iter().find(|analysis| analysis.step == Some(index + 1));
            stages.push(self.stage(Some(index + 1), words, exposed, Wait::of(stage.hold, check)));
        }
        if self.before < replicas {
            stages.push(self.stage(None, "the rest follows".to_owned(), replicas, Wait::Nothing));
        }
        stages
    }

    fn stage(&mut self, step: Option<usize>, does: String, exposed: u32, wait: Wait<'_>) -> StageForecast {
        let forward = self.names(self.before, exposed);
        let back = self.names(exposed, self.before);
        let forgotten = self.forgotten;
        let everything = exposed > 0 && exposed == self.seen.replicas();
        self.before = exposed;
        self.forgotten |= everything;
        let moving = self.moving(forward.len(), back.len());
        // Going back, both the deletion and the return of a pod are progress.
        let overdue = Span::times(self.plan.deadline.after, forward.len() + 2 * back.len()).max(moving);
        let (gate, shortest, longest) = match wait {
            Wait::Nothing => (Gate::Available, moving, Some(overdue)),
            Wait::Hold(Hold::For(time)) => (
                Gate::Time { span: Span(time) },
                Span::sum([moving, Span(time)].into_iter()),
                Some(Span::sum([overdue, Span(time)].into_iter())),
            ),
            Wait::Hold(Hold::UntilPromoted) => (Gate::Person, moving, None),
            Wait::Check(check) => (
                Gate::Analysis { known: check.is_known() },
                Span::sum([moving].into_iter().chain(check.shortest)),
                check.longest.map(|longest| Span::sum([overdue, longest].into_iter())),
            ),
        };
        StageForecast {
            step,
            does,
            to_target: forward,
            to_stable: back,
            on_target: exposed,
            partition: self.facts.view().partition_for(Exposure::of(exposed)),
            gate,
            shortest,
            longest,
            abort: match (forgotten, everything) {
                (true, _) => Abort::Refused,
                (false, true) => Abort::PutsBackUntilTheLastPodIsReady,
                (false, false) => Abort::PutsBack,
            },
        }
    }

    /// The shortest time in which so many pods go forward and so many back. Back is always one at a time; forward can be
    /// several at once where the set says so and makes its pods without waiting for each other.
    fn moving(&self, forward: usize, back: usize) -> Span {
        let at_once = if self.facts.is_parallel() { self.facts.max_unavailable() } else { 1 };
        let waves = forward.div_ceil(usize::try_from(at_once).unwrap_or(1).max(1));
        Span::times(self.facts.probation(), waves + back)
    }

    /// The names of the slots from one rank up to another.
    fn names(&self, from: u32, upto: u32) -> Vec<PodName> {
        let (from, upto) = (from as usize, upto as usize);
        self.seen.slots.get(from..upto).unwrap_or_default().iter().map(|slot| slot.name.clone()).collect()
    }
}

fn revert_ends(stages: &[StageForecast], seen: &Observation) -> Option<RevertEnd> {
    let stage = stages.iter().find(|stage| stage.abort == Abort::PutsBackUntilTheLastPodIsReady)?;
    Some(RevertEnd { step: stage.step, pod: seen.slots.last()?.name.clone() })
}
