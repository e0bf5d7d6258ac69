//! Runs of analyses by themselves: standing alone, crossed by a crash, ended, kept, and silent about secrets.

use jiff::Timestamp;
use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::analyses::{block, error_rate, step, template, watched_rollout};
use windlass_bed::{Echo, Prometheus, Scraped, manifests, test, until};

use crate::by_numbers::changed;

fn standalone(prometheus: &Prometheus, more: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {{name: alone{more}
spec:
  metrics:
  - name: up
    interval: 1s
    count: 2
    successCondition: result[0] == 1
    provider: {{prometheus: {{address: '{}', query: up}}}}
",
        prometheus.url()
    )
}

fn measured(run: &AnalysisRun) -> u32 {
    run.status.as_ref().and_then(|status| status.metric_results.first()).map_or(0, |result| result.count)
}

/// When each measurement of a run began and ended, and its value, in their order.
fn measurements(run: &AnalysisRun) -> Vec<(Option<Timestamp>, Option<Timestamp>, &str)> {
    let results = run.status.iter().flat_map(|status| &status.metric_results);
    let measurements = results.flat_map(|result| &result.measurements);
    measurements.map(|it| (it.started_at, it.finished_at, it.value.as_str())).collect()
}

#[tokio::test]
async fn a_run_that_stands_alone_is_served_and_deleted_when_its_time_is_over() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    until("it is scraped", async || prometheus.ask("up == 1").await.filter(|it| !it.is_empty())).await;
    test("standalone", async |world| {
        world.apply(&standalone(&prometheus, "}"));
        let run = world.until_run_phase(Phase::Successful).await;
        assert_eq!(measured(&run), 2);
        let events = world.kubectl(&["get", "events", "--field-selector=involvedObject.kind=AnalysisRun"]);
        assert!(events.contains("AnalysisRunSuccessful") && events.contains("MetricSuccessful"), "{events}");
        world.patch("ar/alone", r#"{"spec":{"ttlStrategy":{"secondsAfterSuccess":1}}}"#);
        until("it is deleted", async || world.analysis_runs().await.is_empty().then_some(())).await;
    })
    .await;
}

#[tokio::test]
async fn metrics_tell_of_runs_and_templates_under_upstreams_names_and_go_with_them() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    test("told", async |world| {
        let controller = world.serve_metrics();
        world.apply(&error_rate("errors", &prometheus, "interval: 1s, count: 2"));
        let steps = ["{setWeight: 34}", &step("errors", ""), "{setWeight: 100}"];
        let (_, revision) = changed(world, &manifests::rollout("web", &steps)).await;
        target.set_error_rate(&revision, 0.0);
        world.until_completed("web", &revision).await;
        let namespace = &world.namespace;
        let run = format!("namespace=\"{namespace}\",name=\"web-{revision}-1\"");
        let template = format!("namespace=\"{namespace}\",name=\"errors\"");
        let metric = "metric=\"errors\",type=\"Prometheus\"";
        let text = controller.get("/metrics");
        for line in [
            format!("analysis_run_info{{{run},phase=\"Successful\",rollout=\"web\"}} 1"),
            format!("analysis_run_metric_phase{{{run},{metric},dry_run=\"false\",phase=\"Successful\"}} 1"),
            format!("analysis_run_metric_type{{{run},{metric}}} 1"),
            format!("analysis_run_reconcile_count{{{run}}}"),
            format!("analysis_template_info{{{template}}} 1"),
            format!("analysis_template_metric_info{{{template},{metric}}} 1"),
        ] {
            assert!(text.contains(&line), "{line}\nis not in\n{text}");
        }
        world.kubectl(&["delete", "ar", "--all"]);
        world.kubectl(&["delete", "at", "--all"]);
        until("their series are gone", async || {
            let text = controller.get("/metrics");
            (text.contains("rolloutplugin_info{") && !text.contains(&run) && !text.contains(&template))
                .then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_run_that_carries_anothers_name_is_left_alone() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    test("anothers", async |world| {
        let label = ", labels: {argo-rollouts.argoproj.io/controller-instance-id: argo}}";
        world.apply(&standalone(&prometheus, label));
        world.apply(&standalone(&prometheus, "}").replace("name: alone", "name: ours"));
        world
            .until_run("ours is over", |run| {
                run.metadata.name.as_deref() == Some("ours")
                    && run.status.as_ref().is_some_and(|status| status.phase.is_completed())
            })
            .await;
        let theirs =
            world.analysis_runs().await.into_iter().find(|run| run.metadata.name.as_deref() == Some("alone"));
        assert_eq!(theirs.unwrap().status, None);
    })
    .await;
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_run_loses_no_measurement_and_repeats_no_run() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    test("run-crash", async |world| {
        world.apply(&error_rate("errors", &prometheus, "interval: 1s, count: 6"));
        let steps = ["{setWeight: 34}", &step("errors", ""), "{setWeight: 100}"];
        let (_, revision) = changed(world, &manifests::rollout("web", &steps)).await;
        target.set_error_rate(&revision, 0.0);
        let before = world.until_run("two were measured", |run| measured(run) >= 2).await;
        world.kill_controller();
        world.start_controller();
        world.until_completed("web", &revision).await;
        let runs = world.analysis_runs().await;
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].metadata.uid, before.metadata.uid);
        assert_eq!(measured(&runs[0]), 6);
        // The number alone would be full again, whatever was lost.
        let (known, kept) = (measurements(&before), measurements(&runs[0]));
        assert!(kept.starts_with(&known), "{known:?}\nare not the first of\n{kept:?}");
    })
    .await;
}

#[tokio::test]
async fn a_new_target_ends_the_run_of_the_former_one_and_a_completed_rollout_its_own() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    test("superseded-run", async |world| {
        world.apply(&error_rate("errors", &prometheus, "interval: 1s"));
        let steps = ["{setWeight: 34}", "{pause: {}}", "{setWeight: 100}"];
        let (stable, former) = changed(world, &watched_rollout("web", &steps, &block("errors", ""))).await;
        world.until_paused_at("web", 1).await;
        world.set_image("web", "app:v3");
        until("another target is seen", async || {
            Some(world.revisions("web").await.1).filter(|it| *it != former && *it != stable)
        })
        .await;
        world
            .until_run("the former one is ended", |run| {
                run.spec.terminate && run.metadata.name.as_deref() == Some(&format!("web-{former}"))
            })
            .await;
        world.until_paused_at("web", 1).await;
        world.windlass_ok(&["promote", "web"]);
        let latest = world.revisions("web").await.1;
        world.until_completed("web", &latest).await;
        until("both are over", async || {
            let runs = world.analysis_runs().await;
            let over =
                |run: &AnalysisRun| run.status.as_ref().is_some_and(|status| status.phase.is_completed());
            (runs.len() == 2 && runs.iter().all(over)).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn no_more_finished_runs_are_kept_than_the_limits_say() {
    test("history", async |world| {
        let job = "{job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: a, image: 'check:v1'}]}}}}}";
        world.apply(&template("smoke", "count: 1", job));
        let check = step("smoke", "");
        let rollout = manifests::rollout("web", &["{setWeight: 34}", &check, &check, &check, "{setWeight: 100}"])
            .replace("spec:\n  workloadRef", "spec:\n  analysis: {successfulRunHistoryLimit: 1}\n  workloadRef");
        let (_, revision) = changed(world, &rollout).await;
        world.until_completed("web", &revision).await;
        until("one is left", async || (world.analysis_runs().await.len() == 1).then_some(())).await;
        let left = world.analysis_runs().await;
        assert_eq!(left[0].metadata.name.as_deref(), Some(format!("web-{revision}-3").as_str()));
    })
    .await;
}

#[tokio::test]
async fn a_secret_is_sent_to_the_provider_and_shown_nowhere() {
    let provider = Echo::start().await;
    test("secret-arg", async |world| {
        let controller = world.serve_metrics();
        world.kubectl(&["create", "secret", "generic", "tokens", "--from-literal=token=hunter2hunter2"]);
        let secret = "{name: token, valueFrom: {secretKeyRef: {name: tokens, key: token}}}";
        let url = format!("http://{}/echo?token={{{{args.token}}}}", provider.address);
        let settings =
            format!("{{web: {{url: '{url}', headers: [{{key: X-Token, value: '{{{{args.token}}}}'}}]}}}}");
        let template = template("echo", "consecutiveErrorLimit: 0", &settings)
            .replace("args: [", &format!("args: [{secret}, "));
        world.apply(&template);
        let steps = ["{setWeight: 34}", &step("echo", "onError: pause"), "{setWeight: 100}"];
        changed(world, &manifests::rollout("web", &steps)).await;
        // It answers with what it was sent, as an error, and the words of an error are stored.
        world.until_phase("web", "Paused").await;
        let heard = provider.heard().concat();
        assert_eq!(heard.matches("hunter2hunter2").count(), 2, "in the address and in a header: {heard}");
        let run = world.until_run_phase(Phase::Error).await.status.unwrap();
        assert!(run.message.contains("/echo?token=*****"), "{}", run.message);
        // A good value may have it too, and so may the name of a metric.
        world.apply(&format!(
            "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {{name: good}}
spec:
  args: [{secret}]
  metrics:
  - name: q-{{{{args.token}}}}
    provider: {settings}
",
            settings = settings.replace("/echo", "/good"),
        ));
        let good = world.until_run_phase(Phase::Successful).await.status.unwrap();
        let value = &good.metric_results[0].measurements[0].value;
        assert!(value.contains("/good?token=*****"), "{value}");
        let metrics = controller.get("/metrics");
        assert!(metrics.contains("analysis_run_metric_phase{"), "{metrics}");
        let everything = [
            world.kubectl(&["get", "ar,rp,sts,events", "-o", "yaml"]),
            world.controller.as_ref().unwrap().logged(),
            metrics,
        ];
        for text in everything {
            assert!(!text.contains("hunter2"), "{text}");
        }
    })
    .await;
}
