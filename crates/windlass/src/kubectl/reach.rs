//! The requests that people's commands make, each with the words for its failure.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::Selector;
use kube::{Api, Client};
use serde_json::Value;
use windlass_api::analysis::{
    AnalysisRun, AnalysisTemplate, AnalysisTemplateSpec, ClusterAnalysisTemplate, TemplateReference,
};
use windlass_api::rollout_plugin::RolloutPlugin;

use super::checks::{self, Checks};
use super::picture::Picture;
use crate::connect::Connected;
use crate::failure::Failure;

/// The name under which people's writes are owned.
const FIELD_MANAGER: &str = "kubectl-windlass";
/// Longer than any healthy answer, shorter than anybody's patience.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// A cluster, and the namespace that is meant.
pub(crate) struct Reach {
    client: Client,
    pub(super) namespace: String,
}

impl Reach {
    pub(crate) fn new(connected: Connected) -> Self {
        Self { client: connected.client, namespace: connected.namespace }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(super) fn rollouts(&self) -> Api<RolloutPlugin> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) fn sets(&self) -> Api<StatefulSet> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) fn all_pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) fn runs(&self) -> Api<AnalysisRun> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The resources as the server has them, field by field.
    fn documents(&self, all_namespaces: bool) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<RolloutPlugin>(&());
        if all_namespaces {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        }
    }

    /// One rollout.
    pub(crate) async fn rollout(&self, name: &str) -> Result<RolloutPlugin, Failure> {
        answer(self.rollouts().get(name)).await.map_err(|error| self.no_rollout(name, &error))
    }

    /// One rollout, as the server has it.
    pub(super) async fn document(&self, name: &str) -> Result<DynamicObject, Failure> {
        answer(self.documents(false).get(name)).await.map_err(|error| self.no_rollout(name, &error))
    }

    /// All rollouts, as the server has them.
    pub(super) async fn list(&self, all_namespaces: bool) -> Result<Vec<DynamicObject>, Failure> {
        let listed = answer(self.documents(all_namespaces).list(&ListParams::default())).await;
        Ok(listed.map_err(|error| Failure::request("list rollouts", &error))?.items)
    }

    /// A rollout with its workload and pods.
    pub(crate) async fn picture(&self, name: &str) -> Result<Picture, Failure> {
        let rollout = self.rollout(name).await?;
        let set = match set_name(&rollout) {
            Some(set) => answer(self.sets().get_opt(set)).await.map_err(|error| {
                Failure::request(format!("read StatefulSet {set} in namespace {}", self.namespace), &error)
            })?,
            None => None,
        };
        let pods = match &set {
            Some(set) => self.pods(set).await?,
            None => Vec::new(),
        };
        let checks = self.checks(name).await;
        Ok(Picture { rollout, set, pods, checks })
    }

    async fn pods(&self, set: &StatefulSet) -> Result<Vec<Pod>, Failure> {
        let listed = answer(self.all_pods().list(&ListParams::default().labels(&selector(set)))).await;
        let pods = listed.map_err(|error| {
            Failure::request(format!("list the pods in namespace {}", self.namespace), &error)
        })?;
        Ok(pods.items.into_iter().filter(|pod| belongs(pod, set)).collect())
    }

    /// The runs of a rollout's analyses. That they cannot be had is no failure: everything else can be shown.
    pub(super) async fn checks(&self, name: &str) -> Checks {
        let listed = answer(self.runs().list(&ListParams::default().labels(&checks::selector(name)))).await;
        match listed {
            Ok(runs) => Checks::Seen(runs.items),
            Err(error) => Checks::NotSeen(
                checks::hint(&error, &self.namespace)
                    .unwrap_or_else(|| format!("the AnalysisRuns cannot be read: {error}")),
            ),
        }
    }

    /// A template, where it exists.
    pub(crate) async fn template(
        &self,
        template: &TemplateReference,
    ) -> Result<Option<AnalysisTemplateSpec>, Failure> {
        let (name, client) = (template.template_name.as_str(), self.client.clone());
        let found = if template.cluster_scope {
            let api: Api<ClusterAnalysisTemplate> = Api::all(client);
            answer(api.get_opt(name)).await.map(|found| found.map(|found| found.spec.template))
        } else {
            let api: Api<AnalysisTemplate> = Api::namespaced(client, &self.namespace);
            answer(api.get_opt(name)).await.map(|found| found.map(|found| found.spec))
        };
        found.map_err(|error| Failure::request(format!("read the template {name} of an analysis"), &error))
    }

    /// The disruption budgets of the namespace.
    pub(crate) async fn budgets(&self) -> Result<Vec<PodDisruptionBudget>, Failure> {
        let api: Api<PodDisruptionBudget> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = answer(api.list(&ListParams::default())).await;
        let failed = |error| {
            Failure::request(format!("list the PodDisruptionBudgets in namespace {}", self.namespace), &error)
        };
        Ok(listed.map_err(failed)?.items)
    }

    /// The revisions of a workload.
    pub(super) async fn revisions(&self, set: &StatefulSet) -> Result<Vec<ControllerRevision>, Failure> {
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = answer(api.list(&ListParams::default().labels(&selector(set)))).await;
        Ok(listed.map_err(|error| Failure::request("list the revisions of the workload", &error))?.items)
    }

    /// The latest rejection that the controller told about a rollout.
    pub(super) async fn rejection(&self, rollout: &RolloutPlugin) -> Option<String> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let uid = rollout.metadata.uid.as_deref()?;
        let fields = format!("involvedObject.uid={uid},reason=RolloutPluginRejected");
        let listed = answer(api.list(&ListParams::default().fields(&fields))).await.ok()?;
        let latest =
            listed.items.into_iter().max_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0))?;
        latest.message
    }

    /// A merge patch of the status.
    pub(super) async fn patch_status(&self, name: &str, patch: &Value) -> Result<RolloutPlugin, kube::Error> {
        answer(self.rollouts().patch_status(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(patch)))
            .await
    }

    /// A merge patch of the resource.
    pub(super) async fn patch(&self, name: &str, patch: &Value) -> Result<RolloutPlugin, Failure> {
        answer(self.rollouts().patch(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(patch)))
            .await
            .map_err(|error| self.no_rollout(name, &error))
    }

    /// The words for a rollout that cannot be had.
    pub(super) fn no_rollout(&self, name: &str, error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) if status.code == 404 && status.message.contains("\" not found") => {
                Failure::Refused(format!(
                    "there is no rollout {name} in namespace {}\nSee all there are: kubectl windlass list -A",
                    self.namespace
                ))
            }
            error => Failure::request(format!("rollout {name} in namespace {}", self.namespace), error),
        }
    }
}

/// The name of the StatefulSet a rollout is about, if it is about one.
pub(super) fn set_name(rollout: &RolloutPlugin) -> Option<&str> {
    let reference = &rollout.spec.workload_ref;
    (reference.kind == "StatefulSet" && !reference.name.is_empty()).then_some(reference.name.as_str())
}

/// The label selector of a workload's pods.
pub(super) fn selector(set: &StatefulSet) -> String {
    let chosen: LabelSelector = set.spec.as_ref().map(|spec| spec.selector.clone()).unwrap_or_default();
    Selector::try_from(chosen).map(|selector| selector.to_string()).unwrap_or_default()
}

/// The pod is this workload's own, not merely labelled like it.
pub(super) fn belongs(pod: &Pod, set: &StatefulSet) -> bool {
    let owners = pod.metadata.owner_references.iter().flatten();
    owners.into_iter().any(|owner| Some(&owner.uid) == set.metadata.uid.as_ref())
}

/// The answer to a request, or an error when there is none in time.
pub(super) async fn answer<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, kube::Error> {
    match tokio::time::timeout(TIME_LIMIT, request).await {
        Ok(answer) => answer,
        Err(_) => Err(kube::Error::Service(format!("no answer in {} seconds", TIME_LIMIT.as_secs()).into())),
    }
}
