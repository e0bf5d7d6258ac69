//! What takes longer is ended with its metric or its run, however often that has to be asked for.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::json;
use windlass_analysis::gauge::{About, Reading};
use windlass_analysis::verdict::ENDED;
use windlass_api::analysis::Phase;

use crate::{Run, metric, run, value};

#[test]
fn a_measurement_that_takes_longer_is_ended_with_its_run() {
    let mut run = run(
        json!({"metrics": [{"name": "smoke", "provider": {"job": {"spec": {"template": {"spec": {}}}}}}]}),
    );
    run.look();
    let at = run.now + SignedDuration::from_secs(30);
    run.answer("smoke", Reading::Later { at, metadata: BTreeMap::new() });
    run.look();
    run.spec.terminate = true;
    assert!(matches!(run.look().ask[0].about, About::Ended { .. }));
    let (phase, message) = (Phase::Inconclusive, ENDED.to_owned());
    run.answer("smoke", Reading::Verdict { phase, message, metadata: BTreeMap::new() });
    run.look();
    let result = &run.status.metric_results[0];
    assert_eq!((result.phase, result.count, result.inconclusive), (Phase::Inconclusive, 1, 1), "they agree");
}

#[test]
fn a_measurement_that_was_begun_while_its_run_came_to_an_end_is_ended_too() {
    let smoke = json!({"name": "smoke", "provider": {"job": {"spec": {"template": {"spec": {}}}}}});
    let mut run = run(json!({"metrics": [metric("errors", &json!({})), smoke]}));
    run.look();
    run.answer("errors", value(0.5));
    run.look();
    assert_eq!(run.status.phase, Phase::Failed);
    let metadata = BTreeMap::from([("job-name".to_owned(), "smoke.1".to_owned())]);
    run.answer("smoke", Reading::Later { at: run.now, metadata: metadata.clone() });
    let ask = run.look().ask;
    assert_eq!(ask.len(), 1);
    assert_eq!((ask[0].metric.name.as_str(), &ask[0].about), ("smoke", &About::Ended { metadata }));
}

#[test]
fn a_measurement_that_was_begun_while_its_metric_came_to_an_end_is_ended_though_others_go_on() {
    let smoke = |name| json!({"name": name, "provider": {"job": {"spec": {"template": {"spec": {}}}}}});
    let mut run = run(json!({"metrics": [metric("errors", &json!({})), smoke("late"), smoke("slow")]}));
    run.look();
    let metadata = |name: &str| BTreeMap::from([("job-name".to_owned(), format!("{name}.1"))]);
    let at = run.now + SignedDuration::from_secs(30);
    run.answer("slow", Reading::Later { at, metadata: metadata("slow") });
    run.answer("errors", value(0.5));
    let ended = run.look().ask;
    assert_eq!(ended.iter().map(|ask| ask.metric.name.as_str()).collect::<Vec<_>>(), ["slow"]);
    assert_eq!(run.status.phase, Phase::Running, "the slow one is being ended");
    run.answer("late", Reading::Later { at, metadata: metadata("late") });
    let ended = run.look().ask;
    assert_eq!((ended[0].metric.name.as_str(), ended.len()), ("late", 1));
    assert_eq!(ended[0].about, About::Ended { metadata: metadata("late") });
}

#[test]
fn a_run_that_is_edited_into_nonsense_ends_what_it_has_begun() {
    let smoke = json!({"name": "smoke", "provider": {"job": {"spec": {"template": {"spec": {}}}}}});
    let mut run = run(json!({"metrics": [smoke]}));
    run.look();
    let metadata = BTreeMap::from([("job-name".to_owned(), "smoke.1".to_owned())]);
    run.answer("smoke", Reading::Later { at: run.now, metadata: metadata.clone() });
    run.look();
    run.open.clear();
    run.spec.metrics[0].interval = Some("often".to_owned());
    let ended = run.look().ask;
    assert_eq!(run.status.phase, Phase::Error);
    assert_eq!((ended.len(), &ended[0].about), (1, &About::Ended { metadata }));
}

fn smoke() -> serde_json::Value {
    json!({"name": "smoke", "provider": {"job": {"spec": {"template": {"spec": {}}}}}})
}

fn of_job() -> BTreeMap<String, String> {
    BTreeMap::from([("job-name".to_owned(), "smoke.1".to_owned())])
}

fn ended() -> Reading {
    Reading::Verdict { phase: Phase::Inconclusive, message: ENDED.to_owned(), metadata: of_job() }
}

/// Something is to be ended, and that fails, is forgotten with its controller, and works at last.
fn is_ended_at_last(run: &mut Run) {
    let refused = Reading::NotAsked("503: the server is busy".to_owned());
    for again in [refused.clone(), refused] {
        let ask = run.look().ask;
        assert_eq!((ask.len(), &ask[0].about), (1, &About::Ended { metadata: of_job() }));
        assert!(run.look().ask.is_empty(), "one question at a time");
        run.answer("smoke", again);
    }
    run.look();
    run.open.clear();
    run.answers.clear();
    assert_eq!(run.look().ask.len(), 1, "whoever comes next finds it in the status");
    let (phase, completed_at) = (run.status.phase, run.status.completed_at);
    run.answer("smoke", ended());
    assert!(run.look().ask.is_empty());
    assert_eq!((run.status.phase, run.status.completed_at), (phase, completed_at), "the verdict stands");
    let result = run.status.metric_results.iter().find(|it| it.name == "smoke").unwrap();
    let last = result.measurements.last().unwrap();
    assert_eq!((result.measurements.len(), last.message.as_str()), (1, ENDED));
    assert!(last.started_at.is_some() && last.finished_at.is_some());
    assert_eq!((result.count, result.inconclusive, result.error), (0, 0, 0), "it counts for nothing");
    let at_rest = run.status.clone();
    assert!(run.after(3600).is_empty());
    assert_eq!(run.status, at_rest);
}

#[test]
fn what_a_run_that_is_edited_into_nonsense_has_begun_is_asked_to_end_until_it_has() {
    let mut run = run(json!({"metrics": [smoke()]}));
    run.look();
    run.answer("smoke", Reading::Later { at: run.now, metadata: of_job() });
    run.look();
    run.open.clear();
    run.spec.metrics[0].interval = Some("often".to_owned());
    is_ended_at_last(&mut run);
}

#[test]
fn what_was_begun_while_its_run_came_to_an_end_is_asked_to_end_until_it_has() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({})), smoke()]}));
    run.look();
    run.answer("errors", value(0.5));
    run.look();
    assert_eq!(run.status.phase, Phase::Failed);
    run.answer("smoke", Reading::Later { at: run.now, metadata: of_job() });
    is_ended_at_last(&mut run);
}

#[test]
fn what_is_left_of_a_metric_while_others_go_on_is_asked_to_end_until_it_has() {
    let slow = json!({"name": "slow", "provider": {"job": {"spec": {"template": {"spec": {}}}}}});
    let mut run = run(json!({"metrics": [metric("errors", &json!({})), smoke(), slow]}));
    run.look();
    let at = run.now + SignedDuration::from_secs(30);
    let of_slow = BTreeMap::from([("job-name".to_owned(), "slow.1".to_owned())]);
    run.answer("slow", Reading::Later { at, metadata: of_slow.clone() });
    run.answer("errors", value(0.5));
    run.look();
    run.answer("smoke", Reading::Later { at, metadata: of_job() });
    assert_eq!(run.look().ask.len(), 1);
    run.answer("smoke", Reading::NotAsked("503: the server is busy".to_owned()));
    let again = run.look().ask;
    assert_eq!((again.len(), &again[0].about), (1, &About::Ended { metadata: of_job() }));
    run.answer("smoke", ended());
    assert!(run.look().ask.is_empty() && run.answers.is_empty(), "it is done with");
    assert_eq!(run.status.phase, Phase::Running, "the slow one is being ended");
    let over = Reading::Verdict { phase: Phase::Inconclusive, message: ENDED.to_owned(), metadata: of_slow };
    run.answer("slow", over);
    run.look();
    assert_eq!(run.status.phase, Phase::Failed);
}

#[test]
fn what_cannot_be_ended_is_told_once_and_not_asked_for_ever() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({})), smoke()]}));
    run.look();
    run.answer("errors", value(0.5));
    run.look();
    run.answer("smoke", Reading::Later { at: run.now, metadata: of_job() });
    assert_eq!(run.look().ask.len(), 1);
    run.answer("smoke", Reading::Error("Jobs may not be deleted here".to_owned()));
    assert!(run.look().ask.is_empty());
    let last = run.status.metric_results[1].measurements[0].clone();
    assert_eq!((last.phase, last.message.as_str()), (Phase::Error, "Jobs may not be deleted here"));
    assert_eq!((run.status.phase, run.status.metric_results[1].error), (Phase::Failed, 0));
}
