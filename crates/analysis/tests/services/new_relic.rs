//! New Relic.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};
use windlass_analysis::providers::{SecretPlace, SecretWanted};

use super::wire::{Given, Play, flaws, measure, read};

const NAME: &str = "newRelic";

const SECRET: [(&str, &str); 2] = [("personal-api-key", "the-key"), ("account-id", "2345")];

fn settings() -> Json {
    json!({"query": "FROM Transaction SELECT percentage(count(*), WHERE error IS NULL) AS \"ok\""})
}

fn results(results: &Json) -> String {
    json!({"data": {"actor": {"account": {"nrql": {"results": results}}}}}).to_string()
}

fn ask(status: u16, body: &str) -> Play {
    measure(NAME, &settings(), &Given::secret(&SECRET), &[(status, body)])
}

#[test]
fn nerd_graph_is_asked_with_the_query_as_a_variable() {
    assert_snapshot!(ask(200, &results(&json!([{"ok": 99.5}]))).request());
}

#[test]
fn one_result_is_a_map_and_several_are_a_list_of_maps() {
    assert_eq!(ask(200, &results(&json!([{"ok": 99.5}]))).value(), r#"Map({"ok": Float(99.5)})"#);
    let several = json!([{"facet": "a", "count": 1}, {"facet": "b", "count": null}]);
    assert_eq!(
        ask(200, &results(&several)).value(),
        r#"List([Map({"count": Float(1.0), "facet": Text("a")}), Map({"count": Nil, "facet": Text("b")})])"#
    );
}

#[test]
fn the_region_and_the_address_come_from_the_secret_and_the_time_from_the_settings() {
    let head = |more: &[(&str, &str)], settings: &Json| {
        let secret = [SECRET.as_slice(), more].concat();
        let body = results(&json!([{"ok": 1}]));
        let play = measure(NAME, settings, &Given::secret(&secret), &[(200, body.as_str())]);
        play.request().lines().take(3).collect::<Vec<_>>().join(" | ")
    };
    let heads = [
        head(&[("region", "US")], &settings()),
        head(&[("region", "eu\n")], &settings()),
        head(&[("region", "staging")], &settings()),
        head(&[("region", "eu"), ("base-url-nerdgraph", "http://nr.example/nerd/graphql")], &settings()),
        head(&[], &json!({"query": "FROM a SELECT b", "timeout": "60"})),
    ];
    assert_snapshot!(heads.join("\n"));
}

#[test]
fn every_refusal_is_a_sentence() {
    let invalid = r#"{"data":{"actor":{"account":{"nrql":null}}},"errors":[{"extensions":{"errorClass":"TIMEOUT"},"message":"NRQL Syntax Error: Error at line 1 position 5"},{"message":"and more"}]}"#;
    let rows = [
        (401, r#"{"errors":[{"message":"The API key the-key provided is invalid"}]}"#.to_owned()),
        (200, invalid.to_owned()),
        (200, r#"{"errors":[{"extensions":{}}]}"#.to_owned()),
        (200, r#"{"data":{"actor":{"account":null}}}"#.to_owned()),
        (200, results(&json!([]))),
        (200, results(&json!([{}]))),
        (429, r#"{"errors":[{"message":"Too many requests"}]}"#.to_owned()),
        (502, "<html>Bad gateway</html>".to_owned()),
        (200, "<html>A proxy</html>".to_owned()),
    ];
    let told: Vec<String> = rows.iter().map(|(status, body)| ask(*status, body).error().to_owned()).collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn without_credentials_nothing_is_asked() {
    let secrets: [&[(&str, &str)]; 5] = [
        &[],
        &SECRET[..1],
        &[("personal-api-key", "the-key"), ("account-id", "mine")],
        &[SECRET[0], SECRET[1], ("region", "mars")],
        &[SECRET[0], SECRET[1], ("base-url-nerdgraph", "nr.example")],
    ];
    let told: Vec<String> = secrets
        .iter()
        .map(|secret| measure(NAME, &settings(), &Given::secret(secret), &[]).error().to_owned())
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn the_secret_is_named_by_the_profile_and_is_needed() {
    let wanted = |settings: &Json| read(NAME, settings).secret(&BTreeMap::new());
    let secret = |name: &str| {
        Some(SecretWanted { name: name.to_owned(), place: SecretPlace::Controller, optional: false })
    };
    assert_eq!(wanted(&settings()), secret("newrelic"));
    assert_eq!(wanted(&json!({"query": "q", "profile": "mine"})), secret("mine"));
}

#[test]
fn settings_that_make_no_sense_are_told_by_their_path() {
    let rows = [
        json!({}),
        json!({"query": ["a"], "timeout": -1, "profil": "a"}),
        json!({"query": "a", "timeout": 121}),
    ];
    let told: Vec<String> =
        rows.iter().map(|settings| format!("{settings}\n{}", flaws(NAME, settings))).collect();
    assert_snapshot!(told.join("\n"));
}
