//! Simulated runs as people and programs see them, as golden files; and what is told instead of a run.

use std::fmt::Write as _;

use anstream::adapter::strip_str;
use clap::Parser;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;
use windlass_sim::Violation;

use super::setting::Setting;
use super::story::Story;
use super::verdict::Verdict;
use super::{Simulated, simulate};
use crate::cli::{Cli, Command, SimulateArguments, SimulateOutput};
use crate::failure::Failure;
use crate::files::{self, Source};
use crate::kubectl::render::WIDTH;

const DOCUMENT: &str = include_str!("../../../../docs/simulate.md");

fn manifest(name: &str) -> Source {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manifests");
    let text = std::fs::read_to_string(format!("{folder}/{name}.yaml")).expect("the manifest is there");
    Source { name: format!("{name}.yaml"), text }
}

/// Five pods, steps 20, pause, 60, pause 10m.
fn web() -> Source {
    documented_file("web.yaml")
}

/// What the document has its readers write into a file.
fn documented_file(name: &str) -> Source {
    let opening = format!("cat > {name} <<'EOF'\n");
    let (_, rest) = DOCUMENT.split_once(&opening).expect("the document writes it");
    let (text, _) = rest.split_once("EOF\n").expect("and ends it");
    Source { name: name.to_owned(), text: text.to_owned() }
}

fn arguments(flags: &str) -> SimulateArguments {
    let line = ["windlass", "simulate", "-f", "web.yaml"].into_iter().chain(flags.split_whitespace());
    match Cli::try_parse_from(line).expect("the flags are right").command {
        Command::Simulate(arguments) => arguments,
        other => panic!("{other:?}"),
    }
}

fn tried(source: Source, flags: &str) -> Result<Simulated, Failure> {
    let manifests = files::read(&[source]).expect("the manifest can be read");
    simulate(&manifests, "default", &arguments(flags))
}

fn played(flags: &str) -> Simulated {
    tried(web(), flags).unwrap_or_else(|failure| panic!("{flags}: {failure}"))
}

fn shown(simulated: &Simulated, output: SimulateOutput) -> String {
    simulated.shown(output, WIDTH).expect("it can be shown")
}

fn text(simulated: &Simulated) -> String {
    let text = strip_str(&shown(simulated, SimulateOutput::Text)).to_string();
    for line in text.lines() {
        assert!(line.width() <= WIDTH && line.trim_end() == line, "too wide or blank at its end: {line:?}");
    }
    text
}

fn json(simulated: &Simulated) -> Value {
    serde_json::from_str(&shown(simulated, SimulateOutput::Json)).expect("it is JSON")
}

#[test]
fn a_run_that_ends_well_in_every_form() {
    let simulated = played("--image app:v2 --max-unavailable 1 --max-duration 1h");
    assert!(simulated.verdict.is_good());
    insta::assert_snapshot!("well_text", text(&simulated));
    insta::assert_snapshot!("well_json", shown(&simulated, SimulateOutput::Json));
    insta::assert_snapshot!("well_svg", shown(&simulated, SimulateOutput::Svg));
}

#[test]
fn an_abort_that_was_asked_for_ends_well_and_everything_is_back() {
    let simulated = played("--image app:v2 --abort-at stage=4");
    assert!(simulated.verdict.is_good());
    insta::assert_snapshot!("abort_text", text(&simulated));
    let end = &json(&simulated)["end"];
    assert_eq!((&end["outcome"], &end["podsOnOld"]), (&"aborted".into(), &5.into()));
}

#[test]
fn a_version_that_cannot_start_is_caught_at_its_first_pod() {
    let simulated = played("--image app:v2-crash");
    assert!(!simulated.verdict.is_good());
    insta::assert_snapshot!("bad_version_text", text(&simulated));
}

#[test]
fn a_pod_that_never_comes_back_makes_the_run_stand_still() {
    let simulated = played("--image app:v2 --fail pod=web-3:crash@6m");
    assert!(!simulated.verdict.is_good());
    assert_eq!(json(&simulated)["end"]["outcome"], "standsStill");
    insta::assert_snapshot!("stands_still_text", text(&simulated));
}

#[test]
fn a_budget_that_breaks_is_told_and_ends_badly() {
    let simulated = played("--max-unavailable 0 --max-duration 1m");
    let broken: Vec<&str> = simulated
        .verdict
        .checks
        .iter()
        .filter(|check| !check.good)
        .map(|check| check.says.as_str())
        .collect();
    assert_eq!(
        broken,
        ["at most 0 unavailable at once: there were 1, first at +00:00:00", "over within 1m: it took 15m45s"]
    );
}

/// Five pods: 20, an analysis of error-rate, 60, pause 10m, 100; and replica-lag beside them from step 2 on.
fn checked(flags: &str) -> Simulated {
    let flags = format!("--image app:v2 {flags}");
    tried(manifest("checked"), &flags).unwrap_or_else(|failure| panic!("{flags}: {failure}"))
}

#[test]
fn analyses_that_pass_let_a_run_go_on() {
    let simulated = checked("--metric error-rate=0.01 --metric replica-lag=2");
    assert!(simulated.verdict.is_good());
    insta::assert_snapshot!("checked_text", text(&simulated));
    insta::assert_snapshot!("checked_svg", shown(&simulated, SimulateOutput::Svg));
    let analyses = &json(&simulated)["analyses"];
    assert_eq!((&analyses[0]["step"], &analyses[0]["verdict"]), (&Value::Null, &"Successful".into()));
    assert_eq!((&analyses[1]["step"], &analyses[1]["verdict"]), (&2.into(), &"Successful".into()));
}

#[test]
fn the_template_of_the_document_is_judged_as_a_real_prometheus_would_have_it() {
    for (values, outcome) in [("0.01", "completed"), ("0.01,0.2@1m", "aborted")] {
        let flags = format!("--image app:v2 --metric error-rate={values}");
        let simulated = tried(documented_file("checked.yaml"), &flags).unwrap_or_else(|it| panic!("{it}"));
        let json = json(&simulated);
        assert_eq!(json["end"]["outcome"], outcome, "{values}");
        let why = json["analyses"][0]["why"].as_str().unwrap_or_default();
        assert!(outcome == "completed" || why.contains("value [0.2]"), "{why}");
    }
}

#[test]
fn whatever_a_provider_answers_with_can_be_said() {
    let condition = "successCondition: result < 10\n    provider:\n      web:";
    assert!(manifest("checked").text.contains(condition));
    let rows = [
        ("result", "true", "false@5m"),
        ("result.ok >= 99", r#"{"ok":99.5,"of":[1,2]}"#, r#"{"ok":98}@5m"#),
        (r#"result == "synced""#, r#""synced""#, r#""behind"@5m"#),
        ("all(result, # < 3)", "[1,2]", "[1,2,3]@5m"),
    ];
    for (judged, good, bad) in rows {
        let mut source = manifest("checked");
        let web = format!("successCondition: '{judged}'\n    provider:\n      web:");
        source.text = source.text.replace(condition, &web);
        for (said, outcome) in [(good.to_owned(), "completed"), (format!("{good},{bad}"), "aborted")] {
            let source = Source { name: source.name.clone(), text: source.text.clone() };
            let flags = format!("--image app:v2 --metric error-rate=0.01 --metric replica-lag={said}");
            let simulated = tried(source, &flags).unwrap_or_else(|failure| panic!("{flags}: {failure}"));
            assert_eq!(json(&simulated)["end"]["outcome"], outcome, "{judged} {said}");
        }
    }
}

#[test]
fn a_job_goes_well_or_fails_as_it_is_told() {
    let metrics = "--metric error-rate=0.01 --metric latency=0.1 --metric saturation=1 --metric restarts=0";
    for (says, verdict) in [("pass", "Successful"), ("fail", "Failed")] {
        let flags = format!("--image db:v2 {metrics} --metric backup={says}");
        let simulated = tried(manifest("analyses"), &flags).unwrap_or_else(|failure| panic!("{failure}"));
        let analyses = &json(&simulated)["analyses"];
        let last = analyses.as_array().and_then(|all| all.iter().find(|it| it["step"] == 6));
        assert_eq!(last.map(|it| &it["verdict"]), Some(&verdict.into()), "{analyses:#}");
    }
}

#[test]
fn what_only_a_server_knows_is_no_obstacle() {
    let mut source = manifest("checked");
    let argument = "\n        args:\n        - {name: uid, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}\n        startingStep: 1";
    source.text = source.text.replace("\n        startingStep: 1", argument);
    let declared = "name: lag\nspec:\n  args:\n  - name: uid\n  - {name: generation, valueFrom: {fieldRef: {fieldPath: metadata.generation}}}\n";
    source.text = source.text.replace("name: lag\nspec:\n", declared);
    assert!(source.text.contains("metadata.uid") && source.text.contains("metadata.generation"));
    let simulated = tried(source, "--image app:v2 --metric error-rate=0.01 --metric replica-lag=1");
    let simulated = simulated.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(json(&simulated)["end"]["outcome"], "completed");
}

/// The analysis of error-rate, with an argument in the name of its metric.
fn checked_of(argument: &str) -> Source {
    let mut source = manifest("checked");
    let (named, used) = ("  metrics:\n  - name: error-rate", "- templateName: errors\n");
    assert!(source.text.contains(named) && source.text.contains(used));
    let filled = "  args: [{name: service}]\n  metrics:\n  - name: errors-{{args.service}}";
    let given = format!("{used}          args: [{{name: service, {argument}}}]\n");
    source.text = source.text.replace(named, filled).replace(used, &given);
    source
}

#[test]
fn a_metric_with_an_argument_in_its_name_is_known_by_its_whole_name() {
    let rows = [
        ("value: db", "db"),
        ("valueFrom: {fieldRef: {fieldPath: metadata.namespace}}", "default"),
        ("valueFrom: {secretKeyRef: {name: s, key: k}}", "*****"),
    ];
    for (argument, value) in rows {
        for (says, outcome) in [("0.01", "completed"), ("0.9", "aborted")] {
            let flags = format!("--image app:v2 --metric errors-{value}={says} --metric replica-lag=2");
            let simulated = tried(checked_of(argument), &flags).unwrap_or_else(|it| panic!("{flags}: {it}"));
            assert_eq!(json(&simulated)["end"]["outcome"], outcome, "{flags}");
        }
    }
}

#[test]
fn a_metric_whose_name_only_a_cluster_knows_is_told_before_anything_is_played() {
    for from in ["podTemplateHashValue: Latest", "fieldRef: {fieldPath: metadata.uid}"] {
        let source = checked_of(&format!("valueFrom: {{{from}}}"));
        let told = tried(source, "--metric errors-latest=0.01 --metric replica-lag=2").err();
        let told = told.unwrap_or_else(|| panic!("{from} was played")).to_string();
        let words =
            "metric \"errors-{{args.service}}\" cannot be played: only a cluster knows its whole name";
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_metric_that_turns_bad_in_a_pause_puts_everything_back() {
    let simulated = checked("--metric error-rate=0.01 --metric replica-lag=2,90@5m");
    assert!(!simulated.verdict.is_good());
    assert_eq!(json(&simulated)["end"]["outcome"], "aborted");
    insta::assert_snapshot!("turned_bad_text", text(&simulated));
}

#[test]
fn a_metric_that_nobody_can_read_makes_the_run_stand_still_while_it_is_measured() {
    let simulated = checked("--metric error-rate=nan --metric replica-lag=2");
    assert_eq!(json(&simulated)["end"]["outcome"], "standsStill");
    insta::assert_snapshot!("unreadable_text", text(&simulated));
}

#[test]
fn a_metric_that_is_never_measured_is_given_up_in_time() {
    let mut source = manifest("checked");
    let (once, retried) = ("templates:\n          - templateName: errors", "onError: retry");
    assert!(source.text.contains(once));
    source.text = source.text.replace(once, &format!("{retried}\n          {once}"));
    let simulated = tried(source, "--metric error-rate=error --metric replica-lag=2")
        .unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(json(&simulated)["end"]["outcome"], "standsStill");
}

#[test]
fn what_cannot_be_measured_is_told_with_how_to_give_it() {
    let (mut lost, job) = (manifest("checked"), manifest("analyses"));
    lost.text = lost.text.replace("templateName: errors", "templateName: erors");
    let rows = [
        (manifest("checked"), ""),
        (manifest("checked"), "--metric error-rate=0.01"),
        (manifest("checked"), "--metric error-rate=0.01 --metric replica-lag=1 --metric latency=1"),
        (web(), "--metric error-rate=0.01"),
        (lost, "--metric error-rate=0.01 --metric replica-lag=1"),
        (manifest("checked"), "--metric error-rate=0.01 --metric replica-lag=pass"),
        (
            manifest("analyses"),
            "--metric error-rate=0 --metric latency=0 --metric saturation=0 --metric restarts=0",
        ),
        (
            job,
            "--metric error-rate=0 --metric latency=0 --metric saturation=0 --metric backup=0 --metric restarts=0",
        ),
    ];
    let mut told = String::new();
    for (source, flags) in rows {
        let name = source.name.clone();
        let failure = tried(source, flags).err().unwrap_or_else(|| panic!("{name} {flags} was played"));
        let _ = writeln!(told, "{name} {flags}\n  {}: {failure}", failure.code());
    }
    insta::assert_snapshot!("not_measured", told);
}

#[test]
fn a_rollout_that_is_paused_never_begins() {
    let mut source = web();
    source.text = source.text.replace("spec:\n  workloadRef", "spec:\n  paused: true\n  workloadRef");
    let simulated = tried(source, "").unwrap_or_else(|failure| panic!("{failure}"));
    assert!(!simulated.verdict.is_good());
    insta::assert_snapshot!("never_began_text", text(&simulated));
}

#[test]
fn the_same_input_and_seed_give_the_same_bytes() {
    for flags in ["--seed 7", "--seed 8 --fail pod=web-4:slow:2m --hold partition", "--approve-after 0s"] {
        let (one, other) = (played(flags), played(flags));
        for output in [SimulateOutput::Json, SimulateOutput::Svg, SimulateOutput::Text] {
            assert_eq!(shown(&one, output), shown(&other, output), "{flags}");
        }
    }
    assert_ne!(
        shown(&played("--seed 7"), SimulateOutput::Json),
        shown(&played("--seed 9"), SimulateOutput::Json),
        "the seed matters"
    );
}

#[test]
fn whoever_is_late_breaks_nothing() {
    for seed in 1..=5 {
        for flags in ["", "--abort-at stage=3", "--hold partition"] {
            let flags = format!("{flags} --seed {seed} --max-unavailable 1");
            let simulated = played(&flags);
            assert!(simulated.verdict.is_good(), "{flags}:\n{}", text(&simulated));
        }
    }
}

#[test]
fn every_pod_has_a_life_without_gaps() {
    let story = played("--image app:v2 --fail pod=web-0:flap@3m --abort-at stage=4").story;
    for pod in &story.pods {
        let ends = || pod.spans.iter().map(|span| span.to);
        let begins = pod.spans.iter().skip(1).map(|span| span.from);
        assert!(begins.eq(ends().take(pod.spans.len() - 1)), "{pod:?}");
        assert_eq!(ends().next_back(), Some(story.end.at), "{pod:?}");
    }
}

#[test]
fn a_hundred_pods_fit_on_the_screen_and_into_the_picture() {
    let simulated = tried(manifest("hundred"), "").unwrap_or_else(|failure| panic!("{failure}"));
    let text = text(&simulated);
    assert!(text.lines().count() < 80, "{text}");
    let picture = shown(&simulated, SimulateOutput::Svg);
    let height = picture.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
    assert!(height.and_then(|height| height.parse::<u32>().ok()).is_some_and(|height| height < 1100));
}

#[test]
fn a_run_is_told_and_drawn_in_narrow_terminals_too() {
    let simulated = checked("--metric error-rate=0.01,0.2@1m --metric replica-lag=2");
    for columns in [100, 80, 50] {
        let text = simulated.shown(SimulateOutput::Text, columns).expect("it can be shown");
        let text = strip_str(&text).to_string();
        assert!(text.lines().all(|line| line.width() <= columns), "wider than {columns}:\n{text}");
    }
}

#[test]
fn a_picture_takes_nothing_from_elsewhere_and_its_words_are_escaped() {
    let mut source = web();
    source.text = source.text.replace("name: web\n", "name: web\n  labels: {a: b}\n");
    let simulated = tried(source, "--image app=a<b>&c").unwrap_or_else(|failure| panic!("{failure}"));
    let picture = shown(&simulated, SimulateOutput::Svg);
    assert!(picture.contains("a&lt;b&gt;&amp;c") && !picture.contains("a<b>"));
    for word in ["<script", "@font-face", "<image", "href", "<style"] {
        assert!(!picture.contains(word), "{word}");
    }
}

#[test]
fn what_cannot_be_played_is_told_with_what_was_expected() {
    let rows = [
        (web(), "--image sidecar=x:v2"),
        (web(), "--image app:v1"),
        (web(), "--fail pod=web-9:crash"),
        (web(), "--abort-at stage=9"),
        (web(), "api"),
        (manifest("several"), ""),
        (manifest("several"), "one --image app:v2"),
        (manifest("missing-workload"), ""),
        (manifest("flaws"), ""),
        (manifest("on-delete"), ""),
        (manifest("no-rollout"), ""),
    ];
    let mut told = String::new();
    for (source, flags) in rows {
        let name = source.name.clone();
        let failure = tried(source, flags).err().unwrap_or_else(|| panic!("{name} {flags} was played"));
        let _ = writeln!(told, "{name} {flags}\n  {}: {failure}", failure.code());
    }
    insta::assert_snapshot!("told", told);
}

/// The flags of the command in the document that ends so.
fn documented(end: &str) -> String {
    let line = DOCUMENT.lines().find(|line| line.starts_with("windlass simulate") && line.ends_with(end));
    let line = line.unwrap_or_else(|| panic!("the document has no command that ends with {end}"));
    let (_, flags) = line.split_once("-f web.yaml").expect("of web.yaml");
    flags.to_owned()
}

#[test]
fn the_picture_of_the_document_is_what_its_command_draws() {
    let flags = documented("-o svg > simulate.svg").replace("> simulate.svg", "");
    let drawn = shown(&played(&flags), SimulateOutput::Svg);
    let kept = include_str!("../../../../docs/simulate.svg");
    assert!(
        drawn == kept,
        "run the command of docs/simulate.md again, and keep its picture as docs/simulate.svg"
    );
}

#[test]
fn what_the_document_shows_is_what_is_printed() {
    let printed = text(&played(&documented("--image app:v2")));
    assert!(
        DOCUMENT.contains(&format!("```text\n{printed}```")),
        "docs/simulate.md shows something else:\n{printed}"
    );
}

#[test]
fn a_broken_invariant_is_told_and_ends_badly_whatever_it_is_called() {
    let manifests = files::read(&[web()]).expect("the manifest can be read");
    let arguments = arguments("");
    let setting =
        Setting::of(&manifests, "default", &arguments).unwrap_or_else(|failure| panic!("{failure}"));
    let mut attended =
        windlass_sim::attend(setting.start.clone(), &setting.attendance).expect("it is played");
    for rule in ["I2", "rule 99"] {
        attended.outcome.violations.push(Violation { at: attended.ended, rule, what: "broken".to_owned() });
    }
    let verdict = Verdict::on(&Story::of(&setting, &attended), &attended, &arguments);
    let broken: Vec<&str> =
        verdict.checks.iter().filter(|check| !check.good).map(|check| check.says.as_str()).collect();
    assert!(!verdict.is_good());
    assert_eq!(
        broken,
        [
            "no pod is deleted twice, or without having been looked at: not at +00:15:45, broken",
            "rule 99 holds: not at +00:15:45, broken"
        ]
    );
}
