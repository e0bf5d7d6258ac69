//! Revisions of a set: which template is wanted, which one is current, what they are called, which are forgotten.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::member::owned_by;
use crate::actors::Act;
use crate::object::{self, Key, Object, at, map_at, number, text};
use crate::resource::Resource;
use crate::server::{Deletion, Part};

const HASH: &str = "controller.kubernetes.io/hash";
/// What Kubernetes makes names of: no vowels, so no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Longer names of sets are cut, so that the hash fits.
const LONGEST_PREFIX: usize = 223;

/// The two revisions that a sync works with.
pub(super) struct Revisions<'a> {
    pub(super) current: String,
    pub(super) current_template: &'a Value,
    pub(super) update: String,
    pub(super) collision_count: i64,
    /// What has to be written before anything else.
    pub(super) write: Option<Act>,
}

/// Finds the revision of the wanted template and the current one. The revisions are sorted, oldest first.
pub(super) fn find<'a>(set: &'a Value, template: &'a Value, revisions: &[&'a Object]) -> Revisions<'a> {
    let mut collision_count = number(set, &["status", "collisionCount"]).unwrap_or_default();
    let equal = revisions.iter().rposition(|it| holds(it, template));
    let (update, write) = match equal {
        Some(newest) if newest + 1 == revisions.len() => (object::name(revisions[newest]).to_owned(), None),
        Some(older) => {
            let mut again = Value::clone(revisions[older]);
            map_at(&mut again, &[]).insert("revision".to_owned(), json!(next_number(revisions)));
            let act = Act::Update(Resource::Revisions, Part::Whole, again);
            (object::name(revisions[older]).to_owned(), Some(act))
        }
        None => {
            let data = data(template);
            let hash = hash(&data, collision_count);
            let mut name = name(set, &hash);
            // A name that is known to be taken by another template: the next count makes another name.
            while revisions.iter().any(|it| object::name(it) == name) {
                collision_count += 1;
                name = self::name(set, &self::hash(&data, collision_count));
            }
            let revision = new_revision(set, template, &data, &name, &hash, next_number(revisions));
            (name, Some(Act::Create(Resource::Revisions, revision)))
        }
    };
    let told = text(set, &["status", "currentRevision"]).unwrap_or_default();
    let current = revisions.iter().find(|it| object::name(it) == told);
    let (current, current_template) = match current {
        Some(current) if told != update => (told.to_owned(), template_of(current)),
        _ => (update.clone(), template),
    };
    Revisions { current, current_template, update, collision_count, write }
}

/// Oldest first, as the history is kept.
pub(super) fn sort(revisions: &mut [&Object]) {
    let age = |it: &Object| {
        let born = text(it, &["metadata", "creationTimestamp"]).unwrap_or_default();
        (number(it, &["revision"]).unwrap_or_default(), born.to_owned(), object::name(it).to_owned())
    };
    if revisions.len() > 1 {
        revisions.sort_by_cached_key(|it| age(it));
    }
}

/// The oldest revisions that no pod and no status names, beyond the limit. A negative limit keeps all.
pub(super) fn forget<'a>(
    set: &Value,
    limit: i64,
    revisions: &[&Object],
    chosen: &Revisions<'_>,
    on_pods: impl Iterator<Item = &'a str>,
) -> Vec<Act> {
    let Ok(limit) = usize::try_from(limit) else { return Vec::new() };
    if revisions.len() <= limit {
        return Vec::new();
    }
    let mut live: BTreeSet<&str> = on_pods.collect();
    live.extend([chosen.current.as_str(), chosen.update.as_str()]);
    let dead: Vec<&str> =
        revisions.iter().map(|it| object::name(it)).filter(|name| !live.contains(name)).collect();
    let surplus = dead.len().saturating_sub(limit);
    let delete = |name: &&str| {
        Act::Delete(Resource::Revisions, Key::new(object::namespace(set), *name), Deletion::default())
    };
    dead[..surplus].iter().map(delete).collect()
}

fn next_number(revisions: &[&Object]) -> i64 {
    revisions.last().and_then(|it| number(it, &["revision"])).unwrap_or_default() + 1
}

/// Whether the revision is of this template, to the byte.
fn holds(revision: &Value, template: &Value) -> bool {
    let (Some(kept), Some(template)) = (template_of(revision).as_object(), template.as_object()) else {
        return false;
    };
    kept.len() == template.len() + 1
        && kept.get("$patch").is_some()
        && template.iter().all(|(field, value)| kept.get(field) == Some(value))
}

fn template_of(revision: &Value) -> &Value {
    at(revision, &["data", "spec", "template"]).unwrap_or(&Value::Null)
}

fn data(template: &Value) -> Value {
    let mut kept = template.clone();
    map_at(&mut kept, &[]).insert("$patch".to_owned(), json!("replace"));
    json!({"spec": {"template": kept}})
}

fn new_revision(set: &Value, template: &Value, data: &Value, name: &str, hash: &str, number: i64) -> Value {
    let mut labels = at(template, &["metadata", "labels"]).cloned().unwrap_or_else(|| json!({}));
    map_at(&mut labels, &[]).insert(HASH.to_owned(), json!(hash));
    let mut revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "namespace": object::namespace(set), "labels": labels,
            "ownerReferences": [owned_by(set)],
        },
        "data": data, "revision": number,
    });
    if let Some(notes) = at(set, &["metadata", "annotations"]).filter(|it| it.is_object()) {
        map_at(&mut revision, &["metadata"]).insert("annotations".to_owned(), notes.clone());
    }
    revision
}

fn name(set: &Value, hash: &str) -> String {
    let prefix: String = object::name(set).chars().take(LONGEST_PREFIX).collect();
    format!("{prefix}-{hash}")
}

/// FNV-1 in 32 bits over the data as Go writes it, then the count of collisions; decimal, in letters.
fn hash(data: &Value, collision_count: i64) -> String {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in go_json(data).bytes().chain(collision_count.to_string().bytes()) {
        hash = hash.wrapping_mul(0x0100_0193) ^ u32::from(byte);
    }
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
    hash.to_string().bytes().map(letter).collect()
}

/// Go escapes in JSON what HTML would take for a tag.
fn go_json(data: &Value) -> String {
    let plain = data.to_string();
    let special = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    if !plain.contains(special) {
        return plain;
    }
    let mut escaped = String::with_capacity(plain.len());
    for letter in plain.chars() {
        if special.contains(&letter) {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name and data as a real control plane of 1.36 made them.
    #[test]
    fn a_revision_is_called_what_kubernetes_calls_it() {
        let template = json!({
            "metadata": {"annotations": {"note": "a<b>&c"}, "labels": {"app": "web"}},
            "spec": {
                "containers": [{
                    "image": "app:a", "imagePullPolicy": "IfNotPresent", "name": "app", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                }],
                "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
                "securityContext": {}, "terminationGracePeriodSeconds": 30,
            },
        });
        assert_eq!(hash(&data(&template), 0), "796ffd9f95");
    }

    #[test]
    fn a_name_that_is_taken_by_another_template_makes_another_name() {
        let set = json!({"metadata": {"name": "web", "namespace": "default"}});
        let template = json!({"spec": {"containers": []}});
        let taken = name(&set, &hash(&data(&template), 0));
        let other = Object::new(json!({"metadata": {"name": taken}, "data": {}, "revision": 1}));
        let found = find(&set, &template, &[&other]);
        assert_eq!((found.collision_count, found.update == taken), (1, false));
    }
}
