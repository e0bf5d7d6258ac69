//! Plays the story: does what a scene says, shows what changes, and goes on when the scene has come to its end.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{Instant, interval, sleep_until, timeout_at};
use windlass_api::analysis::AnalysisTemplate;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_controller::Clock;
use windlass_engine::Revision;
use windlass_workloads::{PodView, ROLLOUT_LABEL};

use super::screen::Screen;
use super::story::{Deed, End, MANIFEST, NAME, Scene};
use crate::failure::Failure;
use crate::kubectl::status::{Verdict, judged};
use crate::kubectl::{Follow, Picture, Reach, act};

/// No scene takes longer, on a machine that has to do other things as well.
const PATIENCE: Duration = Duration::from_secs(60);
/// Ages move on the screen this often.
const AGES: Duration = Duration::from_secs(1);
/// The namespace of the story.
pub(super) const NAMESPACE: &str = "default";

/// Plays one scene after the other.
pub(super) async fn play(
    reach: &Reach,
    clock: &dyn Clock,
    screen: &mut Screen,
    story: &[Scene],
) -> Result<(), Failure> {
    for scene in story {
        screen.begin(clock.now(), scene)?;
        perform(reach, &scene.deed).await?;
        let mut follow = Follow::new(reach, NAME, true);
        let end = Instant::now() + PATIENCE;
        show_until(reach, clock, screen, &mut follow, scene, end).await?;
        screen.end(clock.now(), scene)?;
        rest(clock, screen, &mut follow, Instant::now() + scene.rest).await?;
    }
    Ok(())
}

/// Shows every change until the scene has come to its end.
async fn show_until(
    reach: &Reach,
    clock: &dyn Clock,
    screen: &mut Screen,
    follow: &mut Follow<'_>,
    scene: &Scene,
    end: Instant,
) -> Result<(), Failure> {
    let mut ages = interval(AGES);
    loop {
        tokio::select! {
            picture = timeout_at(end, follow.next()) => {
                let late = |_| Failure::Refused(format!(
                    "the demo came to a stop: \"{}\" did not come true within {} seconds",
                    scene.title,
                    PATIENCE.as_secs()
                ));
                let picture = picture.map_err(late)??;
                let over = is_over(reach, &scene.end, &picture).await?;
                screen.show(clock.now(), picture)?;
                if over {
                    return Ok(());
                }
            }
            _ = ages.tick() => screen.tick(clock.now())?,
        }
    }
}

/// Leaves the end of a scene to be looked at.
async fn rest(
    clock: &dyn Clock,
    screen: &mut Screen,
    follow: &mut Follow<'_>,
    end: Instant,
) -> Result<(), Failure> {
    let mut ages = interval(AGES);
    loop {
        tokio::select! {
            () = sleep_until(end) => return Ok(()),
            picture = follow.next() => screen.show(clock.now(), picture?)?,
            _ = ages.tick() => screen.tick(clock.now())?,
        }
    }
}

async fn perform(reach: &Reach, deed: &Deed) -> Result<(), Failure> {
    match deed {
        Deed::Create => {
            let mut documents = MANIFEST.split("---\n");
            let mut next = || documents.next().unwrap_or_default();
            create::<StatefulSet>(reach, next()).await?;
            create::<AnalysisTemplate>(reach, next()).await?;
            create::<RolloutPlugin>(reach, next()).await
        }
        Deed::SetImage(image) => {
            let containers = json!([{"name": NAME, "image": image}]);
            let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
            let sets: Api<StatefulSet> = Api::namespaced(reach.client(), NAMESPACE);
            let done = sets.patch(NAME, &PatchParams::default(), &Patch::Strategic(patch)).await;
            done.map(drop).map_err(|error| {
                Failure::request(format!("set the image of StatefulSet {NAME} to {image}"), &error)
            })
        }
        Deed::Promote => act::ask_for_promotion(reach, NAME).await.map(drop),
    }
}

async fn create<K>(reach: &Reach, manifest: &str) -> Result<(), Failure>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>
        + serde::Serialize
        + DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let object: K = serde_saphyr::from_str(manifest)
        .map_err(|error| Failure::Manifests(format!("the {} of the demo: {error}", K::kind(&()))))?;
    let api: Api<K> = Api::namespaced(reach.client(), NAMESPACE);
    let made = api.create(&PostParams::default(), &object).await;
    made.map(drop).map_err(|error| Failure::request(format!("create {} {NAME}", K::kind(&())), &error))
}

async fn is_over(reach: &Reach, end: &End, picture: &Picture) -> Result<bool, Failure> {
    let verdict = judged(reach, picture).await?;
    Ok(match end {
        End::Healthy => verdict == Verdict::Healthy && is_taken(picture),
        End::NeedsPerson => verdict == Verdict::NeedsPerson,
        End::Reverted => verdict == Verdict::Degraded && is_back(picture),
    })
}

/// The workload says whose it is; before that, nothing would be held.
fn is_taken(picture: &Picture) -> bool {
    let labels = picture.set.as_ref().and_then(|set| set.metadata.labels.as_ref());
    labels.is_some_and(|labels| labels.contains_key(ROLLOUT_LABEL))
}

fn is_back(picture: &Picture) -> bool {
    let Some(status) = &picture.rollout.status else { return false };
    let wanted = usize::try_from(status.replicas.unwrap_or_default()).unwrap_or_default();
    let stable = status.current_revision.as_ref().map(Revision::new);
    let fine =
        picture.pods.iter().map(PodView::of).filter(|pod| {
            pod.revision == stable && pod.ready_since.is_some() && pod.terminating_since.is_none()
        });
    // The rollout says so, and it is so.
    let told = status.aborted && status.available_replicas == status.replicas && stable.is_some();
    told && fine.count() == wanted
}
