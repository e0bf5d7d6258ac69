//! Templates that are put together, and arguments that are filled in.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is test code"
)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_analysis::arguments::{self, ArgumentError};
use windlass_analysis::templates;
use windlass_api::analysis::{AnalysisTemplateSpec, Argument, Metric, TemplateReference};

fn reference(name: &str) -> TemplateReference {
    let cluster_scope = name.starts_with("cluster/");
    TemplateReference { template_name: name.trim_start_matches("cluster/").to_owned(), cluster_scope }
}

/// Templates by name, each with its spec.
fn known(templates: &[(&str, Value)]) -> BTreeMap<TemplateReference, AnalysisTemplateSpec> {
    templates
        .iter()
        .map(|(name, spec)| (reference(name), serde_json::from_value(spec.clone()).unwrap()))
        .collect()
}

/// A template with one metric of its name, which refers to others.
fn template(name: &str, others: &[&str]) -> Value {
    let others: Vec<Value> =
        others.iter().map(|name| serde_json::to_value(reference(name)).unwrap()).collect();
    json!({"metrics": [{"name": name.trim_start_matches("cluster/"), "provider": {}}], "templates": others})
}

fn flatten(wanted: &[&str], templates: &[(&str, Value)]) -> Result<Vec<String>, String> {
    let wanted: Vec<TemplateReference> = wanted.iter().map(|name| reference(name)).collect();
    templates::flatten(&wanted, &known(templates), &BTreeSet::new())
        .map(|spec| spec.metrics.into_iter().map(|metric| metric.name).collect())
        .map_err(|error| error.to_string())
}

fn argument(name: &str, value: Option<&str>) -> Argument {
    Argument { name: name.to_owned(), value: value.map(str::to_owned), value_from: None }
}

fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn templates_are_put_together_with_those_they_refer_to_once_each() {
    let templates = [
        ("a", template("a", &["b", "cluster/c"])),
        ("b", template("b", &["cluster/c"])),
        ("cluster/c", template("cluster/c", &[])),
        ("d", template("d", &["a"])),
    ];
    assert_eq!(flatten(&["a"], &templates).unwrap(), ["a", "b", "c"]);
    assert_eq!(flatten(&["d", "b"], &templates).unwrap(), ["d", "a", "b", "c"]);
    assert_eq!(flatten(&["a", "a"], &templates).unwrap(), ["a", "b", "c"]);
}

#[test]
fn templates_that_refer_to_each_other_in_a_circle_are_refused_with_the_circle() {
    let templates = [
        ("a", template("a", &["b"])),
        ("b", template("b", &["c"])),
        ("c", template("c", &["b"])),
        ("self", template("self", &["self"])),
    ];
    assert_eq!(
        flatten(&["a"], &templates).unwrap_err(),
        "templates refer to each other in a circle: b -> c -> b"
    );
    assert_eq!(
        flatten(&["self"], &templates).unwrap_err(),
        "templates refer to each other in a circle: self -> self"
    );
}

#[test]
fn a_long_row_of_templates_is_refused_in_words_and_read_at_once() {
    let row = |length: usize| -> BTreeMap<TemplateReference, AnalysisTemplateSpec> {
        let one = |number: usize| {
            let below =
                if number + 1 < length { vec![reference(&format!("t{}", number + 1))] } else { Vec::new() };
            let args = (0..10).map(|arg| argument(&format!("{number}-{arg}"), Some("x"))).collect();
            let spec = AnalysisTemplateSpec { templates: below, args, ..AnalysisTemplateSpec::default() };
            (reference(&format!("t{number}")), spec)
        };
        (0..length).map(one).collect()
    };
    let read = |templates: &BTreeMap<TemplateReference, AnalysisTemplateSpec>,
                wanted: &[TemplateReference]| {
        templates::flatten(wanted, templates, &BTreeSet::new()).map(|whole| whole.args.len())
    };
    let started = std::time::Instant::now();
    assert_eq!(read(&row(50), &[reference("t0")]).unwrap(), 500);
    let long = row(20_000);
    assert_eq!(
        read(&long, &[reference("t0")]).unwrap_err().to_string(),
        "more than 50 templates refer to each other in a row, up to AnalysisTemplate \"t50\": name it where the first \
         one is used"
    );
    assert_eq!(templates::closure(&[reference("t0")], &long).len(), 20_000);
    let last_first: Vec<TemplateReference> =
        (0..20_000).rev().map(|number| reference(&format!("t{number}"))).collect();
    assert_eq!(read(&long, &last_first).unwrap(), 200_000);
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_template_that_does_not_exist_is_named_with_the_one_that_wants_it() {
    let templates = [("a", template("a", &["cluster/gone"]))];
    assert_eq!(flatten(&["b"], &templates).unwrap_err(), "AnalysisTemplate \"b\" does not exist");
    assert_eq!(
        flatten(&["a"], &templates).unwrap_err(),
        "ClusterAnalysisTemplate \"gone\" does not exist, but AnalysisTemplate \"a\" refers to it"
    );
}

#[test]
fn two_metrics_of_one_name_and_two_sources_of_one_argument_are_refused() {
    let twins = [("a", json!({"metrics": [{"name": "x", "provider": {}}]})), ("b", template("x", &[]))];
    assert!(flatten(&["a", "b"], &twins).unwrap_err().contains("two metrics are named \"x\""));
    let with = |value: &str| json!({"args": [{"name": "host", "value": value}]});
    let values = [("a", with("one")), ("b", with("two")), ("c", json!({"args": [{"name": "host"}]}))];
    assert_eq!(
        flatten(&["a", "b"], &values).unwrap_err(),
        "argument \"host\" comes from two sources, the value \"one\" and the value \"two\": give it one, where the \
         templates are used"
    );
    let none = BTreeSet::new();
    let merged = templates::flatten(&[reference("c"), reference("a")], &known(&values), &none).unwrap();
    assert_eq!(merged.args, [argument("host", Some("one"))]);
    let given = BTreeSet::from(["host"]);
    assert!(templates::flatten(&[reference("a"), reference("b")], &known(&values), &given).is_ok());
}

#[test]
fn two_secrets_for_one_argument_are_refused_by_their_names() {
    let with = |from: Value| json!({"args": [{"name": "token", "valueFrom": from}]});
    let secret = |name: &str| with(json!({"secretKeyRef": {"name": name, "key": "read"}}));
    let templates = [
        ("a", secret("a")),
        ("same", secret("a")),
        ("b", secret("b")),
        ("field", with(json!({"fieldRef": {"fieldPath": "metadata.name"}}))),
        ("revision", with(json!({"podTemplateHashValue": "Latest"}))),
        ("value", json!({"args": [{"name": "token", "value": "open"}]})),
        ("none", json!({"args": [{"name": "token"}]})),
    ];
    for fits in [["a", "same"], ["none", "a"], ["a", "none"]] {
        assert!(flatten(&fits, &templates).is_ok(), "{fits:?}");
    }
    let secret = "key \"read\" of the Secret \"a\"";
    for (other, words) in [
        ("b", "key \"read\" of the Secret \"b\""),
        ("field", "the field metadata.name"),
        ("revision", "the revision Latest"),
        ("value", "the value \"open\""),
    ] {
        let told = flatten(&["a", other], &templates).unwrap_err();
        assert!(told.contains(&format!("comes from two sources, {secret} and {words}: ")), "{told}");
    }
}

#[test]
fn what_has_to_be_looked_up_is_known_before_it_is_put_together() {
    let templates = known(&[("a", template("a", &["b", "c"])), ("b", template("b", &["a", "d"]))]);
    let names: Vec<String> =
        templates::closure(&[reference("a")], &templates).into_iter().map(|it| it.template_name).collect();
    assert_eq!(names, ["a", "b", "d", "c"]);
}

#[test]
fn what_a_user_gives_wins_over_the_template_and_unknown_names_are_told() {
    let declared = [argument("host", Some("default")), argument("port", None), argument("path", Some("/"))];
    let given = [argument("host", Some("db")), argument("prot", Some("80")), argument("path", None)];
    let (merged, unknown) = arguments::merge(&declared, &given);
    assert_eq!(merged, [argument("host", Some("db")), argument("port", None), argument("path", Some("/"))]);
    assert_eq!(unknown, ["prot"]);
    let error = arguments::values(&merged, &BTreeMap::new()).unwrap_err();
    assert_eq!(error, ArgumentError::Unresolved("port".to_owned()));
    let resolved = arguments::values(&merged, &values(&[("port", "5432")])).unwrap();
    assert_eq!(resolved, values(&[("host", "db"), ("path", "/"), ("port", "5432")]));
}

#[test]
fn arguments_are_filled_into_every_text_of_a_metric() {
    let metric: Metric = serde_json::from_value(json!({
        "name": "{{args.name}}", "interval": "{{ args.interval }}", "count": "{{args.count}}", "failureLimit": 1,
        "successCondition": "result < {{args.limit}}",
        "provider": {"web": {"url": "http://{{args.host}}/{{args.host}}", "headers": [{"key": "{{args.name}}", "value": "a \"quote\""}]}},
    }))
    .unwrap();
    let given = values(&[
        ("name", "errors \"x\""),
        ("interval", "30s"),
        ("count", "3"),
        ("limit", "0.5"),
        ("host", "db:80"),
    ]);
    let filled = arguments::fill(&metric, &given).unwrap();
    assert_eq!(
        serde_json::to_value(filled).unwrap(),
        json!({
            "name": "errors \"x\"", "interval": "30s", "count": "3", "failureLimit": 1,
            "successCondition": "result < 0.5",
            "provider": {"web": {"url": "http://db:80/db:80", "headers": [{"key": "errors \"x\"", "value": "a \"quote\""}]}},
        })
    );
}

#[test]
fn a_tag_that_means_nothing_is_refused_with_what_could_be_meant() {
    let fill = |text: &str| {
        let metric = Metric { name: "m".to_owned(), interval: Some(text.to_owned()), ..Metric::default() };
        arguments::fill(&metric, &values(&[("host", "db")])).map(|metric| metric.interval.unwrap())
    };
    let told = |text: &str| fill(text).unwrap_err().to_string();
    assert_eq!(
        told("{{args.hst}}"),
        "{{args.hst}} in metric \"m\" means nothing: declare it in args (declared: host)"
    );
    assert!(told("{{inputs.host}}").contains("only {{args.name}} is filled in"));
    // Braces without an end are text.
    assert_eq!(fill("{{args.host").unwrap(), "{{args.host");
    assert_eq!(fill("{{args.host}}{{args.host}}").unwrap(), "dbdb");
}
