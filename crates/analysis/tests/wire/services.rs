//! The services that are asked with keys of their own, through everything that a controller asks them through: what is
//! really sent, and one good answer. Everything that they may answer is in `tests/services`.

use serde_json::{Value as Json, json};
use windlass_analysis::expression::Value;

use super::measured_with;
use super::server::{Reply, Server};

/// What one good answer comes to, and the request that it was given to.
async fn asked(settings: &Json, keys: &[(&str, &str)], answer: &str) -> (Value, String) {
    let server = Server::answers([Reply::good(answer)]).await;
    let url = server.url();
    let mut settings = settings.clone();
    if let Some(address) = settings.pointer_mut("/graphite/address") {
        *address = Json::from(url.as_str());
    }
    let keys: Vec<(&str, &str)> = keys
        .iter()
        .map(|(name, value)| (*name, if *value == "URL" { url.as_str() } else { *value }))
        .collect();
    let measured = measured_with(&settings, &keys, &[]).await.unwrap();
    (measured.value, server.seen().join("\n\n"))
}

#[tokio::test]
async fn each_service_is_sent_what_it_wants_and_nothing_else() {
    let keys = [("address", "URL"), ("api-key", "the-api-key"), ("app-key", "the-app-key")];
    let series =
        r#"{"status":"ok","series":[{"pointlist":[[1598867910000,0.0020],[1598867925000,0.0003]]}]}"#;
    let (value, first) = asked(&json!({"datadog": {"query": "avg:errors{*}"}}), &keys, series).await;
    assert_eq!(value, Value::Float(0.0003));

    let scalar = r#"{"data":{"attributes":{"columns":[{"values":[0.5]}]}}}"#;
    let second = json!({"datadog": {"apiVersion": "v2", "query": "avg:errors{*}"}});
    let (value, second) = asked(&second, &keys, scalar).await;
    assert_eq!(value, Value::Float(0.5));

    let keys = [("personal-api-key", "the-key"), ("account-id", "7"), ("base-url-nerdgraph", "URL")];
    let rows = r#"{"data":{"actor":{"account":{"nrql":{"results":[{"count":3}]}}}}}"#;
    let (value, third) =
        asked(&json!({"newRelic": {"query": "FROM Transaction SELECT count(*)"}}), &keys, rows).await;
    assert_eq!(value, Value::from(json!({"count": 3})));

    let keys = [("address", "URL"), ("authToken", "the-token"), ("org", "shop")];
    let table = "#datatype,string,long,double\r\n#group,false,false,false\r\n#default,_result,,\r\n,result,table,_value\r\n,,0,0.25\r\n";
    let (value, fourth) = asked(&json!({"influxdb": {"query": "from(bucket: \"a\")"}}), &keys, table).await;
    assert_eq!(value, Value::List(vec![Value::Float(0.25)]));

    let points = r#"[{"target":"errors","datapoints":[[0.5,1767323000]]}]"#;
    let graphite = json!({"graphite": {"address": "URL", "query": "target=errors&from=-5min"}});
    let (value, fifth) = asked(&graphite, &[], points).await;
    assert_eq!(value, Value::List(vec![Value::Float(0.5)]));

    insta::assert_snapshot!("services", [first, second, third, fourth, fifth].join("\n\n== next\n"));
}
