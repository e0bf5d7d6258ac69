//! The kinds of analysis on a real server: templates as Argo Rollouts' users write them are taken unchanged, and what
//! nobody could run is refused in words.

use std::process::Output;

use serde_json::{Value, json};
use windlass_bed::{User, World, bed, test_without_controller};

/// Templates and a run in the style of Argo Rollouts' documents.
const EXAMPLES: [&str; 6] = [
    include_str!("examples/prometheus.yaml"),
    include_str!("examples/web.yaml"),
    include_str!("examples/job.yaml"),
    include_str!("examples/datadog.yaml"),
    include_str!("examples/nested.yaml"),
    include_str!("examples/run.yaml"),
];

fn documents(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap()
}

/// What a server answers to a change that it refuses; the name of kubectl's program and the file are not part of it.
fn refusal(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it was taken: {}", String::from_utf8_lossy(&output.stdout));
    said.trim().lines().collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn each_definition_is_established_and_nothing_in_it_is_left_out_or_warned_of() {
    for definition in windlass_api::crds() {
        let name = definition.metadata.name.clone().unwrap();
        let stored = ["get", "crd", &name, "-o", "json"];
        let stored: Value = serde_json::from_str(&bed().kubectl_ok(User::Admin, &stored, "")).unwrap();
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        let is = |kind: &str| conditions.iter().any(|it| it["type"] == kind && it["status"] == "True");
        assert!(is("Established") && is("NamesAccepted"), "{name}: {conditions:?}");
        assert!(!is("NonStructuralSchema"), "{name}: {conditions:?}");
        let applied = bed().kubectl(
            User::Admin,
            &["replace", "--dry-run=server", "-f", "-"],
            &serde_json::to_string(&definition).unwrap(),
        );
        let warned = String::from_utf8_lossy(&applied.stderr);
        assert!(applied.status.success() && warned.is_empty(), "{name}: {warned}");
    }
}

#[tokio::test]
async fn templates_of_argo_rollouts_users_are_stored_as_they_were_written() {
    test_without_controller("analysis-examples", async |world| {
        for example in EXAMPLES {
            // Strict: a field that the schema does not know would be an error.
            world.kubectl_with(&["apply", "--validate=strict", "-f", "-"], example);
            for written in documents(example) {
                let (kind, name) =
                    (written["kind"].as_str().unwrap(), written["metadata"]["name"].as_str().unwrap());
                let stored = world.kubectl(&["get", &format!("{kind}/{name}"), "-o", "json"]);
                let stored: Value = serde_json::from_str(&stored).unwrap();
                assert_eq!(stored["spec"], written["spec"], "{kind} {name}");
            }
        }
        let shown = world.kubectl(&["get", "at,ar", "-o", "name"]);
        assert_eq!(
            shown.split_whitespace().collect::<Vec<_>>(),
            [
                "analysistemplate.argoproj.io/job-analysis",
                "analysistemplate.argoproj.io/log-errors",
                "analysistemplate.argoproj.io/rates",
                "analysistemplate.argoproj.io/success-rate",
                "analysistemplate.argoproj.io/webmetric",
                "analysisrun.argoproj.io/by-hand",
            ]
        );
        world.kubectl(&["delete", "cat", "error-rate"]);
    })
    .await;
}

#[tokio::test]
async fn the_status_of_a_run_is_written_by_itself_and_shown() {
    test_without_controller("analysis-status", async |world| {
        world.kubectl_with(&["apply", "-f", "-"], include_str!("examples/run.yaml"));
        let status =
            json!({"status": {"phase": "Failed", "message": "too many errors"}, "spec": {"terminate": true}});
        world.kubectl(&["patch", "ar/by-hand", "--type=merge", "--patch", &status.to_string()]);
        let read = |path: &str| world.kubectl(&["get", "ar/by-hand", "-o", &format!("jsonpath={path}")]);
        assert_eq!(
            read("{.status.phase} {.spec.terminate}"),
            " true",
            "the status is not part of the object"
        );
        world.kubectl(&[
            "patch",
            "ar/by-hand",
            "--subresource=status",
            "--type=merge",
            "--patch",
            &status.to_string(),
        ]);
        assert_eq!(read("{.status.phase}"), "Failed");
        let table = world.kubectl(&["get", "ar", "-o", "wide"]);
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["NAME", "STATUS", "AGE", "MESSAGE"]);
        assert_eq!((lines[1][1], &lines[1][3..]), ("Failed", &["too", "many", "errors"][..]));
        let unknown = ["patch", "ar/by-hand", "--subresource=status", "--type=merge", "--patch"];
        let unknown = world.kubectl_any(&[&unknown[..], &[r#"{"status":{"phase":"Odd"}}"#]].concat(), "");
        assert!(refusal(&unknown).contains("supported values: \"Successful\""), "{}", refusal(&unknown));
    })
    .await;
}

/// A template with one metric that has these fields besides a name.
fn template(fields: &str) -> String {
    format!(
        "{{apiVersion: argoproj.io/v1alpha1, kind: AnalysisTemplate, metadata: {{name: t}}, spec: {{metrics: [{{name: m, {fields}}}]}}}}"
    )
}

fn run(spec: &str) -> String {
    format!("{{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {{name: t}}, spec: {spec}}}")
}

fn refused(world: &World, manifest: &str) -> String {
    let said = refusal(&world.kubectl_any(&["apply", "--dry-run=server", "-f", "-"], manifest));
    let (_, why) = said.split_once("is invalid: ").unwrap_or(("", &said));
    why.to_owned()
}

#[tokio::test]
async fn what_nobody_could_run_is_refused_in_words() {
    test_without_controller("analysis-refused", async |world| {
        let rows = [
            (
                template("failureLimit: -2, consecutiveSuccessLimit: 1"),
                "spec.metrics[0].failureLimit: Invalid value: -2: spec.metrics[0].failureLimit in body should be greater than or equal to -1",
            ),
            (
                template("inconclusiveLimit: -1"),
                "spec.metrics[0].inconclusiveLimit: Invalid value: -1: spec.metrics[0].inconclusiveLimit in body should be greater than or equal to 0",
            ),
            (
                template("consecutiveErrorLimit: -1"),
                "spec.metrics[0].consecutiveErrorLimit: Invalid value: -1: spec.metrics[0].consecutiveErrorLimit in body should be greater than or equal to 0",
            ),
            (
                template("count: 3"),
                "spec.metrics[0].interval: Required value: more than one measurement (count) needs an interval, such as 30s",
            ),
            (
                template("failureLimit: -1"),
                "spec.metrics[0].consecutiveSuccessLimit: Required value: a failureLimit of -1 bears any number of bad values, which needs a consecutiveSuccessLimit above 0",
            ),
            (
                template("failureLimit: -1, consecutiveSuccessLimit: 0"),
                "spec.metrics[0].consecutiveSuccessLimit: Required value: a failureLimit of -1 bears any number of bad values, which needs a consecutiveSuccessLimit above 0",
            ),
            (template("name: ''").replace("name: m, ", ""), "spec.metrics[0].name: Invalid value: \"\": spec.metrics[0].name in body should be at least 1 chars long"),
            (template("interval: 5"), "spec.metrics[0].interval: Invalid value: \"integer\": spec.metrics[0].interval in body must be of type string: \"integer\""),
            (template("count: true"), "spec.metrics[0].count: Invalid value: \"boolean\": spec.metrics[0].count in body must be of type integer,string: \"boolean\""),
            (run("{metrics: []}"), "spec.metrics: Required value: a run measures something: name at least one metric"),
            (run("{}"), "spec.metrics: Required value: a run measures something: name at least one metric"),
        ];
        for (manifest, expected) in rows {
            let said = refused(world, &manifest);
            assert!(said.contains(expected), "{manifest}\nwas answered with\n{said}\nand not with\n{expected}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_arguments_fill_in_later_and_what_argo_rollouts_runs_is_taken() {
    test_without_controller("analysis-taken", async |world| {
        let rows = [
            template("count: '{{args.count}}'"),
            template("count: '3'"),
            template("failureLimit: '{{args.limit}}'"),
            template("failureLimit: -1, consecutiveSuccessLimit: '{{args.enough}}'"),
            template("count: null, interval: null, failureLimit: null, inconclusiveLimit: null"),
            template("count: 1"),
            template("count: 0, interval: 1m"),
            run("{metrics: [{name: m, provider: {web: {url: http://example.com}}}], terminate: true}"),
        ];
        for manifest in rows {
            world.kubectl_with(&["apply", "--dry-run=server", "-f", "-"], &manifest);
        }
    })
    .await;
}
