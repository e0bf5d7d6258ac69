//! The doctor on a real cluster: a good installation is called good, what does not belong together is named, and the
//! commands that it names mend it. The shared installation is never touched: broken policies are in the golden files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use windlass_bed::{Controller, User, World, bed, manifests, test, until};
use windlass_workloads::{DEFAULT_IDENTITY, HOLD, Holder};

const STEPS: [&str; 3] = ["setWeight: 50", "pause: {}", "setWeight: 100"];

/// What `manifests/rights/lease.yaml` grants for the Lease, for a controller that has its Lease in the namespace it serves.
const LEASE_RIGHTS: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: windlass}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [windlass], verbs: [list, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: windlass}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: windlass}
subjects: [{kind: ServiceAccount, name: windlass, namespace: windlass}]
";

/// Somebody who may see the rollouts and workloads of one namespace, and nothing else.
const ONLOOKER: &str = "apiVersion: v1
kind: ServiceAccount
metadata: {name: onlooker}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: onlooker}
rules:
- {apiGroups: [argoproj.io], resources: [rolloutplugins], verbs: [list]}
- {apiGroups: [apps], resources: [statefulsets], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: onlooker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: onlooker}
subjects: [{kind: ServiceAccount, name: onlooker}]
";

/// One finding of `-o json`.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    check: String,
    result: String,
    code: String,
    object: Option<String>,
    command: Option<String>,
}

fn doctor_as(world: &World, kubeconfig: &Path, arguments: &[&str]) -> Output {
    // The controllers of the tests have their Lease where they serve, and one account for all.
    let identity = ["--identity", DEFAULT_IDENTITY];
    let identity = if arguments.contains(&"--identity") { &[][..] } else { &identity[..] };
    Command::new(bed().windlass_program())
        .args(["doctor", "--namespace", &world.namespace, "--lease-namespace", &world.namespace])
        .args(identity)
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .output()
        .unwrap()
}

fn doctor(world: &World, arguments: &[&str]) -> Output {
    doctor_as(world, bed().kubeconfig(User::Admin), arguments)
}

/// The findings; the exit code must say the same.
fn findings(output: &Output) -> Vec<Found> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let list: Vec<Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| unreachable!("{errors}"));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found: Vec<Found> = list
        .iter()
        .map(|line| Found {
            check: text(&line["check"]).unwrap(),
            result: text(&line["result"]).unwrap(),
            code: text(&line["code"]).unwrap(),
            object: text(&line["object"]),
            command: text(&line["remedy"]["command"]),
        })
        .collect();
    let wrong = found.iter().any(|line| line.result == "wrong");
    assert_eq!(output.status.code(), Some(i32::from(wrong)), "{found:?}");
    found
}

/// The finding of this code about this object, if there is one.
fn find(world: &World, code: &str, name: &str) -> Option<Found> {
    let object = format!("{}/{name}", world.namespace);
    let found = findings(&doctor(world, &["-o", "json"]));
    found.into_iter().find(|line| line.code == code && line.object.as_deref() == Some(object.as_str()))
}

/// Runs the command of a remedy exactly as it is printed.
fn follow(command: &str) {
    let path = std::env::var("PATH").unwrap_or_default();
    let programs = bed().bin().map(|bin| format!("{}:", bin.display())).unwrap_or_default();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", command])
        .env("KUBECONFIG", bed().kubeconfig(User::Admin))
        .env("PATH", format!("{programs}{path}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Starts a controller that leads by a Lease in the namespace it serves.
fn start_leader(world: &mut World, flags: &[&str]) {
    world.kill_controller();
    world.apply(LEASE_RIGHTS);
    let namespace = world.namespace.clone();
    let flags = [&["--namespace", &namespace, "--listen", "none"], flags].concat();
    world.controller = Some(Controller::start_with(&flags, &namespace));
}

#[tokio::test]
async fn a_good_installation_is_called_good() {
    test("doctor-good", async |world| {
        start_leader(world, &[]);
        world.healthy("web", 2, &STEPS).await;
        let output = until("all is well", async || {
            Some(doctor(world, &[])).filter(|output| output.status.code() == Some(0))
        })
        .await;
        let text = String::from_utf8_lossy(&output.stdout);
        let marks = text.lines().filter(|line| line.starts_with('✔')).count();
        assert!(marks == 12 && text.ends_with("\nAll is well.\n"), "{text}");
        let found = findings(&doctor(world, &["-o", "json"]));
        assert!(found.iter().all(|line| line.result == "well"), "{found:?}");
        let mut checks: Vec<&str> = found.iter().map(|line| line.check.as_str()).collect();
        // One line for each definition.
        checks.dedup();
        assert_eq!(
            checks,
            ["definitions", "policies", "rights", "lease", "marks", "holds", "workloads", "claims", "guards"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_controller_that_never_led_or_crashed_is_noticed_by_its_lease() {
    test("doctor-lease", async |world| {
        let says = |world: &World| {
            let found = findings(&doctor(world, &["-o", "json"]));
            found.into_iter().find(|line| line.check == "lease").unwrap().code
        };
        assert_eq!(says(world), "NoLease");
        start_leader(world, &["--lease-duration", "5s"]);
        until("somebody leads", async || (says(world) == "Led").then_some(())).await;
        world.kill_controller();
        until("the lease ran out", async || (says(world) == "LeaseRanOut").then_some(())).await;
    })
    .await;
}

#[tokio::test]
async fn rights_that_the_controller_lacks_are_named() {
    test("doctor-rights", async |world| {
        let found = findings(&doctor(world, &["-o", "json"]));
        let lacking: Vec<&Found> = found.iter().filter(|line| line.check == "rights").collect();
        assert_eq!(lacking.len(), 2, "it may do nothing with a Lease in this namespace: {lacking:?}");
        let nobody = doctor(world, &["--identity", "nobody"]);
        let text = String::from_utf8_lossy(&nobody.stdout);
        assert_eq!(nobody.status.code(), Some(1));
        assert!(text.contains("nobody has none of the 46 rights"), "{text}");
        assert!(text.contains("the controller is nobody, whom these do not let through"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn marks_left_behind_are_found_and_the_command_takes_them_off() {
    test("doctor-marks", async |world| {
        world.healthy("web", 2, &STEPS).await;
        assert_eq!(find(world, "MarksLeft", "web"), None);
        world.kill_controller();
        world.kubectl(&["delete", "rp", "web"]);
        let found = find(world, "MarksLeft", "web").unwrap();
        // Where no mutating policy serves, the partition rests at HOLD and is left behind too.
        let hold = find(world, "HoldForgotten", "web");
        assert_eq!(hold.is_some(), bed().hold == Holder::Partition);
        follow(&found.command.unwrap());
        assert_eq!(find(world, "MarksLeft", "web"), None);
        let labels = world.set("web").await.metadata.labels.unwrap_or_default();
        assert!(!labels.contains_key("windlass.sh/rollout"));
    })
    .await;
}

#[tokio::test]
async fn the_mark_of_a_run_that_was_left_behind_is_found_and_the_command_takes_it_off() {
    test("doctor-held", async |world| {
        world.healthy("web", 2, &STEPS).await;
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        world.kill_controller();
        world.kubectl(&["delete", "rp", "web"]);
        let found = find(world, "MarksLeft", "web").unwrap();
        follow(&found.command.unwrap());
        let annotations = world.set("web").await.metadata.annotations.unwrap_or_default();
        assert!(!annotations.contains_key("windlass.sh/held"));
        assert_eq!(world.partition("web").await, 1, "nothing moves");
    })
    .await;
}

#[tokio::test]
async fn a_forgotten_hold_is_found_and_the_command_lets_go() {
    test("doctor-hold", async |world| {
        let set = manifests::stateful_set("web", 1, "app:v1");
        let strategy = format!("  updateStrategy: {{rollingUpdate: {{partition: {HOLD}}}}}\n  replicas: 1\n");
        world.apply(&set.replace("  replicas: 1\n", &strategy));
        let found = find(world, "HoldForgotten", "web").unwrap();
        follow(&found.command.unwrap());
        assert_eq!(world.partition("web").await, 0);
        assert_eq!(find(world, "HoldForgotten", "web"), None);
    })
    .await;
}

#[tokio::test]
async fn a_rollout_without_its_workload_is_found() {
    test("doctor-missing", async |world| {
        world.apply(&manifests::rollout("web", &STEPS));
        let found = find(world, "WorkloadMissing", "web").unwrap();
        assert_eq!(found.command, Some(format!("kubectl -n {} delete rp web", world.namespace)));
        world.apply(&manifests::stateful_set("web", 1, "app:v1"));
        assert_eq!(find(world, "WorkloadMissing", "web"), None, "creating it mends it as well");
    })
    .await;
}

#[tokio::test]
async fn two_rollouts_for_one_workload_are_found_and_the_one_that_has_it_is_kept() {
    test("doctor-shared", async |world| {
        world.healthy("web", 1, &STEPS).await;
        let second = manifests::rollout("web", &STEPS).replacen("name: web", "name: second", 1);
        world.apply(&second);
        let found = find(world, "WorkloadShared", "web").unwrap();
        follow(&found.command.unwrap());
        assert_eq!(find(world, "WorkloadShared", "web"), None);
        world.rollout("web").await;
    })
    .await;
}

#[tokio::test]
async fn what_somebody_may_not_read_is_said_and_is_no_error() {
    test("doctor-onlooker", async |world| {
        world.healthy("web", 1, &STEPS).await;
        let kubeconfig = onlooker(world);
        let output = until("the onlooker sees the workloads", async || {
            let output = doctor_as(world, &kubeconfig, &[]);
            String::from_utf8_lossy(&output.stdout).contains("✔ Marks").then_some(output)
        })
        .await;
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(text.matches("could not look: ").count(), 4, "{text}");
        assert!(text.contains("ask somebody who may get leases.coordination.k8s.io"), "{text}");
        assert!(text.ends_with("What could be looked at is well; 4 checks could not be made.\n"), "{text}");
        std::fs::remove_file(kubeconfig).unwrap();
    })
    .await;
}

/// The kubeconfig of somebody who may hardly see anything.
fn onlooker(world: &World) -> PathBuf {
    world.apply(ONLOOKER);
    let token = world.kubectl(&["create", "token", "onlooker"]);
    let file = std::env::temp_dir().join(format!("windlass-{}.kubeconfig", world.namespace));
    std::fs::copy(bed().kubeconfig(User::Admin), &file).unwrap();
    let kubeconfig = format!("--kubeconfig={}", file.display());
    let token = format!("--token={}", token.trim());
    world.kubectl(&["config", "set-credentials", "onlooker", &token, &kubeconfig]);
    world.kubectl(&["config", "set-context", "--current", "--user=onlooker", &kubeconfig]);
    file
}
