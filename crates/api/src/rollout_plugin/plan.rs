//! From spec to plan, with upstream's words for what is wrong.

use jiff::SignedDuration;
use serde_json::Value;
use windlass_engine::{
    Amount, Background, Caution, Check, Deadline, Expose, Flaw, Hold, OnError, Plan, Rounding, Route, Stage,
};

use super::STATEFUL_SET_PLUGIN_NAMES;
use super::spec::{RolloutAnalysis, RolloutPlugin, RolloutPluginSpec, Step};
use crate::duration;
use crate::front::{WorkloadKind, WorkloadTarget};
use crate::labels::{LONGEST_NAME, flaw_of_annotations, flaw_of_labels};

/// Upstream's default for `timeoutSeconds`.
const DEFAULT_TIMEOUT_SECONDS: i64 = 600;

/// The plan, or every flaw found.
pub(super) fn plan(rollout: &RolloutPlugin, namespace: &str) -> Result<Plan, Vec<Flaw>> {
    let spec = &rollout.spec;
    if let Some(error) = &spec.unreadable {
        return Err(vec![Flaw::new(format!("RolloutPlugin spec cannot be read: {error}"))]);
    }
    let mut flaws = Vec::new();
    flaws.extend(name(rollout).err());
    flaws.extend(workload(spec, namespace).err());
    flaws.extend(plugin(spec).err());
    let deadline = deadline(spec).map_err(|flaw| flaws.push(flaw));
    let stages = stages(spec).map_err(|found| flaws.extend(found));
    let background = background(spec).map_err(|flaw| flaws.push(flaw));
    match (deadline, stages, background) {
        (Ok(deadline), Ok(stages), Ok(background)) if flaws.is_empty() => {
            let mut plan = Plan {
                stages,
                background,
                obstacles: Vec::new(),
                paused: spec.paused,
                deadline,
                cautions: Vec::new(),
            };
            plan.cautions = cautions(&plan);
            Ok(plan)
        }
        _ => Err(flaws),
    }
}

/// The workload that is meant.
pub(super) fn workload(spec: &RolloutPluginSpec, namespace: &str) -> Result<WorkloadTarget, Flaw> {
    let reference = &spec.workload_ref;
    let required =
        [("name", &reference.name), ("kind", &reference.kind), ("apiVersion", &reference.api_version)];
    for (field, value) in required {
        if value.is_empty() {
            return Err(Flaw::new(format!("RolloutPlugin spec.workloadRef.{field} is required")));
        }
    }
    if let Some(other) =
        reference.namespace.as_deref().filter(|other| !other.is_empty() && *other != namespace)
    {
        return Err(Flaw::new(format!(
            "RolloutPlugin spec.workloadRef.namespace is {other}, but a workload must be in the namespace of its \
             rollout ({namespace}); move the rollout there, or remove the field"
        )));
    }
    let is_apps = reference.api_version.starts_with("apps/");
    match reference.kind.as_str() {
        "StatefulSet" if is_apps => {
            Ok(WorkloadTarget { kind: WorkloadKind::StatefulSet, name: reference.name.clone() })
        }
        kind => Err(Flaw::new(format!(
            "RolloutPlugin spec.workloadRef is of kind {kind} ({}), which this version of Windlass cannot drive; \
             it drives StatefulSet (apps/v1)",
            reference.api_version
        ))),
    }
}

/// The workload and every analysis carry the name in a label, and the server takes no longer one there.
fn name(rollout: &RolloutPlugin) -> Result<(), Flaw> {
    let name = rollout.metadata.name.as_deref().unwrap_or_default();
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Flaw::new(format!(
        "RolloutPlugin metadata.name has {} characters, and its workload carries it in a label, which takes {LONGEST_NAME}: \
         make one with a shorter name",
        name.len()
    )))
}

fn plugin(spec: &RolloutPluginSpec) -> Result<(), Flaw> {
    let name = spec.plugin.name.as_str();
    if name.is_empty() {
        return Err(Flaw::new("RolloutPlugin spec.plugin.name is required"));
    }
    if STATEFUL_SET_PLUGIN_NAMES.contains(&name) {
        return Ok(());
    }
    Err(Flaw::new(format!(
        "Plugin '{name}' not found. This version of Windlass has the built-in plugin statefulset \
         (also known as {})",
        STATEFUL_SET_PLUGIN_NAMES.join(", ")
    )))
}

fn deadline(spec: &RolloutPluginSpec) -> Result<Deadline, Flaw> {
    let not_valid = |what: &str| Flaw::new(format!("RolloutPlugin spec.plugin.config is not valid: {what}"));
    let config = match &spec.plugin.config {
        None | Some(Value::Null) => None,
        Some(Value::Object(config)) => Some(config),
        Some(_) => return Err(not_valid("it must be an object")),
    };
    let set = |key: &str| config.and_then(|config| config.get(key)).filter(|value| !value.is_null());
    let seconds = match set("timeoutSeconds") {
        None => spec.progress_deadline_seconds,
        Some(value) => Some(number(value).ok_or_else(|| not_valid("timeoutSeconds must be a whole number"))?),
    };
    let abort = match set("timeoutAbort") {
        None => spec.progress_deadline_abort,
        Some(value) => Some(truth(value).ok_or_else(|| not_valid("timeoutAbort must be true or false"))?),
    };
    let seconds = seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    if seconds <= 0 {
        return Err(Flaw::new("RolloutPlugin spec.plugin.config.timeoutSeconds must be greater than 0"));
    }
    Ok(Deadline { after: SignedDuration::from_secs(seconds), abort: abort.unwrap_or(false) })
}

/// Older manifests had a map of strings there.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn truth(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_str()?.parse().ok())
}

fn stages(spec: &RolloutPluginSpec) -> Result<Vec<Stage>, Vec<Flaw>> {
    let mut flaws: Vec<Flaw> =
        spec.strategy.other.keys().map(|key| not_served(&format!("spec.strategy.{key}"))).collect();
    let Some(canary) = &spec.strategy.canary else {
        flaws.push(Flaw::new("RolloutPlugin spec.strategy.canary is required"));
        return Err(flaws);
    };
    flaws.extend(canary.other.keys().map(|key| not_served(&format!("spec.strategy.canary.{key}"))));
    if canary.steps.is_empty() {
        flaws.push(Flaw::new(
            "RolloutPlugin spec.strategy.canary.steps is required: without a step there is nothing to hold",
        ));
    }
    let mut stages = Vec::new();
    for (index, step) in canary.steps.iter().enumerate() {
        match stage(index, step) {
            Ok(stage) => stages.push(stage),
            Err(flaw) => flaws.push(flaw),
        }
    }
    if flaws.is_empty() { Ok(stages) } else { Err(flaws) }
}

fn stage(index: usize, step: &Step) -> Result<Stage, Flaw> {
    let at = |problem: &str| Flaw::new(format!("spec.strategy.canary.steps[{index}]: {problem}"));
    let things = usize::from(step.set_weight.is_some())
        + usize::from(step.pause.is_some())
        + usize::from(step.analysis.is_some())
        + step.other.len();
    if things != 1 {
        return Err(at("Step must have exactly one of: setWeight, pause, or analysis"));
    }
    if let Some(weight) = step.set_weight {
        let percent = u32::try_from(weight).ok().filter(|percent| *percent <= 100);
        let percent = percent.ok_or_else(|| at("SetWeight needs to be between 0 and 100"))?;
        let expose = Expose { amount: Amount::Percent(percent), rounding: Rounding::DownAtLeastOne };
        return Ok(Stage { expose: Some(expose), ..Stage::default() });
    }
    if let Some(pause) = &step.pause {
        let hold = match &pause.duration {
            None => Hold::UntilPromoted,
            Some(duration) => {
                Hold::For(duration::parse(duration).ok_or_else(|| at("Duration needs to be greater than 0"))?)
            }
        };
        return Ok(Stage { hold: Some(hold), ..Stage::default() });
    }
    if let Some(analysis) = &step.analysis {
        if analysis.starting_step.is_some() {
            return Err(at(
                "startingStep is for an analysis beside the steps: spec.strategy.canary.analysis",
            ));
        }
        let check = check(analysis).map_err(|problem| at(&format!("analysis.{problem}")))?;
        return Ok(Stage { check: Some(check), ..Stage::default() });
    }
    let described = step.other.keys().next().cloned().unwrap_or_default();
    Ok(Stage { route: Some(Route { described }), ..Stage::default() })
}

fn background(spec: &RolloutPluginSpec) -> Result<Option<Background>, Flaw> {
    let at = |problem: &str| Flaw::new(format!("spec.strategy.canary.analysis.{problem}"));
    let Some(canary) = &spec.strategy.canary else { return Ok(None) };
    let Some(analysis) = &canary.analysis else { return Ok(None) };
    let check = check(analysis).map_err(|problem| at(&problem))?;
    let steps = canary.steps.len();
    let from = usize::try_from(analysis.starting_step.unwrap_or(0)).ok().filter(|from| *from < steps.max(1));
    let from = from.ok_or_else(|| at(&format!("startingStep must be 0 to {}", steps.saturating_sub(1))))?;
    Ok(Some(Background { check, from }))
}

fn check(analysis: &RolloutAnalysis) -> Result<Check, String> {
    if analysis.templates.is_empty() {
        return Err("templates: name at least one AnalysisTemplate or ClusterAnalysisTemplate".to_owned());
    }
    if let Some(metadata) = &analysis.analysis_run_metadata {
        let flaw = flaw_of_labels(&metadata.labels).or_else(|| flaw_of_annotations(&metadata.annotations));
        if let Some(flaw) = flaw {
            return Err(format!("analysisRunMetadata.{flaw}"));
        }
    }
    let on_error = match analysis.on_error.as_deref() {
        None | Some("abort") => OnError::Abort,
        Some("pause") => OnError::Pause,
        Some("retry") => OnError::Retry,
        Some(other) => return Err(format!("onError: {other:?} is none of abort, pause and retry")),
    };
    Ok(Check { on_error })
}

fn not_served(field: &str) -> Flaw {
    Flaw::new(format!(
        "{field} is not served by this version of Windlass; remove it, or wait for a version that does"
    ))
}

fn cautions(plan: &Plan) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let weights: Vec<(usize, u32)> = plan
        .stages
        .iter()
        .enumerate()
        .filter_map(|(index, stage)| match stage.expose?.amount {
            Amount::Percent(percent) => Some((index, percent)),
            Amount::Count(_) => None,
        })
        .collect();
    for pair in weights.windows(2) {
        let [(_, before), (index, weight)] = pair else { continue };
        if weight <= before {
            cautions.push(Caution {
                text: format!(
                    "spec.strategy.canary.steps[{index}]: setWeight {weight} is not above {before}: weights should \
                     ascend; pods move back where it falls"
                ),
            });
        }
    }
    if let Some(index) = plan.everything_before_the_end() {
        cautions.push(Caution {
            text: format!(
                "spec.strategy.canary.steps[{index}]: setWeight 100 before the last step: once every pod is updated, \
                 an abort can no longer put them back"
            ),
        });
    }
    cautions
}
