//! A real namespace in the simulator's form: every state that the API server showed, from watches that begin before
//! anything happens.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_bed::before_the_next_try;
use windlass_sim::{Resource, Store};

/// What is watched: what a trace tells of, and what deeds look at.
const WATCHED: [Resource; 5] =
    [Resource::Pods, Resource::StatefulSets, Resource::RolloutPlugins, Resource::Events, Resource::Quotas];

/// A namespace as its watches show it; they end with this value.
pub(crate) struct Mirror {
    seen: Arc<Mutex<Seen>>,
    tasks: Vec<JoinHandle<()>>,
}

struct Seen {
    store: Store,
    latest: Instant,
}

impl Mirror {
    /// Begins to watch, and waits until what is there has been seen.
    pub(crate) async fn start(client: &Client, namespace: &str) -> Self {
        let seen = Arc::new(Mutex::new(Seen { store: Store::default(), latest: Instant::now() }));
        let mut tasks = Vec::new();
        for resource in WATCHED {
            let (listed, was_listed) = tokio::sync::oneshot::channel();
            tasks.push(tokio::spawn(watch(
                client.clone(),
                namespace.to_owned(),
                resource,
                Arc::clone(&seen),
                listed,
            )));
            was_listed.await.unwrap();
        }
        Self { seen, tasks }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Looks at what was seen so far.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.seen().store)
    }

    /// For how long nothing has changed.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.seen().latest.elapsed()
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn watch(
    client: Client,
    namespace: String,
    resource: Resource,
    seen: Arc<Mutex<Seen>>,
    listed: tokio::sync::oneshot::Sender<()>,
) {
    let kind = ApiResource {
        group: resource.group().to_owned(),
        version: resource.version().to_owned(),
        api_version: resource.api_version(),
        kind: resource.kind().to_owned(),
        plural: resource.plural().to_owned(),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    let mut listed = Some(listed);
    let mut stream = watcher(api, watcher::Config::default()).boxed();
    while let Some(event) = stream.next().await {
        let (object, is_end) = match event {
            Ok(Event::InitApply(object) | Event::Apply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            Ok(Event::Init) => continue,
            Ok(Event::InitDone) => {
                listed.take().into_iter().for_each(|listed| listed.send(()).unwrap_or_default());
                continue;
            }
            Err(_) => {
                before_the_next_try().await;
                continue;
            }
        };
        let object = serde_json::to_value(object).unwrap();
        let mut seen = seen.lock().unwrap();
        seen.latest = Instant::now();
        if is_end {
            seen.store.mirror_end(resource, object);
        } else {
            seen.store.mirror(resource, object);
        }
    }
}
