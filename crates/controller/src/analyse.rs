//! Looks at one run of an analysis: stores what was measured, asks what is due, says when to look again. Nobody waits
//! for an answer here, so a slow provider holds up nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use tokio::time::Instant;
use windlass_analysis::attend::{Answered, Ask, Attended, News, attend};
use windlass_analysis::gauge::{About, Owner, Question, RunIdentity, Subject, Whom};
use windlass_analysis::measurement::measurement;
use windlass_api::analysis::{AnalysisRun, AnalysisRunStatus, Metric, MetricResult, Phase};
use windlass_api::{EventKind, EventText, Front};
use windlass_engine::{RolloutName, Seen};

use crate::asked::Standing;
use crate::cache::{Index, Job, Key, controller};
use crate::context::Context;
use crate::doubt::Object;
use crate::job::{self, JOB_NAME};
use crate::reconcile::{SETTLE, WRITES_IN_A_ROW, instant, tell};
use crate::writer::WriteError;

/// The label by which several controllers share a cluster's runs: each serves those that carry its name. Argo Rollouts
/// knows it too, and leaves what carries another name alone.
pub(crate) const RUN_INSTANCE_LABEL: &str = "argo-rollouts.argoproj.io/controller-instance-id";

/// Which runs of analyses are served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// Those that carry this name.
    pub(crate) name: String,
    /// And those that carry none.
    pub(crate) unnamed: bool,
}

impl Served {
    pub(crate) fn is(&self, run: &AnalysisRun) -> bool {
        let labels = run.metadata.labels.as_ref();
        let name = labels.and_then(|labels| labels.get(RUN_INSTANCE_LABEL));
        !is_argos(run) && name.map_or(self.unnamed, |name| *name == self.name)
    }
}

/// A Rollout or an Experiment of Argo's has made it, for its own controller.
fn is_argos(run: &AnalysisRun) -> bool {
    let mut owners = run.metadata.owner_references.iter().flatten();
    owners.any(|owner| {
        owner.controller == Some(true)
            && owner.api_version.starts_with("argoproj.io/")
            && matches!(owner.kind.as_str(), "Rollout" | "Experiment")
    })
}

/// Looks at a run until there is nothing to write.
pub(crate) async fn look_at_run(context: &Context, key: &Key) -> Result<Option<Instant>, WriteError> {
    for _ in 0..WRITES_IN_A_ROW {
        let run = context.caches.read().analyses().run(key).cloned();
        let Some(run) = run.filter(|run| context.served.is(run)) else {
            forget(context, key);
            return Ok(None);
        };
        if run.metadata.deletion_timestamp.is_some() {
            forget(context, key);
            return Ok(None);
        }
        let object = Object::Analysis(key.clone());
        if !context.writer.in_doubt(std::iter::once(object.clone())).is_empty() {
            read_again(context, key, &object).await?;
            continue;
        }
        match look_once(context, key, &run).await {
            Ok(Looked::Wrote) => {}
            Ok(Looked::Until(wake)) => return Ok(wake),
            Err(WriteError::InDoubt { object, .. }) => read_again(context, key, &object).await?,
            Err(error @ WriteError::Gone { .. }) => {
                // The watch will say the same; until then nobody looks at it again.
                gone(context, key);
                tracing::debug!(%error, "the run is gone");
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Instant::now()))
}

/// A run is gone before the watch has told: whoever waits for it hears of it.
fn gone(context: &Context, key: &Key) {
    let jobs = context.caches.write().forget_run(key);
    forget(context, key);
    context.queue.add_all(jobs.into_iter().filter(|job| !matches!(job, Job::Analysis(_))));
}

/// Nothing is kept of a run that is gone, or somebody else's.
fn forget(context: &Context, key: &Key) {
    context.asked.forget(key);
    context.metrics.forget_run(key);
}

enum Looked {
    Wrote,
    Until(Option<Instant>),
}

async fn look_once(context: &Context, key: &Key, run: &Arc<AnalysisRun>) -> Result<Looked, WriteError> {
    let now = context.clock.now();
    let uid = run.metadata.uid.clone().unwrap_or_default();
    let Standing { busy, answers, wake: rested, troubles } = context.asked.of(key, &uid, Instant::now());
    let stored = run.status.clone().unwrap_or_default();
    let began = stored.started_at.unwrap_or_else(|| context.asked.began(key, &uid, now));
    let before = AnalysisRunStatus { started_at: Some(began), ..stored.clone() };
    let owner = if controller(run).is_some() { Owner::Rollout } else { Owner::Nobody };
    let (namespace, name) = (key.namespace.clone(), key.name.clone());
    let identity = RunIdentity { namespace, name, uid: uid.clone(), owner };
    let over = |metadata: &BTreeMap<String, String>| {
        let job = metadata.get(JOB_NAME);
        job.is_some_and(|job| context.caches.read().analyses().is_job_over(key, job))
    };
    let whom = LazyLock::new(|| subject(&context.caches.read(), run));
    let obstacle = |metric: &Metric| whom.obstacle(metric);
    let news =
        News { answers: &answers, asked: &busy, over: &over, obstacle: &obstacle, troubles: &troubles };
    let Attended { status, ask, left, wake, expired } = attend(&identity, &run.spec, &before, news, now);
    if expired {
        tracing::info!(namespace = key.namespace, run = key.name, "its time is over: deleted");
        context.writer.delete_run(run).await?;
        gone(context, key);
        return Ok(Looked::Until(None));
    }
    // Nothing more is asked for what cannot be stored: the answers would pile up.
    let job = Job::Analysis(key.clone());
    let (ask, put_off): (Vec<Ask>, Vec<Ask>) = match context.note(&job).failures {
        0 => (ask, Vec::new()),
        _ => ask.into_iter().partition(|it| it.about != About::New),
    };
    // Whoever is to be asked is asked before anything is stored: a thousand runs that begin together do not wait for each
    // other's writes. Losing it loses nothing.
    for it in ask {
        put(context, key, &identity, run, whom.as_subject().cloned(), it, now);
    }
    // What has begun something that has to be ended yet is remembered until that is done.
    let is_done = |answer: &Answered| !left.iter().any(|left| left.is(answer));
    let done: Vec<Answered> = answers.iter().filter(|answer| is_done(answer)).cloned().collect();
    let settled = began.checked_add(SETTLE).unwrap_or(now);
    let says_only_that_it_began = stored.started_at.is_none() && has_only_begun(&status);
    if says_only_that_it_began && settled > now {
        let wake = wake.map_or(settled, |at| at.min(settled));
        return Ok(Looked::Until(rested.into_iter().chain([instant(now, wake)]).min()));
    }
    if run.status.as_ref() != Some(&status) {
        let _place = context.room.acquire().await;
        store(context, &identity, run, &stored, status, now).await?;
        context.asked.stored(key, &done);
        return Ok(Looked::Wrote);
    }
    context.asked.stored(key, &done);
    // Nothing failed this time.
    let put_off = (!put_off.is_empty()).then(Instant::now);
    let wake = wake.map(|at| instant(now, at));
    Ok(Looked::Until(wake.into_iter().chain(rested).chain(put_off).min()))
}

/// Nothing was measured, and there is nothing to tell.
fn has_only_begun(status: &AnalysisRunStatus) -> bool {
    let says_nothing = |result: &MetricResult| result.measurements.is_empty() && result.message.is_empty();
    !status.phase.is_completed() && status.metric_results.iter().all(says_nothing)
}

/// Events first, as for rollouts: a crash in between tells them again under the same name.
async fn store(
    context: &Context,
    identity: &RunIdentity,
    run: &AnalysisRun,
    before: &AnalysisRunStatus,
    status: AnalysisRunStatus,
    now: Timestamp,
) -> Result<(), WriteError> {
    let key = Key::of(&run.metadata);
    let job = Job::Analysis(key.clone());
    for text in texts(before, &status) {
        tell(context, &job, run, &text, now).await?;
    }
    tracing::info!(
        namespace = key.namespace,
        run = key.name,
        phase = status.phase.as_str(),
        text = status.message,
        "analysis"
    );
    let forgotten = forgotten_jobs(identity, before, &status);
    let answer = context.writer.run_status(run, status).await?;
    context.take_in(&answer);
    for job in forgotten {
        // What is left goes with the run.
        if let Err(error) = context.writer.delete_job(&key.namespace, &job).await {
            tracing::debug!(%error, "a job is left over");
        }
    }
    Ok(())
}

/// The Jobs of measurements that are not kept any more. Others may have written the status: what is none of the run's is left
/// alone.
fn forgotten_jobs(
    run: &RunIdentity,
    before: &AnalysisRunStatus,
    now: &AnalysisRunStatus,
) -> BTreeSet<String> {
    let jobs = |status: &AnalysisRunStatus| -> BTreeSet<String> {
        let measurements = status.metric_results.iter().flat_map(|result| &result.measurements);
        let names = measurements.filter_map(|measurement| measurement.metadata.get(JOB_NAME));
        names.filter(|name| job::check(run, name).is_ok()).cloned().collect()
    };
    jobs(before).difference(&jobs(now)).cloned().collect()
}

/// What people should hear of: every change of a phase, of the run and of its metrics.
fn texts(before: &AnalysisRunStatus, now: &AnalysisRunStatus) -> Vec<EventText> {
    let mut texts = Vec::new();
    for result in now.metric_results.iter().filter(|result| result.phase.is_completed()) {
        let known = before.metric_results.iter().find(|it| it.name == result.name).map(|it| it.phase);
        if known != Some(result.phase) {
            let mut note = format!("Metric '{}' Completed. Result: {}", result.name, result.phase.as_str());
            if !result.message.is_empty() {
                note = format!("{note}: {}", result.message);
            }
            texts.push(text(METRIC_REASONS, result.phase, note));
        }
    }
    if before.phase != now.phase || before.started_at.is_none() {
        let note = match (now.phase.is_completed(), now.message.is_empty()) {
            (false, _) => "Analysis began".to_owned(),
            (true, true) => format!("Analysis Completed. Result: {}", now.phase.as_str()),
            (true, false) => format!("Analysis Completed. Result: {}: {}", now.phase.as_str(), now.message),
        };
        texts.push(text(RUN_REASONS, now.phase, note));
    }
    texts
}

/// The words for phases in the order of [`Phase`].
type Reasons = [&'static str; 6];
const RUN_REASONS: Reasons = [
    "AnalysisRunSuccessful",
    "AnalysisRunRunning",
    "AnalysisRunPending",
    "AnalysisRunInconclusive",
    "AnalysisRunError",
    "AnalysisRunFailed",
];
const METRIC_REASONS: Reasons = [
    "MetricSuccessful",
    "MetricRunning",
    "MetricPending",
    "MetricInconclusive",
    "MetricError",
    "MetricFailed",
];

fn text(reasons: Reasons, phase: Phase, note: String) -> EventText {
    let (kind, reason) = match phase {
        Phase::Successful => (EventKind::Normal, reasons[0]),
        Phase::Running => (EventKind::Normal, reasons[1]),
        Phase::Pending => (EventKind::Normal, reasons[2]),
        Phase::Inconclusive => (EventKind::Warning, reasons[3]),
        Phase::Error => (EventKind::Warning, reasons[4]),
        Phase::Failed => (EventKind::Warning, reasons[5]),
    };
    EventText { kind, reason, note }
}

/// Puts one question. The answer comes back through the queue.
fn put(
    context: &Context,
    key: &Key,
    identity: &RunIdentity,
    run: &AnalysisRun,
    subject: Option<Subject>,
    Ask { metric, number, about, conditions }: Ask,
    now: Timestamp,
) {
    let name = metric.name.clone();
    let question = Question {
        run: identity.clone(),
        metric,
        arguments: run.spec.args.clone(),
        number,
        about,
        subject,
        conditions: Arc::clone(&conditions),
    };
    context.asked.ask(key, &identity.uid, &name, now);
    let (asked, queue, clock) = context.channel();
    let (key, uid) = (key.clone(), identity.uid.clone());
    let answered = move |answer| {
        // Judged at once: an answer may be large, and what is made of it is not.
        match measurement(answer, &conditions, clock.now()) {
            Ok(made) => asked.answer(&key, &uid, Answered { metric: name, number, asked_at: now, made }),
            Err(why) => asked.not_asked(&key, &uid, &name, now, why),
        }
        queue.add_all([Job::Analysis(key)]);
    };
    context.gauge.ask(question, Box::new(answered));
}

/// The workload that a run is about, as it is now.
fn subject(index: &Index, run: &AnalysisRun) -> Whom {
    let Some((name, uid)) = controller(run) else { return Whom::Nobody };
    let key = Key { namespace: run.metadata.namespace.clone().unwrap_or_default(), name };
    let rollout = index.rollout(&key).filter(|it| it.metadata.uid.as_deref() == Some(&uid));
    let Some(workload) = rollout.and_then(|rollout| rollout.workload().ok()) else { return Whom::Unseen };
    let seen = crate::gather::seen(index, &key, &RolloutName::new(&key.name), &workload);
    let (Seen::Workload(seen), Some(rollout)) = (seen, rollout) else { return Whom::Unseen };
    let reference = &rollout.spec.workload_ref;
    Whom::Workload(Subject {
        api_version: reference.api_version.clone(),
        kind: reference.kind.clone(),
        name: reference.name.clone(),
        target: seen.target.to_string(),
        stable: seen.stable.to_string(),
        updated: seen.pods_on(&seen.target).map(|pod| pod.name.to_string()).collect(),
    })
}

/// Reads what a lost answer would have told.
async fn read_again(context: &Context, key: &Key, object: &Object) -> Result<(), WriteError> {
    match context.writer.read::<AnalysisRun>(key).await? {
        Some(found) => context.take_in(&found),
        None => gone(context, key),
    }
    context.writer.is_sure_of(object);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_are_served_by_their_name_and_never_those_that_argo_rollouts_has_made() {
        let ours = Served { name: "windlass".to_owned(), unnamed: true };
        let beside_argo = Served { unnamed: false, ..ours.clone() };
        let argo = "argoproj.io/v1alpha1";
        let rows = [
            (None, None, true, false),
            (Some("windlass"), None, true, true),
            (Some("blue"), None, false, false),
            (None, Some((argo, "RolloutPlugin")), true, false),
            (Some("windlass"), Some((argo, "RolloutPlugin")), true, true),
            (None, Some((argo, "Rollout")), false, false),
            (None, Some((argo, "Experiment")), false, false),
            (Some("windlass"), Some((argo, "Rollout")), false, false),
            // Others make runs too, and nobody else would serve them.
            (None, Some(("kargo.akuity.io/v1alpha1", "Freight")), true, false),
            (None, Some(("example.com/v1", "Rollout")), true, false),
        ];
        for (name, owner, alone, beside) in rows {
            let labels = name.map_or_else(|| json!({}), |name| json!({RUN_INSTANCE_LABEL: name}));
            let owners: Vec<_> = owner
                .iter()
                .map(|(api, kind)| {
                    json!({"apiVersion": api, "kind": kind, "name": "a", "uid": "1", "controller": true})
                })
                .collect();
            let run: AnalysisRun = serde_json::from_value(json!({
                "apiVersion": argo, "kind": "AnalysisRun",
                "metadata": {"name": "run", "labels": labels, "ownerReferences": owners},
                "spec": {"metrics": []},
            }))
            .unwrap();
            assert_eq!((ours.is(&run), beside_argo.is(&run)), (alone, beside), "{name:?} {owner:?}");
        }
    }
}
