//! The plan on a real cluster: it says the same as one made from the files, and the run then does what it said.

use serde_json::Value;
use windlass_bed::{World, manifests, test};

use crate::PROMOTE;

const STEPS: [&str; 6] =
    ["setWeight: 0", "pause: {}", "setWeight: 40", "pause: {}", "setWeight: 80", "pause: {}"];

const BUDGET: &str = "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  minAvailable: 100%
  selector:
    matchLabels: {app: web}
";

/// What `windlass plan -o json` says about the only rollout.
fn plan(world: &World, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["plan", "-o", "json"].into_iter().chain(arguments.iter().copied()).collect();
    let said: Value = serde_json::from_str(&world.windlass_ok(&arguments)).unwrap();
    assert_eq!(said["rollouts"].as_array().map(Vec::len), Some(1), "{said}");
    said["rollouts"][0].clone()
}

/// The same from a file with everything that the server has written into the objects.
fn plan_of_what_the_server_has(world: &World) -> Value {
    plan_of(world, &world.kubectl(&["get", "sts,rp,pdb", "-o", "yaml"]))
}

fn plan_of(world: &World, manifest: &str) -> Value {
    let file = std::env::temp_dir().join(format!("windlass-plan-{}.yaml", world.namespace));
    std::fs::write(&file, manifest).unwrap();
    let plan = plan(world, &["-f", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    plan
}

fn codes(report: &Value) -> Vec<&str> {
    let warnings = report["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    warnings.iter().filter_map(|warning| warning["code"].as_str()).collect()
}

#[tokio::test]
async fn a_run_does_what_the_plan_said() {
    test("plan", async |world| {
        let set = manifests::stateful_set("web", 5, "app:v1")
            .replace("  replicas: 5\n", "  replicas: 5\n  ordinals: {start: 2}\n  minReadySeconds: 1\n");
        let all = [set.as_str(), &manifests::rollout("web", &STEPS), BUDGET].join("---\n");
        let offline = plan_of(world, &all);
        world.apply(&all);
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        let live = plan(world, &["web"]);
        assert_eq!(live["plan"], offline["plan"]);
        assert_eq!(plan_of_what_the_server_has(world)["plan"], offline["plan"]);
        assert_eq!((codes(&live), codes(&offline)), (vec!["DisruptionBudget"], vec!["DisruptionBudget"]));

        world.set_image("web", "app:v2");
        for step in [2, 4, 6] {
            let status = world.until_paused_at("web", step - 1).await;
            let stage = &live["plan"]["stages"][usize::try_from(step).unwrap() - 1];
            assert_eq!(stage["step"], step);
            assert_eq!(stage["partition"], world.partition("web").await);
            assert_eq!(stage["onTarget"], world.count_on(&status.updated_revision.unwrap()).await);
            world.patch_status("web", PROMOTE);
        }
        let target = world.revisions("web").await.1;
        world.until_completed("web", &target).await;
        assert_eq!(live["plan"]["stages"][6]["onTarget"], world.count_on(&target).await);
    })
    .await;
}

#[tokio::test]
async fn a_rollout_without_its_workload_or_with_anothers_has_no_plan() {
    test("plan-nothing", async |world| {
        world.apply(&manifests::rollout("web", &["setWeight: 50", "pause: {}"]));
        let output = world.windlass(&["plan", "web"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("StatefulSet web does not exist in this namespace"), "{said}");
        world.healthy("store", 1, &["setWeight: 50", "pause: {}"]).await;
        world.apply(&manifests::rollout("store", &["pause: {}"]).replacen("name: store", "name: second", 1));
        let output = world.windlass(&["plan", "second"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.code() == Some(1) && said.contains("belongs to the rollout store"), "{said}");
        let output = world.windlass(&["plan", "cart"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("there is no rollout cart"), "{said}");
    })
    .await;
}
