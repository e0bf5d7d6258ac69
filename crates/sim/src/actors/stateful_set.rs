//! The StatefulSet controller: which sets have to be looked at, what it has written itself and not seen yet, and the
//! acts of the looks that are under way. What a look comes to is computed in `sync`.

mod belonging;
mod claims;
mod member;
mod revisions;
mod status;
mod sync;
mod wanted;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::{Act, Actor, Turn, View};
use crate::object::{self, Key, Object, at, controller, later, list, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::selector;
use crate::server::{Caller, Part};
use crate::store::{Change, ChangeKind};

use member::Member;
use status::Status;
use sync::{Step, Stretch};

/// The wait after a first failure; it doubles with every further one.
const FIRST_WAIT: SignedDuration = SignedDuration::from_millis(5);
/// The longest wait after a failure.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(1000);
/// How often a status is sent that rests on an old version of the set.
const STATUS_TRIES: u32 = 5;
/// The wait between two of these.
const STATUS_WAIT: SignedDuration = SignedDuration::from_millis(10);

/// The controller of all StatefulSets.
#[derive(Default)]
pub struct StatefulSets {
    seed: u64,
    pods: BTreeMap<Key, Member>,
    due: BTreeSet<Key>,
    later: BTreeMap<Key, Timestamp>,
    failures: BTreeMap<Key, u32>,
    written: BTreeMap<Key, Written>,
    looks: BTreeMap<Key, Look>,
    /// Whose acts the last turn sent.
    asked: Option<Key>,
}

/// The revisions of the store at which the controller itself last wrote something of a set. It does not look at the
/// set again before it has seen them.
#[derive(Default)]
struct Written {
    pods: u64,
    claims: u64,
    set: u64,
}

/// A look at a set that is under way.
struct Look {
    set: Object,
    steps: VecDeque<Step>,
    /// The rest of the step that is being done.
    acts: VecDeque<Act>,
    status: Status,
    forget: Vec<Act>,
    next_available: Option<Timestamp>,
    at: Place,
    failed: Option<Stretch>,
    fails: bool,
}

/// Where in its acts a look is.
enum Place {
    Steps(Stretch),
    Status { sent: Act, tries: u32, again: Option<Timestamp> },
    History,
}

impl StatefulSets {
    /// The seed orders what the real controller does at the same time.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    fn enqueue_at(&mut self, key: &Key, when: Timestamp) {
        let due = self.later.entry(key.clone()).or_insert(when);
        *due = when.min(*due);
    }

    fn fail(&mut self, now: Timestamp, key: &Key) {
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = FIRST_WAIT.checked_mul(1 << (*failures).min(18)).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        *failures += 1;
        self.enqueue_at(key, now.checked_add(wait).unwrap_or(Timestamp::MAX));
    }

    fn has_seen_its_writes(&self, view: &View, key: &Key) -> bool {
        self.written.get(key).is_none_or(|written| {
            view.reached(Resource::Pods) >= written.pods
                && view.reached(Resource::Claims) >= written.claims
                && view.reached(Resource::StatefulSets) >= written.set
        })
    }

    /// Begins a look at a set, unless it is gone.
    fn begin(&mut self, now: Timestamp, view: &View, key: Key) {
        let Some(set) = view.get(Resource::StatefulSets, &key) else {
            self.failures.remove(&key);
            self.written.remove(&key);
            return;
        };
        if !self.has_seen_its_writes(view, &key) {
            return self.fail(now, &key);
        }
        let from = Key::new(&key.namespace, format!("{}-", key.name));
        let ours = |pod: &Key| pod.namespace == key.namespace && pod.name.starts_with(&from.name);
        for (_, pod) in self.pods.range_mut(from.clone()..).take_while(|(pod, _)| ours(pod)) {
            pod.judge(set);
        }
        let members = self
            .pods
            .range(from.clone()..)
            .take_while(|(pod, _)| ours(pod))
            .filter(|(_, pod)| pod.parent == key.name.len());
        let has = belonging::of(view, set, members);
        let sync = sync::sync(now, view, set, &has, self.seed);
        let look = Look {
            set: Object::clone(set),
            steps: sync.steps.into(),
            acts: VecDeque::new(),
            status: sync.status,
            forget: sync.forget,
            next_available: sync.next_available,
            at: Place::Steps(Stretch::Opening),
            failed: None,
            fails: sync.fails,
        };
        self.looks.insert(key, look);
    }

    /// The acts of the looks that are under way, of one at a time.
    fn go_on(&mut self, now: Timestamp, view: &View) -> Option<Vec<Act>> {
        let keys: Vec<Key> = self.looks.keys().cloned().collect();
        for key in keys {
            let Some(mut look) = self.looks.remove(&key) else { continue };
            match look.next(now, view, &key) {
                Next::Acts(acts) => {
                    self.looks.insert(key.clone(), look);
                    self.asked = Some(key);
                    return Some(acts);
                }
                Next::Wait => drop(self.looks.insert(key, look)),
                Next::Done => self.finish(now, &key, &look),
            }
        }
        None
    }

    fn finish(&mut self, now: Timestamp, key: &Key, look: &Look) {
        if look.failed.is_some() || look.fails {
            return self.fail(now, key);
        }
        self.failures.remove(key);
        if let Some(moment) = look.next_available {
            self.enqueue_at(key, moment);
        }
    }

    /// The sets that a pod without an owner could belong to.
    fn adopters<'a>(view: &'a View, pod: &'a Object) -> impl Iterator<Item = &'a Key> {
        let fits = |set: &Object| {
            at(set, &["spec", "selector"]).is_some_and(|selector| selector::matches(selector, pod))
        };
        view.within(Resource::StatefulSets, object::namespace(pod))
            .filter(move |(_, set)| fits(set))
            .map(|(key, _)| key)
    }

    fn notice_pod(&mut self, now: Timestamp, view: &View, change: &Change) {
        let gone = change.kind == ChangeKind::Deleted;
        match Member::of(&change.object) {
            Some(member) if !gone => {
                self.notice_readiness(now, view, change, &member);
                self.pods.insert(change.key.clone(), member);
            }
            _ => drop(self.pods.remove(&change.key)),
        }
        let owner = owner_key(&change.object);
        let owner_before = change.before.as_ref().and_then(owner_key);
        if controller(&change.object) != change.before.as_ref().and_then(|before| controller(before)) {
            self.due.extend(owner_before.clone());
        }
        let labels = |pod: &Object| at(pod, &["metadata", "labels"]).cloned();
        match (owner, &change.before) {
            (Some(key), _) => drop(self.due.insert(key)),
            (None, _) if gone => {}
            (None, Some(before)) if owner_before.is_none() && labels(before) == labels(&change.object) => {}
            (None, _) => self.due.extend(Self::adopters(view, &change.object).cloned()),
        }
    }

    /// A pod that got ready is looked at again when it becomes available.
    fn notice_readiness(&mut self, now: Timestamp, view: &View, change: &Change, pod: &Member) {
        let Some(key) = owner_key(&change.object) else { return };
        let set = view.get(Resource::StatefulSets, &key);
        let wait = set.and_then(|set| number(set, &["spec", "minReadySeconds"])).unwrap_or_default();
        let was_ready = self.pods.get(&change.key).is_some_and(Member::is_ready);
        if wait > 0 && pod.is_ready() && !was_ready {
            self.enqueue_at(&key, later(now, wait));
        }
    }
}

/// The set that is in charge of an object.
fn owner_key(object: &Object) -> Option<Key> {
    let owner = list(object, &["metadata", "ownerReferences"]).iter().find(|it| {
        it.get("controller").and_then(serde_json::Value::as_bool) == Some(true)
            && text(it, &["kind"]) == Some("StatefulSet")
    })?;
    Some(Key::new(object::namespace(object), text(owner, &["name"])?))
}

/// What a look does next.
enum Next {
    Acts(Vec<Act>),
    Wait,
    Done,
}

impl Look {
    fn next(&mut self, now: Timestamp, view: &View, key: &Key) -> Next {
        loop {
            match &mut self.at {
                Place::Steps(_) => match self.next_step() {
                    Some(acts) => return Next::Acts(acts),
                    None if self.failed == Some(Stretch::Opening) => return Next::Done,
                    None => match sync::status_act(&self.set, &self.status) {
                        Some(sent) => self.at = Place::Status { sent, tries: 0, again: Some(now) },
                        None => self.at = Place::History,
                    },
                },
                Place::Status { sent, tries, again: Some(again) } => {
                    if *again > now {
                        return Next::Wait;
                    }
                    if *tries > 0
                        && let Some(set) = view.get(Resource::StatefulSets, key)
                        && let Some(newer) = sync::status_again(set, sent)
                    {
                        *sent = newer;
                    }
                    let act = sent.clone();
                    self.at = Place::Status { sent: act.clone(), tries: *tries + 1, again: None };
                    return Next::Acts(vec![act]);
                }
                Place::Status { again: None, .. } => self.at = Place::History,
                Place::History if self.forget.is_empty() => return Next::Done,
                Place::History => return Next::Acts(std::mem::take(&mut self.forget)),
            }
        }
    }

    /// After a failure, only what goes on at the same time is still done.
    fn next_step(&mut self) -> Option<Vec<Act>> {
        if let Some(act) = self.acts.pop_front() {
            return Some(vec![act]);
        }
        let step = self.steps.pop_front()?;
        if self.failed.is_some_and(|failed| failed != step.stretch || failed == Stretch::Opening) {
            self.steps.clear();
            return None;
        }
        self.at = Place::Steps(step.stretch);
        self.acts = step.acts.into();
        self.acts.pop_front().map(|act| vec![act])
    }

    fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        match (&mut self.at, answer) {
            (Place::Steps(Stretch::Update), Ok(_)) => self.status.one_less_current(),
            (Place::Steps(stretch), Err(refusal)) => match (*stretch, act, refusal.reason) {
                (Stretch::Update, _, "NotFound") => self.status.one_less_current(),
                // Made by a look whose revision is not seen yet: the same name is the same template.
                (Stretch::Opening, Act::Create(..), "AlreadyExists")
                | (Stretch::Opening, Act::Patch(..), "NotFound") => {}
                (stretch, ..) => {
                    self.failed = Some(stretch);
                    self.acts.clear();
                }
            },
            (Place::Status { again, tries, .. }, Err(refusal))
                if refusal.reason == "Conflict" && *tries < STATUS_TRIES =>
            {
                *again = now.checked_add(STATUS_WAIT).ok();
            }
            (Place::Status { .. } | Place::History, Err(_)) => self.fails = true,
            (_, Ok(_)) => {}
        }
    }
}

impl Actor for StatefulSets {
    fn caller(&self) -> Caller {
        Caller::controller("statefulset-controller")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::StatefulSets, Resource::Pods, Resource::Claims, Resource::Revisions]
    }

    fn notice(&mut self, now: Timestamp, view: &View, change: &Change) {
        match change.resource {
            Resource::StatefulSets => drop(self.due.insert(change.key.clone())),
            Resource::Pods => self.notice_pod(now, view, change),
            // The real controller is not woken by claims and revisions either.
            _ => {}
        }
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        let ripe: Vec<Key> =
            self.later.iter().filter(|(_, due)| **due <= now).map(|(key, _)| key.clone()).collect();
        for key in ripe {
            self.later.remove(&key);
            self.due.insert(key);
        }
        loop {
            if let Some(acts) = self.go_on(now, view) {
                return Turn { acts, wake: Some(now) };
            }
            let free = self.due.iter().find(|key| !self.looks.contains_key(*key)).cloned();
            let Some(key) = free else { break };
            self.due.remove(&key);
            self.begin(now, view, key);
        }
        let waits = self.looks.values().filter_map(|look| match look.at {
            Place::Status { again, .. } => again,
            Place::Steps(_) | Place::History => None,
        });
        Turn { acts: Vec::new(), wake: self.later.values().copied().chain(waits).min() }
    }

    fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        let Some(key) = &self.asked else { return };
        if let Ok(object) = answer {
            let written = self.written.entry(key.clone()).or_default();
            let last = match act {
                Act::Create(Resource::Pods, _) | Act::Patch(Resource::Pods, ..) => Some(&mut written.pods),
                Act::Create(Resource::Claims, _) | Act::Patch(Resource::Claims, ..) => {
                    Some(&mut written.claims)
                }
                Act::Update(Resource::StatefulSets, Part::Status, _) => Some(&mut written.set),
                _ => None,
            };
            if let Some(last) = last {
                *last = object::version(object).max(*last);
            }
        }
        if let Some(look) = self.looks.get_mut(key) {
            look.answered(now, act, answer);
        }
    }
}
