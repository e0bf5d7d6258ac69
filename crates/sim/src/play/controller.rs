//! One controller in the play: the real one, looked after by the loop. It starts, looks, may crash or be stopped in the
//! middle of a request, and comes back.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;
use windlass_controller::{HolderChoice, Stepper, Witness};
use windlass_workloads::DEFAULT_IDENTITY;

use super::feed::Feed;
use crate::chance::Chance;
use crate::clock::VirtualClock;
use crate::fault::{Faulty, Line};
use crate::judge::Judge;
use crate::readings::{Desk, Samples};
use crate::server::Caller;
use crate::service::Cluster;

/// How long a controller takes to come back after a crash.
const RESTART: Duration = Duration::from_secs(3);
/// How long a start that failed is waited with.
const START_AGAIN: Duration = Duration::from_secs(1);
/// How long the keeper of a lease relies on it after a renewal, and how soon it renews it.
const LEASE_RELIED_ON: Duration = Duration::from_secs(10);
const RENEWAL: Duration = Duration::from_secs(2);

/// What a controller does.
enum Life {
    Down(Instant),
    Starting(BoxFuture<'static, kube::Result<Stepper>>),
    Running(Arc<Stepper>, Feed, Option<BoxFuture<'static, ()>>),
}

/// One controller.
pub(super) struct Controller {
    pub(super) line: Line,
    pub(super) clock: VirtualClock,
    pub(super) stopped_until: Option<Instant>,
    /// Until when it may write; none while it is nobody's leader yet.
    lease: watch::Sender<Option<Instant>>,
    /// Whether it renews its lease.
    renews: bool,
    server: Cluster,
    judge: Judge,
    lags: Option<Chance>,
    life: Life,
    samples: Samples,
    desk: Desk,
    /// Whether it is being started for the first time.
    pub(super) crashes: u64,
}

impl Controller {
    pub(super) fn new(
        server: &Cluster,
        clock: &VirtualClock,
        judge: &Judge,
        mut lags: Option<Chance>,
        samples: &Samples,
    ) -> Self {
        Self {
            line: Line::new(lags.as_mut().map(|lags| lags.fork(1)), judge.clone()),
            clock: clock.another(),
            stopped_until: None,
            lease: watch::Sender::new(None),
            renews: true,
            server: server.clone(),
            judge: judge.clone(),
            lags,
            life: Life::Down(Instant::now()),
            samples: samples.clone(),
            desk: Desk::new(samples),
            crashes: 0,
        }
    }

    /// When it has something to do, whatever happens.
    pub(super) fn next(&self) -> Option<Instant> {
        if let Some(until) = self.stopped_until {
            return Some(until);
        }
        match &self.life {
            Life::Down(until) => Some(*until),
            Life::Starting(_) => None,
            Life::Running(stepper, feed, None) => {
                stepper.next_look().into_iter().chain(feed.next()).chain(self.desk.next()).min()
            }
            // Whatever a request takes, the lease is renewed meanwhile.
            Life::Running(_, feed, Some(_)) => {
                feed.next().into_iter().chain(self.next_renewal()).chain(self.desk.next()).min()
            }
        }
    }

    /// Nothing is under way, and nothing waits to be looked at before `at`.
    pub(super) fn is_quiet(&self, at: Instant) -> bool {
        self.stopped_until.is_none()
            && match &self.life {
                Life::Down(_) | Life::Starting(_) | Life::Running(_, _, Some(_)) => false,
                Life::Running(stepper, feed, None) => {
                    feed.next().is_none()
                        && stepper.next_look().is_none_or(|look| look > at)
                        && self.desk.next().is_none()
                }
            }
    }

    /// Ends it as a crash does: what it was doing is dropped where it was.
    pub(super) fn crash(&mut self) {
        self.crashes += 1;
        self.life = Life::Down(Instant::now() + RESTART);
        self.desk = Desk::new(&self.samples);
        self.line.disarm();
    }

    /// It is stopped for longer than its lease lasts: somebody else will lead.
    pub(super) fn lose_the_lease(&mut self) {
        self.renew();
        self.renews = false;
    }

    fn next_renewal(&self) -> Option<Instant> {
        let until = (*self.lease.borrow())?;
        self.renews.then(|| until - LEASE_RELIED_ON + RENEWAL)
    }

    /// In good time, as the election does it. A request relies on what was known when it began.
    fn renew(&self) {
        if self.renews {
            self.lease.send_replace(Some(Instant::now() + LEASE_RELIED_ON));
        }
    }

    /// The watches end and begin anew.
    pub(super) fn feed(&mut self) -> Option<&mut Feed> {
        match &mut self.life {
            Life::Running(_, feed, _) => Some(feed),
            Life::Down(_) | Life::Starting(_) => None,
        }
    }

    /// Nobody is late any more, and nothing breaks.
    pub(super) fn be_well(&mut self) {
        self.line.be_well();
        self.clock.correct();
        self.lags = None;
        if let Some(feed) = self.feed() {
            feed.be_prompt();
        }
    }

    /// Takes in what happened and begins what is due. True if it began something.
    pub(super) fn tend(&mut self) -> bool {
        if self.stopped_until.is_some_and(|until| until > Instant::now()) {
            return false;
        }
        self.stopped_until = None;
        self.renew();
        match &mut self.life {
            Life::Down(until) if *until > Instant::now() => false,
            Life::Down(_) => {
                self.life = Life::Starting(self.starting());
                true
            }
            Life::Starting(_) => false,
            Life::Running(stepper, feed, look) => {
                self.server.with(|server, _| {
                    feed.collect(server.store());
                    feed.deliver(server.store(), stepper);
                });
                self.desk.deliver(Instant::now());
                if look.is_some() || stepper.next_look().is_none_or(|due| due > Instant::now()) {
                    return false;
                }
                let stepper = Arc::clone(stepper);
                let looked = async move {
                    Box::pin(stepper.look()).await;
                };
                *look = Some(looked.boxed());
                true
            }
        }
    }

    fn starting(&self) -> BoxFuture<'static, kube::Result<Stepper>> {
        let service = self.server.service(Caller::new(DEFAULT_IDENTITY));
        let client =
            kube::Client::new(Faulty::new(service, self.line.clone(), self.server.clone()), "default");
        let witness: Arc<dyn Witness> = Arc::new(self.judge.clone());
        let clock = Arc::new(self.clock.clone());
        let (lease, gauge) = (self.lease.subscribe(), Arc::new(self.desk.clone()));
        Stepper::start(client, HolderChoice::FindOut, clock, Some(lease), Some(witness), gauge).boxed()
    }

    /// Goes on with what is under way. Ready when a part of it is done.
    pub(super) fn poll(&mut self, context: &mut std::task::Context<'_>) -> Poll<()> {
        if self.stopped_until.is_some() {
            return Poll::Pending;
        }
        match &mut self.life {
            Life::Down(_) | Life::Running(_, _, None) => Poll::Pending,
            Life::Starting(start) => match start.poll_unpin(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(stepper)) => {
                    let lags = self.lags.as_mut().map(|lags| lags.fork(2));
                    let feed = self.server.with(|server, _| Feed::new(server.store(), lags));
                    self.life = Life::Running(Arc::new(stepper), feed, None);
                    Poll::Ready(())
                }
                Poll::Ready(Err(_)) => {
                    self.life = Life::Down(Instant::now() + START_AGAIN);
                    Poll::Ready(())
                }
            },
            Life::Running(_, _, look) => match look.as_mut().map(|look| look.poll_unpin(context)) {
                Some(Poll::Ready(())) => {
                    *look = None;
                    Poll::Ready(())
                }
                Some(Poll::Pending) | None => Poll::Pending,
            },
        }
    }
}
