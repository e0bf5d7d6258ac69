//! Signatures, against the ones that AWS published: its test suite for Signature Version 4 and the example of its manual.

use std::time::Duration;

use jiff::Timestamp;
use windlass_analysis::providers::aws::{Credentials, Scope, sign};
use windlass_analysis::providers::{Method, Request, Trust};

const FORM: &str = "application/x-www-form-urlencoded";

fn authorization(method: Method, url: &str, service: &str, kind: Option<&str>, body: Option<&str>) -> String {
    let mut request = Request {
        method,
        url: url.to_owned(),
        headers: kind.map(|kind| ("Content-Type".to_owned(), kind.to_owned())).into_iter().collect(),
        body: body.map(str::to_owned),
        timeout: Duration::from_secs(1),
        trust: Trust::default(),
    };
    let credentials = Credentials {
        key: "AKIDEXAMPLE".to_owned(),
        secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        token: None,
    };
    let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
    sign(&mut request, &credentials, Scope { region: "us-east-1", service }, now);
    request.headers.pop().unwrap().1
}

fn expected(service: &str, headers: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request, SignedHeaders={headers}, Signature={signature}"
    )
}

#[test]
fn a_request_without_a_body_is_signed_as_aws_published_it() {
    let url = "https://example.amazonaws.com/";
    let vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    assert_eq!(
        authorization(Method::Get, url, "service", None, None),
        expected("service", "host;x-amz-date", vanilla)
    );
    // The port that everybody knows is not sent with the host.
    assert_eq!(
        authorization(Method::Get, "https://example.amazonaws.com:443/", "service", None, None),
        expected("service", "host;x-amz-date", vanilla)
    );
    let post = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
    assert_eq!(
        authorization(Method::Post, url, "service", None, None),
        expected("service", "host;x-amz-date", post)
    );
}

#[test]
fn a_query_is_signed_in_order() {
    let url = "https://example.amazonaws.com/?Param2=value2&Param1=value1";
    let signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500";
    assert_eq!(
        authorization(Method::Get, url, "service", None, None),
        expected("service", "host;x-amz-date", signature)
    );
}

#[test]
fn a_body_and_its_type_are_signed() {
    let signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a";
    assert_eq!(
        authorization(
            Method::Post,
            "https://example.amazonaws.com/",
            "service",
            Some(FORM),
            Some("Param1=value1")
        ),
        expected("service", "content-type;host;x-amz-date", signature)
    );
}

#[test]
fn the_example_of_the_manual_is_signed_as_it_says() {
    let url = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08";
    let kind = format!("{FORM}; charset=utf-8");
    let signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
    assert_eq!(
        authorization(Method::Get, url, "iam", Some(&kind), None),
        expected("iam", "content-type;host;x-amz-date", signature)
    );
}
