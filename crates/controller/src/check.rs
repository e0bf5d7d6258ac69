//! Carries out what the engine wants done about checks: a run of an analysis is made, asked to end, or deleted when
//! there are more than are kept.

use serde_json::Value;
use windlass_analysis::compose::{About, Standing, put_together};
use windlass_analysis::templates::closure;
use windlass_api::analysis::{AnalysisRun, AnalysisRunSpec};
use windlass_api::rollout_plugin::{RolloutAnalysis, RolloutPlugin, analysis_field};
use windlass_api::{Asked, Front};
use windlass_engine::{CheckId, CheckMove, CheckPlace, Flaw, Observation, Obstacle, Run, Seen, SeenCheck};

use crate::analyse::RUN_INSTANCE_LABEL;
use crate::cache::{Caches, Index, Key, Kind};
use crate::context::Context;
use crate::gather::Inputs;
use crate::writer::WriteError;

/// The checks of a rollout that exist.
pub(crate) fn checks(index: &Index, rollout: &RolloutPlugin) -> Vec<SeenCheck> {
    let uid = rollout.metadata.uid.as_deref().unwrap_or_default();
    index.analyses().runs_of(uid).filter_map(|run| rollout.check(run)).collect()
}

/// What keeps the checks of a rollout from being begun.
pub(crate) fn obstacles(
    caches: &Caches,
    index: &Index,
    rollout: &RolloutPlugin,
    asked: &Asked,
    seen: &Observation,
) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    for (place, analysis) in asked.analyses.all() {
        let field = analysis_field(place);
        let found = match unwatched(caches, index, rollout, analysis) {
            Some(problem) => vec![problem],
            None => spec_of(caches, index, rollout, asked, place, seen).err().unwrap_or_default(),
        };
        let flaws = found.iter().map(|problem| Flaw::new(format!("{field}: {problem}")));
        obstacles.extend(flaws.map(|flaw| Obstacle { place, flaw }));
    }
    obstacles
}

/// What this controller cannot see, and therefore cannot do.
fn unwatched(
    caches: &Caches,
    index: &Index,
    rollout: &RolloutPlugin,
    analysis: &RolloutAnalysis,
) -> Option<String> {
    if !caches.watches(Kind::AnalysisRuns) || !caches.watches(Kind::Templates) {
        return Some(
            "the kinds AnalysisRun and AnalysisTemplate are not installed in this cluster: install them \
             (`windlass crds --only analysis`) and restart the controller"
                .to_owned(),
        );
    }
    if caches.watches(Kind::ClusterTemplates) {
        return None;
    }
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or_default();
    let known = index.analyses().templates(namespace, &analysis.templates);
    let wanted = closure(&analysis.templates, &known);
    let of_the_cluster = wanted.iter().find(|template| template.cluster_scope)?;
    Some(format!(
        "ClusterAnalysisTemplate {:?} cannot be read: this controller serves one namespace, or the kind is not installed",
        of_the_cluster.template_name
    ))
}

fn spec_of(
    caches: &Caches,
    index: &Index,
    rollout: &RolloutPlugin,
    asked: &Asked,
    place: CheckPlace,
    seen: &Observation,
) -> Result<AnalysisRunSpec, Vec<String>> {
    let Some(analysis) = asked.analyses.at(place) else {
        return Err(vec!["it is not there any more".to_owned()]);
    };
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or_default();
    let templates = index.analyses().templates(namespace, &analysis.templates);
    let arguments = analysis.args.iter().chain(templates.values().flat_map(|template| &template.args));
    let mut sources = arguments.filter_map(|argument| argument.value_from.as_ref());
    // Seldom asked for, and every look would make it.
    let json = if sources.any(|from| from.field_ref.is_some()) {
        serde_json::to_value(rollout).unwrap_or(Value::Null)
    } else {
        Value::Null
    };
    let about = About { rollout: &json, stable: seen.stable.as_str(), latest: seen.target.as_str() };
    let spec = put_together(analysis, &templates, about)?;
    let standing = Standing::of(asked.plan.as_ref().ok(), place);
    caches.judged.fits(&Key::of(&rollout.metadata), place, &spec, standing)?;
    Ok(spec)
}

/// Begins or ends a check.
pub(crate) async fn carry_out(
    context: &Context,
    inputs: &Inputs,
    check: &CheckMove,
) -> Result<(), WriteError> {
    let rollout = &inputs.rollout;
    let namespace = rollout.metadata.namespace.clone().unwrap_or_default();
    match check {
        CheckMove::Begin(id) => {
            let run = new_run(context, inputs, *id)?;
            let answer = context.writer.create_run(&run).await?;
            context.learn(&answer);
        }
        CheckMove::End(name) => {
            let key = Key { namespace, name: name.to_string() };
            let run = context.caches.read().analyses().run(&key).cloned();
            let Some(run) = run else { return Ok(()) };
            let answer = context.writer.end_run(&run).await?;
            context.take_in(&answer);
        }
    }
    Ok(())
}

fn new_run(context: &Context, inputs: &Inputs, id: CheckId) -> Result<AnalysisRun, WriteError> {
    let rollout = &inputs.rollout;
    let index = context.caches.read();
    // The templates may have changed since they were looked at; the next look says so.
    let stale = || WriteError::Stale { what: format!("beginning an analysis of {}", inputs.name) };
    let Seen::Workload(seen) = &inputs.seen else { return Err(stale()) };
    let Ok(spec) = spec_of(&context.caches, &index, rollout, &inputs.asked, id.place, seen) else {
        return Err(stale());
    };
    let namespace = rollout.metadata.namespace.clone().unwrap_or_default();
    let taken = |name: &str| {
        let key = Key { namespace: namespace.clone(), name: name.to_owned() };
        index.analyses().run(&key).is_some()
    };
    let mut run = rollout.begin(id, &seen.target, spec, &taken);
    let labels = run.metadata.labels.get_or_insert_default();
    labels.insert(RUN_INSTANCE_LABEL.to_owned(), context.served.name.clone());
    Ok(run)
}

/// Deletes one finished run that is not kept any more. True if there was one.
pub(crate) async fn forget_one(
    context: &Context,
    inputs: &Inputs,
    run: Option<&Run>,
) -> Result<bool, WriteError> {
    let surplus = {
        let index = context.caches.read();
        let uid = inputs.rollout.metadata.uid.as_deref().unwrap_or_default();
        let kept = inputs.asked.analyses.kept;
        let runs = index.analyses().runs_of(uid).filter(|run| run.metadata.deletion_timestamp.is_none());
        inputs.rollout.surplus(runs.map(AsRef::as_ref), run, kept).cloned()
    };
    let Some(run) = surplus else { return Ok(false) };
    match context.writer.delete_run(&run).await {
        Ok(()) | Err(WriteError::Gone { .. }) => {}
        Err(error) => return Err(error),
    }
    context.caches.write().forget_run(&Key::of(&run.metadata));
    Ok(true)
}
