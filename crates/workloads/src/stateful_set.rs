//! The StatefulSet lens. Exposing k pods means partition = replicas - k: pods are updated from the highest ordinal
//! down. The partition counts from the first ordinal, so `ordinals.start` does not enter into it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::json;
use windlass_api::WorkloadKind;
use windlass_engine::{
    Exposure, Move, Observation, Pod, PodName, PodState, Record, Refusal, Revision, RolloutName, Slot,
    WorkloadUid,
};

use crate::conditional::{Conditional, Mark};
use crate::policies::Holder;
use crate::view::{KnownPod, PodView, RevisionView, Snapshot, label};
use crate::write::{PodDeletion, WorkloadPatch, Write};
use crate::{HELD_ANNOTATION, ROLLOUT_LABEL};

/// The partition that holds every pod: above any number of replicas, so that a scale-up gives stable pods too.
pub const HOLD: i32 = i32::MAX;

/// The fields of a StatefulSet that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatefulSetView {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// The generation of its spec, for preconditions.
    pub generation: i64,
    /// The generation its controller has seen.
    pub observed_generation: i64,
    /// Wanted pods.
    pub replicas: i32,
    /// The first ordinal.
    pub first_ordinal: i32,
    /// Seconds of readiness that make a pod available.
    pub min_ready_seconds: i32,
    /// How it updates.
    pub strategy: UpdateStrategy,
    /// What a pod below the partition is made of.
    pub current_revision: String,
    /// What a pod from the partition up is made of.
    pub update_revision: String,
    /// The value of the label that names its rollout.
    pub rollout: Option<String>,
    /// The mark of a run, if it is on.
    pub held: Option<String>,
    /// Whether it has any label.
    pub has_labels: bool,
    /// Whether it has any annotation.
    pub has_annotations: bool,
}

/// How a StatefulSet updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStrategy {
    /// Pods from the partition up; no partition written means 0.
    RollingUpdate {
        /// The partition.
        partition: i32,
        /// Whether the `rollingUpdate` block is there; a manifest may leave it out.
        block_exists: bool,
    },
    /// Whenever somebody deletes a pod.
    OnDelete,
}

impl StatefulSetView {
    /// Prunes a StatefulSet.
    pub fn of(set: &StatefulSet) -> Self {
        let meta = &set.metadata;
        let spec = set.spec.as_ref();
        let status = set.status.as_ref();
        let revision = |revision: Option<&Option<String>>| revision.cloned().flatten().unwrap_or_default();
        Self {
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            observed_generation: status.and_then(|status| status.observed_generation).unwrap_or_default(),
            replicas: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            first_ordinal: spec
                .and_then(|spec| spec.ordinals.as_ref())
                .and_then(|ordinals| ordinals.start)
                .unwrap_or_default(),
            min_ready_seconds: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or_default(),
            strategy: strategy(set),
            current_revision: revision(status.map(|status| &status.current_revision)),
            update_revision: revision(status.map(|status| &status.update_revision)),
            rollout: label(meta, ROLLOUT_LABEL).cloned(),
            held: meta.annotations.as_ref().and_then(|all| all.get(HELD_ANNOTATION)).cloned(),
            has_labels: meta.labels.is_some(),
            has_annotations: meta.annotations.is_some(),
        }
    }

    fn rollout_mark(&self) -> Mark<'_> {
        Mark {
            map: "labels",
            map_exists: self.has_labels,
            key: ROLLOUT_LABEL,
            before: self.rollout.as_deref(),
        }
    }

    fn held_mark(&self) -> Mark<'_> {
        Mark {
            map: "annotations",
            map_exists: self.has_annotations,
            key: HELD_ANNOTATION,
            before: self.held.as_deref(),
        }
    }

    /// How many pods it is set to have on the target.
    pub(crate) fn exposure(&self) -> Exposure {
        let replicas = self.replicas.max(0);
        match self.partition() {
            HOLD => Exposure::Held,
            partition => Exposure::First((replicas - partition.min(replicas)).unsigned_abs()),
        }
    }

    /// The partition that exposes so many pods.
    pub fn partition_for(&self, exposure: Exposure) -> i32 {
        match exposure {
            Exposure::Held => HOLD,
            Exposure::First(count) => self.replicas.max(0).saturating_sub_unsigned(count).max(0),
        }
    }

    fn partition(&self) -> i32 {
        match self.strategy {
            UpdateStrategy::RollingUpdate { partition, .. } => partition,
            UpdateStrategy::OnDelete => 0,
        }
    }
}

fn strategy(set: &StatefulSet) -> UpdateStrategy {
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
    if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
        return UpdateStrategy::OnDelete;
    }
    let block = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    UpdateStrategy::RollingUpdate {
        partition: block.and_then(|block| block.partition).unwrap_or_default(),
        block_exists: block.is_some(),
    }
}

/// Reads a StatefulSet and its pods.
pub(crate) fn observe(
    set: &StatefulSetView,
    snapshot: &Snapshot,
    rollout: &RolloutName,
    hold: Holder,
) -> Result<Observation, Refusal> {
    if set.strategy == UpdateStrategy::OnDelete {
        return Err(Refusal::ReplacesOnDeleteOnly { workload: format!("StatefulSet {}", set.name) });
    }
    let aliases = aliases(set, &snapshot.revisions);
    let named = |name: &str| known_as(&aliases, &Revision::new(name));
    let (slots, surplus) = slots(set, &snapshot.pods, &aliases);
    Ok(Observation {
        workload: WorkloadUid::new(&set.uid),
        settled: set.observed_generation >= set.generation && revisions_known(set, &snapshot.revisions),
        stable: named(&set.current_revision),
        target: named(&set.update_revision),
        exposure: set.exposure(),
        slots,
        surplus,
        claimed: set.rollout.as_deref() == Some(rollout.as_str()),
        marked: set.held.is_some(),
        ready_to_hold: match hold {
            Holder::Policy => true,
            Holder::Partition => set.partition() == HOLD,
        },
        recorded: set.held.as_deref().and_then(read_record),
        aliases,
        checks: Vec::new(),
    })
}

/// Two revisions can only be compared once both are known; until then nothing is concluded from their names.
fn revisions_known(set: &StatefulSetView, revisions: &[Arc<RevisionView>]) -> bool {
    let known = |name: &str| revisions.iter().any(|revision| revision.name == name);
    !set.update_revision.is_empty()
        && (set.current_revision == set.update_revision
            || (known(&set.current_revision) && known(&set.update_revision)))
}

/// Each revision that means the same as the current or the update revision goes by that one's name.
fn aliases(set: &StatefulSetView, revisions: &[Arc<RevisionView>]) -> BTreeMap<Revision, Revision> {
    let meaning = |name: &str| revisions.iter().find(|revision| revision.name == name).map(|it| it.meaning);
    let mut aliases = BTreeMap::new();
    for name in [&set.update_revision, &set.current_revision] {
        let Some(wanted) = meaning(name) else { continue };
        let same = revisions.iter().filter(|other| other.meaning == wanted && &other.name != name);
        for other in same {
            aliases.insert(Revision::new(&other.name), Revision::new(name));
        }
    }
    // The current revision is the name of record when both mean the same.
    aliases.remove(&Revision::new(&set.current_revision));
    aliases
}

fn known_as(aliases: &BTreeMap<Revision, Revision>, revision: &Revision) -> Revision {
    aliases.get(revision).unwrap_or(revision).clone()
}

/// One slot per wanted ordinal, highest first; everything else is surplus.
fn slots(
    set: &StatefulSetView,
    pods: &[KnownPod],
    aliases: &BTreeMap<Revision, Revision>,
) -> (Vec<Slot>, Vec<Pod>) {
    let wanted = set.first_ordinal..set.first_ordinal.saturating_add(set.replicas.max(0));
    let mut by_ordinal: Vec<Option<Pod>> = wanted.clone().map(|_| None).collect();
    let mut surplus = Vec::new();
    for pod in pods {
        let Some(ordinal) = ordinal(&set.name, pod.name.as_str()) else { continue };
        let place = usize::try_from(ordinal - i64::from(set.first_ordinal)).ok();
        match place.and_then(|place| by_ordinal.get_mut(place)) {
            Some(slot) => *slot = Some(read_pod(set, pod, aliases)),
            None => surplus.push(read_pod(set, pod, aliases)),
        }
    }
    surplus.sort_by(|one, other| one.name.cmp(&other.name));
    let slots = wanted.zip(by_ordinal).rev().map(|(ordinal, pod)| Slot {
        name: pod
            .as_ref()
            .map_or_else(|| PodName::new(format!("{}-{ordinal}", set.name)), |it| it.name.clone()),
        pod,
    });
    (slots.collect(), surplus)
}

/// The number that a set gave to a pod; none if the name is not one that the set gives.
fn ordinal(set: &str, pod: &str) -> Option<i64> {
    let number = pod.strip_prefix(set)?.strip_prefix('-')?;
    let plain = number == "0" || !number.starts_with('0');
    (plain && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| number.parse().ok()).flatten()
}

fn read_pod(set: &StatefulSetView, pod: &PodView, aliases: &BTreeMap<Revision, Revision>) -> Pod {
    let (state, since) = match (pod.terminating_since, pod.ready_since) {
        (Some(since), _) => (PodState::Terminating, since),
        (None, Some(since)) => (PodState::Ready { available_at: available_at(set, since) }, since),
        (None, None) => (PodState::NotReady { why: pod.trouble.clone() }, pod.unready_since),
    };
    Pod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        revision: pod.revision.as_ref().map(|revision| known_as(aliases, revision)),
        state,
        since,
    }
}

/// Without `minReadySeconds` a ready pod is available whatever the clocks say: the node's may be ahead of ours.
fn available_at(set: &StatefulSetView, ready_since: Timestamp) -> Timestamp {
    if set.min_ready_seconds <= 0 {
        return Timestamp::UNIX_EPOCH;
    }
    let probation = SignedDuration::from_secs(i64::from(set.min_ready_seconds));
    ready_since.checked_add(probation).unwrap_or(Timestamp::MAX)
}

/// The one request that makes a move.
pub(crate) fn write(
    set: &StatefulSetView,
    snapshot: &Snapshot,
    rollout: &RolloutName,
    hold: Holder,
    next: &Move,
) -> Write {
    let claimed = conditional(set).mark(&set.rollout_mark(), Some(rollout.as_str()));
    match next {
        Move::Claim => match hold {
            Holder::Policy => patch(set, claimed, None),
            // From this write on a change is held.
            Holder::Partition => patch(set, set_partition(set, claimed, HOLD), Some(Exposure::Held)),
        },
        Move::Expose(exposure, record) => {
            let mark = record.map_or_else(|| "true".to_owned(), write_record);
            let marked = claimed.mark(&set.held_mark(), Some(&mark));
            patch(set, set_partition(set, marked, set.partition_for(*exposure)), Some(*exposure))
        }
        Move::Free(pod) => {
            Write::DeletePod(PodDeletion { pod: pod.clone(), version: snapshot.version_of(&pod.uid) })
        }
        Move::Release => {
            let released = claimed.mark(&set.held_mark(), None);
            let rest = match hold {
                Holder::Policy => 0,
                Holder::Partition => HOLD,
            };
            patch(set, set_partition(set, released, rest), None)
        }
        Move::Check(check) => Write::Check(check.clone()),
    }
}

/// The value of the mark: which run exposed pods, and for which stage.
fn write_record(record: Record) -> String {
    format!("run-{}/stage-{}", record.run.as_nanosecond(), record.stage)
}

fn read_record(mark: &str) -> Option<Record> {
    let (run, stage) = mark.split_once('/')?;
    let run = Timestamp::from_nanosecond(run.strip_prefix("run-")?.parse().ok()?).ok()?;
    Some(Record { run, stage: stage.strip_prefix("stage-")?.parse().ok()? })
}

/// Marks off. In the middle of a run the partition stays where it is, so nothing moves; between two runs one that
/// rests at HOLD goes to 0, because nobody would lower it for the next template.
pub(crate) fn give_back(set: &StatefulSetView) -> Write {
    let free = conditional(set).mark(&set.rollout_mark(), None).mark(&set.held_mark(), None);
    let is_settled = set.observed_generation >= set.generation && !set.update_revision.is_empty();
    let at_rest = is_settled && set.current_revision == set.update_revision && set.held.is_none();
    let rests_at_hold = at_rest && set.partition() == HOLD;
    patch(set, if rests_at_hold { set_partition(set, free, 0) } else { free }, None)
}

fn conditional(set: &StatefulSetView) -> Conditional {
    Conditional::by(&set.uid, set.generation)
}

/// Creates the `rollingUpdate` block where a manifest left it out, and touches nothing else in it: `maxUnavailable`
/// stays. A partition that is there already is not written again.
fn set_partition(set: &StatefulSetView, change: Conditional, partition: i32) -> Conditional {
    let block = ["spec", "updateStrategy", "rollingUpdate"];
    match set.strategy {
        UpdateStrategy::RollingUpdate { partition: before, .. } if before == partition => change,
        UpdateStrategy::RollingUpdate { block_exists: true, .. } => {
            change.set(&[block.as_slice(), &["partition"]].concat(), json!(partition))
        }
        UpdateStrategy::RollingUpdate { block_exists: false, .. } | UpdateStrategy::OnDelete => {
            change.set(&block, json!({"partition": partition}))
        }
    }
}

fn patch(set: &StatefulSetView, change: Conditional, exposes: Option<Exposure>) -> Write {
    Write::PatchWorkload(WorkloadPatch {
        kind: WorkloadKind::StatefulSet,
        name: set.name.clone(),
        patch: change.patch(),
        exposes,
    })
}
