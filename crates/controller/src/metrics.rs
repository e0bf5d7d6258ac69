//! Metrics under upstream's names. What can be read from the caches is read when somebody asks, so nothing can be
//! forgotten or go stale.

mod analyses;

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use windlass_api::EventText;
use windlass_api::rollout_plugin::RolloutPlugin;

use self::analyses::Analyses;
use crate::analyse::Served;
use crate::cache::{Caches, Job, Key, is_served_by};

/// Upstream's buckets, in seconds.
const BUCKETS: [f64; 5] = [0.01, 0.15, 0.25, 0.5, 1.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    namespace: String,
    name: String,
    r#type: &'static str,
    reason: &'static str,
}

/// What is counted of the looks at one kind of object.
struct Looks {
    took: Family<ObjectLabels, Histogram>,
    errors: Family<ObjectLabels, Counter>,
}

impl Default for Looks {
    fn default() -> Self {
        Self { took: Family::new_with_constructor(|| Histogram::new(BUCKETS)), errors: Family::default() }
    }
}

impl Looks {
    fn forget(&self, key: &Key) {
        self.took.remove(&labels(key));
        self.errors.remove(&labels(key));
    }
}

/// What is counted as it happens.
pub(crate) struct Metrics {
    rollouts: Looks,
    runs: Looks,
    events: Family<EventLabels, Counter>,
    event_labels: Mutex<Vec<EventLabels>>,
    leads: AtomicBool,
    instance: Option<String>,
    /// Known once the server was asked what is installed.
    served: OnceLock<Served>,
}

impl Metrics {
    pub(crate) fn new(instance: Option<String>) -> Self {
        Self {
            rollouts: Looks::default(),
            runs: Looks::default(),
            events: Family::default(),
            event_labels: Mutex::default(),
            leads: AtomicBool::new(false),
            instance,
            served: OnceLock::new(),
        }
    }

    /// Whether this controller is the one that writes.
    pub(crate) fn leads(&self, leads: bool) {
        self.leads.store(leads, Ordering::Relaxed);
    }

    /// Which runs of analyses are told of.
    pub(crate) fn serves(&self, served: Served) {
        self.served.get_or_init(|| served);
    }

    /// Only what is told of is counted: a workload is looked at when its rollout is gone.
    fn looks(&self, job: &Job) -> Option<&Looks> {
        match job {
            Job::Rollout(_) => Some(&self.rollouts),
            Job::Analysis(_) => Some(&self.runs),
            Job::Workload(_) => None,
        }
    }

    pub(crate) fn looked(&self, job: &Job, took: Duration) {
        if let Some(looks) = self.looks(job) {
            looks.took.get_or_create(&labels(job.key())).observe(took.as_secs_f64());
        }
    }

    pub(crate) fn failed(&self, job: &Job) {
        if let Some(looks) = self.looks(job) {
            looks.errors.get_or_create(&labels(job.key())).inc();
        }
    }

    /// The events of rollouts are counted; those of runs say the same as their phases.
    pub(crate) fn told(&self, job: &Job, text: &EventText) {
        let Job::Rollout(key) = job else { return };
        let labels = EventLabels {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            r#type: text.kind.as_str(),
            reason: text.reason,
        };
        self.events.get_or_create(&labels).inc();
        let mut known = self.event_labels.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&labels) {
            known.push(labels);
        }
    }

    /// A run of an analysis is gone: its series go with it.
    pub(crate) fn forget_run(&self, key: &Key) {
        self.runs.forget(key);
    }

    /// A rollout is gone: its series go with it.
    pub(crate) fn forget(&self, key: &Key) {
        self.rollouts.forget(key);
        let mut known = self.event_labels.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|labels| {
            let gone = labels.namespace == key.namespace && labels.name == key.name;
            if gone {
                self.events.remove(labels);
            }
            !gone
        });
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn text(&self, caches: &Arc<Caches>) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register(
            "rolloutplugin_reconcile",
            "Time to look at a rollout, in seconds",
            self.rollouts.took.clone(),
        );
        let errors = self.rollouts.errors.clone();
        registry.register("rolloutplugin_reconcile_error", "Failed writes", errors);
        let help = "Time to look at a run of an analysis, in seconds";
        registry.register("analysis_run_reconcile", help, self.runs.took.clone());
        registry.register("analysis_run_reconcile_error", "Failed writes", self.runs.errors.clone());
        registry.register("rolloutplugin_events", "Events sent", self.events.clone());
        let leads = ConstGauge::new(i64::from(self.leads.load(Ordering::Relaxed)));
        registry.register(
            "windlass_leader",
            "1 on the controller that writes, 0 on those that stand by",
            leads,
        );
        let instance = self.instance.clone();
        registry.register_collector(Box::new(Rollouts { caches: Arc::clone(caches), instance }));
        if let Some(served) = self.served.get().cloned() {
            registry.register_collector(Box::new(Analyses { caches: Arc::clone(caches), served }));
        }
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

fn labels(key: &Key) -> ObjectLabels {
    ObjectLabels { namespace: key.namespace.clone(), name: key.name.clone() }
}

/// Reads one number off a rollout.
type Number = fn(&RolloutPlugin) -> Option<i32>;

/// What the caches know of each rollout.
struct Rollouts {
    caches: Arc<Caches>,
    instance: Option<String>,
}

impl Debug for Rollouts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Rollouts")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InfoLabels {
    namespace: String,
    name: String,
    strategy: &'static str,
    plugin_name: String,
    workload_kind: String,
    phase: String,
}

impl Collector for Rollouts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let is_ours = |rollout: &&Arc<RolloutPlugin>| is_served_by(rollout, self.instance.as_ref());
        let rollouts: Vec<Arc<RolloutPlugin>> =
            self.caches.read().rollouts().filter(is_ours).cloned().collect();
        let one = ConstGauge::new(1_i64);
        let mut info = encoder.encode_descriptor(
            "rolloutplugin_info",
            "Information about a rollout",
            None,
            one.metric_type(),
        )?;
        for rollout in &rollouts {
            one.encode(info.encode_family(&info_labels(rollout))?)?;
        }
        let numbers: [(&str, &str, Number); 3] = [
            ("rolloutplugin_workload_replicas_desired", "Pods wanted", |it| it.status.as_ref()?.replicas),
            ("rolloutplugin_workload_replicas_updated", "Pods on the wanted revision", |it| {
                it.status.as_ref()?.updated_replicas
            }),
            ("rolloutplugin_workload_replicas_ready", "Pods that are ready", |it| {
                it.status.as_ref()?.ready_replicas
            }),
        ];
        for (name, help, number) in numbers {
            let mut family = encoder.encode_descriptor(name, help, None, one.metric_type())?;
            for rollout in &rollouts {
                let Some(number) = number(rollout) else { continue };
                let labels = labels(&Key::of(&rollout.metadata));
                ConstGauge::new(i64::from(number)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

fn info_labels(rollout: &RolloutPlugin) -> InfoLabels {
    let key = Key::of(&rollout.metadata);
    InfoLabels {
        namespace: key.namespace,
        name: key.name,
        strategy: if rollout.spec.strategy.canary.is_some() { "Canary" } else { "none" },
        plugin_name: rollout.spec.plugin.name.clone(),
        workload_kind: rollout.spec.workload_ref.kind.clone(),
        phase: rollout.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default(),
    }
}
