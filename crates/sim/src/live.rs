//! A cluster that lives by itself: the actors act and the real controller controls, as tasks of the present runtime. In
//! real time people can watch it; on tokio's paused clock hours pass in an instant.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinHandle;
use windlass_controller::{Clock, HolderChoice, RunError, Scope, Settings, StandaloneRuns};
use windlass_workloads::DEFAULT_IDENTITY;

use crate::actors::everybody;
use crate::cast::Cast;
use crate::server::Caller;
use crate::service::Cluster;

/// A cluster with everybody in it. They end when it is dropped.
pub struct Live {
    cluster: Cluster,
    actors: JoinHandle<()>,
    controller: JoinHandle<Result<(), RunError>>,
}

impl Live {
    /// Lets everybody in. The clock has to be the cluster's; the seed is for what the actors leave to chance.
    pub fn start(cluster: Cluster, clock: Arc<dyn Clock>, seed: u64, hold: HolderChoice) -> Self {
        let actors = tokio::spawn(act(cluster.clone(), seed));
        let controller = tokio::spawn(control(cluster.clone(), clock, hold));
        Self { cluster, actors, controller }
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A client of this user.
    pub fn client(&self, user: &str) -> kube::Client {
        self.cluster.client(Caller::new(user))
    }

    /// Why the controller ended; ready only if it does, which it should not.
    pub async fn ended(&mut self) -> RunError {
        match (&mut self.controller).await {
            Ok(Err(error)) => error,
            Ok(Ok(())) => RunError::Ended("the whole controller".to_owned()),
            Err(error) => RunError::Ended(error.to_string()),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.actors.abort();
        self.controller.abort();
    }
}

/// The cluster's own: they wake at every write, and when they asked to.
async fn act(cluster: Cluster, seed: u64) {
    let mut cast = Cast::new(everybody(seed), None);
    let mut written = cluster.written();
    loop {
        written.borrow_and_update();
        let wait = cluster.with(|server, now| {
            cast.play(now, server);
            cast.next(now).map(|next| Duration::try_from(next.duration_since(now)).unwrap_or_default())
        });
        let due = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = written.changed() => if changed.is_err() { return },
            () = due => {}
        }
    }
}

/// The controller itself, as it runs in a real cluster.
async fn control(cluster: Cluster, clock: Arc<dyn Clock>, hold: HolderChoice) -> Result<(), RunError> {
    let settings = Settings {
        scope: Scope::Cluster,
        home: "windlass".to_owned(),
        instance: None,
        workers: 2,
        listen: None,
        hold,
        election: None,
        witness: None,
        standalone_runs: StandaloneRuns::Serve,
        // The real providers; the one that looks at objects finds those of this cluster.
        gauge: None,
    };
    let client = cluster.client(Caller::new(DEFAULT_IDENTITY));
    windlass_controller::run(client, settings, clock, std::future::pending().boxed()).await
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
