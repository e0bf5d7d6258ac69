//! From a question to its measurement: arguments and pods filled in, readings judged, the worst pod named.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::{
    About, Answer, Filled, Measured, OfPod, Question, Reading, RunIdentity, Subject,
};
use windlass_analysis::measurement::{measurement, of_pod, shown};
use windlass_analysis::redact::Redactor;
use windlass_analysis::rules::{self, Conditions};
use windlass_api::analysis::{Argument, ForEachPod, Measurement, Metric, Phase};

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(2)
}

fn conditions(success: Option<&str>, failure: Option<&str>) -> Arc<Conditions> {
    let metric = Metric {
        name: "m".to_owned(),
        success_condition: success.map(ToOwned::to_owned),
        failure_condition: failure.map(ToOwned::to_owned),
        ..Metric::default()
    };
    rules::read(&[metric], &[], &[]).unwrap().remove(0).conditions
}

fn question(provider: serde_json::Value, pods: Option<&[&str]>) -> Question {
    let argument = |name: &str, value: Option<&str>| Argument {
        name: name.to_owned(),
        value: value.map(ToOwned::to_owned),
        value_from: None,
    };
    Question {
        run: RunIdentity::default(),
        metric: Metric {
            name: "lag".to_owned(),
            for_each_pod: pods.map(|_| ForEachPod {}),
            provider,
            ..Metric::default()
        },
        arguments: vec![argument("host", Some("db")), argument("token", None)],
        number: 0,
        about: About::New,
        subject: pods.map(|pods| Subject {
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            name: "db".to_owned(),
            target: "b".to_owned(),
            stable: "a".to_owned(),
            updated: pods.iter().map(|pod| (*pod).to_owned()).collect(),
        }),
        conditions: Arc::default(),
    }
}

fn secrets() -> BTreeMap<String, String> {
    BTreeMap::from([("token".to_owned(), "s3cret {{pod.name}}".to_owned())])
}

#[test]
fn a_question_is_filled_with_its_arguments_and_secrets() {
    let asked = question(json!({"web": {"url": "http://{{args.host}}/", "body": "{{ args.token }}"}}), None);
    let Ok(Filled::Once(metric)) = asked.filled(&secrets()) else { unreachable!("it is asked once") };
    assert_eq!(metric.provider, json!({"web": {"url": "http://db/", "body": "s3cret {{pod.name}}"}}));
    let error = asked.filled(&BTreeMap::new()).unwrap_err().to_string();
    assert!(error.starts_with("args.token was not resolved"), "{error}");
}

#[test]
fn each_pod_gets_a_question_of_its_own() {
    let url = "http://{{pod.name}}.{{args.host}}/{{ pod.ordinal }}?t={{args.token}}";
    let asked = question(json!({"web": {"url": url}}), Some(&["db-3", "db-10"]));
    let Ok(Filled::PerPod(metrics)) = asked.filled(&secrets()) else { unreachable!("it is asked per pod") };
    let urls: Vec<(&str, &str)> = metrics
        .iter()
        .map(|(pod, metric)| (pod.as_str(), metric.provider["web"]["url"].as_str().unwrap()))
        .collect();
    // What an argument says is not filled in again.
    let wanted = [
        ("db-10", "http://db-10.db/10?t=s3cret {{pod.name}}"),
        ("db-3", "http://db-3.db/3?t=s3cret {{pod.name}}"),
    ];
    assert_eq!(urls, wanted);
}

#[test]
fn a_question_that_cannot_be_filled_says_why() {
    let pod = json!({"web": {"url": "http://{{pod.name}}/"}});
    let ordinal = json!({"web": {"url": "http://{{pod.ordinal}}/"}});
    let odd = json!({"web": {"url": "http://{{pod.ip}}/"}});
    let mut lonely = question(pod.clone(), Some(&[]));
    lonely.subject = None;
    let rows = [
        (
            question(pod.clone(), None),
            "{{pod.name}} in metric \"lag\" means nothing: it stands for a pod only in a metric with forEachPod: {}",
        ),
        (
            question(odd, Some(&["db-0"])),
            "{{pod.ip}} in metric \"lag\" means nothing: of a pod there are {{pod.name}} and {{pod.ordinal}}",
        ),
        (
            question(ordinal, Some(&["web-x7k2p"])),
            "{{pod.ordinal}} in metric \"lag\" has no value: pod \"web-x7k2p\" does not end in a number; use {{pod.name}}",
        ),
        (
            question(pod, Some(&[])),
            "metric \"lag\" looks at updated pods, and no pod is on the wanted revision yet",
        ),
        (
            lonely,
            "metric \"lag\" has forEachPod, but the run belongs to no rollout, so there are no pods to ask for",
        ),
    ];
    for (question, words) in rows {
        assert_eq!(question.filled(&secrets()).unwrap_err().to_string(), words);
    }
}

#[test]
fn a_value_is_shown_as_users_know_it() {
    let list = |items: &[f64]| Value::List(items.iter().map(|it| Value::Float(*it)).collect());
    let rows = [
        (Value::Nil, "null"),
        (Value::Bool(true), "true"),
        (Value::Integer(7), "7"),
        (Value::Float(1.0), "1"),
        (Value::Float(0.25), "0.25"),
        (Value::Float(-3.0), "-3"),
        (Value::Float(1e300), "1e+300"),
        (Value::Float(f64::NAN), "NaN"),
        (Value::Float(f64::INFINITY), "+Inf"),
        (Value::Float(f64::NEG_INFINITY), "-Inf"),
        (Value::Text("up".to_owned()), "up"),
        (list(&[]), "[]"),
        (list(&[1.0, 0.5]), "[1,0.5]"),
        (list(&[1.0, f64::NAN]), "[1,\"NaN\"]"),
        (Value::from(json!({"b": "x", "a": [1, null]})), "{\"a\":[1,null],\"b\":\"x\"}"),
    ];
    for (value, wanted) in rows {
        assert_eq!(shown(&value), wanted);
    }
    // No more of a large one is written than could be kept, and it ends where a letter ends.
    let large = Value::List(vec![Value::Text("ü…".repeat(100)); 100_000]);
    let text = shown(&large);
    assert!(text.ends_with('…') && text.len() < 17_000 && text.chars().count() > 4096, "{}", text.len());
}

fn value(json: serde_json::Value) -> Reading {
    let metadata = BTreeMap::from([("warnings".to_owned(), "slow".to_owned())]);
    Reading::Value(Measured { value: Value::from(json), metadata })
}

fn made(reading: Reading, conditions: &Conditions) -> Measurement {
    measurement(reading.into(), conditions, now()).unwrap()
}

#[test]
fn a_value_is_judged_as_it_is_and_shown_without_secrets() {
    let conditions = conditions(Some("asFloat(result.usage) < 5 && result.role == \"primary\""), None);
    let secrets = Redactor::new(["us", "primary", "1"]);
    let answer = Answer { reading: value(json!({"usage": "1.5", "role": "primary"})), secrets };
    let shown = measurement(answer, &conditions, now()).unwrap();
    assert_eq!((shown.phase, shown.message.as_str()), (Phase::Successful, ""));
    assert_eq!(shown.value, r#"{"role":"*****","*****age":"*****.5"}"#);
}

#[test]
fn no_half_of_a_secret_is_left_where_a_text_is_cut() {
    let text = format!("{}0123456789", "x".repeat(4090));
    let answer = Answer { reading: Reading::Error(text), secrets: Redactor::new(["0123456789"]) };
    let shown = measurement(answer, &Conditions::default(), now()).unwrap();
    assert!(!shown.message.contains('0'), "{}", shown.message);
}

#[test]
fn what_was_not_asked_is_no_measurement() {
    let answer = Answer::from(Reading::NotAsked("the API server does not answer".to_owned()));
    let why = measurement(answer, &Conditions::default(), now()).unwrap_err();
    assert_eq!(why, "the API server does not answer");
}

#[test]
fn a_reading_becomes_a_measurement() {
    let below_5 = conditions(Some("result < 5"), None);
    let good = made(value(json!(1.5)), &below_5);
    assert_eq!(
        good,
        Measurement {
            phase: Phase::Successful,
            message: String::new(),
            started_at: None,
            finished_at: Some(now()),
            value: "1.5".to_owned(),
            metadata: BTreeMap::from([("warnings".to_owned(), "slow".to_owned())]),
            resume_at: None,
        }
    );
    let bad = made(value(json!(9)), &below_5);
    assert_eq!((bad.phase, bad.value.as_str()), (Phase::Failed, "9"));
    assert_eq!(bad.message, "successCondition \"result < 5\" is false");
    let error = made(Reading::Error("nobody there".to_owned()), &below_5);
    assert_eq!((error.phase, error.message.as_str()), (Phase::Error, "nobody there"));
    assert_eq!((error.value.as_str(), error.finished_at), ("", Some(now())));
    let metadata = BTreeMap::from([("job-name".to_owned(), "a".to_owned())]);
    let at = now() + SignedDuration::from_secs(5);
    let later = made(Reading::Later { at, metadata: metadata.clone() }, &below_5);
    assert_eq!((later.phase, later.finished_at, later.resume_at), (Phase::Running, None, Some(at)));
    assert_eq!(later.metadata, metadata);
    let said = Reading::Verdict { phase: Phase::Inconclusive, message: "no image".to_owned(), metadata };
    let verdict = made(said, &below_5);
    assert_eq!((verdict.phase, verdict.message.as_str()), (Phase::Inconclusive, "no image"));
}

#[test]
fn a_long_value_is_cut() {
    let long = made(value(json!("x".repeat(10_000))), &Conditions::default());
    assert_eq!(long.value.chars().count(), 4097);
}

/// Pods with a number, or an error where there is none.
fn pods(all: &[(&str, Option<f64>)], conditions: &Conditions) -> Reading {
    let one = |(pod, value): &(&str, Option<f64>)| {
        let value = value.map(Value::Float).ok_or_else(|| "connection refused".to_owned());
        ((*pod).to_owned(), judged(pod, value, conditions))
    };
    Reading::PerPod(all.iter().map(one).collect())
}

fn judged(pod: &str, value: Result<Value, String>, conditions: &Conditions) -> OfPod {
    let metadata = BTreeMap::from([("query".to_owned(), format!("lag of {pod}"))]);
    of_pod(pod, value.map(|value| Measured { value, metadata }), conditions, now())
}

#[test]
fn the_worst_pod_decides_and_is_named() {
    let both = conditions(Some("result < 5"), Some("result > 10"));
    let rows = [
        (vec![("db-0", Some(1.0)), ("db-1", Some(2.0))], Phase::Successful, "", r#"{"db-0":1,"db-1":2}"#),
        (
            vec![("db-0", Some(1.0)), ("db-1", Some(7.0))],
            Phase::Inconclusive,
            "pod db-1 has value 7: neither successCondition \"result < 5\" nor failureCondition \"result > 10\" is true",
            r#"{"db-0":1,"db-1":7}"#,
        ),
        (
            vec![("db-0", Some(7.0)), ("db-1", None)],
            Phase::Error,
            "pod db-1: connection refused",
            r#"{"db-0":7,"db-1":null}"#,
        ),
        (
            vec![("db-0", None), ("db-1", Some(12.0)), ("db-2", Some(99.0))],
            Phase::Failed,
            "pod db-1 has value 12: failureCondition \"result > 10\" is true; so it is with db-2",
            r#"{"db-0":null,"db-1":12,"db-2":99}"#,
        ),
        (
            vec![("db-0", Some(f64::NAN))],
            Phase::Inconclusive,
            "pod db-0 has value NaN: the value is NaN: no condition can judge it; handle it with isNaN(…)",
            r#"{"db-0":"NaN"}"#,
        ),
        (vec![], Phase::Error, "there is no pod to ask for", ""),
    ];
    for (all, phase, message, value) in rows {
        let made = made(pods(&all, &both), &both);
        assert_eq!((made.phase, made.message.as_str(), made.value.as_str()), (phase, message, value));
    }
}

#[test]
fn a_condition_may_name_the_pod_whose_value_it_judges() {
    let metric = Metric {
        name: "lag".to_owned(),
        for_each_pod: Some(ForEachPod {}),
        success_condition: Some(r#"result["{{pod.name}}"] < 5 + {{ pod.ordinal }}"#.to_owned()),
        ..Metric::default()
    };
    let conditions = rules::read(&[metric], &[], &[]).unwrap().remove(0).conditions;
    let of_all = Value::from(json!({"db-0": 1, "db-1": 5.5, "db-2": 9}));
    let reading = |pods: &[&str]| {
        let one = |pod: &&str| ((*pod).to_owned(), judged(pod, Ok(of_all.clone()), &conditions));
        Reading::PerPod(pods.iter().map(one).collect())
    };
    let good = made(reading(&["db-0", "db-1"]), &conditions);
    assert_eq!((good.phase, good.message.as_str()), (Phase::Successful, ""));
    let bad = made(reading(&["db-0", "db-2"]), &conditions);
    assert_eq!(bad.phase, Phase::Failed);
    let told = r#"successCondition "result[\"db-2\"] < 5 + 2" is false"#;
    assert!(bad.message.starts_with("pod db-2 has value") && bad.message.ends_with(told), "{}", bad.message);
}

#[test]
fn of_many_pods_only_some_are_named() {
    let names: Vec<String> = (0..1000).map(|number| format!("db-{number:04}")).collect();
    let all: Vec<(&str, Option<f64>)> = names
        .iter()
        .enumerate()
        .map(|(at, pod)| (pod.as_str(), Some(if at < 12 { 20.0 } else { 1.0 })))
        .collect();
    let below_5 = conditions(Some("result < 5"), None);
    let made = made(pods(&all, &below_5), &below_5);
    assert!(made.message.ends_with("db-0007, db-0008 and 3 more"), "{}", made.message);
    let value: BTreeMap<String, f64> = serde_json::from_str(&made.value).unwrap();
    assert_eq!(value.len(), 12);
    assert_eq!(made.metadata["query"], "lag of db-0000");
}

#[test]
fn of_the_large_values_of_many_pods_little_is_kept() {
    let page = "# HELP lag\nlag 1\n".repeat(50_000);
    let long = conditions(Some("len(result) > 100000"), None);
    let one = |number: usize| {
        let pod = format!("db-{number}");
        (pod.clone(), judged(&pod, Ok(Value::Text(page.clone())), &long))
    };
    let all: BTreeMap<String, OfPod> = (0..100).map(one).collect();
    let kept = |of: &OfPod| of.value.as_ref().unwrap().to_string().len();
    assert!(all.values().map(kept).max() < Some(9_000));
    let made = made(Reading::PerPod(all), &long);
    assert_eq!((made.phase, made.value.chars().count()), (Phase::Successful, 4097));
}

#[test]
fn what_a_provider_needs_to_know_its_measurement_again_stays_as_it_is() {
    let needed = BTreeMap::from([("job-name".to_owned(), "1-2-3.postgres-smoke.1".to_owned())]);
    let later = Reading::Later { at: now(), metadata: needed.clone() };
    let over =
        Reading::Verdict { phase: Phase::Failed, message: "postgres".to_owned(), metadata: needed.clone() };
    for reading in [later, over] {
        let answer = Answer { reading, secrets: Redactor::new(["postgres", "1"]) };
        let made = measurement(answer, &Conditions::default(), now()).unwrap();
        assert_eq!(made.metadata, needed);
        assert!(!made.message.contains("postgres"), "{}", made.message);
    }
}

#[test]
fn of_a_page_that_repeats_a_secret_nothing_is_seen_of_it_for_several_pods_either() {
    let secret = r#"pa"ss\xyz<rd"#;
    let in_json = serde_json::Value::from(secret).to_string();
    let pages = [
        format!("user=admin password={secret} "),
        format!("{{\"user\":\"admin\",\"password\":{in_json}}} "),
        // It is cut in the middle of the secret.
        format!("{}password={secret} ", ".".repeat(1024 - 8 - "password=".len())),
    ];
    for page in pages {
        let page = page + &"# HELP lag\nlag 1\n".repeat(400);
        for length in [page.len(), 900] {
            let value = Value::Text(page[..length].to_owned());
            let below_5 = conditions(Some("len(result) < 5"), None);
            let of = BTreeMap::from([("db-0".to_owned(), judged("db-0", Ok(value), &below_5))]);
            let answer = Answer { reading: Reading::PerPod(of), secrets: Redactor::new([secret]) };
            let made = measurement(answer, &below_5, now()).unwrap();
            for shown in [&made.value, &made.message] {
                assert!(!shown.contains("pa\\") && !shown.contains("xyz"), "{shown:.100}");
                assert!(length < 1000 || shown.contains("*****"), "{shown:.100}");
            }
        }
    }
}
