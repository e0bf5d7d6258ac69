//! What to look at, and when: one entry per job, the earlier moment wins, and no job is worked on twice at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::cache::Job;

/// What to look at, and when.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

/// Why jobs wait in the queue instead of being handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// Somebody else leads.
    StandingBy,
    /// Not everything was listed yet, so absence means nothing: neither a workload that is missing nor a pod that is not
    /// there.
    Filling,
}

#[derive(Default)]
struct State {
    due: BTreeSet<(Instant, Job)>,
    at: BTreeMap<Job, Instant>,
    busy: BTreeSet<Job>,
    again: BTreeMap<Job, Instant>,
    holds: BTreeSet<Hold>,
    closed: bool,
}

impl State {
    fn add(&mut self, job: Job, at: Instant) {
        if self.busy.contains(&job) {
            let again = self.again.entry(job).or_insert(at);
            *again = (*again).min(at);
            return;
        }
        match self.at.get(&job) {
            Some(known) if *known <= at => {}
            known => {
                if let Some(known) = known {
                    self.due.remove(&(*known, job.clone()));
                }
                self.at.insert(job.clone(), at);
                self.due.insert((at, job));
            }
        }
    }

    fn take(&mut self, now: Instant) -> Next {
        if self.closed {
            return Next::Closed;
        }
        if !self.holds.is_empty() {
            return Next::Nothing;
        }
        match self.due.first() {
            Some((at, _)) if *at > now => Next::Later(*at),
            Some(_) => match self.due.pop_first() {
                Some((_, job)) => {
                    self.at.remove(&job);
                    self.busy.insert(job.clone());
                    Next::Job(job)
                }
                None => Next::Nothing,
            },
            None => Next::Nothing,
        }
    }
}

enum Next {
    Job(Job),
    Later(Instant),
    Nothing,
    Closed,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Look at these now.
    pub(crate) fn add_all(&self, jobs: impl IntoIterator<Item = Job>) {
        let now = Instant::now();
        let mut state = self.state();
        let mut added = 0;
        for job in jobs {
            state.add(job, now);
            added += 1;
        }
        drop(state);
        for _ in 0..added {
            self.changed.notify_one();
        }
    }

    /// The next job that is due; none when the queue is closed.
    pub(crate) async fn next(&self) -> Option<Job> {
        loop {
            let changed = self.changed.notified();
            let next = self.state().take(Instant::now());
            match next {
                Next::Job(job) => {
                    // Others may be due as well, and a single permit was stored for all of them.
                    self.changed.notify_one();
                    return Some(job);
                }
                Next::Later(at) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(at) => {}
                },
                Next::Nothing => changed.await,
                Next::Closed => {
                    self.changed.notify_one();
                    return None;
                }
            }
        }
    }

    /// The next job, if it is due: for whoever does not wait.
    pub(crate) fn take_due(&self) -> Option<Job> {
        match self.state().take(Instant::now()) {
            Next::Job(job) => Some(job),
            Next::Later(_) | Next::Nothing | Next::Closed => None,
        }
    }

    /// When the next job is due; none while nothing is handed out.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let state = self.state();
        if !state.holds.is_empty() || state.closed {
            return None;
        }
        state.due.first().map(|(at, _)| *at)
    }

    /// The job was looked at; look again at the given moment, or when something changed meanwhile.
    pub(crate) fn done(&self, job: Job, look_again: Option<Instant>) {
        let mut state = self.state();
        state.busy.remove(&job);
        let again = state.again.remove(&job).into_iter().chain(look_again).min();
        if let Some(at) = again {
            state.add(job, at);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Jobs wait in the queue instead of being handed out, until all who hold it let go.
    pub(crate) fn hold(&self, why: Hold) {
        self.state().holds.insert(why);
    }

    /// This reason to wait is gone.
    pub(crate) fn let_go(&self, why: Hold) {
        self.state().holds.remove(&why);
        self.changed.notify_one();
    }

    /// Nothing is handed out any more.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Nothing is being worked on.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().busy.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cache::Key;

    fn job(name: &str) -> Job {
        Job::Rollout(Key { namespace: "data".to_owned(), name: name.to_owned() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_handed_out_once_however_often_it_was_added() {
        let queue = Queue::default();
        queue.add_all([job("a"), job("a"), job("b")]);
        let mut got = vec![queue.next().await.unwrap(), queue.next().await.unwrap()];
        got.sort();
        assert_eq!(got, [job("a"), job("b")]);
        let third = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
        assert!(third.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_during_the_work_leads_to_another_look_after_it() {
        let queue = Queue::default();
        queue.add_all([job("a")]);
        let first = queue.next().await.unwrap();
        queue.add_all([job("a")]);
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.next()).await.is_err());
        queue.done(first, None);
        assert_eq!(queue.next().await, Some(job("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_look_comes_at_its_time_and_a_change_comes_first() {
        let queue = Queue::default();
        queue.add_all([job("a")]);
        let start = Instant::now();
        let first = queue.next().await.unwrap();
        queue.done(first, Some(start + Duration::from_secs(60)));
        let second = queue.next().await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(60));
        queue.done(second, Some(Instant::now() + Duration::from_secs(60)));
        queue.add_all([job("a")]);
        queue.next().await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_held_queue_hands_out_nothing_and_forgets_nothing() {
        let queue = Queue::default();
        queue.hold(Hold::Filling);
        queue.hold(Hold::StandingBy);
        queue.add_all([job("a")]);
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.next()).await.is_err());
        queue.let_go(Hold::StandingBy);
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.next()).await.is_err());
        assert_eq!((queue.take_due(), queue.next_due()), (None, None));
        queue.let_go(Hold::Filling);
        assert_eq!(queue.next().await, Some(job("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_queue_hands_out_nothing_and_wakes_every_worker() {
        let queue = std::sync::Arc::new(Queue::default());
        let workers: Vec<_> = (0..4)
            .map(|_| {
                tokio::spawn({
                    let queue = queue.clone();
                    async move { queue.next().await }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.close();
        for worker in workers {
            assert_eq!(worker.await.unwrap(), None);
        }
    }
}
