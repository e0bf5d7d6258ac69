//! What people do with rollouts: `kubectl windlass get|list|status|promote|pause|resume|abort|restart|why|doctor`.
//!
//! `render` is pure and makes every screen from a `Picture`; `reach` and `follow` get pictures from the cluster; `permit`
//! knows what makes sense; the rest are the commands.

pub(crate) mod act;
mod checks;
mod doctor;
#[cfg(test)]
mod fixtures;
mod follow;
mod get;
mod list;
mod permit;
mod picture;
mod reach;
pub(crate) mod render;
pub(crate) mod status;
mod terminal;
mod why;

use std::process::ExitCode;

use windlass_engine::Intent;

pub(crate) use self::follow::Follow;
pub(crate) use self::get::serialised;
pub(crate) use self::picture::Picture;
pub(crate) use self::reach::Reach;
pub(crate) use self::terminal::Terminal;

use crate::cli::{Connection, KubectlCommand};
use crate::connect::connect;
use crate::failure::Failure;

/// Runs one command.
pub(crate) fn run(connection: &Connection, command: KubectlCommand) -> Result<ExitCode, Failure> {
    match in_runtime(serve(connection, command)) {
        Err(Failure::PipeClosed) => Ok(ExitCode::SUCCESS),
        result => result,
    }
}

/// Does something that talks to a cluster.
pub(crate) fn in_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Refused(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(work)
}

async fn serve(connection: &Connection, command: KubectlCommand) -> Result<ExitCode, Failure> {
    let reach = &Reach::new(connect(connection).await?);
    match command {
        KubectlCommand::Get { name, watch, output } => get::get(reach, &name.name, watch, output).await,
        KubectlCommand::List { all_namespaces, output } => list::list(reach, all_namespaces, output).await,
        KubectlCommand::Status { name, timeout } => status::status(reach, &name.name, timeout).await,
        KubectlCommand::Promote { name, full: false } => act::promote(reach, &name.name).await,
        KubectlCommand::Promote { name, full: true } => {
            act::trigger(reach, &name.name, Intent::PromoteFull).await
        }
        KubectlCommand::Pause { name } => act::pause(reach, &name.name).await,
        KubectlCommand::Resume { name } => act::resume(reach, &name.name).await,
        KubectlCommand::Abort { name } => act::trigger(reach, &name.name, Intent::Abort).await,
        KubectlCommand::Restart { name } => act::trigger(reach, &name.name, Intent::Restart).await,
        KubectlCommand::Why { name } => why::why(reach, &name.name).await,
        KubectlCommand::Doctor(arguments) => doctor::doctor(reach, &arguments).await,
    }
}
