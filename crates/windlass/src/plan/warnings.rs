//! What may surprise somebody about a plan that can be carried out, and what can never come to its end.

use std::cmp::Ordering;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::core::{Selector, SelectorExt};
use serde::Serialize;
use windlass_api::Front;
use windlass_engine::{Hold, Observation, Plan, PodState, duration_words, pod_words};
use windlass_workloads::HOLD;

use super::checks;
use super::facts::{Facts, Origin, Share};
use super::forecast::{Abort, Forecast, Gate, StageForecast};

/// Something worth knowing before the template changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Warning {
    pub(crate) code: Code,
    pub(crate) level: Level,
    pub(crate) message: String,
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Level {
    /// Probably not what was meant.
    Warning,
    /// Good to know.
    Note,
}

/// Which warning it is, for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Code {
    SingleReplica,
    NoPods,
    NoCanary,
    StepMovesNothing,
    CannotGoBack,
    PartitionInManifest,
    DeadlineTooShort,
    DeadlineTight,
    DeadlineBelowPause,
    DisruptionBudget,
    SeveralAtOnce,
    TemplateMissing,
    OutageAborts,
    AnalysisTooLate,
    Spec,
    Paused,
    RunUnderWay,
    PodNotAvailable,
}

/// Everything worth knowing, what matters most first.
pub(crate) fn warnings(plan: &Plan, facts: &Facts, seen: &Observation, forecast: &Forecast) -> Vec<Warning> {
    let look = Look { plan, facts, seen, forecast };
    let mut all: Vec<Warning> = Vec::new();
    all.extend(look.canary());
    all.extend(look.cannot_go_back());
    all.extend(look.deadline());
    all.extend(look.templates());
    all.extend(look.late_analyses());
    all.extend(look.outages());
    all.extend(look.partition());
    all.extend(plan.cautions.iter().map(|caution| warning(Code::Spec, caution.text.clone())));
    all.extend(look.idle_steps());
    all.extend(look.budgets());
    all.extend(look.several_at_once());
    all.extend(look.pauses());
    all.extend(look.running());
    all
}

fn warning(code: Code, message: impl Into<String>) -> Warning {
    Warning { code, level: Level::Warning, message: message.into() }
}

fn note(code: Code, message: impl Into<String>) -> Warning {
    Warning { code, level: Level::Note, message: message.into() }
}

struct Look<'a> {
    plan: &'a Plan,
    facts: &'a Facts,
    seen: &'a Observation,
    forecast: &'a Forecast,
}

impl Look<'_> {
    /// A canary is some pods on the new version while others are on the old one.
    fn canary(&self) -> Option<Warning> {
        let replicas = self.seen.replicas();
        let some = |stage: &StageForecast| stage.on_target > 0 && stage.on_target < replicas;
        match replicas {
            0 => Some(warning(
                Code::NoPods,
                "the set has replicas: 0, so no canary is possible: a run is parked until the set is scaled up, \
                 and then goes on from stable",
            )),
            1 => Some(warning(
                Code::SingleReplica,
                "the set has one pod, so no canary is possible: the first weight above 0 moves it, nothing serves \
                 meanwhile, and once it is ready an abort can no longer put it back; use 2 replicas or more",
            )),
            _ if !self.forecast.stages.iter().any(some) => Some(warning(
                Code::NoCanary,
                format!(
                    "no canary: at no step are some of the {replicas} pods on the new version and others on the old; \
                     begin with a setWeight between 1 and 99"
                ),
            )),
            _ => None,
        }
    }

    /// Weights that fall after everything was updated: nobody knows any more what to go back to.
    fn cannot_go_back(&self) -> Option<Warning> {
        let lost = |stage: &&StageForecast| stage.abort == Abort::Refused && !stage.to_stable.is_empty();
        let stage = self.forecast.stages.iter().find(lost)?;
        let step = stage.step.unwrap_or_default();
        Some(warning(
            Code::CannotGoBack,
            format!(
                "step {step} asks for pods to go back after every pod was updated: by then the StatefulSet controller \
                 has forgotten the former version, so the run waits there until somebody promotes fully"
            ),
        ))
    }

    fn deadline(&self) -> Vec<Warning> {
        let (after, abort) = (self.plan.deadline.after, self.plan.deadline.abort);
        let (probation, grace) = (self.facts.probation(), self.facts.grace());
        let (limit, ready) = (duration_words(after), duration_words(probation));
        if self.seen.slots.is_empty() {
            Vec::new()
        } else if after <= probation {
            let end = if abort {
                "so every run is aborted at its first pod"
            } else {
                "so the rollout is Degraded during every pod, though nothing is wrong"
            };
            vec![warning(
                Code::DeadlineTooShort,
                format!(
                    "the progress deadline ({limit}) can never be met: a pod counts only after minReadySeconds \
                     ({ready}), {end}; make it longer than that, and than the time a pod takes to stop and start"
                ),
            )]
        } else if after <= probation.saturating_add(grace) {
            vec![warning(
                Code::DeadlineTight,
                format!(
                    "the progress deadline ({limit}) is not longer than terminationGracePeriodSeconds ({}) and \
                     minReadySeconds ({ready}) together: a pod that takes its whole grace to stop {}",
                    duration_words(grace),
                    if abort { "aborts the run" } else { "makes the rollout Degraded" }
                ),
            )]
        } else {
            Vec::new()
        }
    }

    /// Nobody should hunt for a problem that there is not: elsewhere pauses count.
    fn pauses(&self) -> Option<Warning> {
        let longest = self.plan.stages.iter().filter_map(|stage| match stage.hold {
            Some(Hold::For(time)) => Some(time),
            Some(Hold::UntilPromoted) | None => None,
        });
        let longest = longest.max().filter(|time| *time > self.plan.deadline.after)?;
        Some(note(
            Code::DeadlineBelowPause,
            format!(
                "the progress deadline ({}) is shorter than the pause of {}; that is fine, because it stands still \
                 during pauses",
                duration_words(self.plan.deadline.after),
                duration_words(longest)
            ),
        ))
    }

    fn partition(&self) -> Option<Warning> {
        let partition = self.facts.written_partition()?;
        match &self.facts.origin {
            // The server writes 0 where nobody wrote anything, and during a run the partition is ours.
            Origin::Cluster { .. } if self.seen.marked || partition == 0 || partition == HOLD => None,
            Origin::Cluster { .. } => Some(warning(
                Code::PartitionInManifest,
                format!(
                    "the partition is {partition} although no run is on: it is Windlass's to move; the next run takes \
                     its own steps all the same, and leaves it at 0"
                ),
            )),
            Origin::Files if partition == 0 => Some(note(
                Code::PartitionInManifest,
                "the manifest says partition: 0, which is Windlass's to move: without effect where the server has \
                 mutating policies, refused elsewhere; leave the field out",
            )),
            Origin::Files => Some(warning(
                Code::PartitionInManifest,
                format!(
                    "the manifest says partition: {partition}, which is Windlass's to move: during a run the value \
                     has no effect or is refused, and after it the partition is 0, so Git and cluster differ; leave \
                     the field out"
                ),
            )),
        }
    }

    fn idle_steps(&self) -> Vec<Warning> {
        if self.seen.replicas() < 2 {
            return Vec::new();
        }
        let idle = |(index, stage): (usize, &StageForecast)| {
            let exposes = self.plan.stages.get(index).is_some_and(|stage| stage.expose.is_some());
            let nothing = stage.to_target.is_empty() && stage.to_stable.is_empty();
            // Weight 0 at the beginning holds everything, which is what it says.
            (exposes && nothing && stage.on_target > 0).then(|| {
                note(
                    Code::StepMovesNothing,
                    format!(
                        "step {} ({}) moves no pod: of {} pods that is {}, as before",
                        index + 1,
                        stage.does,
                        self.seen.replicas(),
                        stage.on_target
                    ),
                )
            })
        };
        self.forecast.stages.iter().enumerate().filter_map(idle).collect()
    }

    /// Templates that may be elsewhere.
    fn templates(&self) -> Vec<Warning> {
        let missing = checks::missing(&self.facts.rollout, &self.facts.templates);
        let told = |(template, field): &(_, String)| {
            let words = checks::template_words(template);
            let mend = match self.facts.origin {
                Origin::Files => {
                    "is not in the files; if it is not in the cluster either, nothing will happen: name \
                                  its file with another -f"
                }
                Origin::Cluster { .. } => "could not be read",
            };
            warning(
                Code::TemplateMissing,
                format!("{words}, which {field} names, {mend}; how long the analysis takes is not known"),
            )
        };
        missing.iter().map(told).collect()
    }

    /// Once every pod is updated nothing can be put back, whatever is measured.
    fn late_analyses(&self) -> Vec<Warning> {
        let all = self.seen.replicas();
        let late =
            self.forecast.stages.iter().filter(|stage| {
                matches!(stage.gate, Gate::Analysis { .. }) && all > 0 && stage.on_target == all
            });
        let told = |stage: &StageForecast| {
            let step = stage.step.unwrap_or_default();
            warning(
                Code::AnalysisTooLate,
                format!(
                    "the analysis of step {step} begins when every pod is on the new version: when it fails nothing can \
                     be put back, and a person has to decide; put it before the last weight"
                ),
            )
        };
        late.map(told).chain(self.late_background()).collect()
    }

    /// The one beside the steps begins with a step; before the first there is none.
    fn late_background(&self) -> Option<Warning> {
        let from = self.plan.background.map(|background| background.from).filter(|from| *from > 0)?;
        let stage = self.forecast.stages.get(from)?;
        let all = self.seen.replicas();
        (all > 0 && stage.on_target == all).then(|| {
            warning(
                Code::AnalysisTooLate,
                format!(
                    "the background analysis begins with step {} ({}), which is to have every pod on the new version: \
                     when it fails after that nothing can be put back, and a person has to decide; say an earlier step \
                     in startingStep, counted from 0",
                    from + 1,
                    stage.does
                ),
            )
        })
    }

    /// A provider that cannot be reached says nothing about the workload.
    fn outages(&self) -> Option<Warning> {
        let aborts = self.forecast.analyses.iter().filter(|analysis| analysis.on_error == "abort");
        let places: Vec<String> = aborts
            .map(|analysis| match analysis.step {
                Some(step) => format!("step {step}"),
                None => "the background".to_owned(),
            })
            .collect();
        (!places.is_empty()).then(|| {
            warning(
                Code::OutageAborts,
                format!(
                    "when a provider cannot be asked, the analysis aborts the run and puts a healthy workload back ({}); \
                     to wait for a person instead say onError: pause, to measure again onError: retry",
                    places.join(", ")
                ),
            )
        })
    }

    fn several_at_once(&self) -> Option<Warning> {
        let several = self.forecast.pods_down_at_once;
        (several > 1).then(|| {
            note(
                Code::SeveralAtOnce,
                format!(
                    "maxUnavailable lets {several} pods of a step be replaced at once, on clusters where \
                     MaxUnavailableStatefulSet is on (it is off by default); elsewhere, and on the way back, it is one"
                ),
            )
        })
    }

    fn budgets(&self) -> Vec<Warning> {
        self.facts.budgets.iter().filter_map(|budget| self.budget(budget)).collect()
    }

    /// Neither the StatefulSet controller nor Windlass asks a budget: both delete. So no budget stops a run, but a run
    /// uses budgets up, and can go below what they promise.
    fn budget(&self, budget: &PodDisruptionBudget) -> Option<Warning> {
        let replicas = self.seen.replicas();
        let spec = budget.spec.as_ref()?;
        let selector = Selector::try_from(spec.selector.clone()?).ok()?;
        if replicas == 0 || !selector.matches(&self.facts.pod_labels()) {
            return None;
        }
        let allowed = match (&spec.max_unavailable, &spec.min_available) {
            (Some(most), _) => Share::of(most, replicas)?.up,
            (None, Some(least)) => replicas.saturating_sub(Share::of(least, replicas)?.up),
            (None, None) => return None,
        };
        let name = budget.metadata.name.as_deref().unwrap_or_default();
        let down = self.forecast.pods_down_at_once;
        match allowed.cmp(&down) {
            Ordering::Less => Some(warning(
                Code::DisruptionBudget,
                format!(
                    "PodDisruptionBudget {name} allows {allowed} of {replicas} pods to be down, and the rollout takes \
                     {down} at once all the same: budgets bind evictions, and a rollout deletes, forward and back"
                ),
            )),
            Ordering::Equal => Some(note(
                Code::DisruptionBudget,
                format!(
                    "PodDisruptionBudget {name} allows {allowed} of {replicas} pods to be down, and the rollout uses \
                     that up while it replaces a pod: nodes cannot be drained of the others until it is available. A \
                     budget does not stop the rollout"
                ),
            )),
            Ordering::Greater => None,
        }
    }

    /// What is going on already.
    fn running(&self) -> Vec<Warning> {
        let mut all = Vec::new();
        if self.plan.paused {
            all.push(note(Code::Paused, "spec.paused is true: nothing moves until it is taken off"));
        }
        let run = self.facts.rollout.asked().memo.run;
        if let Some(run) = &run {
            let step = run.stage().map_or_else(String::new, |stage| format!(" at step {}", stage + 1));
            all.push(note(
                Code::RunUnderWay,
                format!("a run is under way{step}; the plan is shown from its first step on"),
            ));
        }
        all.extend(self.ill().filter(|_| run.is_none()));
        all
    }

    fn ill(&self) -> Option<Warning> {
        if matches!(self.facts.origin, Origin::Files) {
            return None;
        }
        let is_ready = |state: &PodState| matches!(state, PodState::Ready { .. });
        let ill: Vec<String> = self
            .seen
            .slots
            .iter()
            .filter(|slot| !slot.pod.as_ref().is_some_and(|pod| is_ready(&pod.state)))
            .map(|slot| format!("{} ({})", slot.name, pod_words(slot.pod.as_ref().map(|pod| &pod.state))))
            .collect();
        let end = if self.facts.is_parallel() {
            "that is down besides the pod that is replaced"
        } else {
            "a set with podManagementPolicy OrderedReady updates no pod before all are"
        };
        let shown = ill.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        let more = if ill.len() > 5 { format!(" and {} more", ill.len() - 5) } else { String::new() };
        (!ill.is_empty())
            .then(|| warning(Code::PodNotAvailable, format!("not ready now: {shown}{more}; {end}")))
    }
}
