//! What people and tools do in scripts, as requests: the same patches that `kubectl` and `kubectl windlass` send.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windlass_workloads::Holder;

use crate::actors::person;
use crate::actors::{Act, Misbehaviour, Order, Whom};
use crate::object::{Key, map_at, text};
use crate::resource::Resource;
use crate::script::{Behaviour, Deed, NodeState};
use crate::server::{Caller, Deletion, Part, Patch};
use crate::start::{self, Start};
use crate::store::Store;

/// As whom people write.
pub fn person() -> Caller {
    Caller::new("admin")
}

/// The requests of a deed, as things stand.
pub fn acts(deed: &Deed, start: &Start, store: &Store) -> Vec<Act> {
    let (set, rollout) = (start.set_key(), the_rollout(start, store));
    let spec = |resource, key: &Key, body: Value| {
        vec![Act::Patch(resource, key.clone(), Part::Whole, Patch::Merge(json!({"spec": body})))]
    };
    match deed {
        Deed::Image(image) => store
            .get(Resource::StatefulSets, &set)
            .and_then(|set| person::set_image(set, start.container(), image))
            .into_iter()
            .collect(),
        Deed::Scale(pods) => vec![person::scale(&set, i32::try_from(*pods).unwrap_or(i32::MAX))],
        Deed::Promote => store
            .get(Resource::RolloutPlugins, &rollout)
            .and_then(|it| person::promote(it))
            .into_iter()
            .collect(),
        Deed::PromoteFull => vec![person::promote_full(&rollout)],
        Deed::Abort => vec![person::abort(&rollout)],
        Deed::Restart => vec![person::restart(&rollout)],
        Deed::Pause => vec![person::pause(&rollout)],
        Deed::Resume => vec![person::resume(&rollout)],
        Deed::Steps(steps) => spec(
            Resource::RolloutPlugins,
            &rollout,
            json!({"strategy": {"canary": {"steps": start::steps(steps)}}}),
        ),
        Deed::Background(background) => spec(
            Resource::RolloutPlugins,
            &rollout,
            json!({"strategy": {"canary": {"analysis": background.as_ref().map(start::background)}}}),
        ),
        Deed::NoStrategy => spec(Resource::RolloutPlugins, &rollout, json!({"strategy": {"canary": null}})),
        Deed::Plugin(name) => spec(Resource::RolloutPlugins, &rollout, json!({"plugin": {"name": name}})),
        Deed::WorkloadNamespace(namespace) => {
            spec(Resource::RolloutPlugins, &rollout, json!({"workloadRef": {"namespace": namespace}}))
        }
        Deed::DeletePod(pod) => vec![person::delete_pod(&start.pod_key(pod))],
        Deed::EvictPod(pod) => vec![Act::Evict(start.pod_key(pod))],
        Deed::DeleteSet => vec![delete(Resource::StatefulSets, set)],
        Deed::DeleteRollout => vec![person::delete_rollout(&rollout)],
        Deed::CreateRollout => vec![Act::Create(Resource::RolloutPlugins, start.rollout.clone())],
        Deed::SecondRollout => vec![second_rollout(start)],
        Deed::Partition(partition) => spec(
            Resource::StatefulSets,
            &set,
            json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}}),
        ),
        Deed::Reapply => vec![reapply(start)],
        Deed::Quota(pods) => quota(*pods, &set.namespace, store),
        Deed::Pod(..) | Deed::Node(..) | Deed::Metric(..) => Vec::new(),
        Deed::Policies(on) => policies(*on, start.holder, store),
        Deed::DeleteTemplate(name) => {
            vec![delete(Resource::AnalysisTemplates, Key::new(&set.namespace, name))]
        }
        Deed::CreateTemplate(name) => {
            let there = store.get(Resource::AnalysisTemplates, &Key::new(&set.namespace, name)).is_some();
            let template = start.template(name).filter(|_| !there).cloned();
            template.map(|template| Act::Create(Resource::AnalysisTemplates, template)).into_iter().collect()
        }
        Deed::DeleteAnalysis => latest_analysis(store)
            .map(|run| delete(Resource::AnalysisRuns, Key::of(run)))
            .into_iter()
            .collect(),
        Deed::TerminateAnalysis => latest_analysis(store)
            .map(|run| spec(Resource::AnalysisRuns, &Key::of(run), json!({"terminate": true})))
            .unwrap_or_default(),
    }
}

/// The analysis that was made last.
pub(crate) fn latest_analysis(store: &Store) -> Option<&Value> {
    let created = |run: &Value| text(run, &["metadata", "creationTimestamp"]).map(str::to_owned);
    let runs = store.all(Resource::AnalysisRuns).map(|(_, run)| &**run);
    runs.max_by_key(|run| (created(run), Key::of(run).name))
}

/// The rollout that a person means: the one of the start, or the one that took its place.
fn the_rollout(start: &Start, store: &Store) -> Key {
    let key = start.rollout_key();
    match store.get(Resource::RolloutPlugins, &key) {
        Some(_) => key,
        None => store.all(Resource::RolloutPlugins).next().map_or(key, |(other, _)| other.clone()),
    }
}

fn delete(resource: Resource, key: Key) -> Act {
    Act::Delete(resource, key, Deletion::default())
}

/// A new image in the same write as the partition that holds it.
pub fn held_image(image: &str, start: &Start) -> Act {
    let body = json!({"spec": {
        "template": {"spec": {"containers": [{"name": start.container(), "image": image}]}},
        "updateStrategy": {"rollingUpdate": {"partition": i32::MAX}},
    }});
    Act::Patch(Resource::StatefulSets, start.set_key(), Part::Whole, Patch::Strategic(body))
}

/// Another rollout that names the same set.
fn second_rollout(start: &Start) -> Act {
    let mut second = start.rollout.clone();
    map_at(&mut second, &["metadata"]).insert("name".to_owned(), json!("web-second"));
    Act::Create(Resource::RolloutPlugins, second)
}

/// What a tool does that knows the manifest of the start, with a partition in it.
fn reapply(start: &Start) -> Act {
    let mut manifest = start.set.clone();
    let spec = map_at(&mut manifest, &["spec"]);
    // The number of pods is an autoscaler's.
    spec.remove("replicas");
    spec.insert(
        "updateStrategy".to_owned(),
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
    );
    Act::Patch(Resource::StatefulSets, start.set_key(), Part::Whole, Patch::Strategic(manifest))
}

fn quota(pods: Option<u32>, namespace: &str, store: &Store) -> Vec<Act> {
    let key = Key::new(namespace, "pods");
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
pub(crate) fn orders(deed: &Deed, start: &Start) -> Vec<Order> {
    match deed {
        Deed::Pod(pod, behaviour) => fate(start.pod_key(pod), *behaviour),
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

fn policies(on: bool, holder: Holder, store: &Store) -> Vec<Act> {
    let all = start::policies(holder);
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
