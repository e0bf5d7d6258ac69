//! When a metric is measured next, and when a finished run goes.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use windlass_analysis::rules::{self, Rules};
use windlass_analysis::schedule::{self, Due};
use windlass_api::analysis::{AnalysisRunStatus, Measurement, Metric, MetricResult, Phase, TtlStrategy};

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn rules(fields: &[Value]) -> Vec<Rules> {
    let metrics: Vec<Metric> = fields.iter().map(|it| serde_json::from_value(it.clone()).unwrap()).collect();
    rules::read(&metrics, &[], &[]).unwrap()
}

fn metric(fields: Value) -> Rules {
    rules(&[fields]).remove(0)
}

fn finished(phase: Phase, seconds: i64) -> Measurement {
    let at = Some(at(seconds));
    Measurement { phase, started_at: at, finished_at: at, ..Measurement::default() }
}

fn result(name: &str, phase: Phase, measurements: Vec<Measurement>) -> MetricResult {
    MetricResult { name: name.to_owned(), phase, measurements, ..MetricResult::default() }
}

#[test]
fn the_first_measurement_comes_after_the_initial_delay() {
    let prompt = metric(json!({"name": "m"}));
    let late = metric(json!({"name": "m", "initialDelay": "90s"}));
    assert_eq!(schedule::due(&prompt, None, at(5), false), Due::Measure(at(5)));
    assert_eq!(schedule::due(&late, None, at(5), false), Due::Measure(at(95)));
    assert_eq!(schedule::due(&late, None, at(5), true), Due::Nothing);
    let empty = result("m", Phase::Pending, Vec::new());
    assert_eq!(schedule::due(&late, Some(&empty), at(5), false), Due::Measure(at(95)));
}

#[test]
fn the_next_one_comes_an_interval_after_the_end_of_the_last_and_an_error_is_tried_again_in_ten_seconds() {
    let rules = metric(json!({"name": "m", "interval": "30s"}));
    let due =
        |phase, measurements| schedule::due(&rules, Some(&result("m", phase, measurements)), at(0), false);
    assert_eq!(due(Phase::Running, vec![finished(Phase::Successful, 7)]), Due::Measure(at(37)));
    assert_eq!(due(Phase::Running, vec![finished(Phase::Failed, 7)]), Due::Measure(at(37)));
    assert_eq!(due(Phase::Running, vec![finished(Phase::Error, 7)]), Due::Measure(at(17)));
    assert_eq!(due(Phase::Successful, vec![finished(Phase::Successful, 7)]), Due::Nothing);
}

#[test]
fn a_measurement_under_way_is_looked_at_again_and_ended_when_the_run_ends() {
    let rules = metric(json!({"name": "m", "interval": "30s"}));
    let open = |resume_at| Measurement {
        phase: Phase::Running,
        started_at: Some(at(3)),
        resume_at,
        ..Measurement::default()
    };
    let due = |measurement, ending| {
        schedule::due(&rules, Some(&result("m", Phase::Running, vec![measurement])), at(0), ending)
    };
    assert_eq!(due(open(Some(at(9))), false), Due::Resume(at(9)));
    // Whoever began it was lost before it could say when.
    assert_eq!(due(open(None), false), Due::Resume(at(3)));
    assert_eq!(due(open(Some(at(9))), true), Due::End);
}

#[test]
fn the_agenda_of_a_run_has_what_is_due_and_the_next_moment() {
    let rules = rules(&[
        json!({"name": "now"}),
        json!({"name": "later", "initialDelay": "60s"}),
        json!({"name": "again", "interval": "20s"}),
        json!({"name": "done"}),
    ]);
    let mut status = AnalysisRunStatus {
        started_at: Some(at(0)),
        phase: Phase::Running,
        metric_results: vec![
            result("again", Phase::Running, vec![finished(Phase::Successful, 10)]),
            result("done", Phase::Successful, vec![finished(Phase::Successful, 1)]),
        ],
        ..AnalysisRunStatus::default()
    };
    let (due, next) = schedule::agenda(&rules, &status, false, at(12));
    assert_eq!((due, next), (vec![(0, Due::Measure(at(0)))], Some(at(30))));
    let (due, next) = schedule::agenda(&rules, &status, false, at(60));
    assert_eq!(due.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(next, None);
    // Somebody ends it, or a metric that decides is bad: nothing new.
    assert_eq!(schedule::agenda(&rules, &status, true, at(60)), (Vec::new(), None));
    status.metric_results[1].phase = Phase::Failed;
    assert_eq!(schedule::agenda(&rules, &status, false, at(60)), (Vec::new(), None));
    status.metric_results[1].dry_run = true;
    assert_eq!(schedule::agenda(&rules, &status, false, at(60)).0.len(), 3);
    status.phase = Phase::Failed;
    assert_eq!(schedule::agenda(&rules, &status, false, at(60)), (Vec::new(), None));
}

#[test]
fn a_measurement_that_ended_in_the_future_is_followed_at_once() {
    let rules = rules(&[json!({"name": "m", "interval": "30s"})]);
    let status = |ended: i64| AnalysisRunStatus {
        started_at: Some(at(0)),
        phase: Phase::Running,
        metric_results: vec![result("m", Phase::Running, vec![finished(Phase::Successful, ended)])],
        ..AnalysisRunStatus::default()
    };
    let agenda = |ended: i64| schedule::agenda(&rules, &status(ended), false, at(100));
    assert_eq!(agenda(3700), (vec![(0, Due::Measure(at(100)))], None));
    // Another controller's clock may be ahead a little.
    assert_eq!(agenda(105), (Vec::new(), Some(at(135))));
}

#[test]
fn a_finished_run_goes_after_its_time_to_live() {
    let ttl = |completion, success, failure| TtlStrategy {
        seconds_after_completion: completion,
        seconds_after_success: success,
        seconds_after_failure: failure,
    };
    let rows = [
        (ttl(Some(60), None, None), Phase::Successful, Some(160)),
        (ttl(Some(60), Some(5), Some(9)), Phase::Successful, Some(105)),
        (ttl(Some(60), Some(5), Some(9)), Phase::Failed, Some(109)),
        (ttl(Some(60), Some(5), Some(9)), Phase::Error, Some(160)),
        (ttl(Some(60), Some(5), Some(9)), Phase::Inconclusive, Some(160)),
        (ttl(None, Some(5), None), Phase::Failed, None),
        (ttl(None, None, None), Phase::Successful, None),
        (ttl(Some(-1), None, None), Phase::Successful, Some(100)),
        (ttl(Some(60), None, None), Phase::Running, None),
    ];
    for (strategy, phase, wanted) in rows {
        let status = AnalysisRunStatus { phase, completed_at: Some(at(100)), ..AnalysisRunStatus::default() };
        assert_eq!(schedule::expires(&strategy, &status), wanted.map(at), "{strategy:?} {phase:?}");
    }
}
