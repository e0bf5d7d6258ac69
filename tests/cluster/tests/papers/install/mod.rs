//! The installation: what is committed, printed and rendered is the same, a real server takes it, and it gives the
//! controller no right that it does not use.

mod chart;
mod rights;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use windlass_bed::{User, bed};
use windlass_workloads::Holder;

/// Who the controller is.
const ACCOUNT: &str = "system:serviceaccount:windlass:windlass";
/// Kinds that live outside of any namespace.
const CLUSTER_SCOPED: [&str; 8] = [
    "Namespace",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// Objects by kind and name, such as `Role windlass`.
type Objects = BTreeMap<String, Value>;

fn objects(yaml: &str) -> Objects {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    let count = documents.len();
    let named: Objects = documents.into_iter().map(|object| (name(&object), object)).collect();
    assert_eq!(named.len(), count, "an object is there twice");
    named
}

fn name(object: &Value) -> String {
    format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

fn kinds(objects: &Objects) -> BTreeSet<&str> {
    objects.values().map(|object| object["kind"].as_str().unwrap()).collect()
}

/// Labels and annotations say who installed an object, not what it does.
fn without_labels(objects: Objects) -> Objects {
    let strip = |(name, mut object): (String, Value)| {
        let metadata = &object["metadata"];
        object["metadata"] = json!({"name": metadata["name"], "namespace": metadata["namespace"]});
        (name, object)
    };
    objects.into_iter().map(strip).collect()
}

/// Object by object, so that a failure names the one that differs.
fn assert_same(found: &Objects, expected: &Objects) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, object) in expected {
        assert_eq!(found[name], *object, "{name}");
    }
}

fn read(file: &str) -> String {
    std::fs::read_to_string(bed().root().join(file)).unwrap()
}

fn installed() -> Objects {
    objects(&read("manifests/install.yaml"))
}

/// Installs everything, as this kind of server takes it.
fn install() {
    let base = match bed().hold {
        Holder::Policy => "cluster",
        Holder::Partition => "without-mutating-policy",
    };
    let folder = bed().root().join("manifests").join(base);
    bed().kubectl_ok(User::Admin, &["apply", "-k", folder.to_str().unwrap()], "");
}

fn succeeded(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

fn windlass(arguments: &[&str]) -> String {
    succeeded(&Command::new(bed().windlass_program()).args(arguments).output().unwrap())
}

fn kustomized(folder: &str) -> Objects {
    let folder = bed().root().join("manifests").join(folder);
    objects(&bed().kubectl_ok(User::Admin, &["kustomize", folder.to_str().unwrap()], ""))
}

/// What a real server says to these objects, without keeping them.
fn dry_run(yaml: &str) -> String {
    let apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    bed().kubectl_ok(User::Admin, &apply, yaml)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (here, there) = (entry.path(), to.join(entry.file_name()));
        if here.is_dir() {
            copy(&here, &there);
        } else {
            std::fs::copy(here, there).unwrap();
        }
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read_to_string(path).unwrap());
        }
    }
    found
}

#[test]
fn every_generated_file_is_what_would_be_generated_now() {
    let copied = std::env::temp_dir().join(format!("windlass-generated-{}", std::process::id()));
    for folder in ["manifests", "charts", "docs"] {
        copy(&bed().root().join(folder), &copied.join(folder));
    }
    let kubectl = bed().bin().map_or("kubectl".into(), |programs| programs.join("kubectl"));
    let generate = Command::new(bed().root().join("manifests/generate"))
        .arg(&copied)
        .env("WINDLASS", bed().windlass_program())
        .env("KUBECTL", kubectl)
        .output()
        .unwrap();
    succeeded(&generate);
    let generated = files(&copied);
    for (path, text) in &generated {
        let file = path.strip_prefix(&copied).unwrap();
        let committed = std::fs::read_to_string(bed().root().join(file)).unwrap_or_default();
        assert!(committed == *text, "{} is out of date: run `make manifests`", file.display());
    }
    std::fs::remove_dir_all(&copied).unwrap();
    assert!(generated.len() > 30, "{} files", generated.len());
}

#[test]
fn windlass_prints_what_is_in_install_yaml() {
    assert_same(&objects(&windlass(&["manifests"])), &installed());
}

#[test]
fn each_part_of_the_installation_can_be_had_by_itself() {
    let rows: [(&str, &[&str]); 6] = [
        ("definitions", &["CustomResourceDefinition"]),
        ("analysis", &["CustomResourceDefinition"]),
        (
            "policies",
            &[
                "MutatingAdmissionPolicy",
                "MutatingAdmissionPolicyBinding",
                "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding",
            ],
        ),
        (
            "rights",
            &["ClusterRole", "ClusterRoleBinding", "Namespace", "Role", "RoleBinding", "ServiceAccount"],
        ),
        ("secrets", &["ClusterRole", "ClusterRoleBinding"]),
        ("controller", &["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"]),
    ];
    let mut together = Objects::new();
    for (part, expected) in rows {
        let printed = objects(&windlass(&["manifests", "--parts", part]));
        assert_eq!(kinds(&printed), expected.iter().copied().collect(), "{part}");
        together.extend(printed);
    }
    assert_same(&together, &installed());
}

/// The kinds that Argo Rollouts has too.
const OF_ANALYSIS: [&str; 3] = [
    "CustomResourceDefinition analysisruns.argoproj.io",
    "CustomResourceDefinition analysistemplates.argoproj.io",
    "CustomResourceDefinition clusteranalysistemplates.argoproj.io",
];

#[test]
fn beside_argo_rollouts_everything_but_the_definitions_of_analysis_is_installed() {
    let mut expected = installed();
    expected.retain(|name, _| !OF_ANALYSIS.contains(&name.as_str()));
    assert_eq!(expected.len() + OF_ANALYSIS.len(), installed().len());
    assert_same(&objects(&windlass(&["manifests", "--without=analysis"])), &expected);
    assert_same(&kustomized("beside-argo-rollouts"), &expected);
}

#[test]
fn the_definitions_of_rollouts_and_of_analysis_can_be_had_apart() {
    let of_analysis = objects(&windlass(&["crds", "--only=analysis"]));
    assert_eq!(of_analysis.keys().collect::<Vec<_>>(), OF_ANALYSIS.iter().collect::<Vec<_>>());
    let mut all = objects(&windlass(&["crds", "--only=rollouts"]));
    assert_eq!(all.keys().collect::<Vec<_>>(), ["CustomResourceDefinition rolloutplugins.argoproj.io"]);
    all.extend(of_analysis);
    assert_same(&objects(&windlass(&["crds"])), &all);
}

#[test]
fn without_the_right_to_secrets_nothing_about_it_is_installed() {
    let left = objects(&windlass(&["manifests", "--without=secrets"]));
    assert_eq!(left.len() + 2, installed().len());
    assert!(left.keys().all(|name| !name.contains("secret")), "{:?}", left.keys());
    let both = objects(&windlass(&["manifests", "--parts=rights,secrets", "--without=secrets"]));
    assert_same(&both, &objects(&windlass(&["manifests", "--parts=rights"])));
}

#[test]
fn the_policies_let_through_every_user_that_is_named() {
    let two = ["--identity", "system:serviceaccount:data:windlass", "--identity", "o'brien"];
    let hold = match bed().hold {
        Holder::Policy => "--hold=policy",
        Holder::Partition => "--hold=partition",
    };
    let printed = windlass(&[&["manifests", "--parts=policies", hold], two.as_slice()].concat());
    assert!(!printed.contains(ACCOUNT), "the default is gone when others are named");
    assert!(printed.contains("['system:serviceaccount:data:windlass', 'o"), "{printed}");
    dry_run(&printed);
}

#[test]
fn without_mutating_policies_nothing_of_that_kind_is_installed() {
    let without = kustomized("without-mutating-policy");
    assert!(!kinds(&without).iter().any(|kind| kind.starts_with("Mutating")), "{:?}", kinds(&without));
    assert_same(&objects(&windlass(&["manifests", "--hold", "partition"])), &without);
}

#[test]
fn the_installation_for_one_namespace_has_nothing_outside_of_it() {
    let namespaced = kustomized("namespaced");
    assert!(kinds(&namespaced).is_disjoint(&CLUSTER_SCOPED.into()), "{:?}", kinds(&namespaced));
    for (name, object) in &namespaced {
        assert_eq!(object["metadata"]["namespace"], "default", "{name}");
    }
    assert_eq!(namespaced["RoleBinding windlass"]["subjects"][0]["namespace"], "default");
    let container = &namespaced["Deployment windlass"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        container["args"],
        json!(["controller", "--log-format", "json", "--namespace", "$(POD_NAMESPACE)"])
    );
    let documents: Vec<String> = namespaced.values().map(Value::to_string).collect();
    dry_run(&documents.join("\n---\n"));
}

#[test]
fn the_controllers_pods_are_admitted_where_pod_security_is_restricted() {
    install();
    let bare = ["run", "bare", "--image=app:v1", "--namespace=windlass", "--dry-run=server"];
    let refused = bed().kubectl(User::Admin, &bare, "");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains(r#"violates PodSecurity "restricted:latest""#), "{said}");
    let status = ["rollout", "status", "deployment/windlass", "--namespace=windlass", "--timeout=60s"];
    bed().kubectl_ok(User::Admin, &status, "");
    let selector = "--selector=app.kubernetes.io/component=controller";
    let nodes = ["get", "pods", "--namespace=windlass", selector, "-o", "jsonpath={.items[*].spec.nodeName}"];
    let nodes = bed().kubectl_ok(User::Admin, &nodes, "");
    let nodes: BTreeSet<&str> = nodes.split_whitespace().collect();
    assert_eq!(nodes.len(), 2, "two replicas on two nodes: {nodes:?}");
}

#[test]
fn image_and_chart_carry_the_version_of_the_binary() {
    let version = windlass(&["--version"]);
    let version = version.split_whitespace().last().unwrap();
    let container = &installed()["Deployment windlass"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], format!("windlass:{version}"));
    let chart: Value = serde_saphyr::from_str(&read("charts/windlass/Chart.yaml")).unwrap();
    assert_eq!((chart["version"].as_str(), chart["appVersion"].as_str()), (Some(version), Some(version)));
}

#[test]
fn the_binary_knows_every_flag_that_the_deployment_gives_it() {
    let known = windlass(&["controller", "--help"]);
    for manifests in [installed(), kustomized("namespaced")] {
        let container = &manifests["Deployment windlass"]["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().unwrap().iter().filter_map(Value::as_str);
        for flag in arguments.filter(|argument| argument.starts_with("--")) {
            assert!(known.contains(&format!("{flag} <")), "{flag}");
        }
    }
}
