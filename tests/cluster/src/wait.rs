//! Waiting for a condition, with a deadline. The only place in the tests where time passes by itself.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a condition may take before the test fails. Generous: the machine may be busy.
pub const DEADLINE: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);

/// Waits until `look` finds something.
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(DEADLINE, what, look).await
}

/// Waits until `look` finds something, for so long.
pub async fn until_within<T>(deadline: Duration, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < deadline, "waited {} s in vain until {what}", deadline.as_secs());
        sleep(BETWEEN_LOOKS).await;
    }
}

/// What the API server answers; it is asked again while it is away.
pub async fn asked<T>(what: &str, mut ask: impl AsyncFnMut() -> kube::Result<T>) -> T {
    until(&format!("the API server answers: {what}"), async || match ask().await {
        Ok(answer) => Some(answer),
        Err(kube::Error::Api(refusal)) if refusal.code < 500 && refusal.code != 429 => {
            panic!("{what}: {refusal}")
        }
        Err(_) => None,
    })
    .await
}
