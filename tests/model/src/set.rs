//! A StatefulSet of three pods with the exact semantics of its controller (`OrderedReady`), small enough to be visited in
//! every state. Generations are not counted: what matters is whether the controller has seen the latest spec.

use std::fmt;

use jiff::Timestamp;
use windlass_engine::{
    Exposure, Observation, Pod, PodName, PodState, PodUid, Record, Revision, Slot, WorkloadUid,
};

use crate::moments::started;

/// How many pods there are.
pub const PODS: u8 = 3;
/// The partition above any number of pods.
pub const HOLD: u8 = u8::MAX;
/// The identity of what was born in this very step, until it is numbered.
pub const NEWBORN: u8 = u8::MAX;

/// One version of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// What runs at the start.
    A,
    /// Another.
    B,
    /// A third.
    C,
}

impl Version {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::C];

    /// As the engine knows it.
    pub fn revision(self) -> Revision {
        Revision::new(self.letter())
    }

    /// As the engine told it.
    pub fn read(revision: &Revision) -> Self {
        match revision.as_str() {
            "A" => Self::A,
            "B" => Self::B,
            _ => Self::C,
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.letter())
    }
}

/// What holds a new template, as installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Mutating policies: the partition rests at 0.
    Policy,
    /// Validating ones only: the partition rests at HOLD.
    Partition,
}

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Does {
    /// Not ready.
    Starting,
    /// Ready, and so available: `minReadySeconds` is 0.
    Ready,
    /// On its way out.
    Leaving,
}

/// One pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SmallPod {
    /// Its revision.
    pub version: Version,
    /// What it does.
    pub does: Does,
    /// Its identity among those of its name that anybody still remembers.
    pub uid: u8,
    /// For the rules only: on the template for another reason than the loop's writes.
    pub excused: bool,
    /// For the rules only: the loop deleted it.
    pub freed: bool,
}

/// The spec, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spec {
    /// What is wanted.
    pub template: Version,
    /// Pods below it stay.
    pub partition: u8,
}

/// A run, by number, and the stage that was recorded for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SmallRecord {
    /// The run.
    pub run: u8,
    /// The stage.
    pub stage: u8,
}

/// The set and its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Set {
    /// The spec.
    pub spec: Spec,
    /// The spec that its controller saw last, while that is not the present one.
    pub former: Option<Spec>,
    /// The mark of a run.
    pub marked: bool,
    /// What the mark records.
    pub record: Option<SmallRecord>,
    /// `status.currentRevision`
    pub current: Version,
    /// `status.updateRevision`
    pub update: Version,
    /// By ordinal.
    pub pods: [Option<SmallPod>; PODS as usize],
}

impl Set {
    /// At rest on `A`, every pod ready.
    pub fn at_rest(holder: Holder) -> Self {
        let pod = SmallPod { version: Version::A, does: Does::Ready, uid: 0, excused: false, freed: false };
        Self {
            spec: Spec { template: Version::A, partition: rest(holder) },
            former: None,
            marked: false,
            record: None,
            current: Version::A,
            update: Version::A,
            pods: [Some(pod); PODS as usize],
        }
    }

    /// Without what only the rules look at.
    #[must_use]
    pub fn as_seen(mut self) -> Self {
        for pod in self.pods.iter_mut().flatten() {
            (pod.excused, pod.freed) = (false, false);
        }
        self
    }

    /// What the lens makes of it. Highest ordinal first.
    pub fn observe(&self, holder: Holder) -> Observation {
        let slots = (0..PODS).rev().zip(self.pods.iter().rev());
        Observation {
            workload: workload(),
            settled: self.former.is_none(),
            stable: self.current.revision(),
            target: self.update.revision(),
            exposure: match self.spec.partition {
                HOLD => Exposure::Held,
                partition => Exposure::First(u32::from(PODS.saturating_sub(partition))),
            },
            slots: slots
                .map(|(ordinal, pod)| Slot {
                    name: pod_name(ordinal),
                    pod: pod.map(|pod| observe_pod(ordinal, pod)),
                })
                .collect(),
            surplus: Vec::new(),
            claimed: true,
            marked: self.marked,
            ready_to_hold: holder == Holder::Policy || self.spec.partition == HOLD,
            recorded: self
                .record
                .map(|record| Record { run: started(record.run), stage: usize::from(record.stage) }),
            aliases: std::collections::BTreeMap::new(),
            checks: Vec::new(),
        }
    }

    /// The slots that the partition exposes.
    pub fn exposed(&self) -> u8 {
        PODS.saturating_sub(self.spec.partition)
    }

    /// Every pod is ready and on this version.
    pub fn is_all_on(&self, version: Version) -> bool {
        self.pods.iter().all(|pod| pod.is_some_and(|pod| pod.version == version && pod.does == Does::Ready))
    }

    /// Somebody changes the template. Policies see to it that this very write holds every pod.
    pub fn change_template(&mut self, holder: Holder, template: Version) {
        self.set_spec(Spec { template, partition: HOLD });
        self.marked |= holder == Holder::Policy;
        for pod in self.pods.iter_mut().flatten() {
            pod.excused = pod.version == template;
        }
    }

    /// The loop exposes pods.
    pub fn expose(&mut self, partition: u8, record: Option<SmallRecord>) {
        self.marked = true;
        self.record = record;
        self.set_spec(Spec { partition, ..self.spec });
    }

    /// The loop takes the mark off.
    pub fn release(&mut self, holder: Holder) {
        self.marked = false;
        self.record = None;
        self.set_spec(Spec { partition: rest(holder), ..self.spec });
    }

    fn set_spec(&mut self, spec: Spec) {
        if self.spec != spec {
            self.former = self.former.or(Some(self.spec));
            self.spec = spec;
        }
    }

    /// One sync of the set's controller, on the spec as it is or on the one it saw last.
    pub fn sync(&mut self, holder: Holder, is_latest: bool) {
        let spec = if is_latest { self.spec } else { self.former.unwrap_or(self.spec) };
        if self.fill_slots(spec, is_latest) {
            self.replace_one(spec);
        }
        let updated = spec.template;
        let forgets = self.is_all_on(updated) && self.current != updated;
        match holder {
            // The policy changes the status in passing.
            Holder::Policy if forgets && self.marked && self.spec.partition > 0 => {}
            // Without mutating policies the status is refused only at zero pods, which this world never has.
            _ if forgets => self.current = updated,
            _ => {}
        }
        self.update = updated;
        if is_latest {
            self.former = None;
        }
    }

    /// True when every slot has a ready pod.
    fn fill_slots(&mut self, spec: Spec, is_latest: bool) -> bool {
        for (ordinal, slot) in (0..PODS).zip(self.pods.iter_mut()) {
            match slot {
                Some(pod) if pod.does == Does::Ready => {}
                Some(_) => return false,
                None => {
                    let version = if ordinal < spec.partition { self.current } else { spec.template };
                    *slot = Some(SmallPod {
                        version,
                        does: Does::Starting,
                        uid: NEWBORN,
                        excused: !is_latest,
                        freed: false,
                    });
                    return false;
                }
            }
        }
        true
    }

    /// From the top down to the partition, at most one deletion. All pods are ready here.
    fn replace_one(&mut self, spec: Spec) {
        let upwards = self.pods.iter_mut().skip(usize::from(spec.partition));
        let next = upwards.rev().flatten().find(|pod| pod.version != spec.template);
        if let Some(pod) = next {
            pod.does = Does::Leaving;
        }
    }
}

/// Where the partition is between two runs.
fn rest(holder: Holder) -> u8 {
    match holder {
        Holder::Policy => 0,
        Holder::Partition => HOLD,
    }
}

/// The identity of the set.
pub fn workload() -> WorkloadUid {
    WorkloadUid::new("set")
}

/// The name of a pod.
pub fn pod_name(ordinal: u8) -> PodName {
    PodName::new(format!("web-{ordinal}"))
}

/// The ordinal in a pod's name.
pub fn ordinal(name: &PodName) -> usize {
    name.as_str().bytes().last().map_or(0, |digit| usize::from(digit - b'0'))
}

/// A pod's identity, as the engine knows it.
pub fn pod_uid(uid: u8) -> PodUid {
    PodUid::new(uid.to_string())
}

/// A pod's identity, as the engine told it.
pub fn read_uid(uid: &PodUid) -> u8 {
    uid.as_str().parse().unwrap_or(NEWBORN)
}

fn observe_pod(ordinal: u8, pod: SmallPod) -> Pod {
    Pod {
        name: pod_name(ordinal),
        uid: pod_uid(pod.uid),
        revision: Some(pod.version.revision()),
        state: match pod.does {
            Does::Starting => PodState::NotReady { why: None },
            Does::Ready => PodState::Ready { available_at: Timestamp::UNIX_EPOCH },
            Does::Leaving => PodState::Terminating,
        },
        since: Timestamp::UNIX_EPOCH,
    }
}
