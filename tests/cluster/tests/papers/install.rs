//! The installation: what is committed, printed and rendered is the same, a real server takes it, and it gives the
//! controller no right that it does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use windlass_bed::{Bed, User, bed, test, until};
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

fn helm(arguments: &[&str]) -> Output {
    static HELM: OnceLock<PathBuf> = OnceLock::new();
    let program = HELM.get_or_init(|| {
        let build = Command::new(bed().root().join("testbed/helm/build")).output().unwrap();
        PathBuf::from(succeeded(&build).trim())
    });
    Command::new(program).args(arguments).current_dir(bed().root()).output().unwrap()
}

/// The chart as the release `windlass` in the namespace `windlass`.
fn rendered(values: &[&str]) -> String {
    let fixed = ["template", "windlass", "charts/windlass", "--namespace", "windlass"];
    succeeded(&helm(&[&fixed, values].concat()))
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
    let rows: [(&str, &[&str]); 4] = [
        ("definitions", &["CustomResourceDefinition"]),
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
fn the_rights_in_one_namespace_are_those_of_the_cluster_without_what_belongs_to_the_cluster() {
    let rules = |object: &Value| -> Vec<Value> { object["rules"].as_array().unwrap().clone() };
    let (everywhere, here) = (installed(), kustomized("namespaced"));
    let mut expected = rules(&everywhere["ClusterRole windlass"]);
    expected.retain(|rule| {
        rule["apiGroups"] != json!(["admissionregistration.k8s.io"])
            && rule["resources"] != json!(["clusteranalysistemplates"])
    });
    expected.extend(rules(&everywhere["Role windlass-lease"]));
    assert_eq!(rules(&here["Role windlass"]), expected);
    assert_eq!(rules(&here["Role windlass-secrets"]), rules(&everywhere["ClusterRole windlass-secrets"]));
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[tokio::test]
async fn a_controller_with_the_rights_of_one_namespace_leads_and_serves_there() {
    test("one-namespace", async |world| {
        world.kill_controller();
        let documents: Vec<String> = kustomized("namespaced").values().map(Value::to_string).collect();
        world.apply(&documents.join("\n---\n").replace(r#""default""#, &format!("{:?}", world.namespace)));
        let file = std::env::temp_dir().join(format!("{}.kubeconfig", world.namespace));
        std::fs::copy(bed().kubeconfig(User::Admin), &file).unwrap();
        let token = world.kubectl(&["create", "token", "windlass"]);
        let mine = format!("--kubeconfig={}", file.display());
        let user = format!("--token={}", token.trim());
        world.kubectl(&[&mine, "config", "set-credentials", "windlass", &user]);
        world.kubectl(&[&mine, "config", "set-context", "--current", "--user=windlass"]);
        let me = [&mine, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
        assert_eq!(world.kubectl(&me), format!("system:serviceaccount:{}:windlass", world.namespace));
        let flags = ["controller", "--listen=none", "--namespace", &world.namespace, &mine];
        let command = Command::new(bed().windlass_program()).args(flags).stderr(Stdio::null()).spawn();
        let _controller = Running(command.unwrap());
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        let holder = ["get", "lease", "windlass", "-o", "jsonpath={.spec.holderIdentity}"];
        assert!(!world.kubectl(&holder).is_empty());
        std::fs::remove_file(file).unwrap();
    })
    .await;
}

#[test]
fn no_rule_has_a_wildcard_and_only_one_role_names_secrets_to_read_them_by_name() {
    let sets = [installed(), kustomized("namespaced"), kustomized("without-mutating-policy")];
    for set in &sets {
        let mut naming = Vec::new();
        for object in set.values().filter(|object| object["rules"].is_array()) {
            let rules = object["rules"].to_string();
            assert!(!rules.contains('*'), "{}: {rules}", name(object));
            if rules.contains("secret") {
                naming.push((object["metadata"]["name"].clone(), object["rules"].clone()));
            }
        }
        let only = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
        assert_eq!(naming, [(json!("windlass-secrets"), only)]);
    }
}

/// Who a chart with these values lets read Secrets: each binding, with its namespace and its role.
fn secret_readers(values: &str) -> Vec<String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&rendered(&["--set", values])).unwrap();
    let bindings = documents.iter().filter(|it| it["roleRef"]["name"] == "windlass-secrets");
    let mut readers: Vec<String> = bindings
        .map(|it| {
            let namespace = it["metadata"]["namespace"].as_str().unwrap_or("everywhere");
            format!(
                "{} {namespace} {}",
                it["kind"].as_str().unwrap(),
                it["roleRef"]["kind"].as_str().unwrap()
            )
        })
        .collect();
    readers.sort();
    readers
}

#[test]
fn the_chart_lets_secrets_be_read_everywhere_in_some_namespaces_or_nowhere() {
    assert_eq!(secret_readers("rbac.secrets.read=all"), ["ClusterRoleBinding everywhere ClusterRole"]);
    assert_eq!(
        secret_readers("rbac.secrets.read=listed,rbac.secrets.namespaces={shop,data}"),
        ["RoleBinding data ClusterRole", "RoleBinding shop ClusterRole"]
    );
    assert_eq!(secret_readers("rbac.secrets.read=none"), [] as [&str; 0]);
    assert!(!rendered(&["--set", "rbac.secrets.read=none"]).contains("secrets]"), "no role either");
    assert_eq!(secret_readers("rbac.scope=namespaced"), ["RoleBinding windlass Role"]);
    assert_eq!(secret_readers("rbac.scope=namespaced,rbac.secrets.read=none"), [] as [&str; 0]);
    let elsewhere = "rbac.scope=namespaced,rbac.secrets.read=listed,rbac.secrets.namespaces={shop}";
    let output = helm(&["template", "windlass", "charts/windlass", "--set", elsewhere]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("needs rbac.scope=cluster"), "{said}");
}

#[tokio::test]
async fn the_right_to_secrets_can_be_narrowed_to_a_namespace_and_taken_away() {
    let empty = tokio::task::spawn_blocking(Bed::empty).await.unwrap();
    let admin = |arguments: &[&str]| empty.kubectl_ok(User::Admin, arguments, "");
    let allowed = |namespace: &str| {
        let question = ["auth", "can-i", "get", "secrets/any", "--namespace", namespace, "--as", ACCOUNT];
        String::from_utf8_lossy(&empty.kubectl(User::Admin, &question, "").stdout).trim() == "yes"
    };
    let rights = windlass(&["manifests", "--parts=rights"]);
    empty.kubectl_ok(User::Admin, &["apply", "-f", "-"], &rights);
    until("the rights are in force", async || allowed("default").then_some(())).await;
    admin(&["delete", "clusterrolebinding", "windlass-secrets"]);
    until("the right is gone", async || (!allowed("default")).then_some(())).await;
    let bind = ["create", "rolebinding", "windlass-secrets", "--clusterrole=windlass-secrets"];
    admin(&[&bind[..], &["--serviceaccount=windlass:windlass", "--namespace=default"]].concat());
    until("it is back, there", async || allowed("default").then_some(())).await;
    assert!(!allowed("windlass"), "and nowhere else");
}

#[test]
fn the_controllers_account_may_do_what_it_needs_and_not_more() {
    install();
    let rows = [
        ("list", "rolloutplugins.argoproj.io", "--all-namespaces", true),
        ("patch", "statefulsets.apps", "--namespace=default", true),
        ("delete", "pods", "--namespace=default", true),
        ("watch", "validatingadmissionpolicies.admissionregistration.k8s.io", "--all-namespaces", true),
        ("create", "leases.coordination.k8s.io", "--namespace=windlass", true),
        ("update", "leases.coordination.k8s.io/windlass", "--namespace=windlass", true),
        ("update", "leases.coordination.k8s.io/other", "--namespace=windlass", false),
        ("create", "leases.coordination.k8s.io", "--namespace=default", false),
        ("list", "analysistemplates.argoproj.io", "--all-namespaces", true),
        ("watch", "clusteranalysistemplates.argoproj.io", "--all-namespaces", true),
        ("patch", "clusteranalysistemplates.argoproj.io", "--all-namespaces", false),
        ("create", "analysistemplates.argoproj.io", "--namespace=default", false),
        ("create", "analysisruns.argoproj.io", "--namespace=default", true),
        ("create", "jobs.batch", "--namespace=default", true),
        ("update", "jobs.batch", "--namespace=default", false),
        ("get", "secrets", "--namespace=default", true),
        ("watch", "secrets", "--namespace=default", false),
        ("list", "secrets", "--all-namespaces", false),
        ("list", "configmaps", "--all-namespaces", false),
        ("create", "pods", "--namespace=default", false),
        ("patch", "pods", "--namespace=default", false),
        ("create", "pods/exec", "--namespace=default", false),
        ("delete", "statefulsets.apps", "--namespace=default", false),
        ("update", "statefulsets.apps", "--namespace=default", false),
        ("delete", "rolloutplugins.argoproj.io", "--namespace=default", false),
        ("delete", "persistentvolumeclaims", "--namespace=default", false),
        ("patch", "validatingadmissionpolicies.admissionregistration.k8s.io", "--all-namespaces", false),
        ("create", "serviceaccounts/token", "--namespace=windlass", false),
        ("impersonate", "users", "--all-namespaces", false),
    ];
    for (verb, resource, place, expected) in rows {
        let question = ["auth", "can-i", verb, resource, place, "--as", ACCOUNT];
        let answer = bed().kubectl(User::Admin, &question, "");
        let answer = String::from_utf8_lossy(&answer.stdout).trim() == "yes";
        assert_eq!(answer, expected, "{verb} {resource} {place}");
    }
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
fn the_chart_installs_what_install_yaml_installs() {
    succeeded(&helm(&["lint", "--strict", "charts/windlass"]));
    let mut expected = without_labels(installed());
    // Helm makes the namespace itself.
    expected.remove("Namespace windlass");
    assert_same(&without_labels(objects(&rendered(&[]))), &expected);
}

#[test]
fn a_real_server_takes_what_the_chart_renders() {
    let variants: [&[&str]; 7] = [
        &[],
        &["--set", "rbac.secrets.read=listed,rbac.secrets.namespaces={default,kube-system}"],
        &["--set", "rbac.secrets.read=none"],
        &["--set", "policies.kind=partition"],
        &["--set", "policies.identities={system:serviceaccount:data:windlass,jane@example.com}"],
        &["--set", "rbac.scope=namespaced,crds.install=false,policies.enabled=false"],
        &[
            "--set",
            "image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000,logLevel=debug,extraArgs={--workers=2},podDisruptionBudget.maxUnavailable=50%",
        ],
    ];
    let kind = match bed().hold {
        Holder::Policy => "policies.kind=mutating",
        Holder::Partition => "policies.kind=partition",
    };
    for values in variants {
        let answer = dry_run(&rendered(&[&["--set", kind], values].concat()));
        assert!(answer.contains("deployment.apps/windlass serverside-applied (server dry run)"), "{answer}");
    }
}

#[test]
fn the_chart_for_one_namespace_is_the_base_for_one_namespace() {
    let values = ["--set", "rbac.scope=namespaced,crds.install=false,policies.enabled=false"];
    let expected = kustomized("namespaced").values().map(Value::to_string).collect::<Vec<_>>();
    let expected = expected.join("\n---\n").replace(r#""default""#, r#""windlass""#);
    assert_same(&without_labels(objects(&rendered(&values))), &without_labels(objects(&expected)));
}

#[test]
fn the_chart_lets_its_own_account_and_the_named_users_through() {
    let values = ["--set", "serviceAccount.name=mover,policies.identities={jane}"];
    let policies = objects(&rendered(&values));
    let condition = &policies["MutatingAdmissionPolicy windlass-hold"]["spec"]["matchConditions"][0];
    assert_eq!(
        condition["expression"],
        "!(request.userInfo.username in ['system:serviceaccount:windlass:mover', 'jane'])"
    );
}

#[test]
fn an_instance_of_the_chart_has_a_lease_of_its_own() {
    let objects = objects(&rendered(&["--set", "instance=Blue_1"]));
    let arguments = &objects["Deployment windlass"]["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(*arguments, json!(["controller", "--log-format", "json", "--instance", "Blue_1"]));
    assert_eq!(objects["Role windlass-lease"]["rules"][1]["resourceNames"], json!(["windlass-blue-1"]));
}

#[test]
fn definitions_outlive_the_release() {
    let objects = objects(&rendered(&[]));
    let definitions: Vec<&Value> =
        objects.values().filter(|object| object["kind"] == "CustomResourceDefinition").collect();
    assert_eq!(definitions.len(), 4);
    for definition in definitions {
        assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
}

#[test]
fn wrong_values_are_refused_by_the_charts_schema() {
    let wrong = [
        "replicaCount=many",
        "rbac.scope=everything",
        "policies.kind=webhook",
        "policies.identities={o'brien}",
        "image.digest=latest",
        "serviceAccount.create=false",
        "networkPolicy.apiServerPorts={0}",
        "rbac.secrets.read=some",
        "rbac.secrets.read=listed",
        "rbac.secrets.namespaces={shop}",
        "rbac.secrets.read=listed,rbac.secrets.namespaces={Shop}",
        "logFormat=xml",
        "instance=-blue",
        "replicas=3",
    ];
    for value in wrong {
        let output = helm(&["template", "windlass", "charts/windlass", "--set", value]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("schema"), "{value}: {said}");
    }
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
