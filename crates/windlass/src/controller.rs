//! `windlass controller`: logging, signals, and the shell.

use std::process::ExitCode;
use std::sync::Arc;

use futures::FutureExt;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use windlass_controller::{Election, HolderChoice, Scope, Settings, StandaloneRuns, WallClock};
use windlass_workloads::Holder;

use crate::cli::{Connection, ControllerArguments, HoldArgument, LogFormat, StandaloneArgument};
use crate::connect::connect_with;
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
    let connected = connect_with(connection, Some(arguments.watch_silence)).await?;
    let settings = Settings {
        scope,
        home: home(connection, arguments),
        instance: arguments.instance.clone(),
        workers: usize::from(arguments.workers),
        listen: arguments.listen.0,
        hold: match arguments.hold {
            HoldArgument::Auto => HolderChoice::FindOut,
            HoldArgument::Policy => HolderChoice::Always(Holder::Policy),
            HoldArgument::Partition => HolderChoice::Always(Holder::Partition),
        },
        election: arguments.leader_elect.then(|| election(connection, arguments)),
        witness: None,
        standalone_runs: match arguments.standalone_runs {
            StandaloneArgument::Auto => StandaloneRuns::FindOut,
            StandaloneArgument::Serve => StandaloneRuns::Serve,
            StandaloneArgument::Leave => StandaloneRuns::Leave,
        },
        gauge: None,
    };
    tracing::info!(?settings, version = env!("CARGO_PKG_VERSION"), "windlass starts");
    windlass_controller::run(connected.client, settings, Arc::new(WallClock), stop_signal()?.boxed()).await?;
    tracing::info!("windlass stopped");
    Ok(())
}

/// One lease per instance: two instances do not stand in each other's way.
pub(crate) fn lease_name(instance: Option<&str>) -> String {
    match instance {
        Some(instance) => format!("windlass-{}", instance.to_lowercase().replace('_', "-")),
        None => "windlass".to_owned(),
    }
}

/// The controller's own namespace. It is not that of the kubeconfig's context, which is whatever its owner looked at last.
fn home(connection: &Connection, arguments: &ControllerArguments) -> String {
    connection.namespace.clone().unwrap_or_else(|| arguments.lease_namespace.clone())
}

fn election(connection: &Connection, arguments: &ControllerArguments) -> Election {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "windlass".to_owned());
    let started = jiff::Timestamp::now().as_nanosecond();
    Election {
        namespace: home(connection, arguments),
        name: lease_name(arguments.instance.as_deref()),
        identity: format!("{host}_{}_{started:x}", std::process::id()),
        duration: arguments.lease_duration,
    }
}

/// Ready when somebody asks the program to end.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn the_controller_is_at_home_where_its_lease_is_whatever_the_context_says() {
        let at_home = |flags: &[&str]| {
            let line =
                [&["windlass", "controller", "--lease-namespace=ops", "--context=shop"], flags].concat();
            let cli = Cli::parse_from(line);
            let Command::Controller(arguments) = cli.command else { unreachable!("the line names it") };
            let home = home(&cli.connection, &arguments);
            assert_eq!(election(&cli.connection, &arguments).namespace, home);
            home
        };
        assert_eq!(at_home(&[]), "ops");
        assert_eq!(at_home(&["--namespace=data"]), "data");
    }
}
