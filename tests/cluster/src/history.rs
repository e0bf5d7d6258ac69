//! What sets and pods really did, in etcd's order: it numbers all changes of all objects in one sequence, and a watch
//! shows them with their numbers. So whether a step was left too early, or a pod got ahead, is exact.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use tokio::task::JoinHandle;

/// One change, in etcd's order.
enum Change {
    Set { name: String, partition: i32, replicas: i32, update: String },
    Pod { name: String, set: String, revision: String, ready: bool, gone: bool },
}

/// Everything that changed, by number.
pub struct History {
    changes: Arc<Mutex<BTreeMap<(u64, u8), Change>>>,
    tasks: Vec<JoinHandle<()>>,
}

/// What should not have been.
#[derive(Debug, Default)]
pub struct Faults {
    /// Steps left before their pods were ready on the target.
    pub early: usize,
    /// Moments at which more pods were on the target than exposed.
    pub ahead: usize,
    /// Steps looked at.
    pub steps: usize,
}

impl History {
    /// Starts to record, and waits until what is there has been seen.
    pub async fn start(client: &Client, namespace: &str) -> Self {
        let changes = Arc::new(Mutex::new(BTreeMap::new()));
        let sets: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let (set_task, sets_listed) =
            follow(sets, Arc::clone(&changes), 0, |set: &StatefulSet, _| set_change(set));
        let (pod_task, pods_listed) = follow(pods, Arc::clone(&changes), 1, pod_change);
        sets_listed.await.unwrap();
        pods_listed.await.unwrap();
        Self { changes, tasks: vec![set_task, pod_task] }
    }

    /// Plays the history and counts what should not have been.
    pub fn faults(&self) -> Faults {
        let mut sets: BTreeMap<&str, (i32, i32, &str)> = BTreeMap::new();
        let mut pods: BTreeMap<&str, (&str, &str, bool)> = BTreeMap::new();
        let mut faults = Faults::default();
        let changes = self.changes.lock().unwrap();
        for change in changes.values() {
            match change {
                Change::Set { name, partition, replicas, update } => {
                    let before = sets.insert(name, (*partition, *replicas, update));
                    let Some((old, _, target)) = before else { continue };
                    if *partition < old && old < *replicas {
                        faults.steps += 1;
                        let right = |ordinal: i32| {
                            let pod = format!("{name}-{ordinal}");
                            pods.get(pod.as_str())
                                .is_some_and(|(_, revision, ready)| *ready && *revision == target)
                        };
                        faults.early += usize::from(!(old..*replicas).all(right));
                    }
                }
                Change::Pod { name, set, revision, ready, gone } => {
                    if *gone {
                        pods.remove(name.as_str());
                    } else {
                        pods.insert(name, (set, revision, *ready));
                    }
                    let Some((partition, replicas, update)) = sets.get(set.as_str()) else { continue };
                    let allowed = usize::try_from(replicas - partition.min(replicas)).unwrap_or_default();
                    let on =
                        pods.values().filter(|(of, revision, _)| of == set && revision == update).count();
                    let is_new = pods.values().any(|(of, revision, _)| of == set && revision != update);
                    faults.ahead += usize::from(is_new && on > allowed);
                }
            }
        }
        faults
    }
}

impl Drop for History {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn follow<K>(
    api: Api<K>,
    into: Arc<Mutex<BTreeMap<(u64, u8), Change>>>,
    order: u8,
    change: impl Fn(&K, bool) -> Option<Change> + Send + 'static,
) -> (JoinHandle<()>, tokio::sync::oneshot::Receiver<()>)
where
    K: Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (listed, was_listed) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(async move {
        let mut listed = Some(listed);
        let mut stream = watcher(api, watcher::Config::default()).boxed();
        while let Some(event) = stream.next().await {
            let (object, gone) = match event {
                Ok(Event::InitApply(object) | Event::Apply(object)) => (object, false),
                Ok(Event::Delete(object)) => (object, true),
                Ok(Event::InitDone) => {
                    if let Some(listed) = listed.take() {
                        listed.send(()).ok();
                    }
                    continue;
                }
                Ok(Event::Init) | Err(_) => continue,
            };
            let version =
                object.meta().resource_version.as_deref().and_then(|it| it.parse().ok()).unwrap_or_default();
            if let Some(change) = change(&object, gone) {
                into.lock().unwrap().insert((version, order), change);
            }
        }
    });
    (task, was_listed)
}

fn set_change(set: &StatefulSet) -> Option<Change> {
    let spec = set.spec.as_ref()?;
    let rolling = spec.update_strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    let status = set.status.as_ref()?;
    Some(Change::Set {
        name: set.metadata.name.clone()?,
        partition: rolling.and_then(|rolling| rolling.partition).unwrap_or(0),
        replicas: spec.replicas?,
        update: status.update_revision.clone()?,
    })
}

fn pod_change(pod: &Pod, gone: bool) -> Option<Change> {
    let labels = pod.metadata.labels.as_ref()?;
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    Some(Change::Pod {
        name: pod.metadata.name.clone()?,
        set: labels.get("app")?.clone(),
        revision: labels.get("controller-revision-hash")?.clone(),
        ready: pod.metadata.deletion_timestamp.is_none()
            && conditions.is_some_and(|all| all.iter().any(|it| it.type_ == "Ready" && it.status == "True")),
        gone,
    })
}
