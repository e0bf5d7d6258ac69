//! A template of the whole cluster, for a controller that serves all of it.

use windlass_bed::{Launch, User, bed, manifests, test};

const TEMPLATE: &str = "apiVersion: argoproj.io/v1alpha1
kind: ClusterAnalysisTemplate
metadata: {name: smoke-of-all}
spec:
  metrics:
  - name: smoke
    provider: {job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: check, image: 'check:v1-fail'}]}}}}}
";

#[tokio::test]
async fn a_template_of_the_cluster_judges_a_rollout_through_one_of_its_namespace() {
    let _turn = crate::alone().await;
    test("cluster-template", async |world| {
        let steps = ["setWeight: 50", "analysis: {templates: [{templateName: nested}]}", "setWeight: 100"];
        // Of one namespace: it cannot read them, and says so.
        world.apply(
            "apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: nested}
spec: {templates: [{templateName: smoke-of-all, clusterScope: true}]}
",
        );
        world.apply(&manifests::stateful_set("web", 2, "app:v1"));
        world.apply(&manifests::rollout("web", &steps));
        let status = world.until_phase("web", "Degraded").await;
        let told = &status.condition("InvalidSpec").unwrap().message;
        assert!(
            told.contains("\"smoke-of-all\" cannot be read: this controller serves one namespace"),
            "{told}"
        );
        world.kill_controller();
        let lease = ["delete", "lease", "windlass", "--namespace=windlass", "--ignore-not-found"];
        bed().kubectl_ok(User::Admin, &lease, "");
        world.controller = Some(Launch::cluster_wide("cluster-template").start());
        bed().kubectl_ok(User::Admin, &["apply", "-f", "-"], TEMPLATE);
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        world.set_image("web", "app:v2");
        let status = world.until_reverted("web").await;
        assert_eq!(status.condition("Progressing").unwrap().reason, "AnalysisRunFailed");
        bed().kubectl_ok(User::Admin, &["delete", "clusteranalysistemplate", "smoke-of-all"], "");
    })
    .await;
}
