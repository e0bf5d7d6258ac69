//! Checks, judged by the analyses in the store: nothing measures for a rollout that is at rest, no pod is let through
//! after a check has failed, every verdict is what its measurements say, no check is made twice, and no more analyses are
//! kept than are asked for.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use windlass_analysis::compose::prepare;
use windlass_analysis::expression;
use windlass_analysis::rules::Rules;
use windlass_analysis::verdict::{self, Ending, assess, conclude};
use windlass_api::Front;
use windlass_api::analysis::{AnalysisRun, Measurement, MetricResult, Phase};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{CheckPlace, OnError};

use super::{Violation, rollout, told};
use crate::object::{Key, annotation, at, controller, list, number, text, uid};
use crate::resource::Resource;
use crate::store::{Change, ChangeKind, Store};

/// Which check an analysis is.
const CHECK: &str = "windlass.sh/check";
/// How long after a verdict was stored a write may still rest on what was known before: another worker of the same
/// controller may have decided a moment earlier, or has to read what a lost answer would have told.
const MEANWHILE: SignedDuration = SignedDuration::from_secs(20);

/// What is remembered of the analyses.
#[derive(Default)]
pub(super) struct Checks {
    /// Since when a check has failed, by the uid of its analysis.
    failed: BTreeMap<String, Timestamp>,
    /// Checks of stages that have passed, as `run-…/stage-…`: their analyses may be deleted since.
    passed: BTreeSet<String>,
    /// Checks beside the steps that nobody can read, by the uid of their analysis: since when, and how often somebody had
    /// promoted by then.
    unread: BTreeMap<String, (Timestamp, usize)>,
    /// How often each verdict was come to.
    pub(super) verdicts: BTreeMap<String, u64>,
}

impl Checks {
    /// An analysis was written, by whomever.
    pub(super) fn analysis(
        &mut self,
        now: Timestamp,
        store: &Store,
        change: &Change,
        promotions: usize,
    ) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut find = |rule, what: String| found.push(Violation { at: now, rule, what });
        let (name, run) = (&change.key.name, &change.object);
        if change.kind == ChangeKind::Added && is_twice(store, &change.key, run) {
            let which = annotation(run, CHECK).unwrap_or_default();
            find("one check", format!("analysis {name} was made, but there is one for {which} already"));
        }
        let before = change.before.as_ref().map(|before| phase(before)).unwrap_or_default();
        if change.kind == ChangeKind::Deleted || is_over(before) {
            if change.kind == ChangeKind::Modified && before != phase(run) {
                find("verdict", format!("analysis {name} was {before}, and is {} now", phase(run)));
            }
            return found;
        }
        if let Some(twice) = measured_twice(run) {
            find("verdict", format!("analysis {name} counts the measurement of {twice} twice"));
        }
        if is_over(phase(run)) {
            *self.verdicts.entry(phase(run).to_owned()).or_default() += 1;
            find_all(&mut find, name, run);
        }
        let check = annotation(run, CHECK).unwrap_or_default();
        match phase(run) {
            "Failed" => drop(self.failed.insert(uid(run).to_owned(), now)),
            "Inconclusive" if check.contains("/background/") => {
                self.unread.insert(uid(run).to_owned(), (now, promotions));
            }
            "Successful" => {
                self.passed.extend(check.rsplit_once('/').map(|(place, _)| place.to_owned()));
            }
            _ => {}
        }
        found
    }

    /// The check of a stage has passed in the present run.
    pub(super) fn has_passed(&self, store: &Store, stage: usize) -> bool {
        present_run(store).is_some_and(|run| self.passed.contains(&format!("{run}/stage-{stage}")))
    }

    /// A write of ours to the set: it lets no more pods through when a check of the run has failed, or when one beside
    /// the steps cannot be read and nobody has promoted since.
    pub(super) fn exposure(
        &self,
        now: Timestamp,
        store: &Store,
        change: &Change,
        promotions: usize,
    ) -> Option<Violation> {
        let before = change.before.as_ref()?;
        if exposed(&change.object) <= exposed(before) || is_held(&change.object) {
            return None;
        }
        let (_, rollout) = rollout(store)?;
        let of_this_run = present_run(store)? + "/";
        let known = |since: &Timestamp| *since + MEANWHILE < now;
        let listened = |run: &&Value| annotation(run, CHECK).is_some_and(|id| id.starts_with(&of_this_run));
        let failed = |run: &&Value| self.failed.get(uid(run)).is_some_and(known);
        // One that was begun anew, because there were no pods, says nothing any more.
        let latest = analyses_of(store, rollout).filter(listened).filter_map(attempt_beside).max();
        let unread = |run: &&Value| {
            let asked = self.unread.get(uid(run));
            asked.is_some_and(|(since, then)| known(since) && *then == promotions)
                && attempt_beside(run) == latest
        };
        let bad = analyses_of(store, rollout).filter(listened).find(|run| failed(run) || unread(run))?;
        let (name, phase) = (Key::of(bad).name, phase(bad));
        let what = format!("more pods were let to the new template though analysis {name} is {phase}");
        Some(Violation { at: now, rule: "failed check", what })
    }
}

/// A rollout was written: it was not turned round by an outage whose policy says otherwise.
pub(super) fn blamed_an_outage(now: Timestamp, change: &Change) -> Option<Violation> {
    let blame = |object: &Value| at(object, &["status", "memo", "run", "blame"]).cloned();
    let blamed = blame(&change.object).filter(|it| text(it, &["verdict"]) == Some("error"))?;
    if change.before.as_ref().is_some_and(|before| blame(before).is_some()) {
        return None;
    }
    let rollout: RolloutPlugin = serde_json::from_value((*change.object).clone()).ok()?;
    let asked = rollout.asked();
    let plan = asked.plan.ok()?;
    let place: CheckPlace = serde_json::from_value(blamed["place"].clone()).ok()?;
    let check = match place {
        CheckPlace::Stage(stage) => plan.stages.get(stage)?.check?,
        CheckPlace::Background => plan.background?.check,
    };
    let what = format!("an outage at {place:?} aborted the run, but its policy is {:?}", check.on_error);
    (check.on_error != OnError::Abort).then_some(Violation { at: now, rule: "outage", what })
}

/// The run that the rollout remembers, as its checks name it.
fn present_run(store: &Store) -> Option<String> {
    let (_, rollout) = rollout(store)?;
    let started = text(rollout, &["status", "memo", "run", "startedAt"])?.parse::<Timestamp>().ok()?;
    Some(format!("run-{}", started.as_nanosecond()))
}

/// How many there were before it beside the steps.
fn attempt_beside(run: &Value) -> Option<u32> {
    annotation(run, CHECK)?.split_once("/background/")?.1.parse().ok()
}

/// How many pods a set lets to its template.
fn exposed(set: &Value) -> i64 {
    let partition =
        number(set, &["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or_default();
    let replicas = number(set, &["spec", "replicas"]).unwrap_or_default();
    replicas.saturating_sub(partition).clamp(0, replicas)
}

/// At rest, and on the way back to stable, the partition lets nothing new through.
fn is_held(set: &Value) -> bool {
    let revision = |which: &str| text(set, &["status", which]);
    revision("currentRevision") == revision("updateRevision") || annotation(set, "windlass.sh/held").is_none()
}

fn phase(run: &Value) -> &str {
    text(run, &["status", "phase"]).unwrap_or_default()
}

fn is_over(phase: &str) -> bool {
    !matches!(phase, "" | "Pending" | "Running")
}

/// A moment at which one metric began to measure twice.
fn measured_twice(run: &Value) -> Option<&str> {
    list(run, &["status", "metricResults"]).iter().find_map(|result| {
        let began =
            list(result, &["measurements"]).iter().map(|it| text(it, &["startedAt"]).unwrap_or_default());
        let mut known = BTreeSet::new();
        began.into_iter().find(|at| !known.insert(*at))
    })
}

fn is_twice(store: &Store, key: &Key, run: &Value) -> bool {
    let id = annotation(run, CHECK);
    id.is_some()
        && store.within(Resource::AnalysisRuns, &key.namespace).any(|(other, it)| {
            other != key && annotation(it, CHECK) == id && controller(it) == controller(run)
        })
}

fn analyses_of<'a>(store: &'a Store, rollout: &'a Value) -> impl Iterator<Item = &'a Value> {
    let of = uid(rollout);
    store.all(Resource::AnalysisRuns).map(|(_, run)| &**run).filter(move |run| controller(run) == Some(of))
}

/// Whatever speaks against the verdict of an analysis that is over.
fn find_all(find: &mut impl FnMut(&'static str, String), name: &str, run: &Value) {
    let Ok(run) = serde_json::from_value::<AnalysisRun>(run.clone()) else {
        find("verdict", format!("analysis {name} cannot be read"));
        return;
    };
    let Some(status) = &run.status else { return };
    let Ok(rules) = prepare(&run.spec) else {
        if status.phase != Phase::Error {
            find("verdict", format!("analysis {name} makes no sense, but is {}", status.phase.as_str()));
        }
        return;
    };
    let decided = verdict::is_ending(false, &status.metric_results);
    let endings = [(Ending::No, true), (Ending::Decided, decided), (Ending::Asked, run.spec.terminate)];
    let endings: Vec<Ending> = endings.into_iter().filter(|(_, can_be)| *can_be).map(|(it, _)| it).collect();
    for rules in &rules {
        let Some(result) = status.metric_results.iter().find(|it| it.name == rules.name) else {
            find("verdict", format!("analysis {name} is over without metric {:?}", rules.name));
            continue;
        };
        for doubt in doubts(rules, result, &endings) {
            find("verdict", format!("analysis {name}, metric {:?}: {doubt}", rules.name));
        }
    }
    let whole = conclude(&rules, &status.metric_results, run.spec.terminate).phase;
    if whole != status.phase {
        find(
            "verdict",
            format!(
                "analysis {name} is {}, but its metrics make it {}",
                status.phase.as_str(),
                whole.as_str()
            ),
        );
    }
}

/// What speaks against the verdict of a metric, however its run may have ended.
fn doubts(rules: &Rules, result: &MetricResult, endings: &[Ending]) -> Vec<String> {
    let mut doubts = Vec::new();
    for measurement in &result.measurements {
        if let Some(phase) = judged_anew(rules, measurement)
            && phase != measurement.phase
        {
            let (value, was) = (&measurement.value, measurement.phase.as_str());
            doubts.push(format!("value {value} counted as {was}, but is {}", phase.as_str()));
        }
    }
    let mut counted =
        MetricResult { name: result.name.clone(), dry_run: result.dry_run, ..MetricResult::default() };
    for measurement in &result.measurements {
        verdict::count(rules, &mut counted, measurement.clone());
    }
    let figures = |it: &MetricResult| [it.count, it.successful, it.failed, it.inconclusive, it.error];
    let all_are_kept =
        u32::try_from(result.measurements.len()).is_ok_and(|kept| kept == result.count + result.error);
    if all_are_kept && figures(&counted) != figures(result) {
        doubts.push(format!(
            "counts {:?}, but its measurements are {:?}",
            figures(result),
            figures(&counted)
        ));
    }
    doubts.extend(contradiction(rules, result, endings).map(str::to_owned));
    let open = MetricResult { phase: Phase::Pending, ..result.clone() };
    if !endings.iter().any(|ending| assess(rules, &open, *ending).0 == result.phase) {
        doubts.push(format!("is {}, but its measurements do not make it so", result.phase.as_str()));
    }
    doubts
}

/// A verdict that cannot be, whoever counts: a second opinion, without the rules of the product.
fn contradiction(rules: &Rules, result: &MetricResult, endings: &[Ending]) -> Option<&'static str> {
    let in_a_row = rules.consecutive_success_limit.is_some();
    let decided = endings.contains(&Ending::Decided);
    match result.phase {
        Phase::Successful if result.count == 0 && result.error > 0 && !decided => {
            Some("is good, but has no value at all, and no other metric has decided")
        }
        Phase::Successful if !in_a_row && rules.failure_limit.is_some_and(|limit| result.failed > limit) => {
            Some("is good, but more values are bad than are borne")
        }
        Phase::Successful if !in_a_row && result.inconclusive > rules.inconclusive_limit => {
            Some("is good, but more values are neither than are borne")
        }
        Phase::Failed if !in_a_row && result.failed == 0 => Some("has failed, but no value is bad"),
        Phase::Inconclusive if !in_a_row && result.inconclusive == 0 => {
            Some("is inconclusive, but no value is")
        }
        Phase::Error if result.error == 0 => Some("is an error, but there was none"),
        _ => None,
    }
}

/// What a value is by the conditions, if that can be told from how it was stored.
fn judged_anew(rules: &Rules, measurement: &Measurement) -> Option<Phase> {
    let number = match measurement.value.as_str() {
        "NaN" => f64::NAN,
        text => text.parse().ok()?,
    };
    let now = measurement.finished_at?;
    Some(verdict::judge(&rules.conditions, &expression::Value::Float(number), now).phase)
}

/// Nothing moves: what analyses do and what the rollout says of them must fit.
pub(super) fn at_rest(store: &Store) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let Some((key, rollout)) = rollout(store) else { return found };
    let reasons: Vec<&str> =
        list(rollout, &["status", "waits"]).iter().filter_map(|wait| text(wait, &["reason"])).collect();
    let at_rest = told(rollout, "phase") == "Healthy" || reasons.contains(&"Aborted");
    for run in analyses_of(store, rollout).filter(|run| !is_over(phase(run))) {
        let name = Key::of(run).name;
        if at_rest {
            found.push((
                "measures for nobody",
                format!("rollout {key} is not under way, but analysis {name} is"),
            ));
        } else if !named(rollout).any(|(current, _)| current == name) {
            found.push((
                "current analyses",
                format!("analysis {name} is under way, but {key} does not name it"),
            ));
        }
    }
    let blamed = at(rollout, &["status", "memo", "run", "blame"]).and_then(|blame| text(blame, &["name"]));
    for (name, said) in named(rollout) {
        let there = analyses_of(store, rollout).find(|run| Key::of(run).name == name);
        if there.is_none() && blamed == Some(name) {
            // Somebody has deleted it; what it has said stands.
            continue;
        }
        let is = there.map_or("gone", phase);
        if is != said && !(matches!(is, "" | "Pending") && said == "Running") {
            found.push((
                "current analyses",
                format!("rollout {key} says that {name} is {said}, but it is {is}"),
            ));
        }
    }
    found.extend(too_many(store, rollout).map(|what| ("kept analyses", what)));
    found
}

/// The current analyses by name, each with what the rollout says of it.
fn named(rollout: &Value) -> impl Iterator<Item = (&str, &str)> {
    ["currentStepAnalysisRunStatus", "currentBackgroundAnalysisRunStatus"].into_iter().filter_map(|which| {
        let current = at(rollout, &["status", "canary", which])?;
        Some((text(current, &["name"])?, text(current, &["status"]).unwrap_or_default()))
    })
}

/// More analyses are there than are kept; the current ones do not count.
fn too_many(store: &Store, rollout: &Value) -> Option<String> {
    let asked: RolloutPlugin = serde_json::from_value(rollout.clone()).ok()?;
    let kept = asked.asked().analyses.kept;
    let over = |good: bool| {
        analyses_of(store, rollout)
            .filter(|run| is_over(phase(run)) && (phase(run) == "Successful") == good)
            .filter(|run| named(rollout).all(|(name, _)| Key::of(run).name != name))
            .count()
    };
    let (good, other) = (over(true), over(false));
    (good > kept.successful || other > kept.unsuccessful).then(|| {
        let limits = (kept.successful, kept.unsuccessful);
        format!("{good} good and {other} other analyses are there, but {limits:?} are kept")
    })
}
