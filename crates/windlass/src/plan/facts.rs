//! What a forecast is made from: a rollout, its workload, and what else concerns its pods. Where it was read, a file or
//! a cluster, makes no difference from here on.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use windlass_analysis::compose::Templates;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Observation, Refusal, RolloutName};
use windlass_workloads::{Holder, PodView, Snapshot, StatefulSetView, Workload, observe};

/// The grace that Kubernetes gives a pod whose template says nothing.
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// What a forecast is made from.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) rollout: RolloutPlugin,
    pub(crate) set: StatefulSet,
    /// Every disruption budget of the namespace.
    pub(crate) budgets: Vec<PodDisruptionBudget>,
    /// The templates that its analyses may name.
    pub(crate) templates: Templates,
    pub(crate) origin: Origin,
}

/// Where the facts come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// Files: nothing is known of what runs.
    Files,
    /// A cluster, with the pods that it has now.
    Cluster {
        /// The pods of the workload.
        pods: Vec<Pod>,
    },
}

impl Facts {
    pub(crate) fn view(&self) -> StatefulSetView {
        StatefulSetView::of(&self.set)
    }

    /// The workload as the lens reads it, or why it cannot be held.
    pub(crate) fn observe(&self) -> Result<Observation, Refusal> {
        let pods = match &self.origin {
            Origin::Files => Vec::new(),
            Origin::Cluster { pods } => pods.iter().map(|pod| PodView::of(pod).into()).collect(),
        };
        let workload = Workload::StatefulSet(self.view());
        let name = RolloutName::new(self.rollout.metadata.name.as_deref().unwrap_or_default());
        observe(&Snapshot { workload, pods, revisions: Vec::new() }, &name, Holder::Policy)
    }

    /// How many pods of the set may be unavailable at once while it updates.
    pub(crate) fn max_unavailable(&self) -> u32 {
        let strategy = self.set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
        let block = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let replicas = self.view().replicas.max(0).unsigned_abs();
        let allowed = block
            .and_then(|block| block.max_unavailable.as_ref())
            .and_then(|allowed| Share::of(allowed, replicas))
            .map_or(1, |share| share.down);
        allowed.max(1)
    }

    /// The partition that is written in the manifest, whatever it is.
    pub(crate) fn written_partition(&self) -> Option<i32> {
        let strategy = self.set.spec.as_ref()?.update_strategy.as_ref()?;
        strategy.rolling_update.as_ref()?.partition
    }

    /// The set makes pods without waiting for the one before.
    pub(crate) fn is_parallel(&self) -> bool {
        let policy = self.set.spec.as_ref().and_then(|spec| spec.pod_management_policy.as_deref());
        policy == Some("Parallel")
    }

    /// How long a pod must have been ready to count.
    pub(crate) fn probation(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.view().min_ready_seconds.max(0)))
    }

    /// How long a pod may take to stop.
    pub(crate) fn grace(&self) -> SignedDuration {
        let template = self.set.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        let seconds = template.and_then(|spec| spec.termination_grace_period_seconds);
        SignedDuration::from_secs(seconds.unwrap_or(DEFAULT_GRACE_SECONDS))
    }

    /// The labels that the set's pods carry.
    pub(crate) fn pod_labels(&self) -> BTreeMap<String, String> {
        let template = self.set.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
        template.and_then(|meta| meta.labels.clone()).unwrap_or_default()
    }
}

/// A number of pods that a manifest states as such or in percent. Kubernetes rounds here up, there down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) down: u32,
    pub(super) up: u32,
}

impl Share {
    pub(super) fn of(stated: &IntOrString, replicas: u32) -> Option<Self> {
        match stated {
            IntOrString::Int(count) => {
                let count = u32::try_from(*count).ok()?;
                Some(Self { down: count, up: count })
            }
            IntOrString::String(text) => {
                let percent: u64 = text.strip_suffix('%')?.parse().ok()?;
                let share = u64::from(replicas).saturating_mul(percent);
                Some(Self {
                    down: u32::try_from(share / 100).ok()?,
                    up: u32::try_from(share.div_ceil(100)).ok()?,
                })
            }
        }
    }
}
