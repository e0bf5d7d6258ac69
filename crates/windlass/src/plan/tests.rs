//! Plans as people and programs see them, as golden files, and the files that no plan can be made from.

use anstream::adapter::strip_str;
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;
use windlass_analysis::compose::Templates;

use super::facts::{Facts, Origin};
use super::report::{Report, Subject};
use super::warnings::{Code, Level};
use super::{mistakes_words, offline, shown};
use crate::cli::PlanOutput;
use crate::files::{self, Source};
use crate::kubectl::render::WIDTH;

fn manifest(name: &str) -> Source {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manifests");
    let text = std::fs::read_to_string(format!("{folder}/{name}.yaml")).expect("the manifest is there");
    Source { name: format!("{name}.yaml"), text }
}

fn reports(source: Source) -> Vec<Report> {
    let manifests = files::read(&[source]).expect("the manifest can be read");
    offline::reports(&manifests, "default", None).expect("there is a rollout")
}

fn told(source: Source) -> String {
    match files::read(&[source]) {
        Err(mistakes) => mistakes_words(&mistakes),
        Ok(manifests) => offline::reports(&manifests, "default", None).expect_err("there is no rollout"),
    }
}

fn text(reports: &[Report]) -> String {
    let text = strip_str(&shown(reports, PlanOutput::Text, WIDTH).expect("text")).to_string();
    assert!(text.lines().all(|line| line.width() <= WIDTH), "too wide:\n{text}");
    text
}

/// In all three forms.
fn golden(name: &str, source: Source) {
    let reports = reports(source);
    insta::assert_snapshot!(format!("{name}_text"), text(&reports));
    let markdown = shown(&reports, PlanOutput::Markdown, WIDTH).expect("markdown");
    insta::assert_snapshot!(format!("{name}_markdown"), markdown);
    insta::assert_snapshot!(format!("{name}_json"), shown(&reports, PlanOutput::Json, WIDTH).expect("json"));
}

/// What the README has its readers write into web.yaml.
fn readme() -> Source {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme.split_once("cat > web.yaml <<'EOF'\n").expect("the README writes web.yaml");
    let (text, _) = rest.split_once("EOF\n").expect("and ends it");
    Source { name: "web.yaml".to_owned(), text: text.to_owned() }
}

#[test]
fn the_example_of_the_readme() {
    golden("readme", readme());
}

#[test]
fn the_manifests_of_the_seed_work_unchanged() {
    let text = include_str!("../../../../tests/cluster/tests/it/seed-003.yaml").to_owned();
    golden("seed", Source { name: "seed-003.yaml".to_owned(), text });
}

#[test]
fn pods_are_named_from_the_first_ordinal_and_their_probation_counts() {
    golden("ordinals", manifest("ordinals"));
}

#[test]
fn a_single_pod_is_no_canary() {
    golden("single", manifest("single"));
}

#[test]
fn a_set_that_replaces_on_delete_only_cannot_be_held() {
    golden("on_delete", manifest("on-delete"));
}

#[test]
fn a_partition_in_the_manifest_is_warned_of() {
    golden("partition", manifest("partition"));
}

#[test]
fn a_set_without_pods_is_parked() {
    golden("no_pods", manifest("no-pods"));
}

#[test]
fn analyses_are_shown_with_the_longest_time_they_may_take() {
    golden("analyses", manifest("analyses"));
}

#[test]
fn what_a_template_takes_from_fields_that_only_a_server_fills_in_is_no_flaw() {
    let mut source = manifest("analyses");
    let metrics = "\nspec:\n  metrics:\n";
    assert!(source.text.contains(metrics));
    let fields = ["metadata.uid", "status.phase"].map(|path| {
        let name = path.replace('.', "-");
        format!("  - {{name: {name}, valueFrom: {{fieldRef: {{fieldPath: {path}}}}}}}\n")
    });
    source.text =
        source.text.replacen(metrics, &format!("\nspec:\n  args:\n{}  metrics:\n", fields.concat()), 1);
    let forecast = text(&reports(source));
    assert!(!forecast.contains("keep one"), "{forecast}");
}

#[test]
fn a_template_that_is_elsewhere_is_warned_of() {
    golden("templates_elsewhere", manifest("templates-elsewhere"));
}

#[test]
fn an_analysis_that_makes_no_sense_is_told_with_its_line() {
    golden("wrong_analyses", manifest("wrong-analyses"));
}

#[test]
fn what_can_never_come_to_its_end_is_said() {
    golden("hopeless", manifest("hopeless"));
}

#[test]
fn every_flaw_of_a_specification_is_told_with_its_line() {
    golden("flaws", manifest("flaws"));
}

#[test]
fn a_workload_that_is_taken_already_is_refused() {
    golden("refused", manifest("refused"));
}

#[test]
fn a_workload_that_is_missing_is_named() {
    golden("missing_workload", manifest("missing-workload"));
}

#[test]
fn what_is_no_table_is_wrapped_in_narrow_terminals() {
    let text = shown(&reports(manifest("analyses")), PlanOutput::Text, 80).expect("text");
    let text = strip_str(&text).to_string();
    // Columns of a table are three blanks apart.
    let mut words = text.lines().filter(|line| !line.trim_start().contains("   "));
    assert!(words.all(|line| line.width() <= 80), "{text}");
}

#[test]
fn a_hundred_pods_are_shown_as_ranges() {
    let reports = reports(manifest("hundred"));
    insta::assert_snapshot!("hundred_text", text(&reports));
    let markdown = shown(&reports, PlanOutput::Markdown, WIDTH).expect("markdown");
    insta::assert_snapshot!("hundred_markdown", markdown);
}

#[test]
fn a_pod_is_moved_by_exactly_one_stage_as_long_as_weights_ascend() {
    for report in reports(manifest("hundred")) {
        let plan = report.plan.expect("a plan");
        let moved: Vec<_> = plan.stages.iter().flat_map(|stage| stage.to_target.clone()).collect();
        assert_eq!(moved, plan.pods);
    }
}

#[test]
fn files_that_cannot_be_used_are_told_with_line_and_what_was_expected() {
    let cases = ["bad", "unknown-fields", "no-rollout"].map(|name| told(manifest(name)));
    insta::assert_snapshot!("told", cases.join("\n\n"));
}

#[test]
fn one_rollout_of_several_can_be_asked_for() {
    let manifests = files::read(&[manifest("single"), manifest("ordinals")]).expect("manifests");
    let asked = |name| offline::reports(&manifests, "default", Some(name));
    let names =
        |reports: Vec<Report>| reports.into_iter().map(|report| report.rollout.name).collect::<Vec<_>>();
    assert_eq!(asked("store").map(names), Ok(vec!["store".to_owned()]));
    let error = asked("cart").expect_err("there is none");
    assert!(
        error.starts_with("there is no RolloutPlugin cart in the files; they have RolloutPlugin web"),
        "{error}"
    );
}

/// The rollout of the README as a cluster has it, with this set and these pods.
fn live(set: &Value, pods: &Value, status: &Value) -> Report {
    let manifests = files::read(&[readme()]).expect("manifests");
    let mut rollout = manifests.rollouts[0].object.clone();
    rollout.metadata.namespace = Some("shop".to_owned());
    rollout.status = serde_json::from_value(status.clone()).expect("a status");
    let mut written = serde_json::to_value(&manifests.sets[0].object).expect("a set");
    merge_patch(&mut written, set);
    let set: StatefulSet = serde_json::from_value(written).expect("a set");
    let pods = serde_json::from_value(pods.clone()).expect("pods");
    let (subject, workload) = (Subject::rollout(&rollout, None), Subject::workload(&rollout, None));
    let facts = Facts {
        rollout,
        set,
        budgets: Vec::new(),
        templates: Templates::new(),
        origin: Origin::Cluster { pods },
    };
    Report::on(&facts, subject, workload)
}

/// A merge patch, of objects only.
fn merge_patch(onto: &mut Value, patch: &Value) {
    match (onto, patch) {
        (Value::Object(onto), Value::Object(patch)) => {
            for (key, value) in patch {
                merge_patch(onto.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (onto, patch) => *onto = patch.clone(),
    }
}

fn pods(not_ready: &str) -> Value {
    let pod = |ordinal: u32| {
        let name = format!("web-{ordinal}");
        let ready = if name == not_ready { "False" } else { "True" };
        let conditions = json!([{"type": "Ready", "status": ready}]);
        json!({"metadata": {"name": name}, "status": {"phase": "Running", "conditions": conditions}})
    };
    (0..5).map(pod).collect()
}

#[test]
fn a_cluster_shows_what_is_in_the_way_now() {
    let partition = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 3}}}});
    let report = live(&partition, &pods("web-2"), &Value::Null);
    let messages: Vec<String> = report.warnings.into_iter().map(|warning| warning.message).collect();
    insta::assert_snapshot!("in_the_way_now", messages.join("\n"));
}

#[test]
fn a_cluster_at_rest_has_nothing_to_warn_of() {
    for partition in [0, windlass_workloads::HOLD] {
        let set = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}});
        assert_eq!(live(&set, &pods("none"), &Value::Null).warnings, []);
    }
}

/// Words, and what stands in their place.
type Replaced<'a> = &'a [(&'a str, &'a str)];

/// The codes of what is warned of when these words of the README's example are replaced.
fn codes(replaced: Replaced<'_>) -> Vec<Code> {
    let mut source = readme();
    for (before, after) in replaced {
        assert!(source.text.contains(before), "{before}");
        source.text = source.text.replace(before, after);
    }
    let reports = reports(source);
    reports.iter().flat_map(|report| report.warnings.iter().map(|warning| warning.code)).collect()
}

#[test]
fn each_warning_comes_when_it_is_true_and_not_when_it_is_nearly() {
    const GRACE: (&str, &str) =
        ("      containers:", "      terminationGracePeriodSeconds: 60\n      containers:");
    const NO_LATER_STEP: (&str, &str) = ("      - setWeight: 60\n", "");
    let deadline = |seconds: u32| format!("    name: statefulset\n    config: {{timeoutSeconds: {seconds}}}");
    let name = "    name: statefulset";
    let ready = ("  replicas: 5", "  replicas: 5\n  minReadySeconds: 700");
    let rows: [(Replaced<'_>, &[Code]); 12] = [
        (&[], &[]),
        (&[("replicas: 5", "replicas: 2")], &[Code::StepMovesNothing]),
        (
            &[("setWeight: 20", "setWeight: 100"), NO_LATER_STEP],
            &[Code::NoCanary, Code::Spec, Code::Spec, Code::StepMovesNothing],
        ),
        (&[("setWeight: 20", "setWeight: 0"), NO_LATER_STEP], &[Code::NoCanary]),
        (&[ready], &[Code::DeadlineTooShort]),
        (&[ready, (name, &deadline(701))], &[Code::DeadlineTight]),
        (&[ready, (name, &deadline(730))], &[Code::DeadlineTight]),
        (&[ready, (name, &deadline(731))], &[]),
        (&[ready, GRACE, (name, &deadline(731))], &[Code::DeadlineTight]),
        (&[(name, &deadline(599))], &[Code::DeadlineBelowPause]),
        (&[("  plugin:", "  paused: true\n  plugin:")], &[Code::Paused]),
        (
            &[(
                "  replicas: 5",
                "  replicas: 5\n  updateStrategy: {rollingUpdate: {partition: 0, maxUnavailable: 50%}}",
            )],
            &[Code::PartitionInManifest, Code::SeveralAtOnce],
        ),
    ];
    for (replaced, expected) in rows {
        assert_eq!(codes(replaced), expected, "{replaced:?}");
    }
}

/// Steps: 20, an analysis, 60, pause, 100.
#[test]
fn a_background_analysis_that_begins_with_the_last_weight_is_too_late() {
    let late = |starting: u32| {
        let mut source = manifest("checked");
        assert!(source.text.contains("startingStep: 1\n"));
        source.text = source.text.replace("startingStep: 1\n", &format!("startingStep: {starting}\n"));
        let warnings = reports(source).remove(0).warnings;
        warnings.into_iter().find(|warning| warning.code == Code::AnalysisTooLate).map(|it| it.message)
    };
    for early in 0..4 {
        assert_eq!(late(early), None, "startingStep: {early}");
    }
    let told = late(4).expect("it is told");
    assert!(told.starts_with("the background analysis begins with step 5 (setWeight 100)"), "{told}");
}

#[test]
fn a_budget_matters_when_it_leaves_no_more_than_the_rollout_takes() {
    let budget = |allows: &str| {
        let text = format!(
            "\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web}}\n\
             spec: {{{allows}, selector: {{matchLabels: {{app: web}}}}}}\n"
        );
        let mut source = readme();
        source.text += &text;
        let warning = reports(source).remove(0).warnings.pop();
        warning.map(|warning| (warning.code, warning.level))
    };
    let rows = [
        ("maxUnavailable: 0", Some(Level::Warning)),
        ("minAvailable: 100%", Some(Level::Warning)),
        // Of five pods 81 percent are, rounded up, all of them.
        ("minAvailable: 81%", Some(Level::Warning)),
        ("minAvailable: 4", Some(Level::Note)),
        ("maxUnavailable: 1%", Some(Level::Note)),
        ("maxUnavailable: 2", None),
    ];
    for (allows, level) in rows {
        assert_eq!(budget(allows), level.map(|level| (Code::DisruptionBudget, level)), "{allows}");
    }
}

#[test]
fn a_run_that_is_under_way_is_said_and_its_pods_are_not_called_ill() {
    let mut memo = serde_json::to_value(windlass_engine::Memo {
        run: Some(windlass_engine::Run::start(
            jiff::Timestamp::UNIX_EPOCH,
            windlass_engine::Revision::new("B"),
            windlass_engine::Revision::new("A"),
        )),
        ..windlass_engine::Memo::default()
    })
    .expect("a memo");
    memo["version"] = 1.into();
    let report = live(&json!({}), &pods("web-4"), &json!({"phase": "Progressing", "memo": memo}));
    let codes: Vec<Code> = report.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [Code::RunUnderWay]);
}
