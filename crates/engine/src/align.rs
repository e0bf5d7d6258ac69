//! Brings a workload to one goal: so many pods on the target, all others on stable. Every journey of a run is this
//! with another goal, so there is one place that decides about exposing and about freeing pods.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::decision::{Move, PodRef};
use crate::names::{PodName, PodUid, Revision};
use crate::observation::{Exposure, Observation, Pod, PodState, Record, Slot};
use crate::reason::{PodTrouble, Reason, Wait};

/// Where the pods belong: the first `exposed` slots on the target, the others on stable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal<'a> {
    pub(crate) exposed: u32,
    /// Nothing is held back, not even pods that a scaling adds.
    pub(crate) everything: bool,
    pub(crate) target: &'a Revision,
    pub(crate) stable: &'a Revision,
    /// What is noted on the workload when its exposure changes.
    pub(crate) record: Option<Record>,
}

/// How far the workload is from a goal.
#[derive(Debug)]
pub(crate) enum Alignment {
    /// This has to be done next.
    Move(Move),
    /// Nothing to do but wait.
    Wait(Vec<Wait>),
    /// Exactly the exposed pods are on the target, all of them available, and no other pod is off stable.
    Aligned,
}

impl Goal<'_> {
    fn exposure(&self) -> Exposure {
        if self.everything { Exposure::First(self.exposed) } else { Exposure::of(self.exposed) }
    }

    fn split<'o>(&self, seen: &'o Observation) -> (&'o [Slot], &'o [Slot]) {
        seen.slots.split_at(seen.slots.len().min(self.exposed as usize))
    }

    /// The revision that the pod of this name belongs on.
    fn belongs(&self, seen: &Observation, name: &PodName) -> Option<&Revision> {
        let rank = seen.slots.iter().position(|slot| &slot.name == name)?;
        Some(if rank < self.exposed as usize { self.target } else { self.stable })
    }
}

/// The next thing that brings the workload nearer to the goal. Lowering comes first, because it stops more pods from
/// going ahead; then pods that are down anyway, because freeing them costs nothing; then healthy pods, one at a time;
/// raising comes last.
pub(crate) fn align(
    now: Timestamp,
    seen: &Observation,
    goal: Goal<'_>,
    freed: &BTreeMap<PodName, PodUid>,
) -> Alignment {
    let wanted = goal.exposure();
    if seen.exposed() > goal.exposed || (wanted == Exposure::Held && seen.exposure != Exposure::Held) {
        return Alignment::Move(Move::Expose(wanted, goal.record));
    }
    if !seen.settled {
        return Alignment::wait(Reason::ControllerLags, None);
    }
    let strays = strays(seen, goal);
    if !strays.is_empty() && &seen.stable != goal.stable {
        return Alignment::wait(Reason::StableForgotten { stable: goal.stable.clone() }, None);
    }
    if let Some(alignment) = free_what_is_down(seen, goal, &strays, freed) {
        return alignment;
    }
    if seen.exposed() < goal.exposed && waits_for_exposure(seen, goal) {
        return Alignment::Move(Move::Expose(wanted, goal.record));
    }
    if !strays.is_empty() {
        return free_one_at_a_time(now, seen, goal, &strays, freed);
    }
    if seen.exposure != wanted || !seen.marked {
        return Alignment::Move(Move::Expose(wanted, goal.record));
    }
    exposed_pods_are_right(now, seen, goal)
}

/// Forgets freed pods whose successor is where it belongs, and those that are gone with their slot.
pub(crate) fn forget_what_came_back(
    seen: &Observation,
    goal: Goal<'_>,
    freed: &mut BTreeMap<PodName, PodUid>,
) {
    freed.retain(|name, uid| {
        let Some(revision) = goal.belongs(seen, name) else {
            return seen.surplus.iter().any(|pod| &pod.uid == uid);
        };
        !seen.pods().any(|pod| &pod.name == name && pod.is_on(revision) && !pod.is_terminating())
    });
}

/// Pods outside the exposure that are not on stable.
fn strays<'a>(seen: &'a Observation, goal: Goal<'_>) -> Vec<&'a Pod> {
    let (_, rest) = goal.split(seen);
    rest.iter().filter_map(|slot| slot.pod.as_ref()).filter(|pod| !pod.is_on(goal.stable)).collect()
}

/// A pod on the wrong revision that is down blocks others and serves nobody: some workloads never replace it by
/// themselves, nor remove it when it is one too many. A ready pod on probation serves, so it is none of these.
fn free_what_is_down(
    seen: &Observation,
    goal: Goal<'_>,
    strays: &[&Pod],
    freed: &BTreeMap<PodName, PodUid>,
) -> Option<Alignment> {
    let stuck = seen.slots[..seen.exposed() as usize]
        .iter()
        .filter_map(|slot| slot.pod.as_ref())
        .filter(|pod| !pod.is_on(goal.target));
    let goes_back = goal.exposed == 0 || goal.everything;
    let surplus: &[Pod] = if goes_back { &seen.surplus } else { &[] };
    let down: Vec<&Pod> = stuck
        .chain(strays.iter().copied())
        .chain(surplus.iter().filter(|pod| !pod.is_on(goal.stable)))
        .filter(|pod| pod.is_down())
        .collect();
    let came_back: Vec<PodName> =
        down.iter().filter(|pod| !may_free(pod, freed)).map(|pod| pod.name.clone()).collect();
    if !came_back.is_empty() {
        let revision =
            came_back.first().and_then(|name| goal.belongs(seen, name)).unwrap_or(goal.stable).clone();
        return Some(Alignment::wait(Reason::CameBackWrong { pods: came_back, revision }, None));
    }
    if seen.pods().any(Pod::is_terminating) {
        return None;
    }
    down.first().map(|pod| Alignment::Move(Move::Free(pod_ref(pod))))
}

/// A pod that is down, wrong, and would be put right by exposing it: waiting for others first would wait for ever.
fn waits_for_exposure(seen: &Observation, goal: Goal<'_>) -> bool {
    let upto = seen.slots.len().min(goal.exposed as usize);
    seen.slots[seen.exposed() as usize..upto]
        .iter()
        .filter_map(|slot| slot.pod.as_ref())
        .any(|pod| !pod.is_on(goal.stable) && pod.is_down())
}

fn free_one_at_a_time(
    now: Timestamp,
    seen: &Observation,
    goal: Goal<'_>,
    strays: &[&Pod],
    freed: &BTreeMap<PodName, PodUid>,
) -> Alignment {
    let (came_back, free): (Vec<&Pod>, Vec<&Pod>) = strays.iter().partition(|pod| !may_free(pod, freed));
    let exposed = seen.exposed() as usize;
    let waits_for: Vec<PodTrouble> = seen
        .slots
        .iter()
        .enumerate()
        .filter(|(rank, slot)| {
            let available = slot.pod.as_ref().is_some_and(|pod| pod.is_available(now));
            // A ready pod that has to go as well need not have stood its probation for that.
            let serves = slot.pod.as_ref().is_some_and(|pod| {
                !pod.is_down() && !pod.is_terminating() && strays.iter().any(|stray| stray.uid == pod.uid)
            });
            // The workload's own controller still replaces this one: two of us at work would be two pods down.
            let native = *rank < exposed && !slot.pod.as_ref().is_some_and(|pod| pod.is_on(goal.target));
            !(available || serves) || native
        })
        .map(|(_, slot)| trouble_of(slot))
        .chain(seen.surplus.iter().map(trouble))
        .collect();
    match free.first() {
        Some(next) if waits_for.is_empty() => Alignment::Move(Move::Free(pod_ref(next))),
        Some(_) => {
            let left = free.iter().map(|pod| pod.name.clone()).collect();
            let since = waits_for.iter().filter_map(|trouble| trouble.since).min();
            Alignment::wait(Reason::OneAtATime { left, waits_for }, since)
        }
        None => Alignment::wait(
            Reason::CameBackWrong {
                pods: came_back.iter().map(|pod| pod.name.clone()).collect(),
                revision: goal.stable.clone(),
            },
            None,
        ),
    }
}

fn exposed_pods_are_right(now: Timestamp, seen: &Observation, goal: Goal<'_>) -> Alignment {
    let (exposed, rest) = goal.split(seen);
    let mut waits = Vec::new();
    waits.extend(pods_wait(now, exposed, goal.target));
    if !waits.is_empty() {
        // A broken pod of the old version can stop the new one from coming up: name it as well.
        waits.extend(pods_wait(now, rest, goal.stable));
        return Alignment::Wait(waits);
    }
    Alignment::Aligned
}

/// The wait for every slot to have an available pod of `revision`, unless they all do.
pub(crate) fn pods_wait(now: Timestamp, slots: &[Slot], revision: &Revision) -> Option<Wait> {
    let right =
        |slot: &&Slot| slot.pod.as_ref().is_some_and(|pod| pod.is_on(revision) && pod.is_available(now));
    let pods: Vec<PodTrouble> = slots.iter().filter(|slot| !right(slot)).map(trouble_of).collect();
    // A healthy pod that still has to be replaced waits since the step began, not since it became healthy.
    let ill = |pod: &&PodTrouble| !matches!(pod.state, Some(PodState::Ready { available_at }) if available_at <= now);
    if pods.is_empty() {
        return None;
    }
    let wanted = u32::try_from(slots.len()).unwrap_or(u32::MAX);
    let right = wanted - u32::try_from(pods.len()).unwrap_or(wanted);
    let since = pods.iter().filter(ill).filter_map(|trouble| trouble.since).min();
    Some(Wait { reason: Reason::Pods { revision: revision.clone(), pods, right, wanted }, since })
}

/// A pod may be freed once; its successor of the same name may not be, until it was seen right.
fn may_free(pod: &Pod, freed: &BTreeMap<PodName, PodUid>) -> bool {
    freed.get(&pod.name).is_none_or(|uid| uid == &pod.uid)
}

fn pod_ref(pod: &Pod) -> PodRef {
    PodRef { name: pod.name.clone(), uid: pod.uid.clone() }
}

/// A pod with what it does.
pub(crate) fn trouble(pod: &Pod) -> PodTrouble {
    PodTrouble {
        name: pod.name.clone(),
        revision: pod.revision.clone(),
        state: Some(pod.state.clone()),
        since: Some(pod.since),
    }
}

fn trouble_of(slot: &Slot) -> PodTrouble {
    slot.pod.as_ref().map_or_else(
        || PodTrouble { name: slot.name.clone(), revision: None, state: None, since: None },
        trouble,
    )
}

impl Alignment {
    fn wait(reason: Reason, since: Option<Timestamp>) -> Self {
        Self::Wait(vec![Wait { reason, since }])
    }
}
