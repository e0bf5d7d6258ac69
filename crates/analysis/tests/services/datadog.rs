//! Datadog.

use insta::assert_snapshot;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use windlass_analysis::gauge::{Answer, Reading};
use windlass_analysis::measurement::measurement;
use windlass_analysis::providers::{SecretPlace, SecretWanted};
use windlass_analysis::rules::Conditions;

use super::wire::{Given, Play, flaws, measure, read};

const NAME: &str = "datadog";

fn keys() -> Given {
    Given::secret(&[("api-key", "the-api-key"), ("app-key", "the-app-key")])
}

fn ask(settings: &Json, status: u16, body: &str) -> Play {
    measure(NAME, settings, &keys(), &[(status, body)])
}

fn v1() -> Json {
    json!({"query": "avg:errors{service:a b}/2"})
}

fn v2() -> Json {
    json!({"apiVersion": "v2", "query": "avg:errors{*}"})
}

#[test]
fn the_older_api_is_asked_for_a_window_and_gives_the_last_point_of_the_first_series() {
    let body = r#"{"status":"ok","series":[{"pointlist":[[1598867910000.0,0.002],[1598867925000.0,0.0006]]},{"pointlist":[[1.0,9.0]]}]}"#;
    let play = ask(&v1(), 200, body);
    assert_snapshot!(play.request());
    assert_eq!(play.value(), "Float(0.0006)");
}

#[test]
fn no_series_no_point_and_a_point_without_a_value_are_nothing() {
    for body in [
        r#"{"status":"ok","series":[]}"#,
        r#"{"series":[{"pointlist":[]}]}"#,
        r#"{"series":[{"pointlist":[[1598867910000.0,0.002],[1598867925000.0,null]]}]}"#,
    ] {
        assert_eq!(ask(&v1(), 200, body).value(), "Nil", "{body}");
    }
    for body in [
        r#"{"data":{"attributes":{"columns":[]}}}"#,
        r#"{"data":{"attributes":{"columns":[{"values":[]}]}}}"#,
        r#"{"data":{"attributes":{"columns":[{"type":"number","values":[null]}]}}}"#,
        r#"{"data":{"attributes":{"columns":[{"type":"group","values":[]},{"type":"number","values":[]}]}}}"#,
        r#"{"data":{"attributes":{"columns":[{"type":"group","values":[["a"]]},{"type":"number","values":[null]}]}}}"#,
        r#"{"data":{"attributes":{"columns":[{"type":"group","values":[]}]}}}"#,
    ] {
        assert_eq!(ask(&v2(), 200, body).value(), "Nil", "{body}");
    }
}

#[test]
fn the_newer_api_is_asked_for_one_number() {
    let settings =
        json!({"apiVersion": "v2", "query": "avg:errors{*}", "interval": "10m", "requestTimeout": "1m"});
    let body = r#"{"data":{"type":"scalar_response","attributes":{"columns":[{"name":"query","values":[0.25],"type":"number","meta":{"unit":null}}]}}}"#;
    let play = ask(&settings, 200, body);
    assert_snapshot!(play.request());
    assert_eq!(play.value(), "Float(0.25)");
}

#[test]
fn several_queries_are_put_together_by_a_formula() {
    let settings = json!({
        "apiVersion": "v2", "queries": {"a": "sum:errors{*}", "b": "sum:requests{*}"}, "formula": "a / b",
        "aggregator": "sum",
    });
    let play = ask(&settings, 200, r#"{"data":{"attributes":{"columns":[{"values":[0.5]}]}}}"#);
    assert_snapshot!(play.request());
    assert_eq!(play.value(), "Float(0.5)");
}

#[test]
fn a_grouped_query_gives_a_number_for_each_group_that_has_one_and_names_the_groups() {
    let body = r#"{"data":{"attributes":{"columns":[
        {"name":"env","type":"group","values":[["prod"],["test"],["dev"]]},
        {"name":"resource","type":"group","values":[["GET /a"],["GET /b"],["GET /c"]]},
        {"name":"query","type":"number","values":[0.1,0.4,null]}]}}}"#;
    let measured = ask(&v2(), 200, body).measured.unwrap();
    assert_snapshot!(format!("{:?}\n{:?}", measured.value, measured.metadata));
}

#[test]
fn a_number_that_belongs_to_no_group_is_not_taken_for_one() {
    for names in [json!([["a"]]), json!([["a"], null]), json!([["a"], []]), json!([])] {
        let columns = json!([{"type": "group", "values": names}, {"type": "number", "values": [1, 2]}]);
        let body = json!({"data": {"attributes": {"columns": columns}}}).to_string();
        let words = "Datadog answered with groups, and with a number that belongs to none of them";
        assert_eq!(ask(&v2(), 200, &body).error(), words, "{names}");
    }
}

#[test]
fn of_more_than_a_hundred_groups_the_highest_and_the_lowest_are_named() {
    let names: Vec<Json> = (0..101).map(|number| json!([format!("group-{number}")])).collect();
    let values: Vec<Json> = (0..101).map(|number| json!(number)).collect();
    let columns = json!([{"type": "group", "values": names}, {"type": "number", "values": values}]);
    let body = json!({"data": {"attributes": {"columns": columns}}}).to_string();
    let measured = ask(&v2(), 200, &body).measured.unwrap();
    let groups: Vec<Json> = serde_json::from_str(&measured.metadata["groups"]).unwrap();
    assert_eq!(measured.metadata["groups_truncated"], "true");
    assert_eq!(groups.len(), 100);
    assert_eq!(groups[0], json!({"name": "group-100", "value": 100.0}));
    assert_eq!(groups[99], json!({"name": "group-0", "value": 0.0}));
    assert!(!groups.contains(&json!({"name": "group-50", "value": 50.0})));
}

#[test]
fn groups_with_long_names_can_be_read_in_a_measurement() {
    let long = |number: u32| format!("{}-{number}", "x".repeat(80));
    let names: Vec<Json> = (0..90).map(|number| json!([long(number)])).collect();
    let values: Vec<Json> = (0..90).map(|number| json!(number)).collect();
    let columns = json!([{"type": "group", "values": names}, {"type": "number", "values": values}]);
    let body = json!({"data": {"attributes": {"columns": columns}}}).to_string();
    let answer = Answer::from(Reading::Value(ask(&v2(), 200, &body).measured.unwrap()));
    let metadata = measurement(answer, &Conditions::default(), Timestamp::UNIX_EPOCH).unwrap().metadata;
    let groups: Vec<Json> = serde_json::from_str(&metadata["groups"]).unwrap();
    assert_eq!(metadata["groups_truncated"], "true");
    assert_eq!(groups.first(), Some(&json!({"name": long(89), "value": 89.0})));
    assert_eq!(groups.last(), Some(&json!({"name": long(0), "value": 0.0})));
}

#[test]
fn every_refusal_is_a_sentence() {
    let rows = [
        (v1(), 403, r#"{"errors":["Forbidden"]}"#),
        (v1(), 401, r#"{"errors":["No authenticated user with the-api-key."]}"#),
        (v1(), 400, r#"{"status":"error","error":"Error parsing query: unable to parse avg:"}"#),
        (v1(), 200, r#"{"status":"error","error":"Error parsing query"}"#),
        (v1(), 429, r#"{"errors":["Rate limit of 300 requests in 3600 seconds reached"]}"#),
        (v1(), 302, ""),
        (v1(), 200, "<html>a proxy</html>"),
        (v1(), 200, "{}"),
        (v1(), 200, r#"{"series":[{"pointlist":[[1,"a"]]}]}"#),
        (v2(), 400, r#"{"errors":[{"title":"Generic Error","detail":"cannot parse query"}]}"#),
        (v2(), 200, r#"{"data":{"attributes":{"columns":[]}},"errors":"there was a timeout"}"#),
        (v2(), 200, r#"{"data":{"attributes":{"columns":[{"values":"invalid"}]}}}"#),
        (v2(), 200, "{}"),
        (v2(), 503, ""),
    ];
    let told: Vec<String> =
        rows.iter().map(|(settings, status, body)| ask(settings, *status, body).error().to_owned()).collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn keys_come_from_the_secret_or_the_environment_and_a_named_secret_comes_first() {
    let secret = [("address", "https://secret.example/"), ("api-key", "s1"), ("app-key", "s2")];
    let whole = [("DD_ADDRESS", "https://env.example"), ("DD_API_KEY", "e1"), ("DD_APP_KEY", "e2")];
    let named = json!({"query": "q", "secretRef": {"name": "mine", "namespaced": true}});
    let common = json!({"query": "q"});
    let host = |settings: &Json, given: &Given| {
        let play = measure(NAME, settings, given, &[(200, r#"{"series":[]}"#)]);
        play.request().lines().nth(2).unwrap().to_owned()
    };
    let both = |environment: &[(&str, &str)]| Given {
        secret: Given::secret(&secret).secret,
        environment: Given::environment(environment).environment,
    };
    assert_eq!(host(&common, &both(&whole)), "Host: env.example");
    assert_eq!(host(&common, &both(&whole[1..])), "Host: secret.example");
    assert_eq!(host(&named, &both(&whole)), "Host: secret.example");
    let beside = json!({"query": "q", "secretRef": {"name": "mine"}});
    assert_eq!(host(&beside, &both(&whole)), "Host: secret.example");
    assert_eq!(host(&beside, &Given::environment(&whole)), "Host: env.example");
    assert_eq!(host(&common, &Given::environment(&whole[1..])), "Host: api.datadoghq.com");
}

#[test]
fn where_a_template_names_a_secret_of_its_namespace_no_other_account_is_asked() {
    let named = json!({"query": "q", "secretRef": {"name": "mine", "namespaced": true}});
    let whole = [("DD_ADDRESS", "https://env.example"), ("DD_API_KEY", "e1"), ("DD_APP_KEY", "e2")];
    let play = measure(NAME, &named, &Given::environment(&whole), &[]);
    assert_eq!(
        play.error(),
        "Datadog needs two keys: put api-key and app-key in the Secret mine of the run's namespace"
    );
}

#[test]
fn what_it_says_is_not_told_in_full_length() {
    let body = json!({"series": [{"pointlist": [[0, "a".repeat(100_000)]]}]}).to_string();
    let play = measure(NAME, &v1(), &Given::secret(&[("api-key", "b"), ("app-key", "c")]), &[(200, &body)]);
    assert!(play.error().len() < 400, "{}", play.error().len());
    assert!(play.error().ends_with("aaa… where a number is wanted"), "{}", play.error());
}

#[test]
fn without_keys_nothing_is_asked() {
    let none = measure(NAME, &v1(), &Given::default(), &[]);
    let half = measure(NAME, &v1(), &Given::secret(&[("api-key", "a"), ("app-key", " ")]), &[]);
    let address = [("address", "datadog.example"), ("api-key", "a"), ("app-key", "b")];
    let wrong = measure(NAME, &v1(), &Given::secret(&address), &[]);
    assert_eq!(none.error(), half.error());
    assert_snapshot!(format!("{}\n{}", none.error(), wrong.error()));
}

#[test]
fn the_secret_is_the_controllers_unless_a_template_names_one_of_its_own() {
    let wanted = |settings: &Json, environment: &[(&str, &str)]| {
        read(NAME, settings).secret(&Given::environment(environment).environment)
    };
    let secret = |name: &str, place, optional| Some(SecretWanted { name: name.to_owned(), place, optional });
    let whole = [("DD_ADDRESS", "https://env.example"), ("DD_API_KEY", "e1"), ("DD_APP_KEY", "e2")];
    for environment in [&[][..], &whole[1..], &whole[..2]] {
        assert_eq!(wanted(&v1(), environment), secret("datadog", SecretPlace::Controller, true));
    }
    assert_eq!(wanted(&v1(), &whole), None, "nobody needs it");
    let mine = json!({"query": "q", "secretRef": {"name": "mine"}});
    assert_eq!(wanted(&mine, &whole), secret("mine", SecretPlace::Controller, true));
    let mine = json!({"query": "q", "secretRef": {"name": "mine", "namespaced": true}});
    assert_eq!(wanted(&mine, &whole), secret("mine", SecretPlace::Run, false));
}

#[test]
fn settings_that_make_no_sense_are_told_by_their_path() {
    let rows = [
        json!({}),
        json!("avg:errors{*}"),
        json!({"query": 5, "interval": "soon", "requestTimeout": "0s", "apiVersion": "v3", "agregator": "sum"}),
        json!({"query": "a", "queries": {"b": "c"}, "formula": "b", "aggregator": "sum"}),
        json!({"apiVersion": "v2"}),
        json!({"apiVersion": "v2", "query": "a", "queries": {"b": 5}, "secretRef": {"namespaced": "yes"}}),
        json!({"apiVersion": "v2", "query": "a", "queries": {"b": "c"}}),
        json!({"apiVersion": "v2", "query": "a", "formula": "query", "aggregator": "middle"}),
        json!({"apiVersion": "v2", "queries": {"a": "b", "c": "d"}}),
    ];
    let told: Vec<String> =
        rows.iter().map(|settings| format!("{settings}\n{}", flaws(NAME, settings))).collect();
    assert_snapshot!(told.join("\n"));
}
