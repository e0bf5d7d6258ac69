//! Amazon Managed Service for Prometheus: the requests of Prometheus, signed with the controller's credentials.

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::wire::{Given, Play, flaws, measure};

const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "the-secret-key"),
    ("AWS_SESSION_TOKEN", "the-session"),
];
const ONE: &str = r#"{"status":"success","data":{"resultType":"scalar","result":[1,"0.5"]}}"#;

fn ask(environment: &[(&str, &str)], script: &[(u16, &str)]) -> Play {
    let settings: Json = json!({
        "address": "https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1/",
        "query": "sum(rate(errors[5m]))",
        "headers": [{"key": "X-Team", "value": "a"}],
        "authentication": {"sigv4": {"region": "eu-central-1"}},
    });
    measure("prometheus", &settings, &Given::environment(environment), script)
}

#[test]
fn the_whole_request_is_signed_for_the_region_of_the_metric() {
    let play = ask(&[KEYS.as_slice(), &[("AWS_REGION", "us-east-1")]].concat(), &[(200, ONE)]);
    assert_snapshot!(play.request());
    assert_eq!(play.value(), "Float(0.5)");
}

#[test]
fn a_query_that_is_asked_again_is_signed_again() {
    let play = ask(&KEYS, &[(405, ""), (200, ONE)]);
    assert_snapshot!(play.requests[1]);
}

#[test]
fn a_token_of_the_cluster_is_exchanged_before_anything_is_signed() {
    let identity = [
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass"),
        ("AWS_WEB_IDENTITY_TOKEN", "the-token"),
        ("AWS_REGION", "us-east-1"),
    ];
    let answer = "<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>the-secret</SecretAccessKey><SessionToken>the-session</SessionToken>";
    let play = ask(&identity, &[(200, answer), (200, ONE)]);
    assert!(play.requests[0].contains("Host: sts.us-east-1.amazonaws.com"), "{}", play.requests[0]);
    let scope = "Credential=ASIAEXAMPLE/20200902/eu-central-1/aps/aws4_request";
    assert!(play.requests[1].contains(scope), "{}", play.requests[1]);
}

#[test]
fn without_credentials_nothing_is_asked() {
    assert_snapshot!(ask(&[], &[]).error());
}

#[test]
fn nothing_but_the_service_in_its_region_is_asked_with_a_signature() {
    let settings = |address: &str, region: &str| json!({"address": address, "query": "up", "authentication": {"sigv4": {"region": region}}});
    let good = [
        ("https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1", "eu-central-1"),
        ("https://aps-workspaces.cn-north-1.amazonaws.com.cn/workspaces/ws-1", "cn-north-1"),
        ("https://aps-workspaces-fips.us-gov-west-1.api.aws/workspaces/ws-1", "us-gov-west-1"),
        ("https://vpce-1.aps-workspaces.us-east-1.vpce.amazonaws.com:443/workspaces/ws-1", "us-east-1"),
    ];
    for (address, region) in good {
        let play =
            measure("prometheus", &settings(address, region), &Given::environment(&KEYS), &[(200, ONE)]);
        assert_eq!(play.value(), "Float(0.5)", "{address}");
    }
    let bad = [
        ("http://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1", "eu-central-1"),
        ("https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1", "us-east-1"),
        ("https://aps.eu-central-1.amazonaws.com/workspaces/ws-1/alertmanager", "eu-central-1"),
        ("https://prometheus.example.com", "eu-central-1"),
        ("https://aps-workspaces.eu-central-1.amazonaws.com.example.com", "eu-central-1"),
        ("https://example.com/aps-workspaces.eu-central-1.amazonaws.com", "eu-central-1"),
        // Buckets of these names may be anybody's.
        ("https://aps-workspaces.s3.amazonaws.com", "s3"),
        ("https://aps-workspaces.s3-eu-west-1.amazonaws.com", "s3-eu-west-1"),
    ];
    for (address, region) in bad {
        let told = flaws("prometheus", &settings(address, region));
        assert!(
            told.contains(".address: requests are signed for Amazon Managed Service"),
            "{address}: {told}"
        );
    }
    // What cannot be checked when it is read is checked when it is asked.
    let open = settings("https://example.com/*****", "eu-central-1");
    let play = measure("prometheus", &open, &Given::environment(&KEYS), &[]);
    assert!(play.error().starts_with("requests are signed for"), "{}", play.error());
    let web = json!({"url": "https://aps-workspaces.eu-central-1.amazonaws.com", "authentication": {"sigv4": {"region": "eu-central-1"}}});
    assert_snapshot!(flaws("web", &web));
}
