//! People, autoscalers and GitOps tools.

use jiff::SignedDuration;
use serde_json::json;
use windlass_sim::actors::autoscaler::{Autoscaler, Scaling};
use windlass_sim::actors::gitops::{GitOps, Manner};
use windlass_sim::actors::person::{Button, Person, promote};
use windlass_sim::{Key, Resource};

use crate::stage::{Stage, pod, set, web};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

fn running() -> Stage {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(2, "a", json!({})));
    stage.settle();
    stage
}

#[test]
fn an_autoscaler_follows_its_script_or_goes_step_by_step() {
    let mut stage = running();
    let now = stage.now();
    let script = Scaling::Script(vec![(now + MINUTE, 4), (now + MINUTE * 2, 1)]);
    stage.cluster.add(Box::new(Autoscaler::new(web(), script)));
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(stage.pods());
        stage.seconds(60);
    }
    assert_eq!(seen, ["0:a 1:a", "0:a 1:a 2:a 3:a", "0:a"]);
    let now = stage.now();
    let steps = Scaling::Steps { from: now, every: MINUTE, step: 1, bound: 3 };
    stage.cluster.add(Box::new(Autoscaler::new(web(), steps)));
    stage.seconds(30);
    assert_eq!(stage.pods(), "0:a 1:a");
    stage.seconds(600);
    assert_eq!(stage.pods(), "0:a 1:a 2:a");
}

#[test]
fn a_gitops_tool_puts_back_what_it_states_and_leaves_the_rest() {
    let mut stage = running();
    let now = stage.now();
    let stated = set(2, "a", json!({"updateStrategy": {"rollingUpdate": {"partition": 1}}}));
    let silent = set(2, "b", json!({"updateStrategy": null}));
    let commits = vec![(now, stated), (now + MINUTE * 10, silent)];
    stage.cluster.add(Box::new(GitOps::new(Resource::StatefulSets, commits, MINUTE, Manner::Apply)));
    let partition = |stage: &Stage| {
        stage.get(Resource::StatefulSets, &web()).unwrap()["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
            .as_i64()
    };
    stage.settle();
    assert_eq!(partition(&stage), Some(1));
    stage.partition(2);
    stage.seconds(59);
    assert_eq!(partition(&stage), Some(2));
    stage.seconds(1);
    assert_eq!(partition(&stage), Some(1));
    stage.seconds(540);
    assert_eq!(partition(&stage), Some(0), "a partition that is not stated any more gets its default");
    assert_eq!(stage.pods(), "0:b 1:b");
    stage.partition(2);
    stage.seconds(120);
    assert_eq!(partition(&stage), Some(2), "what was never stated since stays");
}

#[test]
fn a_gitops_tool_that_replaces_takes_away_what_others_added() {
    let mut stage = running();
    let commits = vec![(stage.now(), set(2, "a", json!({})))];
    stage.cluster.add(Box::new(GitOps::new(Resource::StatefulSets, commits, MINUTE, Manner::Replace)));
    stage.patch(Resource::StatefulSets, &web(), json!({"metadata": {"labels": {"mine": "true"}}}));
    stage.settle();
    let labels = stage.get(Resource::StatefulSets, &web()).unwrap()["metadata"]["labels"].clone();
    assert!(labels.is_null(), "{labels}");
}

#[test]
fn a_gitops_tool_makes_what_is_not_there() {
    let mut stage = Stage::full();
    let commits = vec![(stage.now(), set(1, "a", json!({})))];
    stage.cluster.add(Box::new(GitOps::new(Resource::StatefulSets, commits, MINUTE, Manner::Apply)));
    stage.settle();
    assert_eq!(stage.pods(), "0:a");
}

#[test]
fn a_person_does_one_thing_after_the_other() {
    let mut stage = running();
    let template = stage.get(Resource::StatefulSets, &web()).unwrap()["spec"]["template"].clone();
    let now = stage.now();
    let plan = vec![
        (now + MINUTE * 2, Button::SetTemplate(web(), template)),
        (now + MINUTE, Button::SetImage(web(), "app".to_owned(), "app:b".to_owned())),
        (now + MINUTE * 3, Button::Scale(web(), 3)),
        (now + MINUTE * 4, Button::DeletePod(pod(0))),
        (now + MINUTE * 4, Button::Promote(web())),
    ];
    stage.cluster.add(Box::new(Person::new(plan)));
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(stage.pods());
        stage.seconds(60);
    }
    assert_eq!(seen, ["0:a 1:a", "0:b 1:b", "0:a 1:a", "0:a 1:a 2:a"]);
    assert_eq!(stage.cluster.refusals(), 0, "a promotion without a rollout is not sent");
}

#[test]
fn the_buttons_send_what_the_command_sends() {
    let mut stage = running();
    let rollout = Key::new("default", "web");
    let object = json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "plugin": {"name": "argoproj/statefulset"},
            "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "strategy": {"canary": {"steps": [{"setWeight": 50}]}},
        },
    });
    stage.create(Resource::RolloutPlugins, object);
    assert_eq!(promote(&stage.get(Resource::RolloutPlugins, &rollout).unwrap()), None, "no pause is shown");
    let pause = json!([{"reason": "CanaryPauseStep", "startTime": "2026-03-01T12:00:00Z"}]);
    stage.patch_status(Resource::RolloutPlugins, &rollout, &json!({"pauseConditions": pause}));
    let now = stage.now();
    let plan = [
        Button::Abort(rollout.clone()),
        Button::PromoteFull(rollout.clone()),
        Button::Restart(rollout.clone()),
        Button::Pause(rollout.clone()),
        Button::Promote(rollout.clone()),
    ];
    let plan = plan.into_iter().map(|button| (now, button)).collect();
    stage.cluster.add(Box::new(Person::new(plan)));
    stage.settle();
    let after = stage.get(Resource::RolloutPlugins, &rollout).unwrap();
    let status = &after["status"];
    let flags = ["abort", "promoteFull", "restart"].map(|flag| status[flag] == true);
    assert_eq!((flags, &after["spec"]["paused"]), ([true; 3], &json!(true)));
    assert!(status["pauseConditions"].is_null());
    let plan = vec![(now, Button::Resume(rollout.clone())), (now, Button::DeleteRollout(rollout.clone()))];
    stage.cluster.add(Box::new(Person::new(plan)));
    stage.settle();
    assert_eq!(stage.get(Resource::RolloutPlugins, &rollout), None);
}
