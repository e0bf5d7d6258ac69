//! Rollouts that a Kubernetes Job judges.

use windlass_api::analysis::Phase;
use windlass_bed::analyses::{step, template};
use windlass_bed::{manifests, test, until};

use crate::by_numbers::changed;

fn by_job(image: &str) -> String {
    let container =
        format!("{{name: check, image: '{image}', args: ['--revision', '{{{{args.revision}}}}']}}");
    let job = format!("{{spec: {{backoffLimit: 0, template: {{spec: {{containers: [{container}]}}}}}}}}");
    template("smoke", "count: 1", &format!("{{job: {job}}}"))
}

#[tokio::test]
async fn a_job_that_completes_lets_the_rollout_go_on() {
    test("job-good", async |world| {
        world.apply(&by_job("check:v1"));
        let steps = ["{setWeight: 34}", &step("smoke", ""), "{setWeight: 100}"];
        let (_, revision) = changed(world, &manifests::rollout("web", &steps)).await;
        world.until_completed("web", &revision).await;
        let run = world.until_run_phase(Phase::Successful).await;
        let jobs: serde_json::Value =
            serde_json::from_str(&world.kubectl(&["get", "jobs", "-o", "json"])).unwrap();
        let job = &jobs["items"][0];
        let uid = run.metadata.uid.unwrap();
        assert_eq!(job["metadata"]["name"], format!("{uid}.smoke.1"));
        assert_eq!(job["metadata"]["labels"]["analysisrun.argoproj.io/uid"], uid);
        assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "AnalysisRun");
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["args"][1], revision);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_fails_puts_the_version_back() {
    test("job-bad", async |world| {
        world.apply(&by_job("check:v1-fail"));
        let steps = ["{setWeight: 34}", &step("smoke", ""), "{setWeight: 100}"];
        let (stable, _) = changed(world, &manifests::rollout("web", &steps)).await;
        let status = world.until_reverted("web").await;
        let message = &status.condition("Progressing").unwrap().message;
        assert!(message.contains("\"smoke\" assessed Failed"), "{message}");
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_job_is_ended_with_the_rollout_that_waits_for_it() {
    test("job-endless", async |world| {
        world.apply(&by_job("check:v1-never"));
        let steps = ["{setWeight: 34}", &step("smoke", ""), "{setWeight: 100}"];
        changed(world, &manifests::rollout("web", &steps)).await;
        let jobs = || world.kubectl(&["get", "jobs", "-o", "name"]);
        until("the job is there", async || Some(jobs()).filter(|jobs| !jobs.is_empty())).await;
        world.windlass_ok(&["abort", "web"]);
        world.until_reverted("web").await;
        until("the job is gone", async || Some(jobs()).filter(String::is_empty)).await;
        world
            .until_run("the run is over", |run| run.status.as_ref().is_some_and(|it| it.phase.is_completed()))
            .await;
    })
    .await;
}
