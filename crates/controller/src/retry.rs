//! The one retry policy: doubling waits with a spread, so that a thousand rollouts that failed together do not come
//! back together. The spread is made from the name and not from a random source: the same history gives the same waits.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The first wait. Most failures are over by then: a conflict, or a server that was busy for a moment.
const FIRST: Duration = Duration::from_millis(50);
/// The longest wait: a mended permission is felt within half a minute.
const LONGEST: Duration = Duration::from_secs(30);

/// A move whose answer did not come this often in a row is told. Less is nothing: the next look may find it done.
pub(crate) const UNSURE_BEFORE_TOLD: u32 = 3;
/// Events matter less than the work: one that cannot be sent does not hold it up for more tries than this.
pub(crate) const TRIES_OF_AN_EVENT: u32 = 3;

/// How long to wait after `failures` failures in a row (at least one): between half and all of the doubled wait.
pub(crate) fn wait(job: &impl Hash, failures: u32) -> Duration {
    let doubled =
        FIRST.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1).min(16)).unwrap_or(u32::MAX));
    let full = doubled.min(LONGEST);
    let mut hasher = DefaultHasher::new();
    (job, failures).hash(&mut hasher);
    let share = u32::try_from(hasher.finish() % 512).unwrap_or_default();
    full / 2 + full.saturating_mul(share) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Job, Key};

    #[test]
    fn waits_double_spread_and_stay_below_the_longest() {
        let job = |name: &str| Job::Rollout(Key { namespace: "data".to_owned(), name: name.to_owned() });
        for failures in 1..40 {
            let full = FIRST.saturating_mul(2_u32.saturating_pow(failures - 1)).min(LONGEST);
            let waited = wait(&job("web"), failures);
            assert!(waited >= full / 2 && waited <= full, "{failures}: {waited:?} of {full:?}");
        }
        assert_ne!(wait(&job("web"), 8), wait(&job("shop"), 8));
    }
}
