//! `windlass sim serve`: a cluster in memory on a port of this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use anstream::println;
use tokio::net::TcpListener;
use windlass_controller::{Clock, WallClock};
use windlass_sim::{Cluster, serve, setup};
use windlass_workloads::{DEFAULT_IDENTITY, Holder};

use crate::cli::{ServeArguments, SimCommand};
use crate::failure::Failure;

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
    let server = setup::installed(WallClock.now(), holder, &[DEFAULT_IDENTITY.to_owned()])
        .map_err(|error| refused("cannot set up the cluster", &error))?;
    let cluster = Cluster::new(server, Arc::new(WallClock));
    let kubeconfig = serve::kubeconfig(address, USER);
    if let Some(file) = &arguments.write_kubeconfig {
        std::fs::write(file, kubeconfig).map_err(|error| {
            refused(&format!("cannot write the kubeconfig to {}", file.display()), &error)
        })?;
    }
    println!("serving on http://{address}");
    if let Some(file) = &arguments.write_kubeconfig {
        println!("export KUBECONFIG={}", file.display());
    }
    populate(&cluster);
    serve::serve(listener, cluster).await.map_err(|error| refused("the server ended", &error))
}

/// Starts everybody who lives in the cluster.
fn populate(_cluster: &Cluster) {}
