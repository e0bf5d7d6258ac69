//! What is read from a metric, and what does not make sense in one.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is test code"
)]

use jiff::SignedDuration;
use serde_json::{Value, json};
use windlass_analysis::rules::{self, Length, Rules};
use windlass_api::analysis::{DryRun, MeasurementRetention, Metric};

fn metric(fields: &Value) -> Metric {
    let mut metric = json!({"name": "m", "provider": {}});
    for (name, value) in fields.as_object().unwrap() {
        metric[name] = value.clone();
    }
    serde_json::from_value(metric).unwrap()
}

fn read(fields: &Value) -> Rules {
    rules::read(&[metric(fields)], &[], &[]).unwrap().remove(0)
}

/// Everything that is wrong, as it is told.
fn flaws(fields: &Value) -> Vec<String> {
    let flaws = rules::read(&[metric(fields)], &[], &[]).unwrap_err();
    flaws.iter().map(ToString::to_string).collect()
}

fn dry(pattern: &str) -> DryRun {
    DryRun { metric_name: pattern.to_owned() }
}

fn keep(pattern: &str, limit: i32) -> MeasurementRetention {
    MeasurementRetention { metric_name: pattern.to_owned(), limit }
}

fn named(names: &[&str]) -> Vec<Metric> {
    names.iter().map(|name| metric(&json!({"name": name}))).collect()
}

#[test]
fn the_number_of_measurements_is_one_a_count_or_without_end() {
    assert_eq!(read(&json!({})).length, Length::Count(1));
    assert_eq!(read(&json!({"count": 0})).length, Length::Count(1));
    assert_eq!(read(&json!({"count": 1})).length, Length::Count(1));
    assert_eq!(read(&json!({"count": 5, "interval": "10s"})).length, Length::Count(5));
    assert_eq!(read(&json!({"count": "5", "interval": "10s"})).length, Length::Count(5));
    assert_eq!(read(&json!({"interval": "10s"})).length, Length::Endless);
    assert_eq!(read(&json!({"count": 0, "interval": "10s"})).length, Length::Endless);
}

#[test]
fn limits_and_times_have_the_defaults_that_users_know() {
    let rules = read(&json!({}));
    assert_eq!((rules.failure_limit, rules.inconclusive_limit), (Some(0), 0));
    assert_eq!((rules.consecutive_error_limit, rules.consecutive_success_limit), (4, None));
    assert_eq!((rules.interval, rules.initial_delay), (None, SignedDuration::ZERO));
    assert_eq!((rules.dry_run, rules.kept), (false, 10));
    let rules = read(&json!({
        "interval": "1m30s", "initialDelay": "5m", "count": 10, "failureLimit": "2", "inconclusiveLimit": 3,
        "consecutiveErrorLimit": 0, "consecutiveSuccessLimit": 4,
    }));
    assert_eq!((rules.failure_limit, rules.inconclusive_limit), (Some(2), 3));
    assert_eq!((rules.consecutive_error_limit, rules.consecutive_success_limit), (0, Some(4)));
    assert_eq!(rules.interval, Some(SignedDuration::from_secs(90)));
    assert_eq!(rules.initial_delay, SignedDuration::from_mins(5));
}

#[test]
fn what_does_not_make_sense_is_told_with_its_field() {
    let rows = [
        (json!({"name": ""}), "spec.metrics[0].name: a metric needs a name"),
        (
            json!({"interval": "soon"}),
            "spec.metrics[0].interval: \"soon\" is no duration: write it as 30s, 5m or 1h30m",
        ),
        (
            json!({"interval": "0s"}),
            "spec.metrics[0].interval: 0 would ask without a pause: write 1s or more",
        ),
        (json!({"initialDelay": "-5s"}), "spec.metrics[0].initialDelay: \"-5s\" is no duration"),
        (json!({"count": -1}), "spec.metrics[0].count: -1 is below 0"),
        (json!({"count": "many"}), "spec.metrics[0].count: \"many\" is no whole number"),
        (
            json!({"count": 3}),
            "spec.metrics[0].interval: count is 3: more than one measurement needs an interval",
        ),
        (json!({"failureLimit": -2}), "spec.metrics[0].failureLimit: -2 is below -1"),
        (json!({"failureLimit": -1}), "spec.metrics[0].failureLimit: -1 bears any number of bad values"),
        (json!({"inconclusiveLimit": -1}), "spec.metrics[0].inconclusiveLimit: -1 is below 0"),
        (json!({"consecutiveErrorLimit": -1}), "spec.metrics[0].consecutiveErrorLimit: -1 is below 0"),
        (json!({"consecutiveSuccessLimit": -1}), "spec.metrics[0].consecutiveSuccessLimit: -1 is below 0"),
        (
            json!({"count": 3, "interval": "1s", "failureLimit": 2, "consecutiveSuccessLimit": 2}),
            "spec.metrics[0].count: count (3) must be at least failureLimit (2) + consecutiveSuccessLimit (2)",
        ),
        (
            json!({"count": 3, "interval": "1s", "inconclusiveLimit": 4}),
            "spec.metrics[0].count: count (3) must be at least inconclusiveLimit (4)",
        ),
        (
            json!({"successCondition": "result <"}),
            "spec.metrics[0].successCondition: \"result <\" is no condition",
        ),
        (
            json!({"failureCondition": "reslt > 1"}),
            "spec.metrics[0].failureCondition: \"reslt > 1\" is no condition",
        ),
        (
            json!({"successCondition": "len(result)"}),
            "spec.metrics[0].successCondition: \"len(result)\" is no condition: \
             a condition must give true or false, but this one gives an integer",
        ),
        (
            json!({"successCondition": "'true'"}),
            "spec.metrics[0].successCondition: \"'true'\" is no condition: \
             a condition must give true or false, but this one gives a text",
        ),
    ];
    for (fields, wanted) in rows {
        let told = flaws(&fields);
        assert!(told.len() == 1 && told[0].starts_with(wanted), "{fields}: {told:?}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    assert_eq!(flaws(&json!({"interval": "x", "count": "y", "successCondition": "("})).len(), 3);
    let none = rules::read(&[], &[], &[]).unwrap_err();
    assert_eq!(none[0].to_string(), "spec.metrics: no metrics: name at least one");
    let twice = rules::read(&named(&["a", "a"]), &[], &[]).unwrap_err();
    assert!(twice[0].what.contains("two metrics named \"a\""));
}

#[test]
fn patterns_name_the_metrics_that_decide_nothing_and_how_many_values_are_kept() {
    let metrics = named(&["latency-p50", "latency-p99", "errors"]);
    let rules = rules::read(&metrics, &[dry("p99")], &[keep("^latency", 3), keep("errors", 0)]).unwrap();
    let shown: Vec<(bool, usize)> = rules.iter().map(|rules| (rules.dry_run, rules.kept)).collect();
    assert_eq!(shown, [(false, 3), (true, 3), (false, 10)]);
    assert!(rules::read(&metrics, &[dry(".*")], &[]).unwrap().iter().all(|rules| rules.dry_run));
}

#[test]
fn patterns_may_meet_in_a_metric_and_the_last_one_says_how_many_values_are_kept() {
    let metrics = named(&["latency-p99", "errors"]);
    let kept = [keep(".*", 3), keep("p99", 5), keep("latency", 4)];
    let rules = rules::read(&metrics, &[dry("latency"), dry("p99")], &kept).unwrap();
    let shown: Vec<(bool, usize)> = rules.iter().map(|rules| (rules.dry_run, rules.kept)).collect();
    assert_eq!(shown, [(true, 4), (false, 3)]);
}

#[test]
fn a_pattern_that_means_nothing_or_the_same_twice_is_told() {
    let metrics = named(&["errors"]);
    let rows = [
        (vec![dry("latency")], "spec.dryRun[0].metricName: \"latency\" matches no metric"),
        (
            vec![dry("*")],
            "spec.dryRun[0].metricName: the pattern \"*\" cannot be used: repetition operator missing expression; \
             .* means every metric",
        ),
        (
            vec![dry("err"), dry("err")],
            "spec.dryRun[1].metricName: there are two rules for \"err\": keep one",
        ),
    ];
    for (rules, wanted) in rows {
        let told = rules::read(&metrics, &rules, &[]).unwrap_err()[0].to_string();
        assert!(told.starts_with(wanted), "{told}");
    }
    let twice = rules::read(&metrics, &[], &[keep("e", 1), keep("e", 2)]).unwrap_err();
    assert!(twice[0].to_string().starts_with("spec.measurementRetention[1].metricName"));
}

#[test]
fn however_many_patterns_there_are_reading_them_takes_no_time_and_little_room() {
    let started = std::time::Instant::now();
    let metrics = named(&["errors"]);
    let folded: Vec<DryRun> = (0..50_000).map(|number| dry(&format!("(?i)[\\D]|{number}"))).collect();
    let told = rules::read(&metrics, &folded, &[]).unwrap_err();
    assert!(told[0].what.contains("the patterns take too much together"), "{}", told[0]);
    let condition = |number: usize| format!("result matches \"^[a-z]{{8}}[0-9]*{number}$\"");
    let many: Vec<Metric> = (0..5_000)
        .map(|number| Metric {
            name: format!("m{number}"),
            success_condition: Some(condition(number)),
            ..Metric::default()
        })
        .collect();
    let told = rules::read(&many, &[], &[]).unwrap_err();
    assert!(told[0].what.contains("the patterns take too much together"), "{}", told[0]);
    assert!(rules::read(&many[..100], &[], &[]).is_ok());
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn the_conditions_of_a_run_have_only_so_many_parts_together() {
    let of = |metrics: usize, parts: usize| {
        let condition = format!("result in [{}true]", "nil, ".repeat(parts));
        let metric = |number: usize| Metric {
            name: format!("m{number}"),
            failure_condition: Some(condition.clone()),
            ..Metric::default()
        };
        rules::read(&(0..metrics).map(metric).collect::<Vec<_>>(), &[], &[])
    };
    assert!(of(500, 20).is_ok());
    let told = of(50, 5_000).unwrap_err();
    assert!(told[0].field.starts_with("spec.metrics[9].failureCondition"), "{}", told[0]);
    assert!(told[0].what.contains("have more than 50000 parts together: use shorter ones"), "{}", told[0]);
}

#[test]
fn a_flaw_is_told_in_few_words_however_long_what_was_written_is() {
    let told = flaws(&json!({"successCondition": "\"".repeat(100_000), "interval": "x".repeat(100_000)}));
    assert!(told.len() == 2 && told.iter().all(|flaw| flaw.chars().count() < 2500), "{told:?}");
    assert!(
        told.iter().any(|flaw| flaw.contains("is no condition: the expression is longer than")),
        "{told:?}"
    );
}
