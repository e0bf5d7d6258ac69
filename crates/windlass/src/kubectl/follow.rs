//! Watches behind a picture: the rollout, its workload, the workload's pods, and the runs of its analyses. Nothing is asked for twice; the server
//! tells what changes. Which workload and which pods are watched follows the rollout and the workload themselves.

use std::collections::BTreeMap;
use std::fmt::Debug;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_api::analysis::AnalysisRun;
use windlass_api::rollout_plugin::RolloutPlugin;

use super::checks::{self, Checks};
use super::picture::Picture;
use super::reach::{Reach, belongs, selector, set_name};
use crate::failure::Failure;

/// What a watch tells: everything it covers, as it is now.
enum Change {
    Rollout(Vec<RolloutPlugin>),
    Set(Vec<StatefulSet>),
    Pods(Vec<Pod>),
    Checks(Vec<AnalysisRun>),
    Failed(watcher::Error),
    /// The runs of analyses cannot be watched; everything else can.
    ChecksFailed(watcher::Error),
}

/// A watch that ends with its owner, and what it covers.
struct Watch {
    covers: String,
    task: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a watch of one object has shown.
enum Seen<K> {
    NotYet,
    Nothing,
    This(K),
}

/// A rollout that is followed.
pub(crate) struct Follow<'a> {
    reach: &'a Reach,
    name: String,
    with_pods: bool,
    sender: mpsc::UnboundedSender<Change>,
    changes: mpsc::UnboundedReceiver<Change>,
    rollout: Option<RolloutPlugin>,
    set: Seen<StatefulSet>,
    pods: Option<Vec<Pod>>,
    checks: Option<Checks>,
    _rollout_watch: Watch,
    _checks_watch: Option<Watch>,
    set_watch: Option<Watch>,
    pods_watch: Option<Watch>,
}

impl<'a> Follow<'a> {
    /// Follows a rollout and its workload, and where they are wanted its pods and the runs of its analyses.
    pub(crate) fn new(reach: &'a Reach, name: &str, with_pods: bool) -> Self {
        let (sender, changes) = mpsc::unbounded_channel();
        let rollout_watch =
            watch(reach.rollouts(), by_name(name), name, Change::Rollout, Change::Failed, &sender);
        let checks_watch = with_pods.then(|| {
            let labels = checks::selector(name);
            let config = watcher::Config::default().labels(&labels);
            watch(reach.runs(), config, &labels, Change::Checks, Change::ChecksFailed, &sender)
        });
        Self {
            reach,
            name: name.to_owned(),
            with_pods,
            sender,
            changes,
            rollout: None,
            set: Seen::NotYet,
            pods: None,
            // Where nobody draws them they are not asked for.
            checks: (!with_pods).then(|| Checks::Seen(Vec::new())),
            _rollout_watch: rollout_watch,
            _checks_watch: checks_watch,
            set_watch: None,
            pods_watch: None,
        }
    }

    /// The next picture: the first complete one, then one after every change (or several that came together).
    /// Safe to cancel: what came in is kept.
    pub(crate) async fn next(&mut self) -> Result<Picture, Failure> {
        loop {
            let Some(change) = self.changes.recv().await else {
                return Err(Failure::Refused("the watch ended".to_owned()));
            };
            self.take(change)?;
            while let Ok(change) = self.changes.try_recv() {
                self.take(change)?;
            }
            if let Some(picture) = self.picture() {
                return Ok(picture);
            }
        }
    }

    fn take(&mut self, change: Change) -> Result<(), Failure> {
        match change {
            Change::Rollout(found) => {
                let gone = || {
                    let namespace = &self.reach.namespace;
                    Failure::Refused(format!(
                        "there is no rollout {} in namespace {namespace} any more",
                        self.name
                    ))
                };
                let rollout = found.into_iter().next().ok_or_else(gone)?;
                self.watch_set(&rollout);
                self.rollout = Some(rollout);
            }
            Change::Set(found) => {
                let set = found.into_iter().next();
                self.watch_pods(set.as_ref());
                self.set = set.map_or(Seen::Nothing, Seen::This);
            }
            Change::Pods(found) => self.pods = Some(found),
            Change::Checks(found) => self.checks = Some(Checks::Seen(found)),
            Change::Failed(error) => return final_failure(&self.name, error),
            Change::ChecksFailed(error) => {
                let why = refusal(error).and_then(|error| checks::hint(&error, &self.reach.namespace));
                self.checks = why.map(Checks::NotSeen).or(self.checks.take());
            }
        }
        Ok(())
    }

    fn watch_set(&mut self, rollout: &RolloutPlugin) {
        let Some(name) = set_name(rollout) else {
            (self.set_watch, self.set) = (None, Seen::Nothing);
            self.watch_pods(None);
            return;
        };
        if self.set_watch.as_ref().is_none_or(|watch| watch.covers != name) {
            self.set = Seen::NotYet;
            let api = self.reach.sets();
            self.set_watch = Some(watch(api, by_name(name), name, Change::Set, Change::Failed, &self.sender));
        }
    }

    fn watch_pods(&mut self, set: Option<&StatefulSet>) {
        let Some(set) = set.filter(|_| self.with_pods) else {
            (self.pods_watch, self.pods) = (None, Some(Vec::new()));
            return;
        };
        let labels = selector(set);
        if self.pods_watch.as_ref().is_none_or(|watch| watch.covers != labels) {
            self.pods = None;
            let config = watcher::Config::default().labels(&labels);
            let api = self.reach.all_pods();
            self.pods_watch = Some(watch(api, config, &labels, Change::Pods, Change::Failed, &self.sender));
        }
    }

    fn picture(&self) -> Option<Picture> {
        let set = match &self.set {
            Seen::NotYet => return None,
            Seen::Nothing => None,
            Seen::This(set) => Some(set.clone()),
        };
        let (rollout, pods) = (self.rollout.clone()?, self.pods.as_ref()?);
        let checks = self.checks.clone()?;
        let own = |pod: &&Pod| set.as_ref().is_some_and(|set| belongs(pod, set));
        Some(Picture { pods: pods.iter().filter(own).cloned().collect(), rollout, set, checks })
    }
}

fn by_name(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

/// A refusal stays one; everything else is tried again, with a growing pause between.
fn final_failure(name: &str, error: watcher::Error) -> Result<(), Failure> {
    match refusal(error) {
        Some(error) => Err(Failure::request(format!("watch rollout {name}"), &error)),
        None => Ok(()),
    }
}

/// The refusal that a watch met, if it was one.
fn refusal(error: watcher::Error) -> Option<kube::Error> {
    let (watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) = error else {
        return None;
    };
    matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403 | 404)).then_some(error)
}

/// Tells everything that a watch covers, at the start and after every change.
fn watch<K>(
    api: Api<K>,
    config: watcher::Config,
    covers: &str,
    wrap: fn(Vec<K>) -> Change,
    failed: fn(watcher::Error) -> Change,
    sender: &mpsc::UnboundedSender<Change>,
) -> Watch
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let sender = sender.clone();
    let task = tokio::spawn(async move {
        let stream = watcher(api, config).default_backoff();
        pin_mut!(stream);
        let mut known: BTreeMap<String, K> = BTreeMap::new();
        while let Some(event) = stream.next().await {
            let change = match event.map(|event| keep(&mut known, event)) {
                Err(error) => failed(error),
                Ok(true) => wrap(known.values().cloned().collect()),
                Ok(false) => continue,
            };
            if sender.send(change).is_err() {
                return;
            }
        }
    });
    Watch { covers: covers.to_owned(), task }
}

/// Keeps up with a watch; true when what is known is complete.
fn keep<K: ResourceExt>(known: &mut BTreeMap<String, K>, event: Event<K>) -> bool {
    match event {
        Event::Init => known.clear(),
        Event::InitApply(object) => drop(known.insert(object.name_any(), object)),
        Event::InitDone => return true,
        Event::Apply(object) => {
            known.insert(object.name_any(), object);
            return true;
        }
        Event::Delete(object) => {
            known.remove(&object.name_any());
            return true;
        }
    }
    false
}
