//! Beside Argo Rollouts: its definition of runs of analyses has no status of its own, and ours must do without one there.

use windlass_api::analysis::Phase;
use windlass_bed::{User, bed, run, test, windlass_command};

/// Ours again, whatever becomes of the test.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        let crds = run(windlass_command(&["crds"]), "");
        let crds = String::from_utf8_lossy(&crds.stdout).into_owned();
        bed().kubectl(User::Admin, &["apply", "--server-side", "--force-conflicts", "-f", "-"], &crds);
    }
}

#[tokio::test]
async fn runs_are_served_where_their_definition_has_no_status_of_its_own() {
    let _turn = crate::alone().await;
    test("argos-definition", async |world| {
        let _restored = Restored;
        let none = r#"[{"op": "remove", "path": "/spec/versions/0/subresources"}]"#;
        let patch = ["patch", "crd", "analysisruns.argoproj.io", "--type=json", "--patch", none];
        bed().kubectl_ok(User::Admin, &patch, "");
        world.apply(
            "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: alone}
spec:
  metrics:
  - name: smoke
    provider: {job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: check, image: 'check:v1'}]}}}}}
",
        );
        let run = world.until_run_phase(Phase::Successful).await;
        assert_eq!(run.status.unwrap().metric_results[0].count, 1);
    })
    .await;
}
