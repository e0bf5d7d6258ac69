//! Rollouts that a real Prometheus judges.

use std::time::{Duration, Instant};

use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::analyses::{block, error_rate, step, watched_rollout};
use windlass_bed::{Prometheus, Scraped, World, manifests, test, until};

/// How often the error rate is measured.
const INTERVAL: Duration = Duration::from_secs(3);

/// A set of three pods with this rollout, up and Healthy; then a new image, whose revision is answered.
pub(crate) async fn changed(world: &World, rollout: &str) -> (String, String) {
    world.apply(&manifests::stateful_set("web", 3, "app:v1"));
    world.apply(rollout);
    world.until_phase("web", "Healthy").await;
    world.until_label("web").await;
    let (stable, _) = world.revisions("web").await;
    world.set_image("web", "app:v2");
    let target = world.until_target("web", &stable).await;
    (stable, target)
}

#[tokio::test]
async fn a_good_canary_advances_step_by_step_to_its_end() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    test("good-canary", async |world| {
        world.apply(&error_rate("errors", &prometheus, "interval: 1s, count: 3"));
        let check = step("errors", "");
        let steps = ["{setWeight: 34}", "{pause: {}}", &check, "{setWeight: 67}", &check, "{setWeight: 100}"];
        let (_, revision) = changed(world, &manifests::rollout("web", &steps)).await;
        target.set_error_rate(&revision, 0.01);
        until_rate(&prometheus, &revision, 0.009).await;
        world.until_paused_at("web", 1).await;
        world.windlass_ok(&["promote", "web"]);
        world.until_completed("web", &revision).await;
        let runs = world.analysis_runs().await;
        assert_eq!(runs.len(), 2);
        for (run, index) in runs.iter().zip([2, 4]) {
            assert_eq!(run.metadata.name.as_deref(), Some(format!("web-{revision}-{index}").as_str()));
            let labels = run.metadata.labels.as_ref().unwrap();
            assert_eq!(labels["rollout-type"], "Step");
            assert_eq!(labels["step-index"], index.to_string());
            assert_eq!(labels["rollout-plugin-name"], "web");
            let status = run.status.as_ref().unwrap();
            assert_eq!(status.phase, Phase::Successful, "{}", status.message);
            assert_eq!(status.metric_results[0].count, 3);
            assert!(
                values(run).iter().any(|value| (0.0..0.1).contains(value)),
                "a rate was measured: {run:?}"
            );
        }
        let events: Vec<String> = world.events("web").await.into_iter().map(|(reason, _)| reason).collect();
        assert!(events.contains(&"AnalysisRunSuccessful".to_owned()), "{events:?}");
    })
    .await;
}

#[tokio::test]
async fn a_bad_canary_is_put_back_and_the_metric_is_named_with_its_value() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    test("bad-canary", async |world| {
        world.apply(&error_rate("errors", &prometheus, "interval: 1s, count: 30, consecutiveErrorLimit: 30"));
        let steps = ["{setWeight: 34}", "{pause: {}}", &step("errors", ""), "{setWeight: 100}"];
        let (stable, revision) = changed(world, &manifests::rollout("web", &steps)).await;
        target.set_error_rate(&revision, 0.5);
        until_rate(&prometheus, &revision, 0.1).await;
        world.until_paused_at("web", 1).await;
        world.windlass_ok(&["promote", "web"]);
        let status = world.until_reverted("web").await;
        let progressing = status.condition("Progressing").unwrap();
        assert_eq!(progressing.reason, "AnalysisRunFailed");
        let told = "Step-based analysis phase error/failed: Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0): value [0.";
        assert!(progressing.message.starts_with(told), "{}", progressing.message);
        assert_eq!(world.count_on(&stable).await, 3);
        let measured = values(&world.until_run_phase(Phase::Failed).await);
        let bad = measured.iter().find(|value| **value >= 0.1).unwrap().to_string();
        let why = world.windlass_ok(&["why", "web"]);
        assert!(why.contains("errors") && why.contains(&bad), "{bad} is not in\n{why}");
    })
    .await;
}

/// Waits until Prometheus sees an error rate of a revision, of at least so much.
async fn until_rate(prometheus: &Prometheus, revision: &str, least: f64) {
    let rate = |counter: &str| format!("sum(rate({counter}{{revision=\"{revision}\"}}[3s]))");
    let query = format!("{} / {}", rate("errors_total"), rate("requests_total"));
    until("prometheus sees it", async || {
        prometheus.ask(&query).await.filter(|values| values.iter().any(|value| *value >= least))
    })
    .await;
}

/// The values that a run has measured, where there was a series.
fn values(run: &AnalysisRun) -> Vec<f64> {
    let results = run.status.iter().flat_map(|status| &status.metric_results);
    let measured = results.flat_map(|result| &result.measurements);
    measured.filter_map(|it| it.value.strip_prefix('[')?.strip_suffix(']')?.parse().ok()).collect()
}

/// Where the analysis stands that notices.
#[derive(Clone, Copy, Debug)]
enum Place {
    Beside,
    AtStep,
}

/// How long it takes from the moment at which Prometheus sees the errors until every pod is back on the former version.
async fn time_until_put_back(place: Place) -> Duration {
    // Its own: what was measured of a revision before would judge the one of the same name.
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    let mut took = Duration::MAX;
    test("turns-bad", async |world| {
        let rules = format!(
            "interval: {}s, count: 1000, consecutiveErrorLimit: 100, inconclusiveLimit: 100",
            INTERVAL.as_secs()
        );
        world.apply(&error_rate("errors", &prometheus, &rules));
        let check = step("errors", "");
        let rollout = match place {
            Place::Beside => {
                let steps = ["{setWeight: 34}", "{pause: {}}", "{setWeight: 100}"];
                watched_rollout("web", &steps, &block("errors", ""))
            }
            Place::AtStep => manifests::rollout("web", &["{setWeight: 34}", &check, "{setWeight: 100}"]),
        };
        let (stable, revision) = changed(world, &rollout).await;
        target.set_error_rate(&revision, 0.0);
        let good = |run: &AnalysisRun| {
            run.status.as_ref().is_some_and(|status| status.metric_results.iter().any(|it| it.successful > 1))
        };
        world.until_run("two good values were measured", good).await;
        assert_eq!(world.count_on(&revision).await, 1);
        target.set_error_rate(&revision, 0.5);
        until_rate(&prometheus, &revision, 0.1).await;
        let seen = Instant::now();
        world.until_reverted("web").await;
        took = seen.elapsed();
        assert_eq!(world.count_on(&stable).await, 3);
        world.until_run_phase(Phase::Failed).await;
    })
    .await;
    took
}

/// Somebody else may have the machine for a moment, so one of two tries has to meet the bound, at each of the places.
#[tokio::test]
async fn a_version_that_turns_bad_is_put_back_within_an_interval_and_two_seconds_in_one_of_two_tries() {
    let limit = INTERVAL + Duration::from_secs(2);
    for place in [Place::Beside, Place::AtStep] {
        let mut took = time_until_put_back(place).await;
        if took > limit {
            println!("analysis: {place:?}: once more after {:.1} s", took.as_secs_f64());
            took = time_until_put_back(place).await;
        }
        println!(
            "analysis: put back {:.1} s after Prometheus saw it (interval {} s, {place:?})",
            took.as_secs_f64(),
            INTERVAL.as_secs()
        );
        assert!(took <= limit, "{place:?}: {took:?}");
    }
}
