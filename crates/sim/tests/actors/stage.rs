//! A small cluster for tests of the actors, and words to look at it with. Whatever a test does, the invariants of the
//! StatefulSet controller are checked at every write.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use windlass_sim::actors::{Actor, everybody};

use crate::invariants::{Invariants, Witnessed};
use windlass_sim::cluster::Cluster;
use windlass_sim::{Caller, Deletion, Key, Part, Patch, Resource};

pub(crate) const START: &str = "2026-03-01T12:00:00Z";

/// A cluster with one namespace, and a set `web` if there is one.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    /// How much of the history was told already.
    told: u64,
    /// How much of it was checked already.
    checked: u64,
    invariants: Invariants,
}

fn ordinal(pod: &str) -> i64 {
    pod.rsplit_once('-').and_then(|(_, ordinal)| ordinal.parse().ok()).unwrap_or(-1)
}

fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    pod["status"]["phase"] == "Running"
        && conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

pub(crate) fn person() -> Caller {
    Caller::new("kubernetes-admin")
}

pub(crate) fn web() -> Key {
    Key::new("default", "web")
}

pub(crate) fn pod(ordinal: i64) -> Key {
    Key::new("default", format!("web-{ordinal}"))
}

/// A set with the image `app:<tag>`.
pub(crate) fn set(replicas: i64, tag: &str, spec: Value) -> Value {
    let mut set = json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas, "serviceName": "web",
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": format!("app:{tag}")}]},
            },
        },
    });
    merge(&mut set["spec"], spec);
    set
}

fn merge(into: &mut Value, change: Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (field, value) in change {
                if value.is_null() {
                    into.remove(&field);
                } else {
                    merge(into.entry(field).or_insert(Value::Null), value);
                }
            }
        }
        (into, change) => *into = change,
    }
}

impl Stage {
    /// Everybody is there, with two nodes.
    pub(crate) fn full() -> Self {
        let mut actors = everybody(0);
        actors[0] = Box::new(Witnessed::new(0));
        Self::with(Cluster::with(START.parse().unwrap(), actors), 2)
    }

    /// Only the controller of sets is there: the test plays the kubelets.
    pub(crate) fn bare() -> Self {
        let actors: Vec<Box<dyn Actor>> = vec![Box::new(Witnessed::new(0))];
        Self::with(Cluster::with(START.parse().unwrap(), actors), 0)
    }

    pub(crate) fn with(mut cluster: Cluster, nodes: usize) -> Self {
        let now = cluster.now();
        cluster
            .server
            .create(now, &person(), Resource::Namespaces, json!({"metadata": {"name": "default"}}))
            .unwrap();
        for node in 0..nodes {
            let node = json!({"metadata": {"name": format!("node-{node}")}});
            cluster.server.create(now, &person(), Resource::Nodes, node).unwrap();
        }
        Self { cluster, told: 0, checked: 0, invariants: Invariants::default() }
    }

    pub(crate) fn create(&mut self, resource: Resource, object: Value) {
        self.cluster.server.create(self.cluster.now(), &person(), resource, object).unwrap();
    }

    pub(crate) fn patch(&mut self, resource: Resource, key: &Key, change: Value) {
        let now = self.cluster.now();
        let patch = Patch::Merge(change);
        self.cluster.server.patch(now, &person(), resource, key, Part::Whole, &patch).unwrap();
    }

    pub(crate) fn patch_status(&mut self, resource: Resource, key: &Key, change: &Value) {
        let now = self.cluster.now();
        let patch = Patch::Merge(json!({"status": change}));
        self.cluster.server.patch(now, &person(), resource, key, Part::Status, &patch).unwrap();
    }

    pub(crate) fn spec(&mut self, change: &Value) {
        self.patch(Resource::StatefulSets, &web(), json!({"spec": change}));
    }

    pub(crate) fn partition(&mut self, partition: i64) {
        self.spec(&json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}}));
    }

    pub(crate) fn image(&mut self, tag: &str) {
        let containers = json!([{"name": "app", "image": format!("app:{tag}")}]);
        self.spec(&json!({"template": {"spec": {"containers": containers}}}));
    }

    pub(crate) fn delete(&mut self, resource: Resource, key: &Key) {
        let now = self.cluster.now();
        self.cluster.server.delete(now, &person(), resource, key, &Deletion::default()).unwrap();
    }

    pub(crate) fn get(&self, resource: Resource, key: &Key) -> Option<Value> {
        self.cluster.server.store().get(resource, key).map(|it| Value::clone(it))
    }

    pub(crate) fn seconds(&mut self, seconds: i64) {
        self.cluster.pass(SignedDuration::from_secs(seconds));
        self.check();
    }

    pub(crate) fn settle(&mut self) {
        self.cluster.run_until_quiet();
        self.check();
    }

    /// The kubelets' work, done by hand: what goes ends, what is new gets ready, until nothing moves any more.
    pub(crate) fn play(&mut self) {
        self.play_but(-1);
    }

    /// The same, with a pod that never gets ready again.
    pub(crate) fn play_but(&mut self, never: i64) {
        loop {
            self.settle();
            let pods: Vec<(i64, bool, bool)> = self
                .cluster
                .server
                .store()
                .all(Resource::Pods)
                .map(|(key, pod)| (ordinal(&key.name), is_going(pod), is_ready(pod)))
                .collect();
            let next = pods.iter().find(|(ordinal, going, ready)| *going || (!ready && *ordinal != never));
            match next {
                None => return,
                Some((ordinal, true, _)) => self.end(*ordinal),
                Some((ordinal, false, _)) => self.ready(*ordinal),
            }
        }
    }

    fn readiness(&mut self, ordinal: i64, status: &str) {
        let key = pod(ordinal);
        // A pod that no kubelet runs would go without grace.
        self.patch(Resource::Pods, &key, json!({"spec": {"nodeName": "by-hand"}}));
        let since = self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let ready = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
        self.patch_status(Resource::Pods, &key, &json!({"phase": "Running", "conditions": [ready]}));
    }

    pub(crate) fn ready(&mut self, ordinal: i64) {
        self.readiness(ordinal, "True");
    }

    pub(crate) fn unready(&mut self, ordinal: i64) {
        self.readiness(ordinal, "False");
    }

    /// The end of a pod that is going.
    pub(crate) fn end(&mut self, ordinal: i64) {
        let now = self.cluster.now();
        let deletion = Deletion { grace_seconds: Some(0), ..Deletion::default() };
        self.cluster.server.delete(now, &person(), Resource::Pods, &pod(ordinal), &deletion).unwrap();
    }

    /// The images of the revisions, with their numbers.
    pub(crate) fn revisions(&self) -> String {
        let all = self.cluster.server.store().all(Resource::Revisions);
        let mut told: Vec<String> =
            all.map(|(key, it)| format!("{} {}", it["revision"], self.image_of(&key.name))).collect();
        told.sort();
        told.join(", ")
    }

    fn check(&mut self) {
        let changes: Vec<_> = self.cluster.server.store().since(self.checked).unwrap().cloned().collect();
        for change in &changes {
            self.invariants.check(change);
        }
        self.checked = self.cluster.server.store().revision();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.cluster.now()
    }

    /// The living pods and what they run: `0a 1a 2b!`, where `!` is not ready and `-` is going.
    pub(crate) fn pods(&self) -> String {
        let mut pods: Vec<(i64, String)> = self
            .cluster
            .server
            .store()
            .all(Resource::Pods)
            .filter_map(|(key, pod)| {
                let ordinal: i64 = key.name.strip_prefix("web-")?.parse().ok()?;
                let image = pod["spec"]["containers"][0]["image"].as_str()?.trim_start_matches("app:");
                let marks = format!(
                    "{}{}",
                    if is_ready(pod) { "" } else { "!" },
                    if is_going(pod) { "-" } else { "" }
                );
                Some((ordinal, format!("{ordinal}:{image}{marks}")))
            })
            .collect();
        pods.sort();
        pods.into_iter().map(|(_, pod)| pod).collect::<Vec<_>>().join(" ")
    }

    /// The image of a revision.
    fn image_of(&self, revision: &str) -> String {
        let key = Key::new("default", revision);
        let revision = self.cluster.server.store().get(Resource::Revisions, &key);
        let image = revision
            .and_then(|it| it.pointer("/data/spec/template/spec/containers/0/image").and_then(Value::as_str));
        image.map_or("?", |image| image.trim_start_matches("app:")).to_owned()
    }

    /// A status as `rep/rdy/cur/upd current,update`.
    pub(crate) fn told_status(&self, set: &Value) -> String {
        let status = &set["status"];
        let count = |field: &str| status[field].as_i64().unwrap_or_default();
        let revision = |field: &str| self.image_of(status[field].as_str().unwrap_or_default());
        format!(
            "{}/{}/{}/{} {},{}",
            count("replicas"),
            count("readyReplicas"),
            count("currentReplicas"),
            count("updatedReplicas"),
            revision("currentRevision"),
            revision("updateRevision"),
        )
    }

    pub(crate) fn status(&self) -> String {
        self.get(Resource::StatefulSets, &web()).map(|set| self.told_status(&set)).unwrap_or_default()
    }

    /// What happened since the last time: every status of the set that was stored, and the births and ends of pods.
    pub(crate) fn story(&mut self) -> String {
        let mut story = String::new();
        let changes: Vec<_> = self.cluster.server.store().since(self.told).unwrap().cloned().collect();
        for change in changes {
            let before = change.before.as_deref();
            match change.resource {
                Resource::StatefulSets
                    if before.is_some_and(|before| before["status"] != change.object["status"]) =>
                {
                    let observed = &change.object["status"]["observedGeneration"];
                    writeln!(story, "{} seen {observed}", self.told_status(&change.object)).unwrap();
                }
                Resource::Pods => {
                    let image = change.object["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
                    let image = image.trim_start_matches("app:");
                    let name = &change.key.name;
                    match change.kind {
                        windlass_sim::ChangeKind::Added => writeln!(story, "  {name} {image} made").unwrap(),
                        windlass_sim::ChangeKind::Deleted => {
                            writeln!(story, "  {name} {image} gone").unwrap();
                        }
                        windlass_sim::ChangeKind::Modified => {
                            if is_going(&change.object) && !before.is_some_and(is_going) {
                                writeln!(story, "  {name} {image} deleted").unwrap();
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        self.told = self.cluster.server.store().revision();
        story
    }
}
