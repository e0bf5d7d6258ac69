//! What paths find, as Kubernetes' own tests and documents have it, and what is said of those that are none.

use serde_json::{Value as Json, json};

use super::JsonPath;

fn document() -> Json {
    json!({
        "status": "ok",
        "dotted.name": "dots",
        "empty": [],
        "nothing": null,
        "wanted": "db-1",
        "limit": 5,
        "pods": [
            {"name": "db-0", "lag": 3, "ready": true, "labels": {"zone": "a"}},
            {"name": "db-1", "lag": 12.5, "ready": false, "labels": {"zone": "b"}},
            {"name": "db-2", "lag": 7, "ready": true},
        ],
    })
}

fn first(path: &str) -> Result<String, String> {
    JsonPath::read(path)?.first(&document()).map(ToString::to_string)
}

#[test]
fn a_path_finds_what_kubernetes_would_find() {
    let rows = [
        ("{$.status}", "\"ok\""),
        ("{.status}", "\"ok\""),
        ("{status}", "\"ok\""),
        ("{ $.status }", "\"ok\""),
        ("{$['status']}", "\"ok\""),
        ("{$[\"status\"]}", "\"ok\""),
        ("{.dotted\\.name}", "\"dots\""),
        ("{$['dotted.name']}", "\"dots\""),
        ("{$.nothing}", "null"),
        ("{$.pods[0].name}", "\"db-0\""),
        ("{$.pods.[0].name}", "\"db-0\""),
        ("{$.pods[-1].name}", "\"db-2\""),
        ("{$.pods[-3].name}", "\"db-0\""),
        ("{$.pods[*].lag}", "3"),
        ("{$.pods.*.lag}", "3"),
        ("{$.pods[1:].name}", "\"db-1\""),
        ("{$.pods[1:3].name}", "\"db-1\""),
        ("{$.pods[:2].name}", "\"db-0\""),
        ("{$.pods[-2:].name}", "\"db-1\""),
        ("{$.pods[1:3:2].name}", "\"db-1\""),
        ("{$.pods[2,0].name}", "\"db-2\""),
        ("{$.pods[0]['lag','name']}", "3"),
        ("{$..zone}", "\"a\""),
        ("{..lag}", "3"),
        ("{$.pods[?(@.name==\"db-1\")].lag}", "12.5"),
        ("{$.pods[?(@.name=='db-1')].lag}", "12.5"),
        ("{$.pods[?(@.name != \"db-0\")].name}", "\"db-1\""),
        ("{$.pods[?(@.lag>10)].name}", "\"db-1\""),
        ("{$.pods[?(@.lag >= 7)].name}", "\"db-1\""),
        ("{$.pods[?(@.lag < 3.5)].name}", "\"db-0\""),
        ("{$.pods[?(@.lag <= 3)].name}", "\"db-0\""),
        ("{$.pods[?(@.ready==false)].name}", "\"db-1\""),
        ("{$.pods[?(@.labels)].name}", "\"db-0\""),
        ("{$.pods[?(@.labels.zone==\"b\")].name}", "\"db-1\""),
        ("{$.pods[?(@.name==$.wanted)].lag}", "12.5"),
        ("{$.pods[?(@.lag > $.limit)].name}", "\"db-1\""),
    ];
    for (path, wanted) in rows {
        assert_eq!(first(path).as_deref(), Ok(wanted), "{path}");
    }
    assert_eq!(first("{$}"), Ok(document().to_string()));
}

#[test]
fn a_path_that_leads_nowhere_says_where_it_ends() {
    let rows = [
        ("{$.stats}", "{$.stats}: stats is not found"),
        ("{$.status.code}", "{$.status.code}: code is not found"),
        ("{$.pods[3]}", "{$.pods[3]}: the index 3 is outside of a list of 3"),
        ("{$.pods[-4]}", "{$.pods[-4]}: the index -4 is outside of a list of 3"),
        ("{$.pods[0:9]}", "{$.pods[0:9]}: the index 9 is outside of a list of 3"),
        ("{$.status[0]}", "{$.status[0]}: an index needs a list, and there is none"),
        ("{$.empty[*]}", "{$.empty[*]} finds nothing in the answer"),
        ("{$.pods[?(@.name==\"db-9\")]}", "{$.pods[?(@.name==\"db-9\")]} finds nothing in the answer"),
        ("{$.pods[?(@.unknown==1)]}", "{$.pods[?(@.unknown==1)]} finds nothing in the answer"),
        ("{$.status[?(@.a)]}", "{$.status[?(@.a)]}: a filter needs a list, and there is none"),
        ("{$[?(@.a)]}", "{$[?(@.a)]}: a filter needs a list, and there is none"),
    ];
    for (path, words) in rows {
        assert_eq!(first(path).unwrap_err(), words, "{path}");
    }
}

#[test]
fn what_is_no_path_is_said_when_it_is_read() {
    let rows = [
        ("$.status", "it stands in braces: {$.status}"),
        ("{$.a", "it stands in braces: {$.a}"),
        (
            "{range .items[*]}{.name}{end}",
            "it is one path: range, end and several braces have no meaning here",
        ),
        ("{$.a[}", "] is missing"),
        ("{$.a[0}", "] is missing"),
        ("{$.a[x]}", "what is [x]? write an index, a slice such as 0:2, * or a name in quotes"),
        ("{$.a[]}", "what is []? write an index, a slice such as 0:2, * or a name in quotes"),
        ("{$.a[0:1:0]}", "the step of a slice is above 0"),
        ("{$.a.}", "a name is missing behind a dot"),
        ("{$.a b}", "what is \"b\"? write it as {$.field[0]}"),
        ("{$.a[?(@.x=y)]}", "what is \"=y\" in a filter? write it as ?(@.name==\"value\")"),
        ("{$.a[?(@.x==y)]}", "what is \"y\" in a filter? a text needs quotes, a field begins with @."),
        ("{$.a[?(@.x==1 && @.y==2)]}", "a filter has one comparison; what is \"&& @.y==2\"?"),
        ("{$.a[?@.x]}", "( is missing"),
    ];
    for (path, words) in rows {
        assert_eq!(JsonPath::read(path).unwrap_err(), words, "{path}");
    }
}

#[test]
fn no_path_looks_at_more_values_than_are_allowed() {
    let many = json!({"list": vec![vec![0; 1000]; 1000], "text": "x".repeat(1 << 20), "few": vec![0; 1000]});
    let rows = [
        "{$..x}",
        "{$.list[*][*]}",
        "{$.list[?(@==$)]}",
        "{$.list[?($==$)]}",
        "{$.list[?($.list==$.list)]}",
        "{$.few[?($.text==$.text)]}",
        "{$.list[0:,0:,0:][0:]}",
        "{$.list[?(@[?($.few[*])])]}",
    ];
    for path in rows {
        let error = JsonPath::read(path).unwrap().first(&many).unwrap_err();
        assert_eq!(error, format!("{path}: the path looks at too many values"));
    }
    assert_eq!(JsonPath::read("{$.list[?(@[5]<1)][3]}").unwrap().first(&many), Ok(&json!(0)));
    let nested = format!("{{$.a{}}}", "[?(@.a".repeat(40) + &")]".repeat(40));
    assert_eq!(JsonPath::read(&nested).unwrap_err(), "filters are nested too deep");
}
