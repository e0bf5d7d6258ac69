//! The two servers: a real control plane whose controllers are stopped, so that nobody but the suite writes, and the
//! simulator. Both are asked through the same client.

use std::sync::Arc;

use axum::http::Request;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use windlass_bed::{User, bed};
use windlass_controller::{Clock, WallClock};
use windlass_sim::{Caller, Cluster, start};
use windlass_workloads::DEFAULT_IDENTITY;

/// A server that can be asked.
pub(crate) trait Plane {
    fn client(&self, user: User) -> Client;
}

/// Sends a request as it is; the answer's code and body.
pub(crate) async fn send(client: &Client, request: Request<Vec<u8>>) -> (u16, Vec<u8>) {
    let response = client.send(request.map(Body::from)).await.unwrap();
    let code = response.status().as_u16();
    (code, response.into_body().collect_bytes().await.unwrap().to_vec())
}

pub(crate) struct Real {
    admin: Client,
    windlass: Client,
}

impl Real {
    pub(crate) async fn start() -> Self {
        let bed = bed();
        for part in ["kube-controller-manager", "kube-scheduler", "kwok"] {
            bed.command(&format!("stop {part}"));
        }
        Self { admin: connect(User::Admin).await, windlass: connect(User::Windlass).await }
    }
}

/// A client that does not try again: a refusal is an answer here.
async fn connect(user: User) -> Client {
    let file = Kubeconfig::read_from(bed().kubeconfig(user)).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

impl Plane for Real {
    fn client(&self, user: User) -> Client {
        match user {
            User::Windlass => self.windlass.clone(),
            _ => self.admin.clone(),
        }
    }
}

pub(crate) struct Simulated {
    cluster: Cluster,
}

impl Simulated {
    pub(crate) fn start() -> Self {
        let server = start::furnished(WallClock.now(), 3, bed().hold).unwrap();
        Self { cluster: Cluster::new(server, Arc::new(WallClock)) }
    }
}

impl Plane for Simulated {
    fn client(&self, user: User) -> Client {
        self.cluster.client(Caller::new(identity(user)))
    }
}

fn identity(user: User) -> String {
    match user {
        User::Windlass => DEFAULT_IDENTITY.to_owned(),
        _ => "admin".to_owned(),
    }
}
