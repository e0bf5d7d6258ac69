//! Web: any request, and the value in any answer.

use serde_json::{Value as Json, json};
use windlass_analysis::expression::Value;
use windlass_analysis::redact::Redactor;

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
async fn an_answer_of_too_many_values_is_not_read() {
    let blocks = format!("[{}{{}}]", "{\"a\":0},".repeat(100_000));
    let numbers = format!("[{}0]", "0,".repeat(250_000));
    for body in [blocks, numbers.clone()] {
        let server = Server::answers([Reply::good(body)]).await;
        let error = measured(&json!({"web": {"url": server.url()}})).await.unwrap_err();
        assert_eq!(error, "the server answered with more values than are read: ask for less");
    }
    // What only looks like it is a text, as ever; so is what stands in quotes.
    for body in [format!("{numbers}]"), format!("\"{}\\\",\"", ",".repeat(300_000))] {
        let server = Server::answers([Reply::good(body)]).await;
        let measured = measured(&json!({"web": {"url": server.url()}})).await.unwrap();
        assert!(matches!(measured.value, Value::Text(_)));
    }
}

/// Whoever asked knows the secrets of the arguments; the provider does not, and cuts what a server says.
#[tokio::test]
async fn a_secret_that_a_server_repeats_is_not_seen_even_where_its_words_are_cut() {
    let secret = "0123456789abcdefghij<&>0123456789abcdefghij";
    for repeated in
        [secret.to_owned(), secret.replace('<', "\\u003c").replace('&', "\\u0026").replace('>', "\\u003e")]
    {
        for before in (240..300).step_by(3) {
            let body = format!("{} Bearer {repeated} was refused", "x".repeat(before));
            let server = Server::answers([Reply::new(401, body)]).await;
            let headers = json!([{"key": "X-Token", "value": secret}]);
            let error =
                measured(&json!({"web": {"url": server.url(), "headers": headers}})).await.unwrap_err();
            let shown = Redactor::new([secret]).text(&error);
            assert!(!shown.contains("012"), "{before}: {shown}");
        }
    }
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
        json!({"method": "POST"}),
        json!({"method": "PUT"}),
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
async fn headers_that_are_for_whoever_sends_a_message_are_not_the_templates() {
    let names = [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Trailer",
        "TE",
        "Expect",
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "Upgrade",
    ];
    let headers: Vec<Json> = names.iter().map(|name| json!({"key": name, "value": "7"})).collect();
    let (value, request) =
        asked(Reply::good("1"), json!({"method": "POST", "body": "b", "headers": headers})).await;
    assert_eq!(value, Ok(Value::Float(1.0)));
    assert_eq!(request, "POST /health?deep=1 HTTP/1.1\ncontent-length: 1\nhost: HOST\n\nb");
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
