//! Jobs as the provider `job` makes them: the image picks how their pods end (`testbed/stages.yaml`).

use serde_json::Value;
use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::{World, test, test_without_controller, until};

fn job(name: &str, image: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: check, image: {image:?}}}]
"
    )
}

fn read(world: &World, what: &[&str]) -> Value {
    serde_json::from_str(&world.kubectl(&[&["get"], what, &["-o", "json"]].concat())).unwrap()
}

/// How a Job ended, if it did.
fn ending(world: &World, name: &str) -> Option<String> {
    let job = read(world, &["job", name]);
    let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut ended = conditions
        .iter()
        .filter(|it| it["status"] == "True" && (it["type"] == "Complete" || it["type"] == "Failed"));
    ended.next().map(|it| it["type"].as_str().unwrap().to_owned())
}

/// Phase and exit code of the one pod of a Job.
fn pod(world: &World, job: &str) -> (String, Option<i64>) {
    let pods = read(world, &["pods", "--selector", &format!("job-name={job}")]);
    let [pod] = pods["items"].as_array().unwrap().as_slice() else { return (String::new(), None) };
    let code = &pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"];
    (pod["status"]["phase"].as_str().unwrap_or_default().to_owned(), code.as_i64())
}

#[tokio::test]
async fn the_pod_of_a_job_succeeds_fails_or_never_ends_as_its_image_says() {
    test_without_controller("jobs", async |world| {
        world.apply(
            &[job("good", "check:v1"), job("bad", "check:v1-fail"), job("endless", "check:v1-never")]
                .join("---\n"),
        );
        until("the good one is complete", async || ending(world, "good").filter(|it| it == "Complete")).await;
        assert_eq!(pod(world, "good"), ("Succeeded".to_owned(), Some(0)));
        until("the bad one has failed", async || ending(world, "bad").filter(|it| it == "Failed")).await;
        assert_eq!(pod(world, "bad"), ("Failed".to_owned(), Some(1)));
        let runs = async || (pod(world, "endless").0 == "Running").then_some(());
        until("the endless one runs", runs).await;
        assert_eq!(ending(world, "endless"), None);
        world.kubectl(&["delete", "job", "endless", "--cascade=foreground", "--timeout=60s"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_whose_image_cannot_be_had_waits_with_the_reason_that_is_looked_for() {
    test_without_controller("jobs-pull", async |world| {
        world.apply(&job("missing", "check:v1-pull"));
        let reason = until("its pod waits", async || {
            let pods = read(world, &["pods", "--selector", "job-name=missing"]);
            let state = &pods["items"][0]["status"]["containerStatuses"][0]["state"];
            state["waiting"]["reason"].as_str().map(str::to_owned)
        })
        .await;
        assert_eq!(reason, "ImagePullBackOff");
        assert_eq!(ending(world, "missing"), None);
    })
    .await;
}

/// Whoever may write the status of a run may not delete Jobs by that.
#[tokio::test]
async fn a_job_that_a_status_names_and_that_is_none_of_the_runs_is_left_alone() {
    test("jobs-named", async |world| {
        world.apply(&job("nightly-backup", "check:v1-never"));
        world.apply(
            "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: run}
spec:
  measurementRetention: [{metricName: one, limit: 2}]
  metrics:
  - {name: one, interval: 1s, provider: {kubernetes: {expression: '1'}}}
",
        );
        let count = |run: &AnalysisRun| run.status.as_ref().map_or(0, |it| it.metric_results[0].count);
        let before = count(&world.until_run("it measures", |run| count(run) > 2).await);
        let names = r#"[{"op":"add","path":"/status/metricResults/0/measurements/1/metadata","value":{"job-name":"nightly-backup"}}]"#;
        world.kubectl(&["patch", "ar", "run", "--subresource=status", "--type=json", "-p", names]);
        let is_named = |run: &AnalysisRun| {
            let all = run.status.iter().flat_map(|status| &status.metric_results[0].measurements);
            all.clone().any(|it| it.metadata.contains_key("job-name"))
        };
        let forgotten = |run: &AnalysisRun| count(run) > before + 3 && !is_named(run);
        world.until_run("the measurement is not kept any more", forgotten).await;
        let backup = read(world, &["job", "nightly-backup"]);
        assert_eq!(backup["metadata"]["deletionTimestamp"], Value::Null);
        assert_eq!(ending(world, "nightly-backup"), None);
    })
    .await;
}

#[tokio::test]
async fn the_jobs_of_measurements_that_are_not_kept_are_deleted() {
    test("jobs-kept", async |world| {
        world.apply(
            "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: run}
spec:
  measurementRetention: [{metricName: smoke, limit: 1}]
  metrics:
  - name: smoke
    interval: 1s
    count: 4
    provider: {job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: a, image: 'check:v1'}]}}}}}
",
        );
        let run = world.until_run_phase(Phase::Successful).await.status.unwrap();
        let result = &run.metric_results[0];
        assert_eq!((result.count, result.measurements.len()), (4, 1));
        let kept = result.measurements[0].metadata["job-name"].clone();
        let left = until("one Job is left", async || {
            let jobs = read(world, &["jobs"]);
            let names = jobs["items"].as_array().unwrap().iter();
            let names: Vec<String> =
                names.map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect();
            (names.len() == 1).then_some(names)
        })
        .await;
        assert_eq!(left, [kept]);
    })
    .await;
}
