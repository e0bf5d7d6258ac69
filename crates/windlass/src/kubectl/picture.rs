//! One look at a rollout: everything a screen shows, and nothing that has to be asked for.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};
use windlass_engine::Memo;

use super::checks::Checks;

/// What was seen of a rollout, its workload and its pods.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) rollout: RolloutPlugin,
    /// The workload, where it exists.
    pub(crate) set: Option<StatefulSet>,
    /// The pods of the workload.
    pub(crate) pods: Vec<Pod>,
    /// The runs of its analyses.
    pub(crate) checks: Checks,
}

/// What the screens read off a rollout.
pub(super) trait Rolling {
    fn name(&self) -> &str;
    fn namespace(&self) -> &str;
    /// `rolloutplugin.argoproj.io/web`, as kubectl names it.
    fn spoken(&self) -> String;
    /// `StatefulSet web`.
    fn workload_words(&self) -> String;
    /// The status that a controller wrote, if one did.
    fn told(&self) -> Option<&RolloutPluginStatus>;
    /// A controller has looked at the latest generation.
    fn is_seen(&self) -> bool;
    fn memo(&self) -> Memo;
    fn created(&self) -> Option<Timestamp>;
}

impl Rolling for RolloutPlugin {
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn spoken(&self) -> String {
        format!("rolloutplugin.argoproj.io/{}", self.name())
    }

    fn workload_words(&self) -> String {
        let reference = &self.spec.workload_ref;
        format!("{} {}", reference.kind, reference.name)
    }

    fn told(&self) -> Option<&RolloutPluginStatus> {
        self.status.as_ref().filter(|status| status.phase.is_some())
    }

    fn is_seen(&self) -> bool {
        let seen = self.told().and_then(|status| status.observed_generation);
        seen.is_some() && seen >= self.metadata.generation
    }

    fn memo(&self) -> Memo {
        let memo = self.status.as_ref().and_then(|status| status.memo.clone());
        memo.and_then(|memo| serde_json::from_value(memo).ok()).unwrap_or_default()
    }

    fn created(&self) -> Option<Timestamp> {
        self.metadata.creation_timestamp.as_ref().map(|time| time.0)
    }
}

impl Picture {
    /// The images of a revision: those of a pod on it, or of the template that wants it.
    pub(super) fn images(&self, revision: &str) -> Vec<String> {
        let on_it = |pod: &&Pod| {
            pod.metadata
                .labels
                .as_ref()
                .is_some_and(|all| all.get("controller-revision-hash").is_some_and(|label| label == revision))
        };
        if let Some(spec) = self.pods.iter().find(on_it).and_then(|pod| pod.spec.as_ref()) {
            return images(spec);
        }
        let wanted = |set: &&StatefulSet| {
            set.status.as_ref().and_then(|status| status.update_revision.as_deref()) == Some(revision)
        };
        let set = self.set.as_ref().filter(wanted);
        let spec = set.and_then(|set| set.spec.as_ref()).and_then(|spec| spec.template.spec.as_ref());
        spec.map(images).unwrap_or_default()
    }
}

fn images(spec: &PodSpec) -> Vec<String> {
    spec.containers.iter().filter_map(|container| container.image.clone()).collect()
}
