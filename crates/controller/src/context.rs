//! What every worker has: the caches, the queue, the one place that writes, and what is remembered of each job for as long
//! as the process lives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use windlass_analysis::gauge::Gauge;
use windlass_api::rollout_plugin::RolloutPlugin;

use crate::analyse::Served;
use crate::asked::Asked;
use crate::cache::{Cached, Caches, Job};
use crate::clock::Clock;
use crate::guard::Guard;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::stepper::Witness;
use crate::writer::Writer;

/// The name under which runs of analyses are served, unless the controller has a name of its own.
pub const SERVED_NAME: &str = "windlass";

/// How many runs of analyses are stored at once: rollouts are written to as well, and the server has others to serve.
const RUNS_STORED_AT_ONCE: usize = 16;

/// What every worker has.
pub(crate) struct Context {
    pub(crate) caches: Arc<Caches>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) writer: Writer,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) instance: Option<String>,
    pub(crate) witness: Option<Arc<dyn Witness>>,
    pub(crate) served: Served,
    pub(crate) gauge: Arc<dyn Gauge>,
    pub(crate) asked: Arc<Asked>,
    pub(crate) notes: Mutex<BTreeMap<Job, Note>>,
    pub(crate) next_text: Mutex<Instant>,
    /// Places for those who store what runs of analyses have measured.
    pub(crate) room: Semaphore,
}

/// What is remembered of a job for as long as the process lives; losing it loses nothing.
#[derive(Clone, Default)]
pub(crate) struct Note {
    pub(crate) failures: u32,
    pub(crate) unsure_moves: u32,
    pub(crate) failure: Option<String>,
    pub(crate) unsettled_since: Option<Instant>,
    pub(crate) last_seen: Option<Arc<RolloutPlugin>>,
}

impl Context {
    pub(crate) fn new(
        caches: Arc<Caches>,
        queue: Arc<Queue>,
        writer: Writer,
        metrics: Arc<Metrics>,
        guard: Arc<Guard>,
        clock: Arc<dyn Clock>,
        gauge: Arc<dyn Gauge>,
    ) -> Self {
        Self {
            caches,
            queue,
            writer,
            metrics,
            guard,
            clock,
            instance: None,
            witness: None,
            served: Served { name: SERVED_NAME.to_owned(), unnamed: true },
            gauge,
            asked: Arc::default(),
            notes: Mutex::default(),
            next_text: Mutex::new(Instant::now()),
            room: Semaphore::new(RUNS_STORED_AT_ONCE),
        }
    }

    /// The one of several controllers in a cluster that has this name.
    pub(crate) fn named(self, instance: Option<String>) -> Self {
        let name = instance.clone().unwrap_or_else(|| SERVED_NAME.to_owned());
        Self { served: Served { name, ..self.served }, instance, ..self }
    }

    /// The questions of runs are kept there.
    pub(crate) fn remembering(self, asked: Arc<Asked>) -> Self {
        Self { asked, ..self }
    }

    /// Whether runs of analyses that carry nobody's name are served.
    pub(crate) fn serving_unnamed(self, unnamed: bool) -> Self {
        Self { served: Served { unnamed, ..self.served }, ..self }
    }

    /// What an answer that comes later needs.
    pub(crate) fn channel(&self) -> (Arc<Asked>, Arc<Queue>, Arc<dyn Clock>) {
        (Arc::clone(&self.asked), Arc::clone(&self.queue), Arc::clone(&self.clock))
    }

    /// What the server answered is newer than what the watch has shown so far.
    pub(crate) fn take_in(&self, answer: &impl Cached) {
        let jobs = answer.keep_answer(&mut self.caches.write());
        self.queue.add_all(jobs);
    }

    /// An object that we made ourselves is known from then on.
    pub(crate) fn learn(&self, answer: &impl Cached) {
        let jobs = answer.keep(&mut self.caches.write());
        self.queue.add_all(jobs);
    }

    /// Somebody sees every decision.
    pub(crate) fn watched_by(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, BTreeMap<Job, Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, job: &Job) -> Note {
        self.notes().get(job).cloned().unwrap_or_default()
    }

    pub(crate) fn update(&self, job: &Job, change: impl FnOnce(&mut Note)) {
        change(self.notes().entry(job.clone()).or_default());
    }

    /// All went well; a job without a note gets none, so that nothing is kept of what is gone.
    pub(crate) fn forget_failures(&self, job: &Job) {
        let mut notes = self.notes();
        match job {
            Job::Rollout(_) => {
                if let Some(note) = notes.get_mut(job) {
                    note.failures = 0;
                }
            }
            Job::Workload(_) | Job::Analysis(_) => drop(notes.remove(job)),
        }
    }

    /// Waits until no write is under way.
    pub(crate) async fn idle(&self) {
        while !self.queue.is_idle() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
