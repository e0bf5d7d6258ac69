//! The oracles: what must be so whatever happens. Every decision is given to `audit`; every write of a controller, and
//! the whole cluster whenever nothing moves, is judged by the truth of the store, which no controller sees.

mod checks;
mod people;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use windlass_controller::{Look, Witness};
use windlass_engine::{Intents, Seen, audit, decide};

use crate::object::{self, Key, at, is_going, later, number, text};
use crate::resource::Resource;
use crate::script::Deed;
use crate::store::{Change, ChangeKind, Store};

pub(crate) use rest::{is_available, pods_of};

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Timestamp,
    /// Which invariant or rule of DESIGN.
    pub rule: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}: {}", self.at, self.rule, self.what)
    }
}

/// Judges one history of one set and its rollout.
#[derive(Clone)]
pub struct Judge(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    found: Vec<Violation>,
    decisions: u64,
    judged: u64,
    clock_moved: bool,
    /// Every pod that a decision rested on.
    seen: BTreeSet<String>,
    /// Pods that a controller deleted: by name, the uid and whether its successor was available since.
    freed: BTreeMap<String, Freed>,
    freed_uids: BTreeSet<String>,
    people: people::People,
    checks: checks::Checks,
}

struct Freed {
    uid: String,
    replaced: bool,
}

impl fmt::Debug for Judge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Judge").field("found", &self.found()).finish()
    }
}

impl Default for Judge {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Record::default())))
    }
}

impl Judge {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found so far.
    pub fn found(&self) -> Vec<Violation> {
        self.record().found.clone()
    }

    /// How many decisions were judged.
    pub fn decisions(&self) -> u64 {
        self.record().decisions
    }

    /// How often analyses came to each verdict.
    pub fn verdicts(&self) -> BTreeMap<String, u64> {
        self.record().checks.verdicts.clone()
    }

    /// Enters something that somebody else found.
    pub fn find(&self, at: Timestamp, rule: &'static str, what: String) {
        self.record().found.push(Violation { at, rule, what });
    }

    /// Somebody did something, and it was not refused.
    pub fn deed(&self, deed: &Deed) {
        self.record().people.note(deed);
    }

    /// The image that everything starts with.
    pub fn starts_with(&self, image: &str) {
        self.record().people.start(image);
    }

    /// A controller's clock was moved: it can no longer tell how long a pod has been ready.
    pub fn clock_moved(&self) {
        self.record().clock_moved = true;
    }

    /// Takes in what was written since the last time. After the revision `ours`, a controller of Windlass wrote it.
    pub fn catch_up(&self, now: Timestamp, store: &Store, ours: Option<u64>) {
        let mut record = self.record();
        let from = record.judged;
        record.judged = store.revision();
        for change in store.since(from).into_iter().flatten() {
            let ours = ours.is_some_and(|ours| change.revision > ours);
            match change.resource {
                Resource::Pods => record.pod(now, store, change, ours),
                Resource::StatefulSets if ours => {
                    let found = record.people.exposure(now, store, change, &record.checks);
                    record.found.extend(found);
                    let (free, promotions) = (record.people.have_decided(), record.people.promotions());
                    let found = record.checks.exposure(now, store, change, promotions).filter(|_| !free);
                    record.found.extend(found);
                }
                Resource::AnalysisRuns => {
                    let promotions = record.people.promotions();
                    let found = record.checks.analysis(now, store, change, promotions);
                    record.found.extend(found);
                }
                Resource::RolloutPlugins if ours => {
                    record.found.extend(checks::blamed_an_outage(now, change));
                }
                _ => {}
            }
        }
    }

    /// Nothing moves: what is said must be true.
    pub fn at_rest(&self, now: Timestamp, store: &Store) {
        let found = rest::judge(now, store);
        self.record().found.extend(found);
    }

    /// It is over: everything must be where it belongs.
    pub fn at_the_end(&self, now: Timestamp, store: &Store) {
        let found = rest::judge_the_end(now, store);
        self.record().found.extend(found);
    }
}

impl Record {
    fn find(&mut self, at: Timestamp, rule: &'static str, what: String) {
        self.found.push(Violation { at, rule, what });
    }

    fn pod(&mut self, now: Timestamp, store: &Store, change: &Change, ours: bool) {
        let (name, uid) = (change.key.name.clone(), object::uid(&change.object).to_owned());
        let min_ready = self.min_ready(store, &change.key.namespace);
        // Its successor may have become available between two changes, by time alone.
        let came_up = |pod: &Value| is_available(now, pod, min_ready);
        if let Some(freed) = self.freed.get_mut(&name)
            && freed.uid != uid
            && (change.before.as_ref().is_some_and(|before| came_up(before))
                || (change.kind != ChangeKind::Deleted && came_up(&change.object)))
        {
            freed.replaced = true;
        }
        let was_going = change.before.as_ref().is_some_and(|before| is_going(before));
        let freed_now =
            ours && !was_going && (change.kind == ChangeKind::Deleted || is_going(&change.object));
        if freed_now {
            self.free(now, store, change, name, uid);
        }
    }

    fn min_ready(&self, store: &Store, namespace: &str) -> i64 {
        let set = store.within(Resource::StatefulSets, namespace).next().filter(|_| !self.clock_moved);
        set.and_then(|(_, set)| number(set, &["spec", "minReadySeconds"])).unwrap_or_default()
    }

    /// I2, the memory before the act, and one pod at a time.
    fn free(&mut self, now: Timestamp, store: &Store, change: &Change, name: String, uid: String) {
        if !self.seen.contains(&uid) {
            self.find(now, "I2", format!("pod {name} ({uid}) was deleted, but no decision rests on it"));
        }
        if !self.freed_uids.insert(uid.clone()) {
            self.find(now, "I2", format!("pod {name} ({uid}) was deleted a second time"));
        }
        if !is_remembered(store, &name, &uid) {
            self.find(now, "rule 9", format!("pod {name} ({uid}) was deleted, but no status remembers that"));
        }
        let before = change.before.as_ref();
        let well =
            before.is_some_and(|pod| is_available(now, pod, self.min_ready(store, &change.key.namespace)));
        let open: Vec<String> = self
            .freed
            .iter()
            .filter(|(other, freed)| **other != name && !freed.replaced && still_wanted(store, other))
            .filter(|(other, freed)| {
                let pod = Key::new(&change.key.namespace, *other);
                !is_back(now, store, &pod, freed, self.min_ready(store, &pod.namespace))
            })
            .map(|(other, _)| other.clone())
            .collect();
        if well && !open.is_empty() {
            let open = open.join(", ");
            self.find(now, "I3", format!("pod {name} was deleted while {open} had not come back"));
        }
        self.freed.insert(name, Freed { uid, replaced: false });
    }
}

/// Whether the successor of a pod is available by now: time alone may have made it so. One that is off stable has to go
/// as well: for that it need not have stood its probation.
fn is_back(now: Timestamp, store: &Store, pod: &Key, freed: &Freed, min_ready: i64) -> bool {
    let is_stable = |it: &Value| {
        let revision = text(it, &["metadata", "labels", "controller-revision-hash"]);
        store
            .within(Resource::StatefulSets, &pod.namespace)
            .any(|(_, set)| text(set, &["status", "currentRevision"]) == revision)
    };
    store.get(Resource::Pods, pod).is_some_and(|successor| {
        let probation = if is_stable(successor) { min_ready } else { 0 };
        object::uid(successor) != freed.uid && is_available(now, successor, probation)
    })
}

/// Whether the deletion of a pod stands in a status. One that remembers no run was made anew a moment ago.
fn is_remembered(store: &Store, name: &str, uid: &str) -> bool {
    let mut runs = store
        .all(Resource::RolloutPlugins)
        .filter_map(|(_, rollout)| at(rollout, &["status", "memo", "run"]))
        .peekable();
    runs.peek().is_none() || runs.any(|run| text(run, &["freed", name]) == Some(uid))
}

/// Whether a set still wants a pod of this name.
fn still_wanted(store: &Store, pod: &str) -> bool {
    store.all(Resource::StatefulSets).any(|(key, set)| {
        let first = number(set, &["spec", "ordinals", "start"]).unwrap_or_default();
        let replicas = number(set, &["spec", "replicas"]).unwrap_or_default();
        let ordinal =
            pod.strip_prefix(&key.name).and_then(|rest| rest.strip_prefix('-')?.parse::<i64>().ok());
        ordinal.is_some_and(|ordinal| (first..first + replicas).contains(&ordinal))
    })
}

impl Witness for Judge {
    fn decided(&self, look: &Look<'_>) {
        let mut record = self.record();
        record.decisions += 1;
        let (Some(plan), Seen::Workload(seen)) = (look.plan, look.seen) else { return };
        for pod in seen.pods().chain(&seen.surplus) {
            // Nearly all of them were seen before.
            if !record.seen.contains(pod.uid.as_str()) {
                record.seen.insert(pod.uid.to_string());
            }
        }
        for violation in audit(look.now, plan, seen, look.memo, look.intents, look.decision) {
            record.find(look.now, "audit", format!("{violation:?}"));
        }
        if look.decision.lift_pause {
            return;
        }
        // Rule 7: with what was decided remembered there is nothing new to remember or to tell; neither now nor later, as
        // long as time alone changes nothing.
        for moment in [look.now, just_before_the_next_look(look)] {
            let again = decide(moment, Ok(plan), look.seen, &look.decision.memo, &Intents::default());
            if again.memo != look.decision.memo || !again.announcements.is_empty() {
                let (told, before, after) = (&again.announcements, &look.decision.memo, &again.memo);
                let what =
                    format!("a look at {moment} tells {told:?}, remembers {after:?} and not {before:?}");
                record.find(look.now, "rule 7", what);
            }
        }
    }
}

/// The last moment at which nothing has changed, if nothing but time does.
fn just_before_the_next_look(look: &Look<'_>) -> Timestamp {
    let wake = look.decision.wake.and_then(|wake| wake.checked_sub(SignedDuration::from_nanos(1)).ok());
    wake.unwrap_or_else(|| later(look.now, 3600)).max(look.now)
}

/// The one rollout that a history is about.
pub(crate) fn rollout(store: &Store) -> Option<(&Key, &Value)> {
    store.all(Resource::RolloutPlugins).next().map(|(key, rollout)| (key, &**rollout))
}

/// A text in a rollout's status.
pub(crate) fn told<'a>(rollout: &'a Value, field: &str) -> &'a str {
    text(rollout, &["status", field]).unwrap_or_default()
}

/// Whether a flag of the status is set.
pub(crate) fn flagged(rollout: &Value, field: &str) -> bool {
    at(rollout, &["status", field]).and_then(Value::as_bool) == Some(true)
}
