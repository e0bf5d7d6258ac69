//! `windlass sim serve`: a cluster in memory on a port of this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use anstream::println;
use tokio::net::TcpListener;
use windlass_controller::{Clock, HolderChoice, WallClock};
use windlass_sim::{Cluster, Live, serve, start};
use windlass_workloads::Holder;

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
    let mut live = Live::start(cluster.clone(), Arc::new(WallClock), SEED, HolderChoice::FindOut);
    println!("serving on http://{address}");
    if let Some(file) = &arguments.write_kubeconfig {
        println!("export KUBECONFIG={}", file.display());
    }
    tokio::select! {
        ended = serve::serve(listener, cluster) => ended.map_err(|error| refused("the server ended", &error)),
        error = live.ended() => Err(error.into()),
    }
}
