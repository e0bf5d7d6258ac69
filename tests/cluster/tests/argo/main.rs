//! Beside Argo Rollouts: its own controller runs in the same cluster, on its own definitions, and the two leave each
//! other's runs alone. The control plane is this test's alone.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "this is test code, and what it prints is for people"
)]

mod theirs;

use std::collections::BTreeSet;

use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::analyses::{step, template};
use windlass_bed::{
    Prometheus, Scraped, User, World, audit, bed, manifests, run, test, until, windlass_command,
};

use theirs::Argo;

/// A run of both controllers' liking: two measurements, a second apart.
const RULES: &str = "interval: 1s, count: 2, successCondition: 'result[0] == 1'";

#[tokio::test]
async fn each_controller_serves_its_own_runs_and_leaves_the_others_alone() {
    if bed().audit_log_or_skip("who writes to runs beside Argo Rollouts").is_none() {
        return;
    }
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    until("it is scraped", async || prometheus.ask("up == 1").await.filter(|it| !it.is_empty())).await;
    let _argo = Argo::install_and_start();
    test("beside-argo", async |world| {
        let provider = format!("{{prometheus: {{address: '{}', query: up}}}}", prometheus.url());
        the_doctor_knows_its_definitions_and_nothing_of_ours_takes_their_place(world);
        world.apply(&template("up", RULES, &provider));
        a_rollout_of_ours_is_judged_by_us(world).await;
        a_run_that_carries_nobodys_name_is_argos(world, &provider).await;
        a_run_that_carries_our_name_is_ours(world, &provider).await;
        a_rollout_of_argos_is_judged_by_argo(world).await;
    })
    .await;
}

fn the_doctor_knows_its_definitions_and_nothing_of_ours_takes_their_place(world: &World) {
    let runs = || world.kubectl(&["get", "crd", "analysisruns.argoproj.io", "-o", "jsonpath={.spec}"]);
    let before = runs();
    let beside =
        windlass_command(&["manifests", bed().hold_flag(), "--without=analysis,policies,controller"]);
    let beside = String::from_utf8_lossy(&run(beside, "").stdout).into_owned();
    bed().kubectl_ok(User::Admin, &["apply", "-f", "-"], &beside);
    assert_eq!(runs(), before);
    let admin = bed().kubeconfig(User::Admin).display().to_string();
    let doctor = ["doctor", "--namespace", &world.namespace, "--output=json", "--kubeconfig", &admin];
    let said = run(windlass_command(&doctor), "");
    let lines: Vec<serde_json::Value> = serde_json::from_slice(&said.stdout).unwrap();
    let lines = lines.iter().filter(|line| line["check"] == "definitions");
    let found: Vec<(&str, &str)> =
        lines.map(|line| (line["code"].as_str().unwrap(), line["result"].as_str().unwrap())).collect();
    let argos = ("DefinedByArgo", "advice");
    assert_eq!(found, [("Defined", "well"), argos, argos, argos]);
}

async fn a_rollout_of_ours_is_judged_by_us(world: &World) {
    world.apply(&manifests::stateful_set("web", 3, "app:v1"));
    world.apply(&manifests::rollout("web", &["{setWeight: 34}", &step("up", ""), "{setWeight: 100}"]));
    world.until_phase("web", "Healthy").await;
    world.until_label("web").await;
    let (stable, _) = world.revisions("web").await;
    world.set_image("web", "app:v2");
    let target = world.until_target("web", &stable).await;
    world.until_completed("web", &target).await;
    let run = ended(world, &format!("web-{target}-1")).await;
    assert_eq!(run.status.unwrap().metric_results[0].count, 2);
    assert_eq!(writers(world, &run.metadata.name.unwrap()).await, BTreeSet::from(["windlass"]));
}

async fn a_run_that_carries_nobodys_name_is_argos(world: &World, provider: &str) {
    world.apply(&alone("nobodys", "", provider));
    ended(world, "nobodys").await;
    assert_eq!(writers(world, "nobodys").await, BTreeSet::from(["argo"]));
}

async fn a_run_that_carries_our_name_is_ours(world: &World, provider: &str) {
    let label = ", labels: {argo-rollouts.argoproj.io/controller-instance-id: windlass}";
    world.apply(&alone("ours", label, provider));
    ended(world, "ours").await;
    assert_eq!(writers(world, "ours").await, BTreeSet::from(["windlass"]));
}

async fn a_rollout_of_argos_is_judged_by_argo(world: &World) {
    world.apply(&theirs::rollout("theirs", "app:v1"));
    theirs::until_healthy(world, "theirs").await;
    world.apply(&theirs::rollout("theirs", "app:v2"));
    let is_theirs = |run: &AnalysisRun| {
        let owners = run.metadata.owner_references.iter().flatten();
        owners.into_iter().any(|owner| owner.kind == "Rollout")
    };
    let run = world.until_run("Argo has made a run", is_theirs).await.metadata.name.unwrap();
    ended(world, &run).await;
    theirs::until_healthy(world, "theirs").await;
    assert_eq!(writers(world, &run).await, BTreeSet::from(["argo"]));
}

fn alone(name: &str, labels: &str, provider: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {{name: {name}{labels}}}
spec:
  metrics:
  - {{name: up, {RULES}, provider: {provider}}}
"
    )
}

/// A run that came to a good end.
async fn ended(world: &World, name: &str) -> AnalysisRun {
    let is_over = |run: &AnalysisRun| {
        run.metadata.name.as_deref() == Some(name)
            && run.status.as_ref().is_some_and(|status| status.phase.is_completed())
    };
    let run = world.until_run(&format!("{name} is over"), is_over).await;
    let status = run.status.as_ref().unwrap();
    assert_eq!(status.phase, Phase::Successful, "{}", status.message);
    run
}

/// Which of the two controllers wrote to a run.
async fn writers(world: &World, run: &str) -> BTreeSet<&'static str> {
    world.until_audited().await;
    let about = |request: &audit::Request| {
        let object = request.object();
        object.namespace == world.namespace && object.resource == "analysisruns" && object.name == run
    };
    let log = bed().audit_log.as_deref().unwrap();
    let writes = audit::since(log, 0).into_iter().filter(|it| it.is_write() && it.is_done() && about(it));
    writes
        .filter_map(|request| match () {
            () if request.is_windlass() => Some("windlass"),
            () if request.user_agent.starts_with("rollouts-controller/") => Some("argo"),
            () => None,
        })
        .collect()
}
