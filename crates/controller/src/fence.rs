//! Whether we may write, and until when. The leader election moves the fence; the one place that writes asks it.

use tokio::sync::watch;
use tokio::time::Instant;

/// Whether we may write.
#[derive(Clone)]
pub(crate) enum Fence {
    /// There is no election: always.
    Open,
    /// Until this moment, as long as the lease is ours.
    Leased(watch::Receiver<Option<Instant>>),
}

/// What a write is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// As long as it takes.
    Always,
    /// Until this moment.
    Until(Instant),
    /// Not now.
    No,
}

impl Fence {
    /// What a write that begins now is allowed.
    pub(crate) fn allows(&self, now: Instant) -> Allowed {
        match self {
            Self::Open => Allowed::Always,
            Self::Leased(until) => match *until.borrow() {
                Some(until) if now < until => Allowed::Until(until),
                Some(_) | None => Allowed::No,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nothing_is_allowed_without_the_lease_or_after_its_time() {
        let (move_fence, fence) = watch::channel(None);
        let fence = Fence::Leased(fence);
        let now = Instant::now();
        assert_eq!(fence.allows(now), Allowed::No);
        let until = now + Duration::from_secs(10);
        move_fence.send_replace(Some(until));
        assert_eq!(fence.allows(now), Allowed::Until(until));
        assert_eq!(fence.allows(until), Allowed::No);
        assert_eq!(Fence::Open.allows(now), Allowed::Always);
    }
}
