//! What the server says about itself: its version, its groups and its resources.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resource::Resource;
use crate::schema;

const JSON: &str = "application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The document at a path, and its type; none if the path is about objects.
pub(super) fn document(path: &str, accept: &str) -> Option<(&'static str, String)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let aggregated = accept.contains(AGGREGATED);
    let json = |value: Value| Some((JSON, value.to_string()));
    match parts.as_slice() {
        ["healthz" | "livez" | "readyz"] => Some(("text/plain; charset=utf-8", "ok".to_owned())),
        ["version"] => json(version()),
        ["api"] if aggregated => Some((AGGREGATED, aggregate(str::is_empty).to_string())),
        ["apis"] if aggregated => Some((AGGREGATED, aggregate(|group| !group.is_empty()).to_string())),
        ["api"] => json(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["apis"] => {
            let named = groups().into_iter().filter(|(group, _)| !group.is_empty());
            let groups: Vec<Value> = named.map(|(group, version)| describe(group, version)).collect();
            json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["api", "v1"] => json(resources("", "v1")),
        ["apis", group] => {
            let mut description = describe(group, groups().get(group)?);
            description["kind"] = json!("APIGroup");
            description["apiVersion"] = json!("v1");
            json(description)
        }
        ["apis", group, version] if groups().get(group) == Some(version) => json(resources(group, version)),
        ["openapi", "v3", rest @ ..] => super::openapi::document(rest).and_then(json),
        _ => None,
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": "v1.36.4", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
        "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
    })
}

fn groups() -> BTreeMap<&'static str, &'static str> {
    let reviews = [("authentication.k8s.io", "v1"), ("authorization.k8s.io", "v1")];
    Resource::ALL.iter().map(|it| (it.group(), it.version())).chain(reviews).collect()
}

fn describe(group: &str, version: &str) -> Value {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// The same for custom resources, in the order of their handler.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// A subresource: its name, group, version, kind and verbs.
type Subresource = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

fn verbs(resource: Resource) -> [&'static str; 8] {
    if schema::of(resource).is_some() { CUSTOM_VERBS } else { VERBS }
}

fn subresources(resource: Resource) -> Vec<Subresource> {
    let mut all: Vec<Subresource> = Vec::new();
    if resource == Resource::Pods {
        all.push(("eviction", "policy", "v1", "Eviction", &["create"]));
    }
    if resource.has_scale() {
        all.push(("scale", "autoscaling", "v1", "Scale", &PART_VERBS));
    }
    if resource.has_status() {
        all.push(("status", resource.group(), resource.version(), resource.kind(), &PART_VERBS));
    }
    all
}

fn resources(group: &str, version: &str) -> Value {
    let mut all = Vec::new();
    for resource in Resource::ALL.iter().filter(|it| it.group() == group && it.version() == version) {
        let mut row = json!({
            "name": resource.plural(), "singularName": resource.singular(), "namespaced": resource.is_namespaced(),
            "kind": resource.kind(), "verbs": verbs(*resource),
        });
        if !resource.short_names().is_empty() {
            row["shortNames"] = json!(resource.short_names());
        }
        if !resource.categories().is_empty() {
            row["categories"] = json!(resource.categories());
        }
        all.push(row);
        for (name, other, version, kind, verbs) in subresources(*resource) {
            let mut row = json!({
                "name": format!("{}/{name}", resource.plural()), "singularName": "",
                "namespaced": resource.is_namespaced(), "kind": kind, "verbs": verbs,
            });
            if other != group {
                row["group"] = json!(other);
                row["version"] = json!(version);
            }
            all.push(row);
        }
    }
    for (review, kind) in reviews(group) {
        all.push(json!({
            "name": review, "singularName": "", "namespaced": false, "kind": kind, "verbs": ["create"],
        }));
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": all})
}

fn reviews(group: &str) -> &'static [(&'static str, &'static str)] {
    match group {
        "authentication.k8s.io" => &[("selfsubjectreviews", "SelfSubjectReview")],
        "authorization.k8s.io" => &[
            ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
            ("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
        ],
        _ => &[],
    }
}

/// Everything at once, as clients prefer to ask for it.
fn aggregate(wanted: impl Fn(&str) -> bool) -> Value {
    let items: Vec<Value> = groups()
        .into_iter()
        .filter(|(group, _)| wanted(group))
        .map(|(group, version)| {
            json!({
                "metadata": {"name": group},
                "versions": [{"version": version, "freshness": "Current", "resources": aggregated_resources(group, version)}],
            })
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_resources(group: &str, version: &str) -> Vec<Value> {
    let scope = |namespaced: bool| if namespaced { "Namespaced" } else { "Cluster" };
    let of_group = Resource::ALL.iter().filter(|it| it.group() == group && it.version() == version);
    let mut all: Vec<Value> = of_group
        .map(|resource| {
            let parts: Vec<Value> = subresources(*resource)
                .into_iter()
                .map(|(name, group, version, kind, verbs)| {
                    json!({
                        "subresource": name, "verbs": verbs,
                        "responseKind": {"group": group, "version": version, "kind": kind},
                    })
                })
                .collect();
            json!({
                "resource": resource.plural(), "singularResource": resource.singular(),
                "responseKind": {"group": group, "version": version, "kind": resource.kind()},
                "scope": scope(resource.is_namespaced()), "verbs": verbs(*resource),
                "shortNames": resource.short_names(), "categories": resource.categories(),
                "subresources": parts,
            })
        })
        .collect();
    all.extend(reviews(group).iter().map(|(review, kind)| {
        json!({
            "resource": review, "singularResource": "", "scope": "Cluster", "verbs": ["create"],
            "responseKind": {"group": group, "version": version, "kind": kind},
        })
    }));
    all
}
