//! A history in a form that two clusters can share: what happened to each kind of object, in its order, without what no
//! two clusters have in common (uids, versions, moments, hashes). Kinds are kept apart, because nothing promises the
//! order between the watches of two kinds; and the whole picture is taken wherever the script waited for quiet.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::object::{
    Key, Object, annotation, at, controller, generation, is_going, label, list, number, text, uid,
};
use crate::resource::Resource;
use crate::store::{Change, ChangeKind, Store};
use crate::timeline::{PodState, pod_state};

/// A moment of a history: the revision that the store had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(u64);

impl Checkpoint {
    /// The present.
    pub fn of(store: &Store) -> Self {
        Self(store.revision())
    }
}

/// A history, ready to be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    sequences: BTreeMap<String, Vec<String>>,
    pictures: Vec<Vec<String>>,
}

/// Which order of pods is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// One after the other.
    OneByOne,
    /// All at once: only the history of each single pod.
    AtOnce,
}

impl Trace {
    /// The trace of everything that a store remembers, with pictures of these moments and of the end.
    pub fn of(store: &Store, rests: &[Checkpoint]) -> Self {
        let mut telling = Telling::default();
        let mut rests = rests.iter().peekable();
        for change in store.since(0).into_iter().flatten() {
            while rests.next_if(|rest| rest.0 < change.revision).is_some() {
                telling.take_picture();
            }
            telling.take(change);
        }
        let at_the_end = rests.peek().is_some();
        for _ in rests {
            telling.take_picture();
        }
        if !at_the_end {
            telling.take_picture();
        }
        telling.trace
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, lines) in &self.sequences {
            writeln!(out, "{name}:")?;
            lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        for (index, lines) in self.pictures.iter().enumerate() {
            writeln!(out, "picture {}:", index + 1)?;
            lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        Ok(())
    }
}

/// A trace while it is being told.
#[derive(Default)]
struct Telling {
    trace: Trace,
    letters: BTreeMap<String, char>,
    there: BTreeMap<(Resource, Key), Object>,
    order: Option<Order>,
}

impl Telling {
    fn take(&mut self, change: &Change) {
        match change.resource {
            Resource::Pods => self.pod(change),
            Resource::StatefulSets => self.set(change),
            Resource::RolloutPlugins => self.rollout(change),
            Resource::Events => self.event(change),
            _ => return,
        }
        let place = (change.resource, change.key.clone());
        match change.kind {
            ChangeKind::Added | ChangeKind::Modified => {
                self.there.insert(place, Object::clone(&change.object));
            }
            ChangeKind::Deleted => drop(self.there.remove(&place)),
        }
    }

    /// Revisions are letters, in the order in which they were first seen.
    fn letter(&mut self, revision: &str) -> char {
        if revision.is_empty() {
            return '-';
        }
        let next = u8::try_from(self.letters.len()).unwrap_or(u8::MAX).min(25);
        *self.letters.entry(revision.to_owned()).or_insert(char::from(b'A' + next))
    }

    /// Adds a line, unless the sequence ends with it already.
    fn say(&mut self, sequence: String, line: String) {
        let lines = self.trace.sequences.entry(sequence).or_default();
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }

    fn pod(&mut self, change: &Change) {
        if controller(&change.object).is_none() {
            return;
        }
        let state = match change.kind {
            ChangeKind::Deleted => PodState::Gone,
            ChangeKind::Added | ChangeKind::Modified => pod_state(&change.object),
        };
        let revision = self.letter(label(&change.object, "controller-revision-hash").unwrap_or_default());
        let name = &change.key.name;
        let before = change.before.as_ref().filter(|it| uid(it) == uid(&change.object));
        let went = before.is_none_or(|before| !is_going(before)) && is_going(&change.object);
        if self.order == Some(Order::OneByOne) && before.is_none() {
            self.say("pods".to_owned(), format!("{name} {revision} comes"));
        }
        if self.order == Some(Order::OneByOne) && went {
            self.say("pods".to_owned(), format!("{name} {revision} goes"));
        }
        self.say(format!("pod {name}"), format!("{revision} {state}"));
    }

    fn set(&mut self, change: &Change) {
        let (name, set) = (&change.key.name, &change.object);
        self.order = Some(match text(set, &["spec", "podManagementPolicy"]) {
            Some("Parallel") => Order::AtOnce,
            _ => Order::OneByOne,
        });
        self.say(format!("set {name}, asked for"), asked(set));
        let current = self.letter(text(set, &["status", "currentRevision"]).unwrap_or_default());
        let update = self.letter(text(set, &["status", "updateRevision"]).unwrap_or_default());
        self.say(format!("set {name}, revisions"), format!("{current} to {update}"));
    }

    /// Phases in their order. The step is told where a run stands: on the way from one weight to the next it is stored
    /// late, together with the texts, and a fast run may be over before that.
    fn rollout(&mut self, change: &Change) {
        let status = |field| text(&change.object, &["status", field]).unwrap_or_default().to_owned();
        let line = match (change.kind, status("phase").as_str()) {
            (ChangeKind::Deleted, _) => "gone".to_owned(),
            (_, "") => return,
            (_, "Progressing") => "Progressing".to_owned(),
            (_, phase) => format!("{phase} {}", status("step")),
        };
        self.say(format!("rollout {}", change.key.name), line);
    }

    fn event(&mut self, change: &Change) {
        let about = |field| text(&change.object, &["involvedObject", field]).unwrap_or_default();
        if change.kind != ChangeKind::Added || about("kind") != "RolloutPlugin" {
            return;
        }
        let field = |field| text(&change.object, &[field]).unwrap_or_default();
        let line = format!("{}: {}", field("reason"), self.without_names(field("message"), &change.object));
        self.trace.sequences.entry(format!("events of {}", about("name"))).or_default().push(line);
    }

    /// Words without hashes and without the name of the namespace.
    fn without_names(&self, words: &str, object: &Value) -> String {
        let namespace = text(object, &["metadata", "namespace"]).unwrap_or_default();
        let mut words = words.replace(namespace, "NAMESPACE");
        for (revision, letter) in &self.letters {
            words = words.replace(revision, &letter.to_string());
            if let Some((_, hash)) = revision.rsplit_once('-') {
                words = words.replace(hash, &letter.to_string());
            }
        }
        words
    }

    fn take_picture(&mut self) {
        let there = std::mem::take(&mut self.there);
        let mut lines = Vec::new();
        for ((resource, key), object) in &there {
            match resource {
                Resource::Pods => {
                    let revision = self.letter(label(object, "controller-revision-hash").unwrap_or_default());
                    lines.push(format!("pod {} {revision} {}", key.name, pod_state(object)));
                }
                Resource::StatefulSets => self.picture_of_set(&key.name, object, &mut lines),
                Resource::RolloutPlugins => self.picture_of_rollout(&key.name, object, &mut lines),
                _ => {}
            }
        }
        self.there = there;
        self.trace.pictures.push(lines);
    }

    fn picture_of_set(&mut self, name: &str, set: &Value, lines: &mut Vec<String>) {
        let count = |field| number(set, &["status", field]).unwrap_or_default();
        let current = self.letter(text(set, &["status", "currentRevision"]).unwrap_or_default());
        let update = self.letter(text(set, &["status", "updateRevision"]).unwrap_or_default());
        let seen = number(set, &["status", "observedGeneration"]).unwrap_or_default();
        let mark = |it: Option<&str>, word: &'static str| if it.is_some() { word } else { "" };
        lines.push(format!(
            "set {name} {}, generation {} seen {seen}{}{}",
            asked(set),
            generation(set),
            mark(label(set, "windlass.sh/rollout"), ", labelled"),
            mark(annotation(set, "windlass.sh/held"), ", marked as held"),
        ));
        lines.push(format!(
            "set {name} {current} to {update}: {} pods, {} ready, {} available, {} current, {} updated",
            count("replicas"),
            count("readyReplicas"),
            count("availableReplicas"),
            count("currentReplicas"),
            count("updatedReplicas"),
        ));
    }

    fn picture_of_rollout(&mut self, name: &str, rollout: &Value, lines: &mut Vec<String>) {
        let status = |field| text(rollout, &["status", field]).unwrap_or_default();
        let message = self.without_names(status("message"), rollout);
        lines.push(format!("rollout {name} {} {}: {message}", status("phase"), status("step")));
        let count = |field| number(rollout, &["status", field]).map_or("-".to_owned(), |it| it.to_string());
        lines.push(format!(
            "rollout {name} counts {} pods, {} updated, {} ready, {} available",
            count("replicas"),
            count("updatedReplicas"),
            count("readyReplicas"),
            count("availableReplicas"),
        ));
        for condition in list(rollout, &["status", "conditions"]) {
            let field = |field| text(condition, &[field]).unwrap_or_default();
            lines.push(format!(
                "rollout {name} is {}: {} ({})",
                field("type"),
                field("status"),
                field("reason")
            ));
        }
        for wait in list(rollout, &["status", "waits"]) {
            let reason = text(wait, &["reason"]).unwrap_or_default();
            let person = at(wait, &["needsPerson"]).and_then(Value::as_bool) == Some(true);
            let person = if person { ", for a person" } else { "" };
            lines.push(format!("rollout {name} waits: {reason}{person}"));
        }
    }
}

/// What is asked of a set.
fn asked(set: &Value) -> String {
    let containers = list(set, &["spec", "template", "spec", "containers"]);
    let images: Vec<&str> = containers.iter().filter_map(|it| text(it, &["image"])).collect();
    let replicas = number(set, &["spec", "replicas"]).unwrap_or_default();
    let partition = number(set, &["spec", "updateStrategy", "rollingUpdate", "partition"]);
    let partition = match partition {
        Some(partition) if partition == i64::from(i32::MAX) => "held".to_owned(),
        Some(partition) => format!("partition {partition}"),
        None => text(set, &["spec", "updateStrategy", "type"]).unwrap_or("no partition").to_owned(),
    };
    format!("{}, {replicas} pods, {partition}", images.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, revision: &str, going: bool) -> Value {
        let mut pod = json!({"metadata": {
            "name": "web-0", "namespace": "here", "uid": uid, "resourceVersion": "900",
            "labels": {"controller-revision-hash": revision},
            "ownerReferences": [{"controller": true, "uid": "set"}],
        }});
        if going {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        pod
    }

    fn set(partition: i64) -> Value {
        let rolling = json!({"rollingUpdate": {"partition": partition}});
        let template = json!({"spec": {"containers": [{"image": "app:v2"}]}});
        json!({
            "metadata": {"name": "web", "namespace": "here", "resourceVersion": "7", "generation": 3},
            "spec": {"replicas": 1, "updateStrategy": rolling, "template": template},
            "status": {"currentRevision": "web-one", "updateRevision": "web-two"},
        })
    }

    #[test]
    fn a_history_is_told_without_hashes_and_versions_and_pictures_are_taken_where_asked() {
        let mut store = Store::default();
        store.mirror(Resource::StatefulSets, set(1));
        store.mirror(Resource::Pods, pod("a", "web-one", false));
        let rest = Checkpoint::of(&store);
        store.mirror(Resource::StatefulSets, set(i64::from(i32::MAX)));
        store.mirror(Resource::Pods, pod("a", "web-one", true));
        store.mirror_end(Resource::Pods, pod("a", "web-one", true));
        store.mirror(Resource::Pods, pod("b", "web-two", false));
        let kept = store.get(Resource::StatefulSets, &Key::new("here", "web")).unwrap();
        assert_eq!(crate::object::version(kept), 7, "another server's version is kept");
        insta::assert_snapshot!(Trace::of(&store, &[rest]), @"
        pod web-0:
          A starting
          A going
          A gone
          B starting
        pods:
          web-0 A comes
          web-0 A goes
          web-0 B comes
        set web, asked for:
          app:v2, 1 pods, partition 1
          app:v2, 1 pods, held
        set web, revisions:
          A to B
        picture 1:
          pod web-0 A starting
          set web app:v2, 1 pods, partition 1, generation 3 seen 0
          set web A to B: 0 pods, 0 ready, 0 available, 0 current, 0 updated
        picture 2:
          pod web-0 B starting
          set web app:v2, 1 pods, held, generation 3 seen 0
          set web A to B: 0 pods, 0 ready, 0 available, 0 current, 0 updated
        ");
    }
}
