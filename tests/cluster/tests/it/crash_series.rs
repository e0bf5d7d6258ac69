//! Every crash there is: the controller is killed after its first, second, … last write of a story, in a second series
//! right before each of them, and in a third one the answer to each of them is lost. Every time the story ends where it
//! ends undisturbed, no pod goes that would not have gone, and no event is told more than once more.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::sync::Semaphore;
use windlass_bed::audit;
use windlass_bed::{Controller, Launch, Story, World, bed, test_without_controller, until_within};
use windlass_workloads::Holder;

use crate::usual::{Usual, deletions, usual, writes_in};

/// How many runs are under way at once, over all stories.
static SEATS: Semaphore = Semaphore::const_new(6);

/// No story takes longer.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// What is wrong at a write.
const FAULTS: [&str; 3] = ["kill-after", "kill-before", "lose-answer"];

/// A controller that is started anew when it has crashed, as a Deployment does; the new one has no fault.
struct Kept {
    launch: Launch,
    controller: RefCell<Controller>,
    crashed: Cell<bool>,
}

impl Kept {
    fn start(namespace: &str, fault: &str) -> Self {
        let launch = Launch::new(namespace);
        let controller = RefCell::new(launch.clone().fault(fault.to_owned()).start());
        Self { launch, controller, crashed: Cell::new(false) }
    }

    /// Looks after it while the story is told.
    async fn during(&self, story: impl Future<Output = ()>) {
        let keep = async {
            until_within(LONGEST, "it crashes", async || self.controller.borrow_mut().ended()).await;
            self.crashed.set(true);
            self.controller.replace(self.launch.start());
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = story => {}
            () = keep => {}
        }
    }

    /// The fault was felt.
    fn was_hit(&self) -> bool {
        self.crashed.get() || self.controller.borrow().logged().contains("a test's doing")
    }
}

/// Tells the story with a fault; answers with the namespace and whether the fault was felt.
async fn disturbed(story: Story, fault: String, usual: &Usual) -> (String, bool) {
    let _seat = SEATS.acquire().await.unwrap();
    let mut outcome = None;
    let name = format!("{story:?}-{}", fault.replace('=', "-")).to_lowercase();
    test_without_controller(&name, async |world: &mut World| {
        let record = world.record().await;
        let kept = Kept::start(&world.namespace, &fault);
        let told = async {
            story.begin(world).await;
            story.play(world).await;
            world.until_ends_as("web", &usual.ending).await;
        };
        kept.during(told).await;
        let differences = world.deeds("web", &record).await.differences(&usual.deeds);
        assert!(differences.is_empty(), "{story:?} with {fault}: {differences:#?}");
        outcome = Some((world.namespace.clone(), kept.was_hit()));
    })
    .await;
    outcome.unwrap()
}

async fn every_crash_of(story: Story) {
    let Some(log) = bed().audit_log_or_skip("crash points") else { return };
    if bed().hold == Holder::Partition {
        println!("crash points: not counted on a control plane without mutating policies");
        return;
    }
    let position = audit::position(log);
    let usual = usual(story).await;
    let mut namespaces = Vec::new();
    let mut points = Vec::new();
    for fault in FAULTS {
        let runs = (1..=usual.writes).map(|number| disturbed(story, format!("{fault}={number}"), usual));
        let outcomes: Vec<(String, bool)> = stream::iter(runs).buffer_unordered(usual.writes).collect().await;
        points.push(format!("{fault} {}", outcomes.iter().filter(|(_, hit)| *hit).count()));
        namespaces.extend(outcomes.into_iter().map(|(namespace, _)| namespace));
    }
    let requests = audit::since(log, position);
    for namespace in &namespaces {
        let deletions = deletions(&writes_in(namespace, &requests));
        let twice = deletions
            .iter()
            .find(|(pod, times)| **times > usual.deletions.get(*pod).copied().unwrap_or_default());
        assert!(twice.is_none(), "{namespace}: {deletions:?} and undisturbed {:?}", usual.deletions);
    }
    println!("crash points: {story:?} with {} writes: {}", usual.writes, points.join(", "));
}

#[tokio::test]
async fn a_run_ends_where_it_would_have_ended_whatever_write_the_crash_comes_at() {
    every_crash_of(Story::Run).await;
}

#[tokio::test]
async fn an_abort_ends_where_it_would_have_ended_whatever_write_the_crash_comes_at() {
    every_crash_of(Story::Abort).await;
}

#[tokio::test]
async fn a_new_target_ends_where_it_would_have_ended_whatever_write_the_crash_comes_at() {
    every_crash_of(Story::NewTarget).await;
}

#[tokio::test]
async fn a_scaled_run_ends_where_it_would_have_ended_whatever_write_the_crash_comes_at() {
    every_crash_of(Story::Scale).await;
}

#[tokio::test]
async fn a_run_that_is_judged_ends_where_it_would_have_ended_whatever_write_the_crash_comes_at() {
    every_crash_of(Story::Checked).await;
}
