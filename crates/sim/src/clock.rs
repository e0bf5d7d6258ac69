//! Virtual time: tokio's clock, which jumps when nobody has anything to do, counted from a day that is always the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use windlass_controller::Clock;

/// The moment at which every simulation starts.
pub const ORIGIN: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// The time of a simulated cluster.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    start: Instant,
    /// How far this clock is off the truth.
    off: Arc<AtomicI64>,
}

impl VirtualClock {
    /// A clock that shows the first moment now.
    pub fn start() -> Self {
        Self { start: Instant::now(), off: Arc::default() }
    }

    /// Another clock for the same time, which can be moved by itself.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { start: self.start, off: Arc::default() }
    }

    /// Moves what this clock shows.
    pub fn shift(&self, seconds: i64) {
        self.off.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Shows the truth again.
    pub fn correct(&self) {
        self.off.store(0, Ordering::Relaxed);
    }

    /// What tokio's clock shows at a moment of this one.
    pub fn instant(&self, at: Timestamp) -> Instant {
        let since = Duration::try_from(at.duration_since(ORIGIN)).unwrap_or_default();
        self.start + since
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        let off = SignedDuration::from_secs(self.off.load(Ordering::Relaxed));
        ORIGIN.checked_add(passed).and_then(|at| at.checked_add(off)).unwrap_or(Timestamp::MAX)
    }
}
