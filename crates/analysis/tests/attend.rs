//! One run from its first look to its last, in the time of the test.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod attend {
    mod ending;
}

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use windlass_analysis::attend::{Answered, Attended, News, attend};
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::{About, Answer, Measured, Owner, Reading, RunIdentity, Subject, Whom};
use windlass_analysis::measurement::measurement;
use windlass_analysis::rules::Conditions;
use windlass_api::analysis::{AnalysisRunSpec, AnalysisRunStatus, Metric, Phase};

/// A run under test: what is stored of it, what is on its way, and the time.
struct Run {
    uid: String,
    spec: AnalysisRunSpec,
    status: AnalysisRunStatus,
    open: BTreeMap<String, (Timestamp, u32, Arc<Conditions>)>,
    answers: Vec<Answered>,
    now: Timestamp,
    job_is_over: bool,
    obstacle: Option<String>,
    whom: Whom,
    troubles: BTreeMap<String, String>,
    since: Timestamp,
}

fn run(spec: serde_json::Value) -> Run {
    Run {
        uid: "1-2-3".to_owned(),
        spec: serde_json::from_value(spec).unwrap(),
        status: AnalysisRunStatus::default(),
        open: BTreeMap::new(),
        answers: Vec::new(),
        now: Timestamp::from_second(1_800_000_000).unwrap(),
        job_is_over: false,
        obstacle: None,
        whom: Whom::Nobody,
        troubles: BTreeMap::new(),
        since: Timestamp::MIN,
    }
}

fn metric(name: &str, more: &serde_json::Value) -> serde_json::Value {
    let mut metric = json!({"name": name, "successCondition": "result < 0.1", "provider": {"web": {"url": "http://metrics/"}}});
    metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metric
}

impl Run {
    fn look(&mut self) -> Attended {
        let identity = RunIdentity {
            namespace: "data".to_owned(),
            name: "run".to_owned(),
            uid: self.uid.clone(),
            owner: if self.whom == Whom::Nobody { Owner::Nobody } else { Owner::Rollout },
        };
        let asked: BTreeSet<String> = self.open.keys().cloned().collect();
        let over = |_: &BTreeMap<String, String>| self.job_is_over;
        let obstacle = |metric: &Metric| self.obstacle.clone().or_else(|| self.whom.obstacle(metric));
        let news = News {
            answers: &self.answers,
            asked: &asked,
            over: &over,
            obstacle: &obstacle,
            troubles: &self.troubles,
            since: self.since,
        };
        let attended = attend(&identity, &self.spec, &self.status, news, self.now);
        for ask in &attended.ask {
            let asked = (self.now, ask.number, Arc::clone(&ask.conditions));
            self.open.insert(ask.metric.name.clone(), asked);
        }
        if attended.status != self.status {
            // Asked first, then stored, then looked at again, as the controller does.
            self.status = attended.status;
            self.answers = attended.left;
            let mut again = self.look();
            again.ask.splice(0..0, attended.ask);
            return again;
        }
        self.answers.clone_from(&attended.left);
        attended
    }

    fn answer(&mut self, metric: &str, reading: Reading) {
        let (asked_at, number, conditions) = self.open.remove(metric).unwrap();
        if let Ok(made) = measurement(Answer::from(reading), &conditions, self.now) {
            self.answers.push(Answered { metric: metric.to_owned(), number, asked_at, made });
        }
    }

    /// What is asked now, after letting so much time pass.
    fn after(&mut self, seconds: i64) -> Vec<String> {
        self.now += SignedDuration::from_secs(seconds);
        self.look().ask.into_iter().map(|ask| ask.metric.name).collect()
    }
}

fn value(number: f64) -> Reading {
    Reading::Value(Measured { value: Value::Float(number), metadata: BTreeMap::new() })
}

#[test]
fn runs_that_begin_together_do_not_ask_together() {
    let begins = |interval: &str, uid: usize| {
        let mut run = run(json!({"metrics": [metric("errors", &json!({"interval": interval, "count": 2}))]}));
        run.uid = format!("uid-{uid}");
        let wake = run.look().wake;
        wake.map_or(SignedDuration::ZERO, |wake| wake.duration_since(run.now))
    };
    for (interval, most) in [("10s", 500), ("1m", 3000), ("1h", 5000)] {
        let all: BTreeSet<SignedDuration> = (0..100).map(|uid| begins(interval, uid)).collect();
        assert!(all.len() > 80, "{interval}: {all:?}");
        let last = all.last().copied().unwrap();
        let most = SignedDuration::from_millis(most);
        assert!(last <= most && last > most / 2, "{interval}: {last:?}");
        assert_eq!(begins(interval, 7), begins(interval, 7), "whoever asks");
    }
}

#[test]
fn runs_that_waited_together_for_a_controller_do_not_ask_together() {
    let asked_after = |uid: usize| {
        let mut run = run(json!({"metrics": [metric("errors", &json!({"interval": "10s", "count": 9}))]}));
        run.uid = format!("uid-{uid}");
        let first = run.look().wake;
        run.now = first.unwrap_or(run.now);
        run.look();
        run.answer("errors", value(0.01));
        run.look();
        // Nobody leads for a minute.
        run.now += SignedDuration::from_mins(1);
        run.since = run.now;
        let looked = run.look();
        let Some(wake) = looked.wake else {
            assert_eq!(looked.ask.len(), 1);
            return SignedDuration::ZERO;
        };
        assert!(looked.ask.is_empty());
        run.now = wake;
        assert_eq!(run.look().ask.len(), 1, "and no later");
        // From then on it keeps its distance by itself.
        run.answer("errors", value(0.01));
        assert_eq!(run.look().wake, Some(wake + SignedDuration::from_secs(10)));
        wake.duration_since(run.since)
    };
    let all: BTreeSet<SignedDuration> = (0..100).map(asked_after).collect();
    assert!(all.len() > 80, "{all:?}");
    assert!(all.last().is_some_and(|last| *last <= SignedDuration::from_millis(500)), "{all:?}");
}

#[test]
fn a_run_measures_as_often_as_it_should_and_ends() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({"interval": "10s", "count": 2}))]}));
    let first = run.look();
    assert_eq!(run.status.phase, Phase::Running);
    // Spread: runs that begin together do not ask together.
    let begins = first.wake.map_or(run.now, |wake| wake);
    assert!(begins <= run.now + SignedDuration::from_millis(500));
    run.now = begins;
    run.look();
    assert!(run.open.contains_key("errors"));
    assert!(run.after(3).is_empty(), "one question at a time");
    run.answer("errors", value(0.01));
    assert!(run.after(0).is_empty());
    assert!(run.after(9).is_empty(), "the interval counts from the end of the last one");
    assert_eq!(run.after(1), ["errors"]);
    run.answer("errors", value(0.02));
    run.look();
    assert_eq!(run.status.phase, Phase::Successful);
    assert_eq!(run.status.metric_results[0].count, 2);
    assert!(run.status.completed_at.is_some());
}

#[test]
fn a_metric_is_known_by_its_name_with_the_arguments_filled_in() {
    let metrics = [metric("{{args.service}}-errors", &json!({"interval": "10s", "count": 2}))];
    let mut run = run(json!({"metrics": metrics, "args": [{"name": "service", "value": "db"}]}));
    run.look();
    assert_eq!(run.after(1), ["db-errors"]);
    assert!(run.after(3).is_empty(), "one question at a time");
    run.answer("db-errors", value(0.01));
    assert!(run.after(0).is_empty(), "the answer counts");
    assert_eq!(run.after(10), ["db-errors"]);
    run.answer("db-errors", value(0.02));
    run.look();
    assert_eq!((run.status.phase, run.status.metric_results.len()), (Phase::Successful, 1));
}

#[test]
fn the_query_of_a_metric_is_told_even_if_it_was_never_answered() {
    let metrics = json!([{"name": "errors", "provider": {"prometheus": {
        "address": "http://prometheus", "query": "rate(errors{app=\"{{args.app}}\"}[{{args.window}}])",
    }}}]);
    let secret = json!({"secretKeyRef": {"name": "apps", "key": "db"}});
    let args = json!([{"name": "window", "value": "5m"}, {"name": "app", "valueFrom": secret}]);
    let mut run = run(json!({"metrics": metrics, "args": args}));
    run.look();
    run.answer("errors", Reading::Error("connection refused".to_owned()));
    run.look();
    let told = &run.status.metric_results[0];
    assert_eq!(told.error, 1);
    assert_eq!(told.metadata["ResolvedPrometheusQuery"], "rate(errors{app=\"*****\"}[5m])");
}

#[test]
fn a_bad_value_ends_the_run_and_what_comes_late_changes_nothing() {
    let metrics = [metric("errors", &json!({})), metric("latency", &json!({}))];
    let mut run = run(json!({"metrics": metrics}));
    run.look();
    assert_eq!(run.open.len(), 2);
    run.answer("errors", value(0.5));
    run.look();
    assert_eq!(run.status.phase, Phase::Failed);
    let verdict = run.status.clone();
    run.answer("latency", value(0.5));
    run.look();
    assert_eq!(run.status, verdict);
}

#[test]
fn an_answer_that_somebody_else_has_stored_meanwhile_is_not_counted_twice() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({"interval": "10s", "count": 9}))]}));
    run.look();
    run.now += SignedDuration::from_secs(1);
    run.look();
    run.answer("errors", value(0.01));
    let late = run.answers.clone();
    run.look();
    assert_eq!(run.status.metric_results[0].count, 1);
    run.answers = late;
    run.look();
    assert_eq!(run.status.metric_results[0].count, 1);
}

#[test]
fn a_clock_that_is_set_back_silences_no_metric() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({"interval": "1m"}))]}));
    run.look();
    run.after(3);
    run.answer("errors", value(0.01));
    assert!(run.after(0).is_empty());
    assert_eq!(run.after(-3600), ["errors"], "at once, not an hour later");
    run.now += SignedDuration::from_secs(1);
    run.answer("errors", value(0.02));
    assert!(run.after(0).is_empty());
    assert_eq!(run.status.metric_results[0].count, 2, "and its answer counts");
    assert!(run.after(59).is_empty());
    assert_eq!(run.after(1), ["errors"]);
}

#[test]
fn a_run_that_makes_no_sense_is_over_before_anything_is_asked() {
    let mut run = run(
        json!({"metrics": [metric("errors", &json!({"successCondition": "result <", "count": "many"}))]}),
    );
    let attended = run.look();
    assert!(attended.ask.is_empty());
    assert_eq!(run.status.phase, Phase::Error);
    assert!(
        run.status.message.starts_with("Analysis spec invalid: spec.metrics[0].count"),
        "{}",
        run.status.message
    );
    assert!(run.status.completed_at.is_some(), "its time to live can begin");
}

#[test]
fn a_run_whose_arguments_cannot_be_resolved_says_so_in_the_words_that_users_know() {
    let rows = [
        (json!({"name": "host"}), "args.host was not resolved: give it a value"),
        (
            json!({"name": "host", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
            "args.host was not resolved: fieldRef is about a rollout, and this run belongs to none",
        ),
        (
            json!({"name": "host", "valueFrom": {"podTemplateHashValue": "Latest"}}),
            "args.host was not resolved: podTemplateHashValue is about a rollout, and this run belongs to none",
        ),
    ];
    for (argument, told) in rows {
        let mut run = run(json!({"metrics": [metric("errors", &json!({}))], "args": [argument]}));
        assert!(run.look().ask.is_empty());
        assert_eq!(run.status.phase, Phase::Error);
        let message = &run.status.message;
        assert!(message.starts_with(&format!("Unable to resolve metric arguments: {told}")), "{message}");
    }
}

#[test]
fn of_many_mistakes_the_first_are_told() {
    let wrong: Vec<_> = (0..500).map(|it| metric(&format!("m{it}"), &json!({"interval": "often"}))).collect();
    let mut run = run(json!({"metrics": wrong}));
    run.look();
    assert!(run.status.message.ends_with("; and 490 more"), "{}", run.status.message);
}

#[test]
fn a_run_that_stands_alone_has_no_pods_to_ask_for() {
    let mut run = run(json!({"metrics": [metric("lag", &json!({"forEachPod": {}}))]}));
    assert!(run.look().ask.is_empty());
    let told = "Analysis spec invalid: spec.metrics[0].forEachPod: the run belongs to no rollout, so there is \
                no workload and no pod to look at";
    assert_eq!((run.status.phase, run.status.message.as_str()), (Phase::Error, told));
}

#[test]
fn a_run_that_stands_alone_does_not_find_that_nobody_is_healthy() {
    let of = |expression: &str, given: &str| {
        let mut run = run(looking(expression, given));
        run.look();
        run.status.phase
    };
    for expression in
        ["updated.all(it, it.ready)", "pods.size() == 0", "workload == null", "stable == target"]
    {
        assert_eq!(of(expression, ""), Phase::Error, "{expression}");
        assert_eq!(of("{{args.check}}", expression), Phase::Error, "{expression}, given as an argument");
    }
    assert_eq!(of("object.data.updated == 'pods'", ""), Phase::Running);
    assert_eq!(of("object.status.updated >= {{args.check}}", "3"), Phase::Running, "a field is no pod");
}

/// A run with an expression over the cluster, and its one argument.
fn looking(expression: &str, given: &str) -> serde_json::Value {
    json!({
        "args": [{"name": "check", "value": given}],
        "metrics": [{"name": "calm", "provider": {"kubernetes": {
            "expression": expression, "object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"},
        }}}],
    })
}

#[test]
fn an_expression_over_updated_pods_waits_for_one_even_if_it_is_given_as_an_argument() {
    let mut run = run(looking("{{args.check}}", "updated.all(it, it.ready)"));
    let mut subject = Subject {
        api_version: "apps/v1".to_owned(),
        kind: "StatefulSet".to_owned(),
        name: "db".to_owned(),
        target: "db-b".to_owned(),
        stable: "db-a".to_owned(),
        updated: Vec::new(),
    };
    run.whom = Whom::Workload(subject.clone());
    assert!(run.look().ask.is_empty());
    let told = "metric \"calm\" looks at updated pods, and no pod is on the wanted revision yet";
    assert_eq!(run.status.metric_results[0].message, told);
    subject.updated.push("db-2".to_owned());
    run.whom = Whom::Workload(subject);
    assert_eq!(run.after(0), ["calm"]);
}

#[test]
fn a_run_that_is_ended_asks_nothing_more_and_is_over() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({"interval": "10s"}))]}));
    run.after(1);
    run.spec.terminate = true;
    let attended = run.look();
    assert!(attended.ask.is_empty());
    assert_eq!((run.status.phase, run.status.message.as_str()), (Phase::Successful, "Run Terminated"));
}

#[test]
fn a_measurement_that_takes_longer_is_asked_after_when_its_time_comes_or_it_is_told_over() {
    let mut run = run(
        json!({"metrics": [{"name": "smoke", "provider": {"job": {"spec": {"template": {"spec": {}}}}}}]}),
    );
    run.look();
    let metadata = BTreeMap::from([("job-name".to_owned(), "smoke.1".to_owned())]);
    let at = run.now + SignedDuration::from_secs(30);
    run.answer("smoke", Reading::Later { at, metadata: metadata.clone() });
    let waits = run.look();
    assert_eq!((waits.ask.len(), waits.wake), (0, Some(at)));
    run.job_is_over = true;
    run.now += SignedDuration::from_secs(2);
    let resumed = run.look();
    assert!(matches!(&resumed.ask[0].about, About::Resumed { metadata: known, .. } if *known == metadata));
    run.answer("smoke", Reading::Verdict { phase: Phase::Successful, message: String::new(), metadata });
    run.look();
    assert_eq!(run.status.phase, Phase::Successful);
    assert_eq!(run.status.metric_results[0].measurements.len(), 1);
}

#[test]
fn what_keeps_a_metric_from_being_asked_is_told_until_it_is_answered() {
    let mut run = run(json!({"metrics": [metric("errors", &json!({}))]}));
    run.look();
    run.troubles.insert("errors".to_owned(), "the webhook is down".to_owned());
    run.look();
    assert_eq!(run.status.metric_results[0].message, "the webhook is down");
    run.answer("errors", Reading::NotAsked("the webhook is down".to_owned()));
    assert_eq!(run.look().ask.len(), 1, "it is asked again");
    assert_eq!(run.status.metric_results[0].message, "the webhook is down");
    run.troubles.clear();
    run.answer("errors", value(0.01));
    run.look();
    assert_eq!(run.status.metric_results[0].message, "");
}

#[test]
fn what_could_not_be_asked_is_no_measurement_and_what_takes_longer_goes_on() {
    let smoke = json!({"name": "smoke", "provider": {"job": {"spec": {"template": {"spec": {}}}}}});
    let mut run = run(json!({"metrics": [smoke]}));
    run.look();
    run.answer("smoke", Reading::NotAsked("this controller does not lead".to_owned()));
    assert_eq!(run.look().ask[0].about, About::New, "it is asked again");
    assert!(run.status.metric_results[0].measurements.is_empty());
    let metadata = BTreeMap::from([("job-name".to_owned(), "smoke.1".to_owned())]);
    run.answer("smoke", Reading::Later { at: run.now, metadata: metadata.clone() });
    run.look();
    run.answer("smoke", Reading::NotAsked("no answer from the API server".to_owned()));
    let again = run.look();
    assert!(matches!(&again.ask[0].about, About::Resumed { metadata: known, .. } if *known == metadata));
    assert_eq!((run.status.metric_results[0].measurements.len(), run.status.metric_results[0].error), (1, 0));
}

#[test]
fn a_metric_that_there_is_nobody_to_ask_about_says_so_until_there_is() {
    let mut run = run(json!({"metrics": [metric("lag", &json!({}))]}));
    run.obstacle = Some("no pod is on the wanted revision yet".to_owned());
    assert!(run.look().ask.is_empty());
    let told = run.status.metric_results[0].clone();
    assert_eq!((told.phase, told.message.as_str()), (Phase::Pending, "no pod is on the wanted revision yet"));
    run.obstacle = None;
    assert_eq!(run.after(0), ["lag"]);
    assert_eq!(run.status.metric_results[0].message, "");
}

#[test]
fn a_finished_run_says_when_it_is_to_be_deleted() {
    let mut run =
        run(json!({"metrics": [metric("errors", &json!({}))], "ttlStrategy": {"secondsAfterSuccess": 60}}));
    run.look();
    run.answer("errors", value(0.01));
    let over = run.look();
    assert_eq!((over.expired, over.wake), (false, Some(run.now + SignedDuration::from_secs(60))));
    run.now += SignedDuration::from_secs(60);
    assert!(run.look().expired);
}
