//! Plays a script with the whole controller: its own watches, queue, workers, retries and leader election, as tasks on
//! tokio's paused clock. Two of them stand for one lease. It finds what is wrong with the wiring; it is not repeatable to
//! the last bit, because tokio's own chance is in it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use windlass_controller::{Clock, Election, Gauges, HolderChoice, Scope, Settings, StandaloneRuns};
use windlass_workloads::DEFAULT_IDENTITY;

use crate::actors::everybody;
use crate::cast::Cast;
use crate::clock::VirtualClock;
use crate::deed;
use crate::fault::{Faulty, Line as Wire};
use crate::judge::{Judge, Violation};
use crate::play::{Help, SOON, Statistics, amends, furnish, help, holds, is_asked};
use crate::readings::{Prompt, Samples};
use crate::script::{Condition, Deed, Fault, Line, Script};
use crate::server::Caller;
use crate::service::Cluster;
use crate::start::Start;

/// How long a `wait` may take.
const PATIENCE: Duration = Duration::from_secs(7200);
/// How long a controller takes to come back after a crash.
const RESTART: Duration = Duration::from_secs(3);
/// The lease, as it is usual.
const LEASE: Duration = Duration::from_secs(15);
/// Rounds of "whatever is still needed" at the end.
const ROUNDS: usize = 60;
/// Between two looks of somebody who only waits for time to pass.
const ROUND: Duration = Duration::from_secs(1200);

/// What came of a script.
pub struct Rehearsed {
    /// What must never be, and was.
    pub violations: Vec<Violation>,
    /// Figures.
    pub statistics: Statistics,
}

/// Plays a script with two whole controllers, to a stable end.
pub fn rehearse(script: &Script) -> std::io::Result<Rehearsed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(async { Rehearsal::new(Start::from(&script.given)).play(&script.lines).await }))
}

struct Rehearsal {
    start: Start,
    cluster: Cluster,
    cast: Arc<Mutex<Cast>>,
    clock: VirtualClock,
    judge: Judge,
    wires: Vec<Wire>,
    clocks: Vec<VirtualClock>,
    tasks: JoinSet<()>,
    samples: Samples,
    /// Pods that fate was asked to do something to.
    ordered: BTreeSet<String>,
    statistics: Statistics,
}

impl Rehearsal {
    fn new(start: Start) -> Self {
        let clock = VirtualClock::start();
        let (server, _) = furnish(&start, clock.now());
        let cluster = Cluster::new(server, Arc::new(clock.clone()));
        let judge = Judge::default();
        judge.starts_with(start.image());
        let samples = Samples::default();
        start.samples.iter().for_each(|(metric, sample)| samples.set(metric, sample.clone()));
        let cast = Arc::new(Mutex::new(Cast::new(everybody(start.seed.unwrap_or_default()), None)));
        let mut rehearsal = Self {
            start,
            cluster,
            cast,
            clock,
            judge,
            samples,
            wires: Vec::new(),
            clocks: Vec::new(),
            tasks: JoinSet::new(),
            ordered: BTreeSet::new(),
            statistics: Statistics::default(),
        };
        rehearsal.tasks.spawn(act(
            rehearsal.cluster.clone(),
            Arc::clone(&rehearsal.cast),
            rehearsal.judge.clone(),
        ));
        for identity in ["first", "second"] {
            rehearsal.engage(identity);
        }
        rehearsal
    }

    /// One more controller, which comes back whenever it crashes.
    fn engage(&mut self, identity: &str) {
        let wire = Wire::of_candidate(self.judge.clone(), identity);
        let clock = self.clock.another();
        self.wires.push(wire.clone());
        self.clocks.push(clock.clone());
        let (judge, samples) = (self.judge.clone(), self.samples.clone());
        self.tasks.spawn(control(self.cluster.clone(), wire, clock, judge, samples, identity.to_owned()));
    }

    async fn play(mut self, lines: &[Line]) -> Rehearsed {
        let ready = self.start.ready();
        if !self.wait(&ready).await {
            self.judge.find(self.clock.now(), "start", format!("`wait {ready}` never came"));
        }
        for line in lines {
            match line {
                Line::Wait(condition) => drop(self.wait(condition).await),
                Line::Pass(time) => sleep(*time).await,
                Line::Do(deed) => self.deed(deed),
                Line::Break(fault) => self.fault(fault),
            }
        }
        self.come_to_an_end().await;
        for wire in &self.wires {
            self.statistics.requests += u64::from(wire.requests());
            self.statistics.writes += wire.writes();
        }
        self.statistics.decisions = self.judge.decisions();
        self.statistics.verdicts = self.judge.verdicts();
        self.statistics.answers = self.samples.answers();
        Rehearsed { violations: self.judge.found(), statistics: self.statistics }
    }

    fn deed(&mut self, deed: &Deed) {
        let start = &self.start;
        for order in deed::orders(deed, start) {
            lock(&self.cast).order(self.clock.now(), &order);
        }
        match deed {
            Deed::Pod(pod, _) => drop(self.ordered.insert(pod.clone())),
            Deed::Metric(metric, sample) => self.samples.set(metric, sample.clone()),
            _ => {}
        }
        let done = self.cluster.with(|server, now| {
            let acts = deed::acts(deed, start, server.store());
            let refused = acts.iter().any(|act| act.send(now, &deed::person(), server).is_err());
            if let (Deed::Image(image), true) = (deed, refused) {
                return deed::held_image(image, start).send(now, &deed::person(), server).is_ok();
            }
            !refused
        });
        if done {
            self.judge.deed(deed);
        }
    }

    /// The first controller has the faults; whatever it cannot be made to suffer here is a crash.
    fn fault(&mut self, fault: &Fault) {
        *self.statistics.faults.entry(fault.kind()).or_default() += 1;
        let (Some(wire), Some(clock)) = (self.wires.first(), self.clocks.first()) else { return };
        if wire.arm(fault) {
            return;
        }
        match fault {
            Fault::Clock(seconds) => {
                clock.shift(*seconds);
                self.judge.clock_moved();
            }
            Fault::Relist | Fault::Repeat | Fault::Late(..) => wire.cut(),
            _ => wire.end(),
        }
    }

    /// True once it is so.
    async fn wait(&self, condition: &Condition) -> bool {
        let until = Instant::now() + PATIENCE;
        let mut written = self.cluster.written();
        while !self.cluster.with(|server, now| holds(condition, now, server.store())) {
            // Time alone may make it so: availability has no write.
            let soon = until.min(Instant::now() + Duration::from_secs(1));
            if Instant::now() >= until
                || timeout_at(soon, written.changed()).await.is_ok_and(|it| it.is_err())
            {
                return false;
            }
        }
        true
    }

    async fn come_to_an_end(&mut self) {
        self.wires.iter().for_each(Wire::be_well);
        self.samples.be_well();
        self.clocks.iter().for_each(VirtualClock::correct);
        let ordered = std::mem::take(&mut self.ordered);
        for deed in amends(&self.start, &ordered) {
            self.deed(&deed);
        }
        for round in 0..ROUNDS {
            sleep(SOON).await;
            if !self.cluster.with(|server, _| is_asked(&help(server.store(), round))) {
                sleep(ROUND).await;
            }
            let help = match self.cluster.with(|server, _| help(server.store(), round)) {
                Help::Deed(help) => help,
                Help::Time => continue,
                Help::Nothing => break,
            };
            self.deed(&help);
            if let Deed::Image(_) = help {
                sleep(Duration::from_secs(10)).await;
                self.deed(&Deed::PromoteFull);
            }
        }
        sleep(ROUND).await;
        let judge = self.judge.clone();
        self.cluster.with(|server, now| judge.at_the_end(now, server.store()));
        let writes = || self.wires.iter().map(Wire::writes).sum::<u64>();
        let before = writes();
        sleep(ROUND).await;
        if writes() > before {
            let more = writes() - before;
            self.judge.find(self.clock.now(), "rule 7", format!("{more} writes at rest"));
        }
    }
}

fn lock(cast: &Mutex<Cast>) -> MutexGuard<'_, Cast> {
    cast.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cluster's own: they wake at every write, and when they asked to.
async fn act(cluster: Cluster, cast: Arc<Mutex<Cast>>, judge: Judge) {
    let mut written = cluster.written();
    loop {
        written.borrow_and_update();
        let wait = cluster.with(|server, now| {
            let mut cast = lock(&cast);
            cast.play(now, server);
            judge.catch_up(now, server.store(), None);
            cast.next(now).map(|next| Duration::try_from(next.duration_since(now)).unwrap_or_default())
        });
        let due = Instant::now() + wait.unwrap_or(Duration::from_secs(1));
        tokio::select! {
            changed = written.changed() => if changed.is_err() { return },
            // An order of fate is no write: it is looked for now and then.
            () = sleep_until(due.min(Instant::now() + Duration::from_secs(1))) => {}
        }
    }
}

/// A controller, again and again.
async fn control(
    cluster: Cluster,
    wire: Wire,
    clock: VirtualClock,
    judge: Judge,
    samples: Samples,
    identity: String,
) {
    loop {
        let service = cluster.service(Caller::new(DEFAULT_IDENTITY));
        let client = kube::Client::new(Faulty::new(service, wire.clone(), cluster.clone()), "default");
        let election = Election {
            namespace: "windlass".to_owned(),
            name: "windlass".to_owned(),
            identity: identity.clone(),
            duration: LEASE,
        };
        let settings = Settings {
            scope: Scope::Cluster,
            home: "windlass".to_owned(),
            instance: None,
            workers: 2,
            listen: None,
            hold: HolderChoice::FindOut,
            election: Some(election),
            witness: Some(Arc::new(judge.clone())),
            standalone_runs: StandaloneRuns::Serve,
            gauge: Some(Gauges(Arc::new(Prompt(samples.clone())))),
        };
        let clock = Arc::new(clock.clone());
        let never = std::future::pending().boxed();
        tokio::select! {
            _ = Box::pin(windlass_controller::run(client, settings, clock, never)) => {}
            () = wire.crashed() => {}
        }
        wire.disarm();
        sleep(RESTART).await;
    }
}
