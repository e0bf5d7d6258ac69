//! Stories of a run, as a person lives them: what is done once what is seen. Told with a client and not with kubectl,
//! because some tests tell each of them a hundred times.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use windlass_api::analysis::AnalysisTemplate;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_workloads::{HOLD, Holder};

use crate::bed::bed;
use crate::manifests;
use crate::wait::asked;
use crate::world::World;

/// A story of a run of the set `web` with five pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// `[20, pause, 60, 100]`, promoted at its pause.
    Run,
    /// Aborted when three of five are updated.
    Abort,
    /// Another target when three of five are updated; it ends at its first pause.
    NewTarget,
    /// Scaled to three pods at the first pause, then promoted.
    Scale,
    /// Judged by a Job twice: good at 20, bad at 60, so everything goes back.
    Checked,
}

impl Story {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Run, Self::Abort, Self::NewTarget, Self::Scale, Self::Checked];

    fn steps(self) -> &'static [&'static str] {
        match self {
            Self::Run | Self::Scale => &["setWeight: 20", "pause: {}", "setWeight: 60", "setWeight: 100"],
            Self::Abort | Self::NewTarget => {
                &["setWeight: 20", "pause: {}", "setWeight: 60", "pause: {}", "setWeight: 100"]
            }
            Self::Checked => &[
                "setWeight: 20",
                "analysis: {templates: [{templateName: good}]}",
                "setWeight: 60",
                "analysis: {templates: [{templateName: bad}]}",
                "setWeight: 100",
            ],
        }
    }

    /// A set and its rollout, up and Healthy.
    pub async fn begin(self, world: &World) {
        if self == Self::Checked {
            world.create(&template("good", "check:v1")).await;
            world.create(&template("bad", "check:v1-fail")).await;
        }
        world.create(&manifests::stateful_set("web", 5, "app:v1")).await;
        world.create(&manifests::rollout("web", self.steps())).await;
        world.until_phase("web", "Healthy").await;
        world.until_label("web").await;
    }

    /// The run, from the new template to the moment after which nothing happens any more.
    pub async fn play(self, world: &World) {
        let person = Person(world);
        let stable = world.revisions("web").await.0;
        person.image("app:v2").await;
        let target = world.until_target("web", &stable).await;
        if self == Self::Checked {
            world.until_reverted("web").await;
            return;
        }
        person.until_holds(1, &target).await;
        match self {
            Self::Checked => {}
            Self::Run => {
                person.promote().await;
                world.until_completed("web", &target).await;
            }
            Self::Scale => {
                person.change_set(json!({"spec": {"replicas": 3}})).await;
                world
                    .until_status("web", "the share of three is updated", |status| {
                        (status.replicas, status.updated_replicas) == (Some(3), Some(1))
                    })
                    .await;
                person.promote().await;
                world.until_completed("web", &target).await;
            }
            Self::Abort => {
                person.promote().await;
                person.until_holds(3, &target).await;
                person.change_status(json!({"status": {"abort": true}})).await;
                world.until_reverted("web").await;
            }
            Self::NewTarget => {
                person.promote().await;
                person.until_holds(3, &target).await;
                person.image("app:v3").await;
                let other = world.until_target("web", &target).await;
                person.until_holds(1, &other).await;
            }
        }
    }
}

/// A template whose one metric is a Job with this image.
fn template(name: &str, image: &str) -> String {
    let job = format!(
        "{{backoffLimit: 0, template: {{spec: {{containers: [{{name: check, image: '{image}'}}]}}}}}}"
    );
    crate::analyses::template(name, "count: 1", &format!("{{job: {{spec: {job}}}}}"))
}

/// A person who changes things.
struct Person<'a>(&'a World);

impl Person<'_> {
    /// Changes the image; where no mutating policy holds it, the write says itself that it is to be held.
    async fn image(&self, image: &str) {
        let mut change =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}});
        if bed().hold == Holder::Partition {
            change["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": HOLD}});
        }
        self.change_set(change).await;
    }

    async fn change_set(&self, change: Value) {
        let api: Api<StatefulSet> = Api::namespaced(self.0.client(), &self.0.namespace);
        let (params, change) = (PatchParams::default(), Patch::Strategic(change));
        asked("a change of the set", async || api.patch("web", &params, &change).await).await;
    }

    async fn change_status(&self, change: Value) {
        let api: Api<RolloutPlugin> = Api::namespaced(self.0.client(), &self.0.namespace);
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        asked("a change of the status", async || api.patch_status("web", &params, &change).await).await;
    }

    /// Promotes the pause that is shown.
    async fn promote(&self) {
        self.change_status(json!({"status": {"pauseConditions": null}})).await;
    }

    async fn until_holds(&self, step: i32, target: &str) {
        self.0
            .until_status("web", &format!("the run holds at step {step}"), |status| {
                status.phase.as_deref() == Some("Paused")
                    && status.current_step_index == Some(step)
                    && status.updated_revision.as_deref() == Some(target)
            })
            .await;
    }
}

impl World {
    /// Makes what a manifest says.
    async fn create(&self, manifest: &str) {
        let object: Value = serde_saphyr::from_str(manifest).unwrap();
        let post = PostParams::default();
        if object["kind"] == "StatefulSet" {
            let api: Api<StatefulSet> = Api::namespaced(self.client(), &self.namespace);
            api.create(&post, &serde_json::from_value(object).unwrap()).await.unwrap();
        } else if object["kind"] == "AnalysisTemplate" {
            let api: Api<AnalysisTemplate> = Api::namespaced(self.client(), &self.namespace);
            api.create(&post, &serde_json::from_value(object).unwrap()).await.unwrap();
        } else {
            let api: Api<RolloutPlugin> = Api::namespaced(self.client(), &self.namespace);
            api.create(&post, &serde_json::from_value(object).unwrap()).await.unwrap();
        }
    }
}
