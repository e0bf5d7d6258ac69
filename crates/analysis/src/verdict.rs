//! Verdicts: of one value, of a metric with its limits, and of a run with its metrics. The order of the limits and the
//! words are those that users of Argo Rollouts know; value and condition are told beside them.

use jiff::Timestamp;
use windlass_api::analysis::{AnalysisRunStatus, Measurement, MetricResult, Phase, RunSummary};

use crate::expression::{Environment, Said, Value};
use crate::rules::{Condition, Conditions, Length, Rules};

/// What is said of a measurement that was ended because its run is over: the word that users know. It is no verdict.
pub const ENDED: &str = "Metric Terminated";

/// What a value is, and why, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Good, bad, neither, or no value.
    pub phase: Phase,
    /// Why, unless it is good.
    pub message: String,
}

/// Judges one value.
///
/// Without conditions every value is good. With one of them the value is good or bad; with both it may be neither, and
/// bad wins. A value that has NaN in it is neither, and so is one of which a condition makes NaN, as of zero divided by
/// zero, unless a condition asks for NaN itself: upstream's comparison with NaN is false, and would revert a healthy
/// workload that nobody used. A failureCondition that holds without having met NaN stands: real numbers have proven it.
pub fn judge(conditions: &Conditions, value: &Value, now: Timestamp) -> Judgement {
    let asks = |condition: &Option<Condition>| condition.as_ref().is_some_and(|it| it.program.asks_for_nan());
    let judged = conditions.success.is_some() || conditions.failure.is_some();
    let handled = asks(&conditions.success) || asks(&conditions.failure);
    let environment = Environment { result: value.clone(), now };
    let holds = |condition: &Option<Condition>| match condition {
        None => Ok(None),
        Some(condition) => condition
            .program
            .holds(&environment)
            .map(Some)
            .map_err(|error| could_not_judge(condition, value, &error.to_string())),
    };
    let failure = holds(&conditions.failure);
    let is_bad = matches!(failure, Ok(Some(Said { holds: true, met_nan: false })));
    if judged && value.has_nan() && !handled && !is_bad {
        let message = "the value is NaN: no condition can judge it; handle it with isNaN(…)".to_owned();
        return Judgement { phase: Phase::Inconclusive, message };
    }
    let (failure, success) = match (failure, holds(&conditions.success)) {
        (Err(judgement), _) | (_, Err(judgement)) => return judgement,
        (Ok(failure), Ok(success)) => (failure, success),
    };
    let text =
        |condition: &Option<Condition>| condition.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    if !handled && !is_bad {
        let met = |said: Option<Said>| said.is_some_and(|said| said.met_nan);
        let condition = if met(failure) { &conditions.failure } else { &conditions.success };
        if met(failure) || met(success) {
            let message = format!("{:?} compares NaN: handle it with isNaN(…)", text(condition));
            return Judgement { phase: Phase::Inconclusive, message };
        }
    }
    let (failure, success) = (failure.map(|said| said.holds), success.map(|said| said.holds));
    let (phase, message) = match (failure, success) {
        (Some(true), _) => {
            (Phase::Failed, format!("failureCondition {:?} is true", text(&conditions.failure)))
        }
        (_, Some(true)) | (None | Some(false), None) => (Phase::Successful, String::new()),
        (None, Some(false)) => {
            (Phase::Failed, format!("successCondition {:?} is false", text(&conditions.success)))
        }
        (Some(false), Some(false)) => (
            Phase::Inconclusive,
            format!(
                "neither successCondition {:?} nor failureCondition {:?} is true",
                text(&conditions.success),
                text(&conditions.failure)
            ),
        ),
    };
    Judgement { phase, message }
}

fn could_not_judge(condition: &Condition, value: &Value, error: &str) -> Judgement {
    let message = if value.is_empty() {
        format!("metric result is nil or empty: no data returned ({:?}: {error})", condition.text)
    } else {
        format!("{:?} could not be evaluated: {error}", condition.text)
    };
    Judgement { phase: Phase::Error, message }
}

/// Adds a finished measurement to what is known of its metric.
pub fn count(rules: &Rules, result: &mut MetricResult, measurement: Measurement) {
    match measurement.phase {
        // It was ended because others have decided, or somebody: it must not be held against the metric.
        Phase::Inconclusive if measurement.message == ENDED => {}
        Phase::Successful => {
            result.count += 1;
            result.successful += 1;
            result.consecutive_success += 1;
            result.consecutive_error = 0;
        }
        Phase::Failed | Phase::Inconclusive => {
            result.count += 1;
            if measurement.phase == Phase::Failed {
                result.failed += 1;
            } else {
                result.inconclusive += 1;
            }
            result.consecutive_success = 0;
            result.consecutive_error = 0;
        }
        Phase::Error => {
            result.error += 1;
            result.consecutive_error += 1;
            result.consecutive_success = 0;
        }
        // Not finished: it counts when it is.
        Phase::Running | Phase::Pending => {}
    }
    // One that took longer is known already.
    match result.measurements.last_mut() {
        Some(last) if last.finished_at.is_none() && last.started_at == measurement.started_at => {
            *last = measurement;
        }
        _ => result.measurements.push(measurement),
    }
    let surplus = result.measurements.len().saturating_sub(rules.kept);
    result.measurements.drain(..surplus);
}

/// Why a metric is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// More bad values than are borne.
    Failures {
        /// So many were seen.
        seen: u32,
        /// So many are borne.
        limit: u32,
    },
    /// More values that are neither than are borne.
    Inconclusive {
        /// So many were seen.
        seen: u32,
        /// So many are borne.
        limit: u32,
    },
    /// More errors in a row than are borne.
    Errors {
        /// So many were seen.
        seen: u32,
        /// So many are borne.
        limit: u32,
    },
    /// The number of measurements is full, and there were never enough good ones in a row.
    TooFewInARow {
        /// So many measurements were made.
        count: u32,
        /// So many good ones in a row were wanted.
        wanted: u32,
    },
    /// Somebody ended it before any measurement gave a value.
    NothingMeasured,
}

/// Whether a run goes on measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It does.
    No,
    /// A metric has decided, and ends the others.
    Decided,
    /// Somebody ended it.
    Asked,
}

impl Ending {
    fn of(terminate: bool, results: &[MetricResult]) -> Self {
        // One that was ended itself has not decided: else the order in which several are ended would play a part.
        let was_ended = |it: &MetricResult| it.measurements.last().is_some_and(|last| last.message == ENDED);
        let decides = |it: &MetricResult| {
            !it.dry_run && it.phase.is_completed() && it.phase != Phase::Successful && !was_ended(it)
        };
        match (results.iter().any(decides), terminate) {
            (true, _) => Self::Decided,
            (false, true) => Self::Asked,
            (false, false) => Self::No,
        }
    }

    /// Whether nothing is measured any more.
    pub fn is_near(self) -> bool {
        self != Self::No
    }
}

/// What a metric is now, and why if it is not good.
pub fn assess(rules: &Rules, result: &MetricResult, ending: Ending) -> (Phase, Option<Cause>) {
    if result.phase.is_completed() {
        return (result.phase, None);
    }
    let Some(last) = result.measurements.last() else {
        return (if ending.is_near() { Phase::Successful } else { Phase::Pending }, None);
    };
    if last.finished_at.is_none() {
        return (Phase::Running, None);
    }
    if let Some(limit) = beyond_a_limit(rules, result) {
        return limit;
    }
    if rules.consecutive_success_limit.is_some_and(|wanted| result.consecutive_success >= wanted) {
        return (Phase::Successful, None);
    }
    if matches!(rules.length, Length::Count(count) if result.count >= count) {
        return match (rules.consecutive_success_limit, rules.failure_limit) {
            (Some(wanted), Some(_)) => {
                (Phase::Inconclusive, Some(Cause::TooFewInARow { count: result.count, wanted }))
            }
            (Some(wanted), None) => {
                (Phase::Failed, Some(Cause::TooFewInARow { count: result.count, wanted }))
            }
            (None, _) => (Phase::Successful, None),
        };
    }
    match ending {
        Ending::No => (Phase::Running, None),
        // Upstream calls it good; then a check that never worked has passed. Where another metric has decided, though,
        // errors that were to be borne must not make the verdict worse.
        Ending::Asked if result.count == 0 && result.error > 0 => {
            (Phase::Error, Some(Cause::NothingMeasured))
        }
        // As upstream: whoever ends it does not know what would have come of it, and neither do we. Where another metric
        // has decided, what was under way is not to blame.
        Ending::Asked if last.message == ENDED && result.inconclusive >= rules.inconclusive_limit => {
            let (seen, limit) = (result.inconclusive + 1, rules.inconclusive_limit);
            (Phase::Inconclusive, Some(Cause::Inconclusive { seen, limit }))
        }
        Ending::Asked | Ending::Decided => (Phase::Successful, None),
    }
}

/// The last of these that is true wins, as upstream.
fn beyond_a_limit(rules: &Rules, result: &MetricResult) -> Option<(Phase, Option<Cause>)> {
    let failures = rules.failure_limit.filter(|limit| result.failed > *limit);
    let errors = rules.consecutive_error_limit;
    if result.consecutive_error > errors {
        Some((Phase::Error, Some(Cause::Errors { seen: result.consecutive_error, limit: errors })))
    } else if result.inconclusive > rules.inconclusive_limit {
        let (seen, limit) = (result.inconclusive, rules.inconclusive_limit);
        Some((Phase::Inconclusive, Some(Cause::Inconclusive { seen, limit })))
    } else {
        failures.map(|limit| (Phase::Failed, Some(Cause::Failures { seen: result.failed, limit })))
    }
}

/// The words for a metric that ended badly.
pub fn words(rules: &Rules, result: &MetricResult, phase: Phase, cause: Cause) -> String {
    let due = match cause {
        Cause::Failures { seen, limit } => format!("failed ({seen}) > failureLimit ({limit})"),
        Cause::Inconclusive { seen, limit } => format!("inconclusive ({seen}) > inconclusiveLimit ({limit})"),
        Cause::Errors { seen, limit } => {
            format!("consecutiveErrors ({seen}) > consecutiveErrorLimit ({limit})")
        }
        Cause::TooFewInARow { count, wanted } => {
            format!("count ({count}) reached without consecutiveSuccessLimit ({wanted})")
        }
        Cause::NothingMeasured => format!("error ({}) and no value before it was ended", result.error),
    };
    let mut words = format!("Metric {:?} assessed {} due to {due}", result.name, phase.as_str());
    // The measurement that the verdict is about, not one of another kind that came after it.
    let meant = match cause {
        Cause::Failures { .. } => Some(Phase::Failed),
        Cause::Inconclusive { .. } => Some(Phase::Inconclusive),
        Cause::Errors { .. } | Cause::NothingMeasured => Some(Phase::Error),
        Cause::TooFewInARow { .. } => None,
    };
    let about = result.measurements.iter().rev().find(|it| meant.is_none_or(|phase| it.phase == phase));
    if let Some(measurement) = about {
        words += &last_words(rules, measurement);
    }
    words
}

fn last_words(rules: &Rules, Measurement { phase, value, message, .. }: &Measurement) -> String {
    // Of several pods the message names the bad one with its value; those of all of them would bury it.
    let telling = !value.is_empty() && !rules.for_each_pod;
    match (phase, message.is_empty()) {
        (_, true) => String::new(),
        (Phase::Error, false) => format!(": \"Error Message: {message}\""),
        (_, false) if telling => format!(": value {value}: {message}"),
        (_, false) => format!(": {message}"),
    }
}

/// What a run is, put together from its metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunVerdict {
    /// Its phase.
    pub phase: Phase,
    /// Why, if it is not good.
    pub message: String,
    /// Metrics that decide.
    pub run_summary: RunSummary,
    /// Metrics that do not.
    pub dry_run_summary: Option<RunSummary>,
}

/// Whether the run is ending: somebody ended it, or a metric that decides is not good.
pub fn is_ending(terminate: bool, results: &[MetricResult]) -> bool {
    Ending::of(terminate, results).is_near()
}

/// Puts the phases of all metrics together; one that the run does not have any more says nothing. `terminate`: somebody
/// ended it.
pub fn conclude(rules: &[Rules], results: &[MetricResult], terminate: bool) -> RunVerdict {
    let results = || results.iter().filter(|it| rules.iter().any(|rules| rules.name == it.name));
    let deciding = || results().filter(|it| !it.dry_run);
    let open = results().any(|it| !it.phase.is_completed());
    let worst = deciding().map(|it| it.phase).max().unwrap_or(Phase::Successful);
    let phase = if open { Phase::Running } else { worst };
    let message = if open {
        String::new()
    } else if let Some(bad) = deciding().find(|it| it.phase == worst && worst != Phase::Successful) {
        bad.message.clone()
    } else if terminate {
        "Run Terminated".to_owned()
    } else {
        String::new()
    };
    let dry: Vec<&MetricResult> = results().filter(|it| it.dry_run).collect();
    RunVerdict {
        phase,
        message,
        run_summary: summary(deciding()),
        dry_run_summary: (!dry.is_empty()).then(|| summary(dry.into_iter())),
    }
}

fn summary<'a>(results: impl Iterator<Item = &'a MetricResult>) -> RunSummary {
    let mut summary = RunSummary::default();
    for result in results {
        summary.count += 1;
        match result.phase {
            Phase::Successful => summary.successful += 1,
            Phase::Failed => summary.failed += 1,
            Phase::Inconclusive => summary.inconclusive += 1,
            Phase::Error => summary.error += 1,
            Phase::Running | Phase::Pending => {}
        }
    }
    summary
}

/// Brings the status of a run up to date with what was measured: first the metrics, then, because one that is not good
/// ends the others, the metrics again, then the run.
pub fn settle(rules: &[Rules], status: &mut AnalysisRunStatus, terminate: bool, now: Timestamp) {
    assess_all(rules, status, Ending::No);
    let ending = Ending::of(terminate, &status.metric_results);
    if ending.is_near() {
        assess_all(rules, status, ending);
    }
    let verdict = conclude(rules, &status.metric_results, terminate);
    status.phase = verdict.phase;
    status.message = verdict.message;
    status.run_summary = Some(verdict.run_summary);
    status.dry_run_summary = verdict.dry_run_summary;
    if status.phase.is_completed() && status.completed_at.is_none() {
        status.completed_at = Some(now);
    }
}

fn assess_all(rules: &[Rules], status: &mut AnalysisRunStatus, ending: Ending) {
    for rules in rules {
        let Some(result) = status.metric_results.iter_mut().find(|it| it.name == rules.name) else {
            continue;
        };
        let (phase, cause) = assess(rules, result, ending);
        if let Some(cause) = cause {
            result.message = words(rules, result, phase, cause);
        }
        let was_ended = result.measurements.last().is_some_and(|last| last.message == ENDED);
        if !result.phase.is_completed() && phase == Phase::Inconclusive && was_ended {
            // Only now is it known that it is held against the metric.
            result.count += 1;
            result.inconclusive += 1;
        }
        result.phase = phase;
    }
}
