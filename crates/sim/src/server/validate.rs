//! What the server refuses to store, in its words: as far as rollouts, their tests and people run into it.

use serde_json::{Value, json};

use super::Part;
use crate::object::{self, at, list, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::{self, Flaw};
use crate::selector;

/// The fields of a set's spec that may change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// What is wrong with an object that is to be stored.
pub(super) fn validate(
    resource: Resource,
    part: Part,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), Refusal> {
    let mut flaws = Vec::new();
    if before.is_none() {
        name(resource, after, &mut flaws);
    }
    if let Some(before) = before {
        identity(before, after, &mut flaws);
    }
    if let Some(schema) = schema::of(resource) {
        flaws.extend(schema::validate(schema, after));
    }
    match (resource, part) {
        (Resource::StatefulSets, Part::Status) => counters(after, &mut flaws),
        (Resource::StatefulSets, _) => stateful_set(before, after, &mut flaws),
        (Resource::Pods, Part::Whole) => pod(before, after, &mut flaws),
        (Resource::Budgets, Part::Whole) => budget(after, &mut flaws),
        _ => {}
    }
    if flaws.is_empty() { Ok(()) } else { Err(Refusal::flawed(resource, object::name(after), &flaws)) }
}

fn flaw(field: &str, reason: &'static str, why: impl Into<String>) -> Flaw {
    Flaw { field: field.to_owned(), reason, why: why.into() }
}

fn invalid(field: &str, value: &Value, why: &str) -> Flaw {
    flaw(field, "FieldValueInvalid", format!("Invalid value: {value}: {why}"))
}

fn required(field: &str, why: &str) -> Flaw {
    let said = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
    flaw(field, "FieldValueRequired", said)
}

const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = r"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

fn name(resource: Resource, object: &Value, flaws: &mut Vec<Flaw>) {
    let name = object::name(object);
    let fine = |part: &str| {
        let inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        !part.is_empty() && part.chars().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    if matches!(resource, Resource::Namespaces | Resource::StatefulSets) && name.contains('.') {
        flaws.push(invalid("metadata.name", &json!(name), "must not contain dots"));
        return;
    }
    let (is_fine, longest, why) = match resource {
        Resource::Namespaces | Resource::StatefulSets => (fine(name), 63, LABEL),
        _ => (name.split('.').all(fine), 253, SUBDOMAIN),
    };
    if !is_fine {
        flaws.push(invalid("metadata.name", &json!(name), why));
    }
    if name.len() > longest {
        let why = format!("must be no more than {longest} characters");
        flaws.push(invalid("metadata.name", &json!(name), &why));
    }
}

/// The finalizers of an object that is going only get fewer.
fn identity(before: &Value, after: &Value, flaws: &mut Vec<Flaw>) {
    if !object::is_going(before) {
        return;
    }
    let had = list(before, &["metadata", "finalizers"]);
    let new: Vec<String> = list(after, &["metadata", "finalizers"])
        .iter()
        .filter(|it| !had.contains(it))
        .map(Value::to_string)
        .collect();
    if !new.is_empty() {
        let why = format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            new.join(", ")
        );
        let flaw = flaw("metadata.finalizers", "FieldValueForbidden", why);
        flaws.extend([flaw.clone(), flaw]);
    }
}

fn stateful_set(before: Option<&Value>, after: &Value, flaws: &mut Vec<Flaw>) {
    let not_negative = "must be greater than or equal to 0";
    let partition = &["spec", "updateStrategy", "rollingUpdate", "partition"][..];
    for (path, field) in [
        (&["spec", "replicas"][..], "spec.replicas"),
        (partition, "spec.updateStrategy.rollingUpdate.partition"),
        (&["spec", "minReadySeconds"][..], "spec.minReadySeconds"),
        (&["spec", "ordinals", "start"][..], "spec.ordinals.start"),
    ] {
        if let Some(value) = number(after, path).filter(|&value| value < 0) {
            flaws.push(invalid(field, &json!(value), not_negative));
        }
    }
    if let Some(before) = before {
        if immutable(before) != immutable(after) {
            flaws.push(flaw(
                "spec",
                "FieldValueForbidden",
                "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ));
        }
        return;
    }
    if let Some(service) = text(after, &["spec", "serviceName"]).filter(|it| it.contains('.')) {
        flaws.push(invalid("spec.serviceName", &json!(service), "must not contain dots"));
    }
    let template = at(after, &["spec", "template"]).unwrap_or(&Value::Null);
    match at(after, &["spec", "selector"]) {
        None => flaws.push(required("spec.selector", "")),
        Some(wanted) if !selector::matches(wanted, template) => {
            let labels = at(template, &["metadata", "labels"]).cloned().unwrap_or(Value::Null);
            let field = "spec.template.metadata.labels";
            flaws.push(invalid(field, &labels, "`selector` does not match template `labels`"));
        }
        Some(_) => {}
    }
    containers("spec.template.spec", at(template, &["spec"]).unwrap_or(&Value::Null), flaws);
}

fn immutable(set: &Value) -> Vec<(&String, &Value)> {
    let spec = set.get("spec").and_then(Value::as_object);
    spec.into_iter().flatten().filter(|(field, _)| !MUTABLE.contains(&field.as_str())).collect()
}

fn containers(path: &str, spec: &Value, flaws: &mut Vec<Flaw>) {
    let all = list(spec, &["containers"]);
    if all.is_empty() {
        flaws.push(required(&format!("{path}.containers"), ""));
    }
    for (index, container) in all.iter().enumerate() {
        for field in ["name", "image"] {
            if text(container, &[field]).unwrap_or_default().is_empty() {
                flaws.push(required(&format!("{path}.containers[{index}].{field}"), ""));
            }
        }
    }
}

/// No counter is negative, and none counts more pods than there are.
fn counters(after: &Value, flaws: &mut Vec<Flaw>) {
    let count = |field: &str| number(after, &["status", field]).unwrap_or_default();
    let all = ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    for field in all {
        if count(field) < 0 {
            let value = json!(count(field));
            flaws.push(invalid(&format!("status.{field}"), &value, "must be greater than or equal to 0"));
        }
    }
    let more = "cannot be greater than status.replicas";
    for field in &all[1..] {
        if count(field) > count("replicas") {
            flaws.push(invalid(&format!("status.{field}"), &json!(count(field)), more));
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let value = json!(count("availableReplicas"));
        flaws.push(invalid(
            "status.availableReplicas",
            &value,
            "cannot be greater than status.readyReplicas",
        ));
    }
}

/// A pod's spec stays as it is, but for images and what a scheduler sets by a way of its own.
fn pod(before: Option<&Value>, after: &Value, flaws: &mut Vec<Flaw>) {
    let Some(before) = before else {
        containers("spec", at(after, &["spec"]).unwrap_or(&Value::Null), flaws);
        return;
    };
    let fixed = |pod: &Value| {
        let mut spec = at(pod, &["spec"]).cloned().unwrap_or_default();
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                object::map_at(container, &[]).remove("image");
            }
        }
        let map = object::map_at(&mut spec, &[]);
        for field in ["activeDeadlineSeconds", "tolerations", "nodeName"] {
            map.remove(field);
        }
        spec
    };
    if at(before, &["spec"]) != at(after, &["spec"]) && fixed(before) != fixed(after) {
        flaws.push(flaw(
            "spec",
            "FieldValueForbidden",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ));
    }
}

fn budget(after: &Value, flaws: &mut Vec<Flaw>) {
    let both = ["minAvailable", "maxUnavailable"].iter().all(|field| at(after, &["spec", field]).is_some());
    if both {
        let spec = at(after, &["spec"]).cloned().unwrap_or_default();
        flaws.push(invalid("spec", &spec, "minAvailable and maxUnavailable cannot be both set"));
    }
}
