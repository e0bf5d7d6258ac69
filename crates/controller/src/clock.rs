//! Where the time of day comes from. People read it and pauses are counted by it, so it must be the wall's; in the
//! simulator it is virtual. What only has to pass is measured with tokio's clock, which the simulator moves as well.

use jiff::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The clock on the wall.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    #[expect(clippy::disallowed_methods, reason = "the one place of the controller that reads the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
