//! Three hundred template changes of sets at rest, in every way people change one, while the controller is down,
//! starting, and up: how many pods got ahead.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_bed::{Sighting, User, World, bed, connect, manifests, test, until};
use windlass_workloads::{Holder, StatefulSetView};

/// Sets that are changed.
const SETS: usize = 30;
/// Changes of each.
const ROUNDS: usize = 10;

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
        Holder::Policy => {
            manifests::stateful_set(set, 2, image)
                + "  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate: {partition: 0}\n"
        }
        Holder::Partition => manifests::stateful_set(set, 2, image),
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
            Holder::Policy => drop(world.kubectl_with(&["replace", "-f", "-"], &manifest)),
            // What is there, edited and put back: a bare manifest would be refused.
            Holder::Partition => put_back(set, image, world).await,
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

/// What the controller does while a template changes.
#[derive(Clone, Copy, Debug)]
enum Controller {
    Down,
    Starting,
    Up,
}

/// A set that is at rest.
struct AtRest {
    name: String,
    stable: String,
}

/// Every set is Healthy, unheld, and its partition where it belongs between two runs.
async fn at_rest(world: &World, names: &[String]) -> Vec<AtRest> {
    let mut sets = Vec::new();
    for name in names {
        world.until_phase(name, "Healthy").await;
        until("the set is at rest", async || {
            let set = StatefulSetView::of(&world.set(name).await);
            let rests =
                set.held.is_none() && set.rollout.is_some() && set.current_revision == set.update_revision;
            (rests && world.partition(name).await == world.rest()).then_some(())
        })
        .await;
        sets.push(AtRest { name: name.clone(), stable: world.revisions(name).await.0 });
    }
    sets
}

/// The pods that were seen on another revision than the one their set rested on.
fn ahead(sightings: &[Sighting], sets: &[AtRest]) -> BTreeSet<String> {
    let strays = |pod: &&Sighting| {
        let set = pod.name.rsplit_once('-').map(|(set, _)| set);
        sets.iter().any(|it| Some(it.name.as_str()) == set && it.stable != pod.revision)
    };
    sightings.iter().filter(strays).map(|pod| pod.name.clone()).collect()
}

/// The person lets every run through, so that the next change finds the sets at rest again.
async fn promote_all(world: &World, sets: &[AtRest]) {
    let rollouts: Api<RolloutPlugin> = Api::namespaced(world.client(), &world.namespace);
    let full = Patch::Merge(json!({"status": {"promoteFull": true}}));
    for set in sets {
        rollouts.patch_status(&set.name, &PatchParams::default(), &full).await.unwrap();
    }
}

#[tokio::test]
async fn of_three_hundred_template_changes_no_pod_gets_ahead() {
    test("changes", async |world| {
        let names: Vec<String> = (0..SETS).map(|number| format!("set-{number}")).collect();
        for name in &names {
            world.apply(&manifests::stateful_set(name, 2, "app:v0"));
            world.apply(&manifests::rollout(name, &["setWeight: 0", "pause: {}", "setWeight: 100"]));
        }
        let record = world.record().await;
        let (mut changes, mut strays) = (0, BTreeSet::new());
        for round in 1..=ROUNDS {
            let sets = at_rest(world, &names).await;
            let before = record.sightings().len();
            let controller = [Controller::Down, Controller::Starting, Controller::Up][round % 3];
            match controller {
                Controller::Down => world.kill_controller(),
                Controller::Starting => {
                    world.kill_controller();
                    world.start_controller();
                }
                Controller::Up => {}
            }
            for (number, set) in sets.iter().enumerate() {
                let way = WAYS[(round + number) % WAYS.len()];
                change(world, way, &set.name, &format!("app:v{round}")).await;
                changes += 1;
            }
            for set in &sets {
                world.until_target(&set.name, &set.stable).await;
            }
            if matches!(controller, Controller::Down) {
                world.start_controller();
            }
            for set in &sets {
                world.until_paused_at(&set.name, 1).await;
            }
            strays.extend(ahead(&record.sightings()[before..], &sets));
            promote_all(world, &sets).await;
        }
        assert!(record.sightings().len() > 2 * SETS * ROUNDS, "the record has seen the pods");
        println!(
            "template changes: {changes} at rest ({:?}), pods that got ahead: {}",
            bed().hold,
            strays.len()
        );
        assert_eq!(strays, BTreeSet::new());
    })
    .await;
}
