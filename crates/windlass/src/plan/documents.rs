//! The examples of the documents on analyses can be planned as they stand there: their fields exist, conditions compile,
//! providers take their settings, and templates go together with the rollouts that use them.

use std::collections::BTreeSet;

use windlass_analysis::arguments::named;
use windlass_analysis::compose::prepare;

use super::{mistakes_words, offline};
use crate::files::{self, Manifests, Source};

const ANALYSIS: &str = include_str!("../../../../docs/analysis.md");
const PROVIDERS: &str = include_str!("../../../../docs/providers.md");

/// What these arguments are is not known before: a text that stands for them would be no certificate.
const SECRETS: [&str; 2] = ["ca", "token"];

const ROLLOUT: &str = "apiVersion: argoproj.io/v1alpha1
kind: RolloutPlugin
metadata: {name: db}
spec:
  workloadRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
  plugin: {name: statefulset}
";

/// The fenced blocks of this kind.
fn blocks(document: &'static str, tag: &str) -> Vec<&'static str> {
    let fenced = document.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix(tag)?.strip_prefix('\n')).collect()
}

/// What a reader writes into this file.
fn written(document: &'static str, file: &str) -> &'static str {
    let (_, rest) = document.split_once(&format!("cat > {file} <<'EOF'\n")).expect("the document writes it");
    rest.split_once("EOF\n").expect("and ends it").0
}

fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    text.lines().flat_map(|line| [&indent, line, "\n"]).collect()
}

fn manifests(example: &str, text: String) -> Manifests {
    let source = Source { name: "example.yaml".to_owned(), text };
    files::read(&[source]).unwrap_or_else(|mistakes| panic!("{example}\n{}", mistakes_words(&mistakes)))
}

fn assert_planned(example: &str, text: String) {
    let reports = offline::reports(&manifests(example, text), "default", None);
    let reports = reports.unwrap_or_else(|error| panic!("{example}\n{error}"));
    assert_eq!(reports.len(), 1, "{example}");
    let wrong: Vec<&String> = reports[0].wrong.iter().map(|problem| &problem.message).collect();
    assert!(wrong.is_empty(), "{example}\n{wrong:#?}");
    let analyses = reports[0].plan.as_ref().map(|plan| plan.analyses.as_slice()).unwrap_or_default();
    let known = analyses.iter().all(|analysis| analysis.is_known() && !analysis.metrics.is_empty());
    assert!(known && !analyses.is_empty(), "{example}");
}

/// The set and the template of docs/analysis.md, with a rollout that has this below `spec`.
fn of_the_document(strategy: &str) -> String {
    let (others, _) = written(ANALYSIS, "db.yaml").rsplit_once("---\n").expect("several objects");
    format!("{others}---\n{ROLLOUT}{}", indented(strategy, 2))
}

/// These metrics in a template, with whatever argument they name, beside the steps of a rollout.
fn of_metrics(metrics: &str) -> String {
    let arguments: BTreeSet<&str> = named(metrics).collect();
    let given = arguments.iter().map(|name| {
        let secret = "valueFrom: {secretKeyRef: {name: s, key: k}}";
        let value = if SECRETS.contains(name) { secret } else { "value: db" };
        format!("{{name: {name}, {value}}}")
    });
    let given = given.collect::<Vec<_>>().join(", ");
    let declared = arguments.iter().map(|name| format!("{{name: {name}}}")).collect::<Vec<_>>().join(", ");
    let rollout = of_the_document(&format!(
        "strategy:
  canary:
    analysis:
      templates: [{{templateName: example}}]
      args: [{given}]
    steps: [{{setWeight: 34}}]"
    ));
    format!(
        "{rollout}---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {{name: example}}
spec:
  args: [{declared}]
  metrics:
{}",
        indented(metrics, 2)
    )
}

#[test]
fn every_example_of_the_documents_can_be_planned() {
    let mut kinds = Vec::new();
    for example in blocks(ANALYSIS, "yaml").into_iter().chain(blocks(PROVIDERS, "yaml")) {
        let (kind, text) = match example.split_once([':', ' ']).map_or("", |(first, _)| first) {
            "strategy" => ("strategy", of_the_document(example)),
            "-" if example.starts_with("- analysis:") => {
                let steps = indented(&format!("- setWeight: 34\n{example}"), 4);
                ("step", of_the_document(&format!("strategy:\n  canary:\n    steps:\n{steps}")))
            }
            "-" => ("metrics", of_metrics(example)),
            "metrics" => ("metrics", of_metrics(example.split_once('\n').expect("metrics").1)),
            "provider" | "successCondition" => {
                ("metric", of_metrics(&format!("- name: example\n{}", indented(example, 2))))
            }
            // Rights, for the server.
            "apiVersion" if example.contains("rbac.authorization.k8s.io") => continue,
            _ => panic!("nobody looks at this example:\n{example}"),
        };
        assert_planned(example, text);
        kinds.push(kind);
    }
    let count = |kind| kinds.iter().filter(|it| **it == kind).count();
    assert_eq!(["strategy", "step", "metrics", "metric"].map(count), [1, 1, 5, 5], "{kinds:?}");
}

#[test]
fn every_file_that_the_document_writes_makes_sense() {
    assert_planned("db.yaml", written(ANALYSIS, "db.yaml").to_owned());
    let once = manifests("once.yaml", written(ANALYSIS, "once.yaml").to_owned());
    assert_eq!(once.runs.len(), 1);
    let unfit = prepare(&once.runs[0].object.spec).err().map(|unfit| unfit.told());
    assert_eq!(unfit, None);
}
