//! The objects and who belongs to whom: pods and revisions by owner, workloads by uid, rollouts by workload. Every
//! change answers with the jobs it gives rise to, so nobody has to scan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_api::Front;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplateSpec};
use windlass_api::rollout_plugin::{RolloutPlugin, has_measured};
use windlass_workloads::{KnownPod, PodView, RevisionView, Snapshot, Workload};

use super::analyses::{Analyses, controller};
use super::kept::Kept;
use super::{Job, Key, version};

/// The objects and who belongs to whom.
#[derive(Default)]
pub(crate) struct Index {
    rollouts: Kept<Key, RolloutPlugin>,
    workloads: Kept<Key, Workload>,
    workload_by_uid: BTreeMap<String, Key>,
    rollouts_by_workload: BTreeMap<Key, BTreeSet<String>>,
    children: BTreeMap<String, Children>,
    analyses: Analyses,
}

/// What one workload owns.
#[derive(Default)]
struct Children {
    pods: Kept<String, PodView>,
    revisions: Kept<String, RevisionView>,
}

impl Index {
    pub(crate) fn rollout(&self, key: &Key) -> Option<&Arc<RolloutPlugin>> {
        self.rollouts.get(key)
    }

    pub(crate) fn rollouts(&self) -> impl Iterator<Item = &Arc<RolloutPlugin>> {
        self.rollouts.values()
    }

    pub(crate) fn workload(&self, key: &Key) -> Option<&Arc<Workload>> {
        self.workloads.get(key)
    }

    pub(crate) fn analyses(&self) -> &Analyses {
        &self.analyses
    }

    /// A run concerns itself; the rollout that controls it only when something else than a measurement is new: of those
    /// there are many, and none of them says anything to a rollout before the verdict is in.
    pub(crate) fn keep_run(&mut self, run: &Arc<AnalysisRun>) -> Vec<Job> {
        let before = self.analyses.run(&Key::of(&run.metadata)).cloned();
        let of_the_rollout = before.is_none_or(|before| !says_the_same(&before, run));
        let mut jobs = jobs_of(run);
        jobs.retain(|job| of_the_rollout || matches!(job, Job::Analysis(_)));
        if self.analyses.keep_run(run) { jobs } else { Vec::new() }
    }

    pub(crate) fn forget_run(&mut self, key: &Key) -> Vec<Job> {
        let gone = self.analyses.forget_run(key);
        let mut jobs = vec![Job::Analysis(key.clone())];
        jobs.extend(gone.iter().flat_map(|run| jobs_of(run)));
        jobs
    }

    /// A Job of a run is over, or gone.
    pub(crate) fn job_is_over(&mut self, run: Key, job: String, gone: bool) -> Vec<Job> {
        self.analyses.job_is_over(run.clone(), job, gone);
        vec![Job::Analysis(run)]
    }

    pub(crate) fn keep_template(&mut self, key: Key, version: u64, spec: AnalysisTemplateSpec) -> Vec<Job> {
        let namespace = key.namespace.clone();
        let news = self.analyses.keep_template(key, version, spec);
        if news { self.analysed(&namespace) } else { Vec::new() }
    }

    pub(crate) fn forget_template(&mut self, key: &Key) -> Vec<Job> {
        self.analyses.forget_template(key);
        self.analysed(&key.namespace)
    }

    /// The rollouts of a namespace that have analyses; those of all namespaces for a template of the cluster.
    fn analysed(&self, namespace: &str) -> Vec<Job> {
        let concerned = |rollout: &&Arc<RolloutPlugin>| {
            (namespace.is_empty() || rollout.metadata.namespace.as_deref() == Some(namespace))
                && rollout.has_analyses()
        };
        self.rollouts().filter(concerned).map(|rollout| Job::Rollout(Key::of(&rollout.metadata))).collect()
    }

    /// The rollouts that refer to a workload, by name.
    pub(crate) fn rollouts_of(&self, workload: &Key) -> impl Iterator<Item = &String> {
        self.rollouts_by_workload.get(workload).into_iter().flatten()
    }

    /// A workload with everything it owns.
    pub(crate) fn snapshot(&self, key: &Key) -> Option<Snapshot> {
        let workload = self.workloads.get(key)?;
        let children = self.children.get(workload.uid());
        Some(Snapshot {
            workload: Workload::clone(workload),
            pods: children.map(known_pods).unwrap_or_default(),
            revisions: children.map(|it| it.revisions.values().cloned().collect()).unwrap_or_default(),
        })
    }

    pub(crate) fn keep_rollout(&mut self, rollout: Arc<RolloutPlugin>) -> Vec<Job> {
        let key = Key::of(&rollout.metadata);
        let before = self.rollouts.get(&key).and_then(|before| target(before));
        let now = target(&rollout);
        let version = version(&rollout.metadata);
        if !self.rollouts.keep(key.clone(), version, rollout) {
            return Vec::new();
        }
        let mut jobs = vec![Job::Rollout(key.clone())];
        if before != now {
            jobs.extend(self.unlink(&key, before));
            if let Some(workload) = now {
                self.rollouts_by_workload.entry(workload).or_default().insert(key.name.clone());
            }
            // They may have waited for a workload to look at.
            jobs.extend(self.with_waiting_runs(key));
        }
        jobs
    }

    pub(crate) fn forget_rollout(&mut self, key: &Key) -> Vec<Job> {
        let workload = self.rollouts.forget(key).and_then(|rollout| target(&rollout));
        let mut jobs = vec![Job::Rollout(key.clone())];
        jobs.extend(self.unlink(key, workload));
        jobs
    }

    /// The workload may have to be given back, and another rollout may have waited for it.
    fn unlink(&mut self, rollout: &Key, workload: Option<Key>) -> Vec<Job> {
        let Some(workload) = workload else { return Vec::new() };
        if let Some(names) = self.rollouts_by_workload.get_mut(&workload) {
            names.remove(&rollout.name);
            if names.is_empty() {
                self.rollouts_by_workload.remove(&workload);
            }
        }
        self.concerned(&workload)
    }

    pub(crate) fn keep_workload(&mut self, key: &Key, version: u64, workload: Workload) -> Vec<Job> {
        let (new_uid, old_uid) =
            (workload.uid().to_owned(), self.workloads.get(key).map(|old| old.uid().to_owned()));
        if !self.workloads.keep(key.clone(), version, Arc::new(workload)) {
            return Vec::new();
        }
        if let Some(old) = old_uid.filter(|old| *old != new_uid) {
            self.workload_by_uid.remove(&old);
        }
        self.workload_by_uid.insert(new_uid, key.clone());
        self.concerned(key)
    }

    pub(crate) fn forget_workload(&mut self, key: &Key) -> Vec<Job> {
        if let Some(workload) = self.workloads.forget(key) {
            self.workload_by_uid.remove(workload.uid());
        }
        self.concerned(key)
    }

    pub(crate) fn keep_pod(&mut self, owner: &str, key: Key, version: u64, pod: PodView) -> Vec<Job> {
        let news =
            self.children.entry(owner.to_owned()).or_default().pods.keep(key.name, version, Arc::new(pod));
        if news { self.owners(owner) } else { Vec::new() }
    }

    /// A successor of the same name may be known already: only the pod of that uid is forgotten.
    pub(crate) fn forget_pod(&mut self, owner: &str, key: &Key, uid: &str) -> Vec<Job> {
        if let Some(children) = self.children.get_mut(owner)
            && children.pods.get(&key.name).is_some_and(|pod| pod.uid.as_str() == uid)
        {
            children.pods.forget(&key.name);
        }
        self.drop_if_childless(owner);
        self.owners(owner)
    }

    pub(crate) fn knows_pod(&self, owner: &str, key: &Key) -> bool {
        self.children.get(owner).is_some_and(|children| children.pods.get(&key.name).is_some())
    }

    pub(crate) fn knows_revision(&self, owner: &str, key: &Key) -> bool {
        self.children.get(owner).is_some_and(|children| children.revisions.get(&key.name).is_some())
    }

    /// A pod that we deleted and that the server no longer shows: it counts as going until the watch says so.
    pub(crate) fn pod_is_going(&mut self, snapshot: &Snapshot, pod: &str) {
        if let Some(children) = self.children.get_mut(snapshot.workload.uid()) {
            let name = children.pods.values().find(|it| it.uid.as_str() == pod).map(|it| it.name.clone());
            if let Some(name) = name {
                children.pods.forget(&name.to_string());
            }
        }
    }

    pub(crate) fn keep_revision(
        &mut self,
        owner: &str,
        key: Key,
        version: u64,
        revision: RevisionView,
    ) -> Vec<Job> {
        let children = self.children.entry(owner.to_owned()).or_default();
        let news = children.revisions.keep(key.name, version, Arc::new(revision));
        if news { self.owners(owner) } else { Vec::new() }
    }

    pub(crate) fn forget_revision(&mut self, owner: &str, key: &Key) -> Vec<Job> {
        if let Some(children) = self.children.get_mut(owner) {
            children.revisions.forget(&key.name);
        }
        self.drop_if_childless(owner);
        self.owners(owner)
    }

    /// Forgets what a fresh listing no longer has; says what has to be looked at.
    pub(crate) fn retain(
        &mut self,
        kind: super::Kind,
        listed: &BTreeSet<Key>,
        pods: &BTreeSet<String>,
    ) -> Vec<Job> {
        match kind {
            super::Kind::Rollouts => {
                let gone: Vec<Key> =
                    self.rollouts.keys().filter(|key| !listed.contains(key)).cloned().collect();
                gone.iter().flat_map(|key| self.forget_rollout(key)).collect()
            }
            super::Kind::Workloads => {
                let gone: Vec<Key> =
                    self.workloads.keys().filter(|key| !listed.contains(key)).cloned().collect();
                gone.iter().flat_map(|key| self.forget_workload(key)).collect()
            }
            super::Kind::Pods | super::Kind::Revisions => self.retain_children(kind, pods),
            super::Kind::AnalysisRuns => {
                let gone: Vec<Key> =
                    self.analyses.runs().filter(|key| !listed.contains(key)).cloned().collect();
                gone.iter().flat_map(|key| self.forget_run(key)).collect()
            }
            super::Kind::Templates | super::Kind::ClusterTemplates => {
                let here = |key: &&Key| key.namespace.is_empty() == (kind == super::Kind::ClusterTemplates);
                let keys = self.analyses.template_keys().filter(here);
                let gone: Vec<Key> = keys.filter(|key| !listed.contains(key)).cloned().collect();
                gone.iter().flat_map(|key| self.forget_template(key)).collect()
            }
        }
    }

    /// Pods are listed by uid, revisions by owner and name: names alone repeat across namespaces and successors.
    fn retain_children(&mut self, kind: super::Kind, listed: &BTreeSet<String>) -> Vec<Job> {
        let mut owners = Vec::new();
        for (owner, children) in &mut self.children {
            let lost = if kind == super::Kind::Pods {
                children.pods.retain(|_, pod| listed.contains(pod.uid.as_str()))
            } else {
                children.revisions.retain(|name, _| listed.contains(&format!("{owner}/{name}")))
            };
            if lost {
                owners.push(owner.clone());
            }
        }
        let mut jobs = Vec::new();
        for owner in &owners {
            self.drop_if_childless(owner);
            jobs.extend(self.owners(owner));
        }
        jobs
    }

    fn drop_if_childless(&mut self, owner: &str) {
        if self.children.get(owner).is_some_and(|it| it.pods.is_empty() && it.revisions.is_empty()) {
            self.children.remove(owner);
        }
    }

    fn owners(&self, owner: &str) -> Vec<Job> {
        self.workload_by_uid.get(owner).map(|key| self.concerned(key)).unwrap_or_default()
    }

    /// The jobs that a change of a workload gives rise to.
    fn concerned(&self, workload: &Key) -> Vec<Job> {
        let rollouts = self
            .rollouts_of(workload)
            .map(|name| Key { namespace: workload.namespace.clone(), name: name.clone() });
        let mut jobs: Vec<Job> = rollouts.flat_map(|key| self.with_waiting_runs(key)).collect();
        let claimed = self.workloads.get(workload).is_some_and(|it| it.rollout().is_some());
        if claimed && !self.has_its_rollout(workload) {
            jobs.push(Job::Workload(workload.clone()));
        }
        jobs
    }

    /// A rollout, and its runs with metrics that wait for the workload or its pods: they say so in their message.
    fn with_waiting_runs(&self, key: Key) -> Vec<Job> {
        let uid =
            self.rollouts.get(&key).and_then(|rollout| rollout.metadata.uid.clone()).unwrap_or_default();
        let waits = |run: &&Arc<AnalysisRun>| {
            let mut results = run.status.iter().flat_map(|status| &status.metric_results);
            results.any(|result| !result.phase.is_completed() && !result.message.is_empty())
        };
        let waiting =
            self.analyses.runs_of(&uid).filter(waits).map(|run| Job::Analysis(Key::of(&run.metadata)));
        waiting.chain([Job::Rollout(key)]).collect()
    }

    /// The rollout that a workload's label names exists and refers to it, as far as it can be read.
    pub(crate) fn has_its_rollout(&self, workload: &Key) -> bool {
        let Some(claim) = self.workloads.get(workload).and_then(|it| it.rollout()) else { return false };
        let named = Key { namespace: workload.namespace.clone(), name: claim.clone() };
        let unreadable = self.rollouts.get(&named).is_some_and(|it| it.spec.unreadable.is_some());
        unreadable || self.rollouts_of(workload).any(|name| name == claim)
    }

    /// Workloads that may have to be given back.
    pub(crate) fn claimed_workloads(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for key in self.workloads.keys() {
            if self.workloads.get(key).is_some_and(|it| it.rollout().is_some()) && !self.has_its_rollout(key)
            {
                keys.push(key.clone());
            }
        }
        keys
    }
}

/// Whether two versions of a run say the same to the rollout that controls it.
fn says_the_same(one: &AnalysisRun, other: &AnalysisRun) -> bool {
    let status = |run: &AnalysisRun| {
        run.status.as_ref().map(|status| (status.phase, status.message.clone(), status.completed_at))
    };
    let (mine, others) = (&one.metadata, &other.metadata);
    status(one) == status(other)
        && has_measured(one) == has_measured(other)
        && one.spec.terminate == other.spec.terminate
        && mine.uid == others.uid
        && mine.annotations == others.annotations
        && mine.owner_references == others.owner_references
        && mine.deletion_timestamp == others.deletion_timestamp
}

fn jobs_of(run: &AnalysisRun) -> Vec<Job> {
    let key = Key::of(&run.metadata);
    let owner = controller(run).map(|(name, _)| Job::Rollout(Key { namespace: key.namespace.clone(), name }));
    std::iter::once(Job::Analysis(key)).chain(owner).collect()
}

/// The workload a rollout refers to.
fn target(rollout: &RolloutPlugin) -> Option<Key> {
    let target = rollout.workload().ok()?;
    Some(Key { namespace: rollout.metadata.namespace.clone()?, name: target.name })
}

fn known_pods(children: &Children) -> Vec<KnownPod> {
    let known =
        |(version, view): (u64, &Arc<PodView>)| KnownPod { version: Some(version), view: Arc::clone(view) };
    children.pods.versions().map(known).collect()
}
