//! Many StatefulSets and rollouts in one namespace, made and changed through the API with bounded concurrency.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_bed::{User, bed, connect};

/// Requests that are under way at the same time.
const AT_ONCE: usize = 8;
/// The time after which a measurement has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Many StatefulSets in one namespace.
pub(crate) struct Fleet {
    pub(crate) namespace: String,
    pub(crate) count: usize,
    pub(crate) client: Client,
}

impl Fleet {
    /// Makes a namespace with so many sets of five pods.
    pub(crate) async fn new(namespace: &str, count: usize) -> Self {
        bed().kubectl_ok(User::Admin, &["create", "namespace", namespace], "");
        let fleet = Self { namespace: namespace.to_owned(), count, client: connect(User::Developer).await };
        let api = fleet.sets();
        fleet
            .each(async |name| {
                let set = set(&name, "app:v1");
                api.create(&PostParams::default(), &set).await.unwrap();
            })
            .await;
        fleet.until_sets("every pod is up", |set| updated(set) == Some(true)).await;
        fleet
    }

    pub(crate) fn sets(&self) -> Api<StatefulSet> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn rollouts(&self) -> Api<RolloutPlugin> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Gives each set a rollout of five steps, and waits until all are Healthy and claimed.
    pub(crate) async fn add_rollouts(&self) {
        let api = self.rollouts();
        self.each(async |name| {
            api.create(&PostParams::default(), &rollout(&name)).await.unwrap();
        })
        .await;
        self.until_rollouts("every rollout is Healthy", |rollout| {
            rollout.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Healthy")
        })
        .await;
        self.until_sets("every set is claimed", |set| {
            set.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("windlass.sh/rollout"))
        })
        .await;
    }

    /// Changes the image of every set.
    pub(crate) async fn change(&self, image: &str) {
        let api = self.sets();
        let patch =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}});
        self.each(async |name| {
            api.patch(&name, &PatchParams::default(), &Patch::Strategic(&patch)).await.unwrap();
        })
        .await;
    }

    async fn each(&self, act: impl AsyncFn(String)) {
        stream::iter((0..self.count).map(name)).for_each_concurrent(AT_ONCE, |name| act(name)).await;
    }

    /// Waits until every set is as wanted.
    pub(crate) async fn until_sets(&self, what: &str, wanted: impl Fn(&StatefulSet) -> bool) {
        self.until_all(self.sets(), what, wanted).await;
    }

    /// Waits until every rollout is as wanted.
    pub(crate) async fn until_rollouts(&self, what: &str, wanted: impl Fn(&RolloutPlugin) -> bool) {
        self.until_all(self.rollouts(), what, wanted).await;
    }

    /// By a watch: listing hundreds of objects again and again would be a load of its own.
    async fn until_all<K>(&self, api: Api<K>, what: &str, wanted: impl Fn(&K) -> bool)
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let mut stream = watcher(api, watcher::Config::default()).boxed();
        let mut done = BTreeSet::new();
        let all_done = async {
            while let Some(event) = stream.next().await {
                if let Ok(Event::InitApply(object) | Event::Apply(object)) = event {
                    let name = object.meta().name.clone().unwrap();
                    if wanted(&object) {
                        done.insert(name)
                    } else {
                        done.remove(&name)
                    };
                }
                if done.len() == self.count {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, all_done)
            .await
            .unwrap_or_else(|_| panic!("waited in vain until {what}"));
    }

    /// Takes the rollouts away, and waits until the sets are given back.
    pub(crate) async fn remove_rollouts(&self) {
        let all = ["delete", "rp", "--all", "--namespace", &self.namespace];
        bed().kubectl_ok(User::Admin, &all, "");
        self.until_sets("every set is given back", |set| {
            !set.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("windlass.sh/rollout"))
        })
        .await;
    }

    /// Takes everything away again.
    pub(crate) fn end(self) {
        bed().kubectl_ok(
            User::Admin,
            &["delete", "namespace", &self.namespace, "--wait=true", "--timeout=300s"],
            "",
        );
    }
}

/// The name of one of many.
pub(crate) fn name(number: usize) -> String {
    format!("web{number:04}")
}

/// Every pod is on the update revision and ready; none when the set's controller has not looked yet.
pub(crate) fn updated(set: &StatefulSet) -> Option<bool> {
    let status = set.status.as_ref()?;
    let wanted = set.spec.as_ref()?.replicas?;
    let seen = status.observed_generation >= set.metadata.generation;
    Some(
        seen && status.updated_replicas == Some(wanted)
            && status.ready_replicas == Some(wanted)
            && status.current_revision == status.update_revision,
    )
}

pub(crate) fn set(name: &str, image: &str) -> StatefulSet {
    serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {
            "serviceName": name, "replicas": 5, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "app", "image": image}]}},
        },
    }))
    .unwrap()
}

pub(crate) fn rollout(name: &str) -> RolloutPlugin {
    serde_json::from_value(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutPlugin", "metadata": {"name": name},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name},
            "plugin": {"name": "argoproj/statefulset"},
            "strategy": {"canary": {"steps": [
                {"setWeight": 20}, {"setWeight": 40}, {"setWeight": 60}, {"setWeight": 80}, {"setWeight": 100}]}},
        },
    }))
    .unwrap()
}
