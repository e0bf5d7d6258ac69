//! The one place that writes to the API server. Every request has a time limit and a field manager, and every failure
//! comes back as one of a few kinds.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client};
use serde_json::json;
use thiserror::Error;
use windlass_api::WorkloadKind;
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_engine::PodRef;
use windlass_workloads::WorkloadPatch;

use crate::cache::Key;

/// The name under which our fields are owned.
const FIELD_MANAGER: &str = "windlass";
/// Longer than any healthy answer, shorter than anybody's patience.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// The one place that writes.
#[derive(Clone)]
pub(crate) struct Writer {
    client: Client,
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

impl Writer {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
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
        let api: Api<RolloutPlugin> = Api::namespaced(self.client.clone(), &key.namespace);
        let post = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let sent = api.replace_status(&key.name, &post, &changed);
        finish(format!("storing the status of rollout {key}"), sent).await
    }

    /// Takes a person's pause off, because full promotion was asked for.
    pub(crate) async fn lift_pause(&self, rollout: &RolloutPlugin) -> Result<RolloutPlugin, WriteError> {
        let key = Key::of(&rollout.metadata);
        let body = json!({
            "metadata": {"uid": rollout.metadata.uid, "resourceVersion": rollout.metadata.resource_version},
            "spec": {"paused": false},
        });
        let api: Api<RolloutPlugin> = Api::namespaced(self.client.clone(), &key.namespace);
        let (params, patch) = (patch_params(), Patch::Merge(&body));
        finish(format!("lifting the pause of rollout {key}"), api.patch(&key.name, &params, &patch)).await
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
                let api: Api<StatefulSet> = Api::namespaced(self.client.clone(), namespace);
                let body = Patch::Json::<()>(patch.patch.clone());
                finish(what, api.patch(&patch.name, &patch_params(), &body)).await
            }
        }
    }

    /// Deletes one pod, and no other of that name. Answers with the pod as it is now, if it still exists.
    pub(crate) async fn delete_pod(&self, namespace: &str, pod: &PodRef) -> Result<Option<Pod>, WriteError> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let only_this = Preconditions { uid: Some(pod.uid.to_string()), resource_version: None };
        let delete = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        let sent = api.delete(pod.name.as_str(), &delete);
        match finish(format!("deleting pod {namespace}/{}", pod.name), sent).await {
            Ok(answer) => Ok(answer.left()),
            // The pod that was meant is gone already, or its successor is there: what was wanted has happened.
            Err(WriteError::Gone { .. } | WriteError::Stale { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends an event; one that is there already is not sent twice.
    pub(crate) async fn event(&self, event: &Event) -> Result<(), WriteError> {
        let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let post = PostParams::default();
        let sent = api.create(&post, event);
        match finish(format!("sending an event to namespace {namespace}"), sent).await {
            Ok(_) | Err(WriteError::Stale { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

async fn finish<T>(what: String, sent: impl Future<Output = kube::Result<T>>) -> Result<T, WriteError> {
    match tokio::time::timeout(TIME_LIMIT, sent).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(match status.code {
            404 => WriteError::Gone { what },
            409 => WriteError::Stale { what },
            422 if is_failed_test(&status) => WriteError::Stale { what },
            400..=428 | 430..=499 => WriteError::Refused { what, answer: status.message },
            _ => WriteError::Unsure { what, cause: status.message },
        }),
        Ok(Err(error)) => Err(WriteError::Unsure { what, cause: error.to_string() }),
        Err(_) => {
            Err(WriteError::Unsure { what, cause: format!("no answer within {} s", TIME_LIMIT.as_secs()) })
        }
    }
}

/// A JSON patch whose tests fail is answered like an invalid object, but nothing is said about which field is wrong.
fn is_failed_test(answer: &Status) -> bool {
    answer.details.as_ref().is_none_or(|details| details.kind.is_empty() && details.causes.is_empty())
}
