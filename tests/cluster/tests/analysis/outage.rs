//! An outage of Prometheus: what becomes of a rollout is what its policy says.

use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_api::rollout_plugin::RolloutPluginStatus;
use windlass_bed::analyses::{block, error_rate, step, watched_rollout};
use windlass_bed::{Prometheus, Scraped, World, manifests, test};

use crate::by_numbers::changed;

/// A rollout whose check has this policy for errors, with a Prometheus that does not answer.
async fn unanswered(world: &World, prometheus: &mut Prometheus, on_error: &str) -> (String, String) {
    world.apply(&error_rate("errors", prometheus, "consecutiveErrorLimit: 0"));
    prometheus.stop();
    let steps = ["{setWeight: 34}", &step("errors", on_error), "{setWeight: 100}"];
    changed(world, &manifests::rollout("web", &steps)).await
}

#[tokio::test]
async fn without_a_policy_an_outage_puts_the_version_back() {
    let target = Scraped::start().await;
    let mut prometheus = Prometheus::start(&[target.address]).await;
    test("outage-abort", async |world| {
        let (stable, _) = unanswered(world, &mut prometheus, "").await;
        let status = world.until_reverted("web").await;
        let message = &status.condition("Progressing").unwrap().message;
        assert!(message.contains("cannot reach") && message.contains("refused"), "{message}");
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

#[tokio::test]
async fn an_outage_pauses_where_that_is_the_policy_and_a_person_decides() {
    let target = Scraped::start().await;
    let mut prometheus = Prometheus::start(&[target.address]).await;
    test("outage-pause", async |world| {
        let (_, revision) = unanswered(world, &mut prometheus, "onError: pause").await;
        let status = world.until_phase("web", "Paused").await;
        assert_eq!(status.pause_conditions.unwrap()[0].reason, "InconclusiveAnalysisRun");
        assert_eq!(world.count_on(&revision).await, 1);
        world.windlass_ok(&["promote", "web"]);
        world.until_completed("web", &revision).await;
    })
    .await;
}

#[tokio::test]
async fn an_outage_in_the_middle_of_what_is_measured_beside_the_steps_follows_the_policy_too() {
    let target = Scraped::start().await;
    let mut prometheus = Prometheus::start(&[target.address]).await;
    test("outage-beside", async |world| {
        world.apply(&error_rate("errors", &prometheus, "interval: 1s, consecutiveErrorLimit: 1"));
        let steps = ["{setWeight: 34}", "{pause: {}}", "{setWeight: 100}"];
        let rollout = watched_rollout("web", &steps, &block("errors", "onError: pause"));
        let (stable, revision) = changed(world, &rollout).await;
        target.set_error_rate(&revision, 0.0);
        let good =
            |run: &AnalysisRun| run.status.as_ref().is_some_and(|it| it.metric_results[0].successful > 1);
        world.until_run("two good values were measured", good).await;
        prometheus.stop();
        let undecided = |status: &RolloutPluginStatus| {
            let pauses = status.pause_conditions.as_ref();
            pauses.is_some_and(|all| all.iter().any(|it| it.reason == "InconclusiveAnalysisRun"))
        };
        world.until_status("web", "it asks a person", undecided).await;
        assert_eq!(world.count_on(&revision).await, 1);
        world.windlass_ok(&["abort", "web"]);
        world.until_reverted("web").await;
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

#[tokio::test]
async fn an_outage_is_waited_out_where_that_is_the_policy() {
    let target = Scraped::start().await;
    let mut prometheus = Prometheus::start(&[target.address]).await;
    test("outage-retry", async |world| {
        let (_, revision) = unanswered(world, &mut prometheus, "onError: retry").await;
        target.set_error_rate(&revision, 0.0);
        world.until_run_phase(Phase::Error).await;
        let waits =
            |status: &RolloutPluginStatus| status.waits.iter().any(|wait| wait.reason == "AnalysisError");
        world.until_status("web", "it says why it waits", waits).await;
        assert_eq!(world.count_on(&revision).await, 1);
        prometheus.start_again().await;
        world.until_completed("web", &revision).await;
        assert!(world.analysis_runs().await.len() > 1);
    })
    .await;
}
