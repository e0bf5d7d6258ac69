//! The runs of a rollout's analyses, as the screens read them: which of them count now, how each metric stands, and when
//! it goes on. Pure.

use jiff::{SignedDuration, Timestamp};
use windlass_analysis::compose::{filled, prepare};
use windlass_analysis::rules::{Length, Rules};
use windlass_analysis::schedule::{Due, due};
use windlass_analysis::verdict::is_ending;
use windlass_api::Front;
use windlass_api::analysis::{AnalysisRun, AnalysisRunStatus, Measurement, Metric, MetricResult};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::CheckPlace;

use super::picture::Rolling;

/// What was seen of the runs of analyses.
#[derive(Clone, Debug)]
pub(crate) enum Checks {
    /// Every one that carries the rollout's name.
    Seen(Vec<AnalysisRun>),
    /// They could not be had, and why.
    NotSeen(String),
}

/// The label that names the rollout which a run belongs to.
pub(super) fn selector(rollout: &str) -> String {
    format!("rollout-plugin-name={rollout}")
}

/// Why runs of analyses cannot be shown, and what would help; nothing for a failure that passes.
pub(super) fn hint(error: &kube::Error, namespace: &str) -> Option<String> {
    match error {
        kube::Error::Api(status) => match status.code {
            404 => Some(
                "this cluster does not know AnalysisRuns; install them: windlass crds --only analysis | kubectl apply -f -"
                    .to_owned(),
            ),
            401 | 403 => Some(format!(
                "you may not list AnalysisRuns in namespace {namespace}; ask for the right to list and watch \
                 analysisruns.argoproj.io"
            )),
            _ => None,
        },
        _ => None,
    }
}

/// One run, read for a screen.
#[derive(Clone, Debug)]
pub(crate) struct CheckView {
    pub(super) name: String,
    /// Where in the rollout it belongs, if it says so.
    pub(super) place: Option<CheckPlace>,
    /// The rollout waits for it, listens to it, or stands as it does because of it.
    pub(super) counts: bool,
    pub(super) status: AnalysisRunStatus,
    /// In the order of the templates.
    pub(super) metrics: Vec<MetricView>,
    created: Option<Timestamp>,
}

/// What a value of a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything at once.
    Whole,
    /// It has one for each pod (`forEachPod`).
    EachPod,
}

/// One metric of a run.
#[derive(Clone, Debug)]
pub(crate) struct MetricView {
    pub(super) result: MetricResult,
    pub(super) scope: Scope,
    /// How it is measured and judged; none when that makes no sense.
    pub(super) rules: Option<Rules>,
    /// What it needs next.
    pub(super) due: Due,
}

impl Checks {
    /// The runs of this rollout: those that count first, then the others, newest first.
    pub(super) fn of(&self, rollout: &RolloutPlugin) -> Vec<CheckView> {
        let Self::Seen(runs) = self else { return Vec::new() };
        let mut views: Vec<CheckView> =
            runs.iter().filter(|run| is_owned(run, rollout)).map(|run| view(rollout, run)).collect();
        views.sort_by_key(|view| std::cmp::Reverse((view.counts, view.created, view.name.clone())));
        views
    }

    /// Why there is nothing to show, where there should be something.
    pub(super) fn missing(&self, rollout: &RolloutPlugin) -> Option<&str> {
        match self {
            Self::NotSeen(why) if rollout.has_analyses() => Some(why),
            Self::NotSeen(_) | Self::Seen(_) => None,
        }
    }
}

fn is_owned(run: &AnalysisRun, rollout: &RolloutPlugin) -> bool {
    let mut owners = run.metadata.owner_references.iter().flatten();
    owners.any(|owner| Some(&owner.uid) == rollout.metadata.uid.as_ref())
}

fn view(rollout: &RolloutPlugin, run: &AnalysisRun) -> CheckView {
    let name = run.metadata.name.clone().unwrap_or_default();
    let check = rollout.check(run);
    let memo = rollout.memo().run;
    let counts = memo.as_ref().is_some_and(|memo| {
        let listened = check.as_ref().is_some_and(|check| memo.checks().any(|id| id == check.id));
        let blamed = memo.blame.as_ref().is_some_and(|blame| blame.name.as_str() == name);
        let undecided = memo.undecided.as_ref().is_some_and(|undecided| undecided.name.as_str() == name);
        listened || blamed || undecided
    });
    let status = run.status.clone().unwrap_or_default();
    CheckView {
        place: check.map(|check| check.id.place),
        counts,
        metrics: metrics(run, &status),
        created: run.metadata.creation_timestamp.as_ref().map(|time| time.0),
        name,
        status,
    }
}

fn metrics(run: &AnalysisRun, status: &AnalysisRunStatus) -> Vec<MetricView> {
    let rules = prepare(&run.spec).unwrap_or_default();
    let ending = is_ending(run.spec.terminate, &status.metric_results);
    let one = |metric: &Metric| {
        let name = &metric.name;
        let scope = if metric.for_each_pod.is_some() { Scope::EachPod } else { Scope::Whole };
        let known = status.metric_results.iter().find(|result| result.name == *name);
        let rules = rules.iter().find(|rules| rules.name == *name).cloned();
        let due = match (&rules, status.started_at) {
            (Some(rules), Some(started)) if !status.phase.is_completed() => {
                due(rules, known, started, ending)
            }
            _ => Due::Nothing,
        };
        let result = known.cloned().unwrap_or_else(|| MetricResult {
            name: name.clone(),
            dry_run: rules.as_ref().is_some_and(|rules| rules.dry_run),
            ..MetricResult::default()
        });
        MetricView { result, scope, rules, due }
    };
    // Arguments may stand in their names. Where those do not fit, nobody knows better than whoever wrote it.
    let metrics = filled(&run.spec).unwrap_or_else(|_| run.spec.metrics.clone());
    metrics.iter().map(one).collect()
}

impl CheckView {
    /// `step 2`, counted from 1, or `background`.
    pub(super) fn place_words(&self) -> Option<String> {
        self.place.map(|place| match place {
            CheckPlace::Stage(stage) => format!("step {}", stage + 1),
            CheckPlace::Background => "background".to_owned(),
        })
    }

    /// Why one of its metrics is not asked.
    pub(super) fn obstacle(&self) -> Option<&str> {
        self.metrics.iter().find_map(MetricView::obstacle)
    }

    /// When it can be over at the earliest, if every measurement is good; none when it has no end of its own.
    pub(super) fn earliest_end(&self) -> Option<Timestamp> {
        let ends = self.metrics.iter().filter(|metric| !metric.result.phase.is_completed());
        ends.map(MetricView::earliest_end).try_fold(Timestamp::MIN, |latest, end| Some(latest.max(end?)))
    }

    /// The metric that made the run what it is.
    pub(super) fn decisive(&self) -> Option<&MetricView> {
        let deciding = self.metrics.iter().filter(|metric| !metric.result.dry_run);
        deciding.clone().find(|metric| metric.result.phase == self.status.phase)
    }
}

impl MetricView {
    /// Why it is not asked though its time has come.
    pub(super) fn obstacle(&self) -> Option<&str> {
        let message = self.result.message.as_str();
        (!self.result.phase.is_completed() && !message.is_empty()).then_some(message)
    }

    /// When it is asked next.
    pub(super) fn next(&self) -> Option<Timestamp> {
        match self.due {
            Due::Measure(at) | Due::Resume(at) => Some(at),
            Due::End | Due::Nothing => None,
        }
    }

    /// When it can be over at the earliest, if every measurement is good.
    fn earliest_end(&self) -> Option<Timestamp> {
        let (rules, next) = (self.rules.as_ref()?, self.next()?);
        let whole = match rules.length {
            Length::Count(count) => Some(count.saturating_sub(self.result.count)),
            Length::Endless => None,
        };
        let in_a_row = rules
            .consecutive_success_limit
            .map(|limit| limit.saturating_sub(self.result.consecutive_success));
        let left = [whole, in_a_row].into_iter().flatten().min()?;
        let after = i32::try_from(left.saturating_sub(1)).unwrap_or(i32::MAX);
        let interval = rules.interval.unwrap_or(SignedDuration::ZERO);
        next.checked_add(interval.saturating_mul(after)).ok()
    }

    /// The latest measurement that has ended.
    pub(super) fn last(&self) -> Option<&Measurement> {
        self.result.measurements.iter().rev().find(|it| it.finished_at.is_some())
    }

    /// The latest measurement of the kind that the metric ended with, else simply the latest.
    pub(super) fn decisive(&self) -> Option<&Measurement> {
        let same = self.result.measurements.iter().rev().find(|it| it.phase == self.result.phase);
        same.or_else(|| self.last())
    }

    /// `good if result < 0.05, bad if result > 0.5`.
    pub(super) fn condition_words(&self) -> Option<String> {
        let conditions = &self.rules.as_ref()?.conditions;
        let good = conditions.success.as_ref().map(|it| format!("good if {}", it.text.trim()));
        let bad = conditions.failure.as_ref().map(|it| format!("bad if {}", it.text.trim()));
        let words: Vec<String> = [good, bad].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
