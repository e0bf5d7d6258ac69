//! The cluster in memory: nothing is installed and nothing is opened, unless somebody wants to look in.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use windlass_controller::{Clock, HolderChoice};
use windlass_sim::{Cluster, Live, serve, start};
use windlass_workloads::Holder;

use crate::failure::Failure;

/// What the actors leave to chance is the same every time.
const SEED: u64 = 1;
const NODES: u32 = 3;
/// Who people are there.
const USER: &str = "admin";

/// A cluster in memory.
pub(super) struct Embedded {
    live: Live,
    door: Option<Door>,
}

/// The port, and the file that says where it is.
struct Door {
    kubeconfig: PathBuf,
    server: JoinHandle<std::io::Result<()>>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.server.abort();
        std::fs::remove_file(&self.kubeconfig).ok();
    }
}

impl Embedded {
    pub(super) fn start(clock: &Arc<dyn Clock>) -> Result<Self, Failure> {
        let server = start::furnished(clock.now(), NODES, Holder::Policy).map_err(|refusal| {
            Failure::Refused(format!("cannot set up the cluster in memory: {}", refusal.message))
        })?;
        let cluster = Cluster::new(server, Arc::clone(clock));
        Ok(Self { live: Live::start(cluster, Arc::clone(clock), SEED, HolderChoice::FindOut), door: None })
    }

    pub(super) fn client(&self) -> kube::Client {
        self.live.client(USER)
    }

    /// Why it ended: ready only when something is wrong.
    pub(super) async fn ended(&mut self) -> Failure {
        let Some(door) = &mut self.door else { return self.live.ended().await.into() };
        tokio::select! {
            error = self.live.ended() => error.into(),
            ended = &mut door.server => Failure::Refused(format!("the server ended: {ended:?}")),
        }
    }

    /// Serves it on a port of this machine.
    pub(super) async fn open(&mut self) -> Result<PathBuf, Failure> {
        let refused = |what: &str, error: &std::io::Error| Failure::Refused(format!("{what}: {error}"));
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .map_err(|error| refused("cannot listen on the loopback", &error))?;
        let address = listener.local_addr().map_err(|error| refused("cannot read the address", &error))?;
        let kubeconfig = std::env::temp_dir().join(format!("windlass-demo-{}.yaml", address.port()));
        // Never through a link that somebody else has put there.
        std::fs::remove_file(&kubeconfig).ok();
        std::fs::File::create_new(&kubeconfig)
            .and_then(|mut file| file.write_all(serve::kubeconfig(address, USER).as_bytes()))
            .map_err(|error| refused(&format!("cannot write {}", kubeconfig.display()), &error))?;
        let server = tokio::spawn(serve::serve(listener, self.live.cluster().clone()));
        self.door = Some(Door { kubeconfig: kubeconfig.clone(), server });
        Ok(kubeconfig)
    }
}
