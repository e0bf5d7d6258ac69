//! What Windlass writes back: upstream's fields as upstream's users know them, and beside them the waits (why is
//! nothing happening?) and the memo.
#![expect(clippy::doc_markdown, reason = "these comments are what `kubectl explain` shows: plain text")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::any_object;

/// What became of the rollout. People act by setting abort, restart or promoteFull to true, or by clearing
/// pauseConditions.
#[expect(clippy::struct_excessive_bools, reason = "the triggers are upstream's fields")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutPluginStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Healthy, Progressing, Paused or Degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What is waited for, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Steps done, of all steps, such as 2/5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What ran before (the stable revision).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_revision: Option<String>,
    /// What is wanted (the target revision).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_revision: Option<String>,
    /// The step at work, counted from zero; the number of steps when all are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_step_index: Option<i32>,
    /// The pauses that are on. Clearing this list promotes the pause that was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_conditions: Option<Vec<PauseCondition>>,
    /// Windlass paused the rollout at a step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub controller_pause: bool,
    /// Set to true to abort: every updated pod returns to the stable revision. Set back by Windlass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abort: bool,
    /// The rollout was aborted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// The revision that was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted_revision: Option<String>,
    /// When it was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted_at: Option<Time>,
    /// Set to true to skip all remaining steps and pauses. Set back by Windlass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub promote_full: bool,
    /// Set to true to take up an aborted rollout again from step 0. Set back by Windlass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
    /// How often the present revision was restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_count: Option<i32>,
    /// When it was restarted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarted_at: Option<Time>,
    /// The state in parts, for tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    // One writer, so the list is atomic, as upstream's: tracking each field of each condition costs the server more
    // than the rest of the write.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub conditions: Vec<Condition>,
    /// Pods wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Pods on the wanted revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
    /// Pods that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Pods that have been ready for minReadySeconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// The AnalysisRuns at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryStatus>,
    /// What a plugin has to say.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plugin_status: BTreeMap<String, String>,
    /// Why the rollout is not further: each reason with the pods concerned, since when, and what would end it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitNote>,
    /// What Windlass remembers between two looks. Not for editing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub memo: Option<Value>,
    /// Why the stored status could not be read, if it could not.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

/// One pause that is on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseCondition {
    /// CanaryPauseStep or InconclusiveAnalysisRun.
    pub reason: String,
    /// Since when.
    pub start_time: Time,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// True, False or Unknown.
    pub status: String,
    /// When anything about it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// When its status changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The AnalysisRuns at work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryStatus {
    /// The one of the present step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_step_analysis_run_status: Option<AnalysisRunReference>,
    /// The one in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_background_analysis_run_status: Option<AnalysisRunReference>,
}

/// One AnalysisRun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnalysisRunReference {
    /// Its name.
    pub name: String,
    /// Its phase.
    #[serde(default)]
    pub status: String,
    /// What it has to say.
    #[serde(default)]
    pub message: String,
}

/// One answer to "why is nothing happening?".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WaitNote {
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// What would end the wait.
    pub ends_when: String,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Only a person can end it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_person: bool,
    /// The pods concerned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodNote>,
}

/// One pod that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodNote {
    /// Its name.
    pub name: String,
    /// Its revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What it does.
    pub state: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

impl RolloutPluginStatus {
    /// The condition of this type.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// The part whose change must be stored at once: not counters and texts that move with the pods, not the progress
    /// that the deadline looks at, and not the stage while pods are being exposed, because the workload itself carries
    /// a record of that.
    pub(super) fn essence(&self) -> Self {
        let mut essence = Self {
            message: None,
            replicas: None,
            updated_replicas: None,
            ready_replicas: None,
            available_replicas: None,
            waits: Vec::new(),
            ..self.clone()
        };
        let Some(run) = essence.memo.as_mut().and_then(|memo| memo.get_mut("run")) else { return essence };
        if let Some(progress) = run.get_mut("progress").and_then(Value::as_object_mut) {
            progress.retain(|key, _| key == "overdue");
        }
        let exposes = run.pointer("/journey/part/does").is_some_and(|does| does == "expose");
        if exposes && let Some(journey) = run.get_mut("journey").and_then(Value::as_object_mut) {
            journey.remove("stage");
            essence.step = None;
            essence.current_step_index = None;
        }
        essence
    }
}
