//! What disturbs everybody: tests with a control plane of their own, one after another.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod policies;
mod rights;
mod server;
mod uninstall;

/// Each test waits for its turn: they change what all of them stand on.
async fn turn() -> tokio::sync::MutexGuard<'static, ()> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    TURN.lock().await
}
