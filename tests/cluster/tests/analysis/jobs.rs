//! Jobs as the provider `job` makes them: the image picks how their pods end (`testbed/stages.yaml`).

use serde_json::Value;
use windlass_bed::{World, test_without_controller, until};

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
