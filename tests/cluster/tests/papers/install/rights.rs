//! What the installation lets the controller do: what it needs, and not more.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use windlass_bed::{Bed, User, bed, test, until};

use super::{ACCOUNT, install, installed, kustomized, name, windlass};

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
        the_doctor_finds_it_and_asks_for_no_more(&world.namespace);
    })
    .await;
}

/// The doctor is told the namespace and nothing else.
fn the_doctor_finds_it_and_asks_for_no_more(namespace: &str) {
    let doctor = Command::new(bed().windlass_program())
        .args(["doctor", "--namespace", namespace, "--output=json", "--kubeconfig"])
        .arg(bed().kubeconfig(User::Admin))
        .output()
        .unwrap();
    let lines: Vec<Value> = serde_json::from_slice(&doctor.stdout).unwrap();
    let about =
        |check: &str| -> Vec<Value> { lines.iter().filter(|line| line["check"] == check).cloned().collect() };
    let (rights, lease) = (about("rights"), about("lease"));
    assert_eq!((rights.len(), &rights[0]["code"]), (1, &json!("MayAll")), "{rights:?}");
    let said = rights[0]["message"].as_str().unwrap();
    assert!(said.contains("the only one that it serves"), "{said}");
    assert_eq!(lease[0]["code"], "Led", "{lease:?}");
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

#[tokio::test]
async fn the_right_to_secrets_can_be_narrowed_to_a_namespace_and_taken_away() {
    let empty = tokio::task::spawn_blocking(Bed::empty).await.unwrap();
    let admin = |arguments: &[&str]| empty.kubectl_ok(User::Admin, arguments, "");
    let allowed = |namespace: &str| {
        let question = ["auth", "can-i", "get", "secrets/any", "--namespace", namespace, "--as", ACCOUNT];
        String::from_utf8_lossy(&empty.kubectl(User::Admin, &question, "").stdout).trim() == "yes"
    };
    let apply = |arguments: &[&str]| {
        let manifests = windlass(&[&["manifests", empty.hold_flag()], arguments].concat());
        empty.kubectl_ok(User::Admin, &["apply", "-f", "-"], &manifests);
    };
    apply(&["--without=controller"]);
    until("the rights are in force", async || allowed("default").then_some(())).await;
    admin(&["delete", "clusterrolebinding,clusterrole", "windlass-secrets"]);
    until("the right is gone", async || (!allowed("default")).then_some(())).await;
    let here = ["windlass-secrets", "--namespace=default"];
    admin(&[&["create", "role", "--verb=get", "--resource=secrets"], &here[..]].concat());
    let bind = ["create", "rolebinding", "--role=windlass-secrets", "--serviceaccount=windlass:windlass"];
    admin(&[&bind[..], &here[..]].concat());
    until("it is back, there", async || allowed("default").then_some(())).await;
    assert!(!allowed("windlass"), "and nowhere else");
    // The next version comes.
    apply(&["--without=secrets,controller"]);
    let account = ["get", "clusterrolebinding", "windlass-secrets", "--ignore-not-found"];
    assert_eq!(admin(&account), "", "it stays narrow");
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
