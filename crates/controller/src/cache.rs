//! What is known of the cluster: pruned views with an owner index, fed by the watches and by the answers to our own
//! writes. An older version never replaces a newer one, so after a write we see at least what we wrote.

mod analyses;
mod index;
mod judged;
mod kept;

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_workloads::{PodView, RevisionView, StatefulSetView, Workload};

pub(crate) use analyses::controller;
pub(crate) use index::Index;

use judged::Judged;

/// Which namespaces are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Cluster,
    /// One.
    Namespace(String),
}

/// An object by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Job {
    /// A rollout.
    Rollout(Key),
    /// A workload that may have to be given back.
    Workload(Key),
    /// A run of an analysis.
    Analysis(Key),
}

impl Job {
    /// The object that is looked at.
    pub(crate) fn key(&self) -> &Key {
        match self {
            Self::Rollout(key) | Self::Workload(key) | Self::Analysis(key) => key,
        }
    }
}

/// The kinds of objects that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Rollouts.
    Rollouts,
    /// Workloads.
    Workloads,
    /// Their pods.
    Pods,
    /// Their revisions.
    Revisions,
    /// Runs of analyses.
    AnalysisRuns,
    /// Templates of analyses, in namespaces.
    Templates,
    /// Templates of analyses, for the whole cluster.
    ClusterTemplates,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Rollouts,
        Self::Workloads,
        Self::Pods,
        Self::Revisions,
        Self::AnalysisRuns,
        Self::Templates,
        Self::ClusterTemplates,
    ];
}

/// What is known of the cluster.
#[derive(Default)]
pub(crate) struct Caches {
    index: RwLock<Index>,
    left_out: RwLock<BTreeSet<Kind>>,
    synced: RwLock<BTreeSet<Kind>>,
    /// What was found of the analyses of rollouts.
    pub(crate) judged: Judged,
}

impl Key {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        Self {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

impl Caches {
    /// Objects of these kinds cannot be watched here, and nothing is concluded from that.
    pub(crate) fn leave_out(&self, kinds: Vec<Kind>) {
        self.left_out.write().unwrap_or_else(PoisonError::into_inner).extend(kinds);
    }

    /// Whether objects of a kind are known here.
    pub(crate) fn watches(&self, kind: Kind) -> bool {
        !self.left_out.read().unwrap_or_else(PoisonError::into_inner).contains(&kind)
    }

    /// A look at everything, which keeps writers out: keep it short.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first listing of a kind is in.
    pub(crate) fn mark_synced(&self, kind: Kind) {
        self.synced.write().unwrap_or_else(PoisonError::into_inner).insert(kind);
    }

    /// Every kind has been listed: before that, nothing may be concluded from an absence.
    pub(crate) fn is_synced(&self) -> bool {
        let synced = self.synced.read().unwrap_or_else(PoisonError::into_inner);
        Kind::ALL.iter().all(|kind| synced.contains(kind) || !self.watches(*kind))
    }
}

/// A kind of object that the caches keep.
pub(crate) trait Cached {
    /// Which.
    const KIND: Kind;
    /// Takes a new or changed object in; says what has to be looked at.
    fn keep(&self, index: &mut Index) -> Vec<Job>;
    /// Takes an object out; says what has to be looked at.
    fn forget(&self, index: &mut Index) -> Vec<Job>;
    /// Whether an object of that name is known.
    fn is_known(&self, index: &Index) -> bool;

    /// Takes an answer in. One about an object that is not known any more comes too late: the watch has shown its end,
    /// and nobody would ever show that again.
    fn keep_answer(&self, index: &mut Index) -> Vec<Job> {
        if self.is_known(index) { self.keep(index) } else { Vec::new() }
    }
}

impl Cached for RolloutPlugin {
    const KIND: Kind = Kind::Rollouts;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        index.keep_rollout(pruned(self))
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        index.forget_rollout(&Key::of(&self.metadata))
    }

    fn is_known(&self, index: &Index) -> bool {
        index.rollout(&Key::of(&self.metadata)).is_some()
    }
}

impl Cached for StatefulSet {
    const KIND: Kind = Kind::Workloads;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        let view = Workload::StatefulSet(StatefulSetView::of(self));
        index.keep_workload(&Key::of(&self.metadata), version(&self.metadata), view)
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        index.forget_workload(&Key::of(&self.metadata))
    }

    fn is_known(&self, index: &Index) -> bool {
        index.workload(&Key::of(&self.metadata)).is_some()
    }
}

impl Cached for Pod {
    const KIND: Kind = Kind::Pods;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        let Some(owner) = owner(&self.metadata) else { return Vec::new() };
        index.keep_pod(&owner, Key::of(&self.metadata), version(&self.metadata), PodView::of(self))
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        let uid = self.metadata.uid.as_deref().unwrap_or_default();
        owner(&self.metadata)
            .map_or_else(Vec::new, |owner| index.forget_pod(&owner, &Key::of(&self.metadata), uid))
    }

    fn is_known(&self, index: &Index) -> bool {
        owner(&self.metadata).is_some_and(|owner| index.knows_pod(&owner, &Key::of(&self.metadata)))
    }
}

impl Cached for ControllerRevision {
    const KIND: Kind = Kind::Revisions;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        let Some(owner) = owner(&self.metadata) else { return Vec::new() };
        index.keep_revision(&owner, Key::of(&self.metadata), version(&self.metadata), RevisionView::of(self))
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        owner(&self.metadata)
            .map_or_else(Vec::new, |owner| index.forget_revision(&owner, &Key::of(&self.metadata)))
    }

    fn is_known(&self, index: &Index) -> bool {
        owner(&self.metadata).is_some_and(|owner| index.knows_revision(&owner, &Key::of(&self.metadata)))
    }
}

impl Cached for AnalysisRun {
    const KIND: Kind = Kind::AnalysisRuns;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        index.keep_run(&Arc::new(self.clone()))
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        index.forget_run(&Key::of(&self.metadata))
    }

    fn is_known(&self, index: &Index) -> bool {
        index.analyses().run(&Key::of(&self.metadata)).is_some()
    }
}

impl Cached for AnalysisTemplate {
    const KIND: Kind = Kind::Templates;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        index.keep_template(Key::of(&self.metadata), version(&self.metadata), self.spec.clone())
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        index.forget_template(&Key::of(&self.metadata))
    }

    fn is_known(&self, index: &Index) -> bool {
        index.analyses().has_template(&Key::of(&self.metadata))
    }
}

impl Cached for ClusterAnalysisTemplate {
    const KIND: Kind = Kind::ClusterTemplates;

    fn keep(&self, index: &mut Index) -> Vec<Job> {
        index.keep_template(Key::of(&self.metadata), version(&self.metadata), self.spec.template.clone())
    }

    fn forget(&self, index: &mut Index) -> Vec<Job> {
        index.forget_template(&Key::of(&self.metadata))
    }

    fn is_known(&self, index: &Index) -> bool {
        index.analyses().has_template(&Key::of(&self.metadata))
    }
}

/// Whether a rollout is this instance's, and not another controller's in the same cluster. Those of others are known
/// too: a workload has one rollout, whoever serves it.
pub(crate) fn is_served_by(rollout: &RolloutPlugin, instance: Option<&String>) -> bool {
    let labels = rollout.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(crate::INSTANCE_LABEL)) == instance
}

/// The uid of the StatefulSet that controls an object.
fn owner(meta: &ObjectMeta) -> Option<String> {
    meta.owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true) && owner.kind == "StatefulSet")
        .map(|owner| owner.uid.clone())
}

/// Resource versions are numbers that grow (promised since 1.35, true before).
pub(crate) fn version(meta: &ObjectMeta) -> u64 {
    meta.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// What nobody reads is not kept: who wrote which field, and a copy of the manifest.
fn pruned(rollout: &RolloutPlugin) -> Arc<RolloutPlugin> {
    let mut rollout = rollout.clone();
    rollout.metadata.managed_fields = None;
    if let Some(annotations) = &mut rollout.metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    Arc::new(rollout)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rollout(version: u64) -> RolloutPlugin {
        let mut rollout = RolloutPlugin::default();
        rollout.metadata.name = Some("web".to_owned());
        rollout.metadata.namespace = Some("data".to_owned());
        rollout.metadata.resource_version = Some(version.to_string());
        rollout
    }

    fn referring_to(kind: &str, version: u64) -> RolloutPlugin {
        let mut it = rollout(version);
        it.metadata.uid = Some("1-2-3".to_owned());
        let workload = json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"});
        it.spec = serde_json::from_value(json!({
            "workloadRef": workload, "plugin": {"name": "statefulset"}, "strategy": {"canary": {}}
        }))
        .unwrap();
        it
    }

    #[test]
    fn a_reference_that_is_mended_wakes_the_runs_that_wait_for_a_workload() {
        let mut index = Index::default();
        referring_to("CloneSet", 7).keep(&mut index);
        let run = json!({
            "metadata": {"name": "run", "namespace": "data", "uid": "4", "resourceVersion": "8", "ownerReferences": [
                {"apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutPlugin", "name": "web", "uid": "1-2-3",
                 "controller": true}]},
            "spec": {"metrics": []},
            "status": {"phase": "Running", "metricResults": [
                {"name": "pods", "phase": "Running", "message": "the workload cannot be seen"}]},
        });
        let run: AnalysisRun = serde_json::from_value(run).unwrap();
        let waiting = Job::Analysis(Key::of(&run.metadata));
        run.keep(&mut index);
        let jobs = referring_to("StatefulSet", 9).keep(&mut index);
        assert!(jobs.contains(&waiting), "{jobs:?}");
        let again = referring_to("StatefulSet", 10).keep(&mut index);
        assert!(!again.contains(&waiting), "nothing it waits for has changed: {again:?}");
    }

    #[test]
    fn an_answer_does_not_bring_back_what_is_gone() {
        let mut index = Index::default();
        rollout(7).keep(&mut index);
        assert!(rollout(8).is_known(&index));
        rollout(8).keep_answer(&mut index);
        rollout(9).forget(&mut index);
        rollout(8).keep_answer(&mut index);
        assert!(!rollout(8).is_known(&index));
    }
}
