//! The stories undisturbed: what every disturbed one is compared with.

use std::collections::BTreeMap;

use tokio::sync::OnceCell;
use windlass_bed::audit::{self, Request};
use windlass_bed::{Deeds, Ending, Story, bed, test_without_controller};

/// The story as it goes when nothing goes wrong.
pub(crate) struct Usual {
    pub(crate) ending: Ending,
    pub(crate) deeds: Deeds,
    pub(crate) deletions: BTreeMap<String, usize>,
    pub(crate) writes: usize,
}

/// Our writes in a namespace.
pub(crate) fn writes_in(namespace: &str, requests: &[Request]) -> Vec<Request> {
    let is_ours = |request: &&Request| {
        request.is_windlass() && request.is_write() && request.object().namespace == namespace
    };
    requests.iter().filter(is_ours).cloned().collect()
}

/// How often we deleted each pod: one that is deleted once cannot be deleted twice.
pub(crate) fn deletions(writes: &[Request]) -> BTreeMap<String, usize> {
    let mut deletions = BTreeMap::new();
    let is_deletion = |request: &&Request| request.verb == "delete" && request.is_done();
    for request in writes.iter().filter(is_deletion) {
        *deletions.entry(request.object().name).or_default() += 1;
    }
    deletions
}

/// The story as it goes when nothing goes wrong; told once per process.
pub(crate) async fn usual(story: Story) -> &'static Usual {
    static TOLD: [OnceCell<Usual>; Story::ALL.len()] = [const { OnceCell::const_new() }; Story::ALL.len()];
    let index = Story::ALL.iter().position(|it| *it == story).unwrap();
    TOLD[index].get_or_init(|| tell(story)).await
}

async fn tell(story: Story) -> Usual {
    let mut usual = None;
    let log = bed().audit_log.as_deref();
    let position = log.map_or(0, audit::position);
    test_without_controller(&format!("{story:?}-undisturbed").to_lowercase(), async |world| {
        let record = world.record().await;
        world.start_controller();
        story.begin(world).await;
        story.play(world).await;
        let ending = world.until_settled("web").await;
        let deeds = world.deeds("web", &record).await;
        world.until_audited().await;
        let requests = log.map(|log| audit::since(log, position)).unwrap_or_default();
        let writes = writes_in(&world.namespace, &requests);
        usual = Some(Usual { ending, deeds, deletions: deletions(&writes), writes: writes.len() });
    })
    .await;
    usual.unwrap()
}
