//! Waiting for a condition, with a deadline. The only place in the tests where time passes by itself.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a condition may take before the test fails. Generous: the machine may be busy.
pub const DEADLINE: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);
/// How soon a server that went away is asked again.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Waits until `look` finds something.
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(DEADLINE, what, look).await
}

/// Waits until `look` finds something, for so long.
pub async fn until_within<T>(deadline: Duration, what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = found_within(deadline, look).await;
    assert!(found.is_some(), "waited {} s in vain until {what}", deadline.as_secs());
    found.unwrap()
}

/// What `look` finds, if it finds something in this time.
pub async fn found_within<T>(deadline: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = look().await;
        if found.is_some() || start.elapsed() >= deadline {
            return found;
        }
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Before a server that went away is asked again.
pub async fn before_the_next_try() {
    sleep(BETWEEN_TRIES).await;
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
