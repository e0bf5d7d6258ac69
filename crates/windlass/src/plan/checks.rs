//! What will be measured, how long that may take, and what can never be measured. Pure: templates in, forecasts and flaws
//! out. The rules are those of the controller itself, so that what is said here cannot differ from what it does.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;
use windlass_analysis::arguments::HIDDEN;
use windlass_analysis::attend::longest_spread;
use windlass_analysis::compose::{About, Standing, Templates, compose, field_of, filled, prepare};
use windlass_analysis::providers::{self, Settings};
use windlass_analysis::rules::{Length, Rules};
use windlass_analysis::schedule::TRY_AGAIN;
use windlass_analysis::templates::closure;
use windlass_api::Front;
use windlass_api::analysis::{AnalysisRunSpec, Metric, TemplateReference};
use windlass_api::rollout_plugin::{RolloutAnalysis, RolloutPlugin, analysis_field};
use windlass_engine::{CheckPlace, OnError, Plan};

use super::forecast::Span;

/// One analysis of a rollout.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckForecast {
    /// The step that waits for it, counted from 1; none for the one beside the steps.
    pub(crate) step: Option<usize>,
    /// The step with which the one beside the steps begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from_step: Option<usize>,
    pub(crate) templates: Vec<String>,
    /// Those that nobody gave us, so that the metrics are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<String>,
    pub(crate) metrics: Vec<MetricForecast>,
    /// abort, pause or retry.
    pub(crate) on_error: &'static str,
    /// When every value is good; none when it is not known, or has no end of its own.
    #[serde(rename = "shortestSeconds")]
    pub(crate) shortest: Option<Span>,
    /// When values come as late as they may.
    #[serde(rename = "longestSeconds")]
    pub(crate) longest: Option<Span>,
}

/// One metric of an analysis.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetricForecast {
    pub(crate) name: String,
    /// How many values are measured; none: without end.
    pub(crate) count: Option<u32>,
    #[serde(rename = "intervalSeconds")]
    pub(crate) interval: Option<Span>,
    #[serde(rename = "initialDelaySeconds")]
    pub(crate) initial_delay: Span,
    /// How many errors in a row are borne before each value.
    pub(crate) errors_borne: u32,
    pub(crate) success_condition: Option<String>,
    pub(crate) failure_condition: Option<String>,
    /// It decides nothing.
    pub(crate) dry_run: bool,
    #[serde(rename = "shortestSeconds")]
    pub(crate) shortest: Option<Span>,
    #[serde(rename = "longestSeconds")]
    pub(crate) longest: Option<Span>,
}

impl CheckForecast {
    /// Nobody gave us all templates.
    pub(crate) fn is_known(&self) -> bool {
        self.missing.is_empty()
    }
}

/// What is wrong with an analysis, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckFlaw {
    pub(crate) text: String,
    pub(crate) at: At,
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// A path in the rollout.
    Rollout(String),
    /// A path in a template.
    Template(TemplateReference, String),
}

/// Every analysis of a rollout that makes sense, in the order of the steps, the one beside them last.
pub(crate) fn forecast(rollout: &RolloutPlugin, plan: &Plan, templates: &Templates) -> Vec<CheckForecast> {
    let analyses = rollout.asked().analyses;
    analyses
        .all()
        .map(|(place, analysis)| Look { rollout, templates, place, analysis }.forecast(plan))
        .collect()
}

/// Everything that is wrong with the analyses of a rollout. Templates that nobody gave us are not.
pub(crate) fn flaws(rollout: &RolloutPlugin, templates: &Templates) -> Vec<CheckFlaw> {
    let analyses = rollout.asked().analyses;
    analyses
        .all()
        .flat_map(|(place, analysis)| Look { rollout, templates, place, analysis }.flaws())
        .collect()
}

/// The templates that a rollout names, directly or not, and that are not known; each with the field that leads there.
pub(crate) fn missing(rollout: &RolloutPlugin, templates: &Templates) -> Vec<(TemplateReference, String)> {
    let analyses = rollout.asked().analyses;
    let mut said = BTreeSet::new();
    let looks = analyses.all().map(|(place, analysis)| Look { rollout, templates, place, analysis });
    let all = looks.flat_map(|look| {
        let field = analysis_field(look.place);
        look.missing().into_iter().map(move |template| (template, field.clone()))
    });
    all.filter(|(template, _)| said.insert(template.clone())).collect()
}

/// Every metric that a rollout measures, with its arguments, or what keeps its analyses from being played.
pub(crate) fn measured(rollout: &RolloutPlugin, templates: &Templates) -> Result<Vec<Metric>, Vec<String>> {
    let analyses = rollout.asked().analyses;
    let (mut metrics, mut wrong) = (Vec::new(), Vec::new());
    for (place, analysis) in analyses.all() {
        match (Look { rollout, templates, place, analysis }).measured() {
            Ok(measured) => metrics.extend(measured),
            Err(flaws) => {
                wrong.extend(flaws.iter().map(|flaw| format!("{}: {flaw}", analysis_field(place))));
            }
        }
    }
    if wrong.is_empty() { Ok(metrics) } else { Err(wrong) }
}

/// `AnalysisTemplate error-rate`.
pub(crate) fn template_words(template: &TemplateReference) -> String {
    let kind = if template.cluster_scope { "ClusterAnalysisTemplate" } else { "AnalysisTemplate" };
    format!("{kind} {}", template.template_name)
}

/// What stands in the place of what only a cluster knows.
struct Unknown {
    /// Fields that a server fills in.
    field: &'static str,
    stable: &'static str,
    latest: &'static str,
}

const UNKNOWN: Unknown = Unknown { field: HIDDEN, stable: "stable", latest: "latest" };
/// Other words: what changes with them is not known.
const OTHERWISE: Unknown = Unknown { field: "other", stable: "former", latest: "newer" };

struct Look<'a> {
    rollout: &'a RolloutPlugin,
    templates: &'a Templates,
    place: CheckPlace,
    analysis: &'a RolloutAnalysis,
}

impl Look<'_> {
    fn closure(&self) -> Vec<TemplateReference> {
        closure(&self.analysis.templates, self.templates)
    }

    fn missing(&self) -> Vec<TemplateReference> {
        self.closure().into_iter().filter(|template| !self.templates.contains_key(template)).collect()
    }

    /// Every metric in the order in which they are put together, with the template that has it and its place there.
    fn metrics(&self) -> Vec<(TemplateReference, usize, &Metric)> {
        let of = |template: TemplateReference| {
            let spec = self.templates.get(&template);
            let metrics = spec.map(|spec| spec.metrics.as_slice()).unwrap_or_default();
            metrics.iter().enumerate().map(move |(index, metric)| (template.clone(), index, metric))
        };
        self.closure().into_iter().flat_map(of).collect()
    }

    fn compose(&self) -> Result<AnalysisRunSpec, Vec<String>> {
        self.composed(&UNKNOWN)
    }

    fn composed(&self, unknown: &Unknown) -> Result<AnalysisRunSpec, Vec<String>> {
        let rollout = serde_json::to_value(self.rollout).unwrap_or(Value::Null);
        let (mut analysis, mut templates) = (self.analysis.clone(), self.templates.clone());
        let declared = templates.values_mut().flat_map(|template| &mut template.args);
        for argument in analysis.args.iter_mut().chain(declared) {
            let path = argument.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
            let path = path.map(|field| field.field_path.clone()).unwrap_or_default();
            // What a server fills in later is not known before.
            let later = path.starts_with("status.") || path.starts_with("metadata.");
            if later && argument.value.is_none() && field_of(&rollout, &path).is_err() {
                (argument.value, argument.value_from) = (Some(unknown.field.to_owned()), None);
            }
        }
        let about = About { rollout: &rollout, stable: unknown.stable, latest: unknown.latest };
        let plan = self.rollout.asked().plan.ok();
        compose(&analysis, &templates, about, Standing::of(plan.as_ref(), self.place))
    }

    /// The metrics with their arguments. By their names what they say is given, so those must be known.
    fn measured(&self) -> Result<Vec<Metric>, Vec<String>> {
        let with = |unknown: &Unknown| {
            let spec = self.composed(unknown)?;
            filled(&spec).map(|metrics| (spec, metrics)).map_err(|error| vec![error.to_string()])
        };
        let ((spec, metrics), (_, others)) = (with(&UNKNOWN)?, with(&OTHERWISE)?);
        let named = spec.metrics.iter().zip(metrics.iter().zip(&others));
        let unnamed = named.filter(|(_, (one, other))| one.name != other.name);
        let wrong = unnamed.map(|(written, _)| {
            format!(
                "metric {:?} cannot be played: only a cluster knows its whole name; give the arguments in it a value",
                written.name
            )
        });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() { Ok(metrics) } else { Err(wrong) }
    }

    fn flaws(&self) -> Vec<CheckFlaw> {
        if !self.missing().is_empty() {
            return Vec::new();
        }
        let told = self.compose().err().unwrap_or_default();
        told.into_iter().map(|text| self.placed(&text)).collect()
    }

    /// A flaw in words, led back to where it stands.
    fn placed(&self, text: &str) -> CheckFlaw {
        let metrics = self.metrics();
        let by_index = text.strip_prefix("spec.metrics[").and_then(|rest| {
            let (index, rest) = rest.split_once(']')?;
            let (template, own, _) = metrics.get(index.parse::<usize>().ok()?)?;
            let (field, what) = rest.split_once(": ").unwrap_or((rest, ""));
            Some((template, format!("spec.metrics[{own}]{field}"), what.to_owned()))
        });
        let by_name = || {
            let named = |name: &str| text.contains(&format!("metric {name:?}"));
            let (template, own, _) = metrics.iter().find(|(.., metric)| named(&metric.name))?;
            Some((template, format!("spec.metrics[{own}]"), text.to_owned()))
        };
        let field = analysis_field(self.place);
        match by_index.or_else(by_name) {
            Some((template, path, what)) => CheckFlaw {
                text: format!("{field}: {}: {path}: {what}", template_words(template)),
                at: At::Template(template.clone(), path),
            },
            None => CheckFlaw { text: format!("{field}: {text}"), at: At::Rollout(field) },
        }
    }

    fn forecast(&self, plan: &Plan) -> CheckForecast {
        let (step, from_step, check) = match self.place {
            CheckPlace::Stage(stage) => {
                (Some(stage + 1), None, plan.stages.get(stage).and_then(|it| it.check))
            }
            CheckPlace::Background => {
                (None, plan.background.map(|it| it.from + 1), plan.background.map(|it| it.check))
            }
        };
        let spec = if self.missing().is_empty() { self.compose().ok() } else { None };
        let rules = spec.as_ref().and_then(|spec| prepare(spec).ok()).unwrap_or_default();
        let filled = spec.as_ref().and_then(|spec| filled(spec).ok()).unwrap_or_default();
        // Both have one entry for each metric, in the same order.
        let metrics: Vec<MetricForecast> =
            rules.iter().zip(&filled).map(|(rules, filled)| metric(rules, filled)).collect();
        let known = spec.is_some();
        let longest_of = |span: fn(&MetricForecast) -> Option<Span>| {
            let all: Option<Vec<Span>> = metrics.iter().map(span).collect();
            all.filter(|_| known).map(|all| all.into_iter().max().unwrap_or_default())
        };
        CheckForecast {
            step,
            from_step,
            templates: self.analysis.templates.iter().map(|it| it.template_name.clone()).collect(),
            missing: self.missing().iter().map(template_words).collect(),
            shortest: longest_of(|metric| metric.shortest),
            longest: longest_of(|metric| metric.longest),
            metrics,
            on_error: match check.map(|check| check.on_error).unwrap_or_default() {
                OnError::Abort => "abort",
                OnError::Pause => "pause",
                OnError::Retry => "retry",
            },
        }
    }
}

fn metric(rules: &Rules, filled: &Metric) -> MetricForecast {
    let count = match rules.length {
        Length::Count(count) => Some(count),
        Length::Endless => None,
    };
    let enough = [count, rules.consecutive_success_limit].into_iter().flatten().min();
    let text = |condition: &Option<windlass_analysis::rules::Condition>| {
        condition.as_ref().map(|it| it.text.clone())
    };
    MetricForecast {
        name: rules.name.clone(),
        count,
        interval: rules.interval.map(Span),
        initial_delay: Span(rules.initial_delay),
        errors_borne: rules.consecutive_error_limit,
        success_condition: text(&rules.conditions.success),
        failure_condition: text(&rules.conditions.failure),
        dry_run: rules.dry_run,
        shortest: enough.map(|count| Span(between(rules, count))),
        longest: count.and_then(|count| longest(rules, count, filled)),
    }
}

/// From the start of a run to its last value, when each comes at once and the first does not wait for its turn.
fn between(rules: &Rules, count: u32) -> SignedDuration {
    let intervals = times(rules.interval.unwrap_or_default(), count.saturating_sub(1));
    rules.initial_delay.saturating_add(intervals)
}

/// The same when the first waits for its turn, and before each value there are as many errors as are borne, each as late as
/// it may be and tried again after a moment; none where a Job may take any time. In whole seconds.
fn longest(rules: &Rules, count: u32, filled: &Metric) -> Option<Span> {
    let retries = times(TRY_AGAIN, count.saturating_mul(rules.consecutive_error_limit));
    let tries = count.saturating_mul(rules.consecutive_error_limit.saturating_add(1));
    let answers = times(longest_answer(filled)?, tries);
    let all = [between(rules, count), longest_spread(rules.interval), retries, answers];
    let all = all.into_iter().fold(SignedDuration::ZERO, SignedDuration::saturating_add);
    let begun = i64::from(all.subsec_nanos() > 0);
    Some(Span(SignedDuration::from_secs(all.as_secs().saturating_add(begun))))
}

/// How long one answer may take; what the cluster itself is asked is answered at once.
fn longest_answer(filled: &Metric) -> Option<SignedDuration> {
    match providers::read("provider", &filled.provider).ok()? {
        Settings::Http(provider) => SignedDuration::try_from(provider.longest()).ok(),
        Settings::Job(job) => {
            let seconds = job.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_i64);
            seconds.map(SignedDuration::from_secs)
        }
        Settings::Kubernetes(_) => Some(SignedDuration::ZERO),
    }
}

fn times(each: SignedDuration, count: u32) -> SignedDuration {
    each.saturating_mul(i32::try_from(count).unwrap_or(i32::MAX))
}
