//! One look at one run: takes in what was measured since the last look, and says what is to be asked now and when to look
//! again. Pure: whoever holds a clock and can ask calls it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use windlass_api::analysis::{AnalysisRunSpec, AnalysisRunStatus, Measurement, Metric, MetricResult, Phase};

use crate::bounds::fit;
use crate::compose::{Prepared, Unfit, podless, prepared};
use crate::gauge::{About, Owner, RunIdentity};
use crate::measurement::kept;
use crate::providers::{RESOLVED_QUERY, resolved_query};
use crate::rules::{Conditions, Rules};
use crate::schedule::{Due, agenda, expires};
use crate::verdict::{count, is_ending, settle};

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The metric.
    pub metric: String,
    /// How many measurements of it there were before, as the question said.
    pub number: u32,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// What was made of the answer when it came. Nothing that is large is kept until it is stored.
    pub made: Measurement,
}

impl Answered {
    /// Whether two are the same: no two questions are alike in this.
    pub fn is(&self, other: &Self) -> bool {
        let identity = |it: &Self| (it.number, it.asked_at);
        self.metric == other.metric && identity(self) == identity(other)
    }
}

/// What a look at a run came to.
#[derive(Clone, Debug)]
pub struct Attended {
    /// The status as it is now.
    pub status: AnalysisRunStatus,
    /// What is to be asked.
    pub ask: Vec<Ask>,
    /// The answers that are not done with once the status is stored: they began what has to be ended yet.
    pub left: Vec<Answered>,
    /// When to look again though nothing happens.
    pub wake: Option<Timestamp>,
    /// The run has been over for as long as it is to be kept.
    pub expired: bool,
}

/// One metric that is to be asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The metric, as it was written but for its name, which is filled in: by that everybody knows it.
    pub metric: Metric,
    /// How many measurements of it there were before.
    pub number: u32,
    /// What is asked for.
    pub about: About,
    /// What a value is judged by.
    pub conditions: Arc<Conditions>,
}

/// What is known besides the run itself.
#[derive(Clone, Copy)]
pub struct News<'a> {
    /// What came of questions.
    pub answers: &'a [Answered],
    /// The metrics whose answers are on their way.
    pub asked: &'a BTreeSet<String>,
    /// Whether a measurement that takes longer, known by what its provider said of it, may be over already.
    pub over: &'a dyn Fn(&BTreeMap<String, String>) -> bool,
    /// Why a metric with its arguments cannot be asked as things are, if it cannot: there is nobody yet to ask about.
    pub obstacle: &'a dyn Fn(&Metric) -> Option<String>,
    /// What keeps metrics from being asked again and again, by their names: it lies neither with them nor with their
    /// providers, and is told.
    pub troubles: &'a BTreeMap<String, String>,
    /// Since when whoever looks may ask. What was due before has waited for that, and so has what is due in every other run.
    pub since: Timestamp,
}

/// Looks at a run.
pub fn attend(
    run: &RunIdentity,
    spec: &AnalysisRunSpec,
    status: &AnalysisRunStatus,
    News { answers, asked, over: may_be_over, obstacle, troubles, since }: News<'_>,
    now: Timestamp,
) -> Attended {
    let mut status = status.clone();
    if status.phase.is_completed() {
        return over(spec, status, answers, asked, now);
    }
    let Prepared { metrics, mut rules } = match ready(run, spec) {
        Ok(ready) => ready,
        Err(unfit) => return refuse(spec, status, &unfit, answers, asked, now),
    };
    let spreads: Vec<SignedDuration> =
        rules.iter().map(|rules| spread(&run.uid, &rules.name, rules.interval)).collect();
    for (rules, spread) in rules.iter_mut().zip(&spreads) {
        rules.initial_delay = rules.initial_delay.saturating_add(*spread);
    }
    begin(&rules, &mut status, now);
    for answer in answers {
        take_in(&metrics, &rules, &mut status, answer);
    }
    settle(&rules, &mut status, spec.terminate, now);
    fit(&mut status);
    if status.phase.is_completed() {
        return over(spec, status, answers, asked, now);
    }
    let (mut due, mut wake) = agenda(&rules, &status, spec.terminate, now);
    due.retain(|(index, due)| match due {
        Due::Measure(at) if *at < since => {
            let later = since.checked_add(spreads[*index]).ok().filter(|later| *later > now);
            wake = wake.into_iter().chain(later).min();
            later.is_none()
        }
        Due::Measure(_) | Due::Resume(_) | Due::End | Due::Nothing => true,
    });
    due.extend(early(&rules, &status, may_be_over, &due, now));
    due.retain(|(index, due)| {
        let name = &rules[*index].name;
        let trouble = troubles.get(name).cloned();
        if asked.contains(name) {
            // What it says of itself stands until there is an answer.
            if let Some(trouble) = trouble {
                tell(&mut status, name, trouble);
            }
            return false;
        }
        let obstacle = obstacle(&metrics[*index]).filter(|_| matches!(due, Due::Measure(_)));
        let is_clear = obstacle.is_none();
        tell(&mut status, name, obstacle.or(trouble).unwrap_or_default());
        is_clear
    });
    // What was told takes room too.
    fit(&mut status);
    let ask = due.into_iter().filter_map(|(index, due)| {
        let metric = Metric { name: rules[index].name.clone(), ..spec.metrics[index].clone() };
        ask_for(metric, &rules[index].conditions, &status, due)
    });
    let left = left_over(&status, answers);
    let ask = ask.chain(ends(&left, asked)).collect();
    Attended { ask, left, status, wake, expired: false }
}

/// The metrics of a run, ready to be looked at, or why they cannot be measured.
fn ready(run: &RunIdentity, spec: &AnalysisRunSpec) -> Result<Prepared, Unfit> {
    let ready = prepared(spec)?;
    let podless = if run.owner == Owner::Nobody { podless(&ready.metrics) } else { Vec::new() };
    if podless.is_empty() { Ok(ready) } else { Err(Unfit::Flaws(podless)) }
}

/// A metric that is under way tells why it is not asked, for as long as that is so.
fn tell(status: &mut AnalysisRunStatus, metric: &str, message: String) {
    let mut results = status.metric_results.iter_mut();
    if let Some(result) = results.find(|it| it.name == metric && !it.phase.is_completed()) {
        result.message = message;
    }
}

/// What takes longer and was begun while its metric came to its end: nobody waits for it, so it is ended. It is not in the
/// status, so the answer is kept until the next one of the metric, which says that it is ended.
fn left_over(status: &AnalysisRunStatus, answers: &[Answered]) -> Vec<Answered> {
    let is_known = |metric: &str, metadata: &BTreeMap<String, String>| {
        let mut results = status.metric_results.iter().filter(|result| result.name == metric);
        results.any(|result| result.measurements.iter().any(|it| it.metadata == *metadata))
    };
    let is_left = |(at, answer): &(usize, &Answered)| {
        let mut later = answers.iter().skip(at + 1);
        answer.made.finished_at.is_none()
            && !is_known(&answer.metric, &answer.made.metadata)
            && !later.any(|it| it.metric == answer.metric && it.made.finished_at.is_some())
    };
    answers.iter().enumerate().filter(is_left).map(|(_, answer)| answer.clone()).collect()
}

/// Ends what is left, unless that is being asked already or could not be asked a moment ago.
fn ends(left: &[Answered], asked: &BTreeSet<String>) -> Vec<Ask> {
    let due = left.iter().filter(|answer| !asked.contains(&answer.metric));
    due.map(|answer| end(&answer.metric, answer.number, &answer.made)).collect()
}

/// Ends a measurement that takes longer. It is known by what its provider said of it; nothing else of the metric plays a
/// part any more.
fn end(metric: &str, number: u32, measurement: &Measurement) -> Ask {
    let about = About::Ended { metadata: measurement.metadata.clone() };
    let metric = Metric { name: metric.to_owned(), ..Metric::default() };
    Ask { metric, number, about, conditions: Arc::default() }
}

/// Measurements that take longer and are over sooner than was thought.
fn early(
    rules: &[Rules],
    status: &AnalysisRunStatus,
    may_be_over: &dyn Fn(&BTreeMap<String, String>) -> bool,
    due: &[(usize, Due)],
    now: Timestamp,
) -> Vec<(usize, Due)> {
    let is_early = |(index, rules): (usize, &Rules)| {
        let result = status.metric_results.iter().find(|result| result.name == rules.name)?;
        let last = result.measurements.last().filter(|last| last.finished_at.is_none())?;
        let known = due.iter().any(|(other, _)| *other == index);
        (!known && may_be_over(&last.metadata)).then_some((index, Due::Resume(now)))
    };
    rules.iter().enumerate().filter_map(is_early).collect()
}

/// The run is over, and its verdict stands. What it has begun and nobody waits for any more is asked to end until it has:
/// it stands in the status meanwhile, so that whoever comes next knows of it.
fn over(
    spec: &AnalysisRunSpec,
    mut status: AnalysisRunStatus,
    answers: &[Answered],
    asked: &BTreeSet<String>,
    now: Timestamp,
) -> Attended {
    for answer in answers {
        note_late(&mut status, answer);
    }
    let left = left_over(&status, answers);
    let under_way = status.metric_results.iter().filter(|result| !asked.contains(&result.name));
    let mut ask: Vec<Ask> = under_way
        .filter_map(|result| {
            let begun = result.measurements.iter().find(|it| it.finished_at.is_none())?;
            Some(end(&result.name, result.count + result.error, begun))
        })
        .collect();
    ask.extend(ends(&left, asked));
    let end = spec.ttl_strategy.as_ref().and_then(|strategy| expires(strategy, &status));
    let expired = end.is_some_and(|at| at <= now);
    Attended { status, ask, left, wake: end.filter(|_| !expired), expired }
}

/// What was begun while the run came to its end, or what has become of that. It counts for nothing.
fn note_late(status: &mut AnalysisRunStatus, answer: &Answered) {
    let Some(result) = status.metric_results.iter_mut().find(|it| it.name == answer.metric) else { return };
    // Of a measurement before that; see `take_in`.
    if result.count + result.error > answer.number {
        return;
    }
    let is_over = answer.made.finished_at.is_some();
    let is_known = result.measurements.iter().any(|it| it.metadata == answer.made.metadata);
    match result.measurements.iter_mut().find(|it| it.finished_at.is_none()) {
        Some(begun) if is_over => {
            *begun = Measurement { started_at: begun.started_at, ..answer.made.clone() };
        }
        None if !is_over && !is_known => {
            let started_at = Some(answer.asked_at);
            result.measurements.push(Measurement { started_at, ..answer.made.clone() });
        }
        Some(_) | None => {}
    }
}

/// A run that makes no sense is over before it began, or at once if somebody has edited it.
fn refuse(
    spec: &AnalysisRunSpec,
    mut status: AnalysisRunStatus,
    unfit: &Unfit,
    answers: &[Answered],
    asked: &BTreeSet<String>,
    now: Timestamp,
) -> Attended {
    status.phase = Phase::Error;
    status.message = match unfit {
        Unfit::Arguments(error) => format!("Unable to resolve metric arguments: {error}"),
        Unfit::Flaws(_) => format!("Analysis spec invalid: {}", some_of(&unfit.told())),
    };
    status.started_at.get_or_insert(now);
    status.completed_at = Some(now);
    over(spec, status, answers, asked, now)
}

/// The first of many sentences: they stand in a status.
fn some_of(told: &[String]) -> String {
    const MOST: usize = 10;
    let first = told.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join("; ");
    match told.len().saturating_sub(MOST) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

/// Every metric has its place in the status from the first look on.
fn begin(rules: &[Rules], status: &mut AnalysisRunStatus, now: Timestamp) {
    status.started_at.get_or_insert(now);
    for rules in rules {
        if !status.metric_results.iter().any(|result| result.name == rules.name) {
            status.metric_results.push(MetricResult {
                name: rules.name.clone(),
                dry_run: rules.dry_run,
                ..MetricResult::default()
            });
        }
    }
}

fn take_in(metrics: &[Metric], rules: &[Rules], status: &mut AnalysisRunStatus, answer: &Answered) {
    let ending = is_ending(false, &status.metric_results);
    let mut known = metrics.iter().zip(rules);
    let Some((metric, rules)) = known.find(|(_, rules)| rules.name == answer.metric) else { return };
    let Some(result) = status.metric_results.iter_mut().find(|it| it.name == answer.metric) else { return };
    // Somebody else has measured meanwhile, or this very answer was stored and nobody was told. Clocks do not tell: they
    // may be set back.
    if result.count + result.error > answer.number {
        return;
    }
    // A verdict stands: what comes late does not change it.
    if result.phase.is_completed() || (ending && result.measurements.is_empty()) {
        return;
    }
    let under_way = result.measurements.last().filter(|last| last.finished_at.is_none());
    let started = under_way.and_then(|last| last.started_at).unwrap_or(answer.asked_at);
    // What kept it from being asked is over.
    result.message.clear();
    let mut made = Measurement { started_at: Some(started), ..answer.made.clone() };
    // An error does not tell it. Of several pods each has its own.
    let asked = resolved_query(&metric.provider).filter(|_| metric.for_each_pod.is_none());
    let query = made.metadata.remove(RESOLVED_QUERY).or_else(|| asked.map(|query| kept(query.to_owned())));
    if let Some(query) = query {
        result.metadata.insert(RESOLVED_QUERY.to_owned(), query);
    }
    count(rules, result, made);
}

fn ask_for(
    metric: Metric,
    conditions: &Arc<Conditions>,
    status: &AnalysisRunStatus,
    due: Due,
) -> Option<Ask> {
    let result = status.metric_results.iter().find(|result| result.name == metric.name);
    let last = result.and_then(|result| result.measurements.last());
    let metadata = last.map(|last| last.metadata.clone()).unwrap_or_default();
    let about = match due {
        Due::Measure(_) => About::New,
        Due::Resume(since) => {
            About::Resumed { metadata, since: last.and_then(|last| last.started_at).unwrap_or(since) }
        }
        Due::End => About::Ended { metadata },
        Due::Nothing => return None,
    };
    let number = result.map_or(0, |result| result.count + result.error);
    Some(Ask { metric, number, about, conditions: Arc::clone(conditions) })
}

/// By how much the measurements of different runs are spread, so that many that began together, or that waited together
/// for a controller, do not ask together for ever: the same for one metric of one run, whoever asks. What is asked once is
/// asked at once.
fn spread(run_uid: &str, metric: &str, interval: Option<SignedDuration>) -> SignedDuration {
    let bytes = run_uid.bytes().chain(metric.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let share = i64::try_from(hash % 1000).unwrap_or_default();
    let longest = i64::try_from(longest_spread(interval).as_millis()).unwrap_or_default();
    SignedDuration::from_millis(longest * share / 1000)
}

/// How far the measurements of a metric with this interval are spread at most: a twentieth of it, and no more than five
/// seconds.
pub fn longest_spread(interval: Option<SignedDuration>) -> SignedDuration {
    (interval.unwrap_or_default() / 20).clamp(SignedDuration::ZERO, SignedDuration::from_secs(5))
}
