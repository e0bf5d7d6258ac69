//! InfluxDB.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};
use windlass_analysis::providers::{SecretPlace, SecretWanted};

use super::wire::{Given, Play, flaws, measure, read};

const NAME: &str = "influxdb";

const SECRET: [(&str, &str); 3] =
    [("address", "http://influx.example:8086/"), ("authToken", "the-token"), ("org", "my org")];

fn settings() -> Json {
    json!({"query": "from(bucket: \"app\")\n  |> range(start: -5m)"})
}

fn ask(status: u16, body: &str) -> Play {
    measure(NAME, &settings(), &Given::secret(&SECRET), &[(status, body)])
}

/// A table with one column of a type, as the server writes it.
fn table(kind: &str, default: &str, values: &[&str]) -> String {
    let head = format!(
        "#datatype,string,long,{kind}\r\n#group,false,false,false\r\n#default,_result,,{default}\r\n,result,table,_value\r\n"
    );
    let rows: Vec<String> = values.iter().map(|value| format!(",,0,{value}\r\n")).collect();
    format!("{head}{}\r\n", rows.concat())
}

#[test]
fn the_query_is_sent_with_the_token_for_csv_with_notes() {
    assert_snapshot!(ask(200, &table("double", "", &["0.5"])).request());
}

#[test]
fn every_type_of_a_column_becomes_its_value() {
    let value = |kind: &str, default: &str, values: &[&str]| ask(200, &table(kind, default, values)).value();
    let told = [
        value("double", "", &["0.5", "1e3", "+Inf", "-Inf", "NaN", ""]),
        value("long", "7", &["-5", ""]),
        value("unsignedLong", "", &["5", "18446744073709551615"]),
        value("boolean", "", &["true", "false"]),
        value("string", "", &["a", "\"b,\"\"c\"\"\r\nd\"", ""]),
        value("dateTime:RFC3339", "", &["2020-09-02T19:53:55.5Z"]),
        value("duration", "", &["1m30s"]),
    ];
    assert_snapshot!(told.join("\n"));
}

#[test]
fn the_values_of_all_tables_are_one_list() {
    let tables = table("double", "", &["1", "2"]) + &table("long", "", &["3"]);
    assert_eq!(ask(200, &tables).value(), "List([Float(1.0), Float(2.0), Integer(3)])");
    let close = tables.replace("\r\n\r\n", "\r\n");
    assert_eq!(ask(200, &close).value(), "List([Float(1.0), Float(2.0), Integer(3)])");
}

#[test]
fn every_refusal_is_a_sentence() {
    let late = "#datatype,string,string\r\n#group,true,true\r\n#default,,\r\n,error,reference\r\n,\"query terminated: too long with the-token\",897\r\n";
    let no_value = "#datatype,string,long,double\r\n#default,_result,,\r\n,result,table,mean\r\n,,0,1\r\n";
    let rows = [
        (401, r#"{"code":"unauthorized","message":"unauthorized access"}"#.to_owned()),
        (404, r#"{"code":"not found","message":"organization name \"my org\" not found"}"#.to_owned()),
        (400, r#"{"code":"invalid","message":"error @1:8-1:9: undefined identifier"}"#.to_owned()),
        (503, String::new()),
        (200, String::new()),
        (200, "\r\n".to_owned()),
        (200, late.to_owned()),
        (200, table("double", "", &["1"]) + late),
        (200, no_value.to_owned()),
        (200, table("double", "", &["high"])),
        (200, table("string", "", &["\"cut"])),
    ];
    let told: Vec<String> = rows.iter().map(|(status, body)| ask(*status, body).error().to_owned()).collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn a_table_of_too_many_fields_is_not_read() {
    let play = ask(200, &table("double", "", &vec!["1"; 30_000]));
    assert_eq!(play.error(), "InfluxDB answered with more values than are read: ask for less");
}

#[test]
fn without_credentials_nothing_is_asked() {
    let secrets: [&[(&str, &str)]; 4] =
        [&[], &SECRET[..2], &SECRET[1..], &[("address", "influx.example"), SECRET[1], SECRET[2]]];
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
    assert_eq!(wanted(&settings()), secret("influxdb"));
    assert_eq!(wanted(&json!({"query": "q", "profile": "mine"})), secret("mine"));
}

#[test]
fn settings_that_make_no_sense_are_told_by_their_path() {
    assert_snapshot!(flaws(NAME, &json!({"profile": 1, "Query": "a"})));
}
