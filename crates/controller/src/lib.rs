//! The shell: it watches, gathers, lets the engine decide, and carries out what was decided. It decides nothing.
//!
//! The way of one change: `watch` feeds `cache`, which tells the `queue` whose rollout is concerned; a worker of
//! `reconcile` gathers from the caches alone, asks the engine, and carries the answer out through `writer`, one request
//! at a time. Nothing is polled, and nothing but the watches is asked of the API server at rest.

mod analyse;
mod asked;
mod cache;
mod check;
mod clock;
mod context;
mod doubt;
mod event;
#[cfg(feature = "faults")]
mod fault;
mod fence;
mod gather;
mod guard;
mod installed;
mod job;
mod leader;
mod lease;
mod live;
mod metrics;
mod objects;
mod patience;
mod queue;
mod reconcile;
mod retry;
mod server;
mod slim;
mod stepper;
mod watch;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use windlass_analysis::gauge::Gauge;

use crate::asked::Asked;
use crate::cache::Caches;
use crate::context::Context;
use crate::fence::Fence;
use crate::guard::Guard;
use crate::installed::Installed;
use crate::leader::{Followers, Leader};
use crate::live::Live;
use crate::metrics::Metrics;
use crate::queue::{Hold, Queue};
use crate::writer::Writer;

pub use cache::Scope;
pub use clock::{Clock, WallClock};
pub use context::SERVED_NAME;
pub use guard::{HolderChoice, Policies};
pub use installed::StandaloneRuns;
pub use leader::Election;
pub use patience::connect;
pub use stepper::{Look, News, Stepper, Watched, Witness};

/// The label by which several controllers share a cluster: each serves the rollouts that carry its name.
pub const INSTANCE_LABEL: &str = "windlass.sh/instance";

/// How the controller runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which namespaces it serves.
    pub scope: Scope,
    /// Its own namespace, where its Lease is: the Secrets of providers that all rollouts share are there.
    pub home: String,
    /// Which rollouts it serves there: those whose label names it; without a name those without the label.
    pub instance: Option<String>,
    /// How many rollouts are worked on at once.
    pub workers: usize,
    /// Where health and metrics are served; none serves nothing.
    pub listen: Option<SocketAddr>,
    /// What holds a new template.
    pub hold: HolderChoice,
    /// How a leader is elected; none means that there is no other controller.
    pub election: Option<Election>,
    /// Somebody who sees every decision: the simulator's judge.
    pub witness: Option<Arc<dyn Witness>>,
    /// Which runs of analyses are served besides those of our own rollouts.
    pub standalone_runs: StandaloneRuns,
    /// Who is asked for values; none means the real providers.
    pub gauge: Option<Gauges>,
}

/// Whoever is asked for values.
#[derive(Clone)]
pub struct Gauges(pub Arc<dyn Gauge>);

impl std::fmt::Debug for Gauges {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Gauges")
    }
}

/// Why the controller ended.
#[derive(Debug, Error)]
pub enum RunError {
    /// The address for health and metrics is not to be had.
    #[error("cannot listen on {address} for health and metrics (choose another with --listen): {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A part of the controller ended that should not have.
    #[error("a part of the controller ended unexpectedly: {0}")]
    Ended(String),
}

/// Runs until `shutdown` is ready.
pub async fn run(
    client: Client,
    settings: Settings,
    clock: Arc<dyn Clock>,
    mut shutdown: BoxFuture<'static, ()>,
) -> Result<(), RunError> {
    let metrics = Arc::new(Metrics::new(settings.instance.clone()));
    let caches = Arc::new(Caches::default());
    let queue = Arc::new(Queue::default());
    queue.hold(Hold::Filling);
    let mut parts = JoinSet::new();
    if let Some(address) = settings.listen {
        let listener =
            TcpListener::bind(address).await.map_err(|source| RunError::Listen { address, source })?;
        parts.spawn(
            server::serve(listener, Arc::clone(&caches), Arc::clone(&metrics)).map(|()| "health server"),
        );
    }
    let (guard, installed) = tokio::select! {
        () = &mut shutdown => return Ok(()),
        found = find_out(&client, settings.hold) => found,
    };
    let guard = Arc::new(guard);
    caches.leave_out(installed.missing(&settings.scope));
    let asked = Arc::new(Asked::default());
    let crew = Arc::new(Crew {
        asked: Arc::clone(&asked),
        queue: Arc::clone(&queue),
        caches: Arc::clone(&caches),
        metrics: Arc::clone(&metrics),
        clock: Arc::clone(&clock),
    });
    let (writer, office) = elect(&client, settings.election, &clock, &crew);
    let gauge = match settings.gauge {
        Some(Gauges(gauge)) => gauge,
        None => Arc::new(Live::new(client.clone(), writer.clone(), Arc::clone(&clock), settings.home)),
    };
    let context = Context::new(
        Arc::clone(&caches),
        Arc::clone(&queue),
        writer,
        Arc::clone(&metrics),
        Arc::clone(&guard),
        clock,
        gauge,
    );
    let context = context.named(settings.instance).watched_by(settings.witness).remembering(asked);
    let unnamed = installed.unnamed_are_ours(settings.standalone_runs, context.instance.as_deref());
    let context = Arc::new(context.serving_unnamed(unnamed));
    metrics.serves(context.served.clone());
    watch::spawn(&mut parts, &client, &settings.scope, &caches, &queue);
    guard::spawn(&mut parts, &client, &guard, move || watch::look_at_everything(&caches, &queue));
    for _ in 0..settings.workers.max(1) {
        parts.spawn(reconcile::work(Arc::clone(&context)).map(|()| "worker"));
    }
    tokio::select! {
        () = shutdown => {
            tracing::info!("asked to stop: finishing the writes at hand");
            crew.queue.close();
            context.idle().await;
            if let Some(mut office) = office {
                office.stop.notify_one();
                (&mut office.leader).await.ok();
            }
            Ok(())
        }
        ended = parts.join_next() => Err(RunError::Ended(match ended {
            Some(Ok(part)) => part.to_owned(),
            Some(Err(error)) => error.to_string(),
            None => "nothing was started".to_owned(),
        })),
    }
}

/// Who we are and what holds here: asked until the server answers.
async fn find_out(client: &Client, choice: HolderChoice) -> (Guard, Installed) {
    let mut failures = 0;
    loop {
        match futures::try_join!(Guard::find_out(client, choice), Installed::find_out(client)) {
            Ok(found) => return found,
            Err(error) => {
                tracing::warn!(%error, "cannot ask the API server what holds here; trying again");
                failures += 1;
                tokio::time::sleep(retry::wait(&"the hold", failures)).await;
            }
        }
    }
}

/// The one place that writes, behind the fence that the election moves.
fn elect(
    client: &Client,
    election: Option<Election>,
    clock: &Arc<dyn Clock>,
    crew: &Arc<Crew>,
) -> (Writer, Option<Office>) {
    let Some(election) = election else {
        crew.metrics.leads(true);
        crew.asked.begins(clock.now());
        return (Writer::new(client.clone(), Fence::Open), None);
    };
    let (moves, fence) = tokio::sync::watch::channel(None);
    let writer = Writer::new(client.clone(), Fence::Leased(fence));
    crew.queue.hold(Hold::StandingBy);
    let stop = Arc::new(Notify::new());
    let leader = Leader::new(election, writer.clone(), Arc::clone(clock), moves);
    let followers: Arc<dyn Followers> = Arc::clone(crew) as Arc<dyn Followers>;
    let leader = tokio::spawn(leader.keep(client.clone(), followers, Arc::clone(&stop)));
    (writer, Some(Office { stop, leader }))
}

/// The task that keeps the lease, and how to end it.
struct Office {
    stop: Arc<Notify>,
    leader: JoinHandle<()>,
}

impl Drop for Office {
    /// A controller that is dropped must not go on holding the lease: nobody would do its work.
    fn drop(&mut self) {
        self.leader.abort();
    }
}

/// Those who work while we lead and rest while we stand by. The caches are kept warm all the time.
struct Crew {
    asked: Arc<Asked>,
    queue: Arc<Queue>,
    caches: Arc<Caches>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
}

impl Followers for Crew {
    fn lead(&self) {
        self.metrics.leads(true);
        self.asked.begins(self.clock.now());
        self.queue.let_go(Hold::StandingBy);
        if self.caches.is_synced() {
            watch::look_at_everything(&self.caches, &self.queue);
        }
    }

    fn stand_by(&self) {
        self.metrics.leads(false);
        self.queue.hold(Hold::StandingBy);
        self.asked.forget_all();
    }
}
