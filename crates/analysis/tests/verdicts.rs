//! Verdicts by table: of a value, of a metric, of a run. The tables say what users of Argo Rollouts know, and beside it
//! what is mended.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "this is test code, and a figure is for people"
)]

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use windlass_analysis::expression::Value;
use windlass_analysis::rules::{self, Rules};
use windlass_analysis::verdict::{self, Ending};
use windlass_api::analysis::{
    AnalysisRunStatus, DryRun, ForEachPod, Measurement, Metric, MetricResult, Phase, RunSummary,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn values() -> Vec<(String, Vec<&'static str>)> {
    rows("values.txt", include_str!("verdicts/values.txt"))
}

fn metrics() -> Vec<(String, Vec<&'static str>)> {
    rows("metrics.txt", include_str!("verdicts/metrics.txt"))
}

fn runs() -> Vec<(String, Vec<&'static str>)> {
    rows("runs.txt", include_str!("verdicts/runs.txt"))
}

/// The rows of a table, each with its place and its cells.
fn rows(name: &'static str, table: &'static str) -> Vec<(String, Vec<&'static str>)> {
    let is_row = |(_, line): &(usize, &str)| !line.starts_with('#') && !line.trim().is_empty();
    let row = |(index, line): (usize, &'static str)| {
        (format!("{name}:{}: {line}", index + 1), line.split('|').map(str::trim).collect::<Vec<_>>())
    };
    table.lines().enumerate().filter(is_row).map(row).collect()
}

fn cells<'a, const COUNT: usize>(place: &str, cells: &[&'a str]) -> [&'a str; COUNT] {
    let mut all = [""; COUNT];
    assert!(cells.len() <= COUNT, "too many cells: {place}");
    all[..cells.len()].copy_from_slice(cells);
    all
}

fn phase(word: &str) -> Phase {
    serde_json::from_value(word.into()).unwrap()
}

fn json(text: &str) -> Value {
    match text {
        "NaN" => Value::Float(f64::NAN),
        "+Inf" => Value::Float(f64::INFINITY),
        "-Inf" => Value::Float(f64::NEG_INFINITY),
        list if list.starts_with('[') && list.contains("NaN") => {
            let items = list.trim_matches(['[', ']']).split(',');
            Value::List(items.map(|item| Value::Float(item.trim().parse().unwrap())).collect())
        }
        text => serde_json::from_str::<serde_json::Value>(text).unwrap().into(),
    }
}

fn condition(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn read(metrics: &[Metric], dry: &[DryRun]) -> Vec<Rules> {
    rules::read(metrics, dry, &[]).unwrap()
}

#[test]
fn the_tables_have_at_least_150_cases() {
    let all = [values(), metrics(), runs()];
    let cases: BTreeSet<Vec<&str>> = all.into_iter().flatten().map(|(_, row)| row).collect();
    println!("verdicts: {} different cases", cases.len());
    assert!(cases.len() >= 150, "there are only {} different ones", cases.len());
}

#[test]
fn a_value_is_judged_as_the_table_says() {
    for (place, row) in &values() {
        let [success, failure, result, wanted, words] = cells(place, row);
        let metric = Metric {
            name: "m".to_owned(),
            success_condition: condition(success),
            failure_condition: condition(failure),
            ..Metric::default()
        };
        let rules = read(&[metric], &[]).remove(0);
        let judged = verdict::judge(&rules.conditions, &json(result), NOW);
        assert_eq!(judged.phase, phase(wanted), "{place}\n{judged:?}");
        assert!(judged.message.contains(words), "{place}\n{judged:?}");
        assert_eq!(judged.message.is_empty(), judged.phase == Phase::Successful, "{place}\n{judged:?}");
    }
}

/// A metric as a table writes it: settings, and what was measured.
fn metric(name: &str, settings: &str) -> (Metric, BTreeSet<String>) {
    let mut metric = Metric { name: name.to_owned(), ..Metric::default() };
    let mut words = BTreeSet::new();
    for word in settings.split_whitespace() {
        let number = || Some(IntOrString::Int(word.split_once('=').unwrap().1.parse().unwrap()));
        match word.split('=').next().unwrap() {
            "count" => metric.count = number(),
            "forEachPod" => metric.for_each_pod = Some(ForEachPod {}),
            "interval" => metric.interval = Some("10s".to_owned()),
            "failureLimit" => metric.failure_limit = number(),
            "inconclusiveLimit" => metric.inconclusive_limit = number(),
            "consecutiveErrorLimit" => metric.consecutive_error_limit = number(),
            "consecutiveSuccessLimit" => metric.consecutive_success_limit = number(),
            other => drop(words.insert(other.to_owned())),
        }
    }
    (metric, words)
}

fn measurement(kind: char, number: usize) -> Measurement {
    let at = NOW + SignedDuration::from_secs(10 * i64::try_from(number).unwrap());
    let (phase, value, message) = match kind {
        'S' => (Phase::Successful, "1", ""),
        'F' => (Phase::Failed, "9", "successCondition \"result < 5\" is false"),
        'I' => (Phase::Inconclusive, "NaN", "the value is NaN"),
        'J' => (Phase::Failed, "", "Job has reached the specified backoff limit"),
        'P' => (
            Phase::Failed,
            r#"{"db-0":1,"db-1":9}"#,
            "pod db-1 has value 9: successCondition \"result < 5\" is false",
        ),
        'T' => (Phase::Inconclusive, "", verdict::ENDED),
        'E' => (Phase::Error, "", "connection refused"),
        'r' => (Phase::Running, "", ""),
        other => panic!("no measurement is written as {other}"),
    };
    Measurement {
        phase,
        value: value.to_owned(),
        message: message.to_owned(),
        started_at: Some(at),
        finished_at: (phase != Phase::Running).then_some(at),
        ..Measurement::default()
    }
}

fn measured(rules: &Rules, history: &str) -> MetricResult {
    let mut result =
        MetricResult { name: rules.name.clone(), dry_run: rules.dry_run, ..MetricResult::default() };
    let mut number = 0;
    for word in history.split_whitespace() {
        let (kind, times) = word.split_once('x').unwrap_or((word, "1"));
        for _ in 0..times.parse().unwrap() {
            number += 1;
            verdict::count(rules, &mut result, measurement(kind.chars().next().unwrap(), number));
        }
    }
    result
}

#[test]
fn a_metric_is_assessed_as_the_table_says() {
    for (place, row) in &metrics() {
        let [settings, history, wanted, words] = cells(place, row);
        let (metric, others) = metric("m", settings);
        let rules = read(&[metric], &[]).remove(0);
        let result = measured(&rules, history);
        let ending = match (others.contains("ended"), others.contains("decided")) {
            (true, _) => Ending::Asked,
            (false, true) => Ending::Decided,
            (false, false) => Ending::No,
        };
        let (assessed, cause) = verdict::assess(&rules, &result, ending);
        assert_eq!(assessed, phase(wanted), "{place}\n{result:?}");
        let message = cause.map(|cause| verdict::words(&rules, &result, assessed, cause)).unwrap_or_default();
        assert!(message.contains(words), "{place}\n{message}");
        assert_eq!(message.is_empty(), words.is_empty(), "{place}\n{message}");
    }
}

fn summary(text: &str) -> RunSummary {
    let numbers: Vec<u32> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [count, successful, failed, inconclusive, error] = numbers[..] else { panic!("no summary: {text}") };
    RunSummary { count, successful, failed, inconclusive, error }
}

#[test]
fn a_run_is_concluded_as_the_table_says() {
    for (place, row) in &runs() {
        let [written, ended, wanted, words, sums] = cells(place, row);
        let mut metrics = Vec::new();
        let mut dry = Vec::new();
        let mut histories = Vec::new();
        for (index, text) in written.split('/').enumerate() {
            let (settings, history) = text.split_once(':').unwrap_or(("", text));
            let (metric, others) = metric(&format!("m{index}"), settings);
            if others.contains("dry") {
                dry.push(DryRun { metric_name: format!("^m{index}$") });
            }
            metrics.push(metric);
            histories.push(history);
        }
        let rules = read(&metrics, &dry);
        let results = rules.iter().zip(&histories).map(|(rules, history)| measured(rules, history));
        let mut status =
            AnalysisRunStatus { metric_results: results.collect(), ..AnalysisRunStatus::default() };
        verdict::settle(&rules, &mut status, ended == "terminate", NOW);
        assert_eq!(status.phase, phase(wanted), "{place}\n{status:#?}");
        assert!(status.message.contains(words), "{place}\n{}", status.message);
        assert_eq!(status.message.is_empty(), words.is_empty(), "{place}\n{}", status.message);
        assert_eq!(status.completed_at.is_some(), status.phase.is_completed(), "{place}");
        let (deciding, others) = sums.split_once('+').map_or((sums, None), |(one, other)| (one, Some(other)));
        assert_eq!(status.run_summary, Some(summary(deciding)), "{place}");
        assert_eq!(status.dry_run_summary, others.map(summary), "{place}");
        let before = status.clone();
        verdict::settle(&rules, &mut status, ended == "terminate", NOW + SignedDuration::from_hours(1));
        assert_eq!(status, before, "a second look changes nothing: {place}");
    }
}

/// Two Jobs are under way when somebody ends their run; they are ended one after the other.
#[test]
fn it_does_not_matter_which_of_the_measurements_that_are_ended_is_ended_first() {
    let metrics = [metric("m0", "").0, metric("m1", "").0, metric("m2", "interval").0];
    let rules = read(&metrics, &[]);
    for order in [[0, 1], [1, 0]] {
        let results = rules.iter().zip(["r", "r", "S"]).map(|(rules, history)| measured(rules, history));
        let mut status =
            AnalysisRunStatus { metric_results: results.collect(), ..AnalysisRunStatus::default() };
        for index in order {
            assert!(!status.phase.is_completed(), "{order:?}");
            let ended = Measurement { started_at: measurement('r', 1).started_at, ..measurement('T', 9) };
            verdict::count(&rules[index], &mut status.metric_results[index], ended);
            verdict::settle(&rules, &mut status, true, NOW);
        }
        let phases: Vec<Phase> = status.metric_results.iter().map(|it| it.phase).collect();
        assert_eq!(phases, [Phase::Inconclusive, Phase::Inconclusive, Phase::Successful], "{order:?}");
    }
}

#[test]
fn a_result_whose_metric_is_gone_from_the_run_holds_nothing_up() {
    let (metric, _) = metric("m", "");
    let rules = read(&[metric], &[]);
    let gone = MetricResult { name: "gone".to_owned(), phase: Phase::Running, ..MetricResult::default() };
    let metric_results = vec![gone, measured(&rules[0], "S")];
    let mut status = AnalysisRunStatus { metric_results, ..AnalysisRunStatus::default() };
    verdict::settle(&rules, &mut status, false, NOW);
    assert_eq!((status.phase, status.run_summary), (Phase::Successful, Some(summary("1 1 0 0 0"))));
}

#[test]
fn only_so_many_measurements_are_kept_and_all_of_them_count() {
    let (metric, _) = metric("m", "interval");
    let rules = read(&[metric], &[]).remove(0);
    let result = measured(&rules, "Sx25");
    assert_eq!((result.measurements.len(), result.count, result.successful), (10, 25, 25));
    assert_eq!(result.measurements.last().unwrap().started_at, Some(NOW + SignedDuration::from_secs(250)));
}

#[test]
fn a_measurement_that_took_longer_is_counted_once() {
    let (metric, _) = metric("m", "count=2 interval");
    let rules = read(&[metric], &[]).remove(0);
    let mut result = measured(&rules, "S r");
    let begun = result.measurements.last().unwrap().started_at;
    let finished = Measurement { started_at: begun, ..measurement('S', 9) };
    verdict::count(&rules, &mut result, finished);
    assert_eq!((result.measurements.len(), result.count), (2, 2));
    assert_eq!(verdict::assess(&rules, &result, Ending::No), (Phase::Successful, None));
}
