//! Runs the actors: brings them the news of the store, each resource at its own pace, gives them their turns, and sends
//! what they want done through the server. Lags come from a seed; without one nobody is ever late.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::actors::{Actor, Order};
use crate::chance::Chance;
use crate::cluster::{Seat, relist};
use crate::resource::Resource;
use crate::server::Server;
use crate::store::{Change, Store};

/// The longest that news is on its way to an actor.
const LONGEST_LAG: Duration = Duration::from_secs(2);
/// Turns in a row at one moment; more would be an actor that runs in circles.
const TURNS: usize = 1_000;

/// Everybody in the cluster.
pub struct Cast {
    members: Vec<Member>,
    lags: Option<Chance>,
}

struct Member {
    seat: Seat,
    heard: u64,
    news: BTreeMap<Resource, VecDeque<(Timestamp, Change)>>,
}

impl Cast {
    /// These actors, late by this chance.
    pub fn new(actors: Vec<Box<dyn Actor>>, lags: Option<Chance>) -> Self {
        let members = actors.into_iter().map(|actor| Member {
            seat: Seat::new(actor),
            heard: 0,
            news: BTreeMap::new(),
        });
        Self { members: members.collect(), lags }
    }

    /// Nobody is late any more.
    pub fn be_prompt(&mut self) {
        self.lags = None;
    }

    /// Fate has something in store.
    pub fn order(&mut self, now: Timestamp, order: &Order) {
        for member in &mut self.members {
            member.seat.ordered(now, order);
        }
    }

    /// When somebody has something to do.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.members.iter().filter_map(|member| member.next(now)).min()
    }

    /// Lets everybody do what is due. True if somebody did something.
    pub fn play(&mut self, now: Timestamp, server: &mut Server) -> bool {
        let mut acted = false;
        for _ in 0..TURNS {
            let mut quiet = true;
            for member in &mut self.members {
                member.collect(now, server.store(), self.lags.as_mut());
                if member.is_due(now) {
                    quiet = false;
                    acted |= member.take_turn(now, server);
                }
            }
            if quiet {
                return acted;
            }
        }
        acted
    }
}

impl Member {
    /// Takes note of what was written, to be delivered after a while.
    fn collect(&mut self, now: Timestamp, store: &Store, mut lags: Option<&mut Chance>) {
        if self.heard == store.revision() {
            return;
        }
        let watches = self.seat.watches();
        let changes: Vec<Change> = if let Some(changes) = store.since(self.heard) {
            changes.filter(|it| watches.contains(&it.resource)).cloned().collect()
        } else {
            self.news.clear();
            relist(store, watches, self.seat.view())
        };
        for change in changes {
            let lag = lags.as_mut().map_or(Duration::ZERO, |lags| lags.lag(LONGEST_LAG));
            let news = self.news.entry(change.resource).or_default();
            let due = now.checked_add(lag).unwrap_or(now);
            let due = news.back().map_or(due, |(before, _)| due.max(*before));
            news.push_back((due, change));
        }
        self.heard = store.revision();
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let news = self.news.values().filter_map(|news| news.front().map(|(due, _)| *due));
        news.chain(self.seat.wants_turn(now)).min()
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.next(now).is_some_and(|due| due <= now)
    }

    fn take_turn(&mut self, now: Timestamp, server: &mut Server) -> bool {
        for news in self.news.values_mut() {
            while let Some((due, _)) = news.front()
                && *due <= now
                && let Some((_, change)) = news.pop_front()
            {
                self.seat.learn(now, &change);
            }
        }
        let acts = self.seat.act(now);
        let caller = self.seat.caller();
        for act in &acts {
            let answer = act.send(now, &caller, server);
            self.seat.answered(now, act, answer.as_ref());
        }
        !acts.is_empty()
    }
}
