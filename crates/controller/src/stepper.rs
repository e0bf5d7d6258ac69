//! The controller without its tasks, for whoever brings a loop, a clock and news of their own: the simulator feeds the
//! caches and takes one look at a time. Caches, queue, decisions, writes and retries are those of the controller.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::runtime::watcher::Event;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;
use windlass_analysis::gauge::Gauge;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Decision, Intents, Memo, Plan, Seen};

use jiff::Timestamp;

use crate::cache::{Cached, Caches, Kind};
use crate::clock::Clock;
use crate::context::Context;
use crate::fence::Fence;
use crate::guard::{Guard, HolderChoice};
use crate::metrics::Metrics;
use crate::queue::{Hold, Queue};
use crate::reconcile;
use crate::slim::{Slim, Slimmed};
use crate::watch::{Listing, look_at_everything, take};
use crate::writer::Writer;

/// One decision and what it rests on.
pub struct Look<'a> {
    /// The moment.
    pub now: Timestamp,
    /// The rollout as it was read.
    pub rollout: &'a RolloutPlugin,
    /// What is wanted; none if the specification is wrong.
    pub plan: Option<&'a Plan>,
    /// What was seen of the workload.
    pub seen: &'a Seen,
    /// What was remembered.
    pub memo: &'a Memo,
    /// What people asked for.
    pub intents: &'a Intents,
    /// What came out.
    pub decision: &'a Decision,
}

/// Somebody who watches every decision.
pub trait Witness: std::fmt::Debug + Send + Sync {
    /// A decision was made; nothing of it is carried out yet.
    fn decided(&self, look: &Look<'_>);
}

/// What a watch brings.
pub enum News<'a> {
    /// Everything there is, once more.
    Listed(Vec<&'a Value>),
    /// An object that is new, or another.
    Changed(&'a Value),
    /// The last state of an object that is gone.
    Gone(&'a Value),
}

/// The controller, one look at a time.
pub struct Stepper {
    context: Arc<Context>,
    caches: Arc<Caches>,
    queue: Arc<Queue>,
}

impl Stepper {
    /// A controller that has just started and knows nothing. `lease` says until when it may write; none means always.
    pub async fn start(
        client: Client,
        choice: HolderChoice,
        clock: Arc<dyn Clock>,
        lease: Option<Receiver<Option<Instant>>>,
        witness: Option<Arc<dyn Witness>>,
        gauge: Arc<dyn Gauge>,
    ) -> kube::Result<Self> {
        let guard = Arc::new(Guard::find_out(&client, choice).await?);
        let (caches, queue) = (Arc::new(Caches::default()), Arc::new(Queue::default()));
        queue.hold(Hold::Filling);
        let writer = Writer::new(client, lease.map_or(Fence::Open, Fence::Leased));
        let metrics = Arc::new(Metrics::new(None));
        let context =
            Context::new(Arc::clone(&caches), Arc::clone(&queue), writer, metrics, guard, clock, gauge);
        Ok(Self { context: Arc::new(context.watched_by(witness)), caches, queue })
    }

    /// Takes in what the watch of one kind brings. What cannot be read is left out, as it is behind a real watch.
    pub fn hear(&self, kind: Watched, news: &News<'_>) {
        match kind {
            Kind::Rollouts => self.hear_of::<RolloutPlugin>(news),
            Kind::Workloads => self.hear_of::<StatefulSet>(news),
            Kind::Pods => self.hear_of::<Pod>(news),
            Kind::Revisions => self.hear_of::<ControllerRevision>(news),
            Kind::AnalysisRuns => self.hear_of::<AnalysisRun>(news),
            Kind::Templates => self.hear_of::<AnalysisTemplate>(news),
            Kind::ClusterTemplates => self.hear_of::<ClusterAnalysisTemplate>(news),
        }
    }

    fn hear_of<K: Cached + Slimmed>(&self, news: &News<'_>) {
        let mut listing = Listing::default();
        let mut hear = |event| take::<K>(event, &mut listing, &self.caches, &self.queue);
        match news {
            News::Listed(objects) => {
                hear(Event::Init);
                objects.iter().filter_map(|object| read(object)).for_each(|it| hear(Event::InitApply(it)));
                hear(Event::InitDone);
            }
            News::Changed(object) => read(object).map(Event::Apply).into_iter().for_each(hear),
            News::Gone(object) => read(object).map(Event::Delete).into_iter().for_each(hear),
        }
    }

    /// When there is something to look at; none while nothing is.
    pub fn next_look(&self) -> Option<Instant> {
        self.queue.next_due()
    }

    /// Looks at what is due first, with all writes that follow from it. False if nothing is due.
    pub async fn look(&self) -> bool {
        match self.queue.take_due() {
            Some(job) => {
                reconcile::look_at(&self.context, job).await;
                true
            }
            None => false,
        }
    }

    /// Whoever begins to lead looks at everything; whoever does not lead hands nothing out.
    pub fn lead(&self, leads: bool) {
        if leads {
            self.queue.let_go(Hold::StandingBy);
        } else {
            self.queue.hold(Hold::StandingBy);
        }
        if leads && self.caches.is_synced() {
            look_at_everything(&self.caches, &self.queue);
        }
    }
}

/// The kinds of objects that are watched.
pub type Watched = Kind;

fn read<K: Slimmed>(object: &Value) -> Option<Slim<K>> {
    Slim::<K>::deserialize(object).ok()
}
