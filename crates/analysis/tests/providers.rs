//! The settings of providers as people write them, and what is said of those that do not make sense.

use serde_json::{Value as Json, json};
use windlass_analysis::providers::{self, Settings};

/// Each provider with what is wrong with it.
fn page(providers: &[Json]) -> String {
    let entry = |provider: &Json| format!("{provider}\n{}\n", flaws(provider));
    providers.iter().map(entry).collect::<Vec<_>>().join("\n")
}

fn flaws(provider: &Json) -> String {
    match providers::read("spec.metrics[0].provider", provider) {
        Ok(_) => String::new(),
        Err(flaws) => flaws.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn exactly_one_provider_is_named() {
    insta::assert_snapshot!(
        "one_provider",
        page(&[
            json!(null),
            json!({}),
            json!({"web": null}),
            json!({"web": {}, "prometheus": {}}),
            json!({"web": {"url": "http://host/"}, "prometheus": null}),
        ])
    );
}

#[test]
fn a_provider_that_is_not_there_is_told_with_those_that_are() {
    insta::assert_snapshot!(
        "unknown_providers",
        page(&[json!({"prometeus": {}}), json!({"oracle": {}}), json!({"kayenta": {}})])
    );
}

#[test]
fn every_mistake_in_the_settings_of_a_job_is_told_with_its_field() {
    insta::assert_snapshot!(
        "job",
        page(&[
            json!({"job": "run it"}),
            json!({"job": {}}),
            json!({"job": null}),
            json!({"job": {"spec": 1}}),
            json!({"job": {"sepc": {"template": {"spec": {}}}, "metadata": "smoke"}}),
            json!({"job": {"spec": {"tempalte": {"spec": {}}}}}),
            json!({"job": {"spec": {"template": {"spec": []}}}}),
            json!({"job": {"metadata": {"labels": {"a": "b"}}, "spec": {"backoffLimit": 0, "template": {"spec": {"containers": []}}}}}),
        ])
    );
}

#[test]
fn a_job_and_objects_of_the_cluster_are_kept_as_they_are() {
    let read = |provider: Json| providers::read("provider", &provider).ok();
    let job =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "{{args.image}}"}]}}}});
    assert!(matches!(read(json!({"job": job})), Some(Settings::Job(kept)) if kept == job));
    let expression = json!({"kubernetes": {"expression": "pods.size()"}});
    assert!(matches!(read(expression), Some(Settings::Kubernetes(_))));
}

#[test]
fn the_longest_that_a_value_may_take_counts_every_request() {
    let client = json!({"oauth2": {"tokenUrl": "http://token", "clientId": "a", "clientSecret": "b"}});
    let signed = json!({"prometheus": {
        "address": "https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1", "query": "up",
        "authentication": {"sigv4": {"region": "eu-central-1"}},
    }});
    let prometheus = |more: (&str, Json)| {
        let mut settings = json!({"address": "http://host", "query": "up"});
        settings[more.0] = more.1;
        json!({"prometheus": settings})
    };
    let data = json!([{"id": "errors", "expression": "SUM(METRICS())"}]);
    let rows = [
        (prometheus(("timeout", json!(7))), 14),
        (prometheus(("authentication", client.clone())), 120),
        (signed, 110),
        (json!({"web": {"url": "http://host"}}), 10),
        (json!({"web": {"url": "http://host", "timeoutSeconds": 3, "authentication": client}}), 9),
        (json!({"datadog": {"query": "avg:errors{*}", "requestTimeout": "4s"}}), 4),
        (json!({"newRelic": {"query": "FROM Transaction SELECT count(*)", "timeout": 20}}), 25),
        (json!({"graphite": {"address": "http://host", "query": "target=errors"}}), 10),
        (json!({"influxdb": {"query": "from(bucket: \"a\")"}}), 30),
        (json!({"cloudWatch": {"metricDataQueries": data}}), 450),
    ];
    for (provider, seconds) in rows {
        match providers::read("provider", &provider) {
            Ok(Settings::Http(read)) => assert_eq!(read.longest().as_secs(), seconds, "{provider}"),
            Ok(_) => panic!("{provider} is not asked over HTTP"),
            Err(flaws) => panic!("{provider}: {flaws:?}"),
        }
    }
}

#[test]
fn every_mistake_in_the_settings_of_prometheus_is_told_with_its_field() {
    let provider = json!({"prometheus": {
        "address": "prometheus:9090",
        "querry": "up",
        "timeout": "soon",
        "insecure": "maybe",
        "headers": [{"key": "X Scope", "value": "a"}, {"key": "X-Scope", "value": "line\n", "extra": 1}, 5],
        "rangeQuery": {"start": "now() - ", "end": "now()", "step": "often"},
        "authentication": {"basicAuth": {"password": "x"}, "bearer": {"token": 5}, "sigv4": {"region": "eu"}},
        "tls": {"ca": "no pem", "certificate": "-----BEGIN CERTIFICATE-----"},
    }});
    insta::assert_snapshot!(
        "prometheus",
        page(&[
            provider,
            json!({"prometheus": "up"}),
            json!({"prometheus": {"query": "up", "rangeQuery": {"end": "now()"}}}),
            json!({"prometheus": {"query": "up", "authentication": {"sigv4": {"region": "eu/1", "profile": "a", "roleArn": "b"}}}}),
            json!({"prometheus": {"query": "up", "authentication": {"sigv4": {"profile": "a"}}}}),
            json!({"prometheus": {"query": "up", "timeout": -1, "address": "http://me:secret@host"}})
        ])
    );
}

#[test]
fn nobody_is_waited_for_without_end() {
    let rows = [
        json!({"web": {"url": "http://a", "timeoutSeconds": 301}}),
        json!({"prometheus": {"query": "up", "timeout": 999_999_999}}),
        json!({"datadog": {"query": "q", "requestTimeout": "1000000h"}}),
        json!({"newRelic": {"query": "q", "timeout": "301"}}),
        json!({"web": {"url": "http://a", "timeoutSeconds": 300}}),
        json!({"datadog": {"query": "q", "requestTimeout": "5m"}}),
    ];
    insta::assert_snapshot!("time_limits", page(&rows));
}

#[test]
fn every_mistake_in_the_settings_of_web_is_told_with_its_field() {
    let provider = json!({"web": {
        "method": "DELETE",
        "body": "a",
        "jsonBody": {"a": 1},
        "jsonPath": "$.a",
        "authentication": {"oauth2": {"tokenUrl": "auth", "clientId": "me"}, "basicAuth": {"username": "me"}},
    }});
    insta::assert_snapshot!("web", page(&[provider, json!({"web": {"url": "http://a", "jsonBody": {}}})]));
}

#[test]
fn what_upstream_writes_for_nothing_is_nothing() {
    let authentication = json!({"sigv4": {}, "oauth2": {"tokenUrl": "", "scopes": []}, "basicAuth": null});
    let prometheus = json!({"query": "up", "authentication": authentication, "timeout": null, "tls": {}});
    assert_eq!(flaws(&json!({"prometheus": prometheus})), "");
}

#[test]
fn a_text_that_is_yet_to_be_filled_in_is_not_checked() {
    let provider = json!({"prometheus": {
        "address": "*****",
        "query": "lag{pod=\"{{pod.name}}\"}",
        "timeout": "*****",
        "insecure": "*****",
        "authentication": {"sigv4": {"region": "*****", "roleArn": "*****", "profile": "*****"}},
        "rangeQuery": {"start": "*****", "end": "now()", "step": "*****"},
        "tls": {"ca": "*****", "certificate": "*****", "key": "*****"},
    }});
    assert_eq!(flaws(&provider), "");
    let web =
        json!({"url": "http://{{pod.name}}.db:9187", "method": "*****", "jsonPath": "{$.{{pod.name}}}"});
    assert_eq!(flaws(&json!({"web": web})), "");
    let queries = json!({"metricDataQueries": [
        {"id": "*****", "metricStat": {"metric": {"metricName": "a"}, "period": "*****", "stat": "Sum"}},
        {"id": "*****", "expression": "*****", "returnData": "*****"},
    ]});
    for provider in [
        json!({"datadog": {"query": "*****", "apiVersion": "*****", "interval": "*****"}}),
        json!({"datadog": {"query": "*****", "apiVersion": "v2", "aggregator": "*****"}}),
        json!({"newRelic": {"query": "*****", "timeout": "*****"}}),
        json!({"cloudWatch": queries}),
        json!({"graphite": {"address": "*****", "query": "*****"}}),
        json!({"kubernetes": {"expression": "pods.size() < *****"}}),
    ] {
        assert_eq!(flaws(&provider), "", "{provider}");
    }
}
