//! What people do with rollouts: `kubectl windlass get|list|status|promote|pause|resume|abort|restart|why`.

use std::process::ExitCode;

use crate::cli::{Connection, KubectlCommand};
use crate::failure::Failure;

/// Runs one command.
pub(crate) fn run(_connection: &Connection, _command: KubectlCommand) -> Result<ExitCode, Failure> {
    Err(Failure::Refused("being built".to_owned()))
}
