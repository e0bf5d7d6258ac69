//! Graphite.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::wire::{Given, Play, flaws, measure, read};

const NAME: &str = "graphite";

fn settings() -> Json {
    json!({
        "address": "http://graphite.example:8080/metrics/",
        "query": "target=summarize(\n  asPercent(a.{b,c}.count, d),\n  '5min'\n)&from=-5min&format=png",
    })
}

fn ask(status: u16, body: &str) -> Play {
    measure(NAME, &settings(), &Given::default(), &[(status, body)])
}

#[test]
fn a_query_over_several_lines_is_asked_as_one_for_json() {
    let play =
        ask(200, r#"[{"target":"a","datapoints":[[0.3,1599076435],[null,1599076440],["0.5",1599076445]]}]"#);
    assert_snapshot!(play.request());
    assert_eq!(play.value(), "List([Float(0.3), Float(0.5)])");
    assert!(play.measured.unwrap().metadata.is_empty());
}

#[test]
fn only_the_first_series_is_judged_and_a_warning_says_so() {
    let body = r#"[{"target":"one","datapoints":[[1,2]]},{"target":"two","datapoints":[[5,2]]}]"#;
    let measured = ask(200, body).measured.unwrap();
    assert_snapshot!(format!("{:?}\n{:?}", measured.value, measured.metadata));
}

#[test]
fn points_without_values_are_an_empty_list() {
    assert_eq!(ask(200, r#"[{"target":"a","datapoints":[[null,1]]}]"#).value(), "List([])");
}

#[test]
fn every_refusal_is_a_sentence() {
    let rows = [
        (200, "[]"),
        (200, r#"[{"target":"a","datapoints":[]}]"#),
        (200, r#"[{"target":"a"}]"#),
        (200, r#"{"target":"a"}"#),
        (200, r#"[{"target":"a","datapoints":[[1]]}]"#),
        (200, r#"[{"target":"a","datapoints":[["high",1]]}]"#),
        (200, r#"[{"target":"a","datapoints":[[true,1]]}]"#),
        (400, "Invalid target for 'from' parameter"),
        (401, ""),
        (500, "<html>\n<body>Internal   error</body>\n</html>"),
        (200, "<html></html>"),
    ];
    let told: Vec<String> = rows.iter().map(|(status, body)| ask(*status, body).error().to_owned()).collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn settings_that_make_no_sense_are_told_by_their_path() {
    let rows = [
        json!({}),
        json!({"address": "graphite.example", "query": "summarize(a)", "timeout": 5}),
        json!({"address": "http://", "query": "target=&from=-5min"}),
    ];
    let told: Vec<String> =
        rows.iter().map(|settings| format!("{settings}\n{}", flaws(NAME, settings))).collect();
    assert_snapshot!(told.join("\n"));
    assert_eq!(read(NAME, &settings()).secret(&BTreeMap::new()), None);
}
