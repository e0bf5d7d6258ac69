//! Expressions over the workload, its pods and another object: what they give, and what they cannot do.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is test code"
)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value as Json, json};
use windlass_analysis::providers::kubernetes::{Facts, Kubernetes, ObjectWanted};
use windlass_analysis::providers::{self, Settings};
use windlass_analysis::rules::Flaw;

fn pod(name: &str, revision: &str, ready: bool, restarts: &[i64]) -> Json {
    let statuses: Vec<Json> =
        restarts.iter().map(|count| json!({"name": "app", "restartCount": count, "ready": ready})).collect();
    let status = if ready { "True" } else { "False" };
    json!({
        "metadata": {"name": name, "labels": {"controller-revision-hash": revision}},
        "spec": {"nodeName": "node-1"},
        "status": {
            "phase": "Running", "containerStatuses": statuses,
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": status}],
        },
    })
}

/// Three pods, two of them updated; one of these is not ready and has restarted.
fn pods() -> Vec<Json> {
    vec![
        pod("db-0", "old", true, &[7]),
        pod("db-1", "new", true, &[0, 0]),
        pod("db-2", "new", false, &[2, 3]),
    ]
}

fn cluster() -> Json {
    json!({
        "kind": "Cluster",
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Backup", "status": "False"}],
            "lag": {"seconds": 1.5, "bytes": 2048}, "readyInstances": 3,
            "lastBackup": "2020-09-02T18:53:55Z", "phase": "Cluster in healthy state",
        },
    })
}

fn settings(expression: &str) -> Json {
    json!({
        "expression": expression,
        "object": {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": "db"},
    })
}

fn read(field: &str, settings: &Json) -> Result<Box<Kubernetes>, Vec<Flaw>> {
    match providers::read(field, &json!({"kubernetes": settings}))? {
        Settings::Kubernetes(provider) => Ok(provider),
        Settings::Http(_) | Settings::Job(_) => panic!("this is another provider"),
    }
}

fn over(expression: &str, pods: &[Json], object: Option<&Json>) -> String {
    let provider =
        read("it", &settings(expression)).unwrap_or_else(|flaws| panic!("{expression}: {flaws:?}"));
    let workload = json!({"kind": "StatefulSet", "spec": {"replicas": 3}, "status": {"updatedReplicas": 2}});
    let updated: Vec<Json> = pods
        .iter()
        .filter(|pod| pod["metadata"]["labels"]["controller-revision-hash"] == "new")
        .cloned()
        .collect();
    let facts = Facts {
        workload: &workload,
        pods,
        updated: &updated,
        object,
        target: "new",
        stable: "old",
        now: "2020-09-02T19:53:55Z".parse().unwrap(),
    };
    match provider.evaluate(&facts) {
        Ok(measured) => format!("{:?}", measured.value),
        Err(error) => format!("error: {error}"),
    }
}

fn value(expression: &str) -> String {
    over(expression, &pods(), Some(&cluster()))
}

fn flaws(settings: &Json) -> String {
    let flaws = read("spec.metrics[0].provider", settings).err().unwrap();
    flaws.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn questions_that_people_ask_have_answers() {
    let ready = r#"p.status.conditions.exists(c, c.type == "Ready" && c.status == "True")"#;
    let rows = [
        // Restarts.
        "updated.map(p, p.status.containerStatuses.map(c, c.restartCount))".to_owned(),
        "updated.map(p, p.status.containerStatuses.map(c, c.restartCount).sum()).sum()".to_owned(),
        "updated.map(p, p.status.containerStatuses.map(c, c.restartCount).max()).max()".to_owned(),
        "updated.exists(p, p.status.containerStatuses.exists(c, c.restartCount > 0))".to_owned(),
        "updated.filter(p, p.status.containerStatuses.exists(c, c.restartCount > 0)).map(p, p.metadata.name)"
            .to_owned(),
        // Readiness.
        format!("updated.all(p, {ready})"),
        format!("pods.filter(p, {ready}).size()"),
        format!("double(size(pods.filter(p, {ready}))) / double(size(pods))"),
        r#"pods.exists_one(p, p.metadata.labels["controller-revision-hash"] == stable)"#.to_owned(),
        "workload.status.updatedReplicas < workload.spec.replicas".to_owned(),
        "updated.all(p, p.metadata.labels['controller-revision-hash'] == target)".to_owned(),
        // Another object.
        r#"object.status.conditions.exists(c, c.type == "Ready" && c.status == "True")"#.to_owned(),
        r#"object.status.conditions.exists(c, c.type == "Backup" && c.status == "True")"#.to_owned(),
        "object.status.lag.seconds".to_owned(),
        "object.status.readyInstances".to_owned(),
        "object.status.lag.bytes + 1".to_owned(),
        "{'lag': object.status.lag.seconds, 'ready': object.status.readyInstances}".to_owned(),
        "now - unix(object.status.lastBackup)".to_owned(),
        "object.status.phase.contains('healthy') && !object.status.phase.startsWith('Failing')".to_owned(),
        // What may be missing.
        "has(object.status.nothing) ? object.status.nothing : 0".to_owned(),
        "object.status.?nothing.orValue(5)".to_owned(),
        "object.status.lag['bytes'] in [1024, 2048]".to_owned(),
        "null".to_owned(),
        "[].sum()".to_owned(),
        "[1.5, 2.5].sum()".to_owned(),
        "[3, 1, 2].min()".to_owned(),
        "18446744073709551615u".to_owned(),
    ];
    let mut told = String::new();
    for row in &rows {
        writeln!(told, "{row}\n    {}", value(row)).unwrap();
    }
    assert_snapshot!(told);
}

#[test]
fn an_object_that_does_not_exist_is_null() {
    assert_eq!(over("object == null", &pods(), None), "Bool(true)");
    assert_eq!(over("object != null && object.status.ok", &pods(), None), "Bool(false)");
}

#[test]
fn no_value_has_a_reason_that_quotes_no_object() {
    let rows = [
        "object.status.nothing",
        "pods[7].metadata.name",
        "object.status.readyInstances + object.status.phase",
        "object.status.readyInstances / 0",
        "object.status.phase < 5",
        "9223372036854775807 + 1",
        "[].max()",
        "[1, 'a'].max()",
        "['a'].sum()",
        "unix('yesterday')",
        "size(5)",
        "object.status.?nothing",
        "object.status[pods]",
        "object.status.phase.x",
    ];
    let mut told = String::new();
    for row in rows {
        writeln!(told, "{row}\n    {}", value(row)).unwrap();
    }
    assert!(!told.contains("healthy"), "an object is quoted: {told}");
    assert_snapshot!(told);
}

#[test]
fn settings_that_make_no_sense_are_told_by_their_path() {
    let object = json!({"apiVersion": "v1", "kind": "Secret", "name": "db"});
    let rows = [
        json!({}),
        json!({"expression": 5}),
        json!({"expression": "pods.all(p, p.status"}),
        json!({"expression": "1 +\n  * 2"}),
        json!({"expression": "'a"}),
        json!({"expression": "a b"}),
        json!({"expression": "podz.size()"}),
        json!({"expression": "pods.al(p, p.ready)"}),
        json!({"expression": "pods.all(p, q.ready)"}),
        json!({"expression": "timestamp('2020-01-01T00:00:00Z')"}),
        json!({"expression": "object.status.ok"}),
        json!({"expression": "Pod{name: 'a'}"}),
        json!({"expression": "object.data", "object": object}),
        json!({"expression": "object.data", "object": {"apiVersion": "/v1", "kind": "Secret", "name": "a/../b"}}),
        json!({"expression": "object.a", "object": {"kind": "Cluster", "namespce": "db"}}),
    ];
    let told: Vec<String> =
        rows.iter().map(|settings| format!("{settings}\n{}\n", flaws(settings))).collect();
    assert_snapshot!(told.join("\n"));
}

/// What the server is asked for, if it is asked: what is yet to be filled in is not checked any earlier.
fn asked(object: &Json) -> Result<String, String> {
    let settings = json!({"expression": "object.data", "object": object});
    let provider = read("it", &settings).map_err(|flaws| flaws[0].to_string())?;
    let wanted = provider.object().unwrap();
    wanted.group_version().map(|asked| format!("{}|{}|{}", asked.group, asked.version, wanted.name))
}

#[test]
fn no_spelling_leads_to_a_secret_or_out_of_the_path() {
    let object =
        |version: &str, kind: &str, name: &str| json!({"apiVersion": version, "kind": kind, "name": name});
    let spellings = [
        "v1",
        "/v1",
        "v1/",
        "//v1",
        "v1?x",
        "v1#",
        "v1/.",
        "./v1",
        "../v1",
        "../api/v1",
        "a/b/c",
        "a..b/v1",
        "%2fv1",
        " v1",
        "V1",
        "{{/v1",
        "/v1*****",
    ];
    for version in spellings {
        assert!(asked(&object(version, "Secret", "db")).is_err(), "{version}");
        assert!(version == "v1" || asked(&object(version, "ConfigMap", "db")).is_err(), "{version}");
    }
    let names = ["a/../b", "..", ".", "a?b", "a#b", "a%2fb", "a b", "a/../b{{", "../secrets/*****"];
    for name in names {
        assert!(asked(&object("v1", "ConfigMap", name)).is_err(), "{name}");
        for provider in ["newRelic", "influxdb"] {
            let settings = json!({provider: {"query": "q", "profile": name}});
            assert!(providers::read("it", &settings).is_err(), "{name}");
        }
        let settings = json!({"datadog": {"query": "q", "secretRef": {"name": name}}});
        assert!(providers::read("it", &settings).is_err(), "{name}");
    }
    assert_eq!(asked(&object("v1", "ConfigMap", "a.b-1")).as_deref(), Ok("|v1|a.b-1"));
    assert_eq!(asked(&object("apps/v1", "StatefulSet", "db")).as_deref(), Ok("apps|v1|db"));
    let wanted = asked(&object("postgresql.cnpg.io/v1beta1", "Cluster", "db-{{pod.ordinal}}"));
    assert_eq!(wanted.as_deref(), Ok("postgresql.cnpg.io|v1beta1|db-{{pod.ordinal}}"));
}

#[test]
fn the_object_is_of_the_runs_own_namespace() {
    let mut settings = settings("object.status.readyInstances");
    let provider = read("it", &settings).unwrap();
    let wanted = ObjectWanted {
        api_version: "postgresql.cnpg.io/v1".to_owned(),
        kind: "Cluster".to_owned(),
        name: "db".to_owned(),
        namespace: None,
    };
    assert_eq!(provider.object(), Some(&wanted));
    assert!(!provider.needs_pods());
    assert!(read("it", &json!({"expression": "updated.size()"})).unwrap().needs_pods());
    assert_eq!(wanted.check("shop"), Ok(()));
    settings["object"]["namespace"] = json!("shop");
    let wanted = read("it", &settings).unwrap().object().unwrap().clone();
    assert_eq!(wanted.check("shop"), Ok(()));
    assert_snapshot!(wanted.check("play").unwrap_err());
}

/// Each of these ended the process before it was refused, on a stack of 2 MiB.
#[test]
fn no_expression_uses_up_the_stack() {
    let nested =
        |depth: usize| (0..depth).fold("1".to_owned(), |inner, level| format!("[1].map(v{level}, {inner})"));
    for size in [8, 12, 13, 30, 60, 100, 200, 600, 1500] {
        let texts = [
            format!("{}1{}", "(".repeat(size), ")".repeat(size)),
            format!("{}1{}", "[".repeat(size), "]".repeat(size)),
            format!("{}1{}", "{'a':".repeat(size), "}".repeat(size)),
            vec!["1"; size].join("+"),
            vec!["true"; size].join("&&"),
            format!("{}true", "!".repeat(size)),
            format!("{}1", "-".repeat(size)),
            format!("{}1", "true?1:".repeat(size)),
            format!("target{}", "[0]".repeat(size)),
            format!("target{}", ".size()".repeat(size)),
            format!("target{}", ".b".repeat(size)),
            format!("[1]{}", ".map(x, x)".repeat(size)),
            format!("target{}", ".?b".repeat(size)),
            nested(size),
        ];
        for text in texts {
            let settings = json!({ "expression": text });
            // A thread of a test has 2 MiB, as a worker of the controller has.
            if let Ok(provider) = read("it", &settings) {
                drop(provider);
                let _ = value(&text);
            }
        }
    }
    assert!(read("it", &json!({"expression": nested(8)})).is_ok());
    assert!(flaws(&json!({"expression": nested(30)})).contains("limit"));
    let sum = vec!["1"; 100].join("+");
    assert_snapshot!(flaws(&json!({ "expression": sum })));
    let long = format!("'{}'", "a".repeat(5000));
    assert!(flaws(&json!({ "expression": long })).contains("at most 4096 bytes"));
}

#[test]
fn no_expression_runs_away() {
    let many: Vec<Json> = (0..1000).map(|number| pod(&format!("db-{number}"), "new", true, &[0])).collect();
    let fine = "updated.map(p, p.status.containerStatuses.map(c, c.restartCount).sum()).sum()";
    assert_eq!(over(fine, &many, None), "Integer(0)");
    let ready = r#"updated.all(p, p.status.conditions.exists(c, c.type == "Ready" && c.status == "True"))"#;
    assert_eq!(over(ready, &many, None), "Bool(true)");
    let wild = [
        "pods.all(a, pods.all(b, pods.all(c, true)))",
        "pods.all(a, pods.all(b, a.metadata.name != b.spec.nodeName))",
        "[pods].all(a, a.all(b, pods.all(c, [1, 2, 3].all(d, true))))",
        "[[pods]].all(a, a.all(b, b.all(c, pods.all(d, [1, 2, 3].all(e, true)))))",
        "pods.map(a, (pods + pods + pods)).all(b, b.all(c, true))",
        "pods.all(p, pods == pods)",
        "pods.all(p, p in pods)",
        "pods.map(a, pods.map(b, b)).size()",
    ];
    let began = Instant::now();
    for text in wild {
        let told = over(text, &many, None);
        assert!(
            told.starts_with("error: the expression has no value: over so many objects"),
            "{text}: {told}"
        );
    }
    let text = "A".repeat(1700);
    let numbers = vec!["0"; 75].join(",");
    let thrice =
        |inner: &str| format!("[{numbers}].map(x,[{numbers}].map(y,[{numbers}].map(z,{inner}))).size()");
    let large = [
        thrice(&format!("\"{text}\"+\"{text}\"")),
        thrice(&format!("b\"{text}\"")),
        format!("[string(\"{text}\")].map(s, {})[0]", thrice("s + s")),
    ];
    for text in large {
        let told = over(&text, &many, None);
        assert!(told.starts_with("error: the expression has no value: over so many objects"), "{told}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert!(over("pods", &many, None).contains("the result has more than 1000 values"));
    let large = json!({"status": {"list": vec![0; 1_000_001]}});
    assert!(over("object.status.list.size()", &[], Some(&large)).contains("may look at 1000000 at most"));
}

/// The parser that spares the stack is not the one that the crate's own programs are read by.
#[test]
fn both_parsers_of_the_crate_read_the_same() {
    let texts = [
        "1 + 2 * 3 - 4 / 5 % 6",
        "-a.b + -1 - - 2",
        "!a && b || c && !d.e",
        "a ? b : c ? d : e",
        "(a || b) && (c || d) && e",
        "a < b == (c >= d) != (e in f)",
        "a.b['c'][0].d(1, 'x', [2, 3.5, 1e3, 4u, 0x1F])",
        "{'a': 1, b: [true, false, null]}",
        "has(a.b.c) && a.map(x, x > 1, x * 2).all(y, y != 4)",
        "a.exists(x, a.exists_one(y, x.z == y.z)) || a.filter(p, p.q).size() == 0",
        r#""quoted \"text\"\n" + 'single' + """three""" + r'raw\d'"#,
        "a\n  .b // a remark\n  .c",
    ];
    // The numbers of the parts are given in another order.
    let shape = |text: &str| {
        let mut words = text.split("id: ");
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |text, word| text + word.trim_start_matches(|sign: char| sign.is_ascii_digit()))
    };
    for text in texts {
        let ours =
            cel::parser::PrattParser::new().parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let theirs = cel::Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(shape(&format!("{ours:?}")), shape(&format!("{:?}", theirs.expression())), "{text}");
    }
}

/// An expression of this depth at random, of the kind that types and edges of numbers trip over.
fn random(next: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
    const ATOMS: [&str; 24] = [
        "pods",
        "updated",
        "object",
        "object.status",
        "object.status.lag",
        "object.name",
        "target",
        "now",
        "p",
        "1",
        "0",
        "9223372036854775807",
        "(-9223372036854775807 - 1)",
        "1e308",
        "-0.0",
        "2u",
        "18446744073709551615u",
        "'a'",
        "'é'",
        "null",
        "true",
        "[]",
        "{}",
        "b'y'",
    ];
    const SIGNS: [&str; 14] = ["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "in"];
    const LOOPS: [&str; 5] = ["all", "exists", "exists_one", "filter", "map"];
    const CALLS: [&str; 9] = ["size", "int", "uint", "double", "string", "bool", "dyn", "unix", "sum"];
    const METHODS: [&str; 5] = ["contains", "startsWith", "endsWith", "orValue", "or"];
    if depth == 0 {
        return ATOMS[next(ATOMS.len())].to_owned();
    }
    let one = random(next, depth - 1);
    let other = random(next, depth - 1);
    match next(12) {
        0..=2 => format!("({one} {} {other})", SIGNS[next(SIGNS.len())]),
        3 => format!("!({one})"),
        4 => format!("-({one})"),
        5 => format!("({one} ? {other} : {one})"),
        6 => format!("({one}).{}(p, {other})", LOOPS[next(LOOPS.len())]),
        7 => format!("{}({one})", CALLS[next(CALLS.len())]),
        8 => format!("({one}).{}({other})", METHODS[next(METHODS.len())]),
        9 => format!("({one})[{other}]"),
        10 => format!("({one}).?name[?{other}]"),
        _ => format!("[{one}, {{{other}: {one}}}]"),
    }
}

/// A panic would end the controller: its program is built to abort.
#[test]
fn no_expression_panics() {
    let mut seed: u64 = 1;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % 1000).unwrap() % below
    };
    let (mut good, mut bad) = (0, 0);
    for round in 0..6000 {
        let text = random(&mut next, 1 + round % 3);
        if read("it", &settings(&text)).is_err() {
            continue;
        }
        if value(&text).starts_with("error: ") { bad += 1 } else { good += 1 }
    }
    assert!(good > 300 && bad > 1000, "{good} values and {bad} errors are too few to tell anything");
}
