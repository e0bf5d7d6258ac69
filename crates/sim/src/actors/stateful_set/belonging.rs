//! What belongs to a set: pods and revisions that it owns, takes in as orphans, or lets go.

use serde_json::{Value, json};

use super::member::{Member, owned_by};
use super::revisions;
use crate::actors::{Act, View};
use crate::object::{self, Key, Object, controller, is_going, list, text};
use crate::resource::Resource;
use crate::selector;
use crate::server::{Part, Patch};

/// What a set has, and what has to be written so that it is true.
pub(super) struct Belongings<'a> {
    pub(super) pods: Vec<&'a Member>,
    pub(super) revisions: Vec<&'a Object>,
    pub(super) writes: Vec<Act>,
}

/// Goes through the pods whose names fit, and all revisions.
pub(super) fn of<'a>(
    view: &'a View,
    set: &'a Value,
    pods: impl Iterator<Item = (&'a Key, &'a Member)>,
) -> Belongings<'a> {
    let selector = object::at(set, &["spec", "selector"]).unwrap_or(&Value::Null);
    let mut all = Belongings { pods: Vec::new(), revisions: Vec::new(), writes: Vec::new() };
    all.take_revisions(view, set, selector);
    for (key, pod) in pods {
        all.take_pod(set, key, pod);
    }
    all
}

impl<'a> Belongings<'a> {
    fn take_pod(&mut self, set: &Value, key: &Key, pod: &'a Member) {
        let fits = pod.fits();
        match &pod.owner {
            Some(owner) if owner == object::uid(set) && fits => self.pods.push(pod),
            Some(owner) if owner == object::uid(set) => {
                if !is_going(set) {
                    self.writes.push(owners(Resource::Pods, key, &pod.object, set, None));
                }
            }
            Some(_) => {}
            None => {
                if fits && !pod.going && !is_going(set) {
                    self.writes.push(owners(Resource::Pods, key, &pod.object, set, Some(owned_by(set))));
                    self.pods.push(pod);
                }
            }
        }
    }

    fn take_revisions(&mut self, view: &'a View, set: &'a Value, selector: &Value) {
        for (key, revision) in view.within(Resource::Revisions, object::namespace(set)) {
            let owner = controller(revision);
            let ours = owner.is_none_or(|owner| owner == object::uid(set));
            if !ours || !selector::matches(selector, revision) {
                continue;
            }
            if owner.is_none() && !is_going(set) {
                let us = Some(owned_by(set));
                self.writes.push(owners(Resource::Revisions, key, revision, set, us));
            }
            self.revisions.push(revision);
        }
        revisions::sort(&mut self.revisions);
    }
}

/// The owners without the set, and with the new one if there is one; only for this very object.
fn owners(resource: Resource, key: &Key, object: &Value, set: &Value, new: Option<Value>) -> Act {
    let others = list(object, &["metadata", "ownerReferences"])
        .iter()
        .filter(|it| text(it, &["uid"]) != Some(object::uid(set)));
    let all: Vec<Value> = others.cloned().chain(new).collect();
    let change = json!({"metadata": {"uid": object::uid(object), "ownerReferences": all}});
    Act::Patch(resource, key.clone(), Part::Whole, Patch::Merge(change))
}
