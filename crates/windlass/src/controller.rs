//! `windlass controller`: logging, signals, and the shell.

use std::process::ExitCode;

use futures::FutureExt;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use windlass_controller::{Scope, Settings};

use crate::cli::{Connection, ControllerArguments, LogFormat};
use crate::connect::connect;
use crate::failure::Failure;

/// Serves rollouts until a signal comes.
pub(crate) fn run(connection: &Connection, arguments: &ControllerArguments) -> Result<ExitCode, Failure> {
    start_logging(arguments)?;
    // One thread does: the work is waiting for the API server, and a hand-over between threads costs more than a decision.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Refused(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(serve(connection, arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(connection: &Connection, arguments: &ControllerArguments) -> Result<(), Failure> {
    let scope = match &connection.namespace {
        Some(namespace) => Scope::Namespace(namespace.clone()),
        None => Scope::Cluster,
    };
    let connected = connect(connection).await?;
    let settings = Settings { scope, workers: usize::from(arguments.workers), listen: arguments.listen.0 };
    tracing::info!(?settings, version = env!("CARGO_PKG_VERSION"), "windlass starts");
    windlass_controller::run(connected.client, settings, stop_signal()?.boxed()).await?;
    tracing::info!("windlass stopped");
    Ok(())
}

fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    let listen =
        |kind| signal(kind).map_err(|error| Failure::Refused(format!("cannot listen for signals: {error}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn start_logging(arguments: &ControllerArguments) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&arguments.log)
        .map_err(|error| Failure::Refused(format!("--log {}: {error}", arguments.log)))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match arguments.log_format {
        LogFormat::Text => {
            let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            builder.with_ansi(terminal).init();
        }
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}
