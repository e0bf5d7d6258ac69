//! Plays a script: the controller's own logic and everybody else in the cluster, in virtual time, one thing after the
//! other. The same script gives the same history, to the last bit.

mod attend;
mod controller;
mod end;
mod feed;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};
use windlass_controller::Clock;

use crate::actors::everybody;
use crate::cast::Cast;
use crate::chance::Chance;
use crate::clock::VirtualClock;
use crate::deed;
use crate::judge::{Judge, Violation};
use crate::readings::Samples;
use crate::script::{Condition, Deed, Fault, Line, Script};
use crate::service::Cluster;
use crate::start::Start;
use crate::store::Store;
use crate::timeline::Timeline;
use crate::trace::Checkpoint;

use controller::Controller;

pub use end::holds;
pub(crate) use end::{Help, amends, furnish, help, is_asked};

pub use attend::{Attendance, Attended, Over, attend};

/// How long a `wait` of a script may take.
const PATIENCE: Duration = Duration::from_secs(86_400);
/// How long a lease holds after its keeper was last heard of.
const LEASE: Duration = Duration::from_secs(15);
/// How long a controller that lost its lease is watched, to see that it writes nothing.
const AFTERMATH: Duration = Duration::from_secs(60);
/// How long a round takes that nobody is asked for in.
const ROUND: Duration = Duration::from_secs(1170);
/// How long what was done last takes to show.
pub(crate) const SOON: Duration = Duration::from_secs(30);
/// How that begins which was wrong before the first line.
pub(crate) const AT_START: &str = "start: ";
/// Rounds of "whatever is still needed" at the end, before it counts as never ending.
const ROUNDS: usize = 60;

/// What came of a script.
pub struct Outcome {
    /// What happened.
    pub timeline: Timeline,
    /// What must never be, and was.
    pub violations: Vec<Violation>,
    /// Lines that could not be played, and why.
    pub stuck: Vec<String>,
    /// When a script waited for quiet.
    pub rests: Vec<Checkpoint>,
    /// Figures.
    pub statistics: Statistics,
    /// The cluster as it is at the end.
    pub store: Store,
    /// When it ended.
    pub ended: Timestamp,
}

/// Figures of one or many plays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// How often something broke, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Requests of the controllers.
    pub requests: u64,
    /// Those that changed something.
    pub writes: u64,
    /// Decisions.
    pub decisions: u64,
    /// What analyses came to, by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// What metrics answered, by kind.
    pub answers: BTreeMap<&'static str, u64>,
}

impl Statistics {
    /// Adds the figures of another play.
    pub fn add(&mut self, other: &Self) {
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        self.requests += other.requests;
        self.writes += other.writes;
        self.decisions += other.decisions;
        for (verdict, count) in &other.verdicts {
            *self.verdicts.entry(verdict.clone()).or_default() += count;
        }
        for (answer, count) in &other.answers {
            *self.answers.entry(answer).or_default() += count;
        }
    }
}

/// How a play ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the last line.
    AtOnce,
    /// When nobody disturbs any more, a person helps where one is asked for, and the run has ended.
    WhenStable,
}

/// Plays a script to its end.
pub fn play(script: &Script, ending: Ending) -> std::io::Result<Outcome> {
    play_from(Start::from(&script.given), &script.lines, ending)
}

/// Plays what happens to a set and its rollout.
pub fn play_from(start: Start, lines: &[Line], ending: Ending) -> std::io::Result<Outcome> {
    Ok(runtime()?.block_on(async { Player::new(start).play(lines, ending).await }))
}

/// One thread, whose time jumps when nobody has anything to do.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()
}

struct Player {
    cluster: Cluster,
    cast: Cast,
    clock: VirtualClock,
    start: Start,
    controllers: Vec<Controller>,
    samples: Samples,
    judge: Judge,
    /// It was given up, because it goes in circles.
    restless: bool,
    timeline: Timeline,
    noted: u64,
    chance: Option<Chance>,
    stuck: Vec<String>,
    rests: Vec<Checkpoint>,
    statistics: Statistics,
    /// Pods that fate was asked to do something to.
    ordered: BTreeSet<String>,
    takeover: Option<Instant>,
    retire: Option<Instant>,
}

impl Player {
    fn new(start: Start) -> Self {
        let clock = VirtualClock::start();
        let (server, stuck) = furnish(&start, clock.now());
        let mut chance = start.seed.map(Chance::new);
        let cluster = Cluster::new(server, Arc::new(clock.clone()));
        let judge = Judge::default();
        judge.starts_with(start.image());
        let cast = Cast::new(everybody(start.seed.unwrap_or_default()), chance.as_mut().map(|it| it.fork(3)));
        let samples = Samples::default();
        start.samples.iter().for_each(|(metric, sample)| samples.set(metric, sample.clone()));
        let lags = chance.as_mut().map(|it| it.fork(4));
        let first = Controller::new(&cluster, &clock, &judge, lags, &samples);
        Self {
            cluster,
            cast,
            clock,
            start,
            controllers: vec![first],
            samples,
            judge,
            restless: false,
            timeline: Timeline::default(),
            noted: 0,
            chance,
            stuck,
            rests: Vec::new(),
            statistics: Statistics::default(),
            ordered: BTreeSet::new(),
            takeover: None,
            retire: None,
        }
    }

    async fn play(mut self, lines: &[Line], ending: Ending) -> Outcome {
        let ready = self.start.ready();
        if !self.wait(&ready).await {
            self.stuck.push(format!("{AT_START}`wait {ready}` never came"));
        }
        for line in lines {
            self.carry_out(line).await;
        }
        if ending == Ending::WhenStable {
            self.come_to_an_end().await;
        }
        self.conclude()
    }

    fn conclude(mut self) -> Outcome {
        for controller in &self.controllers {
            self.statistics.requests += u64::from(controller.line.requests());
            self.statistics.writes += controller.line.writes();
        }
        self.statistics.decisions = self.judge.decisions();
        self.statistics.verdicts = self.judge.verdicts();
        self.statistics.answers = self.samples.answers();
        let store = self.cluster.with(|server, _| server.store().clone());
        Outcome {
            timeline: self.timeline,
            violations: self.judge.found(),
            stuck: self.stuck,
            rests: self.rests,
            statistics: self.statistics,
            store,
            ended: self.clock.now(),
        }
    }

    async fn carry_out(&mut self, line: &Line) {
        self.timeline.line(self.clock.now(), line.to_string());
        match line {
            Line::Wait(condition) => {
                if !self.wait(condition).await {
                    self.stuck.push(format!("`{line}` never came"));
                }
            }
            Line::Pass(time) => self.pass(*time).await,
            Line::Do(deed) => self.deed(deed),
            Line::Break(fault) => self.fault(fault),
        }
    }

    fn deed(&mut self, deed: &Deed) {
        let now = self.clock.now();
        for order in deed::orders(deed, &self.start) {
            self.cast.order(now, &order);
        }
        match deed {
            Deed::Pod(pod, _) => drop(self.ordered.insert(pod.clone())),
            Deed::Metric(metric, sample) => self.samples.set(metric, sample.clone()),
            _ => {}
        }
        let start = &self.start;
        let refused: Vec<String> = self.cluster.with(|server, now| {
            let acts = deed::acts(deed, start, server.store());
            acts.iter()
                .filter_map(|act| act.send(now, &deed::person(), server).err())
                .map(|refusal| refusal.message)
                .collect()
        });
        for message in &refused {
            self.timeline.line(now, format!("refused: {message}"));
        }
        if refused.is_empty() || matches!(deed, Deed::Image(_)) {
            self.judge.deed(deed);
        }
        // Where there is no mutating policy, the refusal says what to write as well, and a person does so.
        if let (Deed::Image(image), false) = (deed, refused.is_empty()) {
            self.cluster.with(|server, now| {
                deed::held_image(image, start).send(now, &deed::person(), server).err();
            });
        }
    }

    fn fault(&mut self, fault: &Fault) {
        *self.statistics.faults.entry(fault.kind()).or_default() += 1;
        let Some(leader) = self.controllers.last_mut() else { return };
        if leader.line.arm(fault) {
            return;
        }
        match fault {
            Fault::Late(by, time) => {
                let until = Instant::now() + *time;
                leader.feed().into_iter().for_each(|feed| feed.be_late(*by, until));
            }
            Fault::Relist => leader.feed().into_iter().for_each(feed::Feed::list_again),
            Fault::Repeat => leader.feed().into_iter().for_each(feed::Feed::repeat),
            Fault::Clock(seconds) => {
                leader.clock.shift(*seconds);
                self.judge.clock_moved();
            }
            Fault::Stop(time) => {
                let now = Instant::now();
                leader.stopped_until = Some(now + *time);
                if *time > LEASE && self.takeover.is_none() {
                    leader.lose_the_lease();
                    self.takeover = Some(now + LEASE);
                }
            }
            Fault::CrashBefore(_)
            | Fault::CrashAfter(_)
            | Fault::Lose(_)
            | Fault::Refuse(..)
            | Fault::Hang(_)
            | Fault::Slow(..) => {}
        }
    }

    /// Another controller takes over from one that was stopped.
    fn take_over(&mut self) {
        self.takeover = None;
        if let Some(former) = self.controllers.last() {
            former.line.leads(false);
        }
        let lags = self.chance.as_mut().map(|it| it.fork(5));
        let next = Controller::new(&self.cluster, &self.clock, &self.judge, lags, &self.samples);
        self.controllers.push(next);
        self.retire = Some(Instant::now() + AFTERMATH);
    }

    async fn pass(&mut self, time: Duration) {
        let until = Instant::now() + time;
        self.run(until, |_, _| false).await;
    }

    async fn wait(&mut self, condition: &Condition) -> bool {
        if *condition == Condition::Quiet {
            let rested = self.rest().await;
            self.rests.push(self.cluster.with(|server, _| Checkpoint::of(server.store())));
            return rested;
        }
        let until = Instant::now() + PATIENCE;
        self.run(until, |now, store| holds(condition, now, store)).await
    }

    /// Goes on until nothing is under way and nothing is due soon; then what is said must be true.
    async fn rest(&mut self) -> bool {
        let until = Instant::now() + PATIENCE;
        loop {
            self.tend();
            let soon = Instant::now() + Duration::from_secs(2);
            let busy = self.next().is_some_and(|next| next <= soon)
                || !self.controllers.iter().all(|it| it.is_quiet(soon));
            if !busy {
                let judge = self.judge.clone();
                self.cluster.with(|server, now| judge.at_rest(now, server.store()));
                return true;
            }
            if Instant::now() >= until || self.is_restless() {
                return false;
            }
            self.step(until).await;
        }
    }

    /// So much was decided that it goes in circles; a script takes a few hundred decisions. Said once.
    fn is_restless(&mut self) -> bool {
        const MOST: u64 = 20_000;
        let decisions = self.judge.decisions();
        if decisions >= MOST && !self.restless {
            self.restless = true;
            self.judge.find(self.clock.now(), "I9", format!("{decisions} decisions, and no rest"));
        }
        self.restless
    }

    /// Goes on until then, or until something is so.
    async fn run(&mut self, until: Instant, is_so: impl Fn(Timestamp, &Store) -> bool) -> bool {
        loop {
            self.tend();
            if self.cluster.with(|server, now| is_so(now, server.store())) {
                return true;
            }
            if Instant::now() >= until || self.is_restless() {
                return false;
            }
            self.step(until).await;
        }
    }

    /// Everything that is due at this moment.
    fn tend(&mut self) {
        loop {
            if self.takeover.is_some_and(|at| at <= Instant::now()) {
                self.take_over();
            }
            if self.retire.is_some_and(|at| at <= Instant::now()) {
                self.retire = None;
                let last = self.controllers.len().saturating_sub(1);
                for retired in self.controllers.drain(..last) {
                    self.statistics.requests += u64::from(retired.line.requests());
                    self.statistics.writes += retired.line.writes();
                }
            }
            let acted = self.tend_cast();
            // Each of them, not only up to the first that begins something.
            let began = self.controllers.iter_mut().map(Controller::tend).filter(|began| *began).count() > 0;
            if !acted && !began {
                return;
            }
        }
    }

    /// Everything that the cluster's own have to do at this moment. True if somebody did something.
    fn tend_cast(&mut self) -> bool {
        let (cast, judge) = (&mut self.cast, &self.judge);
        let (timeline, noted) = (&mut self.timeline, &mut self.noted);
        self.cluster.with(|server, now| {
            let acted = cast.play(now, server);
            judge.catch_up(now, server.store(), None);
            for change in server.store().since(*noted).into_iter().flatten() {
                timeline.change(now, change);
            }
            *noted = server.store().revision();
            acted
        })
    }

    /// When somebody has something to do.
    fn next(&self) -> Option<Instant> {
        let actors = self.cast.next(self.clock.now()).map(|at| self.clock.instant(at));
        let controllers = self.controllers.iter().filter_map(Controller::next).min();
        actors.into_iter().chain(controllers).chain(self.takeover).chain(self.retire).min()
    }

    /// Lets controllers go on with what they do, or the next moment come.
    async fn step(&mut self, until: Instant) {
        let next = self.next().map_or(until, |next| next.min(until));
        let lines: Vec<_> = self.controllers.iter().map(|it| it.line.clone()).collect();
        let crashed = async {
            let crashes = lines.iter().map(|line| Box::pin(line.crashed()));
            futures::future::select_all(crashes).await.1
        };
        let controllers = &mut self.controllers;
        let goes_on = std::future::poll_fn(|context| {
            let done = controllers.iter_mut().map(|it| it.poll(context)).filter(Poll::is_ready).count() > 0;
            if done { Poll::Ready(()) } else { Poll::Pending }
        });
        let crashed = tokio::select! {
            biased;
            index = crashed => Some(index),
            () = goes_on => None,
            () = sleep_until(next) => None,
        };
        if let Some(controller) = crashed.and_then(|index| self.controllers.get_mut(index)) {
            controller.crash();
        }
    }

    /// Nobody disturbs any more, and a person helps where one is asked for: the run has to end, and then to rest.
    async fn come_to_an_end(&mut self) {
        self.cast.be_prompt();
        self.controllers.iter_mut().for_each(Controller::be_well);
        self.samples.be_well();
        let ordered = std::mem::take(&mut self.ordered);
        for deed in amends(&self.start, &ordered) {
            self.deed(&deed);
        }
        for round in 0..ROUNDS {
            self.pass(SOON).await;
            if !self.cluster.with(|server, _| is_asked(&help(server.store(), round))) {
                self.pass(ROUND).await;
            }
            self.rest().await;
            let help = match self.cluster.with(|server, _| help(server.store(), round)) {
                Help::Deed(help) => help,
                Help::Time => continue,
                Help::Nothing => break,
            };
            self.deed(&help);
            if let Deed::Image(_) = help {
                self.pass(Duration::from_secs(10)).await;
                self.deed(&Deed::PromoteFull);
            }
        }
        self.rest().await;
        let judge = self.judge.clone();
        let writes = self.writes();
        self.cluster.with(|server, now| judge.at_the_end(now, server.store()));
        self.pass(Duration::from_secs(7200)).await;
        if self.writes() > writes {
            let more = self.writes() - writes;
            self.judge.find(self.clock.now(), "rule 7", format!("{more} writes at rest"));
        }
    }

    fn writes(&self) -> u64 {
        self.controllers.iter().map(|it| it.line.writes()).sum()
    }
}
