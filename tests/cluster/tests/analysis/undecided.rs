//! A value that is neither good nor bad: nobody can tell, so a person decides, and until then nothing moves.

use windlass_api::rollout_plugin::RolloutPluginStatus;
use windlass_bed::analyses::{step, template};
use windlass_bed::{Prometheus, Scraped, World, manifests, test, until};

use crate::by_numbers::changed;

/// The error rate of everything, whichever revision it is of.
const RATE: &str = "sum(rate(errors_total[5s])) / sum(rate(requests_total[5s]))";

/// A template by which less than a tenth is good and more than two fifths are bad.
fn two_conditions(prometheus: &Prometheus) -> String {
    let rules = "successCondition: 'result[0] < 0.1', failureCondition: 'result[0] > 0.4'";
    let provider =
        format!("{{prometheus: {{address: '{}', query: '{RATE}', timeout: 5}}}}", prometheus.url());
    template("errors", rules, &provider)
}

/// From now on this part of all requests fails, and Prometheus sees it.
async fn until_rate_is(target: &Scraped, prometheus: &Prometheus, rate: f64) {
    target.set_error_rate("any", rate);
    until("Prometheus sees the error rate", async || {
        prometheus.ask(RATE).await.filter(|values| values.iter().any(|value| (value - rate).abs() < 0.01))
    })
    .await;
}

/// Waits until the rollout asks a person about an analysis.
async fn until_undecided(world: &World) -> RolloutPluginStatus {
    let asks = |status: &RolloutPluginStatus| {
        let mut pauses = status.pause_conditions.iter().flatten();
        pauses.any(|pause| pause.reason == "InconclusiveAnalysisRun")
    };
    world.until_status("web", "it asks a person", asks).await
}

#[tokio::test]
async fn where_nobody_can_tell_everything_is_held_until_a_person_promotes_or_aborts() {
    let target = Scraped::start().await;
    let prometheus = Prometheus::start(&[target.address]).await;
    until_rate_is(&target, &prometheus, 0.25).await;
    test("inconclusive", async |world| {
        world.apply(&two_conditions(&prometheus));
        let steps = ["{setWeight: 34}", &step("errors", ""), "{setWeight: 100}"];
        let (_, promoted) = changed(world, &manifests::rollout("web", &steps)).await;
        let message = until_undecided(world).await.message.unwrap_or_default();
        assert!(message.contains("the analysis of step 2 is inconclusive"), "{message}");
        assert!(message.contains("value [0.2") && message.contains("neither successCondition"), "{message}");

        // That it is good meanwhile changes nothing: it was asked once, and a person has to say what that means.
        until_rate_is(&target, &prometheus, 0.0).await;
        let status = until_undecided(world).await;
        assert_eq!((status.phase.as_deref(), status.current_step_index), (Some("Paused"), Some(1)));
        assert_eq!(world.count_on(&promoted).await, 1);
        let runs = world.analysis_runs().await;
        let counts: Vec<u32> =
            runs.iter().map(|run| run.status.as_ref().unwrap().metric_results[0].count).collect();
        assert_eq!(counts, [1]);
        let waits = world.windlass(&["status", "web", "--timeout", "60s"]);
        assert_eq!(waits.status.code(), Some(5), "it waits for a person");
        world.windlass_ok(&["promote", "web"]);
        world.until_completed("web", &promoted).await;

        until_rate_is(&target, &prometheus, 0.25).await;
        world.set_image("web", "app:v3");
        until_undecided(world).await;
        world.windlass_ok(&["abort", "web"]);
        world.until_reverted("web").await;
        assert_eq!(world.count_on(&promoted).await, 3);
    })
    .await;
}
