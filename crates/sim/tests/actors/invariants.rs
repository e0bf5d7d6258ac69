//! What must hold whatever the StatefulSet controller does, checked on everything that is stored: the invariants (i) to
//! (vi) of spec/kubernetes-workloads.md, section 4.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use windlass_sim::actors::{Act, Actor, Order, StatefulSets, Turn, View};
use windlass_sim::{Caller, Change, ChangeKind, Key, Object, Part, Refusal, Resource};

/// The last known state of what the invariants speak of.
#[derive(Default)]
pub(crate) struct Invariants {
    sets: BTreeMap<Key, Value>,
    pods: BTreeMap<Key, Value>,
    revisions: BTreeMap<Key, Value>,
    /// Labels that new pods got since the last status of the set.
    births: BTreeMap<Key, Vec<String>>,
    /// What is written may rest on what is no longer true.
    late: bool,
}

fn set_of(pod: &Key) -> Key {
    let (set, _) = pod.name.rsplit_once('-').unwrap_or((&pod.name, ""));
    Key::new(&pod.namespace, set)
}

fn label(pod: &Value) -> String {
    pod["metadata"]["labels"]["controller-revision-hash"].as_str().unwrap_or_default().to_owned()
}

impl Invariants {
    /// For actors that learn late: a status may speak of a spec that is not the stored one any more, so that (iv) and
    /// (vi) cannot be read off what is stored.
    pub(crate) fn late() -> Self {
        Self { late: true, ..Self::default() }
    }

    /// Checks a write, and takes it in.
    pub(crate) fn check(&mut self, change: &Change) {
        match change.resource {
            Resource::Pods => self.pod(change),
            Resource::StatefulSets => self.set(change),
            Resource::Revisions => {
                if change.kind == ChangeKind::Deleted {
                    self.revisions.remove(&change.key);
                } else {
                    self.revisions.insert(change.key.clone(), Value::clone(&change.object));
                }
            }
            _ => {}
        }
    }

    fn pod(&mut self, change: &Change) {
        let key = change.key.clone();
        match change.kind {
            ChangeKind::Added => {
                // (i) at most one living object per ordinal.
                assert!(!self.pods.contains_key(&key), "{key} lives twice");
                self.births.entry(set_of(&key)).or_default().push(label(&change.object));
                self.pods.insert(key, Value::clone(&change.object));
            }
            ChangeKind::Modified => {
                self.pods.insert(key, Value::clone(&change.object));
            }
            ChangeKind::Deleted => {
                self.pods.remove(&key);
            }
        }
    }

    fn set(&mut self, change: &Change) {
        let status = &change.object["status"];
        let key = change.key.clone();
        if change.kind == ChangeKind::Deleted {
            self.sets.remove(&key);
            return;
        }
        let counter = |field: &str| status[field].as_i64().unwrap_or_default();
        // (v) the counters obey the API's rules.
        let replicas = counter("replicas");
        for field in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
            assert!((0..=replicas).contains(&counter(field)), "{field} of {status}");
        }
        assert!(counter("availableReplicas") <= counter("readyReplicas"), "{status}");
        let before = self.sets.insert(key.clone(), Value::clone(&change.object));
        let former = before.as_ref().map_or(&Value::Null, |before| &before["status"]);
        if former == status || self.late {
            return;
        }
        // (iv) every new pod is of one of the two revisions of that sync.
        let (current, update) = (&status["currentRevision"], &status["updateRevision"]);
        for born in self.births.remove(&key).unwrap_or_default() {
            let was_current = former["currentRevision"] == born.as_str();
            assert!(was_current || *current == born.as_str() || *update == born.as_str(), "{born}: {status}");
        }
        // (vi) the current revision moves only when the update is complete, or when it is lost.
        let had = former["currentRevision"].as_str().unwrap_or_default();
        if !had.is_empty() && current.as_str() != Some(had) {
            let wanted = change.object["spec"]["replicas"].as_i64().unwrap_or_default();
            let complete = counter("updatedReplicas") == wanted
                && counter("readyReplicas") == wanted
                && replicas == wanted;
            let lost = !self.revisions.contains_key(&Key::new(&key.namespace, had));
            assert!(complete || lost, "{had} was given up: {status}");
        }
    }
}

/// The controller under the eyes of a witness, who checks what is asked for by whom: (ii) at most one deletion for an
/// update per look, and (iii) none below the partition. For actors that learn at once: the witness reads the same view.
pub(crate) struct Witnessed {
    controller: StatefulSets,
    /// Deletions for an update since the last status.
    updates: BTreeMap<Key, Key>,
}

impl Witnessed {
    pub(crate) fn new(seed: u64) -> Self {
        Self { controller: StatefulSets::new(seed), updates: BTreeMap::new() }
    }

    fn check(&mut self, view: &View, act: &Act) {
        match act {
            Act::Update(Resource::StatefulSets, Part::Status, set) => {
                self.updates.remove(&key_of(set));
            }
            Act::Delete(Resource::Pods, pod, _) => self.deletion(view, pod),
            _ => {}
        }
    }

    fn deletion(&mut self, view: &View, pod: &Key) {
        let set = set_of(pod);
        let (Some(spec), Some(object)) =
            (view.get(Resource::StatefulSets, &set), view.get(Resource::Pods, pod))
        else {
            return;
        };
        let spec = &spec["spec"];
        let number = |path: &str| spec.pointer(path).and_then(Value::as_i64).unwrap_or_default();
        let slot = pod.name.rsplit_once('-').and_then(|(_, it)| it.parse::<i64>().ok()).unwrap()
            - number("/ordinals/start");
        let over = object["status"]["phase"] == "Failed" || object["status"]["phase"] == "Succeeded";
        if over || slot < 0 || slot >= number("/replicas") {
            return;
        }
        assert!(slot >= number("/updateStrategy/rollingUpdate/partition"), "{pod} is below the partition");
        let other = self.updates.insert(set, pod.clone());
        assert!(other.is_none(), "{pod} gives way in the same look as {other:?}");
    }
}

fn key_of(object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    Key::new(text("namespace"), text("name"))
}

impl Actor for Witnessed {
    fn caller(&self) -> Caller {
        self.controller.caller()
    }

    fn watches(&self) -> &'static [Resource] {
        self.controller.watches()
    }

    fn notice(&mut self, now: Timestamp, view: &View, change: &Change) {
        self.controller.notice(now, view, change);
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        let turn = self.controller.turn(now, view);
        for act in &turn.acts {
            self.check(view, act);
        }
        turn
    }

    fn answered(&mut self, now: Timestamp, act: &Act, answer: Result<&Object, &Refusal>) {
        self.controller.answered(now, act, answer);
    }

    fn ordered(&mut self, now: Timestamp, order: &Order) {
        self.controller.ordered(now, order);
    }
}
