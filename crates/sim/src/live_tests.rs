use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use windlass_controller::{Clock, HolderChoice};
use windlass_workloads::Holder;

use super::Live;
use crate::clock::VirtualClock;
use crate::deed;
use crate::object::{Key, text};
use crate::resource::Resource;
use crate::script::{Deed, Given, GivenStep};
use crate::service::Cluster;
use crate::start::{self, NAME, NAMESPACE, Start};

fn cluster(clock: &Arc<dyn Clock>, given: &Given) -> Cluster {
    let mut server = start::furnished(clock.now(), given.nodes, Holder::Policy).unwrap();
    let person = deed::person();
    server.create(clock.now(), &person, Resource::StatefulSets, start::set(given)).unwrap();
    server.create(clock.now(), &person, Resource::RolloutPlugins, start::rollout(given, NAME)).unwrap();
    Cluster::new(server, Arc::clone(clock))
}

/// Waits until the rollout says this of itself.
async fn until(live: &Live, phase: &str) {
    let key = Key::new(NAMESPACE, NAME);
    let mut written = live.cluster().written();
    let wait = async {
        while !live.cluster().with(|server, _| {
            let rollout = server.store().get(Resource::RolloutPlugins, &key);
            rollout.and_then(|it| text(it, &["status", "phase"])) == Some(phase)
        }) {
            written.changed().await.unwrap();
        }
    };
    timeout(Duration::from_secs(7 * 24 * 3600), wait).await.unwrap_or_else(|_| panic!("never {phase}"));
}

fn set_image(live: &Live, given: &Given, image: &str) {
    live.cluster().with(|server, now| {
        for act in deed::acts(&Deed::Image(image.to_owned()), &Start::from(given), server.store()) {
            act.send(now, &deed::person(), server).unwrap();
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_a_day_passes_on_the_paused_clock() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::start());
    let day = Duration::from_secs(24 * 3600);
    let given = Given { steps: vec![GivenStep::Weight(40), GivenStep::PauseFor(day)], ..Given::default() };
    let live = Live::start(cluster(&clock, &given), clock, 1, HolderChoice::FindOut);
    until(&live, "Healthy").await;
    let began = Instant::now();
    set_image(&live, &given, "app:v2");
    until(&live, "Paused").await;
    until(&live, "Healthy").await;
    assert!(began.elapsed() > day, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn nobody_acts_after_the_end() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::start());
    let given = Given::default();
    let live = Live::start(cluster(&clock, &given), clock, 1, HolderChoice::FindOut);
    until(&live, "Healthy").await;
    let cluster = live.cluster().clone();
    set_image(&live, &given, "app:v2");
    drop(live);
    let revision = *cluster.written().borrow();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(*cluster.written().borrow(), revision);
}
