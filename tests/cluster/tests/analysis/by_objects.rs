//! Rollouts that the cluster itself judges, and metrics that are asked for each pod.

use windlass_bed::analyses::{step, template};
use windlass_bed::{Prometheus, Scraped, manifests, test, until};

use crate::by_numbers::changed;

#[tokio::test]
async fn an_expression_over_the_updated_pods_and_a_custom_resource_judges_a_rollout() {
    test("kubernetes", async |world| {
        let expression = "updated.all(p, p.status.conditions.exists(c, c.type == \"Ready\" && c.status == \"True\")) && workload.spec.replicas == 3 && size(pods) == 3 && object.data.lag == \"0\"";
        let object = "{apiVersion: v1, kind: ConfigMap, name: replication}";
        let provider = format!("{{kubernetes: {{expression: '{expression}', object: {object}}}}}");
        world.apply(&template("pods", "successCondition: 'result == true', interval: 1s, count: 2", &provider));
        world.kubectl(&["create", "configmap", "replication", "--from-literal=lag=0"]);
        world.allow_reading_config_maps();
        let steps = ["{setWeight: 34}", &step("pods", ""), "{setWeight: 100}"];
        let (_, revision) = changed(world, &manifests::rollout("web", &steps)).await;
        world.until_completed("web", &revision).await;
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
