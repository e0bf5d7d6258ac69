//! Looks at one run of an analysis: stores what was measured, asks what is due, says when to look again. Nobody waits
//! for an answer here, so a slow provider holds up nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use windlass_analysis::attend::{Answered, Ask, Attended, News, attend};
use windlass_analysis::gauge::{Owner, Question, RunIdentity, Subject};
use windlass_api::analysis::{AnalysisRun, AnalysisRunStatus, Phase};
use windlass_api::{EventKind, EventText, Front};
use windlass_engine::{RolloutName, Seen};

use crate::cache::{Index, Job, Key, controller};
use crate::context::Context;
use crate::doubt::Object;
use crate::event::event;
use crate::job::JOB_NAME;
use crate::reconcile::{WRITES_IN_A_ROW, instant};
use crate::writer::WriteError;

/// The label by which several controllers share a cluster's runs: each serves those that carry its name. Argo Rollouts
/// knows it too, and leaves what carries another name alone.
pub(crate) const RUN_INSTANCE_LABEL: &str = "argo-rollouts.argoproj.io/controller-instance-id";

/// How soon a metric of each updated pod is looked at again while there is no such pod.
const NO_PODS_YET: SignedDuration = SignedDuration::from_secs(2);

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
        match labels.and_then(|labels| labels.get(RUN_INSTANCE_LABEL)) {
            Some(name) => *name == self.name,
            None => self.unnamed,
        }
    }
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
                let jobs = context.caches.write().forget_run(key);
                forget(context, key);
                context.queue.add_all(jobs.into_iter().filter(|job| !matches!(job, Job::Analysis(_))));
                tracing::debug!(%error, "the run is gone");
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Instant::now()))
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
    let (open, answers) = context.asked.of(key, &uid);
    let before = run.status.clone().unwrap_or_default();
    let owner = if controller(run).is_some() { Owner::Rollout } else { Owner::Nobody };
    let (namespace, name) = (key.namespace.clone(), key.name.clone());
    let identity = RunIdentity { namespace, name, uid: uid.clone(), owner };
    let over = |metadata: &BTreeMap<String, String>| {
        let job = metadata.get(JOB_NAME);
        job.is_some_and(|job| context.caches.read().analyses().is_job_over(key, job))
    };
    let news = News { answers: &answers, asked: &open, over: &over };
    let Attended { status, ask, wake, expired } = attend(&identity, &run.spec, &before, news, now);
    if expired {
        tracing::info!(namespace = key.namespace, run = key.name, "its time is over: deleted");
        context.writer.delete_run(run).await?;
        context.caches.write().forget_run(key);
        forget(context, key);
        return Ok(Looked::Until(None));
    }
    if run.status.as_ref() != Some(&status) {
        store(context, run, &before, status, now).await?;
        context.asked.stored(key, &answers);
        return Ok(Looked::Wrote);
    }
    context.asked.stored(key, &answers);
    let mut wake = wake;
    for it in ask {
        if !put(context, key, &identity, run, it, now) {
            let later = now.checked_add(NO_PODS_YET).unwrap_or(Timestamp::MAX);
            wake = Some(wake.map_or(later, |wake| wake.min(later)));
        }
    }
    Ok(Looked::Until(wake.map(|at| instant(now, at))))
}

/// Events first, as for rollouts: a crash in between tells them again under the same name.
async fn store(
    context: &Context,
    run: &AnalysisRun,
    before: &AnalysisRunStatus,
    status: AnalysisRunStatus,
    now: Timestamp,
) -> Result<(), WriteError> {
    for text in texts(before, &status) {
        match context.writer.event(&event(run, &text, now)).await {
            Err(error) if !error.is_passing() => tracing::warn!(%error, "event lost"),
            told => told?,
        }
    }
    let key = Key::of(&run.metadata);
    tracing::info!(
        namespace = key.namespace,
        run = key.name,
        phase = status.phase.as_str(),
        text = status.message,
        "analysis"
    );
    let forgotten = forgotten_jobs(before, &status);
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

/// The Jobs of measurements that are not kept any more.
fn forgotten_jobs(before: &AnalysisRunStatus, now: &AnalysisRunStatus) -> BTreeSet<String> {
    let jobs = |status: &AnalysisRunStatus| -> BTreeSet<String> {
        let measurements = status.metric_results.iter().flat_map(|result| &result.measurements);
        measurements.filter_map(|measurement| measurement.metadata.get(JOB_NAME).cloned()).collect()
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

/// Puts one question. The answer comes back through the queue. False if there is nobody to ask about yet: a metric of
/// each updated pod while there is none.
fn put(
    context: &Context,
    key: &Key,
    identity: &RunIdentity,
    run: &AnalysisRun,
    Ask { metric, number, about }: Ask,
    now: Timestamp,
) -> bool {
    let name = metric.name.clone();
    let wants = metric.for_each_pod.is_some() || metric.provider.get("kubernetes").is_some();
    let subject = wants.then(|| subject(&context.caches.read(), run)).flatten();
    let nobody = |subject: &Subject| metric.for_each_pod.is_some() && subject.updated.is_empty();
    if subject.as_ref().is_some_and(nobody) {
        return false;
    }
    let question =
        Question { run: identity.clone(), metric, arguments: run.spec.args.clone(), number, about, subject };
    context.asked.ask(key, &identity.uid, &name);
    let (asked, queue, clock) = context.channel();
    let (key, uid) = (key.clone(), identity.uid.clone());
    let answered = move |reading| {
        let answer = Answered { metric: name, number, asked_at: now, answered_at: clock.now(), reading };
        asked.answer(&key, &uid, answer);
        queue.add_all([Job::Analysis(key)]);
    };
    context.gauge.ask(question, Box::new(answered));
    true
}

/// The workload that a rollout's run is about, as it is now.
fn subject(index: &Index, run: &AnalysisRun) -> Option<Subject> {
    let (name, uid) = controller(run)?;
    let key = Key { namespace: run.metadata.namespace.clone()?, name };
    let rollout = index.rollout(&key).filter(|it| it.metadata.uid.as_deref() == Some(&uid))?;
    let workload = rollout.workload().ok()?;
    let seen = crate::gather::seen(index, &key, &RolloutName::new(&key.name), &workload);
    let Seen::Workload(seen) = seen else { return None };
    let reference = &rollout.spec.workload_ref;
    Some(Subject {
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
        None => drop(context.caches.write().forget_run(key)),
    }
    context.writer.is_sure_of(object);
    Ok(())
}
