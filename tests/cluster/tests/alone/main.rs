//! What disturbs everybody on a control plane: these tests have one of their own, and run one after another.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod argo;
mod cluster_template;
mod policies;
mod rights;
mod server;
mod uninstall;
mod unreadable;

use tokio::sync::{Mutex, MutexGuard};

/// Promotes the pause that is shown.
const PROMOTE: &str = r#"{"status":{"pauseConditions":null}}"#;

/// The control plane is this test's alone until the answer is dropped.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}
