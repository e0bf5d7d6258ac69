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

const TEMPORARY: &str = "<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>the-secret</SecretAccessKey><SessionToken>the-session</SessionToken>";

fn ask(environment: &[(&str, &str)], script: &[(u16, &str)]) -> Play {
    ask_as(&json!({}), environment, script)
}

/// With more in the block `sigv4` than its region.
fn ask_as(more: &Json, environment: &[(&str, &str)], script: &[(u16, &str)]) -> Play {
    let mut settings: Json = json!({
        "address": "https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1/",
        "query": "sum(rate(errors[5m]))",
        "headers": [{"key": "X-Team", "value": "a"}],
        "authentication": {"sigv4": {"region": "eu-central-1"}},
    });
    let signed = settings["authentication"]["sigv4"].as_object_mut().unwrap();
    signed.extend(more.as_object().unwrap().clone());
    measure("prometheus", &settings, &Given::environment(environment), script)
}

/// Which credentials signed a request, for what.
fn scope(request: &str) -> &str {
    let (_, rest) = request.split_once("Credential=").unwrap();
    rest.split(',').next().unwrap()
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
fn headers_are_signed_as_they_are_sent() {
    let settings = |headers: Json| {
        json!({
            "address": "https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1", "query": "up",
            "headers": headers, "authentication": {"sigv4": {"region": "eu-central-1"}},
        })
    };
    let request = |headers: Json| {
        let play = measure("prometheus", &settings(headers), &Given::environment(&KEYS), &[(200, ONE)]);
        play.request().to_owned()
    };
    // Of two with one name the last is sent; some are for the sender to write.
    let many = json!([
        {"key": "X-Team", "value": "a"},
        {"key": "Authorization", "value": "mine"},
        {"key": "Content-Length", "value": "9"},
        {"key": "Content-Type", "value": "text/plain"},
        {"key": "x-team", "value": "b"},
        {"key": "X-Amz-Date", "value": "20200101T000000Z"},
    ]);
    assert_eq!(request(many), request(json!([{"key": "x-team", "value": "b"}])));
}

#[test]
fn a_token_of_the_cluster_is_exchanged_before_anything_is_signed() {
    let identity = [
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass"),
        ("AWS_WEB_IDENTITY_TOKEN", "the-token"),
        ("AWS_REGION", "us-east-1"),
    ];
    let play = ask(&identity, &[(200, TEMPORARY), (200, ONE)]);
    assert!(play.requests[0].contains("Host: sts.us-east-1.amazonaws.com"), "{}", play.requests[0]);
    let scope = "Credential=ASIAEXAMPLE/20200902/eu-central-1/aps/aws4_request";
    assert!(play.requests[1].contains(scope), "{}", play.requests[1]);
}

#[test]
fn where_the_environment_names_no_region_the_token_is_exchanged_in_that_of_the_metric() {
    let identity =
        [("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass"), ("AWS_WEB_IDENTITY_TOKEN", "the-token")];
    let play = ask(&identity, &[(200, TEMPORARY), (200, ONE)]);
    assert!(play.requests[0].contains("Host: sts.eu-central-1.amazonaws.com"), "{}", play.requests[0]);
}

#[test]
fn a_region_that_is_none_leads_the_controllers_token_to_nobody() {
    let identity =
        [("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass"), ("AWS_WEB_IDENTITY_TOKEN", "the-token")];
    // As if a part of it were a secret, which is not checked when it is read.
    let settings = json!({"query": "up", "authentication": {"sigv4": {"region": "evil.example/*****"}}});
    let play = measure("prometheus", &settings, &Given::environment(&identity), &[]);
    assert!(play.error().starts_with("the metric has no address of Prometheus"), "{}", play.error());
    let with_address =
        [identity.as_slice(), &[("ARGO_ROLLOUTS_PROMETHEUS_ADDRESS", "https://prometheus.example")]].concat();
    let play = measure("prometheus", &settings, &Given::environment(&with_address), &[]);
    assert_eq!(play.error(), "\"evil.example/*****\" is no region such as eu-central-1");
}

#[test]
fn a_role_is_taken_on_with_the_controllers_credentials_before_anything_is_signed() {
    let role = json!({"roleArn": "arn:aws:iam::2:role/metrics"});
    let play = ask_as(&role, &KEYS, &[(200, TEMPORARY), (200, ONE)]);
    assert_snapshot!(play.requests[0]);
    assert_eq!(scope(&play.requests[1]), "ASIAEXAMPLE/20200902/eu-central-1/aps/aws4_request");
    assert_eq!(play.value(), "Float(0.5)");
}

#[test]
fn a_role_that_may_not_be_taken_on_is_named() {
    let role = json!({"roleArn": "arn:aws:iam::2:role/metrics"});
    let refused = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User with the-secret-key is not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>";
    assert_snapshot!(ask_as(&role, &KEYS, &[(403, refused)]).error());
}

const CONFIG: &str = "\
[default]
region = eu-west-1
[profile metrics]
# with the keys of another
role_arn = arn:aws:iam::2:role/metrics
source_profile = base # of this file
external_id = e-1
role_session_name = canary
[profile through]
role_arn=arn:aws:iam::3:role/through
source_profile=metrics
s3 =
  role_arn = arn:aws:iam::9:role/none
[profile token]
role_arn = arn:aws:iam::4:role/token
web_identity_token_file = /var/token
[profile beside]
role_arn = arn:aws:iam::5:role/beside
credential_source = Environment
[profile circle]
role_arn = arn:aws:iam::6:role/circle
source_profile = circle-2
[profile circle-2]
role_arn = arn:aws:iam::6:role/circle-2
source_profile = circle
[profile node]
role_arn = arn:aws:iam::7:role/node
credential_source = Ec2InstanceMetadata
[profile lonely]
role_arn = arn:aws:iam::7:role/lonely
[profile person]
sso_session = us
[base]
aws_access_key_id = NOT-A-PROFILE";
const SHARED: &str = "[base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = the-base-key";

/// With the files of a controller.
fn with_files<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [[("AWS_CONFIG", CONFIG), ("AWS_SHARED_CREDENTIALS", SHARED)].as_slice(), more].concat()
}

#[test]
fn a_profile_counts_before_the_environment_and_leads_through_its_roles() {
    let named = |name: &str| json!({"profile": name});
    let environment = with_files(&KEYS);
    let play = ask_as(&named("base"), &environment, &[(200, ONE)]);
    assert_eq!(scope(play.request()), "AKIDBASE/20200902/eu-central-1/aps/aws4_request");

    let play = ask_as(&named("metrics"), &environment, &[(200, TEMPORARY), (200, ONE)]);
    assert_snapshot!(play.requests[0]);

    let through = [(200, TEMPORARY), (200, TEMPORARY), (200, ONE)];
    let play = ask_as(&named("through"), &environment, &through);
    let roles: Vec<bool> = ["role%2Fmetrics", "role%2Fthrough"]
        .iter()
        .zip(&play.requests)
        .map(|(role, request)| request.contains(role))
        .collect();
    assert_eq!(roles, [true, true], "{:?}", play.requests);
    assert_eq!(scope(&play.requests[1]), "ASIAEXAMPLE/20200902/eu-central-1/sts/aws4_request");

    let play = ask_as(&named("beside"), &environment, &[(200, TEMPORARY), (200, ONE)]);
    assert_eq!(scope(&play.requests[0]), "AKIDEXAMPLE/20200902/eu-central-1/sts/aws4_request");

    let with_token = with_files(&[("/var/token", "the-token")]);
    let play = ask_as(&named("token"), &with_token, &[(200, TEMPORARY), (200, ONE)]);
    assert!(play.requests[0].contains("WebIdentityToken=the-token"), "{}", play.requests[0]);
}

#[test]
fn the_environment_may_name_a_profile_or_leave_it_to_the_usual_one() {
    let named = with_files(&[("AWS_PROFILE", "base")]);
    let play = ask(&named, &[(200, ONE)]);
    assert_eq!(scope(play.request()), "AKIDBASE/20200902/eu-central-1/aps/aws4_request");
    let usual = "[default]\naws_access_key_id = AKIDUSUAL\naws_secret_access_key = a";
    let play = ask(&[("AWS_CONFIG", CONFIG), ("AWS_SHARED_CREDENTIALS", usual)], &[(200, ONE)]);
    assert_eq!(scope(play.request()), "AKIDUSUAL/20200902/eu-central-1/aps/aws4_request");
    // One that names no more than a region is no source of credentials.
    assert!(ask(&with_files(&[]), &[]).error().starts_with("there are no credentials for AWS"));
}

#[test]
fn a_profile_that_leads_nowhere_says_why() {
    let names = ["nobody", "circle", "node", "lonely", "person", "token", "beside", "default"];
    let told: Vec<String> = names
        .iter()
        .map(|name| ask_as(&json!({"profile": name}), &with_files(&[]), &[]).error().to_owned())
        .collect();
    assert_snapshot!(told.join("\n"));
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
