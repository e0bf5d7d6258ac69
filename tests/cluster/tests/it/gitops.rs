//! A tool that applies its manifest over and over, with `partition: 0` in it, as GitOps tools do.

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::{Value, json};
use windlass_bed::{User, World, bed, manifests, test, until};
use windlass_workloads::Holder;

use crate::PROMOTE;

/// How the tool writes.
const WAYS: [&[&str]; 3] = [
    &["apply", "-f", "-"],
    &["apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-"],
    &["replace", "-f", "-"],
];

fn manifest(image: &str) -> String {
    manifests::stateful_set("web", 3, image)
        + "  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate: {partition: 0}\n"
}

/// One sync; the words of a refusal, if it was refused. A tool that read the set before the set's controller stored its
/// counters tries again.
fn sync(world: &World, way: &[&str], image: &str) -> Result<(), String> {
    const TRIES: usize = 10;
    let namespace = format!("--namespace={}", world.namespace);
    let arguments: Vec<&str> = [namespace.as_str()].into_iter().chain(way.iter().copied()).collect();
    let mut words = String::new();
    for _ in 0..TRIES {
        let output = bed().kubectl(User::GitOps, &arguments, &manifest(image));
        words = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(());
        }
        if !words.contains("the object has been modified") {
            break;
        }
    }
    Err(words)
}

/// What a tool can change of the set, in this version of it. The status is not the tool's.
async fn stored(world: &World) -> (Option<String>, Value) {
    let StatefulSet { metadata, spec, .. } = world.set("web").await;
    let whole = json!({
        "generation": metadata.generation, "labels": metadata.labels, "annotations": metadata.annotations, "spec": spec,
    });
    (metadata.resource_version, whole)
}

/// Syncs several times. Where a policy holds, each is taken and from the second on nothing is stored any more, so the
/// tool sees no difference of our making; where the partition holds, each is refused in words.
async fn sync_again_and_again(world: &World, way: &[&str], image: &str) {
    match bed().hold {
        Holder::Policy => {
            sync(world, way, image).unwrap();
            let (_, settled) = stored(world).await;
            // More than once: the set's controller may still be storing its counters, which makes versions too.
            until(&format!("three times {way:?} store nothing"), async || {
                let (before, _) = stored(world).await;
                for _ in 0..3 {
                    sync(world, way, image).unwrap();
                }
                let (after, now) = stored(world).await;
                assert_eq!(now, settled, "{way:?} goes on changing the set");
                (after == before).then_some(())
            })
            .await;
        }
        Holder::Partition => {
            for _ in 0..3 {
                let words = sync(world, way, image).unwrap_err();
                assert!(
                    words.contains("partition out of the manifest") || words.contains("leave it as it is"),
                    "{words}"
                );
            }
        }
    }
}

async fn a_run_under_a_tool(world: &mut World, way: &[&str]) {
    world.healthy("web", 3, &["setWeight: 34", "pause: {}", "setWeight: 67", "pause: {}"]).await;
    let (stable, _) = world.revisions("web").await;
    match bed().hold {
        Holder::Policy => sync(world, way, "app:v2").unwrap(),
        Holder::Partition => {
            let words = sync(world, way, "app:v2").unwrap_err();
            assert!(words.contains("in the same write") || words.contains("leave it as it is"), "{words}");
            world.set_image("web", "app:v2");
        }
    }
    let target = world.until_paused_at("web", 1).await.updated_revision.unwrap();
    for (index, updated) in [(1, 1), (3, 2)] {
        world.until_paused_at("web", index).await;
        world.until_status("web", "it says so", |status| status.updated_replicas == Some(updated)).await;
        sync_again_and_again(world, way, "app:v2").await;
        let on_target = usize::try_from(updated).unwrap();
        assert_eq!(
            (world.count_on(&target).await, world.count_on(&stable).await),
            (on_target, 3 - on_target)
        );
        world.patch_status("web", PROMOTE);
    }
    world.until_completed("web", &target).await;
    sync_again_and_again(world, way, "app:v2").await;
    assert_eq!(world.count_on(&target).await, 3);
    world.until_label("web").await;
}

#[tokio::test]
async fn client_side_apply_of_partition_zero_does_not_break_a_run() {
    test("csa", async |world| a_run_under_a_tool(world, WAYS[0]).await).await;
}

#[tokio::test]
async fn forced_server_side_apply_of_partition_zero_does_not_break_a_run() {
    test("ssa", async |world| a_run_under_a_tool(world, WAYS[1]).await).await;
}

#[tokio::test]
async fn replacing_the_set_by_a_manifest_that_knows_nothing_of_us_does_not_break_a_run() {
    test("replace", async |world| a_run_under_a_tool(world, WAYS[2]).await).await;
}
