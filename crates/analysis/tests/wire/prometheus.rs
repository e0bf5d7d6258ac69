//! Prometheus: the requests of its HTTP interface, and every shape of its answers.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::Measured;

use super::server::{Reply, Server};
use super::{measured, measured_in};

fn success(kind: &str, result: &Json) -> Reply {
    Reply::good(json!({"status": "success", "data": {"resultType": kind, "result": result}}).to_string())
}

fn one() -> Reply {
    success("vector", &json!([{"metric": {}, "value": [1_767_323_045.678, "1"]}]))
}

fn floats(numbers: &[f64]) -> Value {
    Value::List(numbers.iter().map(|number| Value::Float(*number)).collect())
}

/// The value of one answer, for a query that does not matter.
async fn value_of(reply: Reply) -> Result<Value, String> {
    let server = Server::answers([reply]).await;
    let measured = measured(&json!({"prometheus": {"address": server.url(), "query": "up"}})).await;
    measured
        .map(|measured| measured.value)
        .map_err(|error| error.replace(&server.address.to_string(), "HOST"))
}

#[tokio::test]
async fn a_query_at_one_moment_is_posted_as_a_form() {
    let server = Server::answers([one()]).await;
    let settings = json!({"prometheus": {
        "address": format!("{}/prefix/?tenant=a", server.url()),
        "query": "sum(rate(errors{app=\"db\"}[5m]))",
        "headers": [{"key": "X-Scope-OrgID", "value": "team"}],
    }});
    let measured = measured(&settings).await.unwrap();
    let query = "sum(rate(errors{app=\"db\"}[5m]))".to_owned();
    let metadata = BTreeMap::from([("ResolvedPrometheusQuery".to_owned(), query)]);
    assert_eq!(measured, Measured { value: floats(&[1.0]), metadata });
    insta::assert_snapshot!("prometheus_instant", server.seen().join("\n\n"));
}

#[tokio::test]
async fn a_query_over_a_range_computes_its_times_from_now() {
    let series = json!([
        {"metric": {"pod": "a"}, "values": [[1, "1"], [2, "2"]]},
        {"metric": {"pod": "b"}, "values": [[1, "3.5"], [2, "NaN"]]},
    ]);
    let server = Server::answers([success("matrix", &series)]).await;
    let range = json!({"start": "now() - duration(\"5m\")", "end": "now()", "step": "1m30.5s"});
    let settings = json!({"prometheus": {"address": server.url(), "query": "up", "rangeQuery": range}});
    let Value::List(values) = measured(&settings).await.unwrap().value else { panic!("no list") };
    assert_eq!(values[..3], [Value::Float(1.0), Value::Float(2.0), Value::Float(3.5)]);
    assert!(matches!(values[3..], [Value::Float(last)] if last.is_nan()));
    insta::assert_snapshot!("prometheus_range", server.seen().join("\n\n"));
}

#[tokio::test]
async fn a_range_that_is_no_range_is_refused_before_anything_is_asked() {
    let server = Server::answers([one()]).await;
    let rows = [
        ("now()", "now() - duration(\"5m\")", "the range ends (2026-01-02T02:59:05.678Z) before it starts"),
        ("5", "now()", "\"5\" gives no time: it is an integer; write it as now() - duration(\"5m\")"),
    ];
    for (start, end, words) in rows {
        let range = json!({"start": start, "end": end, "step": "1m"});
        let settings = json!({"prometheus": {"address": server.url(), "query": "up", "rangeQuery": range}});
        let error = measured(&settings).await.unwrap_err();
        assert!(error.starts_with(words), "{error}");
    }
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_server_that_takes_no_post_is_asked_with_get() {
    let server = Server::answers([Reply::new(405, "no"), one()]).await;
    let address = format!("{}?tenant=a", server.url());
    assert!(measured(&json!({"prometheus": {"address": address, "query": "up{a=\"b c\"}"}})).await.is_ok());
    insta::assert_snapshot!("prometheus_get", server.seen().join("\n\n"));
}

#[tokio::test]
async fn the_address_may_come_from_the_environment() {
    let server = Server::answers([one()]).await;
    let settings = json!({"prometheus": {"query": "up"}});
    let name = "ARGO_ROLLOUTS_PROMETHEUS_ADDRESS";
    assert!(measured_in(&settings, &[(name, &server.url())]).await.is_ok());
    assert_eq!(
        measured(&settings).await.unwrap_err(),
        "the metric has no address of Prometheus, and ARGO_ROLLOUTS_PROMETHEUS_ADDRESS is not set: give one of them"
    );
    let error = measured_in(&settings, &[(name, "prometheus:9090")]).await.unwrap_err();
    assert!(error.starts_with("ARGO_ROLLOUTS_PROMETHEUS_ADDRESS is no address"), "{error}");
}

#[tokio::test]
async fn whoever_asks_says_so() {
    let server = Server::answers([one()]).await;
    for authentication in
        [json!({"basicAuth": {"username": "me", "password": "p:ß"}}), json!({"bearer": {"token": "t0ken"}})]
    {
        let settings =
            json!({"prometheus": {"address": server.url(), "query": "up", "authentication": authentication}});
        assert!(measured(&settings).await.is_ok());
    }
    insta::assert_snapshot!("prometheus_authentication", server.seen().join("\n\n"));
}

#[tokio::test]
async fn a_token_is_asked_for_first() {
    let token = Reply::good(json!({"access_token": "t0ken", "token_type": "bearer"}).to_string());
    let authentication = |server: &Server| {
        let url = format!("{}/token", server.url());
        json!({"oauth2": {"tokenUrl": url, "clientId": "me", "clientSecret": "s&cret", "scopes": ["a", "b"]}})
    };
    let settings = |server: &Server| json!({"prometheus": {"address": server.url(), "query": "up", "authentication": authentication(server)}});
    let server = Server::answers([token.clone(), one()]).await;
    assert!(measured(&settings(&server)).await.is_ok());
    insta::assert_snapshot!("prometheus_token", server.seen().join("\n\n"));
    // Some servers want to read it in the body.
    let server = Server::answers([Reply::new(401, "who?"), token, one()]).await;
    assert!(measured(&settings(&server)).await.is_ok());
    insta::assert_snapshot!("prometheus_token_in_body", server.seen().join("\n\n"));
    let refused = Reply::new(
        400,
        json!({"error": "invalid_client", "error_description": "no such client"}).to_string(),
    );
    let server = Server::answers([refused]).await;
    let error = measured(&settings(&server)).await.unwrap_err().replace(&server.address.to_string(), "HOST");
    assert_eq!(error, "no token for client \"me\": HOST answered with HTTP status 400: no such client");
    let server = Server::answers([Reply::good("{}")]).await;
    let error = measured(&settings(&server)).await.unwrap_err();
    assert!(error.ends_with(" has no access_token"), "{error}");
}

#[tokio::test]
async fn a_token_that_a_server_repeats_is_not_told() {
    let token = Reply::good(json!({"access_token": "t0ken"}).to_string());
    let echo = Reply::new(500, "your token t0ken is odd");
    let server = Server::answers([token, echo]).await;
    let client = json!({"tokenUrl": server.url(), "clientId": "me", "clientSecret": "x"});
    let settings =
        json!({"prometheus": {"address": server.url(), "query": "up", "authentication": {"oauth2": client}}});
    let error = measured(&settings).await.unwrap_err();
    assert_eq!(error, "Prometheus answered with HTTP status 500: your token ***** is odd");
    let server = Server::answers([Reply::new(500, "your token s3ssion is odd")]).await;
    let signed = json!({"sigv4": {"region": "eu-central-1"}});
    let settings = json!({"prometheus": {"query": "up", "authentication": signed}});
    let address = server.url();
    let keys = [
        // What the controller's owner names may be asked wherever it is.
        ("ARGO_ROLLOUTS_PROMETHEUS_ADDRESS", address.as_str()),
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
        ("AWS_SESSION_TOKEN", "s3ssion"),
    ];
    let error = measured_in(&settings, &keys).await.unwrap_err();
    assert_eq!(error, "Prometheus answered with HTTP status 500: your token ***** is odd");
}

#[tokio::test]
async fn every_kind_of_result_becomes_a_value() {
    let sample = |number: &str| json!({"metric": {}, "value": [1, number]});
    assert_eq!(value_of(success("scalar", &json!([1, "2.5"]))).await, Ok(Value::Float(2.5)));
    assert_eq!(value_of(success("vector", &json!([]))).await, Ok(floats(&[])));
    assert_eq!(value_of(success("matrix", &json!([]))).await, Ok(floats(&[])));
    let all = json!([sample("1"), sample("1e3"), sample("+Inf"), sample("-Inf")]);
    let wanted = floats(&[1.0, 1000.0, f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(value_of(success("vector", &all)).await, Ok(wanted));
    let Ok(Value::Float(nan)) = value_of(success("scalar", &json!([1, "NaN"]))).await else {
        panic!("no float")
    };
    assert!(nan.is_nan());
}

#[tokio::test]
async fn warnings_of_the_server_are_kept() {
    let body = json!({"status": "success", "warnings": ["slow", "partial"], "data": {"resultType": "scalar", "result": [1, "1"]}});
    let server = Server::answers([Reply::good(body.to_string())]).await;
    let measured = measured(&json!({"prometheus": {"address": server.url(), "query": "up"}})).await.unwrap();
    assert_eq!(measured.metadata["warnings"], "slow; partial");
}

#[tokio::test]
async fn what_is_no_result_is_told_in_a_sentence() {
    let error =
        |kind: &str, words: &str| json!({"status": "error", "errorType": kind, "error": words}).to_string();
    let histogram = json!([{"metric": {}, "histogram": [1, {"count": "2"}]}]);
    let replies = [
        Reply::new(400, error("bad_data", "1:5: parse error: unexpected end of input")),
        Reply::new(503, error("timeout", "query timed out in expression evaluation")),
        Reply::new(422, error("execution", "found duplicate series")),
        Reply::new(500, "<html>\n<h1>Oops</h1>\n</html>"),
        Reply::new(502, ""),
        Reply::new(404, json!({"message": "no such page"}).to_string()),
        Reply::good("<html>Welcome</html>"),
        Reply::good(json!({"hello": "world"}).to_string()),
        Reply::good(json!({"status": "success"}).to_string()),
        success("vector", &json!([{"value": [1]}])),
        success("string", &json!([1, "text"])),
        success("vector", &histogram),
    ];
    let mut page = Vec::new();
    for reply in replies {
        let error = value_of(reply).await.unwrap_err();
        page.push(error);
    }
    insta::assert_snapshot!("prometheus_errors", page.join("\n"));
}
