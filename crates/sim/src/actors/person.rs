//! What people do, as requests: the buttons of `kubectl windlass`, and what else they do to a set or its pods. A person
//! looks before pressing a button, so what makes no sense as things stand is not sent.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Act, Actor, Turn, View};
use crate::object::{self, Key, list, text};
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch};

/// Something that a person does.
#[derive(Clone, Debug, PartialEq)]
pub enum Button {
    /// `kubectl windlass abort`
    Abort(Key),
    /// `kubectl windlass promote`
    Promote(Key),
    /// `kubectl windlass promote --full`
    PromoteFull(Key),
    /// `kubectl windlass restart`
    Restart(Key),
    /// `kubectl windlass pause`
    Pause(Key),
    /// `kubectl windlass resume`
    Resume(Key),
    /// `kubectl delete rolloutplugin`
    DeleteRollout(Key),
    /// `kubectl set image statefulset/… container=image`
    SetImage(Key, String, String),
    /// Another template in place of the present one.
    SetTemplate(Key, Value),
    /// `kubectl scale`
    Scale(Key, i32),
    /// `kubectl delete pod`
    DeletePod(Key),
}

/// Sets a flag in the status of a rollout.
fn trigger(rollout: &Key, flag: &str) -> Act {
    let change = Patch::Merge(json!({"status": {flag: true}}));
    Act::Patch(Resource::RolloutPlugins, rollout.clone(), Part::Status, change)
}

/// Aborts a rollout.
pub fn abort(rollout: &Key) -> Act {
    trigger(rollout, "abort")
}

/// Skips all further steps of a rollout.
pub fn promote_full(rollout: &Key) -> Act {
    trigger(rollout, "promoteFull")
}

/// Tries an aborted rollout again.
pub fn restart(rollout: &Key) -> Act {
    trigger(rollout, "restart")
}

/// Promotes the pause that is shown, and no other; none if none is shown.
pub fn promote(rollout: &Value) -> Option<Act> {
    if list(rollout, &["status", "pauseConditions"]).is_empty() {
        return None;
    }
    let version = text(rollout, &["metadata", "resourceVersion"])?;
    let change = json!({"metadata": {"resourceVersion": version}, "status": {"pauseConditions": null}});
    Some(Act::Patch(Resource::RolloutPlugins, Key::of(rollout), Part::Status, Patch::Merge(change)))
}

fn paused(rollout: &Key, is: bool) -> Act {
    let change = Patch::Merge(json!({"spec": {"paused": is}}));
    Act::Patch(Resource::RolloutPlugins, rollout.clone(), Part::Whole, change)
}

/// Holds a rollout where it is.
pub fn pause(rollout: &Key) -> Act {
    paused(rollout, true)
}

/// Takes a person's pause off.
pub fn resume(rollout: &Key) -> Act {
    paused(rollout, false)
}

/// Ends the management of a set.
pub fn delete_rollout(rollout: &Key) -> Act {
    Act::Delete(Resource::RolloutPlugins, rollout.clone(), Deletion::default())
}

/// Another image for a container of a set; none if there is no such container.
pub fn set_image(set: &Value, container: &str, image: &str) -> Option<Act> {
    let mut containers = list(set, &["spec", "template", "spec", "containers"]).to_vec();
    let found = containers.iter_mut().find(|it| text(it, &["name"]) == Some(container))?;
    object::map_at(found, &[]).insert("image".to_owned(), json!(image));
    let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    Some(Act::Patch(Resource::StatefulSets, Key::of(set), Part::Whole, Patch::Merge(change)))
}

/// A template in place of the present one, for example the one before.
pub fn set_template(set: &Value, template: &Value) -> Act {
    let mut after = set.clone();
    object::map_at(&mut after, &["spec"]).insert("template".to_owned(), template.clone());
    Act::Update(Resource::StatefulSets, Part::Whole, after)
}

/// Another number of replicas.
pub fn scale(set: &Key, replicas: i32) -> Act {
    let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    Act::Patch(Resource::StatefulSets, set.clone(), Part::Scale, change)
}

/// Deletes a pod.
pub fn delete_pod(pod: &Key) -> Act {
    Act::Delete(Resource::Pods, pod.clone(), Deletion::default())
}

/// The request behind a button, by what the person sees; none if it makes no sense.
pub fn press(view: &View, button: &Button) -> Option<Act> {
    match button {
        Button::Abort(rollout) => Some(abort(rollout)),
        Button::Promote(rollout) => promote(view.get(Resource::RolloutPlugins, rollout)?),
        Button::PromoteFull(rollout) => Some(promote_full(rollout)),
        Button::Restart(rollout) => Some(restart(rollout)),
        Button::Pause(rollout) => Some(pause(rollout)),
        Button::Resume(rollout) => Some(resume(rollout)),
        Button::DeleteRollout(rollout) => Some(delete_rollout(rollout)),
        Button::SetImage(set, container, image) => {
            set_image(view.get(Resource::StatefulSets, set)?, container, image)
        }
        Button::SetTemplate(set, template) => {
            Some(set_template(view.get(Resource::StatefulSets, set)?, template))
        }
        Button::Scale(set, replicas) => Some(scale(set, *replicas)),
        Button::DeletePod(pod) => Some(delete_pod(pod)),
    }
}

/// A person with a plan for the day, who shrugs when refused: what to try again stands in the plan.
pub struct Person {
    plan: Vec<(Timestamp, Button)>,
}

impl Person {
    /// Presses these buttons at these moments.
    pub fn new(mut plan: Vec<(Timestamp, Button)>) -> Self {
        plan.sort_by_key(|(when, _)| *when);
        Self { plan }
    }
}

impl Actor for Person {
    fn caller(&self) -> Caller {
        Caller::new("kubernetes-admin")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::RolloutPlugins, Resource::StatefulSets, Resource::Pods]
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        while let Some((when, _)) = self.plan.first() {
            if *when > now {
                return Turn { acts: Vec::new(), wake: Some(*when) };
            }
            let (_, button) = self.plan.remove(0);
            if let Some(act) = press(view, &button) {
                return Turn { acts: vec![act], wake: self.plan.first().map(|(when, _)| *when) };
            }
        }
        Turn::default()
    }
}
