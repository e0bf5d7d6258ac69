//! What `analyze` says, of values and of files, as golden files.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use clap::Parser;
use windlass_api::analysis::Phase;

use super::ask::ask;
use super::report::Report;
use super::secrets::Secrets;
use super::subjects::subjects;
use crate::cli::{AnalyzeArguments, Cli, Command, Output};
use crate::failure::Failure;
use crate::files::{Source, read};
use crate::kubectl::{in_runtime, serialised};

/// A server that answers a path with a status and a body, as long as the test runs.
fn server(answers: &[(&'static str, u16, &'static str)]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers: BTreeMap<&str, (u16, &str)> =
        answers.iter().map(|(path, status, body)| (*path, (*status, *body))).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap();
            let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let (status, body) = answers.get(path.as_str()).copied().unwrap_or((404, "no such page"));
            let size = body.len();
            let head =
                format!("HTTP/1.1 {status} Said\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
            stream.write_all((head + body).as_bytes()).unwrap();
        }
    });
    address
}

/// The flags, and the namespace that they name.
fn arguments(flags: &[&str]) -> (AnalyzeArguments, Option<String>) {
    let all = ["windlass", "analyze", "-f", "template.yaml"].iter().chain(flags);
    let Cli { command, connection, .. } = Cli::try_parse_from(all).unwrap();
    match command {
        Command::Analyze(arguments) => (arguments, connection.namespace),
        other => panic!("{other:?}"),
    }
}

fn analyze(text: &str, flags: &[&str]) -> Result<Report, Failure> {
    let source = Source { name: "template.yaml".to_owned(), text: text.to_owned() };
    let manifests = read(&[source]).map_err(|mistakes| {
        Failure::Manifests(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })?;
    let (arguments, namespace) = arguments(flags);
    let secrets = Secrets::read(&arguments.secrets)?;
    let subjects = subjects(&manifests, &arguments, namespace.as_deref(), &secrets)?;
    in_runtime(async { Ok(ask(subjects, &secrets).await) })
}

/// What is printed, with HOST for the server.
fn printed(text: &str, address: SocketAddr, flags: &[&str]) -> String {
    let text = text.replace("HOST", &address.to_string());
    let report = analyze(&text, flags).unwrap();
    report.text().replace(&address.to_string(), "HOST")
}

/// What it fails with, and how it would end.
fn failure(text: &str, flags: &[&str]) -> String {
    match analyze(text, flags) {
        Ok(report) => panic!("it went well: {}", report.text()),
        Err(failure) => format!("{} (exit code {})", failure, failure.code()),
    }
}

const TEMPLATE: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata:
  name: health
spec:
  args:
    - name: service
    - name: token
      valueFrom:
        secretKeyRef: {name: provider, key: token}
  dryRun:
    - metricName: ^dry$
  metrics:
    - name: error-rate
      successCondition: result[0] < 0.05
      interval: 1m
      count: 5
      provider:
        prometheus:
          address: http://HOST
          query: rate(errors{app="{{args.service}}"}[5m])
    - name: lag
      failureCondition: result.seconds > 10
      provider:
        web:
          url: http://HOST/lag?of={{args.service}}
    - name: sessions
      successCondition: result < 5
      failureCondition: result > 10
      provider:
        web: {url: "http://HOST/sessions"}
    - name: broken
      provider:
        web: {url: "http://HOST/broken"}
    - name: dry
      successCondition: result == "up"
      provider:
        web:
          url: http://HOST/echo
          headers:
            - {key: Authorization, value: "Bearer {{args.token}}"}
    - name: a-job
      provider:
        job: {spec: {template: {spec: {}}}}
"#;

fn health() -> SocketAddr {
    server(&[
        (
            "/api/v1/query",
            200,
            r#"{"status":"success","warnings":["slow"],"data":{"resultType":"vector","result":[{"value":[1,"0.01"]}]}}"#,
        ),
        ("/lag?of=db", 200, r#"{"seconds":12.5}"#),
        ("/sessions", 200, "7"),
        ("/broken", 500, "it broke, and t0ken too"),
        ("/echo", 200, "\"my t0ken\""),
    ])
}

const FLAGS: [&str; 4] = ["--arg", "service=db", "--secret", "provider/token=t0ken"];

#[test]
fn each_metric_is_told_with_its_value_its_verdict_and_why() {
    let text = printed(TEMPLATE, health(), &FLAGS);
    assert!(!text.contains("t0ken"), "{text}");
    insta::assert_snapshot!("text", text);
}

#[test]
fn a_program_gets_the_same_as_json() {
    let address = health();
    let report = analyze(&TEMPLATE.replace("HOST", &address.to_string()), &FLAGS).unwrap();
    let json = serialised(&report, Output::Json).unwrap().replace(&address.to_string(), "HOST");
    assert!(!json.contains("t0ken"), "{json}");
    insta::assert_snapshot!("json", json);
}

#[test]
fn only_the_metrics_that_were_asked_for_are_measured_and_the_worst_decides() {
    let address = health();
    let text = TEMPLATE.replace("HOST", &address.to_string());
    let rows = [
        (&["error-rate"][..], Phase::Successful),
        (&["error-rate", "sessions"], Phase::Inconclusive),
        (&["sessions", "broken"], Phase::Error),
        (&["broken", "lag"], Phase::Failed),
        (&["dry", "error-rate"], Phase::Successful),
        (&["a-job"], Phase::Error),
        (&["a-job", "error-rate"], Phase::Successful),
        (&["a-job", "dry"], Phase::Error),
        (&["dry"], Phase::Successful),
    ];
    for (metrics, wanted) in rows {
        let chosen = metrics.iter().flat_map(|metric| ["--metric", metric]);
        let flags: Vec<&str> = FLAGS.into_iter().chain(chosen).collect();
        assert_eq!(analyze(&text, &flags).unwrap().phase, wanted, "{metrics:?}");
    }
}

#[test]
fn a_metric_for_each_pod_names_the_bad_one() {
    let template = r#"
apiVersion: argoproj.io/v1alpha1
kind: ClusterAnalysisTemplate
metadata:
  name: lag
spec:
  metrics:
    - name: lag
      forEachPod: {}
      successCondition: result < 5
      provider:
        web: {url: "http://HOST/{{pod.name}}/{{pod.ordinal}}"}
"#;
    let address = server(&[("/db-0/0", 200, "1"), ("/db-1/1", 200, "9")]);
    insta::assert_snapshot!("pods", printed(template, address, &["--pod", "db-0", "--pod", "db-1"]));
    insta::assert_snapshot!("pods_missing", failure(template, &[]));
}

#[test]
fn a_template_is_measured_with_those_it_refers_to_and_a_run_by_itself() {
    let files = r#"
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: all}
spec:
  args: [{name: limit, value: "5"}]
  templates:
    - templateName: part
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: part}
spec:
  args: [{name: limit}]
  metrics:
    - name: part
      successCondition: result < {{args.limit}}
      provider:
        web: {url: "http://HOST/part"}
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: again}
spec:
  metrics:
    - name: of-the-run
      provider:
        web: {url: "http://HOST/part"}
"#;
    let address = server(&[("/part", 200, "4")]);
    insta::assert_snapshot!("templates", printed(files, address, &[]));
}

#[test]
fn templates_of_two_namespaces_are_kept_apart() {
    let document = |namespace: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
             spec:\n  {spec}\n"
        )
    };
    let part =
        |path: &str| format!("metrics: [{{name: lag, provider: {{web: {{url: \"http://HOST/{path}\"}}}}}}]");
    let whole = "templates: [{templateName: lag}]";
    let files = [
        document("staging", "health", whole),
        document("staging", "lag", &part("staging")),
        document("prod", "health", whole),
        document("prod", "lag", &part("prod")),
        // Nobody refers to this one, though there are others of its name.
        document("demo", "lag", &part("demo")),
    ];
    let address = server(&[("/staging", 200, "4"), ("/prod", 200, "5"), ("/demo", 200, "6")]);
    insta::assert_snapshot!("namespaces", printed(&files.join("---\n"), address, &[]));
    insta::assert_snapshot!("one_namespace", printed(&files.join("---\n"), address, &["-n", "prod"]));
    let lost = [document("staging", "health", whole), document("prod", "lag", &part("prod"))];
    let told = failure(&lost.join("---\n"), &[]);
    assert!(told.contains("AnalysisTemplate \"lag\""), "{told}");
}

/// A template with these lines below `spec`.
fn template(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata:\n  name: {name}\nspec:\n{spec}\n"
    )
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let web = "provider: {web: {url: http://host/}}";
    let metric = |rest: &str| template("t", &format!("  metrics:\n    - name: m\n      {rest}"));
    let circle = [
        template("a", "  templates:\n    - templateName: b"),
        template("b", "  templates:\n    - templateName: a"),
    ];
    let secret = "  args:\n    - name: limit\n      valueFrom: {secretKeyRef: {name: s, key: k}}\n  metrics:\n    - name: m\n      successCondition: result < {{args.limit}}";
    let argument =
        "  args:\n    - name: token\n      valueFrom: {secretKeyRef: {name: s, key: k}}\n    - name: plain";
    let two_sources =
        "  args:\n    - name: token\n      value: a\n      valueFrom: {secretKeyRef: {name: s, key: k}}";
    let rows: Vec<(String, Vec<&str>)> = vec![
        (metric(&format!("successCondition: result <\n      {web}")), vec![]),
        (metric(&format!("{web}\n      successCondition: resul < 5\n      count: many")), vec![]),
        (
            metric("provider:\n        prometheus:\n          adress: http://host\n          query: up"),
            vec![],
        ),
        (
            metric(
                "provider: {prometheus: {address: http://host, query: up}}\n      successCondition: result < 5",
            ),
            vec![],
        ),
        (metric("provider: {prometeus: {}}"), vec![]),
        (metric("provider: {}"), vec![]),
        (metric("provider: {web: {url: \"{{args.url}}\"}}"), vec![]),
        (metric(&format!("succesCondition: x\n      {web}")), vec![]),
        (template("t", "  templates:\n    - templateName: gone"), vec![]),
        (circle.join("---\n"), vec![]),
        (template("t", &format!("{argument}\n  metrics:\n    - name: m\n      {web}")), vec![]),
        (template("t", &format!("{secret}\n      {web}")), vec!["--secret", "s/k=5"]),
        (
            template("t", &format!("{two_sources}\n  metrics:\n    - name: m\n      {web}")),
            vec!["--secret", "s/k=5"],
        ),
        (metric("forEachPod: {}\n      provider: {kubernetes: {expression: '1'}}"), vec!["--pod", "db-0"]),
        (metric(web), vec!["--arg", "service=db"]),
        (metric(web), vec!["--metric", "n"]),
        (metric(web), vec!["--pod", "db-0"]),
        (metric(web), vec!["--secret", "s/k=5"]),
        (metric("provider: {datadog: {query: up}}"), vec!["--secret", "datadgo/api-key=5"]),
        (metric(web).replace("  name: t\n", "  name: t\n  namespace: prod\n"), vec!["-n", "staging"]),
        (metric(web), vec!["--secret", "a/b=@/no/such/file"]),
        (template("t", "  metrics: []"), vec![]),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n".to_owned(), vec![]),
        (template("t", "  metrics:\n    - name: m") + "---\n" + &template("t", "  metrics: []"), vec![]),
    ];
    let told: Vec<String> = rows.iter().map(|(text, flags)| failure(text, flags)).collect();
    insta::assert_snapshot!("wrong", told.join("\n\n"));
}

#[test]
fn a_secret_is_not_told_by_a_mistake_either() {
    let spec = "  args:\n    - name: url\n      valueFrom: {secretKeyRef: {name: s, key: k}}\n  metrics:\n    - name: m\n      provider: {web: {url: \"{{args.url}}\"}}";
    let told = failure(&template("t", spec), &["--secret", "s/k=not-an-address"]);
    assert!(told.contains("\"*****\" is no address") && !told.contains("not-an"), "{told}");
}

/// Two metrics with arguments in their names, one of them a secret.
const NAMED: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: named}
spec:
  args:
    - name: service
    - {name: token, valueFrom: {secretKeyRef: {name: provider, key: token}}}
  metrics:
    - name: errors-{{args.service}}
      provider: {web: {url: "http://HOST/lag?of=db"}}
    - name: q-{{args.token}}
      provider: {web: {url: "http://HOST/sessions"}}
"#;

#[test]
fn a_metric_is_chosen_by_the_name_that_is_printed_and_its_secrets_are_not() {
    let address = health();
    let names = |metrics: &[&str]| {
        let chosen = metrics.iter().flat_map(|metric| ["--metric", metric]);
        let flags: Vec<&str> = FLAGS.into_iter().chain(chosen).collect();
        let text = printed(NAMED, address, &flags);
        let named = text.lines().filter(|line| line.contains("Successful  ")).map(str::trim_start);
        named.filter_map(|line| line.split(' ').next()).map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["errors-db", "q-*****"]);
    assert_eq!(names(&["errors-db"]), ["errors-db"]);
    assert_eq!(names(&["q-*****"]), ["q-*****"]);
    let unknown: Vec<&str> = FLAGS.into_iter().chain(["--metric", "latency"]).collect();
    let told = failure(&NAMED.replace("HOST", &address.to_string()), &unknown);
    assert!(told.contains("there are errors-db, q-*****"), "{told}");
}

#[test]
fn what_the_document_shows_is_what_is_printed() {
    let document = include_str!("../../../../docs/analyze.md");
    let (_, rest) = document.split_once("cat > template.yaml <<'YAML'\n").unwrap();
    let (template, _) = rest.split_once("YAML\n").unwrap();
    let nobody = "127.0.0.1:9";
    assert!(template.contains(nobody));
    let prometheus = server(&[(
        "/api/v1/query",
        200,
        r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"0.31"]}]}}"#,
    )]);
    for address in [nobody.to_owned(), prometheus.to_string()] {
        let report = analyze(&template.replace(nobody, &address), &["--arg", "service=db"]).unwrap();
        let printed = report.text();
        assert!(
            document.contains(&format!("```text\n{printed}```")),
            "docs/analyze.md shows something else:\n{printed}"
        );
    }
}
