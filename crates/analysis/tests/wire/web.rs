//! Web: any request, and the value in any answer.

use serde_json::{Value as Json, json};
use windlass_analysis::expression::Value;

use super::measured;
use super::server::{Reply, Server};

/// The value of an answer, or why there is none, with the request that was made.
async fn asked(reply: Reply, mut settings: Json) -> (Result<Value, String>, String) {
    let server = Server::answers([reply]).await;
    settings["url"] = json!(format!("{}/health?deep=1", server.url()));
    let measured = measured(&json!({"web": settings})).await;
    (measured.map(|measured| measured.value), server.seen().join("\n\n"))
}

#[tokio::test]
async fn every_kind_of_request_is_sent_as_it_was_written() {
    let rows = [
        json!({}),
        json!({"method": "GET", "headers": [{"key": "Accept", "value": "application/json"}]}),
        json!({"method": "POST", "body": "plain text"}),
        json!({"method": "PUT", "jsonBody": {"a": [1, "b"]}}),
        json!({"method": "POST", "jsonBody": {}, "headers": [{"key": "content-type", "value": "application/x"}]}),
        json!({"authentication": {"bearer": {"token": "t0ken"}}}),
        json!({"authentication": {"basicAuth": {"username": "me", "password": "secret"}}}),
    ];
    let mut page = Vec::new();
    for settings in rows {
        let (value, request) = asked(Reply::good("1"), settings.clone()).await;
        assert_eq!(value, Ok(Value::Float(1.0)), "{settings}");
        page.push(request);
    }
    insta::assert_snapshot!("web_requests", page.join("\n\n---\n"));
}

#[tokio::test]
async fn the_value_is_what_the_path_finds_or_the_whole_or_the_text() {
    let body = json!({"data": {"ok": true, "rate": 0.25, "items": [{"name": "a"}, {"name": "b"}]}});
    let rows = [
        (json!({"jsonPath": "{$.data.ok}"}), json!(true)),
        (json!({"jsonPath": "{$.data.rate}"}), json!(0.25)),
        (json!({"jsonPath": "{$.data.items[-1].name}"}), json!("b")),
        (json!({"jsonPath": "{$.data.items[?(@.name==\"a\")]}"}), json!({"name": "a"})),
        (json!({"jsonPath": "{$}"}), body.clone()),
        (json!({}), body.clone()),
    ];
    for (settings, wanted) in rows {
        let (value, _) = asked(Reply::good(body.to_string()), settings.clone()).await;
        assert_eq!(value, Ok(Value::from(wanted)), "{settings}");
    }
    let (value, _) = asked(Reply::good("all is well"), json!({"jsonPath": "{$.data}"})).await;
    assert_eq!(value, Ok(Value::Text("all is well".to_owned())));
    let (value, _) = asked(Reply::new(204, ""), json!({})).await;
    assert_eq!(value, Ok(Value::Text(String::new())));
}

#[tokio::test]
async fn what_is_no_answer_is_told_in_a_sentence() {
    let rows = [
        (Reply::new(500, "it broke"), "the server answered with HTTP status 500: it broke"),
        (Reply::new(404, ""), "the server answered with HTTP status 404: (an empty answer)"),
        (Reply::new(304, ""), "the server answered with HTTP status 304: (an empty answer)"),
        (Reply::good("{\"a\": 1}"), "{$.data}: data is not found"),
    ];
    for (reply, words) in rows {
        let (value, _) = asked(reply.clone(), json!({"jsonPath": "{$.data}"})).await;
        assert_eq!(value, Err(words.to_owned()), "{reply:?}");
    }
    let (value, _) = asked(Reply::new(500, "long ".repeat(100)), json!({})).await;
    assert!(value.unwrap_err().chars().count() < 350);
}
