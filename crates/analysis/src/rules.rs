//! How the metrics of a run are measured and judged, read from what a person wrote. What does not make sense is told
//! here, field by field, before anything is measured.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use windlass_api::analysis::{DryRun, MeasurementRetention, Metric};
use windlass_api::go_duration;

use crate::arguments::fill_text_for_pod;
use crate::expression::{self, Budget, Pattern, Program, quoted};
use crate::measurement::cut;

/// How many measurements of a metric are kept, unless somebody says otherwise.
pub const KEPT: usize = 10;
/// How many errors in a row are borne, unless somebody says otherwise.
pub const ERRORS_BORNE: u32 = 4;

/// How many letters of a flaw are told: it stands in a status, which must fit into an object however long a text is that
/// somebody wrote.
const TOLD: usize = 1000;

/// Something that does not make sense: where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{}: {}", cut(field.clone(), TOLD), cut(what.clone(), TOLD))]
pub struct Flaw {
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
}

/// How one metric is measured and judged.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Its name.
    pub name: String,
    /// From the end of one measurement to the next.
    pub interval: Option<SignedDuration>,
    /// From the start of the run to the first measurement.
    pub initial_delay: SignedDuration,
    /// How many measurements are made.
    pub length: Length,
    /// What a value is judged by. Compiled it may be large, and every open question has it: they share one.
    pub conditions: Arc<Conditions>,
    /// How many bad values are borne; none: any number.
    pub failure_limit: Option<u32>,
    /// How many values that are neither good nor bad are borne.
    pub inconclusive_limit: u32,
    /// How many errors in a row are borne.
    pub consecutive_error_limit: u32,
    /// How many good values in a row are enough; none: only the whole number is.
    pub consecutive_success_limit: Option<u32>,
    /// It decides nothing.
    pub dry_run: bool,
    /// How many measurements are kept.
    pub kept: usize,
    /// It is asked once for each pod.
    pub for_each_pod: bool,
}

/// How many measurements are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many that give a value.
    Count(u32),
    /// Until somebody ends the run.
    Endless,
}

/// What a value is judged by.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// True when a value is good.
    pub success: Option<Condition>,
    /// True when a value is bad.
    pub failure: Option<Condition>,
}

/// An expression, as it was written and compiled.
#[derive(Clone, Debug)]
pub struct Condition {
    /// As it was written. Of a metric that is asked for each pod it may name the pod.
    pub text: String,
    /// Compiled; one that names the pod with a pod that is none.
    pub program: Program,
    /// The metric that it judges.
    metric: String,
}

impl Condition {
    /// Judges the values of one pod.
    fn of_pod(&self, pod: &str) -> Result<Self, String> {
        let text = fill_text_for_pod(&self.metric, &self.text, pod).map_err(|error| error.to_string())?;
        let program = expression::compile(&text)
            .map_err(|error| format!("{} is no condition: {error}", quoted(&text)))?;
        Ok(Self { text, program, metric: self.metric.clone() })
    }
}

impl Conditions {
    /// What the values of one pod are judged by.
    pub fn of_pod(&self, pod: &str) -> Result<Cow<'_, Self>, String> {
        let both = [&self.success, &self.failure];
        if !both.into_iter().flatten().any(|condition| names_the_pod(&condition.text)) {
            return Ok(Cow::Borrowed(self));
        }
        let one = |condition: &Option<Condition>| condition.as_ref().map(|it| it.of_pod(pod)).transpose();
        Ok(Cow::Owned(Self { success: one(&self.success)?, failure: one(&self.failure)? }))
    }
}

fn names_the_pod(text: &str) -> bool {
    text.contains("{{")
}

/// Reads the rules of all metrics, whose arguments are filled in; or everything that does not make sense.
pub fn read(
    metrics: &[Metric],
    dry_run: &[DryRun],
    retention: &[MeasurementRetention],
) -> Result<Vec<Rules>, Vec<Flaw>> {
    let mut reader = Reader { flaws: Vec::new(), budget: Budget::default() };
    if metrics.is_empty() {
        reader.flaw("spec.metrics", "no metrics: name at least one".to_owned());
    }
    let mut rules: Vec<Rules> =
        metrics.iter().enumerate().map(|(index, metric)| reader.metric(index, metric)).collect();
    let mut names = BTreeSet::new();
    for (index, metric) in metrics.iter().enumerate() {
        if !names.insert(metric.name.as_str()) {
            let field = format!("spec.metrics[{index}].name");
            reader.flaw(
                &field,
                format!("there are two metrics named {:?}: each needs its own name", metric.name),
            );
        }
    }
    reader.dry_runs(dry_run, &mut rules);
    reader.retentions(retention, &mut rules);
    if reader.flaws.is_empty() { Ok(rules) } else { Err(reader.flaws) }
}

/// Collects what does not make sense, so that all of it is told at once.
struct Reader {
    flaws: Vec<Flaw>,
    /// Conditions take far more than their texts once they are compiled: those of a run share this.
    budget: Budget,
}

impl Reader {
    fn flaw(&mut self, field: &str, what: String) {
        self.flaws.push(Flaw { field: field.to_owned(), what });
    }

    fn metric(&mut self, index: usize, metric: &Metric) -> Rules {
        let field = |name: &str| format!("spec.metrics[{index}].{name}");
        if metric.name.is_empty() {
            self.flaw(&field("name"), "a metric needs a name".to_owned());
        }
        let interval = self.duration(&field("interval"), metric.interval.as_deref());
        if interval.is_some_and(|interval| interval.is_zero()) {
            self.flaw(&field("interval"), "0 would ask without a pause: write 1s or more".to_owned());
        }
        let initial_delay = self.duration(&field("initialDelay"), metric.initial_delay.as_deref());
        let count = self.number(&field("count"), metric.count.as_ref(), 0).unwrap_or(0);
        let failure_limit =
            self.number(&field("failureLimit"), metric.failure_limit.as_ref(), -1).unwrap_or(0);
        let inconclusive_limit =
            self.number(&field("inconclusiveLimit"), metric.inconclusive_limit.as_ref(), 0).unwrap_or(0);
        let consecutive_error_limit =
            self.number(&field("consecutiveErrorLimit"), metric.consecutive_error_limit.as_ref(), 0);
        let consecutive_success_limit = self
            .number(&field("consecutiveSuccessLimit"), metric.consecutive_success_limit.as_ref(), 0)
            .unwrap_or(0);
        if count > 1 && interval.is_none() {
            let what = format!("count is {count}: more than one measurement needs an interval");
            self.flaw(&field("interval"), what);
        }
        if failure_limit == -1 && consecutive_success_limit == 0 {
            let what = "-1 bears any number of bad values, which needs a consecutiveSuccessLimit above 0";
            self.flaw(&field("failureLimit"), what.to_owned());
        }
        if count > 0 && failure_limit >= 0 && count < failure_limit + consecutive_success_limit {
            let what = format!(
                "count ({count}) must be at least failureLimit ({failure_limit}) + consecutiveSuccessLimit ({consecutive_success_limit})"
            );
            self.flaw(&field("count"), what);
        }
        if count > 0 && count < inconclusive_limit {
            let what = format!("count ({count}) must be at least inconclusiveLimit ({inconclusive_limit})");
            self.flaw(&field("count"), what);
        }
        Rules {
            name: metric.name.clone(),
            interval,
            initial_delay: initial_delay.unwrap_or(SignedDuration::ZERO),
            length: match (positive(count), interval) {
                (Some(count), _) => Length::Count(count),
                (None, None) => Length::Count(1),
                (None, Some(_)) => Length::Endless,
            },
            conditions: Arc::new(Conditions {
                success: self.condition(
                    &field("successCondition"),
                    metric,
                    metric.success_condition.as_deref(),
                ),
                failure: self.condition(
                    &field("failureCondition"),
                    metric,
                    metric.failure_condition.as_deref(),
                ),
            }),
            failure_limit: u32::try_from(failure_limit).ok(),
            inconclusive_limit: u32::try_from(inconclusive_limit).unwrap_or_default(),
            consecutive_error_limit: consecutive_error_limit
                .and_then(|limit| u32::try_from(limit).ok())
                .unwrap_or(ERRORS_BORNE),
            consecutive_success_limit: positive(consecutive_success_limit),
            dry_run: false,
            kept: KEPT,
            for_each_pod: metric.for_each_pod.is_some(),
        }
    }

    fn duration(&mut self, field: &str, text: Option<&str>) -> Option<SignedDuration> {
        let text = text.filter(|text| !text.is_empty())?;
        let duration = go_duration(text).filter(|duration| !duration.is_negative());
        if duration.is_none() {
            self.flaw(field, format!("{text:?} is no duration: write it as 30s, 5m or 1h30m"));
        }
        duration
    }

    fn number(&mut self, field: &str, number: Option<&IntOrString>, least: i64) -> Option<i64> {
        let read = match number? {
            IntOrString::Int(number) => Some(i64::from(*number)),
            IntOrString::String(text) => {
                text.trim().parse().ok().filter(|number| i32::try_from(*number).is_ok())
            }
        };
        match read {
            Some(read) if read >= least => return Some(read),
            Some(read) => self.flaw(field, format!("{read} is below {least}")),
            None => {
                let text = if let Some(IntOrString::String(text)) = number { text.as_str() } else { "" };
                self.flaw(field, format!("{text:?} is no whole number"));
            }
        }
        None
    }

    fn condition(&mut self, field: &str, metric: &Metric, text: Option<&str>) -> Option<Condition> {
        /// As a pod of a StatefulSet is called.
        const SOME_POD: &str = "pod-0";
        let text = text.filter(|text| !text.trim().is_empty())?;
        let filled = if metric.for_each_pod.is_some() && names_the_pod(text) {
            fill_text_for_pod(&metric.name, text, SOME_POD).map_err(|error| error.to_string())
        } else {
            Ok(text.to_owned())
        };
        let compiled = filled.and_then(|filled| {
            expression::compile_within(&filled, &mut self.budget)
                .and_then(|program| program.judges(None).map(|()| program))
                .map_err(|error| format!("{} is no condition: {error}", quoted(text)))
        });
        match compiled {
            Ok(program) => Some(Condition { text: text.to_owned(), program, metric: metric.name.clone() }),
            Err(what) => {
                self.flaw(field, what);
                None
            }
        }
    }

    fn dry_runs(&mut self, rows: &[DryRun], rules: &mut [Rules]) {
        let mut known = BTreeSet::new();
        for (index, row) in rows.iter().enumerate() {
            let field = format!("spec.dryRun[{index}].metricName");
            self.once(&field, &row.metric_name, &mut known);
            for rule in self.matching(&field, &row.metric_name, rules) {
                rule.dry_run = true;
            }
        }
    }

    fn retentions(&mut self, rows: &[MeasurementRetention], rules: &mut [Rules]) {
        let mut known = BTreeSet::new();
        for (index, row) in rows.iter().enumerate() {
            let field = format!("spec.measurementRetention[{index}].metricName");
            self.once(&field, &row.metric_name, &mut known);
            for rule in self.matching(&field, &row.metric_name, rules) {
                rule.kept = usize::try_from(row.limit).ok().filter(|limit| *limit > 0).unwrap_or(KEPT);
            }
        }
    }

    /// The same pattern twice is a slip. Several may meet in one metric: the last one that says something wins.
    fn once<'a>(&mut self, field: &str, pattern: &'a str, known: &mut BTreeSet<&'a str>) {
        if !known.insert(pattern) {
            self.flaw(field, format!("there are two rules for {pattern:?}: keep one"));
        }
    }

    /// The metrics whose names a pattern matches somewhere; at least one must be.
    fn matching<'a>(&mut self, field: &str, pattern: &str, rules: &'a mut [Rules]) -> Vec<&'a mut Rules> {
        let known = match Pattern::passing(pattern, &mut self.budget) {
            Ok(known) => known,
            Err(reason) => {
                self.flaw(field, format!("{reason}; .* means every metric"));
                return Vec::new();
            }
        };
        let found: Vec<&mut Rules> = rules.iter_mut().filter(|rule| known.matches(&rule.name)).collect();
        if found.is_empty() {
            self.flaw(field, format!("{pattern:?} matches no metric"));
        }
        found
    }
}

fn positive(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| *number > 0)
}
