//! What the analyses of a rollout have to do with how it stands: which metric, which value against which condition, since
//! when, and what to do next.

use jiff::Timestamp;
use windlass_api::analysis::Phase;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{CheckPlace, Run, Verdict, duration_words};

use super::checks::{measured, phase};
use super::style::{BAD, BOLD, HELD, paint};
use super::values::{numbers_in, value_in_full, value_words};
use super::why::{labelled, moment};
use crate::kubectl::checks::{CheckView, Checks, MetricView};
use crate::kubectl::picture::Rolling;
use crate::kubectl::render::wrap;

/// A block for each analysis that the rollout waits for, is held by, or was aborted by.
pub(super) fn judged(
    now: Timestamp,
    rollout: &RolloutPlugin,
    checks: &Checks,
    columns: usize,
) -> Vec<String> {
    let Some(run) = rollout.memo().run else { return Vec::new() };
    let look = Look { now, rollout, run: &run, columns };
    let views: Vec<CheckView> = checks.of(rollout).into_iter().filter(|view| view.counts).collect();
    let mut blocks: Vec<String> = views.iter().filter_map(|view| look.block(view)).collect();
    blocks.extend(look.gone(&views));
    if let (Some(why), false) = (checks.missing(rollout), run.is_aborted()) {
        blocks.push(format!(
            "{}\n",
            wrap(&format!("The analyses are not shown: {why}"), columns.saturating_sub(2), "  ")
        ));
    }
    blocks
}

/// What an analysis means to the rollout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It ended the run.
    Blamed,
    /// A person has to decide.
    Undecided(Verdict),
    /// It could not be measured, and begins again.
    Again,
    /// It is measured.
    Running,
}

struct Look<'a> {
    now: Timestamp,
    rollout: &'a RolloutPlugin,
    run: &'a Run,
    columns: usize,
}

impl Look<'_> {
    fn role(&self, view: &CheckView) -> Option<Role> {
        let (run, name) = (self.run, view.name.as_str());
        if run.blame.as_ref().is_some_and(|blame| blame.name.as_str() == name) {
            return Some(Role::Blamed);
        }
        if let Some(undecided) = run.undecided.as_ref().filter(|it| it.name.as_str() == name) {
            return Some(Role::Undecided(undecided.verdict));
        }
        match view.status.phase {
            Phase::Running | Phase::Pending => Some(Role::Running),
            Phase::Error => Some(Role::Again),
            Phase::Successful | Phase::Inconclusive | Phase::Failed => None,
        }
    }

    fn block(&self, view: &CheckView) -> Option<String> {
        let role = self.role(view)?;
        let (symbol, style) = phase(view.status.phase);
        let word = paint(style, &format!("{symbol} {}", view.status.phase.as_str()));
        let title = format!("AnalysisRun {}", view.name);
        let mut text = format!("{}{}: {word}\n", paint(BOLD, &title), place_words(view.place));
        let mut fact = |label: &str, value: &str| text.push_str(&labelled(label, value, self.columns));
        match (view.status.completed_at, view.status.started_at) {
            (Some(at), _) | (None, Some(at)) => fact("since:", &moment(self.now, at)),
            (None, None) => {}
        }
        match role {
            Role::Running => self.running(view, &mut fact),
            Role::Blamed | Role::Undecided(_) | Role::Again => {
                verdict(view, &mut fact);
                if !view.status.message.is_empty() && !self.is_said(&view.status.message) {
                    fact("verdict:", &view.status.message);
                }
            }
        }
        for (label, advice) in ["next:", ""].into_iter().zip(self.advice(role, &view.name)) {
            fact(label, &advice);
        }
        Some(text)
    }

    /// Every pod is updated, and the workload's controller has forgotten what to go back to: an abort is refused.
    fn is_forgotten(&self) -> bool {
        let current = self.rollout.told().and_then(|status| status.current_revision.as_deref());
        current.is_some_and(|current| current != self.run.stable.as_str())
    }

    /// The rollout says it already.
    fn is_said(&self, message: &str) -> bool {
        self.rollout.told().is_some_and(|status| {
            let waits = status.waits.iter().map(|wait| wait.message.as_str());
            waits.chain(status.message.as_deref()).any(|said| said.contains(message))
        })
    }

    fn running(&self, view: &CheckView, fact: &mut impl FnMut(&str, &str)) {
        for metric in view.metrics.iter().filter(|metric| !metric.result.phase.is_completed()) {
            fact("metric:", &self.progress(metric));
        }
        let end = match view.earliest_end() {
            Some(_) if view.obstacle().is_some() => "not known: first it must be possible to ask".to_owned(),
            Some(end) => format!("in {} at the earliest, if every value is good", self.until(end)),
            None if view.place == Some(CheckPlace::Background) => {
                "with the rollout: it is measured as long as that is under way".to_owned()
            }
            None => "not known: it has no end of its own".to_owned(),
        };
        fact("over:", &end);
    }

    fn progress(&self, metric: &MetricView) -> String {
        let dry = if metric.result.dry_run { " (dry run)" } else { "" };
        let mut words = format!("{}{dry}: {} measured", metric.result.name, measured(metric));
        let condition = metric.condition_words();
        let thresholds = numbers_in(condition.as_deref().unwrap_or_default());
        if let Some(last) = metric.last() {
            let last = match last.phase {
                Phase::Error => format!(", the last without a value ({})", last.message),
                _ => format!(", the last {}", value_words(last, metric.scope, &thresholds)),
            };
            words.push_str(&last);
        }
        words += &condition.map(|it| format!(" ({it})")).unwrap_or_default();
        match (metric.obstacle(), metric.next()) {
            (Some(why), _) => words + &format!("; not asked: {why}"),
            (None, Some(at)) if at > self.now => words + &format!("; next in {}", self.until(at)),
            (None, Some(_)) => words + "; next now",
            (None, None) => words,
        }
    }

    fn until(&self, at: Timestamp) -> String {
        duration_words(at.duration_since(self.now))
    }

    /// The two lines of what to do next: how to go on, and where more is to be seen.
    fn advice(&self, role: Role, name: &str) -> [String; 2] {
        let (rollout, namespace) = (self.rollout.name(), self.rollout.namespace());
        let button = |verb: &str| format!("kubectl windlass -n {namespace} {verb} {rollout}");
        let see =
            format!("kubectl -n {namespace} get analysisrun {name} -o yaml (every measurement that is kept)");
        let back = if self.is_forgotten() {
            "put the former template back".to_owned()
        } else {
            format!("{}  (go back)", button("abort"))
        };
        let go_on = match role {
            Role::Blamed => {
                format!("{}  (try it again from the first step), or change the template", button("restart"))
            }
            Role::Undecided(verdict) => {
                let kept = verdict == Verdict::Failed || self.is_forgotten();
                let meaning = if kept { "keep it all the same" } else { "go on all the same" };
                format!("{}  ({meaning}), or {back}", button("promote"))
            }
            Role::Again => format!(
                "it begins again by itself; {} --full  (go on without it), or {back}",
                button("promote")
            ),
            Role::Running => format!("{} --watch  (see each measurement)", button("get")),
        };
        [go_on, see]
    }

    /// A verdict that counts though its run is gone, or cannot be seen.
    fn gone(&self, seen: &[CheckView]) -> Vec<String> {
        let unseen = |name: &str| !seen.iter().any(|view| view.name == name);
        let blame = self.run.blame.as_ref().filter(|it| unseen(it.name.as_str()));
        let blame = blame.map(|it| (it.place, it.name.as_str(), it.verdict, &it.why, Role::Blamed));
        let undecided = self.run.undecided.as_ref().filter(|it| unseen(it.name.as_str()));
        let undecided = undecided
            .map(|it| (it.place, it.name.as_str(), it.verdict, &it.why, Role::Undecided(it.verdict)));
        let block = |(place, name, verdict, why, role): (CheckPlace, &str, Verdict, &String, Role)| {
            let style = if verdict == Verdict::Failed { BAD } else { HELD };
            let mut text = format!(
                "{}{}: {}\n",
                paint(BOLD, &format!("AnalysisRun {name}")),
                place_words(Some(place)),
                paint(style, verdict.as_str())
            );
            text.push_str(&labelled("why:", why, self.columns));
            text.push_str(&labelled("next:", &self.advice(role, name)[0], self.columns));
            text
        };
        blame.into_iter().chain(undecided).map(block).collect()
    }
}

fn place_words(place: Option<CheckPlace>) -> String {
    match place {
        Some(CheckPlace::Stage(stage)) => format!(" of step {}", stage + 1),
        Some(CheckPlace::Background) => " in the background".to_owned(),
        None => String::new(),
    }
}

/// The metric that decided, its value and its condition.
fn verdict(view: &CheckView, fact: &mut impl FnMut(&str, &str)) {
    if let Some(metric) = view.decisive() {
        fact("metric:", &format!("{}, {} measured", metric.result.name, measured(metric)));
        if let Some(measurement) = metric.decisive() {
            let value = match (measurement.phase, measurement.value.is_empty()) {
                (Phase::Error, _) | (_, true) => measurement.message.clone(),
                (_, false) => value_in_full(measurement, metric.scope),
            };
            let label = if measurement.phase == Phase::Error { "error:" } else { "value:" };
            if !value.is_empty() {
                fact(label, &value);
            }
        }
        if let Some(condition) = metric.condition_words() {
            fact("condition:", &condition);
        }
    }
}
