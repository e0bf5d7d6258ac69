//! Rollouts that the cluster itself judges, and metrics that are asked for each pod.

use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::analyses::{block, step, template, watched_rollout};
use windlass_bed::audit;
use windlass_bed::{Prometheus, Scraped, World, bed, manifests, test, until};

use crate::by_numbers::changed;

/// A kind that an operator could have brought along: how far a replica is behind.
const REPLICATIONS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: replications.data.example.com}
spec:
  group: data.example.com
  scope: Namespaced
  names: {kind: Replication, plural: replications, singular: replication}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, properties: {lagSeconds: {type: integer}}}
";

/// One of that kind, which is so far behind.
fn replication(seconds: u32) -> String {
    format!(
        "apiVersion: data.example.com/v1
kind: Replication
metadata: {{name: db}}
status: {{lagSeconds: {seconds}}}
"
    )
}

/// The kind is there, and one object of it, which is not behind.
async fn replicated(world: &World) {
    world.apply(REPLICATIONS);
    let kind = "crd/replications.data.example.com";
    world.kubectl(&["wait", "--for=condition=Established", kind, "--timeout=30s"]);
    until("the kind is served", async || {
        let applied = world.kubectl_any(&["apply", "-f", "-"], &replication(0));
        applied.status.success().then_some(())
    })
    .await;
    world.allow_reading("data.example.com", "replications");
}

#[tokio::test]
async fn an_expression_over_the_updated_pods_and_a_custom_resource_lets_versions_in_and_puts_them_back() {
    test("kubernetes", async |world| {
        replicated(world).await;
        let expression = "updated.all(p, p.status.conditions.exists(c, c.type == \"Ready\" && c.status == \"True\")) && workload.spec.replicas == 3 && size(pods) == 3 && object.status.lagSeconds < 10";
        let object = "{apiVersion: data.example.com/v1, kind: Replication, name: db}";
        let provider = format!("{{kubernetes: {{expression: '{expression}', object: {object}}}}}");
        world.apply(&template("pods", "successCondition: 'result == true', interval: 1s, count: 2", &provider));
        let steps = ["{setWeight: 34}", &step("pods", ""), "{setWeight: 100}"];
        let (_, good) = changed(world, &manifests::rollout("web", &steps)).await;
        world.until_completed("web", &good).await;

        world.apply(&replication(90));
        world.set_image("web", "app:v3");
        let status = world.until_reverted("web").await;
        let message = &status.condition("Progressing").unwrap().message;
        assert!(message.contains("\"pods\" assessed Failed"), "{message}");
        assert!(message.contains("value false"), "{message}");
        assert_eq!(world.count_on(&good).await, 3);
        world.kubectl(&["delete", "crd", "replications.data.example.com"]);
    })
    .await;
}

#[tokio::test]
async fn an_object_of_the_cluster_is_looked_at_once_somebody_has_given_the_right() {
    test("of-cluster", async |world| {
        let run = |name: &str| {
            format!(
                "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {{name: {name}}}
spec:
  metrics:
  - name: phase
    consecutiveErrorLimit: 0
    successCondition: result == \"Active\"
    provider: {{kubernetes: {{expression: object.status.phase, object: {{apiVersion: v1, kind: Namespace, name: {}}}}}}}
",
                world.namespace
            )
        };
        world.apply(&run("before"));
        let refused = world.until_run_phase(Phase::Error).await.status.unwrap();
        assert!(refused.message.contains("may not be read by this controller"), "{}", refused.message);
        world.allow_reading_its_namespace();
        world.apply(&run("after"));
        world.until_run_phase(Phase::Successful).await;
    })
    .await;
}

#[tokio::test]
async fn of_several_pods_the_bad_one_is_named() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    for (pod, rate) in [("web-2", 0.0), ("web-1", 0.5)] {
        target.set_error_rate_of(&[("pod", pod)], rate);
    }
    let both = "count(rate(errors_total[3s]) >= 0)";
    until("both are seen", async || prometheus.ask(both).await.filter(|it| it == &[2.0])).await;
    test("each-pod", async |world| {
        let query = "sum(rate(errors_total{pod=\"{{pod.name}}\"}[5s])) / sum(rate(requests_total{pod=\"{{pod.name}}\"}[5s]))";
        let provider = format!("{{prometheus: {{address: '{}', query: '{query}'}}}}", prometheus.url());
        world.apply(&template("errors", "forEachPod: {}, successCondition: 'result[0] < 0.1'", &provider));
        let steps = ["{setWeight: 67}", &step("errors", ""), "{setWeight: 100}"];
        changed(world, &manifests::rollout("web", &steps)).await;
        let status = world.until_reverted("web").await;
        let message = &status.condition("Progressing").unwrap().message;
        assert!(message.contains("pod web-1 has value") && !message.contains("pod web-2"), "{message}");
    })
    .await;
}

/// Of nobody every sentence is true: that would look like health.
#[tokio::test]
async fn updated_pods_are_not_judged_before_there_is_one_and_are_once_there_is() {
    test("nobody-yet", async |world| {
        let ready =
            "updated.all(p, p.status.conditions.exists(c, c.type == \"Ready\" && c.status == \"True\"))";
        let provider = format!("{{kubernetes: {{expression: '{ready}'}}}}");
        let rules = "successCondition: 'result == true', interval: 1s, count: 2";
        world.apply(&template("calm", rules, &provider));
        let steps = ["{pause: {}}", "{setWeight: 34}", "{pause: {}}", "{setWeight: 100}"];
        changed(world, &watched_rollout("web", &steps, &block("calm", ""))).await;
        world.until_paused_at("web", 0).await;
        let waits = |run: &AnalysisRun| {
            let results = run.status.iter().flat_map(|status| &status.metric_results);
            results.clone().any(|it| it.message.contains("no pod is on the wanted revision yet"))
        };
        let run = world.until_run("it says that there is nobody yet", waits).await;
        assert_eq!(run.status.unwrap().metric_results[0].count, 0);
        world.windlass_ok(&["promote", "web"]);
        let run = world.until_run_phase(Phase::Successful).await;
        assert_eq!(run.status.unwrap().metric_results[0].count, 2);
    })
    .await;
}

/// What a template says is checked when it is read; what a Secret fills in is not known before it is asked.
#[tokio::test]
async fn a_secret_whose_kind_is_filled_in_by_another_one_is_not_measured() {
    let Some(log) = bed().audit_log_or_skip("which Secrets are read for an object") else { return };
    test("no-secrets", async |world| {
        world.kubectl(&["create", "secret", "generic", "tokens", "--from-literal=token=hunter2"]);
        world.kubectl(&["create", "secret", "generic", "names", "--from-literal=kind=Secret"]);
        let start = audit::position(log);
        world.apply(
            "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: run}
spec:
  args: [{name: kind, valueFrom: {secretKeyRef: {name: names, key: kind}}}]
  metrics:
  - name: token
    consecutiveErrorLimit: 0
    provider: {kubernetes: {expression: object.data.token, object: {apiVersion: v1, kind: '{{args.kind}}', name: tokens}}}
",
        );
        let run = world.until_run_phase(Phase::Error).await;
        let message = run.status.unwrap().message;
        assert!(message.contains("cannot be measured"), "{message}");
        world.until_audited().await;
        let asked = audit::since(log, start);
        let here = asked.iter().filter(|request| request.object().namespace == world.namespace);
        let read: Vec<String> = here
            .filter(|request| request.is_windlass() && request.object().resource == "secrets")
            .map(|request| request.object().name)
            .collect();
        assert_eq!(read, ["names"], "only what the argument names");
    })
    .await;
}
