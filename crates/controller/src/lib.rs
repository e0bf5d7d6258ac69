//! The shell: it watches, gathers, lets the engine decide, and carries out what was decided. It decides nothing.
//!
//! The way of one change: `watch` feeds `cache`, which tells the `queue` whose rollout is concerned; a worker of
//! `reconcile` gathers from the caches alone, asks the engine, and carries the answer out through `writer`, one request
//! at a time. Nothing is polled, and nothing but the watches is asked of the API server at rest.

mod cache;
mod event;
mod gather;
mod metrics;
mod queue;
mod reconcile;
mod retry;
mod server;
mod slim;
mod watch;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::cache::Caches;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::reconcile::Context;
use crate::writer::Writer;

pub use cache::Scope;

/// How the controller runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which namespaces it serves.
    pub scope: Scope,
    /// How many rollouts are worked on at once.
    pub workers: usize,
    /// Where health and metrics are served; none serves nothing.
    pub listen: Option<SocketAddr>,
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
    shutdown: BoxFuture<'static, ()>,
) -> Result<(), RunError> {
    let metrics = Arc::new(Metrics::new());
    let caches = Arc::new(Caches::default());
    let queue = Arc::new(Queue::default());
    let context = Arc::new(Context::new(
        Arc::clone(&caches),
        Arc::clone(&queue),
        Writer::new(client.clone()),
        Arc::clone(&metrics),
    ));
    let mut parts = JoinSet::new();
    if let Some(address) = settings.listen {
        let listener =
            TcpListener::bind(address).await.map_err(|source| RunError::Listen { address, source })?;
        parts.spawn(
            server::serve(listener, Arc::clone(&caches), Arc::clone(&metrics)).map(|()| "health server"),
        );
    }
    watch::spawn(&mut parts, &client, &settings.scope, &caches, &queue);
    for _ in 0..settings.workers.max(1) {
        parts.spawn(reconcile::work(Arc::clone(&context)).map(|()| "worker"));
    }
    tokio::select! {
        () = shutdown => {
            tracing::info!("asked to stop: finishing the writes at hand");
            queue.close();
            context.idle().await;
            Ok(())
        }
        ended = parts.join_next() => Err(RunError::Ended(match ended {
            Some(Ok(part)) => part.to_owned(),
            Some(Err(error)) => error.to_string(),
            None => "nothing was started".to_owned(),
        })),
    }
}
