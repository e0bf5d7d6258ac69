//! Keeps the lease: sees it by a watch, takes and renews it, moves the fence, and gives it back at the end. What to do
//! is decided in `lease`.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use crate::cache::Key;
use crate::clock::Clock;
use crate::lease::{Candidate, Seen, Step};
use crate::retry;
use crate::writer::{WriteError, Writer};

/// How a leader is elected.
#[derive(Clone, Debug)]
pub struct Election {
    /// Where the lease is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Our name.
    pub identity: String,
    /// How long after a crash of the leader another may take over.
    pub duration: Duration,
}

/// Somebody who keeps the lease.
pub(crate) struct Leader {
    election: Election,
    candidate: Candidate,
    writer: Writer,
    clock: Arc<dyn Clock>,
    fence: watch::Sender<Option<Instant>>,
    lease: Option<Lease>,
    seen: Option<Seen>,
    renewed: Option<Instant>,
    /// After a failure nothing is tried before this moment.
    not_before: Instant,
    failures: u32,
}

/// What the rest of the controller is told.
pub(crate) trait Followers: Send + Sync {
    /// We lead from now on.
    fn lead(&self);
    /// Somebody else may lead.
    fn stand_by(&self);
}

impl Leader {
    pub(crate) fn new(
        election: Election,
        writer: Writer,
        clock: Arc<dyn Clock>,
        fence: watch::Sender<Option<Instant>>,
    ) -> Self {
        let candidate = Candidate { me: election.identity.clone(), duration: election.duration };
        Self {
            election,
            candidate,
            writer,
            clock,
            fence,
            lease: None,
            seen: None,
            renewed: None,
            not_before: Instant::now(),
            failures: 0,
        }
    }

    /// Keeps the lease until `stop`, then gives it back.
    pub(crate) async fn keep(mut self, client: Client, followers: Arc<dyn Followers>, stop: Arc<Notify>) {
        let api: Api<Lease> = Api::namespaced(client, &self.election.namespace);
        let only = watcher::Config::default().fields(&format!("metadata.name={}", self.election.name));
        let stream = watcher::watcher(api, only).default_backoff();
        pin_mut!(stream);
        let mut listed = false;
        loop {
            tokio::select! {
                () = stop.notified() => break,
                event = stream.next() => listed |= self.notice(event),
                () = sleep_until(self.next_look()), if listed => self.act().await,
            }
            self.tell(&*followers);
        }
        self.give_back().await;
        self.tell(&*followers);
    }

    /// Takes in what the watch shows. True once the first listing is in: before that, absence means nothing.
    fn notice(&mut self, event: Option<watcher::Result<watcher::Event<Lease>>>) -> bool {
        match event {
            Some(Ok(watcher::Event::Apply(lease) | watcher::Event::InitApply(lease))) => {
                self.take_in(lease);
                false
            }
            Some(Ok(watcher::Event::Delete(_))) => {
                self.forget();
                false
            }
            Some(Ok(watcher::Event::InitDone)) => true,
            Some(Ok(watcher::Event::Init)) | None => false,
            Some(Err(error)) => {
                let (namespace, name) = (&self.election.namespace, &self.election.name);
                tracing::warn!(%error, "cannot watch the lease {namespace}/{name}; trying again");
                false
            }
        }
    }

    fn forget(&mut self) {
        (self.lease, self.seen, self.renewed) = (None, None, None);
    }

    fn take_in(&mut self, lease: Lease) {
        let older = |known: &Lease| version(known) >= version(&lease);
        if self.lease.as_ref().is_some_and(older) {
            return;
        }
        let spec = lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.clone()).filter(|holder| !holder.is_empty());
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        if holder.as_deref() != Some(self.candidate.me.as_str()) {
            self.renewed = None;
        }
        self.seen = Some(Seen {
            holder,
            duration: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
            changed: Instant::now(),
        });
        self.lease = Some(lease);
    }

    /// When something is to be done, or the fence closes.
    fn next_look(&self) -> Instant {
        let now = Instant::now();
        let due = match self.candidate.step(now, self.seen.as_ref(), self.renewed) {
            Step::Wait(until) => until,
            Step::Create | Step::Take | Step::Renew => now,
        };
        let closes = self.renewed.map(|sent| self.candidate.may_write_until(sent)).filter(|&at| at > now);
        closes.into_iter().fold(due.max(self.not_before), Instant::min)
    }

    /// Does what is to be done now.
    async fn act(&mut self) {
        let sent = Instant::now();
        if sent < self.not_before {
            return;
        }
        let wanted = match self.candidate.step(sent, self.seen.as_ref(), self.renewed) {
            Step::Wait(_) => return,
            Step::Create => self.lease_of_mine(None),
            Step::Take | Step::Renew => self.lease_of_mine(self.lease.as_ref()),
        };
        match self.writer.lease(&wanted, self.candidate.time_limit()).await {
            Ok(lease) => {
                self.take_in(lease);
                self.renewed = Some(sent);
                self.failures = 0;
            }
            // Somebody was faster, or has deleted it. The watch would show it, but perhaps not in time.
            Err(WriteError::Stale { .. } | WriteError::Gone { .. }) => {
                self.not_before = sent + self.wait();
                self.read().await;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take or renew the lease; trying again (--leader-elect=false does without)");
                self.not_before = sent + self.wait();
            }
        }
    }

    async fn read(&mut self) {
        let key = Key { namespace: self.election.namespace.clone(), name: self.election.name.clone() };
        match self.writer.read_lease(&key, self.candidate.time_limit()).await {
            Ok(Some(lease)) => self.take_in(lease),
            Ok(None) => self.forget(),
            Err(error) => tracing::warn!(%error, "cannot read the lease; trying again"),
        }
    }

    /// The wait after another failure in a row; never so long that a try would come too late.
    fn wait(&mut self) -> Duration {
        self.failures += 1;
        retry::wait(&self.candidate.me, self.failures).min(self.candidate.duration / 6)
    }

    /// The lease as it is when we hold it.
    fn lease_of_mine(&self, known: Option<&Lease>) -> Lease {
        let now = MicroTime(self.clock.now());
        let spec = known.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let mine = spec.holder_identity.as_deref() == Some(self.candidate.me.as_str());
        let transitions = spec.lease_transitions.unwrap_or_default();
        Lease {
            metadata: known.map_or_else(
                || ObjectMeta {
                    namespace: Some(self.election.namespace.clone()),
                    name: Some(self.election.name.clone()),
                    ..ObjectMeta::default()
                },
                |lease| lease.metadata.clone(),
            ),
            spec: Some(LeaseSpec {
                holder_identity: Some(self.candidate.me.clone()),
                lease_duration_seconds: Some(
                    i32::try_from(self.candidate.duration.as_secs().max(1)).unwrap_or(i32::MAX),
                ),
                acquire_time: if mine { spec.acquire_time } else { Some(now.clone()) },
                renew_time: Some(now),
                lease_transitions: Some(transitions + i32::from(!mine && known.is_some())),
                ..spec
            }),
        }
    }

    /// Moves the fence, and tells the others when it opened or closed.
    fn tell(&self, followers: &dyn Followers) {
        let until = self.renewed.map(|sent| self.candidate.may_write_until(sent));
        let leads = until.is_some_and(|until| Instant::now() < until);
        let led = self.fence.send_replace(until.filter(|_| leads)).is_some();
        match (led, leads) {
            (false, true) => {
                tracing::info!(identity = self.candidate.me, "this controller leads");
                followers.lead();
            }
            (true, false) => {
                tracing::warn!(identity = self.candidate.me, "this controller does not lead any more");
                followers.stand_by();
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Lets another take over at once.
    async fn give_back(&mut self) {
        if self.renewed.take().is_none() {
            return;
        }
        let mut lease = self.lease_of_mine(self.lease.as_ref());
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = None;
        }
        match self.writer.lease(&lease, self.candidate.time_limit()).await {
            Ok(_) => tracing::info!("the lease is given back"),
            Err(error) => {
                tracing::warn!(%error, "the lease could not be given back; it runs out by itself");
            }
        }
    }
}

fn version(lease: &Lease) -> u64 {
    crate::cache::version(&lease.metadata)
}
