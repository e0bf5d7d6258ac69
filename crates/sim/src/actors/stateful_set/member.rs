//! What the controller reads from a pod, read once when the pod changes; and the pods it makes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::wanted::Wanted;
use crate::object::{self, Object, is_going, label, later, list, map_at, parse_moment, text};
use crate::selector;

const REVISION: &str = "controller-revision-hash";
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// How far a pod has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Pending,
    Running,
    /// Failed or Succeeded.
    Over,
    Unknown,
}

/// A pod that is, or was, of a set.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) object: Object,
    pub(super) ordinal: i64,
    pub(super) revision: String,
    pub(super) phase: Phase,
    pub(super) going: bool,
    pub(super) named_right: bool,
    /// The uid of who is in charge of it.
    pub(super) owner: Option<String>,
    /// How much of its name is the name of its set.
    pub(super) parent: usize,
    /// Whether the selector of a set fits it, with the uid of that set: asked at every look, and never another answer.
    judged: Option<(String, bool)>,
    /// Since when it is ready, if it is; for ever to come where nobody says since when.
    ready_since: Option<Timestamp>,
}

impl Member {
    /// The pod of a set, if its name ends in an ordinal.
    pub(super) fn of(object: &Object) -> Option<Self> {
        let (parent, ordinal) = parent_and_ordinal(object::name(object))?;
        let phase = match text(object, &["status", "phase"]) {
            Some("Pending") => Phase::Pending,
            Some("Running") => Phase::Running,
            Some("Failed" | "Succeeded") => Phase::Over,
            _ => Phase::Unknown,
        };
        let ready = list(object, &["status", "conditions"])
            .iter()
            .find(|it| text(it, &["type"]) == Some("Ready") && text(it, &["status"]) == Some("True"));
        Some(Self {
            ordinal,
            owner: object::controller(object).map(str::to_owned),
            parent: parent.len(),
            judged: None,
            revision: label(object, REVISION).unwrap_or_default().to_owned(),
            phase,
            going: is_going(object),
            named_right: label(object, POD_NAME) == Some(object::name(object)),
            ready_since: ready
                .map(|it| text(it, &["lastTransitionTime"]).and_then(parse_moment).unwrap_or(Timestamp::MAX)),
            object: Object::clone(object),
        })
    }

    /// Compares it with the selector of a set, once.
    pub(super) fn judge(&mut self, set: &Value) {
        let uid = object::uid(set);
        if self.judged.as_ref().is_none_or(|(judged, _)| judged != uid) {
            let fits = object::at(set, &["spec", "selector"])
                .is_some_and(|selector| selector::matches(selector, &self.object));
            self.judged = Some((uid.to_owned(), fits));
        }
    }

    /// Whether the selector of the set fits that it was last compared with.
    pub(super) fn fits(&self) -> bool {
        self.judged.as_ref().is_some_and(|(_, fits)| *fits)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Running && self.ready_since.is_some()
    }

    /// When it counts as available, if it stays ready.
    pub(super) fn available_from(&self, min_ready_seconds: i64) -> Option<Timestamp> {
        let since = self.ready_since.filter(|_| self.is_ready())?;
        Some(if min_ready_seconds == 0 { Timestamp::MIN } else { later(since, min_ready_seconds) })
    }

    pub(super) fn is_available(&self, now: Timestamp, min_ready_seconds: i64) -> bool {
        self.available_from(min_ready_seconds).is_some_and(|from| from <= now)
    }
}

/// `web-4` is the pod 4 of web.
fn parent_and_ordinal(pod: &str) -> Option<(&str, i64)> {
    let (parent, ordinal) = pod.rsplit_once('-')?;
    let digits = !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit());
    if digits { ordinal.parse().ok().map(|ordinal| (parent, ordinal)) } else { None }
}

/// A reference that makes the set the owner in charge.
pub(super) fn owned_by(set: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": object::name(set), "uid": object::uid(set),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A new pod of a revision.
pub(super) fn new_pod(
    set: &Value,
    wanted: &Wanted<'_>,
    template: &Value,
    revision: &str,
    ordinal: i64,
) -> Value {
    let name = format!("{}-{ordinal}", object::name(set));
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": object::namespace(set), "generateName": format!("{}-", object::name(set)),
            "ownerReferences": [owned_by(set)],
        },
        "spec": template.get("spec").cloned().unwrap_or_default(),
    });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = object::at(template, &["metadata", field]) {
            map_at(&mut pod, &["metadata"]).insert(field.to_owned(), value.clone());
        }
    }
    let labels = map_at(&mut pod, &["metadata", "labels"]);
    labels.insert(REVISION.to_owned(), json!(revision));
    labels.insert(POD_NAME.to_owned(), json!(name));
    labels.insert(POD_INDEX.to_owned(), json!(ordinal.to_string()));
    let spec = map_at(&mut pod, &["spec"]);
    spec.insert("hostname".to_owned(), json!(name));
    if let Some(service) = wanted.service {
        spec.insert("subdomain".to_owned(), json!(service));
    }
    add_volumes(&mut pod, set, wanted, ordinal);
    pod
}

/// The claims' volumes come first and win over volumes of the same name.
fn add_volumes(pod: &mut Value, set: &Value, wanted: &Wanted<'_>, ordinal: i64) {
    if wanted.claim_templates.is_empty() {
        return;
    }
    let mut volumes: Vec<Value> = wanted
        .claim_templates
        .iter()
        .map(|claim| {
            let claim_name = super::claims::name(set, claim, ordinal);
            json!({"name": object::name(claim), "persistentVolumeClaim": {"claimName": claim_name}})
        })
        .collect();
    let shadowed =
        |name: Option<&str>| wanted.claim_templates.iter().any(|claim| Some(object::name(claim)) == name);
    volumes
        .extend(list(pod, &["spec", "volumes"]).iter().filter(|it| !shadowed(text(it, &["name"]))).cloned());
    map_at(pod, &["spec"]).insert("volumes".to_owned(), Value::Array(volumes));
}

/// The change that gives a pod its own name as a label again.
pub(super) fn name_label(pod: &Value) -> Value {
    json!({"metadata": {"labels": {POD_NAME: object::name(pod)}}})
}
