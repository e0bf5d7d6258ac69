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
    let news = News {
        answers: &answers,
        asked: &busy,
        over: &over,
        obstacle: &obstacle,
        troubles: &troubles,
        since: context.asked.since(),
    };
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

/// What people should hear of: that the run began, and how its metrics and the run itself ended.
fn texts(before: &AnalysisRunStatus, now: &AnalysisRunStatus) -> Vec<EventText> {
    let is_known = |result: &MetricResult| {
        let mut known = before.metric_results.iter();
        known.any(|it| it.name == result.name && it.phase == result.phase)
    };
    let news = now.metric_results.iter().filter(|result| !is_known(result));
    let mut texts: Vec<EventText> = news.filter_map(end_of_metric).collect();
    if before.phase != now.phase || before.started_at.is_none() {
        texts.push(beginning_or_end_of_run(now));
    }
    texts
}

/// Of a metric only its end is told.
fn end_of_metric(result: &MetricResult) -> Option<EventText> {
    let (kind, reason) = match result.phase {
        Phase::Running | Phase::Pending => return None,
        Phase::Successful => (EventKind::Normal, "MetricSuccessful"),
        Phase::Inconclusive => (EventKind::Warning, "MetricInconclusive"),
        Phase::Error => (EventKind::Warning, "MetricError"),
        Phase::Failed => (EventKind::Warning, "MetricFailed"),
    };
    let note = format!("Metric '{}' {}", result.name, completed(result.phase, &result.message));
    Some(EventText { kind, reason, note })
}

/// A run that was looked at runs or is over. None is stored that is pending yet.
fn beginning_or_end_of_run(now: &AnalysisRunStatus) -> EventText {
    let (kind, reason) = match now.phase {
        Phase::Running | Phase::Pending => (EventKind::Normal, "AnalysisRunRunning"),
        Phase::Successful => (EventKind::Normal, "AnalysisRunSuccessful"),
        Phase::Inconclusive => (EventKind::Warning, "AnalysisRunInconclusive"),
        Phase::Error => (EventKind::Warning, "AnalysisRunError"),
        Phase::Failed => (EventKind::Warning, "AnalysisRunFailed"),
    };
    let note = if now.phase.is_completed() {
        format!("Analysis {}", completed(now.phase, &now.message))
    } else {
        "Analysis began".to_owned()
    };
    EventText { kind, reason, note }
}

/// How something ended, and why if there is more to say.
fn completed(phase: Phase, message: &str) -> String {
    let result = format!("Completed. Result: {}", phase.as_str());
    if message.is_empty() { result } else { format!("{result}: {message}") }
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

    /// A run with one metric, in these phases, that has begun; what is over and not good says why.
    fn begun(metric: Phase, run: Phase) -> AnalysisRunStatus {
        let why = |phase: Phase| {
            let is_bad = phase.is_completed() && phase != Phase::Successful;
            if is_bad { "too many".to_owned() } else { String::new() }
        };
        let result = MetricResult {
            name: "errors".to_owned(),
            phase: metric,
            message: why(metric),
            ..MetricResult::default()
        };
        AnalysisRunStatus {
            phase: run,
            message: why(run),
            metric_results: vec![result],
            started_at: Some(Timestamp::UNIX_EPOCH),
            ..AnalysisRunStatus::default()
        }
    }

    /// What is told of a change, each as type, reason and text.
    fn told(before: &AnalysisRunStatus, now: &AnalysisRunStatus) -> Vec<String> {
        let line = |text: EventText| format!("{} {}: {}", text.kind.as_str(), text.reason, text.note);
        texts(before, now).into_iter().map(line).collect()
    }

    #[test]
    fn every_verdict_of_a_metric_and_of_its_run_is_told_once_in_its_own_word() {
        let rows = [
            (Phase::Successful, "Normal", "Successful"),
            (Phase::Failed, "Warning", "Failed: too many"),
            (Phase::Error, "Warning", "Error: too many"),
            (Phase::Inconclusive, "Warning", "Inconclusive: too many"),
        ];
        let under_way = begun(Phase::Running, Phase::Running);
        for (verdict, kind, result) in rows {
            let word = verdict.as_str();
            let of_metric = format!("{kind} Metric{word}: Metric 'errors' Completed. Result: {result}");
            let of_run = format!("{kind} AnalysisRun{word}: Analysis Completed. Result: {result}");
            let (metric_over, both_over) = (begun(verdict, Phase::Running), begun(verdict, verdict));
            assert_eq!(told(&under_way, &metric_over), std::slice::from_ref(&of_metric));
            assert_eq!(told(&metric_over, &both_over), std::slice::from_ref(&of_run));
            assert_eq!(told(&under_way, &both_over), [of_metric, of_run]);
            assert!(told(&both_over, &both_over).is_empty(), "{word}");
        }
    }

    #[test]
    fn a_run_that_begins_is_told_and_a_metric_that_does_is_not() {
        let fresh = AnalysisRunStatus::default();
        let began = begun(Phase::Pending, Phase::Running);
        assert_eq!(told(&fresh, &began), ["Normal AnalysisRunRunning: Analysis began"]);
        assert!(told(&began, &begun(Phase::Running, Phase::Running)).is_empty());
        // One that makes no sense is over at the first look.
        let refused = told(&fresh, &begun(Phase::Pending, Phase::Error));
        assert_eq!(refused, ["Warning AnalysisRunError: Analysis Completed. Result: Error: too many"]);
    }
}
