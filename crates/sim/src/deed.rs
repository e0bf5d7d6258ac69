//! What people and tools do in scripts, as requests: the same patches that `kubectl` and `kubectl windlass` send.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::actors::{Act, Misbehaviour, Order, Whom};
use crate::object::{Key, Object, at, list, map_at, text};
use crate::resource::Resource;
use crate::script::{Behaviour, Deed, Given, NodeState};
use crate::server::{Caller, Deletion, Part, Patch};
use crate::start::{self, NAME, NAMESPACE};
use crate::store::Store;

/// As whom people write.
pub(crate) fn person() -> Caller {
    Caller::new("admin")
}

/// The requests of a deed, as things stand.
pub(crate) fn acts(deed: &Deed, given: &Given, store: &Store) -> Vec<Act> {
    let rollout = || Key::new(NAMESPACE, NAME);
    let set = || Key::new(NAMESPACE, NAME);
    let flag = |field: &str| {
        let body = json!({"status": {field: true}});
        vec![Act::Patch(Resource::RolloutPlugins, rollout(), Part::Status, Patch::Merge(body))]
    };
    let spec = |resource, key, body: Value| {
        vec![Act::Patch(resource, key, Part::Whole, Patch::Merge(json!({"spec": body})))]
    };
    match deed {
        Deed::Image(image) => set_image(image),
        Deed::Scale(pods) => spec(Resource::StatefulSets, set(), json!({"replicas": pods})),
        Deed::Promote => promote(store.get(Resource::RolloutPlugins, &rollout())),
        Deed::PromoteFull => flag("promoteFull"),
        Deed::Abort => flag("abort"),
        Deed::Restart => flag("restart"),
        Deed::Pause => spec(Resource::RolloutPlugins, rollout(), json!({"paused": true})),
        Deed::Resume => spec(Resource::RolloutPlugins, rollout(), json!({"paused": false})),
        Deed::Steps(steps) => spec(
            Resource::RolloutPlugins,
            rollout(),
            json!({"strategy": {"canary": {"steps": start::steps(steps)}}}),
        ),
        Deed::DeletePod(pod) => vec![delete(Resource::Pods, Key::new(NAMESPACE, pod))],
        Deed::EvictPod(pod) => vec![Act::Evict(Key::new(NAMESPACE, pod))],
        Deed::DeleteRollout => vec![delete(Resource::RolloutPlugins, rollout())],
        Deed::CreateRollout => vec![Act::Create(Resource::RolloutPlugins, start::rollout(given, NAME))],
        Deed::SecondRollout => {
            vec![Act::Create(Resource::RolloutPlugins, start::rollout(given, "another"))]
        }
        Deed::Partition(partition) => spec(
            Resource::StatefulSets,
            set(),
            json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}}),
        ),
        Deed::Reapply => reapply(given),
        Deed::Quota(pods) => quota(*pods, store),
        Deed::Pod(..) | Deed::Node(..) => Vec::new(),
        Deed::Policies(on) => policies(*on, given, store),
    }
}

fn delete(resource: Resource, key: Key) -> Act {
    Act::Delete(resource, key, Deletion::default())
}

/// `kubectl set image`.
fn set_image(image: &str) -> Vec<Act> {
    let body = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}});
    vec![Act::Patch(Resource::StatefulSets, Key::new(NAMESPACE, NAME), Part::Whole, Patch::Strategic(body))]
}

/// A new image in the same write as the partition that holds it.
pub(crate) fn held_image(image: &str) -> Act {
    let body = json!({"spec": {
        "template": {"spec": {"containers": [{"name": "app", "image": image}]}},
        "updateStrategy": {"rollingUpdate": {"partition": i32::MAX}},
    }});
    Act::Patch(Resource::StatefulSets, Key::new(NAMESPACE, NAME), Part::Whole, Patch::Strategic(body))
}

/// `kubectl windlass promote`: the pause that is shown, and no other; nothing if none is shown.
fn promote(rollout: Option<&Object>) -> Vec<Act> {
    let Some(rollout) = rollout.filter(|it| !list(it, &["status", "pauseConditions"]).is_empty()) else {
        return Vec::new();
    };
    let version = at(rollout, &["metadata", "resourceVersion"]);
    let body = json!({"metadata": {"resourceVersion": version}, "status": {"pauseConditions": null}});
    vec![Act::Patch(Resource::RolloutPlugins, Key::of(rollout), Part::Status, Patch::Merge(body))]
}

/// What a tool does that knows the manifest of the start, with a partition in it.
fn reapply(given: &Given) -> Vec<Act> {
    let mut manifest = start::set(given);
    let spec = map_at(&mut manifest, &["spec"]);
    // The number of pods is an autoscaler's.
    spec.remove("replicas");
    spec.insert(
        "updateStrategy".to_owned(),
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
    );
    vec![Act::Patch(
        Resource::StatefulSets,
        Key::new(NAMESPACE, NAME),
        Part::Whole,
        Patch::Strategic(manifest),
    )]
}

fn quota(pods: Option<u32>, store: &Store) -> Vec<Act> {
    let key = Key::new(NAMESPACE, "pods");
    let there = store.get(Resource::Quotas, &key).is_some();
    match (pods, there) {
        (None, true) => vec![delete(Resource::Quotas, key)],
        (None, false) => Vec::new(),
        (Some(pods), there) => {
            let quota = json!({
                "metadata": {"name": key.name, "namespace": key.namespace},
                "spec": {"hard": {"pods": pods.to_string()}},
            });
            let make = Act::Create(Resource::Quotas, quota);
            if there { vec![delete(Resource::Quotas, key), make] } else { vec![make] }
        }
    }
}

/// What fate has in store, if the deed is none of people's.
pub(crate) fn orders(deed: &Deed) -> Vec<Order> {
    match deed {
        Deed::Pod(pod, behaviour) => fate(Key::new(NAMESPACE, pod), *behaviour),
        Deed::Node(node, NodeState::Lost) => vec![Order::NodeLost(node.clone())],
        Deed::Node(node, NodeState::Back) => vec![Order::NodeBack(node.clone())],
        _ => Vec::new(),
    }
}

fn fate(pod: Key, behaviour: Behaviour) -> Vec<Order> {
    let seconds = SignedDuration::from_secs;
    let (whom, misbehaviour) = match behaviour {
        // The one that lives gets well, and those that come are what their images make of them.
        Behaviour::Well => {
            let misbehaviour = Misbehaviour::SlowStart(seconds(1));
            let cured = Order::Pod { pod: pod.clone(), whom: Whom::Living, misbehaviour };
            return vec![cured, Order::Behave(pod)];
        }
        Behaviour::Never => (Whom::Every, Misbehaviour::NeverReady),
        Behaviour::Crash => (Whom::Every, Misbehaviour::Crash),
        Behaviour::Slow(time) => {
            (Whom::Every, Misbehaviour::SlowStart(SignedDuration::try_from(time).unwrap_or_default()))
        }
        Behaviour::Flap => (Whom::Living, Misbehaviour::Flap { times: 1, up: seconds(0), down: seconds(3) }),
        Behaviour::Fail => (Whom::Living, Misbehaviour::Evicted(seconds(0))),
    };
    vec![Order::Pod { pod, whom, misbehaviour }]
}

fn policies(on: bool, given: &Given, store: &Store) -> Vec<Act> {
    let all = start::policies(given.holder);
    let there = |resource: &Resource, object: &Value| {
        store.get(*resource, &Key::new("", text(object, &["metadata", "name"]).unwrap_or_default())).is_some()
    };
    all.into_iter()
        .filter(|(resource, object)| there(resource, object) != on)
        .map(
            |(resource, object)| {
                if on { Act::Create(resource, object) } else { delete(resource, Key::of(&object)) }
            },
        )
        .collect()
}
