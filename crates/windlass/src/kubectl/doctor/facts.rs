//! What the doctor knows when it judges: a few fields of what was read, and what may not be read.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use windlass_api::rollout_plugin::{HOLD_GUARDED, RolloutPlugin};
use windlass_workloads::{HELD_ANNOTATION, HOLD, Known, ROLLOUT_LABEL, Right};

use crate::kubectl::picture::Rolling;
use crate::kubectl::reach::set_name;

/// What is looked at.
#[derive(Clone, Debug)]
pub(in crate::kubectl) struct Asked {
    /// The controller, as the server knows it.
    pub(super) identity: String,
    /// Where rollouts and workloads are looked at; none means everywhere.
    pub(super) namespace: Option<String>,
    /// Where the controller's Lease is.
    pub(super) lease_namespace: String,
    /// Its name.
    pub(super) lease: String,
}

/// What was seen, or the right that is missing for seeing it.
pub(super) type Seen<T> = Result<T, NotAllowed>;

/// What the asking person may not do, such as `list statefulsets.apps in namespace shop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotAllowed(pub(super) String);

/// Everything that was seen.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) definitions: Seen<Definitions>,
    pub(super) policies: Seen<PolicyFacts>,
    pub(super) rights: Seen<RightsFacts>,
    pub(super) lease: Seen<Option<LeaseFacts>>,
    pub(super) rollouts: Seen<Vec<RolloutFacts>>,
    pub(super) sets: Seen<Vec<SetFacts>>,
}

/// The definitions.
#[derive(Clone, Debug)]
pub(super) struct Definitions {
    pub(super) ours: Vec<Definition>,
    /// Argo Rollouts is installed: the server has its `Rollout`. Its plain manifests put no label on the definitions, so
    /// there is no better mark.
    pub(super) argo_rollouts: bool,
}

/// A definition as this binary would install it, and as the server has it.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) wanted: CustomResourceDefinition,
    pub(super) found: Option<CustomResourceDefinition>,
}

/// The policies.
#[derive(Clone, Debug)]
pub(super) struct PolicyFacts {
    pub(super) known: Known,
    /// The server has mutating policies.
    pub(super) mutating_served: bool,
}

/// What the controller may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RightsFacts {
    /// What it may not.
    pub(super) lacking: Vec<Lacking>,
    /// It may see rollouts in all namespaces.
    pub(super) everywhere: bool,
}

/// Verbs of a right that the controller does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    pub(super) right: Right,
    pub(super) verbs: Vec<&'static str>,
}

/// The controller's Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseFacts {
    pub(super) holder: Option<String>,
    pub(super) since: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    pub(super) seconds: i32,
}

/// A rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RolloutFacts {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The StatefulSet that it refers to, if it refers to one.
    pub(super) set: Option<String>,
    /// What it says when its hold is not guarded.
    pub(super) unguarded: Option<String>,
    /// It is judged by analyses.
    pub(super) measures: bool,
}

/// A StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetFacts {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The rollout that its label names.
    pub(super) label: Option<String>,
    /// It carries the annotation of a run.
    pub(super) held: bool,
    /// Its partition keeps every pod from a new template.
    pub(super) at_hold: bool,
}

impl Asked {
    /// The Lease is in the namespace that is looked at, as that of a controller for one namespace is.
    pub(super) fn leads_where_it_serves(&self) -> bool {
        self.namespace.as_ref() == Some(&self.lease_namespace)
    }

    /// Where rollouts and workloads are looked at.
    pub(super) fn place(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("in namespace {namespace}"),
            None => "in all namespaces".to_owned(),
        }
    }

    /// The controller's Lease, as `namespace/name`.
    pub(super) fn lease_words(&self) -> String {
        format!("{}/{}", self.lease_namespace, self.lease)
    }

    /// The head of the checklist.
    pub(super) fn words(&self) -> String {
        format!("Controller {}, rollouts and workloads {}", self.identity, self.place())
    }
}

impl LeaseFacts {
    /// Who leads by it now: the holder, if its term is not over.
    pub(super) fn leader(&self, now: Timestamp) -> Option<&str> {
        let term = SignedDuration::from_secs(i64::from(self.seconds));
        let is_fresh = self.renewed.is_some_and(|renewed| now.duration_since(renewed) <= term);
        self.holder.as_deref().filter(|_| is_fresh)
    }
}

impl From<&Lease> for LeaseFacts {
    fn from(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            since: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            seconds: spec.lease_duration_seconds.unwrap_or_default(),
        }
    }
}

impl From<&RolloutPlugin> for RolloutFacts {
    fn from(rollout: &RolloutPlugin) -> Self {
        let condition = rollout.status.as_ref().and_then(|status| status.condition(HOLD_GUARDED));
        let unguarded = condition.filter(|condition| condition.status == "False");
        Self {
            namespace: rollout.namespace().to_owned(),
            name: rollout.name().to_owned(),
            set: set_name(rollout).map(str::to_owned),
            unguarded: unguarded.map(|condition| condition.message.clone()),
            measures: rollout.has_analyses(),
        }
    }
}

impl From<&StatefulSet> for SetFacts {
    fn from(set: &StatefulSet) -> Self {
        let meta = &set.metadata;
        let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
        let partition = strategy.and_then(|it| it.rolling_update.as_ref()).and_then(|it| it.partition);
        Self {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            label: meta.labels.as_ref().and_then(|labels| labels.get(ROLLOUT_LABEL)).cloned(),
            held: meta.annotations.as_ref().is_some_and(|all| all.contains_key(HELD_ANNOTATION)),
            at_hold: partition == Some(HOLD),
        }
    }
}
