//! What cannot work is told in a condition, and nothing is promoted because of it.

use windlass_api::analysis::{AnalysisRun, Phase};
use windlass_bed::analyses::{step, template};
use windlass_bed::{Echo, World, manifests, test};

use crate::by_numbers::changed;

const ANY: &str = "{web: {url: 'http://127.0.0.1:1/'}}";
/// Where nobody answers.
const NOBODY: &str = "http://127.0.0.1:1/";

/// A rollout with this check, in a namespace with these templates: what the condition says, with nothing updated.
async fn invalid(world: &World, templates: &[String]) -> String {
    world.apply(&templates.join("---\n"));
    world.apply(&manifests::stateful_set("web", 3, "app:v1"));
    world.apply(&manifests::rollout("web", &["{setWeight: 34}", &step("errors", ""), "{setWeight: 100}"]));
    let status = world.until_phase("web", "Degraded").await;
    let message = status.condition("InvalidSpec").unwrap().message.clone();
    // It is held all the same: a new version does not enter.
    world.until_label("web").await;
    let (stable, _) = world.revisions("web").await;
    world.set_image("web", "app:v2");
    world.until_target("web", &stable).await;
    let reported = |status: &windlass_api::rollout_plugin::RolloutPluginStatus| {
        status.updated_revision.as_deref() != Some(stable.as_str())
            && status.condition("InvalidSpec").is_some()
    };
    world.until_status("web", "the new revision is seen", reported).await;
    assert_eq!(world.count_on(&stable).await, 3);
    message
}

#[tokio::test]
async fn a_template_that_does_not_exist_is_told_and_mended_by_creating_it() {
    test("unknown-template", async |world| {
        let other = template("other", "count: 1", ANY);
        let message = invalid(world, &[other]).await;
        let told = "spec.strategy.canary.steps[1].analysis: AnalysisTemplate \"errors\" does not exist";
        assert_eq!(message, told);
        world.apply(&template("errors", "count: 1", "{job: {spec: {backoffLimit: 0, template: {spec: {containers: [{name: a, image: 'check:v1'}]}}}}}"));
        let (_, target) = world.revisions("web").await;
        world.until_completed("web", &target).await;
    })
    .await;
}

#[tokio::test]
async fn templates_that_refer_to_each_other_are_told() {
    test("circle", async |world| {
        let link = |name: &str, to: &str| {
            template(name, "count: 1", ANY)
                .replace("spec:\n", &format!("spec:\n  templates: [{{templateName: {to}}}]\n"))
        };
        let message = invalid(world, &[link("errors", "other"), link("other", "errors")]).await;
        assert!(
            message.ends_with("templates refer to each other in a circle: errors -> other -> errors"),
            "{message}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_expression_that_does_not_compile_is_told() {
    test("expression", async |world| {
        let message = invalid(world, &[template("errors", "successCondition: 'result <'", ANY)]).await;
        assert!(
            message.contains("spec.metrics[0].successCondition: \"result <\" is no condition"),
            "{message}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_host_that_nobody_answers_at_is_told() {
    test("unreachable", async |world| {
        world.apply(&template("errors", "consecutiveErrorLimit: 0", ANY));
        let steps = ["{setWeight: 34}", &step("errors", ""), "{setWeight: 100}"];
        let (stable, _) = changed(world, &manifests::rollout("web", &steps)).await;
        let status = world.until_reverted("web").await;
        let message = &status.condition("Progressing").unwrap().message;
        assert!(message.contains("cannot reach 127.0.0.1:1"), "{message}");
        assert_eq!(world.count_on(&stable).await, 3);
    })
    .await;
}

/// A step whose metric sends this key of a Secret to this address, measured once: what is told when it is put back.
async fn with_secret(world: &World, url: &str, name: &str, key: &str) -> String {
    let secret = format!("{{name: token, valueFrom: {{secretKeyRef: {{name: {name}, key: {key}}}}}}}");
    let header = "{key: Authorization, value: 'Bearer {{args.token}}'}";
    let provider = format!("{{web: {{url: '{url}', headers: [{header}]}}}}");
    let template = template("errors", "consecutiveErrorLimit: 0", &provider)
        .replace("args: [", &format!("args: [{secret}, "));
    world.apply(&template);
    let steps = ["{setWeight: 34}", &step("errors", ""), "{setWeight: 100}"];
    let (stable, _) = changed(world, &manifests::rollout("web", &steps)).await;
    let status = world.until_reverted("web").await;
    assert_eq!(world.count_on(&stable).await, 3, "nothing is promoted");
    status.condition("Progressing").unwrap().message.clone()
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_told() {
    test("no-secret", async |world| {
        let message = with_secret(world, NOBODY, "tokens", "read").await;
        let told = format!("args.token: there is no Secret {}/tokens", world.namespace);
        assert!(message.contains(&told), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_secret_without_the_key_is_told_without_what_it_holds() {
    test("wrong-secret", async |world| {
        world.kubectl(&["create", "secret", "generic", "tokens", "--from-literal=read=hunter2"]);
        let message = with_secret(world, NOBODY, "tokens", "write").await;
        let told = format!("args.token: Secret {}/tokens has no key \"write\"; it has read", world.namespace);
        assert!(message.contains(&told), "{message}");
        let everything = world.kubectl(&["get", "ar,rp,sts,events", "-o", "yaml"]);
        assert!(!everything.contains("hunter2"), "{everything}");
    })
    .await;
}

#[tokio::test]
async fn a_secret_with_the_wrong_value_is_told_by_the_answer_and_shown_nowhere() {
    let provider = Echo::start().await;
    test("wrong-value", async |world| {
        world.kubectl(&["create", "secret", "generic", "tokens", "--from-literal=token=hunter2hunter2"]);
        let url = format!("http://{}/locked", provider.address);
        let message = with_secret(world, &url, "tokens", "token").await;
        let heard = provider.heard().concat();
        assert!(heard.contains("Bearer hunter2hunter2"), "it was sent: {heard}");
        assert!(message.contains("answered with HTTP status 401"), "{message}");
        assert!(message.contains("check headers and authentication of the metric"), "{message}");
        let shown = world.kubectl(&["get", "ar,rp,sts,events", "-o", "yaml"]);
        let logged = world.controller.as_ref().unwrap().logged();
        for text in [shown, logged] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_job_of_the_wrong_shape_is_told_and_the_controller_goes_on() {
    test("wrong-job", async |world| {
        for (name, job) in
            [("one", "{spec: 1}"), ("two", "{spec: {template: [{spec: {}}]}}"), ("three", "{}")]
        {
            world.apply(&format!(
                "apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {{name: {name}}}
spec:
  metrics:
  - {{name: smoke, consecutiveErrorLimit: 0, provider: {{job: {job}}}}}
"
            ));
            let is_over = |run: &AnalysisRun| {
                let ours = run.metadata.name.as_deref() == Some(name);
                ours && run.status.as_ref().is_some_and(|status| status.phase == Phase::Error)
            };
            world.until_run("it is told", is_over).await;
        }
        assert!(world.controller.as_mut().unwrap().ended().is_none(), "the controller lives");
    })
    .await;
}
