//! What the spec of a StatefulSet asks for, read once per sync.

use serde_json::Value;

use crate::object::{at, list, number, text};

/// Whether pods wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Management {
    /// One after the other.
    OrderedReady,
    /// All at once.
    Parallel,
}

/// How living pods get a new template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The controller replaces them, down to the partition; none if the block `rollingUpdate` is missing.
    Rolling { partition: Option<i64> },
    /// Whoever deletes them.
    OnDelete,
}

/// The spec, as far as the controller reads it.
pub(super) struct Wanted<'a> {
    pub(super) replicas: i64,
    pub(super) start: i64,
    pub(super) management: Management,
    pub(super) strategy: Strategy,
    pub(super) min_ready_seconds: i64,
    pub(super) history_limit: i64,
    pub(super) template: &'a Value,
    pub(super) selector: &'a Value,
    pub(super) claim_templates: &'a [Value],
    pub(super) service: Option<&'a str>,
    pub(super) claims_end_with_set: bool,
    pub(super) claims_end_with_scale: bool,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(set: &'a Value) -> Self {
        let spec = set.get("spec").unwrap_or(&Value::Null);
        let strategy = match text(spec, &["updateStrategy", "type"]) {
            Some("OnDelete") => Strategy::OnDelete,
            _ => Strategy::Rolling {
                partition: at(spec, &["updateStrategy", "rollingUpdate"])
                    .filter(|block| !block.is_null())
                    .map(|block| number(block, &["partition"]).unwrap_or_default()),
            },
        };
        let management = match text(spec, &["podManagementPolicy"]) {
            Some("Parallel") => Management::Parallel,
            _ => Management::OrderedReady,
        };
        let ends = |when| text(spec, &["persistentVolumeClaimRetentionPolicy", when]) == Some("Delete");
        Self {
            replicas: number(spec, &["replicas"]).unwrap_or(1),
            start: number(spec, &["ordinals", "start"]).unwrap_or_default(),
            management,
            strategy,
            min_ready_seconds: number(spec, &["minReadySeconds"]).unwrap_or_default(),
            history_limit: number(spec, &["revisionHistoryLimit"]).unwrap_or(10),
            template: spec.get("template").unwrap_or(&Value::Null),
            selector: spec.get("selector").unwrap_or(&Value::Null),
            claim_templates: list(spec, &["volumeClaimTemplates"]),
            service: text(spec, &["serviceName"]).filter(|name| !name.is_empty()),
            claims_end_with_set: ends("whenDeleted"),
            claims_end_with_scale: ends("whenScaled"),
        }
    }

    /// The slot of an ordinal, if it is in range.
    pub(super) fn slot(&self, ordinal: i64) -> Option<usize> {
        let slot = ordinal.checked_sub(self.start)?;
        if slot >= self.replicas { None } else { usize::try_from(slot).ok() }
    }
}
