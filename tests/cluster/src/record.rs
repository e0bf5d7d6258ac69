//! A record of what the pods of a namespace really did, from a watch: every state that the API server showed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::task::JoinHandle;

use crate::wait::before_the_next_try;

/// One state of one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Its revision.
    pub revision: String,
    /// Ready, and not on its way out.
    pub up: bool,
    /// On its way out.
    pub terminating: bool,
    /// Gone.
    pub gone: bool,
}

/// A record under way; it ends with this value.
pub struct Record {
    sightings: Arc<Mutex<Vec<Sighting>>>,
    task: JoinHandle<()>,
}

impl Record {
    /// Starts to record, and waits until the pods that are there have been seen.
    pub async fn start(client: Client, namespace: &str) -> Self {
        let sightings = Arc::new(Mutex::new(Vec::new()));
        let api: Api<Pod> = Api::namespaced(client, namespace);
        let (listed, was_listed) = tokio::sync::oneshot::channel();
        let into = Arc::clone(&sightings);
        let task = tokio::spawn(async move {
            let mut listed = Some(listed);
            let mut there = BTreeSet::new();
            let mut stream = watcher(api, watcher::Config::default()).boxed();
            while let Some(event) = stream.next().await {
                let mut sightings = into.lock().unwrap();
                match event {
                    Ok(Event::Init) => there.clear(),
                    Ok(Event::InitApply(pod)) => {
                        there.extend(pod.metadata.uid.clone());
                        sightings.push(sighting(&pod, false));
                    }
                    Ok(Event::Apply(pod)) => sightings.push(sighting(&pod, false)),
                    Ok(Event::Delete(pod)) => sightings.push(sighting(&pod, true)),
                    Ok(Event::InitDone) => {
                        let went = went_unseen(&sightings, &there);
                        sightings.extend(went);
                        if let Some(listed) = listed.take() {
                            listed.send(()).ok();
                        }
                    }
                    Err(_) => {
                        drop(sightings);
                        before_the_next_try().await;
                    }
                }
            }
        });
        was_listed.await.unwrap();
        Self { sightings, task }
    }

    /// Everything seen so far.
    pub fn sightings(&self) -> Vec<Sighting> {
        self.sightings.lock().unwrap().clone()
    }

    /// The most pods of `names` that were not up at the same time, counted from the moment all of them were.
    pub fn most_down_at_once(&self, names: &[String]) -> usize {
        let mut up: BTreeMap<String, bool> = names.iter().map(|name| (name.clone(), false)).collect();
        let (mut complete, mut worst) = (false, 0);
        for sighting in self.sightings() {
            if let Some(state) = up.get_mut(&sighting.name) {
                *state = sighting.up && !sighting.gone;
            }
            let down = up.values().filter(|up| !**up).count();
            complete |= down == 0;
            if complete {
                worst = worst.max(down);
            }
        }
        worst
    }

    /// The most living pods on `revision` at the same time.
    pub fn most_on(&self, revision: &str) -> usize {
        let mut on: BTreeMap<String, bool> = BTreeMap::new();
        let mut most = 0;
        for sighting in self.sightings() {
            let here = sighting.revision == revision && !sighting.gone && !sighting.terminating;
            on.insert(sighting.uid.clone(), here);
            most = most.max(on.values().filter(|here| **here).count());
        }
        most
    }

    /// Every revision that a pod of this name was ever on, in order.
    pub fn revisions_of(&self, name: &str) -> Vec<String> {
        let mut revisions: Vec<String> = Vec::new();
        for sighting in self.sightings().into_iter().filter(|sighting| sighting.name == name) {
            if revisions.last() != Some(&sighting.revision) {
                revisions.push(sighting.revision);
            }
        }
        revisions
    }

    /// The names of pods on `revision` that went away, in the order in which they did.
    pub fn went(&self, revision: &str) -> Vec<String> {
        self.each_once(revision, |sighting| sighting.terminating)
    }

    /// The same without those that were gone before anybody saw them go.
    pub fn sent_away(&self, revision: &str) -> Vec<String> {
        self.each_once(revision, |sighting| sighting.terminating && !sighting.gone)
    }

    fn each_once(&self, revision: &str, is_meant: impl Fn(&Sighting) -> bool) -> Vec<String> {
        let mut seen = BTreeSet::new();
        self.sightings()
            .into_iter()
            .filter(|sighting| sighting.revision == revision && is_meant(sighting))
            .filter(|sighting| seen.insert(sighting.uid.clone()))
            .map(|sighting| sighting.name)
            .collect()
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The pods that a fresh listing has no more: they went while nothing was shown. Highest ordinal first, as pods go.
fn went_unseen(sightings: &[Sighting], there: &BTreeSet<String>) -> Vec<Sighting> {
    let latest: BTreeMap<&str, &Sighting> = sightings.iter().map(|it| (it.uid.as_str(), it)).collect();
    let is_lost = |it: &&&Sighting| !it.gone && !there.contains(&it.uid);
    let mut lost: Vec<Sighting> = latest.values().filter(is_lost).map(|it| (*it).clone()).collect();
    lost.sort_by(|one, other| other.name.cmp(&one.name));
    for sighting in &mut lost {
        (sighting.up, sighting.terminating) = (false, true);
    }
    let gone = lost.iter().map(|going| Sighting { gone: true, ..going.clone() }).collect::<Vec<_>>();
    lost.extend(gone);
    lost
}

fn sighting(pod: &Pod, gone: bool) -> Sighting {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.is_some_and(|all| all.iter().any(|it| it.type_ == "Ready" && it.status == "True"));
    let terminating = pod.metadata.deletion_timestamp.is_some();
    let label = |key: &str| pod.metadata.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
    Sighting {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        revision: label("controller-revision-hash").unwrap_or_default(),
        up: ready && !terminating,
        terminating,
        gone,
    }
}
