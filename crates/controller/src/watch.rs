//! Feeds the caches from watches, one per kind, and tells the queue what to look at.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt, pin_mut};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use tokio::task::JoinSet;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use windlass_api::rollout_plugin::RolloutPlugin;

use crate::cache::{Cached, Caches, Job, Key, Kind, Scope};
use crate::job::{RUN_UID_LABEL, outcome};
use crate::queue::{Hold, Queue};
use crate::slim::{Slim, Slimmed};

/// Objects per page of a first listing: large enough for few requests, small enough for little memory at once.
const PAGE: u32 = 50;

/// Starts the watches.
pub(crate) fn spawn(
    parts: &mut JoinSet<&'static str>,
    client: &Client,
    scope: &Scope,
    caches: &Arc<Caches>,
    queue: &Arc<Queue>,
) {
    parts.spawn(follow::<RolloutPlugin>(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
    parts.spawn(follow::<StatefulSet>(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
    parts.spawn(follow::<Pod>(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
    parts.spawn(follow::<ControllerRevision>(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
    if caches.watches(Kind::AnalysisRuns) {
        parts.spawn(follow_jobs(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
        parts.spawn(follow::<AnalysisRun>(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
    }
    if caches.watches(Kind::Templates) {
        parts.spawn(follow::<AnalysisTemplate>(api(client, scope), Arc::clone(caches), Arc::clone(queue)));
    }
    if caches.watches(Kind::ClusterTemplates) {
        let all = Api::all(client.clone());
        parts.spawn(follow::<ClusterAnalysisTemplate>(all, Arc::clone(caches), Arc::clone(queue)));
    }
}

fn api<K>(client: &Client, scope: &Scope) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match scope {
        Scope::Cluster => Api::all(client.clone()),
        Scope::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
    }
}

/// Follows the Jobs of analyses: one that is over is looked at without delay. Nothing else rests on it, so a cluster that
/// does not let us watch Jobs is served all the same.
async fn follow_jobs(api: Api<BatchJob>, caches: Arc<Caches>, queue: Arc<Queue>) -> &'static str {
    let ours = watcher::Config::default().labels(RUN_UID_LABEL).page_size(PAGE);
    let stream = watcher(api, ours).default_backoff();
    pin_mut!(stream);
    while let Some(event) = stream.next().await {
        let (job, gone) = match event {
            Ok(Event::Apply(job) | Event::InitApply(job)) => (job, false),
            Ok(Event::Delete(job)) => (job, true),
            Ok(Event::Init | Event::InitDone) => continue,
            Err(error) => {
                tracing::debug!(%error, "watch of jobs failed; trying again");
                continue;
            }
        };
        let mut owners = job.metadata.owner_references.iter().flatten();
        let Some(run) = owners.find(|owner| owner.kind == "AnalysisRun") else { continue };
        if gone || outcome(&job).is_some() {
            let Key { namespace, name } = Key::of(&job.metadata);
            let run = Key { namespace, name: run.name.clone() };
            let jobs = caches.write().job_is_over(run, name, gone);
            queue.add_all(jobs);
        }
    }
    "watch of jobs"
}

async fn follow<K>(api: Api<Slim<K>>, caches: Arc<Caches>, queue: Arc<Queue>) -> &'static str
where
    K: Cached + Slimmed + Clone + Debug + Send + Sync + 'static,
{
    let mut listing = Listing::default();
    let stream = watcher(api, watcher::Config::default().page_size(PAGE)).default_backoff();
    pin_mut!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => take(event, &mut listing, &caches, &queue),
            Err(error) => tracing::warn!(kind = ?K::KIND, %error, "watch failed; trying again"),
        }
    }
    "watch"
}

/// What a listing under way has shown so far.
#[derive(Default)]
pub(crate) struct Listing {
    keys: BTreeSet<Key>,
    children: BTreeSet<String>,
}

/// Takes in what a watch brings.
pub(crate) fn take<K: Cached + Slimmed>(
    event: Event<Slim<K>>,
    listing: &mut Listing,
    caches: &Caches,
    queue: &Queue,
) {
    let jobs = match event {
        Event::Init => {
            *listing = Listing::default();
            Vec::new()
        }
        Event::InitApply(Slim(object)) => {
            note(&object, listing);
            object.keep(&mut caches.write())
        }
        Event::InitDone => {
            let Listing { keys, children } = std::mem::take(listing);
            let jobs = caches.write().retain(K::KIND, &keys, &children);
            let before = caches.is_synced();
            caches.mark_synced(K::KIND);
            if !before && caches.is_synced() {
                tracing::info!("caches are filled");
                queue.let_go(Hold::Filling);
                look_at_everything(caches, queue);
            }
            jobs
        }
        Event::Apply(Slim(object)) => object.keep(&mut caches.write()),
        Event::Delete(Slim(object)) => object.forget(&mut caches.write()),
    };
    // Before everything was listed once, absence means nothing; the first look covers what came in till then.
    if caches.is_synced() {
        queue.add_all(jobs);
    }
}

fn note<K: Cached + Slimmed>(object: &K, listing: &mut Listing) {
    let meta = object.meta();
    match K::KIND {
        Kind::Rollouts | Kind::Workloads | Kind::AnalysisRuns | Kind::Templates | Kind::ClusterTemplates => {
            listing.keys.insert(Key::of(meta));
        }
        Kind::Pods => listing.children.extend(meta.uid.clone()),
        Kind::Revisions => {
            let owners = meta.owner_references.iter().flatten();
            let name = meta.name.as_deref().unwrap_or_default();
            listing.children.extend(owners.map(|owner| format!("{}/{name}", owner.uid)));
        }
    }
}

/// At the start, and when we begin to lead: a crash may have left anything half done.
pub(crate) fn look_at_everything(caches: &Caches, queue: &Queue) {
    let index = caches.read();
    let rollouts = index.rollouts().map(|rollout| Job::Rollout(Key::of(&rollout.metadata)));
    let workloads = index.claimed_workloads().into_iter().map(Job::Workload);
    let runs = index.analyses().runs().cloned().map(Job::Analysis);
    let jobs: Vec<Job> = rollouts.chain(workloads).chain(runs).collect();
    tracing::debug!(looks = jobs.len(), "looking at everything");
    queue.add_all(jobs);
}
