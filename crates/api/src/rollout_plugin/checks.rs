//! Checks as this dialect has them: runs of analyses with upstream's names, labels and owner. Which check a run is stands in
//! an annotation of ours, because a name may have been used before.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use windlass_engine::{
    Blame, CheckId, CheckName, CheckPlace, CheckState, Memo, Revision, Run, SeenCheck, Verdict,
};

use super::spec::{RolloutPlugin, RolloutPluginSpec};
use super::status::{AnalysisRunReference, CanaryStatus};
use crate::analysis::{AnalysisRun, AnalysisRunSpec, Phase};
use crate::front::{Analyses, Kept};

/// Which check a run of an analysis is.
const CHECK: &str = "windlass.sh/check";

/// The field that asks for a check.
pub fn analysis_field(place: CheckPlace) -> String {
    match place {
        CheckPlace::Stage(stage) => format!("spec.strategy.canary.steps[{stage}].analysis"),
        CheckPlace::Background => "spec.strategy.canary.analysis".to_owned(),
    }
}

/// What the checks measure.
pub(super) fn analyses(spec: &RolloutPluginSpec) -> Analyses {
    let Some(canary) = &spec.strategy.canary else { return Analyses::default() };
    let steps = canary.steps.iter().enumerate();
    let limit = |limit: Option<i32>, usual: usize| {
        limit.map_or(usual, |limit| usize::try_from(limit).unwrap_or_default())
    };
    let (limits, usual) = (spec.analysis.clone().unwrap_or_default(), Kept::default());
    Analyses {
        stages: steps.filter_map(|(index, step)| Some((index, step.analysis.clone()?))).collect(),
        background: canary.analysis.clone(),
        kept: Kept {
            successful: limit(limits.successful_run_history_limit, usual.successful),
            unsuccessful: limit(limits.unsuccessful_run_history_limit, usual.unsuccessful),
        },
    }
}

impl RolloutPlugin {
    /// Whether anything is to be measured.
    pub fn has_analyses(&self) -> bool {
        let canary = self.spec.strategy.canary.as_ref();
        canary.is_some_and(|canary| {
            canary.analysis.is_some() || canary.steps.iter().any(|step| step.analysis.is_some())
        })
    }
}

impl RolloutPlugin {
    /// A finished run that is not kept any more: of those that nobody listens to, and that are not to blame, the oldest
    /// beyond the limit for its kind of end.
    pub fn surplus<'a>(
        &self,
        runs: impl Iterator<Item = &'a AnalysisRun>,
        present: Option<&Run>,
        kept: Kept,
    ) -> Option<&'a AnalysisRun> {
        let listened: BTreeSet<CheckId> = present.into_iter().flat_map(Run::checks).collect();
        let blamed = present.and_then(|run| run.blame.as_ref()).map(|blame| &blame.name);
        let is_good = |run: &AnalysisRun| run.status.as_ref().map(|it| it.phase) == Some(Phase::Successful);
        let age = |run: &AnalysisRun| run.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let mut over: Vec<(&AnalysisRun, CheckId)> = runs
            .filter_map(|run| seen_check(self, run).map(|check| (run, check)))
            .filter(|(_, check)| {
                !listened.contains(&check.id)
                    && blamed != Some(&check.name)
                    && matches!(check.state, CheckState::Over { .. })
            })
            .map(|(run, check)| (run, check.id))
            .collect();
        // Several may have been made in one second, and that is all that the server tells.
        over.sort_by_key(|(run, check)| std::cmp::Reverse((age(run), *check)));
        let beyond = |good: bool, limit: usize| {
            let of_kind = over.iter().map(|(run, _)| *run).filter(|run| is_good(run) == good);
            of_kind.skip(limit).last()
        };
        beyond(true, kept.successful).or_else(|| beyond(false, kept.unsuccessful))
    }
}

/// The run of an analysis for a check that begins.
pub(super) fn begin(
    rollout: &RolloutPlugin,
    check: CheckId,
    target: &Revision,
    spec: AnalysisRunSpec,
    taken: &dyn Fn(&str) -> bool,
) -> AnalysisRun {
    let owner = rollout.metadata.name.clone().unwrap_or_default();
    let analyses = analyses(&rollout.spec);
    let metadata =
        analyses.at(check.place).and_then(|it| it.analysis_run_metadata.clone()).unwrap_or_default();
    let (base, type_, step) = match check.place {
        CheckPlace::Background => (format!("{owner}-{target}"), "Background", None),
        CheckPlace::Stage(stage) => (format!("{owner}-{target}-{stage}"), "Step", Some(stage)),
    };
    let mut labels = metadata.labels;
    labels.insert("rollout-type".to_owned(), type_.to_owned());
    labels.insert("rollout-plugin-name".to_owned(), owner.clone());
    labels.extend(step.map(|step| ("step-index".to_owned(), step.to_string())));
    let mut annotations = metadata.annotations;
    annotations.insert(CHECK.to_owned(), write_id(check));
    let owned_by = OwnerReference {
        api_version: "argoproj.io/v1alpha1".to_owned(),
        kind: "RolloutPlugin".to_owned(),
        name: owner,
        uid: rollout.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    AnalysisRun {
        metadata: ObjectMeta {
            name: Some(free_name(&base, taken)),
            namespace: rollout.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: Some(vec![owned_by]),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// The name, or the name with the first free number behind it.
fn free_name(base: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let numbered = (1_u32..).map(|number| format!("{base}.{number}"));
    std::iter::once(base.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_else(|| base.to_owned())
}

/// The check that a run of an analysis is, if it is this rollout's.
pub(super) fn seen_check(rollout: &RolloutPlugin, run: &AnalysisRun) -> Option<SeenCheck> {
    let mut owners = run.metadata.owner_references.iter().flatten();
    let uid = rollout.metadata.uid.as_deref()?;
    owners.find(|owner| owner.controller == Some(true) && owner.uid == uid)?;
    let mark = run.metadata.annotations.as_ref().and_then(|all| all.get(CHECK));
    let id = mark.and_then(|text| read_id(text)).unwrap_or(PAST);
    // With all its measurements a status is large, and every look sees every run.
    let status = run.status.as_ref();
    let message = status.map(|status| status.message.as_str()).filter(|message| !message.is_empty());
    let over = |verdict: Verdict| CheckState::Over {
        verdict,
        why: message.unwrap_or(verdict.as_str()).to_owned(),
        at: status
            .and_then(|status| status.completed_at.or(status.started_at))
            .unwrap_or(Timestamp::UNIX_EPOCH),
    };
    Some(SeenCheck {
        id,
        name: CheckName::new(run.metadata.name.as_deref()?),
        state: match status.map(|status| status.phase).unwrap_or_default() {
            Phase::Pending | Phase::Running => CheckState::Running,
            Phase::Successful => over(Verdict::Successful),
            Phase::Inconclusive => over(Verdict::Inconclusive),
            Phase::Error => over(Verdict::Error),
            Phase::Failed => over(Verdict::Failed),
        },
        measured: has_measured(run),
        ending: run.spec.terminate,
    })
}

/// Whether it has a value: one that was asked for and did not come is none.
pub fn has_measured(run: &AnalysisRun) -> bool {
    run.status.iter().flat_map(|status| &status.metric_results).any(|result| result.count > 0)
}

/// A run of this rollout's that is no check of ours: upstream's controller has made it, before we took over. Nobody listens
/// to it any more, so it is ended, and kept as long as others that are past.
const PAST: CheckId = CheckId { run: Timestamp::UNIX_EPOCH, place: CheckPlace::Background, attempt: 0 };

fn write_id(id: CheckId) -> String {
    let place = match id.place {
        CheckPlace::Background => "background".to_owned(),
        CheckPlace::Stage(stage) => format!("stage-{stage}"),
    };
    format!("run-{}/{place}/{}", id.run.as_nanosecond(), id.attempt)
}

fn read_id(text: &str) -> Option<CheckId> {
    let mut parts = text.split('/');
    let run = parts.next()?.strip_prefix("run-")?.parse().ok()?;
    let place = match parts.next()? {
        "background" => CheckPlace::Background,
        stage => CheckPlace::Stage(stage.strip_prefix("stage-")?.parse().ok()?),
    };
    let attempt = parts.next()?.parse().ok()?;
    Some(CheckId { run: Timestamp::from_nanosecond(run).ok()?, place, attempt })
}

/// The checks that the run listens to, as the status shows them; of a run that goes back, the one that is to blame.
pub(super) fn canary(memo: &Memo, checks: &[SeenCheck]) -> Option<CanaryStatus> {
    let run = memo.run.as_ref()?;
    let mut current: BTreeMap<bool, AnalysisRunReference> = BTreeMap::new();
    for id in run.checks() {
        let Some(check) = checks.iter().find(|check| check.id == id) else { continue };
        let (status, message) = match &check.state {
            CheckState::Running => ("Running", String::new()),
            CheckState::Over { verdict, why, .. } => {
                (verdict.as_str(), if *verdict == Verdict::Successful { String::new() } else { why.clone() })
            }
        };
        let reference =
            AnalysisRunReference { name: check.name.to_string(), status: status.to_owned(), message };
        current.insert(id.place == CheckPlace::Background, reference);
    }
    if let Some(Blame { place, name, verdict, why }) = &run.blame {
        let (name, status) = (name.to_string(), verdict.as_str().to_owned());
        let reference = AnalysisRunReference { name, status, message: why.clone() };
        current.insert(*place == CheckPlace::Background, reference);
    }
    let (step, background) = (current.remove(&false), current.remove(&true));
    (step.is_some() || background.is_some()).then_some(CanaryStatus {
        current_step_analysis_run_status: step,
        current_background_analysis_run_status: background,
    })
}
