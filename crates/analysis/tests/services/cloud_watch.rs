//! CloudWatch.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::wire::{Given, Play, flaws, measure, read};

const NAME: &str = "cloudWatch";

const KEYS: [(&str, &str); 3] = [
    ("AWS_REGION", "eu-central-1"),
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "the-secret-key"),
];
const EMPTY: &str = r#"{"MetricDataResults":[],"Messages":[]}"#;

fn settings() -> Json {
    json!({
        "interval": "30m",
        "metricDataQueries": [
            {"id": "rate", "expression": "errors / requests", "label": "rate", "period": "300"},
            {
                "id": "errors", "returnData": false,
                "metricStat": {
                    "metric": {
                        "namespace": "app", "metricName": "errors",
                        "dimensions": [{"name": "Service", "value": "a"}],
                    },
                    "period": 300, "stat": "Sum", "unit": "Count",
                },
            },
        ],
    })
}

fn ask(status: u16, body: &str) -> Play {
    measure(NAME, &settings(), &Given::environment(&KEYS), &[(status, body)])
}

#[test]
fn get_metric_data_is_asked_in_json_and_signed() {
    assert_snapshot!(ask(200, EMPTY).request());
}

#[test]
fn a_result_has_the_fields_that_conditions_use() {
    let body = r#"{"MetricDataResults":[{"Id":"rate","Label":"rate","StatusCode":"Complete","Timestamps":[1599076200,1.5990759005E9],"Values":[0.5,2]}]}"#;
    let measured = ask(200, body).measured.unwrap();
    assert_snapshot!(format!("{:?}\n{:?}", measured.value, measured.metadata));
}

#[test]
fn messages_are_told_beside_the_value() {
    let body = r#"{"MetricDataResults":[{"Id":"rate","Label":"rate","Values":[]}],"Messages":[{"Code":"MaxMetricsExceeded","Value":"100 of 200"}]}"#;
    let measured = ask(200, body).measured.unwrap();
    assert_eq!(measured.metadata["messages"], "MaxMetricsExceeded: 100 of 200");
    let body = r#"{"MetricDataResults":[{"Id":"rate","Label":"rate","StatusCode":"PartialData","Values":[1],"Messages":[{"Code":"Slow","Value":"some shards"}]}]}"#;
    let measured = ask(200, body).measured.unwrap();
    assert_eq!(measured.metadata["messages"], "rate: Slow: some shards");
    assert_eq!(measured.metadata["warnings"], "values are missing in rate");
}

#[test]
fn pages_are_put_together_by_id_and_label() {
    let first = r#"{"MetricDataResults":[{"Id":"q","Label":"a","StatusCode":"PartialData","Timestamps":[1],"Values":[1.0]},{"Id":"q","Label":"b","StatusCode":"Complete","Timestamps":[1],"Values":[5.0]}],"NextToken":"page 2"}"#;
    let second = r#"{"MetricDataResults":[{"Id":"q","Label":"a","StatusCode":"Complete","Timestamps":[2],"Values":[2.0]}]}"#;
    let play = measure(NAME, &settings(), &Given::environment(&KEYS), &[(200, first), (200, second)]);
    assert!(!play.requests[0].contains("NextToken"));
    assert!(play.requests[1].contains(r#""NextToken":"page 2""#), "{}", play.requests[1]);
    assert_snapshot!(play.value());
}

#[test]
fn pages_without_end_are_not_read() {
    let page = r#"{"MetricDataResults":[],"NextToken":"more"}"#;
    let play = measure(NAME, &settings(), &Given::environment(&KEYS), &[(200, page); 10]);
    assert_snapshot!(play.error());
}

#[test]
fn every_refusal_is_a_sentence() {
    let forbidden = r#"{"MetricDataResults":[{"Id":"rate","StatusCode":"Forbidden","Values":[]}],"Messages":[{"Code":"NotAllowed","Value":"another account"}]}"#;
    let rows = [
        (
            400,
            r#"{"__type":"com.amazonaws.cloudwatch#InvalidParameterValueException","message":"The parameter Period must be a multiple of 60"}"#,
        ),
        (
            403,
            r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"User: arn:aws:iam::1:user/a is not authorized to perform: cloudwatch:GetMetricData"}"#,
        ),
        (
            403,
            r#"{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"The signature of the-secret-key does not match"}"#,
        ),
        (400, r#"{"__type":"com.amazon.coral.availability#ThrottlingException","message":"Rate exceeded"}"#),
        (500, r#"{"__type":"InternalServiceFault"}"#),
        (503, ""),
        (200, "<html></html>"),
        (200, "{}"),
        (200, r#"{"MetricDataResults":[{"Id":"rate","Values":["high"]}]}"#),
        (200, r#"{"MetricDataResults":[{"Id":"rate","StatusCode":"InternalError","Values":[]}]}"#),
        (200, forbidden),
    ];
    let told: Vec<String> = rows.iter().map(|(status, body)| ask(*status, body).error().to_owned()).collect();
    assert_snapshot!(told.join("\n"));
}

const IDENTITY: [(&str, &str); 3] = [
    ("AWS_DEFAULT_REGION", "cn-north-1"),
    ("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass"),
    ("AWS_WEB_IDENTITY_TOKEN", "the-token\n"),
];

#[test]
fn a_token_of_the_cluster_is_exchanged_first() {
    let answer = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>the-session</SessionToken><SecretAccessKey>the-secret</SecretAccessKey><Expiration>2020-09-02T20:53:55Z</Expiration><AccessKeyId>ASIAEXAMPLE</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
    let play = measure(NAME, &settings(), &Given::environment(&IDENTITY), &[(200, answer), (200, EMPTY)]);
    assert_snapshot!(play.requests.join("\n\n"));
    assert_eq!(play.value(), "List([])");
}

#[test]
fn an_agent_beside_the_container_is_asked_first() {
    let environment = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "the-token"),
    ];
    let answer = r#"{"AccessKeyId":"ASIAEXAMPLE","SecretAccessKey":"the-secret","Token":"the-session","AccountId":"1","Expiration":"2020-09-02T20:53:55Z"}"#;
    let play = measure(NAME, &settings(), &Given::environment(&environment), &[(200, answer), (200, EMPTY)]);
    assert_snapshot!(play.requests.join("\n\n"));
    let environment =
        [("AWS_REGION", "eu-central-1"), ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1")];
    let play = measure(NAME, &settings(), &Given::environment(&environment), &[(200, answer), (200, EMPTY)]);
    assert_eq!(play.requests[0], "http, 10s\nGET /v2/credentials/1 HTTP/1.1\nHost: 169.254.170.2\n");
}

#[test]
fn who_refuses_credentials_says_why() {
    type Environment<'a> = &'a [(&'a str, &'a str)];
    let refused = "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>No OpenIDConnect provider for &quot;the-token&quot;</Message></Error></ErrorResponse>";
    let agent = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "https://agent.example/v1/credentials"),
    ];
    let rows: [(Environment<'_>, u16, &str); 6] = [
        (&IDENTITY, 400, refused),
        (
            &IDENTITY,
            403,
            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>",
        ),
        (&IDENTITY, 200, "<html>"),
        (&agent, 404, r#"{"code":"CredentialsNotFound","message":"no role"}"#),
        (&agent, 401, ""),
        (&agent, 200, "{}"),
    ];
    let told: Vec<String> = rows
        .iter()
        .map(|(environment, status, body)| {
            measure(NAME, &settings(), &Given::environment(environment), &[(*status, *body)])
                .error()
                .to_owned()
        })
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn without_a_region_or_credentials_nothing_is_asked() {
    let region = ("AWS_REGION", "eu-central-1");
    let agent = |address| [region, ("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)];
    let rows: [&[(&str, &str)]; 9] = [
        &[],
        &[("AWS_REGION", "evil.example/")],
        &[region],
        &[region, ("AWS_ACCESS_KEY_ID", "a")],
        &[region, ("AWS_ROLE_ARN", "a")],
        &agent("http://agent.example/"),
        &agent("http://127.0.0.1.evil.example:80/"),
        &agent("http://localhost:80@evil.example/"),
        &[region, KEYS[1], KEYS[2], ("AWS_ENDPOINT_URL", "localhost")],
    ];
    let told: Vec<String> = rows
        .iter()
        .map(|environment| {
            measure(NAME, &settings(), &Given::environment(environment), &[]).error().to_owned()
        })
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn an_endpoint_may_be_written_for_all_services_or_for_one() {
    let head = |more: &[(&str, &str)]| {
        let environment = [KEYS.as_slice(), more].concat();
        let play = measure(NAME, &settings(), &Given::environment(&environment), &[(200, EMPTY)]);
        play.request().lines().take(3).collect::<Vec<_>>().join(" | ")
    };
    let all = ("AWS_ENDPOINT_URL", "http://localhost:4566/");
    assert_eq!(head(&[all]), "http, 30s | POST / HTTP/1.1 | Host: localhost:4566");
    let one = ("AWS_ENDPOINT_URL_CLOUDWATCH", "https://monitoring.example");
    assert_eq!(head(&[all, one]), "https, 30s | POST / HTTP/1.1 | Host: monitoring.example");
}

#[test]
fn settings_that_make_no_sense_are_told_by_their_path() {
    let rows = [
        json!({}),
        json!({"metricDataQueries": [], "intervall": "5m"}),
        json!({"metricDataQueries": [
            {"expression": "a", "metricStat": {"period": 0, "metric": {"dimensions": [{"name": "a", "Value": "b"}]}}},
            {"id": "Total"},
            {"id": "a", "expression": "b", "returnData": "no"},
            {"id": "a", "metricStat": {"metric": {"metricName": "m"}, "period": "1m", "stat": "Sum"}},
            "c",
        ]}),
    ];
    let told: Vec<String> =
        rows.iter().map(|settings| format!("{settings}\n{}", flaws(NAME, settings))).collect();
    assert_snapshot!(told.join("\n"));
    assert_eq!(read(NAME, &settings()).secret(&BTreeMap::new()), None);
}
