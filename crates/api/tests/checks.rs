//! Checks as the `RolloutPlugin` dialect has them: names, labels and owner of runs, and what the status says of them.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use jiff::Timestamp;
use serde_json::json;
use windlass_api::analysis::{AnalysisRun, AnalysisRunSpec, AnalysisRunStatus, Phase};
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_api::{Front, Kept, to_yaml};
use windlass_engine::{
    Blame, CheckId, CheckName, CheckPlace, CheckState, Journey, OnError, Part, Revision, Run, Verdict,
};

fn rollout() -> RolloutPlugin {
    let mut rollout: RolloutPlugin = serde_json::from_value(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutPlugin",
        "metadata": {"name": "web", "namespace": "data", "uid": "7"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "plugin": {"name": "statefulset"},
            "strategy": {"canary": {
                "analysis": {"templates": [{"templateName": "lag", "clusterScope": true}], "startingStep": 1, "onError": "retry"},
                "steps": [
                    {"setWeight": 20},
                    {"analysis": {
                        "templates": [{"templateName": "errors"}],
                        "onError": "pause",
                        "analysisRunMetadata": {"labels": {"team": "data"}, "annotations": {"note": "by hand"}},
                    }},
                ],
            }},
        },
    }))
    .unwrap();
    rollout.spec.analysis = None;
    rollout
}

fn id(place: CheckPlace) -> CheckId {
    CheckId { run: Timestamp::from_nanosecond(1_800_000_000_123_456_789).unwrap(), place, attempt: 2 }
}

fn begin(place: CheckPlace, taken: &[&str]) -> AnalysisRun {
    let target = Revision::new("web-6b8");
    rollout().begin(id(place), &target, AnalysisRunSpec::default(), &|name| taken.contains(&name))
}

#[test]
fn policies_and_the_starting_step_are_read_into_the_plan() {
    let plan = rollout().asked().plan.unwrap();
    assert_eq!(plan.stages[1].check.unwrap().on_error, OnError::Pause);
    let background = plan.background.unwrap();
    assert_eq!((background.check.on_error, background.from), (OnError::Retry, 1));
}

#[test]
fn what_does_not_make_sense_about_an_analysis_is_told_with_its_field() {
    let rows = [
        (json!({"templates": []}), "steps[1]: analysis.templates: name at least one"),
        (
            json!({"templates": [{"templateName": "a"}], "onError": "hope"}),
            "analysis.onError: \"hope\" is none of abort, pause and retry",
        ),
        (
            json!({"templates": [{"templateName": "a"}], "startingStep": 1}),
            "startingStep is for an analysis beside the steps",
        ),
    ];
    for (analysis, told) in rows {
        let mut rollout = rollout();
        rollout.spec.strategy.canary.as_mut().unwrap().steps[1].analysis =
            Some(serde_json::from_value(analysis).unwrap());
        let flaws = rollout.asked().plan.unwrap_err();
        assert!(flaws.iter().any(|flaw| flaw.text.contains(told)), "{told}: {flaws:?}");
    }
    let mut long = rollout();
    long.metadata.name = Some("w".repeat(64));
    let flaws = long.asked().plan.unwrap_err();
    assert!(flaws.iter().any(|flaw| flaw.text.contains("metadata.name has 64 characters")), "{flaws:?}");
    let mut rollout = rollout();
    rollout.spec.strategy.canary.as_mut().unwrap().analysis.as_mut().unwrap().starting_step = Some(2);
    let flaws = rollout.asked().plan.unwrap_err();
    assert!(flaws[0].text.contains("startingStep must be 0 to 1"), "{flaws:?}");
}

#[test]
fn labels_and_annotations_that_the_server_would_refuse_are_told() {
    let told = |metadata: serde_json::Value| {
        let mut rollout = rollout();
        rollout.spec.strategy.canary.as_mut().unwrap().steps[1]
            .analysis
            .as_mut()
            .unwrap()
            .analysis_run_metadata = Some(serde_json::from_value(metadata).unwrap());
        rollout.asked().plan.err().map(|flaws| flaws[0].text.clone()).unwrap_or_default()
    };
    let long = "x".repeat(64);
    let domain = format!("{}/team", "x".repeat(254));
    let rows = [
        (json!({"labels": {"team": "a b"}}), "labels.team: \"a b\" is no value of a label"),
        (json!({"labels": {"team": "-a"}}), "labels.team: \"-a\" is no value of a label"),
        (json!({"labels": {"team": &long}}), "is no value of a label"),
        (json!({"labels": {"the team": "a"}}), "labels: \"the team\" is no name of a label"),
        (json!({"labels": {"": "a"}}), "labels: \"\" is no name of a label"),
        (json!({"labels": {&long: "a"}}), "is no name of a label"),
        (json!({"labels": {"Example.com/team": "a"}}), "is no name of a label"),
        (json!({"labels": {"example..com/team": "a"}}), "is no name of a label"),
        (json!({"labels": {"a/b/c": "a"}}), "is no name of a label"),
        (json!({"labels": {&domain: "a"}}), "is no name of a label"),
        (json!({"annotations": {"a note": ""}}), "annotations: \"a note\" is no name of an annotation"),
        (json!({"annotations": {"note": "x".repeat(256 * 1024)}}), "annotations: they come to 262148 bytes"),
    ];
    for (metadata, wanted) in rows {
        let told = told(metadata);
        assert!(told.contains("steps[1]: analysis.analysisRunMetadata.") && told.contains(wanted), "{told}");
    }
    let fine = json!({
        "labels": {"team": "", "a": "B_1.c-d", "example.com/team": "x".repeat(63)},
        "annotations": {"Example.com/Note": "a b\n"},
    });
    assert_eq!(told(fine), "");
}

#[test]
fn a_run_is_named_labelled_and_owned_as_upstream_does_it() {
    insta::assert_snapshot!("step_run", to_yaml(&begin(CheckPlace::Stage(1), &[])).unwrap());
    insta::assert_snapshot!(
        "background_run",
        to_yaml(&begin(CheckPlace::Background, &["web-web-6b8", "web-web-6b8.1"])).unwrap()
    );
}

#[test]
fn a_run_is_known_again_as_the_check_that_it_is() {
    for place in [CheckPlace::Stage(1), CheckPlace::Background] {
        let mut run = begin(place, &[]);
        let check = rollout().check(&run).unwrap();
        assert_eq!((check.id, check.state, check.ending), (id(place), CheckState::Running, false));
        run.spec.terminate = true;
        let at = Timestamp::from_second(1_800_000_100).unwrap();
        run.status = Some(AnalysisRunStatus {
            phase: Phase::Failed,
            message: "Metric \"errors\" assessed Failed".to_owned(),
            completed_at: Some(at),
            ..AnalysisRunStatus::default()
        });
        let check = rollout().check(&run).unwrap();
        let why = "Metric \"errors\" assessed Failed".to_owned();
        assert_eq!(check.state, CheckState::Over { verdict: Verdict::Failed, why, at });
        assert!(check.ending);
        run.metadata.owner_references.as_mut().unwrap()[0].uid = "8".to_owned();
        assert_eq!(rollout().check(&run), None, "another rollout's");
    }
}

#[test]
fn the_oldest_finished_runs_beyond_the_limits_go_but_none_that_counts() {
    let over = |second: i64, attempt: u32, phase: Phase| {
        let mut run = begin(CheckPlace::Stage(1), &[]);
        run.metadata.name = Some(format!("run-{second}"));
        let time = Timestamp::from_second(1_800_000_000 + second).unwrap();
        run.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time));
        let check = run.metadata.annotations.as_mut().unwrap().get_mut("windlass.sh/check").unwrap();
        *check = check.replace("/2", &format!("/{attempt}"));
        run.status = Some(AnalysisRunStatus { phase, ..AnalysisRunStatus::default() });
        run
    };
    let runs = [
        over(1, 1, Phase::Successful),
        over(2, 3, Phase::Successful),
        over(3, 4, Phase::Failed),
        over(4, 5, Phase::Running),
    ];
    let kept = Kept { successful: 1, unsuccessful: 1 };
    let name = |present: Option<&Run>, kept| {
        rollout().surplus(runs.iter(), present, kept).and_then(|run| run.metadata.name.clone())
    };
    let no_bad_one = Kept { successful: 2, unsuccessful: 0 };
    assert_eq!(name(None, kept).as_deref(), Some("run-1"));
    assert_eq!(name(None, no_bad_one).as_deref(), Some("run-3"));
    let since = id(CheckPlace::Stage(1)).run;
    let mut present = Run::start(since, Revision::new("web-b"), Revision::new("web-a"));
    present.journey = Journey::Advancing { stage: 1, part: Part::Check { attempt: 1, since } };
    let listened = name(Some(&present), Kept { successful: 0, unsuccessful: 1 });
    assert_eq!(listened.as_deref(), Some("run-2"), "nobody listens to it");
    let (place, verdict) = (CheckPlace::Stage(1), Verdict::Failed);
    present.blame = Some(Blame { place, name: CheckName::new("run-3"), verdict, why: String::new() });
    assert_eq!(name(Some(&present), no_bad_one), None, "the status names it");
}
