//! At rest nothing is written: counted at the API server.

use std::time::{Duration, Instant};

use windlass_bed::{audit, bed, manifests, test, until};

const ROLLOUTS: usize = 100;
const WINDOW: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_hundred_healthy_rollouts_cause_no_write_in_thirty_seconds() {
    let Some(log) = bed().audit_log_or_skip("writes at rest") else { return };
    test("at-rest", async |world| {
        let names: Vec<String> = (0..ROLLOUTS).map(|number| format!("web{number}")).collect();
        let sets = names.iter().map(|name| manifests::stateful_set(name, 1, "app:v1"));
        let rollouts = names.iter().map(|name| manifests::rollout(name, &["setWeight: 50"]));
        world.apply(&sets.chain(rollouts).collect::<Vec<_>>().join("---\n"));
        until("all of them are Healthy", async || {
            let phases = world.kubectl(&["get", "rp", "-o", "jsonpath={.items[*].status.phase}"]);
            (phases.split(' ').filter(|phase| *phase == "Healthy").count() == ROLLOUTS).then_some(())
        })
        .await;
        // The log lags by its batch: what was written before Healthy was seen must be in it before counting begins.
        world.until_audited().await;
        let (start, since) = (audit::position(log), Instant::now());
        until("the window is over", async || (since.elapsed() >= WINDOW).then_some(())).await;
        let here =
            |request: &audit::Request| request.is_windlass() && request.object().namespace == world.namespace;
        let requests: Vec<_> = audit::since(log, start).into_iter().filter(here).collect();
        let writes: Vec<_> = requests.iter().filter(|request| request.is_write()).collect();
        assert!(writes.is_empty(), "{writes:#?}");
        let reads = requests.iter().filter(|request| request.verb != "watch").count();
        assert_eq!(reads, 0, "nothing but the watch is asked of the API server");
    })
    .await;
}

#[tokio::test]
async fn health_readiness_and_metrics_are_served() {
    test("metrics", async |world| {
        let controller = world.serve_metrics();
        world.healthy("web", 2, &["setWeight: 50", "pause: {}"]).await;
        let get = |path: &str| controller.get(path);
        assert!(get("/healthz").contains("200 OK"));
        assert!(get("/readyz").contains("200 OK"));
        let text = get("/metrics");
        let labels = format!("namespace=\"{}\",name=\"web\"", world.namespace);
        for line in [
            format!("rolloutplugin_info{{{labels},strategy=\"Canary\",plugin_name=\"argoproj/statefulset\",workload_kind=\"StatefulSet\",phase=\"Healthy\"}} 1"),
            format!("rolloutplugin_workload_replicas_desired{{{labels}}} 2"),
            format!("rolloutplugin_workload_replicas_ready{{{labels}}} 2"),
            format!("rolloutplugin_reconcile_count{{{labels}}}"),
        ] {
            assert!(text.contains(&line), "{line}\nis not in\n{text}");
        }
        world.set_image("web", "app:v2");
        world.until_paused_at("web", 1).await;
        let told = format!("rolloutplugin_events_total{{{labels},type=\"Normal\",reason=\"RolloutPluginPaused\"}} 1");
        until("the event is counted", async || get("/metrics").contains(&told).then_some(())).await;
        world.kubectl(&["delete", "rp", "web"]);
        world.until_event("web", "RolloutPluginDeleted").await;
        until("its series are gone", async || (!get("/metrics").contains("name=\"web\"")).then_some(())).await;
    })
    .await;
}
