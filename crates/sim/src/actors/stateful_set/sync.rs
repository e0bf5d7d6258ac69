//! One look of the StatefulSet controller at one set: what it would do, in which order, and the status it would write.
//!
//! The order and the stops are those of Kubernetes 1.36 with the gate `MaxUnavailableStatefulSet` off, as it is by
//! default: revisions, then pods that are missing or over, then pods that are too many, then at most one pod that is
//! replaced by the update.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::belonging::Belongings;
use super::claims::{self, Going};
use super::member::{Member, Phase, name_label, new_pod};
use super::revisions::{self, Revisions};
use super::status::Status;
use super::wanted::{Management, Strategy, Wanted};
use crate::actors::{Act, View};
use crate::object::{self, Key, is_going, number};
use crate::resource::Resource;
use crate::server::{Deletion, Part, Patch};

/// Batches double up to this size.
const LARGEST_BATCH: usize = 500;

/// Which part of a sync an act belongs to. What fails in a part keeps all later parts from being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stretch {
    /// Owners and revisions: without them there is no status either.
    Opening,
    /// Pods that are missing, over, or carry a wrong name; by batch, or one by one.
    Replicas(usize),
    /// The claims of pods that are too many.
    Claims,
    /// Pods that are too many; by batch.
    Condemned(usize),
    /// The one pod that gives way to the update.
    Update,
}

/// Acts that belong together: the first one that is refused keeps the rest from being sent.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) stretch: Stretch,
    pub(super) acts: Vec<Act>,
}

/// What a look at a set comes to.
pub(super) struct Sync {
    pub(super) steps: Vec<Step>,
    /// The sync fails here by itself once the steps are done, as after a refusal.
    pub(super) fails: bool,
    /// To be completed and written after the steps, also after failures, unless the opening failed.
    pub(super) status: Status,
    /// Revisions that are forgotten at the end.
    pub(super) forget: Vec<Act>,
    /// When the next pod becomes available, if one is ready and not available yet.
    pub(super) next_available: Option<Timestamp>,
}

/// A place for a pod.
enum Slot<'a> {
    Filled(&'a Member),
    /// The revision that a new pod gets.
    Empty {
        revision: &'a str,
        template: &'a Value,
    },
}

/// What goes on in a sync.
struct Work<'a> {
    now: Timestamp,
    view: &'a View,
    set: &'a Value,
    wanted: &'a Wanted<'a>,
    seed: u64,
    steps: Vec<Step>,
    fails: bool,
}

/// Whether the next pod may be looked at.
#[derive(PartialEq)]
enum Flow {
    On,
    Stop,
}

/// Looks at a set.
pub(super) fn sync(now: Timestamp, view: &View, set: &Value, has: &Belongings<'_>, seed: u64) -> Sync {
    let wanted = &Wanted::of(set);
    let revisions = &revisions::find(set, wanted.template, &has.revisions);
    let status = Status::count(now, set, wanted, revisions, has.pods.iter().copied());
    let forget = revisions::forget(
        set,
        wanted.history_limit,
        &has.revisions,
        revisions,
        has.pods.iter().map(|pod| pod.revision.as_str()),
    );
    let mut work = Work { now, view, set, wanted, seed, steps: Vec::new(), fails: false };
    for act in has.writes.iter().chain(&revisions.write) {
        work.steps.push(Step { stretch: Stretch::Opening, acts: vec![act.clone()] });
    }
    let (slots, condemned) = places(set, wanted, revisions, &has.pods);
    if !is_going(set) {
        work.pods(&slots, &condemned, &revisions.update);
    }
    let (ready, available) = status.ready_and_available();
    let next_available = if ready == available {
        None
    } else {
        let moments = has.pods.iter().filter_map(|pod| pod.available_from(wanted.min_ready_seconds));
        moments.filter(|&from| from > now).min()
    };
    Sync { steps: work.steps, fails: work.fails, status, forget, next_available }
}

/// Pods in their slots, new ones in the empty ones; and the pods out of range, highest ordinal first.
fn places<'a>(
    set: &Value,
    wanted: &Wanted<'a>,
    revisions: &'a Revisions<'a>,
    pods: &[&'a Member],
) -> (Vec<Slot<'a>>, Vec<&'a Member>) {
    let held = match wanted.strategy {
        Strategy::OnDelete => 0,
        Strategy::Rolling { partition: Some(partition) } => partition,
        Strategy::Rolling { partition: None } => {
            number(set, &["status", "currentReplicas"]).unwrap_or_default()
        }
    };
    let mut slots: Vec<Slot<'a>> = (0..wanted.replicas)
        .map(|slot| {
            if slot < held {
                Slot::Empty { revision: &revisions.current, template: revisions.current_template }
            } else {
                Slot::Empty { revision: &revisions.update, template: wanted.template }
            }
        })
        .collect();
    let mut condemned = Vec::new();
    for &pod in pods {
        match wanted.slot(pod.ordinal) {
            Some(slot) => slots[slot] = Slot::Filled(pod),
            None => condemned.push(pod),
        }
    }
    condemned.sort_by_key(|pod| std::cmp::Reverse(pod.ordinal));
    (slots, condemned)
}

impl Work<'_> {
    fn pods(&mut self, slots: &[Slot<'_>], condemned: &[&Member], update: &str) {
        let first_unhealthy = self.first_unhealthy(slots, condemned);
        if self.replicas(slots) == Flow::Stop || self.condemned(condemned, first_unhealthy) == Flow::Stop {
            return;
        }
        let lowest = match self.wanted.strategy {
            Strategy::OnDelete => return,
            Strategy::Rolling { partition } => usize::try_from(partition.unwrap_or(0)).unwrap_or(usize::MAX),
        };
        self.update(slots, lowest, update);
    }

    fn monotonic(&self) -> bool {
        self.wanted.management == Management::OrderedReady
    }

    fn is_available(&self, pod: &Member) -> bool {
        pod.is_available(self.now, self.wanted.min_ready_seconds)
    }

    fn first_unhealthy(&self, slots: &[Slot<'_>], condemned: &[&Member]) -> Option<i64> {
        let start = self.wanted.start;
        let unhealthy = |pod: &Member| pod.going || !self.is_available(pod);
        let slots = slots.iter().zip(start..).find(|(slot, _)| match slot {
            Slot::Filled(pod) => unhealthy(pod),
            Slot::Empty { .. } => true,
        });
        let condemned = || condemned.iter().rev().find(|pod| unhealthy(pod)).map(|pod| pod.ordinal);
        slots.map(|(_, ordinal)| ordinal).or_else(condemned)
    }

    fn replicas(&mut self, slots: &[Slot<'_>]) -> Flow {
        let from = self.steps.len();
        for (index, slot) in slots.iter().enumerate() {
            let stretch = Stretch::Replicas(if self.monotonic() { index } else { batch(index) });
            let (acts, flow) = match slot {
                Slot::Filled(pod) => self.living(pod),
                Slot::Empty { revision, template } => {
                    let ordinal = self.wanted.start + i64::try_from(index).unwrap_or_default();
                    self.missing(ordinal, revision, template)
                }
            };
            if !acts.is_empty() {
                self.steps.push(Step { stretch, acts });
            }
            if self.monotonic() && flow == Flow::Stop {
                return Flow::Stop;
            }
        }
        self.shuffle(from);
        if self.fails { Flow::Stop } else { Flow::On }
    }

    /// A slot without a pod.
    fn missing(&mut self, ordinal: i64, revision: &str, template: &Value) -> (Vec<Act>, Flow) {
        if claims::stale(self.view, self.set, self.wanted, ordinal) {
            return (Vec::new(), Flow::Stop);
        }
        match claims::missing(self.view, self.set, self.wanted, ordinal) {
            Ok(mut acts) => {
                let pod = new_pod(self.set, self.wanted, template, revision, ordinal);
                acts.push(Act::Create(Resource::Pods, pod));
                (acts, Flow::Stop)
            }
            Err(Going) => self.obstructed(),
        }
    }

    fn obstructed(&mut self) -> (Vec<Act>, Flow) {
        self.fails = true;
        (Vec::new(), Flow::Stop)
    }

    /// A slot with a pod, in whatever state.
    fn living(&mut self, pod: &Member) -> (Vec<Act>, Flow) {
        if pod.phase == Phase::Over {
            let acts = if pod.going { Vec::new() } else { vec![self.delete(pod.ordinal)] };
            return (acts, Flow::Stop);
        }
        let mut acts = Vec::new();
        if pod.phase == Phase::Pending {
            match claims::missing(self.view, self.set, self.wanted, pod.ordinal) {
                Ok(missing) => acts = missing,
                Err(Going) => return self.obstructed(),
            }
        }
        if self.monotonic() && (pod.going || !self.is_available(pod)) {
            return (acts, Flow::Stop);
        }
        if !pod.named_right {
            let label = Patch::Merge(name_label(&pod.object));
            acts.push(Act::Patch(Resource::Pods, self.key(pod.ordinal), Part::Whole, label));
        }
        acts.extend(claims::own(self.view, self.set, self.wanted, pod, false));
        (acts, Flow::On)
    }

    fn condemned(&mut self, condemned: &[&Member], first_unhealthy: Option<i64>) -> Flow {
        for pod in condemned {
            let acts = claims::own(self.view, self.set, self.wanted, pod, true);
            if !acts.is_empty() {
                self.steps.push(Step { stretch: Stretch::Claims, acts });
            }
        }
        let from = self.steps.len();
        for (index, pod) in condemned.iter().enumerate() {
            let stretch = Stretch::Condemned(if self.monotonic() { 0 } else { batch(index) });
            let waits = pod.going || (!self.is_available(pod) && first_unhealthy != Some(pod.ordinal));
            match (self.monotonic(), waits) {
                (true, true) => return Flow::Stop,
                (true, false) => {
                    let acts = vec![self.delete(pod.ordinal)];
                    self.steps.push(Step { stretch, acts });
                    return Flow::Stop;
                }
                (false, _) if pod.going => {}
                (false, _) => {
                    let acts = vec![self.delete(pod.ordinal)];
                    self.steps.push(Step { stretch, acts });
                }
            }
        }
        self.shuffle(from);
        Flow::On
    }

    /// From the top down to the partition: the first pod that is not on the update gives way, unless one above it is
    /// not available yet.
    fn update(&mut self, slots: &[Slot<'_>], lowest: usize, update: &str) {
        for (index, slot) in slots.iter().enumerate().rev().take_while(|(index, _)| *index >= lowest) {
            let ordinal = self.wanted.start + i64::try_from(index).unwrap_or_default();
            let (behind, waits) = match slot {
                Slot::Filled(pod) => {
                    (pod.revision != update && !pod.going, pod.going || !self.is_available(pod))
                }
                Slot::Empty { revision, .. } => (*revision != update, true),
            };
            if behind {
                let acts = vec![self.delete(ordinal)];
                self.steps.push(Step { stretch: Stretch::Update, acts });
            }
            if behind || waits {
                return;
            }
        }
    }

    fn key(&self, ordinal: i64) -> Key {
        Key::new(object::namespace(self.set), format!("{}-{ordinal}", object::name(self.set)))
    }

    /// By name alone, as the real controller does.
    fn delete(&self, ordinal: i64) -> Act {
        Act::Delete(Resource::Pods, self.key(ordinal), Deletion::default())
    }

    /// The pods of a batch are handled at the same time: in no order that anybody may rely on.
    fn shuffle(&mut self, from: usize) {
        if self.monotonic() || self.seed == 0 {
            return;
        }
        let salt = self.seed ^ object::version(self.set);
        let mut place = 0;
        self.steps[from..].sort_by_cached_key(|step| {
            place += 1;
            (step.stretch, scramble(salt.wrapping_add(place)))
        });
    }
}

/// The batch of the pod at an index: 1, 2, 4 and so on, at most 500 at a time.
fn batch(index: usize) -> usize {
    let (mut size, mut end, mut batch) = (1, 1, 0);
    while index >= end {
        size = (size * 2).min(LARGEST_BATCH);
        end += size;
        batch += 1;
    }
    batch
}

/// `SplitMix64`: numbers without any order.
fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The status as a request, completed, on the newest version that is known; none if it says nothing new.
pub(super) fn status_act(set: &Value, status: &Status) -> Option<Act> {
    let mut status = status.clone();
    status.complete(&Wanted::of(set));
    let new = status.differs_from(set);
    new.then(|| Act::Update(Resource::StatefulSets, Part::Status, status.on(set)))
}

/// The same status again, on a newer version of the set.
pub(super) fn status_again(set: &Value, former: &Act) -> Option<Act> {
    let Act::Update(resource, part, value) = former else { return None };
    let again = json!({"metadata": set.get("metadata"), "status": value.get("status")});
    Some(Act::Update(*resource, *part, again))
}
