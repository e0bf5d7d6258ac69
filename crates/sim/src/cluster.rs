//! A whole cluster, undisturbed: everybody learns everything at once, and time jumps to where something happens next.
//!
//! `Seat` is an actor with what it knows. Learning (`Feed`, `Seat::learn`) is apart from acting (`Seat::act`), so that
//! somebody else can deliver late, twice, or in another order.

use jiff::{SignedDuration, Timestamp};

use crate::actors::{Act, Actor, Order, View, everybody};
use crate::object::{self, Key, Object};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Server};
use crate::store::{Change, ChangeKind, Store};

/// How far somebody has read the changes of the store.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    read: u64,
}

impl Feed {
    /// The changes since the last call of the resources that matter, in order. Where they are forgotten, what makes the
    /// view true again is made up from what is stored, as after a new list.
    pub fn fetch(&mut self, store: &Store, watches: &[Resource], view: &View) -> Vec<Change> {
        if self.read == store.revision() {
            return Vec::new();
        }
        let since = store.since(self.read);
        let changes = match since {
            Some(changes) => changes.filter(|it| watches.contains(&it.resource)).cloned().collect(),
            None => relist(store, watches, view),
        };
        self.read = store.revision();
        changes
    }
}

/// What a new list tells, compared with what is known.
pub fn relist(store: &Store, watches: &[Resource], view: &View) -> Vec<Change> {
    let mut changes = Vec::new();
    for &resource in watches {
        let mut tell = |key: &Key, kind, object: &Object, before: Option<&Object>| {
            changes.push(Change {
                revision: store.revision(),
                resource,
                key: key.clone(),
                kind,
                object: Object::clone(object),
                before: before.map(Object::clone),
            });
        };
        for (key, known) in view.all(resource) {
            if store.get(resource, key).is_none_or(|stored| object::uid(stored) != object::uid(known)) {
                tell(key, ChangeKind::Deleted, known, Some(known));
            }
        }
        for (key, stored) in store.all(resource) {
            match view.get(resource, key) {
                Some(known) if object::uid(known) != object::uid(stored) => {
                    tell(key, ChangeKind::Added, stored, None);
                }
                Some(known) if object::version(known) == object::version(stored) => {}
                Some(known) => tell(key, ChangeKind::Modified, stored, Some(known)),
                None => tell(key, ChangeKind::Added, stored, None),
            }
        }
    }
    changes
}

/// An actor and what it knows.
pub struct Seat {
    actor: Box<dyn Actor>,
    view: View,
    stirred: bool,
    wake: Option<Timestamp>,
}

impl Seat {
    /// An actor that knows nothing yet.
    pub fn new(actor: Box<dyn Actor>) -> Self {
        Self { actor, view: View::default(), stirred: true, wake: None }
    }

    /// As whom it writes.
    pub fn caller(&self) -> Caller {
        self.actor.caller()
    }

    /// What it has to know.
    pub fn watches(&self) -> &'static [Resource] {
        self.actor.watches()
    }

    /// What it knows.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// A change comes to its knowledge.
    pub fn learn(&mut self, now: Timestamp, change: &Change) {
        self.view.take(change);
        self.actor.notice(now, &self.view, change);
        self.stirred = true;
    }

    /// When it wants its turn: now, later, or not before something happens.
    pub fn wants_turn(&self, now: Timestamp) -> Option<Timestamp> {
        if self.stirred { Some(now) } else { self.wake }
    }

    /// Its turn, if it wants it now: what it wants done. Each act has to be answered.
    pub fn act(&mut self, now: Timestamp) -> Vec<Act> {
        if self.wants_turn(now).is_none_or(|when| when > now) {
            return Vec::new();
        }
        let turn = self.actor.turn(now, &self.view);
        self.stirred = !turn.acts.is_empty();
        self.wake = turn.wake;
        turn.acts
    }

    /// An act was answered.
    pub fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        self.actor.answered(now, act, answer);
        self.stirred = true;
    }

    /// Fate orders something.
    pub fn ordered(&mut self, now: Timestamp, order: &Order) {
        self.actor.ordered(now, order);
        self.stirred = true;
    }
}

/// A server and everybody around it.
pub struct Cluster {
    /// The API server.
    pub server: Server,
    seats: Vec<(Seat, Feed)>,
    now: Timestamp,
    refusals: u64,
}

impl Cluster {
    /// A cluster with everybody that one has by itself.
    pub fn new(now: Timestamp, seed: u64) -> Self {
        Self::with(now, everybody(seed))
    }

    /// A cluster with these actors only.
    pub fn with(now: Timestamp, actors: Vec<Box<dyn Actor>>) -> Self {
        let seats = actors.into_iter().map(|actor| (Seat::new(actor), Feed::default())).collect();
        Self { server: Server::default(), seats, now, refusals: 0 }
    }

    /// One more actor.
    pub fn add(&mut self, actor: Box<dyn Actor>) {
        self.seats.push((Seat::new(actor), Feed::default()));
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// How many acts of the actors were refused so far.
    pub fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Fate orders something.
    pub fn order(&mut self, order: &Order) {
        for (seat, _) in &mut self.seats {
            seat.ordered(self.now, order);
        }
    }

    /// One round: one after the other learns what is new and has turns until it is content. Tells whether anybody did
    /// anything.
    pub fn step(&mut self) -> bool {
        let mut acted = false;
        for (seat, feed) in &mut self.seats {
            loop {
                for change in feed.fetch(self.server.store(), seat.watches(), seat.view()) {
                    seat.learn(self.now, &change);
                }
                let acts = seat.act(self.now);
                if acts.is_empty() {
                    break;
                }
                acted = true;
                let caller = seat.caller();
                for act in acts {
                    let answer = act.send(self.now, &caller, &mut self.server);
                    self.refusals += u64::from(answer.is_err());
                    seat.answered(self.now, &act, answer.as_ref());
                }
            }
        }
        acted
    }

    /// Rounds until nobody has anything to do at this moment.
    pub fn run_until_quiet(&mut self) {
        while self.step() {}
    }

    /// When somebody wants to be woken next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.seats.iter().filter_map(|(seat, _)| seat.wants_turn(self.now)).min()
    }

    /// Lets time go on to a moment, stopping wherever something happens.
    pub fn advance_to(&mut self, moment: Timestamp) {
        self.run_until_quiet();
        while let Some(wake) = self.next_wake().filter(|&wake| wake <= moment) {
            self.now = wake.max(self.now);
            self.run_until_quiet();
        }
        self.now = moment.max(self.now);
    }

    /// Lets time pass.
    pub fn pass(&mut self, duration: SignedDuration) {
        self.advance_to(self.now.checked_add(duration).unwrap_or(Timestamp::MAX));
    }
}
