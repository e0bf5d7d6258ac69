//! From documents to objects: those that Windlass knows are typed, all others are kept as they are.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use windlass_api::analysis::{AnalysisRun, AnalysisTemplate};
use windlass_api::rollout_plugin::RolloutPlugin;

use super::node::{Data, Node, Position};
use super::strict::{Wrong, strictly};
use super::{Mistake, Place, Source};
use windlass_analysis::suggest::did_you_mean;

/// Everything that was found, in the order of the files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifests {
    pub(crate) rollouts: Vec<Found<RolloutPlugin>>,
    pub(crate) sets: Vec<Found<StatefulSet>>,
    pub(crate) budgets: Vec<Found<PodDisruptionBudget>>,
    pub(crate) templates: Vec<Found<AnalysisTemplate>>,
    /// These have the same fields.
    pub(crate) cluster_templates: Vec<Found<AnalysisTemplate>>,
    pub(crate) runs: Vec<Found<AnalysisRun>>,
    pub(crate) others: Vec<Found<Other>>,
}

/// An object, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Found<T> {
    pub(crate) object: T,
    pub(crate) place: Place,
    node: Node,
}

impl<T> Found<T> {
    /// Where a path of the object leads, such as `spec.workloadRef`, or as far as it can be followed.
    pub(crate) fn place_of(&self, path: &str) -> Place {
        Place::new(&self.place.file, self.node.place(path))
    }
}

/// An object of a kind that Windlass has nothing to do with.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Manifests {
    /// What was found, in words, for whoever looked for something else.
    pub(crate) fn words(&self) -> String {
        const SHOWN: usize = 8;
        let named = |kind: &str, meta: &ObjectMeta| format!("{kind} {}", meta.name.as_deref().unwrap_or("?"));
        let all: Vec<String> = (self.rollouts.iter())
            .map(|found| named("RolloutPlugin", &found.object.metadata))
            .chain(self.sets.iter().map(|found| named("StatefulSet", &found.object.metadata)))
            .chain(self.budgets.iter().map(|found| named("PodDisruptionBudget", &found.object.metadata)))
            .chain(self.templates.iter().map(|found| named("AnalysisTemplate", &found.object.metadata)))
            .chain(
                self.cluster_templates
                    .iter()
                    .map(|found| named("ClusterAnalysisTemplate", &found.object.metadata)),
            )
            .chain(self.runs.iter().map(|found| named("AnalysisRun", &found.object.metadata)))
            .chain(self.others.iter().map(|found| {
                let Other { api_version, kind, name } = &found.object;
                format!("{kind} {name} ({api_version})")
            }))
            .collect();
        match all.len() {
            0 => "no object at all".to_owned(),
            count if count > SHOWN => {
                format!("{} and {} more", all[..SHOWN].join(", "), count - SHOWN)
            }
            _ => all.join(", "),
        }
    }
}

/// A kind that is read into its type, and the version that it is known in.
const KNOWN: [(&str, &str); 6] = [
    ("RolloutPlugin", "argoproj.io/v1alpha1"),
    ("StatefulSet", "apps/v1"),
    ("PodDisruptionBudget", "policy/v1"),
    ("AnalysisTemplate", "argoproj.io/v1alpha1"),
    ("ClusterAnalysisTemplate", "argoproj.io/v1alpha1"),
    ("AnalysisRun", "argoproj.io/v1alpha1"),
];

/// The objects of the files, or every mistake in them.
pub(crate) fn read(sources: &[Source]) -> Result<Manifests, Vec<Mistake>> {
    let mut reading = Reading::default();
    for source in sources {
        reading.file(source);
    }
    let found = &reading.found;
    let twice: Vec<Mistake> = [
        twice("RolloutPlugin", &found.rollouts),
        twice("StatefulSet", &found.sets),
        twice("PodDisruptionBudget", &found.budgets),
        twice("AnalysisTemplate", &found.templates),
        twice("ClusterAnalysisTemplate", &found.cluster_templates),
        twice("AnalysisRun", &found.runs),
    ]
    .concat();
    reading.mistakes.extend(twice);
    if reading.mistakes.is_empty() { Ok(reading.found) } else { Err(reading.mistakes) }
}

/// Objects that stand in the files more than once: which of them is meant, nobody can say.
fn twice<T: Resource<DynamicType = ()>>(kind: &str, all: &[Found<T>]) -> Vec<Mistake> {
    let mut places: BTreeMap<(Option<&str>, Option<&str>), &Place> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for Found { object, place, .. } in all {
        let meta = object.meta();
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
        if let Some(first) = places.insert((namespace, name), place) {
            let text = format!(
                "{kind} {} stands in the files twice, here and at {first}; leave one of them out",
                name.unwrap_or("without a name")
            );
            mistakes.push(Mistake { place: place.clone(), text });
        }
    }
    mistakes
}

#[derive(Default)]
struct Reading {
    found: Manifests,
    mistakes: Vec<Mistake>,
}

impl Reading {
    fn file(&mut self, source: &Source) {
        let options = serde_saphyr::options! { with_snippet: false };
        match serde_saphyr::from_multiple_with_options::<Node>(&source.text, options) {
            Ok(documents) => {
                for document in documents {
                    self.document(&source.name, document);
                }
            }
            Err(error) => {
                let at = error.location().map_or(Position { line: 1, column: 1 }, Position::from);
                let said = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
                let text = format!("cannot be read as YAML or JSON: {}", syntax_words(&said));
                self.mistake(&source.name, at, text);
            }
        }
    }

    fn document(&mut self, file: &str, node: Node) {
        if node.data == Data::Null {
            return;
        }
        let (Some(api_version), Some(kind)) = (node.text("apiVersion"), node.text("kind")) else {
            let missing = if node.text("kind").is_some() { "apiVersion" } else { "kind" };
            let text = format!(
                "this is no Kubernetes object: it has no {missing}; expected, for example, \
                 apiVersion: argoproj.io/v1alpha1 and kind: RolloutPlugin"
            );
            return self.mistake(file, node.at, text);
        };
        let known = KNOWN.iter().find(|(known, _)| *known == kind);
        match known {
            Some((kind, version)) if *version != api_version => {
                let text = format!(
                    "{kind} has the apiVersion {api_version}, which is not known; expected {version}"
                );
                self.mistake(file, node.place("apiVersion"), text);
            }
            Some(("RolloutPlugin", _)) => {
                for Wrong { at, text } in slips(&node) {
                    self.mistake(file, at, format!("RolloutPlugin: {text}"));
                }
                self.typed(file, node, |all| &mut all.rollouts);
            }
            Some(("StatefulSet", _)) => self.typed(file, node, |all| &mut all.sets),
            Some(("AnalysisTemplate", _)) => self.typed(file, node, |all| &mut all.templates),
            Some(("ClusterAnalysisTemplate", _)) => self.typed(file, node, |all| &mut all.cluster_templates),
            Some(("AnalysisRun", _)) => self.typed(file, node, |all| &mut all.runs),
            Some(_) => self.typed(file, node, |all| &mut all.budgets),
            None if is_list(kind, &node) => self.list(file, &node),
            None => self.other(file, node),
        }
    }

    fn typed<T: DeserializeOwned>(
        &mut self,
        file: &str,
        node: Node,
        room: impl FnOnce(&mut Manifests) -> &mut Vec<Found<T>>,
    ) {
        match strictly::<T>(&node) {
            Ok(object) => {
                room(&mut self.found).push(Found { object, place: Place::new(file, node.at), node });
            }
            Err(wrong) => {
                let kind = node.text("kind").unwrap_or_default();
                let name =
                    node.get("metadata").and_then(|meta| meta.text("name")).unwrap_or("without a name");
                for Wrong { at, text } in wrong {
                    self.mistake(file, at, format!("{kind} {name}: {text}"));
                }
            }
        }
    }

    fn list(&mut self, file: &str, node: &Node) {
        if let Some(Node { data: Data::List(items), .. }) = node.get("items") {
            for item in items {
                self.document(file, item.clone());
            }
        }
    }

    fn other(&mut self, file: &str, node: Node) {
        let text = |name: &str| node.text(name).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if let Some(meant) = did_you_mean(&kind, &KNOWN.map(|(kind, _)| kind)) {
            let text = format!("unknown kind {kind} ({api_version}); did you mean {meant}?");
            return self.mistake(file, node.place("kind"), text);
        }
        let name = node.get("metadata").and_then(|meta| meta.text("name")).unwrap_or_default().to_owned();
        let object = Other { api_version, kind, name };
        self.found.others.push(Found { object, place: Place::new(file, node.at), node });
    }

    fn mistake(&mut self, file: &str, at: Position, text: String) {
        self.mistakes.push(Mistake { place: Place::new(file, at), text });
    }
}

/// Where a RolloutPlugin takes any field, and those that are known there.
const FREE_FORM: [(&str, &[&str]); 3] = [
    ("spec.strategy", &["canary"]),
    ("spec.strategy.canary", &["steps", "analysis"]),
    ("spec.strategy.canary.steps[]", &["setWeight", "pause", "analysis"]),
];

/// Fields that are taken because they may be of a later version, but look like a slip of the keyboard.
fn slips(rollout: &Node) -> Vec<Wrong> {
    let mut slips = Vec::new();
    for (path, known) in FREE_FORM {
        for (place, node) in rollout.all(path) {
            let unknown = node.keys().filter(|key| !known.contains(&key.name.as_str()));
            slips.extend(unknown.filter_map(|key| {
                let meant = did_you_mean(&key.name, known)?;
                let text = format!("unknown field {} in {place}; did you mean {meant}?", key.name);
                Some(Wrong { at: key.at, text })
            }));
        }
    }
    slips
}

/// `kubectl get -o yaml` writes several objects as one list.
fn is_list(kind: &str, node: &Node) -> bool {
    kind.ends_with("List") && matches!(node.get("items"), Some(Node { data: Data::List(_), .. }))
}

/// The parser's own words, without the place: that stands in front already.
fn syntax_words(said: &str) -> String {
    let first = said.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    match first.find("line ").and_then(|start| first[start..].find(": ").map(|end| start + end + 2)) {
        Some(end) if first.starts_with("line ") => first[end..].to_owned(),
        _ => first.split(" at line ").next().unwrap_or(first).to_owned(),
    }
}
