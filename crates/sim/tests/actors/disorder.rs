//! Everybody learns late, each resource at its own pace, while people change their minds: the invariants hold all the
//! time, and in the end everything is as it was asked for.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use windlass_sim::actors::{Act, Misbehaviour, Order, Whom, everybody};
use windlass_sim::cluster::{Feed, Seat};
use windlass_sim::{Change, Deletion, Part, Patch, Refusal, Resource, Server};

use crate::invariants::Invariants;
use crate::stage::{START, is_ready, person, pod, set, web};

/// Numbers without order, from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Mostly short, seldom long.
    fn delay(&mut self) -> SignedDuration {
        let millis = match self.below(10) {
            0..4 => 0,
            4..9 => self.below(100),
            _ => self.below(3000),
        };
        SignedDuration::from_millis(millis.cast_signed())
    }
}

/// Somebody, what is on the way to them, and when they are free.
struct Late {
    seat: Seat,
    feed: Feed,
    on_the_way: BTreeMap<Resource, VecDeque<(Timestamp, Change)>>,
    free: Timestamp,
}

impl Late {
    fn post(&mut self, now: Timestamp, server: &Server, dice: &mut Dice) {
        for change in self.feed.fetch(server.store(), self.seat.watches(), self.seat.view()) {
            let way = self.on_the_way.entry(change.resource).or_default();
            let last = way.back().map_or(now, |(when, _)| *when);
            way.push_back((last.max(now + dice.delay()), change));
        }
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let arrives = self.on_the_way.values().filter_map(|way| way.front().map(|(when, _)| *when));
        let turn = self.seat.wants_turn(now).map(|when| when.max(self.free));
        arrives.chain(turn).min()
    }

    fn live(&mut self, now: Timestamp, server: &mut Server, dice: &mut Dice) {
        for way in self.on_the_way.values_mut() {
            while let Some((_, change)) = way.pop_front_due(now) {
                self.seat.learn(now, &change);
            }
        }
        if self.free > now {
            return;
        }
        let caller = self.seat.caller();
        for act in self.seat.act(now) {
            let answer = if counts_below_zero(&act) {
                Err(Refusal::new(422, "Invalid", "must be greater than or equal to 0"))
            } else {
                act.send(now, &caller, server)
            };
            self.seat.answered(now, &act, answer.as_ref());
            self.free = now + dice.delay();
        }
    }
}

/// A status that no server stores: the one known slip of the real controller.
fn counts_below_zero(act: &Act) -> bool {
    matches!(act, Act::Update(Resource::StatefulSets, Part::Status, set) if set["status"]["currentReplicas"] == -1)
}

trait Due {
    fn pop_front_due(&mut self, now: Timestamp) -> Option<(Timestamp, Change)>;
}

impl Due for VecDeque<(Timestamp, Change)> {
    fn pop_front_due(&mut self, now: Timestamp) -> Option<(Timestamp, Change)> {
        if self.front()?.0 <= now { self.pop_front() } else { None }
    }
}

struct World {
    server: Server,
    everybody: Vec<Late>,
    dice: Dice,
    now: Timestamp,
    invariants: Invariants,
    checked: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let now = START.parse().unwrap();
        let mut server = Server::default();
        let namespace = json!({"metadata": {"name": "default"}});
        server.create(now, &person(), Resource::Namespaces, namespace).unwrap();
        for node in ["node-0", "node-1"] {
            server.create(now, &person(), Resource::Nodes, json!({"metadata": {"name": node}})).unwrap();
        }
        let everybody = everybody(seed)
            .into_iter()
            .map(|actor| Late {
                seat: Seat::new(actor),
                feed: Feed::default(),
                on_the_way: BTreeMap::new(),
                free: now,
            })
            .collect();
        let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self { server, everybody, dice, now, invariants: Invariants::late(), checked: 0 }
    }

    fn until(&mut self, end: Timestamp) {
        loop {
            for late in &mut self.everybody {
                late.post(self.now, &self.server, &mut self.dice);
            }
            let next = self.everybody.iter().filter_map(|late| late.next(self.now)).min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
            self.now = next.max(self.now);
            for late in &mut self.everybody {
                late.live(self.now, &mut self.server, &mut self.dice);
            }
            for change in self.server.store().since(self.checked).unwrap() {
                self.invariants.check(change);
            }
            self.checked = self.server.store().revision();
        }
        self.now = end;
    }

    fn spec(&mut self, spec: &serde_json::Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.server.patch(self.now, &person(), Resource::StatefulSets, &web(), Part::Whole, &patch).unwrap();
    }

    /// Somebody does something.
    fn meddle(&mut self) {
        let ordinal = self.dice.below(5).cast_signed();
        match self.dice.below(8) {
            0 | 1 => {
                let tag = ["a", "b", "c-slow", "d-crash", "e-flaky", "f-sticky"]
                    [usize::try_from(self.dice.below(6)).unwrap()];
                self.image(tag);
            }
            2 => {
                let partition = self.dice.below(6);
                self.spec(&json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}}));
            }
            3 => {
                let replicas = self.dice.below(6);
                self.spec(&json!({"replicas": replicas}));
            }
            4 => {
                let (key, how) = (pod(ordinal), Deletion::default());
                let _ = self.server.delete(self.now, &person(), Resource::Pods, &key, &how);
            }
            5 => self.order(&Order::NodeLost("node-1".to_owned())),
            6 => self.order(&Order::NodeBack("node-1".to_owned())),
            _ => {
                let second = SignedDuration::from_secs(1);
                let misbehaviour = [
                    Misbehaviour::Crash,
                    Misbehaviour::Vanish(second),
                    Misbehaviour::Evicted(second),
                    Misbehaviour::Flap { times: 2, up: second, down: second },
                ][usize::try_from(self.dice.below(4)).unwrap()];
                let whom = [Whom::Living, Whom::Next(1)][usize::try_from(self.dice.below(2)).unwrap()];
                self.order(&Order::Pod { pod: pod(ordinal), whom, misbehaviour });
            }
        }
    }

    fn image(&mut self, tag: &str) {
        let containers = json!([{"name": "app", "image": format!("app:{tag}")}]);
        self.spec(&json!({"template": {"spec": {"containers": containers}}}));
    }

    fn order(&mut self, order: &Order) {
        for late in &mut self.everybody {
            late.seat.ordered(self.now, order);
        }
    }

    /// All orders are taken back, a good template is set, and a person deletes whatever is stuck, for as long as it takes.
    fn make_good(&mut self) {
        self.order(&Order::NodeBack("node-1".to_owned()));
        self.image("good");
        self.spec(&json!({"replicas": 4, "updateStrategy": {"rollingUpdate": {"partition": 0}}}));
        for _ in 0..10 {
            self.until(self.now + SignedDuration::from_mins(20));
            let stuck: Vec<_> = self
                .server
                .store()
                .all(Resource::Pods)
                .filter(|(_, pod)| !is_ready(pod))
                .map(|(key, _)| key.clone())
                .collect();
            for key in stuck {
                self.server.delete(self.now, &person(), Resource::Pods, &key, &Deletion::default()).unwrap();
            }
        }
    }
}

#[test]
fn whatever_comes_late_the_invariants_hold_and_all_ends_well() {
    for seed in 1..=40 {
        let mut world = World::new(seed);
        let management = if seed % 2 == 0 { "Parallel" } else { "OrderedReady" };
        let set = set(4, "a", json!({"podManagementPolicy": management}));
        world.server.create(world.now, &person(), Resource::StatefulSets, set).unwrap();
        for _ in 0..12 {
            let pause = SignedDuration::from_millis(world.dice.below(20_000).cast_signed());
            world.until(world.now + pause);
            world.meddle();
        }
        world.make_good();
        let set = world.server.get(Resource::StatefulSets, &web()).unwrap();
        let status = &set["status"];
        for field in ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"]
        {
            assert_eq!(status[field], 4, "seed {seed}: {field} in {status}");
        }
        assert_eq!(status["currentRevision"], status["updateRevision"], "seed {seed}");
        assert_eq!(status["observedGeneration"], set["metadata"]["generation"], "seed {seed}");
        for (key, pod) in world.server.store().all(Resource::Pods) {
            assert_eq!(pod["spec"]["containers"][0]["image"], "app:good", "seed {seed}: {key}");
        }
    }
}
