//! Time, made finite. It is always the same moment; what lies back did so for no time, or for long enough that a hold
//! or a deadline that began then is over. Runs are told apart by when they started, so each has a moment of its own.

use jiff::{SignedDuration, Timestamp};

/// As long as a timed hold lasts and as a run may go without progress.
pub const LONG: SignedDuration = SignedDuration::from_secs(60);

/// How long ago something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// No time at all.
    Now,
    /// Long enough.
    LongAgo,
}

impl Age {
    /// As the engine knows it.
    pub fn at(self) -> Timestamp {
        match self {
            Self::Now => now(),
            Self::LongAgo => now() - LONG,
        }
    }

    /// As the engine told it.
    pub fn read(at: Timestamp) -> Self {
        if at == now() { Self::Now } else { Self::LongAgo }
    }
}

/// It is always this moment.
pub fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24)
}

/// When a run of this number started.
pub fn started(run: u8) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(i64::from(run))
}

/// The number of a run that started then; none when it starts only now.
pub fn number(started_at: Timestamp) -> Option<u8> {
    u8::try_from(started_at.as_second()).ok()
}

/// A moment that nobody looks at.
pub fn some_day() -> Timestamp {
    Timestamp::UNIX_EPOCH
}
