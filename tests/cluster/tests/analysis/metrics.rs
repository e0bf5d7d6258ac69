//! What tests of rollouts by numbers stand on: a real Prometheus sees the error rates that a test sets, and an outage is
//! one.

use windlass_bed::{Prometheus, Scraped, until};

/// The part of a revision's requests that failed in the last seconds.
fn error_rate(revision: &str) -> String {
    let rate = |counter: &str| format!("sum(rate({counter}{{revision=\"{revision}\"}}[3s]))");
    format!("{} / {}", rate("errors_total"), rate("requests_total"))
}

async fn until_measured(prometheus: &Prometheus, revision: &str, expected: f64) {
    let query = error_rate(revision);
    until(&format!("{revision} has an error rate of {expected}"), async || {
        let values = prometheus.ask(&query).await.unwrap();
        values.iter().any(|value| (value - expected).abs() < 0.001).then_some(())
    })
    .await;
}

#[tokio::test]
async fn prometheus_sees_the_error_rate_of_each_revision_as_the_test_sets_it() {
    let target = Scraped::start().await;
    target.set_error_rate("old", 0.0);
    target.set_error_rate("new", 0.5);
    let prometheus = Prometheus::start(&[target.address]).await;
    until_measured(&prometheus, "old", 0.0).await;
    until_measured(&prometheus, "new", 0.5).await;
    target.set_error_rate("new", 0.05);
    until_measured(&prometheus, "new", 0.05).await;
    until_measured(&prometheus, "old", 0.0).await;
    assert_eq!(prometheus.ask(&error_rate("unknown")).await, Some(Vec::new()), "no data is no value");
}

#[tokio::test]
async fn an_outage_of_prometheus_ends_with_what_it_had_stored_at_the_same_address() {
    let target = Scraped::start().await;
    target.set_error_rate_of(&[("revision", "new"), ("pod", "web-2")], 0.25);
    let mut prometheus = Prometheus::start(&[target.address]).await;
    until_measured(&prometheus, "new", 0.25).await;
    let first = "min_over_time(requests_total{pod=\"web-2\"}[10m])";
    let before = (prometheus.url(), prometheus.ask(first).await);
    prometheus.stop();
    assert_eq!(prometheus.ask("up").await, None, "nobody answers");
    prometheus.start_again().await;
    assert_eq!((prometheus.url(), prometheus.ask(first).await), before, "the first value is still the first");
    target.set_error_rate_of(&[("revision", "new"), ("pod", "web-2")], 0.5);
    until_measured(&prometheus, "new", 0.5).await;
}
