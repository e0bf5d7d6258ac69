//! Three hundred template changes, in every way people change one, while the controller is up, down, and starting:
//! how many pods got ahead.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::PostParams;
use windlass_bed::{User, World, bed, connect, manifests, test, until};
use windlass_workloads::Hold;

/// Sets that are changed.
const SETS: usize = 10;
/// Changes of each.
const ROUNDS: usize = 30;

/// How a template is changed.
#[derive(Clone, Copy)]
enum Way {
    SetImage,
    Patch,
    Apply,
    Replace,
}

const WAYS: [Way; 4] = [Way::SetImage, Way::Patch, Way::Apply, Way::Replace];

async fn change(world: &World, way: Way, set: &str, image: &str) {
    let manifest = match bed().hold {
        // A manifest as Git has it: it may well say that the partition is 0.
        Hold::Policy => {
            manifests::stateful_set(set, 2, image)
                + "  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate: {partition: 0}\n"
        }
        Hold::Partition => manifests::stateful_set(set, 2, image),
    };
    match way {
        Way::SetImage => {
            world.kubectl(&["set", "image", &format!("sts/{set}"), &format!("app={image}")]);
        }
        Way::Patch => {
            let patch = format!(
                r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"app","image":"{image}"}}]}}}}}}}}"#
            );
            world.kubectl(&["patch", &format!("sts/{set}"), "--patch", &patch]);
        }
        Way::Apply => drop(world.kubectl_with(&["apply", "-f", "-"], &manifest)),
        Way::Replace => match bed().hold {
            Hold::Policy => drop(world.kubectl_with(&["replace", "-f", "-"], &manifest)),
            // What is there, edited and put back: a bare manifest would be refused.
            Hold::Partition => put_back(set, image, world).await,
        },
    }
}

/// Reads the set, changes its image, and replaces it, until nobody else wrote in between.
async fn put_back(name: &str, image: &str, world: &World) {
    let sets: Api<StatefulSet> = Api::namespaced(connect(User::Developer).await, &world.namespace);
    until("the set is replaced", async || {
        let mut set = sets.get(name).await.unwrap();
        let pod = set.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()).unwrap();
        pod.containers[0].image = Some(image.to_owned());
        match sets.replace(name, &PostParams::default(), &set).await {
            Ok(_) => Some(()),
            Err(kube::Error::Api(answer)) if answer.code == 409 => None,
            Err(error) => unreachable!("{error}"),
        }
    })
    .await;
}

#[tokio::test]
async fn of_three_hundred_template_changes_no_pod_gets_ahead() {
    test("changes", async |world| {
        let names: Vec<String> = (0..SETS).map(|number| format!("set-{number}")).collect();
        for name in &names {
            world.apply(&manifests::stateful_set(name, 2, "app:v0"));
            world.apply(&manifests::rollout(name, &["setWeight: 0", "pause: {}", "setWeight: 100"]));
        }
        let mut stable = BTreeSet::new();
        for name in &names {
            world.until_phase(name, "Healthy").await;
            world.until_label(name).await;
            stable.insert(world.revisions(name).await.0);
        }
        let record = world.record().await;
        let mut changes = 0;
        for round in 1..=ROUNDS {
            match round % 3 {
                0 => world.kill_controller(),
                1 if world.controller.is_none() => world.start_controller(),
                _ => {}
            }
            for (number, name) in names.iter().enumerate() {
                change(world, WAYS[(round + number) % WAYS.len()], name, &format!("app:v{round}")).await;
                changes += 1;
            }
        }
        if world.controller.is_none() {
            world.start_controller();
        }
        for name in &names {
            until("the set's controller has seen the last change", async || {
                let set = world.set(name).await;
                let observed = set.status.and_then(|status| status.observed_generation);
                (observed == set.metadata.generation).then_some(())
            })
            .await;
            world.until_paused_at(name, 1).await;
        }
        let sightings = record.sightings();
        let ahead: BTreeSet<&str> = sightings
            .iter()
            .filter(|pod| !stable.contains(&pod.revision))
            .map(|pod| pod.name.as_str())
            .collect();
        println!("template changes: {changes} ({:?}), pods that got ahead: {}", bed().hold, ahead.len());
        assert!(sightings.len() >= 2 * SETS && ahead.is_empty(), "{ahead:?}");
    })
    .await;
}
