//! Beside Argo Rollouts: its definition of runs of analyses has no status of its own, and ours must do without one there.

use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::{User, World, bed, run, test, windlass_command};

/// Ours again, whatever becomes of the test.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        let crds = run(windlass_command(&["crds"]), "");
        let crds = String::from_utf8_lossy(&crds.stdout).into_owned();
        bed().kubectl(User::Admin, &["apply", "--server-side", "--force-conflicts", "-f", "-"], &crds);
    }
}

fn run_of_a_job(name: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {{name: {name}, finalizers: [example.com/keep]}}
spec:
  metrics:
  - name: smoke
    provider: {{job: {{spec: {{backoffLimit: 0, template: {{spec: {{containers: [{{name: check, image: 'check:v1'}}]}}}}}}}}}}
"
    )
}

/// A run came to a good end, with one measurement, and others' finalizers are still there. They are taken off then, so
/// that it can go.
async fn is_served(world: &World, name: &str) {
    let is_over = |run: &AnalysisRun| {
        let over = run.status.as_ref().is_some_and(|status| status.phase == Phase::Successful);
        over && run.metadata.name.as_deref() == Some(name)
    };
    let run = world.until_run("it is Successful", is_over).await;
    assert_eq!(run.status.unwrap().metric_results[0].count, 1);
    assert_eq!(run.metadata.finalizers.unwrap_or_default(), ["example.com/keep"]);
    world.patch(&format!("ar/{name}"), r#"{"metadata":{"finalizers":null}}"#);
}

#[tokio::test]
async fn runs_are_served_where_their_definition_has_no_status_of_its_own_and_when_it_gets_one() {
    let _turn = crate::alone().await;
    test("argos-definition", async |world| {
        let restored = Restored;
        let none = r#"[{"op": "remove", "path": "/spec/versions/0/subresources"}]"#;
        let patch = ["patch", "crd", "analysisruns.argoproj.io", "--type=json", "--patch", none];
        bed().kubectl_ok(User::Admin, &patch, "");
        world.apply(&run_of_a_job("before"));
        is_served(world, "before").await;
        // Argo Rollouts goes, and our definition comes, while the controller runs.
        drop(restored);
        world.apply(&run_of_a_job("after"));
        is_served(world, "after").await;
    })
    .await;
}
