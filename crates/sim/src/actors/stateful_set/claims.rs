//! The volume claims of a set's pods: made before the pod, kept when it goes, owned as the retention policy says.

use serde_json::{Value, json};

use super::member::{Member, owned_by};
use super::wanted::Wanted;
use crate::actors::{Act, View};
use crate::object::{self, Key, Object, at, is_going, list, map_at, text};
use crate::resource::Resource;
use crate::server::{Part, Patch};

/// A claim of an ordinal.
pub(super) fn name(set: &Value, template: &Value, ordinal: i64) -> String {
    format!("{}-{}-{ordinal}", object::name(template), object::name(set))
}

/// A claim is going, so its pod cannot be made: the real controller takes this for an error and tries again.
pub(super) struct Going;

/// The claims that have to be made for an ordinal.
pub(super) fn missing(
    view: &View,
    set: &Value,
    wanted: &Wanted<'_>,
    ordinal: i64,
) -> Result<Vec<Act>, Going> {
    let mut acts = Vec::new();
    for template in wanted.claim_templates {
        let key = Key::new(object::namespace(set), name(set, template, ordinal));
        match view.get(Resource::Claims, &key) {
            Some(claim) if is_going(claim) => return Err(Going),
            Some(_) => {}
            None => acts.push(Act::Create(Resource::Claims, new_claim(set, wanted, template, &key))),
        }
    }
    Ok(acts)
}

/// Whether a claim still belongs to a pod, so that it goes with that one.
pub(super) fn stale(view: &View, set: &Value, wanted: &Wanted<'_>, ordinal: i64) -> bool {
    wanted.claims_end_with_scale
        && known(view, set, wanted, ordinal)
            .any(|(_, claim)| list(claim, &["metadata", "ownerReferences"]).iter().any(is_pod))
}

/// Gives the claims of a pod the owners that the retention policy asks for: the set, or the pod that is to go.
pub(super) fn own(view: &View, set: &Value, wanted: &Wanted<'_>, pod: &Member, condemned: bool) -> Vec<Act> {
    let mut owners = Vec::new();
    if wanted.claims_end_with_scale && condemned {
        let (name, uid) = (object::name(&pod.object), object::uid(&pod.object));
        owners.push(json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}));
    } else if wanted.claims_end_with_set {
        owners.push(owned_by(set));
    }
    known(view, set, wanted, pod.ordinal)
        .filter(|(_, claim)| !is_going(claim))
        .filter_map(|(key, claim)| {
            let ours = |it: &&Value| is_pod(it) || text(it, &["uid"]) == Some(object::uid(set));
            let had: Vec<&Value> =
                list(claim, &["metadata", "ownerReferences"]).iter().filter(ours).collect();
            if had == owners.iter().collect::<Vec<_>>() {
                return None;
            }
            let others = list(claim, &["metadata", "ownerReferences"]).iter().filter(|it| !ours(it));
            let all: Vec<Value> = others.chain(&owners).cloned().collect();
            let change = json!({"metadata": {"ownerReferences": all}});
            Some(Act::Patch(Resource::Claims, key, Part::Whole, Patch::Merge(change)))
        })
        .collect()
}

fn is_pod(owner: &Value) -> bool {
    text(owner, &["kind"]) == Some("Pod")
}

fn known<'a>(
    view: &'a View,
    set: &'a Value,
    wanted: &'a Wanted<'_>,
    ordinal: i64,
) -> impl Iterator<Item = (Key, &'a Object)> {
    wanted.claim_templates.iter().filter_map(move |template| {
        let key = Key::new(object::namespace(set), name(set, template, ordinal));
        view.get(Resource::Claims, &key).map(|claim| (key, claim))
    })
}

fn new_claim(set: &Value, wanted: &Wanted<'_>, template: &Value, key: &Key) -> Value {
    let mut claim = template.clone();
    let labels = map_at(&mut claim, &["metadata", "labels"]);
    for (label, value) in
        at(wanted.selector, &["matchLabels"]).and_then(Value::as_object).into_iter().flatten()
    {
        labels.insert(label.clone(), value.clone());
    }
    let meta = map_at(&mut claim, &["metadata"]);
    meta.insert("name".to_owned(), json!(key.name));
    meta.insert("namespace".to_owned(), json!(key.namespace));
    if wanted.claims_end_with_set {
        meta.insert("ownerReferences".to_owned(), json!([owned_by(set)]));
    }
    claim
}
