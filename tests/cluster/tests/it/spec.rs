//! Bad input: a clear condition and event, nothing touched, and mending it is enough.

use windlass_bed::{World, manifests, test, until};

async fn refused(world: &World, name: &str, manifest: &str, words: &str) {
    world.apply(manifest);
    let status = world
        .until_status(name, &format!("{name} is refused with {words:?}"), |status| {
            status.condition("InvalidSpec").is_some_and(|condition| condition.message.contains(words))
        })
        .await;
    assert_eq!(status.phase.as_deref(), Some("Degraded"));
    let event = world.until_event(name, "InvalidSpec").await;
    assert!(event.contains(words), "{event}");
}

#[tokio::test]
async fn wrong_specs_are_admitted_and_answered_with_invalid_spec() {
    test("wrong-specs", async |world| {
        world.apply(&manifests::stateful_set("web", 1, "app:v1"));
        let with = |name: &str, from: &str, to: &str| {
            let manifest = manifests::rollout("web", &["setWeight: 50"]).replace(from, to);
            manifest.replace("metadata:\n  name: web", &format!("metadata:\n  name: {name}"))
        };
        let canary = "strategy:\n    canary:\n      steps:\n      - setWeight: 50\n";
        let step = "- setWeight: 50";
        let rows = [
            ("no-canary", with("no-canary", canary, "strategy: {}\n"), "spec.strategy.canary is required"),
            (
                "no-steps",
                with("no-steps", "steps:\n      - setWeight: 50", "steps: []"),
                "spec.strategy.canary.steps is required",
            ),
            (
                "too-much",
                with("too-much", step, "- setWeight: 101"),
                "SetWeight needs to be between 0 and 100",
            ),
            (
                "negative",
                with("negative", step, "- setWeight: -1"),
                "SetWeight needs to be between 0 and 100",
            ),
            (
                "two-things",
                with("two-things", step, "- {setWeight: 50, pause: {}}"),
                "exactly one of: setWeight, pause, or analysis",
            ),
            ("nothing", with("nothing", step, "- {}"), "exactly one of: setWeight, pause, or analysis"),
            (
                "duration",
                with("duration", step, "- pause: {duration: soon}"),
                "Duration needs to be greater than 0",
            ),
            (
                "plugin",
                with("plugin", "argoproj/statefulset", "acme/postgres"),
                "Plugin 'acme/postgres' not found",
            ),
            ("kind", with("kind", "kind: StatefulSet", "kind: CronJob"), "of kind CronJob"),
            (
                "elsewhere",
                with(
                    "elsewhere",
                    "    name: web\n  plugin",
                    "    name: web\n    namespace: kube-system\n  plugin",
                ),
                "namespace of its rollout",
            ),
            (
                "analysis",
                with("analysis", step, "- analysis: {templates: []}"),
                "steps[0]: analysis.templates: name at least one",
            ),
            (
                "background",
                with(
                    "background",
                    "canary:",
                    "canary:\n      analysis: {templates: [{templateName: x}], onError: hope}",
                ),
                "spec.strategy.canary.analysis.onError: \"hope\" is none of abort, pause and retry",
            ),
            (
                "traffic",
                with("traffic", "canary:", "canary:\n      trafficRouting: {plugins: {}}"),
                "spec.strategy.canary.trafficRouting is not served",
            ),
            (
                "timeout",
                with(
                    "timeout",
                    "name: argoproj/statefulset",
                    "name: argoproj/statefulset\n    config: {timeoutSeconds: 0}",
                ),
                "timeoutSeconds must be greater than 0",
            ),
        ];
        for (name, manifest, words) in &rows {
            refused(world, name, manifest, words).await;
        }
        assert!(world.set("web").await.metadata.labels.is_none(), "nothing was touched");
    })
    .await;
}

#[tokio::test]
async fn mending_the_spec_clears_the_condition() {
    test("mended", async |world| {
        world.apply(&manifests::stateful_set("web", 1, "app:v1"));
        let good = manifests::rollout("web", &["setWeight: 50"]);
        refused(world, "web", &good.replace("setWeight: 50", "setWeight: 500"), "between 0 and 100").await;
        world.apply(&good);
        let status = world.until_phase("web", "Healthy").await;
        assert!(status.condition("InvalidSpec").is_none());
    })
    .await;
}

#[tokio::test]
async fn a_missing_workload_is_waited_for_in_words() {
    test("missing", async |world| {
        world.apply(&manifests::rollout("web", &["setWeight: 50"]));
        let status = world.until_phase("web", "Degraded").await;
        let progressing = status.condition("Progressing").unwrap();
        assert_eq!(progressing.reason, "ReconciliationError");
        assert_eq!(
            progressing.message,
            "Failed to get resource status: StatefulSet web does not exist in this namespace"
        );
        world.until_event("web", "ReconciliationError").await;
        world.apply(&manifests::stateful_set("web", 1, "app:v1"));
        world.until_phase("web", "Healthy").await;
    })
    .await;
}

#[tokio::test]
async fn a_second_rollout_on_one_workload_is_refused_until_the_first_is_gone() {
    test("second-rollout", async |world| {
        world.healthy("web", 1, &["setWeight: 50"]).await;
        let second = manifests::rollout("web", &["setWeight: 50"])
            .replace("metadata:\n  name: web", "metadata:\n  name: other");
        refused(world, "other", &second, "belongs to the rollout web already").await;
        world.kubectl(&["delete", "rp", "web"]);
        world.until_phase("other", "Healthy").await;
        until("the label names the other rollout", async || {
            let labels = world.set("web").await.metadata.labels.unwrap_or_default();
            (labels.get("windlass.sh/rollout").map(String::as_str) == Some("other")).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn the_older_spellings_of_the_deadline_are_understood() {
    test("old-spelling", async |world| {
        world.apply(&manifests::stateful_set("web", 2, "app:v1"));
        let rollout = manifests::rollout("web", &["setWeight: 50"])
            .replace("  plugin:", "  progressDeadlineSeconds: 1\n  progressDeadlineAbort: true\n  plugin:");
        world.apply(&rollout);
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
        world.set_image("web", "app:v2-crash");
        world
            .until_status("web", "it aborted itself", |status| {
                status.waits.iter().any(|wait| wait.reason == "Aborted")
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn what_kubectl_shows_of_a_rollout_is_what_upstream_shows_and_more() {
    test("columns", async |world| {
        world.healthy("web", 2, &["setWeight: 50"]).await;
        let table = world.kubectl(&["get", "rp"]);
        let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(head, ["NAME", "STATUS", "PLUGIN", "AGE", "STEP", "UPDATED", "READY"]);
        let explained = world.kubectl(&["explain", "rp.spec.strategy.canary.steps.setWeight"]);
        assert!(explained.contains("Percent of the pods"), "{explained}");
        assert!(world.kubectl(&["get", "all"]).contains("rolloutplugin.argoproj.io/web"));
    })
    .await;
}
