//! When a metric is measured next. Everything it rests on is in the status of the run, so that any controller can go on.

use jiff::{SignedDuration, Timestamp};
use windlass_api::analysis::{AnalysisRunStatus, MetricResult, Phase, TtlStrategy};

use crate::rules::Rules;
use crate::verdict::is_ending;

/// How soon a measurement that failed to give a value is tried again.
pub const TRY_AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// How far two clocks of a cluster may be apart. A moment further ahead means that ours was set back.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(10);

/// What a metric needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A new measurement, from this moment on.
    Measure(Timestamp),
    /// A look at a measurement that takes longer, from this moment on.
    Resume(Timestamp),
    /// The measurement under way has to be ended: the run is ending.
    End,
    /// Nothing.
    Nothing,
}

/// What one metric needs. `ending`: nothing new is measured.
pub fn due(rules: &Rules, result: Option<&MetricResult>, started_at: Timestamp, ending: bool) -> Due {
    let later = |from: Timestamp, by: SignedDuration| from.checked_add(by).unwrap_or(Timestamp::MAX);
    let Some(result) = result else {
        return if ending { Due::Nothing } else { Due::Measure(later(started_at, rules.initial_delay)) };
    };
    if result.phase.is_completed() {
        return Due::Nothing;
    }
    let Some(last) = result.measurements.last() else {
        return if ending { Due::Nothing } else { Due::Measure(later(started_at, rules.initial_delay)) };
    };
    match (last.finished_at, ending) {
        (None, true) => Due::End,
        // Without a moment to look again the controller was lost in the middle: it looks at once.
        (None, false) => Due::Resume(last.resume_at.or(last.started_at).unwrap_or(started_at)),
        (Some(_), true) => Due::Nothing,
        (Some(finished), false) if last.phase == Phase::Error => Due::Measure(later(finished, TRY_AGAIN)),
        (Some(finished), false) => {
            Due::Measure(later(finished, rules.interval.unwrap_or(SignedDuration::ZERO)))
        }
    }
}

/// What a whole run needs now, by metric, and the next moment at which time alone makes something due.
pub fn agenda(
    rules: &[Rules],
    status: &AnalysisRunStatus,
    terminate: bool,
    now: Timestamp,
) -> (Vec<(usize, Due)>, Option<Timestamp>) {
    if status.phase.is_completed() {
        return (Vec::new(), None);
    }
    let started_at = status.started_at.unwrap_or(now);
    let ending = is_ending(terminate, &status.metric_results);
    let (mut present, mut next) = (Vec::new(), None::<Timestamp>);
    for (index, rules) in rules.iter().enumerate() {
        let result = status.metric_results.iter().find(|it| it.name == rules.name);
        let due = due(rules, result, started_at, ending);
        match due {
            // The time that has passed since then is not known: better too early than silent.
            Due::Measure(_) if is_set_back(result, now) => present.push((index, Due::Measure(now))),
            Due::Measure(at) | Due::Resume(at) if at > now => {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
            Due::Measure(_) | Due::Resume(_) | Due::End => present.push((index, due)),
            Due::Nothing => {}
        }
    }
    (present, next)
}

/// Whether the last measurement ended in the future: the clock was set back since.
fn is_set_back(result: Option<&MetricResult>, now: Timestamp) -> bool {
    let ended = result.and_then(|result| result.measurements.last()?.finished_at);
    ended.is_some_and(|ended| ended.duration_since(now) > CLOCKS_DIFFER)
}

/// When a finished run is to be deleted.
pub fn expires(strategy: &TtlStrategy, status: &AnalysisRunStatus) -> Option<Timestamp> {
    let completed = status.completed_at?;
    let own = match status.phase {
        Phase::Successful => strategy.seconds_after_success,
        Phase::Failed => strategy.seconds_after_failure,
        Phase::Error | Phase::Inconclusive => None,
        Phase::Running | Phase::Pending => return None,
    };
    let seconds = own.or(strategy.seconds_after_completion)?;
    completed.checked_add(SignedDuration::from_secs(i64::from(seconds.max(0)))).ok()
}
