//! One look after another: gather, decide, carry out one write, look again, until there is nothing to write.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windlass_api::analysis::AnalysisRun;
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_api::{Circumstances, EventText, Front, Report};
use windlass_engine::{Decision, Move, Order, decide};
use windlass_workloads::{
    Snapshot, StatefulSetView, Workload, WorkloadPatch, Write, give_back, is_undone, write,
};

use crate::analyse::look_at_run;
use crate::cache::{Cached, Job, Key, is_served_by};
use crate::check::{self, forget_one};
use crate::context::{Context, Note};
use crate::doubt::Object;
use crate::event::event;
use crate::gather::{Inputs, gather};
use crate::retry;
use crate::stepper::Look;
use crate::writer::WriteError;

/// Counters and texts may move again with the next pod: they are stored once they have stood for this long.
pub(crate) const SETTLE: Duration = Duration::from_secs(1);
/// How often counters and texts alone are stored, over all rollouts: with hundreds on their way at once, what their
/// pods do is written less often, so that the work itself is not slowed down. What matters is always written at once.
const BETWEEN_TEXTS: Duration = Duration::from_millis(500);
/// Writes in a row for one rollout before others get their turn. A run needs two to four.
pub(crate) const WRITES_IN_A_ROW: usize = 16;

/// What a look came to.
enum Looked {
    /// Something was written: look again at once.
    Wrote,
    /// Nothing to do until then.
    Until(Option<Instant>),
}

/// Takes job after job until the queue is closed. A look at a run of an analysis is a task of its own: it may wait for its
/// turn to write, and meanwhile others have to be asked in time. The tasks end with this one.
pub(crate) async fn work(context: Arc<Context>) {
    let mut looks = JoinSet::new();
    loop {
        tokio::select! {
            job = context.queue.next() => match job {
                None => break,
                Some(job @ Job::Analysis(_)) => {
                    let context = Arc::clone(&context);
                    looks.spawn(async move { look_at(&context, job).await });
                }
                Some(job) => look_at(&context, job).await,
            },
            Some(_) = looks.join_next() => {}
        }
    }
    while looks.join_next().await.is_some() {}
}

/// Looks at one job that the queue handed out, and says there when to look again.
pub(crate) async fn look_at(context: &Context, job: Job) {
    let started = Instant::now();
    let result = match &job {
        Job::Rollout(key) => look_at_rollout(context, &job, key).await,
        Job::Workload(key) => look_at_workload(context, key).await,
        Job::Analysis(key) => Box::pin(look_at_run(context, key)).await,
    };
    let look_again = conclude(context, &job, result);
    if is_served(context, &job) {
        context.metrics.looked(&job, started.elapsed());
    }
    context.queue.done(job, look_again);
}

/// What is gone, or somebody else's, is not counted: its series would stay for ever.
fn is_served(context: &Context, job: &Job) -> bool {
    let caches = context.caches.read();
    match job {
        Job::Rollout(key) => {
            caches.rollout(key).is_some_and(|it| is_served_by(it, context.instance.as_ref()))
        }
        Job::Analysis(key) => caches.analyses().run(key).is_some_and(|run| context.served.is(run)),
        Job::Workload(_) => false,
    }
}

fn conclude(context: &Context, job: &Job, result: Result<Option<Instant>, WriteError>) -> Option<Instant> {
    let error = match result {
        Ok(look_again) => {
            context.forget_failures(job);
            return look_again;
        }
        Err(error) => error,
    };
    // The time was told when the server asked for it; that something happened meanwhile is no failure.
    if let WriteError::TooEarly { after, .. } = &error {
        return Some(Instant::now() + *after);
    }
    let mut failures = 0;
    context.update(job, |note| {
        note.failures = note.failures.saturating_add(1);
        failures = note.failures;
    });
    let mut wait = retry::wait(job, failures);
    let key = job.key();
    match &error {
        WriteError::Stale { .. } | WriteError::Gone { .. } | WriteError::InDoubt { .. } => {
            tracing::debug!(%error, "looking again");
        }
        // Whoever leads next looks at everything.
        WriteError::Fenced { .. } => {
            tracing::debug!(%error, "standing by");
            return None;
        }
        WriteError::Throttled { after, .. } => {
            wait = wait.max(*after);
            tracing::warn!(namespace = key.namespace, name = key.name, %error, "trying again then");
        }
        WriteError::TooEarly { .. } | WriteError::Refused { .. } | WriteError::Unsure { .. } => {
            context.metrics.failed(job);
            tracing::warn!(namespace = key.namespace, name = key.name, %error, failures, "write failed; trying again");
        }
    }
    Some(Instant::now() + wait)
}

async fn look_at_rollout(context: &Context, job: &Job, key: &Key) -> Result<Option<Instant>, WriteError> {
    for _ in 0..WRITES_IN_A_ROW {
        let inputs = gather(&context.caches, key, context.guard.hold());
        let Some(inputs) = inputs else {
            let note = context.notes().remove(job);
            if let Some(gone) = note.and_then(|note| note.last_seen) {
                say_farewell(context, &gone).await;
            }
            context.metrics.forget(key);
            return Ok(None);
        };
        if !is_served_by(&inputs.rollout, context.instance.as_ref()) {
            context.notes().remove(job);
            context.metrics.forget(key);
            return Ok(None);
        }
        context.update(job, |note| note.last_seen = Some(Arc::clone(&inputs.rollout)));
        let doubts = context.writer.in_doubt(inputs.objects());
        if !doubts.is_empty() {
            for object in &doubts {
                clear_doubt(context, object).await?;
            }
            continue;
        }
        match Box::pin(look_once(context, job, key, &inputs)).await {
            Ok(Looked::Wrote) => {}
            Ok(Looked::Until(look_again)) => return Ok(look_again),
            Err(WriteError::InDoubt { object, .. }) => clear_doubt(context, &object).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Instant::now()))
}

/// Whoever asks later where a rollout went finds this. In a namespace that goes as well nothing can be sent.
async fn say_farewell(context: &Context, gone: &RolloutPlugin) {
    let farewell = event(gone, &gone.farewell(), context.clock.now());
    if let Err(error) = context.writer.event(&farewell).await {
        tracing::debug!(%error, "no farewell");
    }
}

async fn look_once(context: &Context, job: &Job, key: &Key, inputs: &Inputs) -> Result<Looked, WriteError> {
    let now = context.clock.now();
    let rollout = &inputs.rollout;
    if rollout.metadata.deletion_timestamp.is_some() {
        return Ok(Looked::Until(None));
    }
    let asked = &inputs.asked;
    let plan = asked.plan.as_ref().map_err(Vec::as_slice);
    let decision = decide(now, plan, &inputs.seen, &asked.memo, &asked.intents);
    if let Some(witness) = &context.witness {
        let (plan, seen, memo, intents) = (plan.ok(), &inputs.seen, &asked.memo, &asked.intents);
        witness.decided(&Look { now, rollout, plan, seen, memo, intents, decision: &decision });
    }
    if decision.lift_pause {
        let answer = context.writer.lift_pause(rollout).await?;
        take_in(context, &answer);
        return Ok(Looked::Wrote);
    }
    let note = context.note(job);
    // A move that failed before is told first: memo first is always safe.
    if decision.order == Order::MoveFirst && note.failure.is_none() {
        return make(context, job, key, inputs, &decision).await;
    }
    let guard = context.guard.note();
    let circumstances = Circumstances { failure: note.failure.as_deref(), guard: Some(&guard) };
    let report = rollout.report(now, &inputs.seen, &decision, circumstances);
    let wake = decision.wake.map(|at| instant(now, at));
    let settles = match settle(context, job, &note, rollout, &report) {
        Settled::Store => {
            store(context, job, rollout, report, now).await?;
            return Ok(Looked::Wrote);
        }
        Settled::Later(at) => Some(at),
        Settled::Nothing => None,
    };
    if decision.next.is_some() {
        return make(context, job, key, inputs, &decision).await;
    }
    if Box::pin(forget_one(context, inputs, decision.memo.run.as_ref())).await? {
        return Ok(Looked::Wrote);
    }
    if note.failure.is_some() {
        // What failed is not wanted any more.
        context.update(job, |note| note.failure = None);
        return Ok(Looked::Wrote);
    }
    tracing::debug!(namespace = key.namespace, rollout = key.name, standing = ?decision.standing, "nothing to do");
    Ok(Looked::Until(wake.into_iter().chain(settles).min()))
}

/// Makes the move that was decided on, and remembers whether that failed: the status says so until it works.
async fn make(
    context: &Context,
    job: &Job,
    key: &Key,
    inputs: &Inputs,
    decision: &Decision,
) -> Result<Looked, WriteError> {
    let started = Instant::now();
    let (next, outcome) = match (&decision.next, &inputs.snapshot) {
        (Some(next), Some(snapshot)) => {
            let write = write(snapshot, &inputs.name, context.guard.hold(), next);
            (next, carry_out(context, key, inputs, snapshot, write).await)
        }
        // The workload is gone; its analyses are there.
        (Some(next @ Move::Check(check)), None) => {
            (next, Box::pin(check::carry_out(context, inputs, check)).await)
        }
        (Some(_), None) | (None, _) => return Ok(Looked::Until(None)),
    };
    match &outcome {
        Ok(()) => context.update(job, |note| (note.failure, note.unsure_moves) = (None, 0)),
        Err(error @ WriteError::Refused { .. }) => {
            context.update(job, |note| note.failure = Some(error.to_string()));
        }
        Err(error @ WriteError::Unsure { .. }) => context.update(job, |note| {
            note.unsure_moves = note.unsure_moves.saturating_add(1);
            if note.unsure_moves >= retry::UNSURE_BEFORE_TOLD {
                note.failure = Some(error.to_string());
            }
        }),
        Err(
            WriteError::Stale { .. }
            | WriteError::Gone { .. }
            | WriteError::InDoubt { .. }
            | WriteError::Fenced { .. }
            | WriteError::Throttled { .. }
            | WriteError::TooEarly { .. },
        ) => {}
    }
    outcome?;
    let took = started.elapsed();
    tracing::info!(namespace = key.namespace, rollout = key.name, next = ?next, ?took, "move");
    Ok(Looked::Wrote)
}

enum Settled {
    Store,
    Later(Instant),
    Nothing,
}

/// Whether a changed status is stored now, later, or not at all.
fn settle(
    context: &Context,
    job: &Job,
    note: &Note,
    rollout: &RolloutPlugin,
    report: &Report<RolloutPluginStatus>,
) -> Settled {
    if rollout.status.as_ref() == Some(&report.status) {
        if note.unsettled_since.is_some() {
            context.update(job, |note| note.unsettled_since = None);
        }
        return Settled::Nothing;
    }
    if report.urgent || !report.events.is_empty() {
        return Settled::Store;
    }
    let since = note.unsettled_since.unwrap_or_else(Instant::now);
    context.update(job, |note| note.unsettled_since = Some(since));
    let now = Instant::now();
    if now < since + SETTLE {
        return Settled::Later(since + SETTLE);
    }
    let mut next_text = context.next_text.lock().unwrap_or_else(PoisonError::into_inner);
    if now < *next_text {
        return Settled::Later(*next_text);
    }
    *next_text = now + BETWEEN_TEXTS;
    Settled::Store
}

/// Events first, then the status they belong to: a crash in between tells an event again under the same name.
async fn store(
    context: &Context,
    job: &Job,
    rollout: &RolloutPlugin,
    report: Report<RolloutPluginStatus>,
    now: Timestamp,
) -> Result<(), WriteError> {
    let key = Key::of(&rollout.metadata);
    for text in &report.events {
        tell(context, job, rollout, text, now).await?;
    }
    let status = &report.status;
    tracing::info!(
        namespace = key.namespace,
        rollout = key.name,
        phase = status.phase,
        step = status.step,
        updated = status.updated_replicas,
        ready = status.ready_replicas,
        text = status.message,
        events = ?report.events.iter().map(|text| text.reason).collect::<Vec<_>>(),
        "status"
    );
    let answer = context.writer.status(rollout, report.status).await?;
    context.update(job, |note| note.unsettled_since = None);
    take_in(context, &answer);
    Ok(())
}

/// Sends an event. What failed may be tried again with the whole look: under the same name it is not told twice.
pub(crate) async fn tell<K: Resource<DynamicType = ()>>(
    context: &Context,
    job: &Job,
    about: &K,
    text: &EventText,
    now: Timestamp,
) -> Result<(), WriteError> {
    let key = job.key();
    match context.writer.event(&event(about, text, now)).await {
        Ok(()) => context.metrics.told(job, text),
        Err(error) if error.is_passing() && context.note(job).failures < retry::TRIES_OF_AN_EVENT => {
            return Err(error);
        }
        Err(error) => tracing::warn!(namespace = key.namespace, name = key.name, %error, "event lost"),
    }
    Ok(())
}

async fn carry_out(
    context: &Context,
    key: &Key,
    inputs: &Inputs,
    snapshot: &Snapshot,
    write: Write,
) -> Result<(), WriteError> {
    match write {
        Write::PatchWorkload(patch) => {
            let answer = context.writer.workload(&key.namespace, &patch).await?;
            take_in(context, &answer);
            let stored = Workload::StatefulSet(StatefulSetView::of(&answer));
            if is_undone(&patch, &stored) {
                return Err(undone(context, key, &patch));
            }
        }
        Write::DeletePod(deletion) => match context.writer.delete_pod(&key.namespace, &deletion).await? {
            Some(answer) => take_in(context, &answer),
            None => context.caches.write().pod_is_going(snapshot, deletion.pod.uid.as_str()),
        },
        // Seldom, and large: not carried along at every look.
        Write::Check(check) => Box::pin(check::carry_out(context, inputs, &check)).await?,
    }
    Ok(())
}

/// Something in between undid what was written. Writing it again at once would be undone again.
fn undone(context: &Context, key: &Key, patch: &WorkloadPatch) -> WriteError {
    WriteError::Refused {
        what: format!("patching {} {}/{}", patch.kind.as_str(), key.namespace, patch.name),
        answer: format!(
            "the server stored another partition than was written, so an admission policy or a webhook undid it; \
             this controller is {}: do the policies let it through? `kubectl windlass doctor` tells",
            context.guard.me()
        ),
    }
}

/// Reads what a lost answer would have told.
async fn clear_doubt(context: &Context, object: &Object) -> Result<(), WriteError> {
    match object {
        Object::Rollout(key) => {
            if let Some(found) = context.writer.read::<RolloutPlugin>(key).await? {
                take_in(context, &found);
            }
        }
        Object::Workload(key) => {
            if let Some(found) = context.writer.read::<StatefulSet>(key).await? {
                take_in(context, &found);
            }
        }
        Object::Pod(key) => {
            if let Some(found) = context.writer.read::<Pod>(key).await? {
                take_in(context, &found);
            }
        }
        Object::Analysis(key) => {
            // One that we made, or whose name somebody else has: known from now on, either way.
            match context.writer.read::<AnalysisRun>(key).await? {
                Some(found) => context.learn(&found),
                None => drop(context.caches.write().forget_run(key)),
            }
        }
        Object::Event(_) | Object::Job(_) => {}
    }
    context.writer.is_sure_of(object);
    Ok(())
}

/// A workload whose rollout is gone gets its marks taken off.
async fn look_at_workload(context: &Context, key: &Key) -> Result<Option<Instant>, WriteError> {
    let workload = {
        let index = context.caches.read();
        if index.has_its_rollout(key) {
            return Ok(None);
        }
        index.workload(key).filter(|workload| workload.rollout().is_some()).cloned()
    };
    let Some(workload) = workload else { return Ok(None) };
    tracing::info!(namespace = key.namespace, workload = key.name, "giving back: its rollout is gone");
    if let Write::PatchWorkload(patch) = give_back(&workload) {
        match context.writer.workload(&key.namespace, &patch).await {
            Ok(answer) => take_in(context, &answer),
            Err(WriteError::InDoubt { object, .. }) => {
                clear_doubt(context, &object).await?;
                return Ok(Some(Instant::now()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn take_in(context: &Context, answer: &impl Cached) {
    context.take_in(answer);
}

pub(crate) fn instant(now: Timestamp, at: Timestamp) -> Instant {
    let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
    // A moment later, so that the clock has surely passed it.
    Instant::now() + wait + Duration::from_millis(1)
}
