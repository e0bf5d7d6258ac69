//! The one place that writes to the API server. Every request has a time limit and a field manager, and every failure
//! comes back as one of a few kinds.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client, Resource};
use serde_json::json;
use thiserror::Error;
use tokio::time::Instant;
use windlass_api::WorkloadKind;
use windlass_api::analysis::{AnalysisRun, AnalysisRunStatus};
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_workloads::{PodDeletion, WorkloadPatch};

use crate::cache::Key;
use crate::doubt::{Doubts, Object};
use crate::fence::{Allowed, Fence};
use crate::patience::Patience;
use crate::slim::{Slim, Slimmed};

/// The name under which our fields are owned.
const FIELD_MANAGER: &str = "windlass";
/// Longer than any healthy answer, shorter than anybody's patience.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// The one place that writes.
#[derive(Clone)]
pub(crate) struct Writer {
    client: Client,
    fence: Fence,
    doubts: Doubts,
    patience: Patience,
    /// Runs of analyses have no status of their own here.
    whole_runs: Arc<AtomicBool>,
}

/// Why a write was not made, or not surely.
#[derive(Debug, Error)]
pub(crate) enum WriteError {
    /// The object has changed since it was read, or is another one: look again.
    #[error("{what}: the object has changed meanwhile")]
    Stale {
        /// What was attempted, on which object.
        what: String,
    },
    /// An earlier write to the object may have been done or not: read it first.
    #[error("{what}: not sent, because the answer to an earlier write never came")]
    InDoubt {
        /// What was attempted, on which object.
        what: String,
        /// What has to be read.
        object: Object,
    },
    /// The lease is not ours: another controller may be at work.
    #[error("{what}: not sent, because this controller does not lead")]
    Fenced {
        /// What was attempted, on which object.
        what: String,
    },
    /// The server asks for patience; nothing was done.
    #[error("{what}: the server is busy and asks to wait {} s", after.as_secs())]
    Throttled {
        /// What was attempted, on which object.
        what: String,
        /// For how long.
        after: Duration,
    },
    /// The server asked for patience before, and the time is not over.
    #[error("{what}: not sent, because the server asked to wait {} s more", after.as_secs())]
    TooEarly {
        /// What was attempted, on which object.
        what: String,
        /// For how long.
        after: Duration,
    },
    /// The object is gone.
    #[error("{what}: the object is gone")]
    Gone {
        /// What was attempted, on which object.
        what: String,
    },
    /// The server said no.
    #[error("{what}: {answer}")]
    Refused {
        /// What was attempted, on which object.
        what: String,
        /// The server's words.
        answer: String,
    },
    /// No answer, or none that can be used: it may have been done or not.
    #[error("{what}: {cause}")]
    Unsure {
        /// What was attempted, on which object.
        what: String,
        /// What went wrong on the way.
        cause: String,
    },
}

impl WriteError {
    /// It may well work later, as it is.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unsure { .. } | Self::Throttled { .. } | Self::TooEarly { .. } | Self::Fenced { .. }
        )
    }
}

impl Writer {
    pub(crate) fn new(client: Client, fence: Fence) -> Self {
        Self {
            client,
            fence,
            doubts: Doubts::default(),
            patience: Patience::default(),
            whole_runs: Arc::default(),
        }
    }

    /// Stores a status, if the rollout is still the version that was read.
    pub(crate) async fn status(
        &self,
        rollout: &RolloutPlugin,
        status: RolloutPluginStatus,
    ) -> Result<RolloutPlugin, WriteError> {
        let key = Key::of(&rollout.metadata);
        let mut changed = rollout.clone();
        changed.status = Some(status);
        let changed = Slim(changed);
        let api: Api<Slim<RolloutPlugin>> = Api::namespaced(self.client.clone(), &key.namespace);
        let post = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let sent = api.replace_status(&key.name, &post, &changed);
        let what = format!("storing the status of rollout {key}");
        self.send_to(Object::Rollout(key.clone()), what, sent).await.map(|answer| answer.0)
    }

    /// Takes a person's pause off, because full promotion was asked for.
    pub(crate) async fn lift_pause(&self, rollout: &RolloutPlugin) -> Result<RolloutPlugin, WriteError> {
        let key = Key::of(&rollout.metadata);
        let body = json!({
            "metadata": {"uid": rollout.metadata.uid, "resourceVersion": rollout.metadata.resource_version},
            "spec": {"paused": false},
        });
        let api: Api<Slim<RolloutPlugin>> = Api::namespaced(self.client.clone(), &key.namespace);
        let (params, patch) = (patch_params(), Patch::Merge(&body));
        let sent = api.patch(&key.name, &params, &patch);
        let what = format!("lifting the pause of rollout {key}");
        self.send_to(Object::Rollout(key.clone()), what, sent).await.map(|answer| answer.0)
    }

    /// Patches a workload; the patch carries its preconditions.
    pub(crate) async fn workload(
        &self,
        namespace: &str,
        patch: &WorkloadPatch,
    ) -> Result<StatefulSet, WriteError> {
        let what = format!("patching {} {namespace}/{}", patch.kind.as_str(), patch.name);
        match patch.kind {
            WorkloadKind::StatefulSet => {
                let api: Api<Slim<StatefulSet>> = Api::namespaced(self.client.clone(), namespace);
                let body = Patch::Json::<()>(patch.patch.clone());
                let key = Key { namespace: namespace.to_owned(), name: patch.name.clone() };
                let params = patch_params();
                let sent = api.patch(&patch.name, &params, &body);
                self.send_to(Object::Workload(key), what, sent).await.map(|answer| answer.0)
            }
        }
    }

    /// Deletes one pod. Answers with the pod as it is now, if it still exists.
    pub(crate) async fn delete_pod(
        &self,
        namespace: &str,
        PodDeletion { pod, version }: &PodDeletion,
    ) -> Result<Option<Pod>, WriteError> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let only_this = Preconditions {
            uid: Some(pod.uid.to_string()),
            resource_version: version.map(|version| version.to_string()),
        };
        let delete = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        let sent = api.delete(pod.name.as_str(), &delete);
        let object = Object::Pod(Key { namespace: namespace.to_owned(), name: pod.name.to_string() });
        let what = format!("deleting pod {namespace}/{}", pod.name);
        match self.send_to(object.clone(), what, sent).await {
            Ok(answer) => Ok(answer.left()),
            // The pod that was meant is gone already: what was wanted has happened.
            Err(WriteError::Gone { .. }) => Ok(None),
            // It has changed, or its successor is there. Whoever knows is the server, not our cache: it is read.
            Err(error @ WriteError::Stale { .. }) => {
                self.doubts.raise(object);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a run of an analysis. One of that name that nobody knew of is read: it may be ours.
    pub(crate) async fn create_run(&self, run: &AnalysisRun) -> Result<AnalysisRun, WriteError> {
        let key = Key::of(&run.metadata);
        let api: Api<Slim<AnalysisRun>> = Api::namespaced(self.client.clone(), &key.namespace);
        let post = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let object = Object::Analysis(key.clone());
        let run = Slim(run.clone());
        let sent = api.create(&post, &run);
        let answer = self.send_to(object.clone(), format!("creating AnalysisRun {key}"), sent).await;
        if let Err(WriteError::Stale { .. }) = &answer {
            self.doubts.raise(object.clone());
            return Err(WriteError::InDoubt { what: format!("creating AnalysisRun {key}"), object });
        }
        answer.map(|answer| answer.0)
    }

    /// Asks a run of an analysis to end.
    pub(crate) async fn end_run(&self, run: &AnalysisRun) -> Result<AnalysisRun, WriteError> {
        let key = Key::of(&run.metadata);
        let body = json!({"metadata": {"uid": run.metadata.uid}, "spec": {"terminate": true}});
        let api: Api<Slim<AnalysisRun>> = Api::namespaced(self.client.clone(), &key.namespace);
        let (params, patch) = (patch_params(), Patch::Merge(&body));
        let sent = api.patch(&key.name, &params, &patch);
        let what = format!("ending AnalysisRun {key}");
        self.send_to(Object::Analysis(key.clone()), what, sent).await.map(|answer| answer.0)
    }

    /// Deletes a run of an analysis, and no other of that name.
    pub(crate) async fn delete_run(&self, run: &AnalysisRun) -> Result<(), WriteError> {
        let key = Key::of(&run.metadata);
        let api: Api<Slim<AnalysisRun>> = Api::namespaced(self.client.clone(), &key.namespace);
        let only_this = Preconditions { uid: run.metadata.uid.clone(), resource_version: None };
        let delete = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        let sent = api.delete(&key.name, &delete);
        let what = format!("deleting AnalysisRun {key}");
        match self.send_to(Object::Analysis(key.clone()), what, sent).await {
            Ok(_) | Err(WriteError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Stores the status of a run, if it is still the version that was read. Argo Rollouts' own definition of the kind
    /// has no status of its own: there the status is patched into the object, and nothing else of it is touched.
    pub(crate) async fn run_status(
        &self,
        run: &AnalysisRun,
        status: AnalysisRunStatus,
    ) -> Result<AnalysisRun, WriteError> {
        let key = Key::of(&run.metadata);
        if self.whole_runs.load(Ordering::Relaxed) {
            let answer = self.patch_run_status(&key, run, &status).await?;
            if answer.status != run.status {
                return Ok(answer);
            }
            // Nothing was stored: by now the definition has a status of its own.
            self.whole_runs.store(false, Ordering::Relaxed);
        }
        let api: Api<Slim<AnalysisRun>> = Api::namespaced(self.client.clone(), &key.namespace);
        let post = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let changed = Slim(AnalysisRun { status: Some(status.clone()), ..run.clone() });
        let what = format!("storing the status of AnalysisRun {key}");
        let sent = api.replace_status(&key.name, &post, &changed);
        let answer = self.send_to(Object::Analysis(key.clone()), what, sent).await;
        let gone = matches!(answer, Err(WriteError::Gone { .. }));
        if !gone || self.read::<AnalysisRun>(&key).await?.is_none() {
            return answer.map(|answer| answer.0);
        }
        let answer = self.patch_run_status(&key, run, &status).await?;
        self.whole_runs.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    async fn patch_run_status(
        &self,
        key: &Key,
        run: &AnalysisRun,
        status: &AnalysisRunStatus,
    ) -> Result<AnalysisRun, WriteError> {
        let what = format!("storing the status of AnalysisRun {key}");
        let body = json!([
            {"op": "test", "path": "/metadata/uid", "value": run.metadata.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": run.metadata.resource_version},
            {"op": "add", "path": "/status", "value": status},
        ]);
        let body = serde_json::from_value(body)
            .map_err(|error| WriteError::Refused { what: what.clone(), answer: error.to_string() })?;
        let api: Api<Slim<AnalysisRun>> = Api::namespaced(self.client.clone(), &key.namespace);
        let (params, patch) = (patch_params(), Patch::Json::<()>(body));
        let sent = api.patch(&key.name, &params, &patch);
        self.send_to(Object::Analysis(key.clone()), what, sent).await.map(|answer| answer.0)
    }

    /// Makes a Job; one of that name is the same one, made before.
    pub(crate) async fn create_job(&self, job: &Job) -> Result<(), WriteError> {
        let key = Key::of(&job.metadata);
        let api: Api<Job> = Api::namespaced(self.client.clone(), &key.namespace);
        let post = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let sent = api.create(&post, job);
        match self.send(Object::Job(key.clone()), format!("creating Job {key}"), sent).await {
            Ok(_) | Err(WriteError::Stale { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes a Job with its pods.
    pub(crate) async fn delete_job(&self, namespace: &str, name: &str) -> Result<(), WriteError> {
        let key = Key { namespace: namespace.to_owned(), name: name.to_owned() };
        let api: Api<Job> = Api::namespaced(self.client.clone(), namespace);
        let delete = DeleteParams::foreground();
        let sent = api.delete(name, &delete);
        match self.send(Object::Job(key.clone()), format!("deleting Job {key}"), sent).await {
            Ok(_) | Err(WriteError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends an event; one that is there already is not sent twice.
    pub(crate) async fn event(&self, event: &Event) -> Result<(), WriteError> {
        let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let post = PostParams::default();
        let sent = api.create(&post, event);
        let object = Object::Event(Key::of(&event.metadata));
        match self.send(object, format!("sending an event to namespace {namespace}"), sent).await {
            Ok(_) | Err(WriteError::Stale { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Stores the lease, if it is still the version that was read; makes it if it has none. The one write that does
    /// not ask the fence: it moves the fence. It has a time limit of its own, so that another try is in time.
    pub(crate) async fn lease(&self, lease: &Lease, limit: Duration) -> Result<Lease, WriteError> {
        let key = Key::of(&lease.metadata);
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &key.namespace);
        let post = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let what = format!("storing the lease {key}");
        if lease.metadata.resource_version.is_some() {
            finish(what, limit, api.replace(&key.name, &post, lease)).await
        } else {
            finish(what, limit, api.create(&post, lease)).await
        }
    }

    /// Reads the lease again. A list of one: the right to list it is there for the watch, and no other is needed.
    pub(crate) async fn read_lease(&self, key: &Key, limit: Duration) -> Result<Option<Lease>, WriteError> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &key.namespace);
        let only = ListParams::default().fields(&format!("metadata.name={}", key.name));
        let list = finish(format!("reading the lease {key}"), limit, api.list(&only)).await?;
        Ok(list.items.into_iter().next())
    }

    /// Reads an object again that may be another than we know.
    pub(crate) async fn read<K>(&self, key: &Key) -> Result<Option<K>, WriteError>
    where
        K: Slimmed + Resource<Scope = NamespaceResourceScope> + Clone + Debug,
    {
        let api: Api<Slim<K>> = Api::namespaced(self.client.clone(), &key.namespace);
        let read =
            finish(format!("reading {} {key}", K::kind(&())), TIME_LIMIT, api.get_opt(&key.name)).await?;
        Ok(read.map(|read| read.0))
    }

    /// Those of these objects that have to be read before anything is decided about them.
    pub(crate) fn in_doubt(&self, objects: impl Iterator<Item = Object>) -> Vec<Object> {
        objects.filter(|object| self.doubts.about(object)).collect()
    }

    /// The object was read: it may be written to again.
    pub(crate) fn is_sure_of(&self, object: &Object) {
        self.doubts.clear(object);
    }

    /// Sends a write to an object that our cache has seen with our own last write to it.
    async fn send_to<T>(
        &self,
        object: Object,
        what: String,
        sent: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        if self.doubts.about(&object) {
            return Err(WriteError::InDoubt { what, object });
        }
        let answer = self.send(object.clone(), what, sent).await;
        if let Err(WriteError::Unsure { .. }) = &answer {
            self.doubts.raise(object);
        }
        answer
    }

    /// Sends a write, if the server did not ask to wait with it.
    async fn send<T>(
        &self,
        object: Object,
        what: String,
        sent: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        if let Some(after) = self.patience.left(&object, Instant::now()) {
            return Err(WriteError::TooEarly { what, after });
        }
        let answer = self.send_as_leader(what, sent).await;
        if let Err(WriteError::Throttled { after, .. }) = &answer {
            self.patience.promise(object, Instant::now() + *after);
        }
        answer
    }

    /// Sends a write, if the lease is ours, and gives it up the moment the lease may be another's.
    async fn send_as_leader<T>(
        &self,
        what: String,
        sent: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        let until = match self.fence.allows(Instant::now()) {
            Allowed::No => return Err(WriteError::Fenced { what }),
            Allowed::Always => None,
            Allowed::Until(until) => Some(until),
        };
        #[cfg(feature = "faults")]
        let number = crate::fault::before();
        // A process that was stopped and goes on must find the end of its time before it sends anything.
        let answer = tokio::select! {
            biased;
            () = passed(until) => Err(WriteError::Unsure { what: what.clone(), cause: "the lease ran out on the way".to_owned() }),
            answer = finish(what.clone(), TIME_LIMIT, sent) => answer,
        };
        #[cfg(feature = "faults")]
        if crate::fault::after(number) {
            return Err(WriteError::Unsure {
                what,
                cause: "the answer was lost (a test's doing)".to_owned(),
            });
        }
        answer
    }
}

/// Ready when the moment has come; never without one.
async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

async fn finish<T>(
    what: String,
    limit: Duration,
    sent: impl Future<Output = kube::Result<T>>,
) -> Result<T, WriteError> {
    match tokio::time::timeout(limit, sent).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(match status.code {
            404 => WriteError::Gone { what },
            409 => WriteError::Stale { what },
            429 => WriteError::Throttled { what, after: patience(&status) },
            422 if is_failed_test(&status) => WriteError::Stale { what },
            400..=499 => WriteError::Refused { what, answer: status.message },
            _ => WriteError::Unsure { what, cause: status.message },
        }),
        Ok(Err(error)) => Err(WriteError::Unsure { what, cause: error.to_string() }),
        Err(_) => Err(WriteError::Unsure { what, cause: format!("no answer within {limit:?}") }),
    }
}

/// How long the server asks to wait; a second where it does not say so in its answer.
fn patience(answer: &Status) -> Duration {
    let seconds = answer.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(u64::from(seconds.max(1)))
}

/// A JSON patch whose tests fail is answered like an invalid object, but nothing is said about which field is wrong.
fn is_failed_test(answer: &Status) -> bool {
    answer.details.as_ref().is_none_or(|details| details.kind.is_empty() && details.causes.is_empty())
}
