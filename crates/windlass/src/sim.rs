//! `windlass sim serve`: a cluster in memory on a port of this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anstream::{eprintln, println};
use futures::FutureExt;
use tokio::net::TcpListener;
use windlass_controller::{Clock, HolderChoice, Scope, Settings, WallClock};
use windlass_sim::actors::everybody;
use windlass_sim::{Caller, Cast, Cluster, serve, start};
use windlass_workloads::{DEFAULT_IDENTITY, Holder};

use crate::cli::{ServeArguments, SimCommand};
use crate::failure::Failure;

/// What the actors leave to chance is the same every time.
const SEED: u64 = 1;
/// Who kubectl is in the written kubeconfig.
const USER: &str = "admin";

pub(crate) fn run(command: &SimCommand) -> Result<ExitCode, Failure> {
    let SimCommand::Serve(arguments) = command;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Refused(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(serve_cluster(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve_cluster(arguments: &ServeArguments) -> Result<(), Failure> {
    let refused = |what: &str, why: &dyn std::fmt::Display| Failure::Refused(format!("{what}: {why}"));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| refused(&format!("cannot listen on {address} (choose another --port)"), &error))?;
    let address = listener.local_addr().map_err(|error| refused("cannot read the address", &error))?;
    let holder = Holder::from(arguments.hold);
    let server = start::furnished(WallClock.now(), arguments.nodes, holder)
        .map_err(|refusal| refused("cannot set up the cluster", &refusal.message))?;
    let cluster = Cluster::new(server, Arc::new(WallClock));
    let kubeconfig = serve::kubeconfig(address, USER);
    if let Some(file) = &arguments.write_kubeconfig {
        std::fs::write(file, kubeconfig).map_err(|error| {
            refused(&format!("cannot write the kubeconfig to {}", file.display()), &error)
        })?;
    }
    let inhabitants = [tokio::spawn(act(cluster.clone())), tokio::spawn(control(cluster.clone()))];
    println!("serving on http://{address}");
    if let Some(file) = &arguments.write_kubeconfig {
        println!("export KUBECONFIG={}", file.display());
    }
    let ended = serve::serve(listener, cluster).await;
    inhabitants.iter().for_each(tokio::task::JoinHandle::abort);
    ended.map_err(|error| refused("the server ended", &error))
}

/// The cluster's own: they wake at every write, and when they asked to.
async fn act(cluster: Cluster) {
    let mut cast = Cast::new(everybody(SEED), None);
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
async fn control(cluster: Cluster) {
    let client = cluster.client(Caller::new(DEFAULT_IDENTITY));
    let settings = Settings {
        scope: Scope::Cluster,
        instance: None,
        workers: 2,
        listen: None,
        hold: HolderChoice::FindOut,
        election: None,
    };
    let never = std::future::pending().boxed();
    if let Err(error) = windlass_controller::run(client, settings, Arc::new(WallClock), never).await {
        eprintln!("{error}");
    }
}
