//! What people have allowed. A run passes a hold for a person only with a promotion that was given for its template:
//! counted here from what people did, not from what a controller remembers (I5, I6), and against the plan (I1).

use std::collections::BTreeSet;

use jiff::Timestamp;
use windlass_api::Front;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Hold, Plan};

use super::checks::Checks;
use super::{Violation, rollout};
use crate::object::{annotation, number, text};
use crate::script::Deed;
use crate::store::{Change, Store};

/// What people have allowed for the present template.
#[derive(Default)]
pub(super) struct People {
    promotions: usize,
    everything: bool,
    other_steps: bool,
    images: BTreeSet<String>,
}

impl People {
    pub(super) fn start(&mut self, image: &str) {
        self.images.insert(image.to_owned());
    }

    pub(super) fn note(&mut self, deed: &Deed) {
        match deed {
            Deed::Image(image) => {
                // To put a former template back is a rollback, which asks nobody.
                let everything = !self.images.insert(image.clone());
                *self = Self { images: std::mem::take(&mut self.images), everything, ..Self::default() };
            }
            Deed::Reapply => {
                *self =
                    Self { images: std::mem::take(&mut self.images), everything: true, ..Self::default() };
            }
            Deed::Promote => self.promotions += 1,
            Deed::PromoteFull => self.everything = true,
            // Steps that were edited in the middle of a run may stand anywhere: nothing can be counted any more.
            Deed::Steps(_) | Deed::Background(_) | Deed::CreateRollout | Deed::DeleteRollout => {
                self.other_steps = true;
            }
            _ => {}
        }
    }

    /// How often somebody has promoted.
    pub(super) fn promotions(&self) -> usize {
        self.promotions
    }

    /// Everything was let through by a person, or steps were edited, checks among them.
    pub(super) fn have_decided(&self) -> bool {
        self.everything || self.other_steps
    }

    /// A write of ours to the set: it lets no more pods through than people and the plan allow.
    pub(super) fn exposure(
        &self,
        now: Timestamp,
        store: &Store,
        change: &Change,
        checks: &Checks,
    ) -> Vec<Violation> {
        let set = &change.object;
        let partition = number(set, &["spec", "updateStrategy", "rollingUpdate", "partition"]);
        let replicas = number(set, &["spec", "replicas"]).unwrap_or_default();
        let exposed = replicas.saturating_sub(partition.unwrap_or_default()).clamp(0, replicas);
        let same = text(set, &["status", "currentRevision"]) == text(set, &["status", "updateRevision"]);
        let held = annotation(set, "windlass.sh/held").is_some();
        // At rest, and on the way back to stable, the partition lets nothing new through.
        if same || !held || self.everything || self.other_steps || exposed == 0 {
            return Vec::new();
        }
        let Some(plan) = plan(store) else { return Vec::new() };
        let has_passed = |stage| checks.has_passed(store, stage);
        let replicas = u32::try_from(replicas).unwrap_or_default();
        let allowed = allowed(&plan, self.promotions, has_passed, replicas);
        if exposed <= i64::from(allowed) {
            return Vec::new();
        }
        let what = format!(
            "{exposed} of {replicas} pods were let to the new template, but with {} promotions the plan allows {allowed}",
            self.promotions
        );
        vec![Violation { at: now, rule: "I1/I6", what }]
    }
}

fn plan(store: &Store) -> Option<Plan> {
    let (_, rollout) = rollout(store)?;
    let rollout: RolloutPlugin = serde_json::from_value(rollout.clone()).ok()?;
    rollout.asked().plan.ok()
}

/// The most pods that may be on the target after so many promotions. A check that has not passed asks for one as well.
fn allowed(plan: &Plan, promotions: usize, has_passed: impl Fn(usize) -> bool, replicas: u32) -> u32 {
    let mut left = promotions;
    let mut most = 0;
    for (index, stage) in plan.stages.iter().enumerate() {
        most = most.max(plan.exposure(index, replicas));
        let unchecked = stage.check.is_some() && !has_passed(index);
        if unchecked || stage.hold == Some(Hold::UntilPromoted) {
            if left == 0 {
                return most;
            }
            left -= 1;
        }
    }
    replicas
}
