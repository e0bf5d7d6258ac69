//! The `RolloutPlugin` front, golden in and out: manifests to plans, decisions to status.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use windlass_api::analysis::{AnalysisRunSpec, AnalysisRunStatus, Phase};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_api::{Circumstances, Front, Kept, to_yaml};
use windlass_engine::{
    AbortCause, CheckId, CheckPlace, Decision, Exposure, Intents, Journey, Memo, Observation, Part, Pod,
    PodName, PodState, PodUid, Progress, Revision, Run, Seen, SeenCheck, Slot, WorkloadUid, decide,
};

const SEED: &str = include_str!("../../../tests/cluster/tests/it/seed-003.yaml");

fn rollout(yaml: &str) -> RolloutPlugin {
    let mut rollout: RolloutPlugin = serde_saphyr::from_str(yaml).unwrap();
    rollout.metadata.generation = Some(1);
    rollout
}

fn seed() -> RolloutPlugin {
    rollout(SEED.split("---\n").nth(1).unwrap())
}

fn with_steps(steps: &str) -> RolloutPlugin {
    rollout(&format!(
        "apiVersion: argoproj.io/v1alpha1
kind: RolloutPlugin
metadata: {{name: web, namespace: data}}
spec:
  workloadRef: {{apiVersion: apps/v1, kind: StatefulSet, name: web}}
  plugin: {{name: statefulset}}
  strategy: {{canary: {{steps: {steps}}}}}
"
    ))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// Five pods, the first `updated` of them on B.
fn observation(updated: usize, ready: bool) -> Observation {
    let pod = |rank: usize| {
        let name = PodName::new(format!("web-{}", 4 - rank));
        let new = rank < updated;
        let state = if ready || !new {
            PodState::Ready { available_at: Timestamp::UNIX_EPOCH }
        } else {
            PodState::NotReady { why: Some("CrashLoopBackOff".to_owned()) }
        };
        let revision = Some(Revision::new(if new { "web-b" } else { "web-a" }));
        Slot {
            name: name.clone(),
            pod: Some(Pod { name, uid: PodUid::new(format!("uid-{rank}")), revision, state, since: at(-60) }),
        }
    };
    Observation {
        workload: WorkloadUid::new("set"),
        settled: true,
        stable: Revision::new("web-a"),
        target: Revision::new("web-b"),
        exposure: if updated == 0 {
            Exposure::Held
        } else {
            Exposure::First(u32::try_from(updated).unwrap())
        },
        slots: (0..5).map(pod).collect(),
        surplus: Vec::new(),
        claimed: true,
        ready_to_hold: true,
        marked: true,
        recorded: None,
        aliases: BTreeMap::new(),
        checks: Vec::new(),
    }
}

/// Looks once and stores what came out, as the controller does.
fn look(rollout: &mut RolloutPlugin, now: Timestamp, seen: &Observation) -> Decision {
    let asked = rollout.asked();
    let seen = Seen::Workload(seen.clone());
    let decision =
        decide(now, asked.plan.as_ref().map_err(Vec::as_slice), &seen, &asked.memo, &asked.intents);
    rollout.status = Some(rollout.report(now, &seen, &decision, Circumstances::default()).status);
    decision
}

fn status_yaml(rollout: &RolloutPlugin) -> String {
    to_yaml(rollout.status.as_ref().unwrap()).unwrap()
}

#[test]
fn the_seed_manifest_becomes_nine_stages() {
    let mut seed = seed();
    seed.metadata.namespace = Some("argo-rollouts".to_owned());
    insta::assert_debug_snapshot!("seed_003_plan", seed.asked().plan.unwrap());
    assert_eq!(seed.workload().unwrap().to_string(), "StatefulSet my-statefulset");
}

#[test]
fn of_analyses_that_were_made_in_the_same_second_the_oldest_is_not_kept() {
    let mut rollout = with_steps("[{setWeight: 20}]");
    rollout.metadata.uid = Some("uid".to_owned());
    let failed = |target: &str, started: Timestamp| {
        let id = CheckId { run: started, place: CheckPlace::Stage(0), attempt: 0 };
        let mut run = rollout.begin(id, &Revision::new(target), AnalysisRunSpec::default(), &|_| false);
        run.status = Some(AnalysisRunStatus { phase: Phase::Failed, ..AnalysisRunStatus::default() });
        run
    };
    let (older, newer) = (failed("web-z", at(0)), failed("web-c", at(0) + SignedDuration::from_millis(1)));
    let kept = Kept { successful: 1, unsuccessful: 1 };
    for runs in [[&newer, &older], [&older, &newer]] {
        let surplus = rollout.surplus(runs.into_iter(), None, kept).unwrap();
        assert_eq!(surplus.metadata.name, older.metadata.name);
    }
}

#[test]
fn every_alias_of_the_built_in_plugin_is_known() {
    for name in ["argoproj/statefulset", "statefulset", "statefulset-plugin"] {
        let mut rollout = with_steps("[{setWeight: 20}]");
        rollout.spec.plugin.name = name.to_owned();
        assert!(rollout.asked().plan.is_ok(), "{name}");
    }
}

#[test]
fn both_spellings_of_the_deadline_are_read_and_the_newer_wins() {
    let mut rollout = with_steps("[{setWeight: 20}]");
    rollout.spec.progress_deadline_seconds = Some(30);
    rollout.spec.progress_deadline_abort = Some(true);
    let deadline = rollout.asked().plan.unwrap().deadline;
    assert_eq!((deadline.after, deadline.abort), (SignedDuration::from_secs(30), true));
    rollout.spec.plugin.config = Some(serde_json::json!({"timeoutSeconds": "40", "timeoutAbort": false}));
    let deadline = rollout.asked().plan.unwrap().deadline;
    assert_eq!((deadline.after, deadline.abort), (SignedDuration::from_secs(40), false));
}

#[test]
fn every_flaw_is_named_at_once() {
    let mut rollout =
        with_steps("[{setWeight: 101}, {}, {pause: {duration: soon}}, {setWeight: 5, pause: {}}]");
    rollout.spec.plugin.name = "acme/x".to_owned();
    rollout.spec.workload_ref.namespace = Some("other".to_owned());
    let flaws: Vec<String> = rollout.asked().plan.unwrap_err().into_iter().map(|flaw| flaw.text).collect();
    insta::assert_snapshot!("flaws", flaws.join("\n"));
}

#[test]
fn a_run_in_its_first_step_is_told_with_the_pod_it_waits_for() {
    let mut rollout = with_steps("[{setWeight: 20}, {pause: {}}, {setWeight: 100}]");
    look(&mut rollout, at(0), &observation(0, true));
    look(&mut rollout, at(5), &observation(1, false));
    insta::assert_snapshot!("progressing", status_yaml(&rollout));
}

#[test]
fn a_pause_is_told_as_upstream_tells_it_and_clearing_it_promotes() {
    let mut rollout = with_steps("[{setWeight: 20}, {pause: {}}, {setWeight: 100}]");
    look(&mut rollout, at(0), &observation(0, true));
    look(&mut rollout, at(5), &observation(1, true));
    insta::assert_snapshot!("paused", status_yaml(&rollout));
    assert_eq!(rollout.asked().intents, Intents::default());
    rollout.status.as_mut().unwrap().pause_conditions = None;
    let promotion = rollout.asked().intents.promote.unwrap();
    assert_eq!((promotion.target.as_str(), promotion.stage), ("web-b", Some(1)));
}

#[test]
fn an_abort_is_told_as_upstream_tells_it() {
    let mut rollout = with_steps("[{setWeight: 40}, {pause: {}}, {setWeight: 100}]");
    look(&mut rollout, at(0), &observation(0, true));
    look(&mut rollout, at(5), &observation(2, true));
    rollout.status.as_mut().unwrap().abort = true;
    look(&mut rollout, at(9), &observation(2, true));
    insta::assert_snapshot!("aborting", status_yaml(&rollout));
}

/// Looks once, and answers with what is told of runs of analyses.
fn told_of_runs(rollout: &mut RolloutPlugin, now: Timestamp, seen: &Observation) -> Vec<String> {
    let asked = rollout.asked();
    let seen = Seen::Workload(seen.clone());
    let decision =
        decide(now, asked.plan.as_ref().map_err(Vec::as_slice), &seen, &asked.memo, &asked.intents);
    let report = rollout.report(now, &seen, &decision, Circumstances::default());
    rollout.status = Some(report.status);
    let of_runs = report.events.into_iter().filter(|event| event.reason.starts_with("AnalysisRun"));
    of_runs.map(|event| format!("{:?} {}: {}", event.kind, event.reason, event.note)).collect()
}

/// A run of an analysis of this rollout's that says this.
fn measured(rollout: &RolloutPlugin, place: CheckPlace, phase: Phase) -> SeenCheck {
    let run = rollout.asked().memo.run.unwrap().started_at;
    let id = CheckId { run, place, attempt: 0 };
    let mut run = rollout.begin(id, &Revision::new("web-b"), AnalysisRunSpec::default(), &|_| false);
    let message = "Metric \"errors\" assessed Failed".to_owned();
    run.status = Some(AnalysisRunStatus { phase, message, ..AnalysisRunStatus::default() });
    rollout.check(&run).unwrap()
}

const CHECKED: &str =
    "[{setWeight: 20}, {analysis: {templates: [{templateName: errors}]}}, {pause: {}}, {setWeight: 100}]";

#[test]
fn every_new_phase_of_an_analysis_is_told_as_upstream_tells_it() {
    let mut rollout = with_steps(CHECKED);
    rollout.metadata.uid = Some("uid".to_owned());
    look(&mut rollout, at(0), &observation(0, true));
    look(&mut rollout, at(5), &observation(1, true));
    let mut seen = observation(1, true);
    let place = CheckPlace::Stage(1);
    let mut told = |rollout: &mut RolloutPlugin, second, phase| {
        seen.checks = vec![measured(rollout, place, phase)];
        told_of_runs(rollout, at(second), &seen)
    };
    let name = "web-web-b-1";
    assert_eq!(
        told(&mut rollout, 6, Phase::Running),
        [format!(
            "Normal AnalysisRunRunning: Step Analysis Run '{name}' Status New: 'Running' Previous: 'NoPreviousStatus'"
        )]
    );
    assert!(told(&mut rollout, 7, Phase::Running).is_empty());
    assert_eq!(
        told(&mut rollout, 8, Phase::Successful),
        [format!(
            "Normal AnalysisRunSuccessful: Step Analysis Run '{name}' Status New: 'Successful' Previous: 'Running'"
        )]
    );
    assert!(told(&mut rollout, 9, Phase::Successful).is_empty());
}

#[test]
fn a_failed_analysis_stays_in_the_status_of_the_rollout_that_it_aborted() {
    let mut rollout = with_steps(CHECKED);
    rollout.metadata.uid = Some("uid".to_owned());
    look(&mut rollout, at(0), &observation(0, true));
    look(&mut rollout, at(5), &observation(1, true));
    let mut seen = observation(1, true);
    seen.checks = vec![measured(&rollout, CheckPlace::Stage(1), Phase::Failed)];
    assert_eq!(
        told_of_runs(&mut rollout, at(6), &seen),
        [
            "Warning AnalysisRunFailed: Step Analysis Run 'web-web-b-1' Status New: 'Failed' Previous: 'NoPreviousStatus'"
        ]
    );
    // Also once the run itself was deleted.
    for checks in [seen.checks.clone(), Vec::new()] {
        let seen = Observation { checks, ..observation(0, true) };
        assert!(told_of_runs(&mut rollout, at(20), &seen).is_empty());
        let canary = rollout.status.as_ref().unwrap().canary.clone().unwrap();
        let run = canary.current_step_analysis_run_status.unwrap();
        assert_eq!((run.name.as_str(), run.status.as_str()), ("web-web-b-1", "Failed"));
        assert!(run.message.contains("assessed Failed"), "{}", run.message);
    }
}

#[test]
fn a_failed_write_is_told_as_a_reconciliation_error_and_gone_when_it_works() {
    let mut rollout = with_steps("[{setWeight: 20}]");
    look(&mut rollout, at(0), &observation(0, true));
    let asked = rollout.asked();
    let seen = Seen::Workload(observation(0, true));
    let decision =
        decide(at(1), asked.plan.as_ref().map_err(Vec::as_slice), &seen, &asked.memo, &asked.intents);
    let failed = rollout.report(
        at(1),
        &seen,
        &decision,
        Circumstances { failure: Some("patching StatefulSet data/web: forbidden"), guard: None },
    );
    assert!(failed.urgent);
    assert_eq!(failed.status.phase.as_deref(), Some("Degraded"));
    assert_eq!(failed.status.condition("Progressing").unwrap().reason, "ReconciliationError");
    assert_eq!(failed.events[0].reason, "ReconciliationError");
    rollout.status = Some(failed.status);
    let mended = rollout.report(at(2), &seen, &decision, Circumstances::default());
    assert_eq!(mended.status.condition("Progressing").unwrap().reason, "RolloutPluginProgressing");
    assert_eq!(rollout.asked().memo, decision.memo, "the run is where it was");
}

#[test]
fn at_rest_a_second_look_changes_nothing_and_tells_nothing() {
    let mut rollout = with_steps("[{setWeight: 100}]");
    let mut seen = observation(0, true);
    seen.target = seen.stable.clone();
    seen.marked = false;
    look(&mut rollout, at(0), &seen);
    let before = rollout.status.clone();
    let decision = look(&mut rollout, at(600), &seen);
    assert_eq!(rollout.status, before);
    assert!(decision.announcements.is_empty() && decision.next.is_none());
}

#[test]
fn a_status_that_cannot_be_read_is_no_memo() {
    let mut rollout = with_steps("[{setWeight: 20}]");
    look(&mut rollout, at(0), &observation(0, true));
    rollout.status.as_mut().unwrap().memo = Some(serde_json::json!({"run": 7}));
    assert_eq!(rollout.asked().memo, Memo::default());
}

prop_compose! {
    fn memo()(
        journey in prop_oneof![
            (0..9_usize).prop_map(|stage| Journey::Advancing { stage, part: Part::Expose }),
            (0..9_usize, 0..9_i64).prop_map(|(stage, since)| Journey::Advancing { stage, part: Part::Hold { since: at(since) } }),
            Just(Journey::Completing),
            Just(Journey::Returning),
            (0..9_usize).prop_map(|stage| Journey::Aborting { cause: AbortCause::Person, at: at(3), stage }),
            (0..9_usize).prop_map(|stage| Journey::Aborted { cause: AbortCause::Deadline, at: at(3), stage }),
        ],
        best in 0..9_u32,
        overdue: bool,
        running: bool,
        restarts in 0..3_u32,
        nanos in 0..1_000_000_000_i32,
    ) -> Memo {
        let run = Run {
            journey,
            restarts,
            progress: Progress { at: Some(Timestamp::new(1_800_000_000, nanos).unwrap()), best, overdue },
            ..Run::start(at(1), Revision::new("web-b"), Revision::new("web-a"))
        };
        Memo { workload: Some(WorkloadUid::new("set")), run: running.then_some(run), ended: None }
    }
}

proptest! {
    #[test]
    fn what_is_remembered_survives_the_status(memo in memo()) {
        let mut rollout = with_steps("[{setWeight: 20}, {pause: {}}]");
        let seen = Seen::Workload(observation(1, true));
        let mut decision = decide(at(0), rollout.asked().plan.as_ref().map_err(Vec::as_slice), &seen, &memo, &Intents::default());
        decision.memo = memo.clone();
        let status = rollout.report(at(0), &seen, &decision, Circumstances::default()).status;
        let text = serde_json::to_string(&status).unwrap();
        rollout.status = Some(serde_json::from_str(&text).unwrap());
        prop_assert_eq!(rollout.asked().memo, memo);
        prop_assert_eq!(rollout.asked().intents, Intents::default());
    }
}

#[test]
fn the_next_stage_is_not_urgent_but_a_pause_an_abort_and_an_overdue_run_are() {
    let mut rollout = with_steps("[{setWeight: 20}, {setWeight: 40}, {pause: {}}, {setWeight: 100}]");
    look(&mut rollout, at(0), &observation(0, true));
    let urgent = |rollout: &RolloutPlugin, second: i64, seen: &Observation| {
        let (asked, seen) = (rollout.asked(), Seen::Workload(seen.clone()));
        let plan = asked.plan.as_ref().map_err(Vec::as_slice);
        let decision = decide(at(second), plan, &seen, &asked.memo, &asked.intents);
        rollout.report(at(second), &seen, &decision, Circumstances::default()).urgent
    };
    let started = rollout.asked().memo.run.unwrap().started_at;
    let mut second = observation(2, false);
    second.recorded = Some(windlass_engine::Record { run: started, stage: 1 });
    assert!(!urgent(&rollout, 5, &second), "the set itself records its stage");
    let mut done = observation(2, true);
    done.recorded = second.recorded;
    assert!(urgent(&rollout, 9, &done), "a pause begins");
    assert!(urgent(&rollout, 700, &observation(1, false)), "the deadline has passed");
    rollout.status.as_mut().unwrap().abort = true;
    assert!(urgent(&rollout, 9, &observation(1, true)), "an abort");
}

/// A status as it is in the middle of a run.
fn under_way() -> RolloutPlugin {
    let mut rollout = with_steps("[{setWeight: 20}, {pause: {}}, {setWeight: 60}]");
    look(&mut rollout, at(0), &observation(0, true));
    look(&mut rollout, at(1), &observation(1, true));
    rollout
}

fn memo_of(rollout: &mut RolloutPlugin) -> &mut serde_json::Value {
    rollout.status.as_mut().unwrap().memo.as_mut().unwrap()
}

#[test]
fn what_a_newer_version_remembers_is_neither_used_nor_lost() {
    let mut rollout = under_way();
    memo_of(&mut rollout)["version"] = 3.into();
    memo_of(&mut rollout)["run"]["journey"] = serde_json::json!({"is": "teleporting"});
    let before = memo_of(&mut rollout).clone();
    let refusal = rollout.asked().refusal.unwrap();
    let seen = Seen::Refused { refusal, checks: Vec::new() };
    let asked = rollout.asked();
    let plan = asked.plan.as_ref().map_err(Vec::as_slice);
    let decision = decide(at(2), plan, &seen, &asked.memo, &asked.intents);
    assert_eq!(decision.next, None);
    let status = rollout.report(at(2), &seen, &decision, Circumstances::default()).status;
    assert_eq!(status.memo, Some(before));
    let progressing = status.condition("Progressing").unwrap();
    assert!(progressing.message.contains("newer version of Windlass"), "{}", progressing.message);
}

#[test]
fn a_memo_that_cannot_be_read_is_repaired_and_said_to_be() {
    let mut rollout = under_way();
    memo_of(&mut rollout)["run"]["journey"] = "nonsense".into();
    let asked = rollout.asked();
    assert_eq!((asked.memo, asked.refusal), (Memo::default(), None));
    let seen = Seen::Workload(observation(1, true));
    let asked = rollout.asked();
    let plan = asked.plan.as_ref().map_err(Vec::as_slice);
    let decision = decide(at(2), plan, &seen, &asked.memo, &asked.intents);
    let report = rollout.report(at(2), &seen, &decision, Circumstances::default());
    assert!(report.events.iter().any(|event| event.reason == "StatusRepaired"));
    rollout.status = Some(report.status);
    assert!(rollout.asked().memo.run.is_some(), "the run is found again from what is seen");
}

/// Some value that may stand anywhere in a memo.
fn anything() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a-z0-9:-]{0,12}".prop_map(Into::into),
        Just(serde_json::json!([])),
        Just(serde_json::json!({"is": "advancing", "stage": 99, "part": {"does": "expose"}})),
    ]
}

/// Every place in a value, as a pointer.
fn places(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    if let serde_json::Value::Object(fields) = value {
        for (key, field) in fields {
            places(field, &format!("{path}/{key}"), found);
        }
    }
}

proptest! {
    #[test]
    fn whatever_stands_in_the_memo_a_decision_is_made_and_the_next_status_can_be_read(
        edits in prop::collection::vec((any::<prop::sample::Index>(), anything()), 1..4),
    ) {
        let mut rollout = under_way();
        for (place, value) in edits {
            let memo = memo_of(&mut rollout);
            let mut found = Vec::new();
            places(memo, "", &mut found);
            *memo.pointer_mut(&found[place.index(found.len())]).unwrap() = value;
        }
        if rollout.asked().refusal.is_none() {
            for second in 2..6 {
                look(&mut rollout, at(second), &observation(1, true));
            }
            prop_assert!(rollout.asked().refusal.is_none());
        }
    }
}
