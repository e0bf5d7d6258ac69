//! A small world: one StatefulSet with the exact semantics of its controller (spec/kubernetes-workloads.md, 1.2 to
//! 1.8), and the test's own lens. Nothing in it happens by itself: every change is an event a test asks for.

#![allow(dead_code, reason = "each test binary uses another part of the world")]

pub(crate) mod checked;
pub(crate) mod driver;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use windlass_engine::{
    CheckMove, CheckName, CheckState, Exposure, Move, Observation, Pod, PodName, PodState, PodUid, Record,
    Revision, SeenCheck, Slot, Verdict, WorkloadUid,
};

pub(crate) use driver::Driver;

/// Above any number of replicas.
pub(crate) const HOLD: u32 = i32::MAX as u32;

/// The moment every test begins.
pub(crate) fn epoch() -> Timestamp {
    Timestamp::from_second(1_700_000_000).unwrap_or_default()
}

pub(crate) fn revision(name: &str) -> Revision {
    Revision::new(name)
}

/// What differs between clusters and sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The admission policy holds the set in the write that changes its template; without it the partition rests at HOLD.
    pub(crate) guarded: bool,
    /// The admission policy on the status keeps the current revision while the set is marked and the partition above 0.
    pub(crate) keeps: bool,
    /// `podManagementPolicy: Parallel`.
    pub(crate) parallel: bool,
    /// `minReadySeconds`.
    pub(crate) min_ready: i64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { guarded: true, keeps: true, parallel: false, min_ready: 0 }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct WorldPod {
    pub(crate) uid: PodUid,
    pub(crate) revision: Revision,
    pub(crate) state: PodState,
    pub(crate) since: Timestamp,
}

/// A StatefulSet, its pods, and what the loop did to them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) now: Timestamp,
    pub(crate) replicas: u32,
    pub(crate) template: Revision,
    pub(crate) partition: u32,
    pub(crate) claimed: bool,
    pub(crate) marked: bool,
    recorded: Option<Record>,
    pub(crate) generation: u64,
    pub(crate) observed: u64,
    pub(crate) current: Revision,
    pub(crate) update: Revision,
    pub(crate) pods: BTreeMap<u32, WorldPod>,
    pub(crate) aliases: BTreeMap<Revision, Revision>,
    /// Pods of this revision do not become ready by tending.
    pub(crate) broken: Option<Revision>,
    /// Every pod the loop deleted.
    pub(crate) freed: Vec<PodUid>,
    /// Pods that may be on the template although the loop did not ask for it: they were before, or a scaling did it.
    excused: BTreeSet<PodUid>,
    /// How many pods the loop let to the present template at most, and scaling at a fixed partition.
    asked: u32,
    /// The checks that were begun.
    pub(crate) checks: Vec<SeenCheck>,
    /// The present template came without being held in the same write.
    slipped: bool,
    born: u64,
}

impl World {
    /// A set at rest on `A`, every pod available.
    pub(crate) fn at_rest(rules: Rules, replicas: u32) -> Self {
        let a = revision("A");
        let mut world = Self {
            rules,
            now: epoch(),
            replicas,
            template: a.clone(),
            partition: if rules.guarded { 0 } else { HOLD },
            claimed: true,
            marked: false,
            recorded: None,
            generation: 1,
            observed: 1,
            current: a.clone(),
            update: a,
            pods: BTreeMap::new(),
            aliases: BTreeMap::new(),
            broken: None,
            freed: Vec::new(),
            excused: BTreeSet::new(),
            asked: 0,
            slipped: false,
            checks: Vec::new(),
            born: 0,
        };
        for ordinal in 0..replicas {
            world.create(ordinal);
            world.make_ready(ordinal);
        }
        world.pass(rules.min_ready);
        world
    }

    pub(crate) fn name(ordinal: u32) -> PodName {
        PodName::new(format!("web-{ordinal}"))
    }

    /// What the test's own lens makes of it.
    pub(crate) fn observe(&self) -> Observation {
        let pod = |(ordinal, pod): (&u32, &WorldPod)| Pod {
            name: Self::name(*ordinal),
            uid: pod.uid.clone(),
            revision: Some(self.known_as(&pod.revision)),
            state: pod.state.clone(),
            since: pod.since,
        };
        let slot = |ordinal: u32| Slot {
            name: Self::name(ordinal),
            pod: self.pods.get_key_value(&ordinal).map(pod),
        };
        Observation {
            workload: WorkloadUid::new("set"),
            settled: self.observed == self.generation,
            stable: self.known_as(&self.current),
            target: self.known_as(&self.update),
            exposure: match self.partition {
                HOLD => Exposure::Held,
                partition => Exposure::First(self.replicas.saturating_sub(partition)),
            },
            slots: (0..self.replicas).rev().map(slot).collect(),
            surplus: self.pods.range(self.replicas..).map(pod).collect(),
            claimed: self.claimed,
            marked: self.marked,
            ready_to_hold: self.rules.guarded || self.partition == HOLD,
            recorded: self.recorded,
            aliases: self.aliases.clone(),
            checks: self.checks.clone(),
        }
    }

    /// One write of the loop. A write that is sent again because its answer was lost changes nothing more.
    pub(crate) fn apply(&mut self, next: &Move) {
        match next {
            Move::Claim => {
                self.claimed = true;
                if !self.rules.guarded {
                    self.set_partition(HOLD);
                }
            }
            Move::Expose(exposure, record) => {
                self.marked = true;
                self.recorded = *record;
                self.set_partition(match exposure {
                    Exposure::Held => HOLD,
                    Exposure::First(count) => self.replicas.saturating_sub(*count),
                });
            }
            Move::Free(free) => {
                let meant = |(ordinal, pod): &(&u32, &mut WorldPod)| {
                    Self::name(**ordinal) == free.name && pod.uid == free.uid
                };
                let now = self.now;
                if let Some((_, pod)) = self.pods.iter_mut().find(meant)
                    && pod.state != PodState::Terminating
                {
                    self.freed.push(pod.uid.clone());
                    (pod.state, pod.since) = (PodState::Terminating, now);
                }
            }
            Move::Release => {
                self.marked = false;
                self.recorded = None;
                self.set_partition(if self.rules.guarded { 0 } else { HOLD });
            }
            Move::Check(CheckMove::Begin(id)) => {
                if !self.checks.iter().any(|check| check.id == *id) {
                    let name = CheckName::new(format!("check-{}", self.checks.len()));
                    self.checks.push(SeenCheck {
                        id: *id,
                        name,
                        state: CheckState::Running,
                        measured: false,
                        ending: false,
                    });
                }
            }
            Move::Check(CheckMove::End(name)) => {
                self.checks.iter_mut().filter(|check| check.name == *name).for_each(|it| it.ending = true);
            }
        }
    }

    /// The checks that still measure come to a verdict.
    pub(crate) fn conclude(&mut self, verdict: Verdict) {
        let at = self.now;
        for check in self.checks.iter_mut().filter(|check| check.state == CheckState::Running) {
            let verdict = if check.ending { Verdict::Successful } else { verdict };
            check.measured |= verdict != Verdict::Error;
            check.state = CheckState::Over { verdict, why: "error rate 0.2 > 0.05".to_owned(), at };
        }
    }

    /// The checks that still measure have their first value.
    pub(crate) fn measure(&mut self) {
        let running = self.checks.iter_mut().filter(|check| check.state == CheckState::Running);
        running.for_each(|check| check.measured = true);
    }

    /// Whether something still measures that was not asked to end.
    pub(crate) fn measures(&self) -> bool {
        self.checks.iter().any(|check| check.state == CheckState::Running && !check.ending)
    }

    fn set_partition(&mut self, partition: u32) {
        if self.partition != partition {
            self.partition = partition;
            self.generation += 1;
        }
        self.asked = self.asked.max(self.replicas.saturating_sub(partition));
    }

    /// Somebody changes the template; the policy answers in the same write.
    pub(crate) fn change_template(&mut self, template: &str) {
        let template = revision(template);
        if self.template == template {
            return;
        }
        self.template = template;
        self.generation += 1;
        self.slipped = !(self.rules.guarded && self.claimed);
        if !self.slipped {
            self.partition = HOLD;
            self.marked = true;
        }
        let there = self.pods.values().filter(|pod| pod.revision == self.template);
        self.excused = there.map(|pod| pod.uid.clone()).collect();
        self.asked = self.replicas.saturating_sub(self.partition);
    }

    /// Somebody scales the set. Pods that a fixed partition lets through are not the loop's doing.
    pub(crate) fn scale(&mut self, replicas: u32) {
        if replicas != self.replicas {
            let exposed = |of: u32| of.saturating_sub(self.partition);
            self.asked += exposed(replicas).saturating_sub(exposed(self.replicas));
            self.replicas = replicas;
            self.generation += 1;
        }
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    pub(crate) fn make_ready(&mut self, ordinal: u32) {
        let available_at = self.now + SignedDuration::from_secs(self.rules.min_ready);
        self.turn(ordinal, |state| {
            matches!(state, PodState::NotReady { .. }).then_some(PodState::Ready { available_at })
        });
    }

    pub(crate) fn make_fail(&mut self, ordinal: u32) {
        let why = Some("CrashLoopBackOff".to_owned());
        self.turn(ordinal, |state| (*state != PodState::Terminating).then_some(PodState::NotReady { why }));
    }

    /// A terminating pod is gone at last.
    pub(crate) fn make_gone(&mut self, ordinal: u32) {
        if self.pods.get(&ordinal).is_some_and(|pod| pod.state == PodState::Terminating) {
            self.pods.remove(&ordinal);
        }
    }

    /// A node takes a pod with it.
    pub(crate) fn evict(&mut self, ordinal: u32) {
        self.turn(ordinal, |_| Some(PodState::Terminating));
    }

    /// Somebody's webhook gives a pod the newest revision, wherever it belongs.
    pub(crate) fn tamper(&mut self, ordinal: u32) {
        if let Some(pod) = self.pods.get_mut(&ordinal) {
            pod.revision = self.template.clone();
            self.excused.insert(pod.uid.clone());
        }
    }

    fn turn(&mut self, ordinal: u32, into: impl FnOnce(&PodState) -> Option<PodState>) {
        if let Some(pod) = self.pods.get_mut(&ordinal)
            && let Some(state) = into(&pod.state)
        {
            (pod.state, pod.since) = (state, self.now);
        }
    }

    /// One sync of the StatefulSet controller.
    pub(crate) fn sync(&mut self) {
        self.update = self.template.clone();
        self.observed = self.generation;
        if self.fill_slots() && self.remove_condemned() {
            self.replace_one();
        }
        let wanted = self.replicas as usize;
        let updated = |pod: &&WorldPod| pod.revision == self.update && pod.state != PodState::Terminating;
        let ready = |pod: &&WorldPod| matches!(pod.state, PodState::Ready { .. });
        let pods = || self.pods.values();
        let complete = pods().filter(updated).count() == wanted
            && pods().filter(ready).count() == wanted
            && self.pods.len() == wanted;
        let kept = self.rules.keeps && self.marked && self.partition > 0;
        if complete && !kept {
            self.current = self.update.clone();
        }
    }

    /// True when every slot is filled as far as the policy wants it before going on.
    fn fill_slots(&mut self) -> bool {
        for ordinal in 0..self.replicas {
            let Some(pod) = self.pods.get(&ordinal) else {
                self.create(ordinal);
                if self.rules.parallel {
                    continue;
                }
                return false;
            };
            if !self.rules.parallel && !self.is_available(pod) {
                return false;
            }
        }
        true
    }

    fn remove_condemned(&mut self) -> bool {
        let condemned: Vec<u32> = self.pods.range(self.replicas..).map(|(ordinal, _)| *ordinal).collect();
        let first_unhealthy =
            condemned.iter().find(|ordinal| !self.is_available(&self.pods[ordinal])).copied();
        for ordinal in condemned.into_iter().rev() {
            let pod = &self.pods[&ordinal];
            let terminating = pod.state == PodState::Terminating;
            let blocked = !self.is_available(pod) && first_unhealthy != Some(ordinal);
            if !self.rules.parallel && (terminating || blocked) {
                return false;
            }
            self.evict(ordinal);
            if !self.rules.parallel {
                return false;
            }
        }
        true
    }

    /// The update phase: from the top down to the partition, at most one deletion.
    fn replace_one(&mut self) {
        for ordinal in (self.partition.min(self.replicas)..self.replicas).rev() {
            let Some(pod) = self.pods.get(&ordinal) else { return };
            if pod.revision != self.update && pod.state != PodState::Terminating {
                self.evict(ordinal);
                return;
            }
            if !self.is_available(pod) {
                return;
            }
        }
    }

    fn create(&mut self, ordinal: u32) {
        self.born += 1;
        let uid = PodUid::new(format!("{ordinal}-{}", self.born));
        let revision = if ordinal < self.partition { &self.current } else { &self.update };
        let state = PodState::NotReady { why: None };
        let pod = WorldPod { uid, revision: revision.clone(), state, since: self.now };
        self.pods.insert(ordinal, pod);
    }

    fn is_available(&self, pod: &WorldPod) -> bool {
        matches!(pod.state, PodState::Ready { available_at } if available_at <= self.now)
    }

    fn known_as(&self, revision: &Revision) -> Revision {
        self.aliases.get(revision).unwrap_or(revision).clone()
    }

    /// Everything that can get better does: pods go, come and become available.
    pub(crate) fn tend(&mut self) {
        let ordinals: Vec<u32> = self.pods.keys().copied().collect();
        for ordinal in ordinals {
            self.make_gone(ordinal);
            if self.pods.get(&ordinal).is_some_and(|pod| self.broken.as_ref() != Some(&pod.revision)) {
                self.make_ready(ordinal);
            }
        }
        self.pass(self.rules.min_ready + 1);
        self.sync();
    }

    /// The living pods on a revision, by ordinal.
    pub(crate) fn on(&self, name: &str) -> Vec<u32> {
        let is_on = |pod: &WorldPod| pod.revision.as_str() == name && pod.state != PodState::Terminating;
        self.pods.iter().filter(|(_, pod)| is_on(pod)).map(|(ordinal, _)| *ordinal).collect()
    }

    /// I1: the pods on an unfinished target are no more than the loop asked for.
    pub(crate) fn is_within_what_was_asked(&self) -> bool {
        if self.template == self.current || self.slipped {
            return true;
        }
        let news = |pod: &&WorldPod| {
            pod.revision == self.template
                && pod.state != PodState::Terminating
                && !self.excused.contains(&pod.uid)
        };
        self.pods.values().filter(news).count() <= self.asked as usize
    }
}
