//! Puts together what a decision needs, from the caches alone.

use std::sync::Arc;

use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_api::{Asked, Front, WorkloadTarget};
use windlass_engine::{Refusal, RolloutName, Seen};
use windlass_workloads::{Holder, Snapshot, missing, observe};

use crate::cache::{Caches, Index, Key};
use crate::check::{checks, obstacles};
use crate::doubt::Object;

/// What a decision needs.
pub(crate) struct Inputs {
    pub(crate) rollout: Arc<RolloutPlugin>,
    pub(crate) name: RolloutName,
    pub(crate) asked: Asked,
    pub(crate) seen: Seen,
    pub(crate) snapshot: Option<Snapshot>,
}

impl Inputs {
    /// Everything that a decision about these may be written to.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Object> {
        let key = Key::of(&self.rollout.metadata);
        let named = |name: &str| Key { namespace: key.namespace.clone(), name: name.to_owned() };
        let owned = self.snapshot.iter().flat_map(|snapshot| {
            let pods = snapshot.pods.iter().map(|pod| Object::Pod(named(pod.name.as_str())));
            std::iter::once(Object::Workload(named(snapshot.workload.name()))).chain(pods)
        });
        let owned =
            owned.chain(self.seen.checks().iter().map(|check| Object::Analysis(named(check.name.as_str()))));
        let owned: Vec<Object> = owned.collect();
        std::iter::once(Object::Rollout(key)).chain(owned)
    }
}

/// What a decision needs, unless the rollout is gone.
pub(crate) fn gather(caches: &Caches, key: &Key, hold: Holder) -> Option<Inputs> {
    let index = &*caches.read();
    let Some(rollout) = index.rollout(key).map(Arc::clone) else {
        caches.judged.forget(key);
        return None;
    };
    let name = RolloutName::new(&key.name);
    let mut asked = rollout.asked();
    let (mut seen, snapshot) = match (&asked.refusal, rollout.workload()) {
        (Some(refusal), _) => (refused(refusal.clone()), None),
        (None, Ok(target)) => look(index, key, &name, &target, hold),
        // The front tells what is wrong with the reference; there is nothing to look at.
        (None, Err(flaw)) => (refused(Refusal::NotNamed { why: flaw.text }), None),
    };
    match &mut seen {
        Seen::Workload(seen) => {
            seen.checks = checks(index, &rollout);
            let obstacles = obstacles(caches, index, &rollout, &asked, seen);
            if let Ok(plan) = &mut asked.plan {
                plan.obstacles = obstacles;
            }
        }
        Seen::Refused { checks: there, .. } => *there = checks(index, &rollout),
    }
    Some(Inputs { rollout, name, asked, seen, snapshot })
}

fn look(
    index: &Index,
    key: &Key,
    name: &RolloutName,
    target: &WorkloadTarget,
    hold: Holder,
) -> (Seen, Option<Snapshot>) {
    let workload = Key { namespace: key.namespace.clone(), name: target.name.clone() };
    let Some(snapshot) = index.snapshot(&workload) else {
        return (refused(missing(target)), None);
    };
    if let Some(by) = taken_by(index, &workload, name) {
        return (refused(Refusal::Taken { workload: target.to_string(), by }), None);
    }
    match observe(&snapshot, name, hold) {
        Ok(observation) => (Seen::Workload(observation), Some(snapshot)),
        Err(refusal) => (refused(refusal), None),
    }
}

fn refused(refusal: Refusal) -> Seen {
    Seen::Refused { refusal, checks: Vec::new() }
}

/// What is seen of a workload, for whoever changes nothing.
pub(crate) fn seen(index: &Index, key: &Key, name: &RolloutName, target: &WorkloadTarget) -> Seen {
    look(index, key, name, target, Holder::Policy).0
}

/// The other rollout that has this workload: the one its label names, else the oldest that refers to it.
fn taken_by(index: &Index, workload: &Key, name: &RolloutName) -> Option<RolloutName> {
    let labelled = index
        .has_its_rollout(workload)
        .then(|| index.workload(workload).and_then(|it| it.rollout().cloned()))
        .flatten();
    let owner = labelled.or_else(|| {
        index
            .rollouts_of(workload)
            .filter_map(|name| {
                let key = Key { namespace: workload.namespace.clone(), name: name.clone() };
                let rollout = index.rollout(&key)?;
                let created = rollout.metadata.creation_timestamp.as_ref().map(|time| time.0);
                Some((created, name.clone()))
            })
            .min()
            .map(|(_, name)| name)
    })?;
    (owner != name.as_str()).then(|| RolloutName::new(owner))
}
