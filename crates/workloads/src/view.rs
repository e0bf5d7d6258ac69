//! What the caches keep: the few fields of each object that a lens reads. A pod of ten kilobytes becomes some hundred
//! bytes here.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use windlass_engine::{PodName, PodUid, Revision};

use crate::meaning::{Meaning, meaning};
use crate::stateful_set::StatefulSetView;

/// The pod label that tells a pod's revision.
const REVISION_LABEL: &str = "controller-revision-hash";

/// The identity of the object that owns another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub String);

/// A workload of any kind there is a lens for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// `apps/v1` StatefulSet.
    StatefulSet(StatefulSetView),
}

impl Workload {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::StatefulSet(set) => &set.name,
        }
    }

    /// Its identity.
    pub fn uid(&self) -> &str {
        match self {
            Self::StatefulSet(set) => &set.uid,
        }
    }

    /// The rollout that its label names.
    pub fn rollout(&self) -> Option<&String> {
        match self {
            Self::StatefulSet(set) => set.rollout.as_ref(),
        }
    }
}

/// Everything a lens looks at.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The workload.
    pub workload: Workload,
    /// The pods it owns.
    pub pods: Vec<KnownPod>,
    /// The revisions it owns.
    pub revisions: Vec<Arc<RevisionView>>,
}

impl Snapshot {
    /// The version in which a pod was seen.
    pub(crate) fn version_of(&self, pod: &PodUid) -> Option<u64> {
        self.pods.iter().find(|it| &it.uid == pod).and_then(|it| it.version)
    }
}

/// A pod, and the version in which it was seen. Whoever acts on what was seen can ask that it has not changed since.
#[derive(Clone, Debug)]
pub struct KnownPod {
    /// The resource version; none if nothing will be done because of what was seen.
    pub version: Option<u64>,
    /// What was seen. Apart from the version: most versions change nothing that matters.
    pub view: Arc<PodView>,
}

impl From<PodView> for KnownPod {
    fn from(view: PodView) -> Self {
        Self { version: None, view: Arc::new(view) }
    }
}

impl Deref for KnownPod {
    type Target = PodView;

    fn deref(&self) -> &PodView {
        &self.view
    }
}

/// The fields of a pod that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Its name.
    pub name: PodName,
    /// Its identity.
    pub uid: PodUid,
    /// Its revision label.
    pub revision: Option<Revision>,
    /// Since when it is on its way out.
    pub terminating_since: Option<Timestamp>,
    /// Since when it is ready, if it is.
    pub ready_since: Option<Timestamp>,
    /// Since when it is not ready, if it is not.
    pub unready_since: Timestamp,
    /// The kubelet's or scheduler's word for what is wrong.
    pub trouble: Option<String>,
}

/// The fields of a ControllerRevision that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionView {
    /// Its name.
    pub name: String,
    /// What its template means.
    pub(crate) meaning: Meaning,
}

impl PodView {
    /// Prunes a pod.
    pub fn of(pod: &Pod) -> Self {
        let meta = &pod.metadata;
        let status = pod.status.as_ref();
        let created = moment(meta.creation_timestamp.as_ref());
        let ready = status.and_then(|status| condition(status, "Ready"));
        let changed = ready.and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0);
        let running = status.and_then(|status| status.phase.as_deref()) == Some("Running");
        let is_ready = running && ready.is_some_and(|ready| ready.status == "True");
        Self {
            name: PodName::new(meta.name.as_deref().unwrap_or_default()),
            uid: PodUid::new(meta.uid.as_deref().unwrap_or_default()),
            revision: label(meta, REVISION_LABEL).map(Revision::new),
            terminating_since: meta.deletion_timestamp.as_ref().map(|time| time.0),
            ready_since: is_ready.then(|| changed.unwrap_or(created)),
            unready_since: changed.unwrap_or(created),
            trouble: if is_ready { None } else { status.and_then(trouble) },
        }
    }
}

impl RevisionView {
    /// Prunes a revision to its name and meaning.
    pub fn of(revision: &ControllerRevision) -> Self {
        let template = revision.data.as_ref().and_then(|data| data.0.pointer("/spec/template"));
        Self {
            name: revision.metadata.name.clone().unwrap_or_default(),
            meaning: meaning(template.unwrap_or(&serde_json::Value::Null)),
        }
    }
}

/// The first word somebody has for what is wrong: a waiting container, the scheduler, the pod's own reason, its phase.
fn trouble(status: &PodStatus) -> Option<String> {
    let mut containers =
        status.init_container_statuses.iter().flatten().chain(status.container_statuses.iter().flatten());
    containers
        .find_map(waiting)
        .or_else(|| unschedulable(status))
        .or_else(|| status.reason.clone().filter(|reason| !reason.is_empty()))
        .or_else(|| status.phase.clone().filter(|phase| phase != "Running"))
}

fn waiting(container: &ContainerStatus) -> Option<String> {
    let reason = container.state.as_ref()?.waiting.as_ref()?.reason.clone()?;
    (!reason.is_empty()).then_some(reason)
}

fn unschedulable(status: &PodStatus) -> Option<String> {
    let scheduled = condition(status, "PodScheduled")?;
    if scheduled.status == "False" { scheduled.reason.clone() } else { None }
}

fn condition<'a>(status: &'a PodStatus, type_: &str) -> Option<&'a PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == type_)
}

/// One label of an object.
pub(crate) fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    meta.labels.as_ref().and_then(|labels: &BTreeMap<String, String>| labels.get(key))
}

fn moment(time: Option<&Time>) -> Timestamp {
    time.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}
