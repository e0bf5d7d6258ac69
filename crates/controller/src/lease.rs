//! The step of a leader election, pure: who holds the lease, and what we do about it. A lease is judged by when we saw
//! it change, never by the times written in it, so clocks of other machines do not matter.

use std::time::Duration;

use tokio::time::Instant;

/// A lease as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Who holds it; nobody if it was given back.
    pub(crate) holder: Option<String>,
    /// For how long after a renewal it is theirs.
    pub(crate) duration: Duration,
    /// When we saw its latest change.
    pub(crate) changed: Instant,
}

/// What we are and want.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Our name.
    pub(crate) me: String,
    /// For how long after a renewal the lease is to be ours.
    pub(crate) duration: Duration,
}

/// What to do about the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is none: make it.
    Create,
    /// It is nobody's, or its holder has not been heard of for too long: take it.
    Take,
    /// It is ours, and it is time to say so again.
    Renew,
    /// Nothing, until it changes or this moment has come.
    Wait(Instant),
}

impl Candidate {
    /// How often the lease is renewed: three times before it would run out.
    fn renewal(&self) -> Duration {
        self.duration / 3
    }

    /// How long an answer about the lease is waited for: a second try is then still in time to go on writing.
    pub(crate) fn time_limit(&self) -> Duration {
        self.duration / 4
    }

    /// Until when we may write, after a renewal that was sent at `sent`. Others wait for the whole duration, and they
    /// begin to count later; the last third is for requests that are still on their way.
    pub(crate) fn may_write_until(&self, sent: Instant) -> Instant {
        sent + self.renewal() * 2
    }

    /// What to do now; `renewed` is when we last sent a renewal that succeeded.
    pub(crate) fn step(&self, now: Instant, seen: Option<&Seen>, renewed: Option<Instant>) -> Step {
        let Some(seen) = seen else { return Step::Create };
        match (&seen.holder, renewed) {
            (None, _) => Step::Take,
            (Some(holder), Some(renewed)) if *holder == self.me => {
                let due = renewed + self.renewal();
                if due <= now { Step::Renew } else { Step::Wait(due) }
            }
            // Ours by name, but not by any renewal we know of: say so at once.
            (Some(holder), None) if *holder == self.me => Step::Renew,
            (Some(_), _) => {
                let free = seen.changed + seen.duration;
                if free <= now { Step::Take } else { Step::Wait(free) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_secs(15);

    fn candidate() -> Candidate {
        Candidate { me: "a".to_owned(), duration: TERM }
    }

    fn held_by(holder: Option<&str>, changed: Instant) -> Seen {
        Seen { holder: holder.map(str::to_owned), duration: TERM, changed }
    }

    #[test]
    fn a_lease_that_is_missing_is_made_and_one_that_was_given_back_is_taken_at_once() {
        let now = Instant::now();
        assert_eq!(candidate().step(now, None, None), Step::Create);
        assert_eq!(candidate().step(now, Some(&held_by(None, now)), None), Step::Take);
    }

    #[test]
    fn anothers_lease_is_taken_only_when_it_has_not_changed_for_its_whole_duration() {
        let start = Instant::now();
        let seen = held_by(Some("b"), start);
        let almost = start + TERM - Duration::from_millis(1);
        assert_eq!(candidate().step(almost, Some(&seen), None), Step::Wait(start + TERM));
        assert_eq!(candidate().step(start + TERM, Some(&seen), None), Step::Take);
    }

    #[test]
    fn our_own_lease_is_renewed_three_times_before_it_would_run_out() {
        let start = Instant::now();
        let seen = held_by(Some("a"), start);
        assert_eq!(candidate().step(start, Some(&seen), Some(start)), Step::Wait(start + TERM / 3));
        assert_eq!(candidate().step(start + TERM / 3, Some(&seen), Some(start)), Step::Renew);
    }

    #[test]
    fn a_renewal_whose_answer_never_comes_leaves_time_for_another() {
        let candidate = candidate();
        let renewed = Instant::now();
        let given_up = renewed + candidate.renewal() + candidate.time_limit();
        assert!(given_up < candidate.may_write_until(renewed));
    }

    #[test]
    fn a_leader_stops_writing_before_anybody_else_may_begin() {
        let sent = Instant::now();
        let stops = candidate().may_write_until(sent);
        // Another saw the renewal no earlier than it was sent.
        let seen = held_by(Some("a"), sent);
        let other = Candidate { me: "b".to_owned(), duration: TERM };
        assert_eq!(other.step(stops, Some(&seen), None), Step::Wait(sent + TERM));
        assert!(sent + TERM - stops >= TERM / 3);
    }
}
