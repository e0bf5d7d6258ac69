//! The status of a set: counters from its pods, and the moment at which an update counts as complete.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::member::Member;
use super::revisions::Revisions;
use super::wanted::{Strategy, Wanted};
use crate::object::{self, number, text};

/// A status, as it would be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    observed_generation: i64,
    replicas: i64,
    ready: i64,
    available: i64,
    current: i64,
    updated: i64,
    current_revision: String,
    update_revision: String,
    collision_count: i64,
}

impl Status {
    /// Counts the pods that are there; those made or deleted in the same sync count as they were.
    pub(super) fn count<'a>(
        now: Timestamp,
        set: &Value,
        wanted: &Wanted<'_>,
        revisions: &Revisions<'_>,
        pods: impl Iterator<Item = &'a Member>,
    ) -> Self {
        let mut status = Self {
            observed_generation: object::generation(set),
            replicas: 0,
            ready: 0,
            available: 0,
            current: 0,
            updated: 0,
            current_revision: revisions.current.clone(),
            update_revision: revisions.update.clone(),
            collision_count: revisions.collision_count,
        };
        for pod in pods {
            status.replicas += 1;
            status.ready += i64::from(pod.is_ready());
            status.available += i64::from(pod.is_available(now, wanted.min_ready_seconds));
            if !pod.going {
                status.current += i64::from(pod.revision == revisions.current);
                status.updated += i64::from(pod.revision == revisions.update);
            }
        }
        status
    }

    /// A pod was deleted for an update: it counts as one of the current ones, whatever it was. This can go below zero,
    /// which the server refuses, as with the real controller.
    pub(super) fn one_less_current(&mut self) {
        self.current -= 1;
    }

    /// All pods on the update and ready: the update revision becomes the current one.
    pub(super) fn complete(&mut self, wanted: &Wanted<'_>) {
        let all = |count| count == wanted.replicas;
        let rolling = matches!(wanted.strategy, Strategy::Rolling { .. });
        if rolling && all(self.updated) && all(self.ready) && all(self.replicas) {
            self.current = self.updated;
            self.current_revision.clone_from(&self.update_revision);
        }
    }

    /// Whether the status of the set says something else.
    pub(super) fn differs_from(&self, set: &Value) -> bool {
        let count = |field| number(set, &["status", field]).unwrap_or_default();
        let revision = |field| text(set, &["status", field]).unwrap_or_default();
        self.observed_generation > count("observedGeneration")
            || self.replicas != count("replicas")
            || self.current != count("currentReplicas")
            || self.ready != count("readyReplicas")
            || self.updated != count("updatedReplicas")
            || self.available != count("availableReplicas")
            || self.current_revision != revision("currentRevision")
            || self.update_revision != revision("updateRevision")
    }

    pub(super) fn ready_and_available(&self) -> (i64, i64) {
        (self.ready, self.available)
    }

    /// The set with this status, resting on the version that is known. A status is written together with the metadata.
    pub(super) fn on(&self, set: &Value) -> Value {
        let mut status = Map::new();
        status.insert("observedGeneration".to_owned(), json!(self.observed_generation));
        status.insert("replicas".to_owned(), json!(self.replicas));
        status.insert("availableReplicas".to_owned(), json!(self.available));
        status.insert("collisionCount".to_owned(), json!(self.collision_count));
        let counters = [
            ("readyReplicas", self.ready),
            ("currentReplicas", self.current),
            ("updatedReplicas", self.updated),
        ];
        // Go leaves these out when they are zero.
        for (field, count) in counters.into_iter().filter(|(_, count)| *count != 0) {
            status.insert(field.to_owned(), json!(count));
        }
        status.insert("currentRevision".to_owned(), json!(self.current_revision));
        status.insert("updateRevision".to_owned(), json!(self.update_revision));
        // With all of the metadata, as the real one sends it: a write of the status replaces that too.
        json!({"metadata": set.get("metadata"), "status": status})
    }
}
