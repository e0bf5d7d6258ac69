//! Columns and cells of the kinds that the server knows by heart.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, pods, since};
use crate::object::{at, list, name, number, text};
use crate::resource::Resource;

/// A column: its name, its type, and 1 if only the wide output shows it.
type Column = (&'static str, &'static str, i64);

const NAME: Column = ("Name", "string", 0);
const AGE: Column = ("Age", "string", 0);

/// The columns of a resource.
pub(super) fn columns(resource: Resource) -> &'static [Column] {
    match resource {
        Resource::Pods => &pods::COLUMNS,
        Resource::Namespaces => &[NAME, ("Status", "string", 0), AGE],
        Resource::Nodes => &[
            NAME,
            ("Status", "string", 0),
            ("Roles", "string", 0),
            AGE,
            ("Version", "string", 0),
            ("Internal-IP", "string", 1),
            ("External-IP", "string", 1),
            ("OS-Image", "string", 1),
            ("Kernel-Version", "string", 1),
            ("Container-Runtime", "string", 1),
        ],
        Resource::Services => &[
            NAME,
            ("Type", "string", 0),
            ("Cluster-IP", "string", 0),
            ("External-IP", "string", 0),
            ("Port(s)", "string", 0),
            AGE,
            ("Selector", "string", 1),
        ],
        Resource::Claims => &[
            NAME,
            ("Status", "string", 0),
            ("Volume", "string", 0),
            ("Capacity", "string", 0),
            ("Access Modes", "string", 0),
            ("StorageClass", "string", 0),
            ("VolumeAttributesClass", "string", 0),
            AGE,
            ("VolumeMode", "string", 1),
        ],
        Resource::ConfigMaps => &[NAME, ("Data", "string", 0), AGE],
        Resource::Secrets => &[NAME, ("Type", "string", 0), ("Data", "string", 0), AGE],
        Resource::Events => &[
            ("Last Seen", "string", 0),
            ("Type", "string", 0),
            ("Reason", "string", 0),
            ("Object", "string", 0),
            ("Subobject", "string", 1),
            ("Source", "string", 1),
            ("Message", "string", 0),
            ("First Seen", "string", 1),
            ("Count", "string", 1),
            ("Name", "string", 1),
        ],
        Resource::StatefulSets => {
            &[NAME, ("Ready", "string", 0), AGE, ("Containers", "string", 1), ("Images", "string", 1)]
        }
        Resource::Revisions => &[NAME, ("Controller", "string", 0), ("Revision", "string", 0), AGE],
        Resource::Budgets => &[
            NAME,
            ("Min Available", "string", 0),
            ("Max Unavailable", "string", 0),
            ("Allowed Disruptions", "integer", 0),
            AGE,
        ],
        Resource::Leases => &[NAME, ("Holder", "string", 0), AGE],
        Resource::Definitions => &[NAME, ("Created At", "date", 0)],
        Resource::MutatingPolicies => &[NAME, ("Mutations", "integer", 0), ("ParamKind", "string", 0), AGE],
        Resource::ValidatingPolicies => {
            &[NAME, ("Validations", "integer", 0), ("ParamKind", "string", 0), AGE]
        }
        Resource::MutatingBindings | Resource::ValidatingBindings => {
            &[NAME, ("PolicyName", "string", 0), ("ParamRef", "string", 0), AGE]
        }
        Resource::Jobs => &[
            NAME,
            ("Status", "string", 0),
            ("Completions", "string", 0),
            ("Duration", "string", 0),
            AGE,
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
        Resource::Quotas
        | Resource::ServiceAccounts
        | Resource::RolloutPlugins
        | Resource::AnalysisTemplates
        | Resource::ClusterAnalysisTemplates
        | Resource::AnalysisRuns => &[NAME, AGE],
    }
}

/// The cells of an object, as many as there are columns.
pub(super) fn cells(resource: Resource, it: &Value, now: Timestamp) -> Vec<Value> {
    let said = |path: &[&str]| text(it, path).filter(|text| !text.is_empty());
    let or = |path: &[&str], otherwise: &str| json!(said(path).unwrap_or(otherwise));
    let (called, age) = (json!(name(it)), age(it, now));
    match resource {
        Resource::Pods => pods::cells(it, now),
        Resource::Namespaces => vec![called, or(&["status", "phase"], ""), age],
        Resource::Nodes => node(it, now),
        Resource::Services => vec![
            called,
            or(&["spec", "type"], ""),
            or(&["spec", "clusterIP"], "<none>"),
            json!("<none>"),
            json!(ports(it)),
            age,
            json!(labels(at(it, &["spec", "selector"]))),
        ],
        Resource::Claims => claim(it, now),
        Resource::ConfigMaps => vec![called, json!(size(it, "data") + size(it, "binaryData")), age],
        Resource::Secrets => vec![called, or(&["type"], ""), json!(size(it, "data")), age],
        Resource::Events => event(it, now),
        Resource::StatefulSets => {
            let count = |path: &[&str]| number(it, path).unwrap_or_default();
            let ready = format!("{}/{}", count(&["status", "readyReplicas"]), count(&["spec", "replicas"]));
            vec![called, json!(ready), age, containers(it, "name"), containers(it, "image")]
        }
        Resource::Revisions => {
            vec![called, json!(controlled_by(it)), json!(number(it, &["revision"]).unwrap_or_default()), age]
        }
        Resource::Budgets => {
            let either = |field: &str| match at(it, &["spec", field]) {
                Some(Value::String(text)) => json!(text),
                Some(value) => json!(value.to_string()),
                None => json!("N/A"),
            };
            let allowed = number(it, &["status", "disruptionsAllowed"]).unwrap_or_default();
            vec![called, either("minAvailable"), either("maxUnavailable"), json!(allowed), age]
        }
        Resource::Leases => vec![called, or(&["spec", "holderIdentity"], ""), age],
        Resource::Definitions => vec![called, or(&["metadata", "creationTimestamp"], "<unknown>")],
        Resource::MutatingPolicies => {
            let count = list(it, &["spec", "mutations"]).len();
            vec![called, json!(count), or(&["spec", "paramKind", "kind"], "<unset>"), age]
        }
        Resource::ValidatingPolicies => {
            let count = list(it, &["spec", "validations"]).len();
            vec![called, json!(count), or(&["spec", "paramKind", "kind"], "<unset>"), age]
        }
        Resource::MutatingBindings | Resource::ValidatingBindings => {
            vec![called, or(&["spec", "policyName"], ""), or(&["spec", "paramRef", "name"], "<unset>"), age]
        }
        Resource::Jobs => job(it, now),
        Resource::Quotas
        | Resource::ServiceAccounts
        | Resource::RolloutPlugins
        | Resource::AnalysisTemplates
        | Resource::ClusterAnalysisTemplates
        | Resource::AnalysisRuns => vec![called, age],
    }
}

/// The same field of every container of a template.
fn containers(it: &Value, field: &str) -> Value {
    let containers = list(it, &["spec", "template", "spec", "containers"]);
    json!(joined(containers.iter().filter_map(|container| text(container, &[field]))))
}

fn job(it: &Value, now: Timestamp) -> Vec<Value> {
    let conditions = list(it, &["status", "conditions"]);
    let has = |kind: &&str| {
        let is = |it: &Value| text(it, &["type"]) == Some(kind) && text(it, &["status"]) == Some("True");
        conditions.iter().any(is)
    };
    let status =
        ["Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(has);
    let count = |path: &[&str]| number(it, path);
    let wanted = count(&["spec", "completions"]).unwrap_or(1);
    let done = format!("{}/{wanted}", count(&["status", "succeeded"]).unwrap_or_default());
    let moment = |field: &str| text(it, &["status", field]).and_then(crate::object::parse_moment);
    let lasted = moment("startTime").map(|start| {
        super::duration(moment("completionTime").unwrap_or(now).as_second() - start.as_second())
    });
    vec![
        json!(name(it)),
        json!(status.unwrap_or("Running")),
        json!(done),
        json!(lasted.unwrap_or_default()),
        age(it, now),
        containers(it, "name"),
        containers(it, "image"),
        json!(labels(at(it, &["spec", "selector", "matchLabels"]))),
    ]
}

fn node(it: &Value, now: Timestamp) -> Vec<Value> {
    let conditions = list(it, &["status", "conditions"]);
    let ready = conditions.iter().find(|it| text(it, &["type"]) == Some("Ready"));
    let mut status = match ready.and_then(|it| text(it, &["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if at(it, &["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    let info = |field: &str| {
        let found = text(it, &["status", "nodeInfo", field]).filter(|text| !text.is_empty());
        found.unwrap_or("<unknown>").to_owned()
    };
    let addresses = list(it, &["status", "addresses"]);
    let address = |kind: &str| {
        let found = addresses.iter().find(|it| text(it, &["type"]) == Some(kind));
        json!(found.and_then(|it| text(it, &["address"])).unwrap_or("<none>"))
    };
    let kernel = match text(it, &["status", "nodeInfo", "architecture"]).unwrap_or_default() {
        "" => info("kernelVersion"),
        architecture => format!("{} ({architecture})", info("kernelVersion")),
    };
    vec![
        json!(name(it)),
        json!(status),
        json!("<none>"),
        age(it, now),
        json!(text(it, &["status", "nodeInfo", "kubeletVersion"]).unwrap_or_default()),
        address("InternalIP"),
        address("ExternalIP"),
        json!(info("osImage")),
        json!(kernel),
        json!(info("containerRuntimeVersion")),
    ]
}

fn claim(it: &Value, now: Timestamp) -> Vec<Value> {
    let mut phase = text(it, &["status", "phase"]).unwrap_or_default().to_owned();
    if crate::object::is_going(it) {
        "Terminating".clone_into(&mut phase);
    }
    let volume = text(it, &["spec", "volumeName"]).unwrap_or_default();
    let bound = |text: String| if volume.is_empty() { json!("") } else { json!(text) };
    let modes =
        list(it, &["status", "accessModes"]).iter().filter_map(Value::as_str).map(|mode| match mode {
            "ReadWriteOnce" => "RWO",
            "ReadOnlyMany" => "ROX",
            "ReadWriteMany" => "RWX",
            "ReadWriteOncePod" => "RWOP",
            other => other,
        });
    let capacity = text(it, &["status", "capacity", "storage"]).unwrap_or_default();
    vec![
        json!(name(it)),
        json!(phase),
        json!(volume),
        bound(capacity.to_owned()),
        bound(joined(modes)),
        json!(text(it, &["spec", "storageClassName"]).unwrap_or_default()),
        json!(text(it, &["spec", "volumeAttributesClassName"]).unwrap_or("<unset>")),
        age(it, now),
        json!(text(it, &["spec", "volumeMode"]).unwrap_or("<unset>")),
    ]
}

fn event(it: &Value, now: Timestamp) -> Vec<Value> {
    let said = |path: &[&str]| text(it, path).filter(|text| !text.is_empty());
    let or_event_time = |moment: Option<&str>| since(moment.or_else(|| said(&["eventTime"])), now);
    let mut last = or_event_time(said(&["lastTimestamp"]));
    if let Some(observed) = said(&["series", "lastObservedTime"]) {
        last = since(Some(observed), now);
    }
    let kind = said(&["involvedObject", "kind"]).unwrap_or_default().to_lowercase();
    let object = match said(&["involvedObject", "name"]) {
        Some(name) => format!("{kind}/{name}"),
        None => kind,
    };
    let component = said(&["source", "component"]).or_else(|| said(&["reportingComponent"]));
    let source = [component, said(&["source", "host"])].into_iter().flatten();
    let count = number(it, &["series", "count"]).or_else(|| number(it, &["count"])).filter(|&it| it > 0);
    vec![
        json!(last),
        json!(said(&["type"]).unwrap_or_default()),
        json!(said(&["reason"]).unwrap_or_default()),
        json!(object),
        json!(said(&["involvedObject", "fieldPath"]).unwrap_or_default()),
        json!(source.collect::<Vec<_>>().join(", ")),
        json!(said(&["message"]).unwrap_or_default().trim()),
        json!(or_event_time(said(&["firstTimestamp"]))),
        json!(count.unwrap_or(1)),
        json!(name(it)),
    ]
}

fn controlled_by(it: &Value) -> String {
    let owners = list(it, &["metadata", "ownerReferences"]);
    let controller = owners.iter().find(|it| it.get("controller") == Some(&Value::Bool(true)));
    let Some(owner) = controller else { return "<none>".to_owned() };
    let said = |field: &str| text(owner, &[field]).unwrap_or_default();
    let group = said("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let kind = said("kind").to_lowercase();
    if group.is_empty() {
        format!("{kind}/{}", said("name"))
    } else {
        format!("{kind}.{group}/{}", said("name"))
    }
}

fn ports(service: &Value) -> String {
    let shown = list(service, &["spec", "ports"]).iter().map(|port| {
        let protocol = text(port, &["protocol"]).unwrap_or("TCP");
        format!("{}/{protocol}", number(port, &["port"]).unwrap_or_default())
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "<none>".to_owned() } else { shown.join(",") }
}

fn labels(map: Option<&Value>) -> String {
    let pairs = map.and_then(Value::as_object).into_iter().flatten();
    let shown: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if shown.is_empty() { "<none>".to_owned() } else { shown.join(",") }
}

fn size(it: &Value, field: &str) -> usize {
    it.get(field).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<Vec<_>>().join(",")
}
