//! From the analysis of a rollout to the spec of its run: templates put together, arguments given, and everything that
//! can be known to be wrong told before anything is measured.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use windlass_api::analysis::{
    AnalysisRunSpec, AnalysisTemplateSpec, Argument, Metric, TemplateReference, ValueFrom,
};
use windlass_api::rollout_plugin::RolloutAnalysis;
use windlass_engine::{CheckPlace, Plan};

use crate::arguments::{ArgumentError, HIDDEN, fill, merge, named, values};
use crate::expression::quoted;
use crate::gauge::{LooksAt, NOBODY};
use crate::providers::{self, Answers};
use crate::rules::{self, Condition, Conditions, Flaw, Length, Rules};
use crate::templates::flatten;

/// Templates by what refers to them.
pub type Templates = BTreeMap<TemplateReference, AnalysisTemplateSpec>;

/// What the analysis of a rollout is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The rollout, as JSON: arguments may refer to its fields.
    pub rollout: &'a Json,
    /// The revision that ran before, as the label of its pods tells it.
    pub stable: &'a str,
    /// The revision that is wanted, as the label of its pods tells it.
    pub latest: &'a str,
}

/// Where in a rollout an analysis stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// At a step, which waits for it: it must end by itself.
    AtStep {
        /// Whether a pod is on the wanted revision there.
        has_pods: bool,
    },
    /// Beside the steps: it may go on until somebody ends it, and pods come while it does.
    BesideSteps,
}

impl Standing {
    /// Of the check at this place. What is wrong with a plan that makes no sense is told by others.
    pub fn of(plan: Option<&Plan>, place: CheckPlace) -> Self {
        match place {
            // Any number of pods will do: a weight above 0 always is one at least.
            CheckPlace::Stage(stage) => {
                Self::AtStep { has_pods: plan.is_none_or(|plan| plan.exposure(stage, 1) > 0) }
            }
            CheckPlace::Background => Self::BesideSteps,
        }
    }
}

/// The spec of the run of an analysis, or everything that is wrong with it.
pub fn compose(
    analysis: &RolloutAnalysis,
    templates: &Templates,
    about: About<'_>,
    standing: Standing,
) -> Result<AnalysisRunSpec, Vec<String>> {
    let spec = put_together(analysis, templates, about)?;
    fits(&spec, standing)?;
    Ok(spec)
}

/// The spec of the run of an analysis, which need not make sense yet.
pub fn put_together(
    analysis: &RolloutAnalysis,
    templates: &Templates,
    about: About<'_>,
) -> Result<AnalysisRunSpec, Vec<String>> {
    let given = analysis.args.iter().filter(|it| it.value.is_some() || it.value_from.is_some());
    let given: BTreeSet<&str> = given.map(|it| it.name.as_str()).collect();
    let whole = flatten(&analysis.templates, templates, &given).map_err(|error| vec![error.to_string()])?;
    let (merged, unknown) = merge(&whole.args, &analysis.args);
    if !unknown.is_empty() {
        let declared: Vec<&str> = whole.args.iter().map(|it| it.name.as_str()).collect();
        return Err(vec![format!(
            "args: {} not declared by a template; declared: {}",
            unknown.join(", "),
            if declared.is_empty() { "none".to_owned() } else { declared.join(", ") }
        )]);
    }
    let flaws = ambiguous(&merged);
    if !flaws.is_empty() {
        return Err(Unfit::Flaws(flaws).told());
    }
    let args = merged.into_iter().map(|argument| resolve(argument, about)).collect::<Result<Vec<_>, _>>();
    Ok(AnalysisRunSpec {
        metrics: whole.metrics,
        args: args.map_err(|error| vec![error])?,
        dry_run: [whole.dry_run, analysis.dry_run.clone()].concat(),
        measurement_retention: [whole.measurement_retention, analysis.measurement_retention.clone()].concat(),
        ..AnalysisRunSpec::default()
    })
}

/// Whether a spec makes sense there, or everything that is wrong with it. This compiles every condition, so it may take a
/// tenth of a second at its limit; for the same spec it always says the same.
pub fn fits(spec: &AnalysisRunSpec, standing: Standing) -> Result<(), Vec<String>> {
    let Prepared { metrics, rules } = prepared(spec).map_err(|unfit| unfit.told())?;
    let out_of_place = rules.iter().zip(&metrics).filter_map(|it| misplaced(it.0, it.1, standing));
    let out_of_place: Vec<String> = out_of_place.collect();
    if out_of_place.is_empty() { Ok(()) } else { Err(out_of_place) }
}

/// What a step would wait for without end.
fn misplaced(rules: &Rules, metric: &Metric, standing: Standing) -> Option<String> {
    let name = &rules.name;
    match standing {
        Standing::AtStep { .. } if rules.length == Length::Endless => {
            Some(format!("metric {name:?} runs indefinitely: give it a count, or take its interval away"))
        }
        Standing::AtStep { has_pods: false } if LooksAt::of(metric) == LooksAt::Updated => Some(format!(
            "metric {name:?} looks at updated pods, and there are none at this step: put a setWeight before it"
        )),
        Standing::AtStep { .. } | Standing::BesideSteps => None,
    }
}

/// An argument with its value, unless that is a secret: those are read by whoever measures.
fn resolve(argument: Argument, about: About<'_>) -> Result<Argument, String> {
    let name = argument.name.clone();
    let unresolved = |why: String| format!("args.{name} was not resolved: {why}");
    let valued = |value: String| Argument { value: Some(value), value_from: None, ..argument.clone() };
    let from = match (&argument.value, argument.value_from.clone().unwrap_or_default()) {
        (Some(_), _) => return Ok(Argument { value_from: None, ..argument }),
        (None, from) => from,
    };
    match from {
        ValueFrom { secret_key_ref: Some(_), .. } => Ok(argument),
        ValueFrom { pod_template_hash_value: Some(which), .. } => match which.as_str() {
            "Stable" => Ok(valued(about.stable.to_owned())),
            "Latest" => Ok(valued(about.latest.to_owned())),
            other => Err(unresolved(format!("podTemplateHashValue {other:?} is neither Stable nor Latest"))),
        },
        ValueFrom { field_ref: Some(field), .. } => {
            field_of(about.rollout, &field.field_path).map(valued).map_err(unresolved)
        }
        ValueFrom { secret_key_ref: None, field_ref: None, pod_template_hash_value: None } => {
            Err(ArgumentError::Unresolved(argument.name).to_string())
        }
    }
}

/// A field by its path, such as `metadata.labels['app']` or `spec.strategy.canary.steps[0].setWeight`.
pub fn field_of(object: &Json, path: &str) -> Result<String, String> {
    let mut here = object;
    let missing = || format!("there is no field {path}");
    let parts = path_parts(path).ok_or_else(|| format!("{path:?} is no path of a field"))?;
    if let [metadata, texts, name] = &parts[..]
        && metadata == "metadata"
        && ["labels", "annotations"].contains(&texts.as_str())
    {
        // One that is not there is empty, as in the downward API.
        let text = object.get(metadata).and_then(|it| it.get(texts)).and_then(|it| it.get(name));
        return Ok(text.and_then(Json::as_str).unwrap_or_default().to_owned());
    }
    for part in parts {
        here = match here {
            Json::Object(fields) => fields.get(&part).ok_or_else(missing)?,
            Json::Array(items) => {
                part.parse().ok().and_then(|at: usize| items.get(at)).ok_or_else(missing)?
            }
            _ => return Err(missing()),
        };
    }
    match here {
        Json::String(text) => Ok(text.clone()),
        Json::Number(number) => Ok(number.to_string()),
        Json::Bool(truth) => Ok(truth.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => Err(format!("{path} is no single value")),
    }
}

/// The parts of a path; quotes keep dots and brackets together.
fn path_parts(path: &str) -> Option<Vec<String>> {
    let (mut parts, mut rest) = (Vec::new(), path.trim().trim_start_matches('.'));
    while !rest.is_empty() {
        let (part, behind) = if let Some(inner) = rest.strip_prefix('[') {
            match inner.chars().next()? {
                quote @ ('\'' | '"') => {
                    let (part, behind) = inner[1..].split_once(quote)?;
                    (part, behind.strip_prefix(']')?)
                }
                _ => inner.split_once(']')?,
            }
        } else {
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part.to_owned());
        rest = behind.strip_prefix('.').unwrap_or(behind);
    }
    (!parts.is_empty()).then_some(parts)
}

/// Why a run cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Its arguments do not fit.
    Arguments(ArgumentError),
    /// These do not make sense.
    Flaws(Vec<Flaw>),
}

impl Unfit {
    /// Everything that is wrong, each with its field.
    pub fn told(&self) -> Vec<String> {
        match self {
            Self::Arguments(error) => vec![format!("spec.args: {error}")],
            Self::Flaws(flaws) => flaws.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The metrics of a run with their arguments. Secrets are not known here, and stand there hidden.
pub fn filled(spec: &AnalysisRunSpec) -> Result<Vec<Metric>, ArgumentError> {
    let values = values(&spec.args, &hidden(&spec.args)?)?;
    spec.metrics.iter().map(|metric| fill(metric, &values)).collect()
}

/// How the metrics of a run are measured and judged, or everything that does not make sense.
pub fn prepare(spec: &AnalysisRunSpec) -> Result<Vec<Rules>, Unfit> {
    prepared(spec).map(|prepared| prepared.rules)
}

/// The metrics of a run with their arguments, and how each is measured and judged, in the same order.
pub(crate) struct Prepared {
    pub(crate) metrics: Vec<Metric>,
    pub(crate) rules: Vec<Rules>,
}

/// The metrics of a run, ready to be looked at, or everything that does not make sense. Secrets are not known here: what
/// is made of them is not looked at, and no condition may hold one.
pub(crate) fn prepared(spec: &AnalysisRunSpec) -> Result<Prepared, Unfit> {
    if let Some(why) = &spec.unreadable {
        return Err(Unfit::Flaws(vec![Flaw { field: "spec".to_owned(), what: why.clone() }]));
    }
    let metrics = filled(spec).map_err(Unfit::Arguments)?;
    let mut flaws = misfits(&spec.metrics, &spec.args);
    let rules = rules::read(&metrics, &spec.dry_run, &spec.measurement_retention);
    let mut others = rules.as_ref().err().cloned().unwrap_or_default();
    // That the placeholder of a secret is no condition goes without saying.
    others.retain(|other| flaws.iter().all(|flaw| flaw.field != other.field));
    flaws.append(&mut others);
    flaws.extend(spec.args.iter().filter_map(misnamed));
    for (index, metric) in metrics.iter().enumerate() {
        let field = format!("spec.metrics[{index}].provider");
        flaws.extend(providers::read(&field, &metric.provider).err().into_iter().flatten());
    }
    flaws.extend(ambiguous(&spec.args));
    flaws.extend(rules.iter().flat_map(|rules| misjudging(&metrics, rules)));
    match rules {
        Ok(rules) if flaws.is_empty() => Ok(Prepared { metrics, rules }),
        _ => Err(Unfit::Flaws(flaws)),
    }
}

/// The conditions that can judge nothing of what their provider answers with: each measurement would be an error. Metrics
/// have their arguments filled in, and their rules are in the same order.
pub fn misjudging(metrics: &[Metric], rules: &[Rules]) -> Vec<Flaw> {
    let all = metrics.iter().zip(rules).enumerate();
    all.flat_map(|(index, (metric, rules))| misjudged(index, metric, &rules.conditions)).collect()
}

fn misjudged(index: usize, metric: &Metric, conditions: &Conditions) -> Vec<Flaw> {
    let Some((answers, example)) = Answers::of(&metric.provider).for_sure() else { return Vec::new() };
    let written = [("successCondition", &conditions.success), ("failureCondition", &conditions.failure)];
    let flaw = |(field, condition): (&str, &Option<Condition>)| {
        let condition = condition.as_ref()?;
        let error = condition.program.judges(Some(&example)).err()?;
        let what = format!("{} cannot judge {answers}: {error}", quoted(&condition.text));
        Some(Flaw { field: format!("spec.metrics[{index}].{field}"), what })
    };
    written.into_iter().filter_map(flaw).collect()
}

/// Arguments of which nobody can say what their value is.
pub fn ambiguous(arguments: &[Argument]) -> Vec<Flaw> {
    let mut names = BTreeSet::new();
    let what = |argument: &Argument, is_new: bool| {
        let ValueFrom { secret_key_ref, field_ref, pod_template_hash_value } =
            argument.value_from.clone().unwrap_or_default();
        let sources = [
            ("value", argument.value.is_some()),
            ("valueFrom.secretKeyRef", secret_key_ref.is_some()),
            ("valueFrom.fieldRef", field_ref.is_some()),
            ("valueFrom.podTemplateHashValue", pod_template_hash_value.is_some()),
        ];
        let there: Vec<&str> = sources.into_iter().filter_map(|(name, is)| is.then_some(name)).collect();
        match (is_new, &there[..]) {
            (false, _) => Some("it is there twice: keep one".to_owned()),
            (true, [_, _, ..]) => Some(format!("it has {}: keep one", there.join(" and "))),
            (true, _) => None,
        }
    };
    let flaw = |argument: &Argument| {
        let what = what(argument, names.insert(argument.name.clone()))?;
        Some(Flaw { field: format!("spec.args.{}", argument.name), what })
    };
    arguments.iter().filter_map(flaw).collect()
}

/// The arguments that are secrets, each with its placeholder.
fn hidden(arguments: &[Argument]) -> Result<BTreeMap<String, String>, ArgumentError> {
    let mut hidden = BTreeMap::new();
    for argument in arguments.iter().filter(|it| it.value.is_none()) {
        let no_rollout = |from| ArgumentError::NoRollout { name: argument.name.clone(), from };
        match &argument.value_from {
            Some(ValueFrom { secret_key_ref: Some(_), .. }) => {
                hidden.insert(argument.name.clone(), HIDDEN.to_owned());
            }
            Some(ValueFrom { field_ref: Some(_), .. }) => return Err(no_rollout("fieldRef")),
            Some(ValueFrom { pod_template_hash_value: Some(_), .. }) => {
                return Err(no_rollout("podTemplateHashValue"));
            }
            Some(ValueFrom { secret_key_ref: None, field_ref: None, pod_template_hash_value: None })
            | None => {}
        }
    }
    Ok(hidden)
}

/// What does not go together in metrics, as they were written: neither their rules nor their providers can see it.
pub fn misfits(metrics: &[Metric], arguments: &[Argument]) -> Vec<Flaw> {
    let is_secret = |name: &str| {
        let argument = arguments.iter().find(|it| it.name == name && it.value.is_none());
        argument.and_then(|it| it.value_from.as_ref()).is_some_and(|from| from.secret_key_ref.is_some())
    };
    let mut flaws = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        let mut flaw = |field: &str, what: String| {
            flaws.push(Flaw { field: format!("spec.metrics[{index}].{field}"), what });
        };
        let conditions = [
            ("successCondition", &metric.success_condition),
            ("failureCondition", &metric.failure_condition),
        ];
        for (field, text) in conditions {
            if let Some(name) = named(text.as_deref().unwrap_or_default()).find(|name| is_secret(name)) {
                flaw(
                    field,
                    format!(
                        "{{{{args.{name}}}}} comes from a Secret, and everybody sees a condition: give it as a value"
                    ),
                );
            }
        }
        let provider = providers::name(&metric.provider).filter(|it| providers::IN_THE_CLUSTER.contains(it));
        if let (Some(_), Some(provider)) = (&metric.for_each_pod, provider) {
            let instead = match provider {
                "job" => "write the job for all of them",
                _ => "it sees every pod by itself",
            };
            flaw(
                "forEachPod",
                format!("it is for providers that are asked over HTTP, not for {provider}: {instead}"),
            );
        }
    }
    flaws
}

/// A run that belongs to no rollout has no workload and no pods to look at: what is measured of nothing would look like
/// health. The metrics have their arguments filled in: those may say what is looked at.
pub(crate) fn podless(metrics: &[Metric]) -> Vec<Flaw> {
    let looking = metrics.iter().enumerate().filter(|(_, metric)| LooksAt::of(metric) != LooksAt::Others);
    let flaw = |(index, metric): (usize, &Metric)| {
        let field =
            if metric.for_each_pod.is_some() { "forEachPod" } else { "provider.kubernetes.expression" };
        Flaw { field: format!("spec.metrics[{index}].{field}"), what: NOBODY.to_owned() }
    };
    looking.map(flaw).collect()
}

/// What is wrong with the name of the Secret that an argument comes from.
fn misnamed(argument: &Argument) -> Option<Flaw> {
    let secret = argument.value_from.as_ref()?.secret_key_ref.as_ref()?;
    let what = providers::kubernetes::object_name(&secret.name).err()?;
    Some(Flaw { field: format!("spec.args.{}.valueFrom.secretKeyRef.name", argument.name), what })
}
