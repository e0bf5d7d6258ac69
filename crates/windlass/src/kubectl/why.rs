//! `why`: what a rollout waits for, in full.

use std::process::ExitCode;

use jiff::Timestamp;

use super::reach::Reach;
use super::render;
use super::terminal::Terminal;
use crate::failure::Failure;

/// Says why a rollout is not further.
pub(super) async fn why(reach: &Reach, name: &str) -> Result<ExitCode, Failure> {
    let rollout = reach.rollout(name).await?;
    let checks = reach.checks(name).await;
    let terminal = Terminal::new();
    terminal.print(&render::why(Timestamp::now(), &rollout, &checks, terminal.columns()))?;
    Ok(ExitCode::SUCCESS)
}
