//! What is to be measured: templates put together, arguments given, metrics chosen, everything checked. Pure. What is
//! wrong is told with the line that it stands in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Resource;
use windlass_analysis::compose::{ambiguous, filled, misfits, misjudging};
use windlass_analysis::gauge::{About, Filled, Question, RunIdentity, Subject as Workload};
use windlass_analysis::providers::{self, Settings};
use windlass_analysis::redact::Redactor;
use windlass_analysis::rules::{self, Conditions, Flaw};
use windlass_analysis::suggest::did_you_mean;
use windlass_analysis::templates::{TemplateError, flatten};
use windlass_api::analysis::{AnalysisRunSpec, AnalysisTemplateSpec, Argument, Metric, TemplateReference};

use super::secrets::Secrets;
use crate::cli::AnalyzeArguments;
use crate::failure::Failure;
use crate::files::{Found, Manifests, Place};

/// A template or a run, and its metrics.
pub(crate) struct Subject {
    pub(crate) kind: &'static str,
    /// None for what is in none, or does not say it.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) metrics: Vec<Measurable>,
    pub(crate) redactor: Redactor,
}

/// A metric that is ready to be asked.
pub(crate) struct Measurable {
    pub(crate) name: String,
    pub(crate) dry_run: bool,
    pub(crate) conditions: Arc<Conditions>,
    pub(crate) asked: Asked,
}

/// How a metric is asked.
pub(crate) enum Asked {
    Once(Settings),
    PerPod(BTreeMap<String, Settings>),
}

/// A document that has metrics.
struct Document<'a> {
    kind: &'static str,
    namespace: Option<String>,
    name: String,
    spec: AnalysisTemplateSpec,
    place: Place,
    place_of: Box<dyn Fn(&str) -> Place + 'a>,
    /// How others refer to it; nobody refers to a run.
    reference: Option<TemplateReference>,
}

impl<'a> Document<'a> {
    fn new<T: Resource>(
        kind: &'static str,
        spec: AnalysisTemplateSpec,
        found: &'a Found<T>,
        cluster_scope: Option<bool>,
    ) -> Self {
        let name = found.object.meta().name.clone().unwrap_or_default();
        let reference = cluster_scope
            .map(|cluster_scope| TemplateReference { template_name: name.clone(), cluster_scope });
        let namespace = found.object.meta().namespace.clone().filter(|_| cluster_scope != Some(true));
        let place_of = Box::new(|path: &str| found.place_of(path));
        Self { kind, namespace, name, spec, place: found.place.clone(), place_of, reference }
    }

    fn is_of_the_cluster(&self) -> bool {
        self.reference.as_ref().is_some_and(|reference| reference.cluster_scope)
    }
}

/// Everything that is to be measured, of one namespace if one is named, or what is wrong with it.
pub(crate) fn subjects(
    manifests: &Manifests,
    arguments: &AnalyzeArguments,
    namespace: Option<&str>,
    secrets: &Secrets,
) -> Result<Vec<Subject>, Failure> {
    let documents = documents(manifests);
    if documents.is_empty() {
        return Err(Failure::Manifests(format!(
            "there is nothing to measure in the files, which have {}; expected a document with apiVersion: \
             argoproj.io/v1alpha1 and kind: AnalysisTemplate, ClusterAnalysisTemplate or AnalysisRun",
            manifests.words()
        )));
    }
    let documents = match namespace {
        Some(namespace) => of_namespace(documents, namespace)?,
        None => documents,
    };
    let making = Making { documents: &documents, arguments, secrets };
    let specs = making.specs()?;
    let declared = specs.iter().flat_map(|(_, spec)| &spec.args).map(|it| it.name.as_str());
    known(
        "--arg",
        "such argument",
        arguments.arguments.iter().map(|(name, _)| name),
        &declared.collect::<Vec<_>>(),
    )?;
    let choices = specs.iter().map(|(document, spec)| making.choosing(document, spec));
    let choices = choices.collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = choices.iter().flat_map(Choosing::names).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    known("--metric", "such metric", &arguments.metrics, &names)?;
    let is_per_pod = specs.iter().flat_map(|(_, spec)| &spec.metrics).any(|it| it.for_each_pod.is_some());
    if let (Some(pod), false) = (arguments.pods.first(), is_per_pod) {
        return Err(Failure::CommandLine(format!(
            "--pod {pod}: no metric in the files has forEachPod, so none is asked for a pod"
        )));
    }
    let (mut subjects, mut wrong) = (Vec::new(), Vec::new());
    for choosing in choices {
        match choosing.subject()? {
            // Others have the metrics that were chosen.
            Ok(subject) if subject.metrics.is_empty() => {}
            Ok(subject) => subjects.push(subject),
            Err(mut flaws) => wrong.append(&mut flaws),
        }
    }
    if !wrong.is_empty() {
        return Err(Failure::Manifests(wrong.join("\n       ")));
    }
    // Of metrics that were not chosen nobody knows which Secret they read.
    if arguments.metrics.is_empty() {
        let read = secrets_read(&specs, &subjects);
        let read: Vec<&str> = read.iter().map(String::as_str).collect();
        known("--secret", "need of this Secret", arguments.secrets.iter().map(|it| &it.name), &read)?;
    }
    Ok(subjects)
}

/// The names of the Secrets that arguments and providers read.
fn secrets_read(specs: &[(&Document<'_>, AnalysisTemplateSpec)], subjects: &[Subject]) -> BTreeSet<String> {
    let arguments = specs.iter().flat_map(|(_, spec)| &spec.args);
    let keys = arguments.filter_map(|it| Some(it.value_from.as_ref()?.secret_key_ref.as_ref()?.name.clone()));
    let settings =
        subjects.iter().flat_map(|subject| &subject.metrics).flat_map(|metric| match &metric.asked {
            Asked::Once(settings) => vec![settings],
            Asked::PerPod(pods) => pods.values().collect(),
        });
    let whole = settings.filter_map(|settings| match settings {
        Settings::Http(provider) => Some(provider.secret(&BTreeMap::new())?.name),
        Settings::Job(_) | Settings::Kubernetes(_) => None,
    });
    keys.chain(whole).collect()
}

/// Those of one namespace, those that do not say where they are, and those of the cluster.
fn of_namespace<'a>(documents: Vec<Document<'a>>, namespace: &str) -> Result<Vec<Document<'a>>, Failure> {
    let all: BTreeSet<String> = documents.iter().filter_map(|it| it.namespace.clone()).collect();
    let is_there = |it: &Document<'_>| it.namespace.as_deref().is_none_or(|own| own == namespace);
    let mut there: Vec<Document<'a>> = documents.into_iter().filter(is_there).collect();
    if there.is_empty() {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        known("--namespace", "such namespace", [&namespace.to_owned()], &all)?;
    }
    // `kubectl apply --namespace` would put them there.
    for document in there.iter_mut().filter(|it| !it.is_of_the_cluster()) {
        document.namespace = Some(namespace.to_owned());
    }
    Ok(there)
}

fn documents(manifests: &Manifests) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    for found in &manifests.templates {
        documents.push(Document::new("AnalysisTemplate", found.object.spec.clone(), found, Some(false)));
    }
    for found in &manifests.cluster_templates {
        documents.push(Document::new(
            "ClusterAnalysisTemplate",
            found.object.spec.clone(),
            found,
            Some(true),
        ));
    }
    for found in &manifests.runs {
        let run = &found.object.spec;
        let spec = AnalysisTemplateSpec {
            metrics: run.metrics.clone(),
            args: run.args.clone(),
            dry_run: run.dry_run.clone(),
            measurement_retention: run.measurement_retention.clone(),
            ..AnalysisTemplateSpec::default()
        };
        documents.push(Document::new("AnalysisRun", spec, found, None));
    }
    documents
}

/// What is wrong, each with its place.
type Wrong = Vec<String>;

struct Making<'a> {
    documents: &'a [Document<'a>],
    arguments: &'a AnalyzeArguments,
    secrets: &'a Secrets,
}

impl<'a> Making<'a> {
    /// Each document that is measured by itself, with all that it refers to.
    fn specs(&self) -> Result<Vec<(&'a Document<'a>, AnalysisTemplateSpec)>, Failure> {
        let given = self.arguments.arguments.iter().map(|(name, _)| name.as_str()).collect();
        let (mut specs, mut wrong) = (Vec::new(), Wrong::new());
        // Each template of a circle finds it.
        let mut circles = BTreeSet::new();
        let members = |circle: &[TemplateReference]| circle.iter().cloned().collect::<BTreeSet<_>>();
        for document in self.documents {
            let Some(reference) = &document.reference else {
                specs.push((document, document.spec.clone()));
                continue;
            };
            let known: BTreeMap<TemplateReference, AnalysisTemplateSpec> = self
                .beside(document)
                .filter_map(|it| Some((it.reference.clone()?, it.spec.clone())))
                .collect();
            match flatten(std::slice::from_ref(reference), &known, &given) {
                // It is measured as part of another one.
                Ok(_) if self.is_referred_to(document, reference) => {}
                Ok(spec) => specs.push((document, spec)),
                Err(TemplateError::Circle(circle)) if !circles.insert(members(&circle)) => {}
                Err(error) => wrong.push(format!("{}: {error}", self.place_of_error(document, &error))),
            }
        }
        wrong.dedup_by(|one, other| one == other);
        if wrong.is_empty() { Ok(specs) } else { Err(Failure::Manifests(wrong.join("\n       "))) }
    }

    /// The documents that one can refer to, itself among them: those of its namespace, and those of the cluster. A template
    /// of the cluster means those of whoever uses it, which is known only where the files have one namespace.
    fn beside(&self, document: &Document<'_>) -> impl Iterator<Item = &'a Document<'a>> {
        let own = (!document.is_of_the_cluster()).then(|| document.namespace.clone());
        let namespaced = self.documents.iter().filter(|it| !it.is_of_the_cluster());
        let all: BTreeSet<Option<String>> = namespaced.map(|it| it.namespace.clone()).collect();
        let only = (all.len() == 1).then(|| all.into_iter().next()).flatten();
        let namespace = own.or(only);
        self.documents
            .iter()
            .filter(move |it| it.is_of_the_cluster() || Some(&it.namespace) == namespace.as_ref())
    }

    fn is_referred_to(&self, document: &Document<'_>, reference: &TemplateReference) -> bool {
        let mut referring = self.documents.iter().filter(|it| it.spec.templates.contains(reference));
        referring.any(|it| self.beside(it).any(|it| std::ptr::eq(it, document)))
    }

    fn place_of_error(&self, document: &Document<'_>, error: &TemplateError) -> Place {
        let of = |reference: &TemplateReference| {
            let found = self.beside(document).find(|it| it.reference.as_ref() == Some(reference));
            found.map(|found| (found.place_of)("spec.templates"))
        };
        let place = match error {
            TemplateError::Missing(_, by) => by.as_ref().and_then(of),
            TemplateError::Circle(circle) => circle.first().and_then(of),
            TemplateError::TooDeep(last) => of(last),
            TemplateError::Unreadable(..)
            | TemplateError::SameMetric(_)
            | TemplateError::TwoSources { .. } => None,
        };
        place.unwrap_or_else(|| document.place.clone())
    }

    /// A document with its arguments.
    fn choosing(
        &'a self,
        document: &'a Document<'a>,
        spec: &'a AnalysisTemplateSpec,
    ) -> Result<Choosing<'a>, Failure> {
        let (arguments, hidden) = self.given(document, spec)?;
        let redactor = Redactor::new(hidden.iter().map(String::as_str).chain(self.secrets.values()));
        Ok(Choosing { making: self, document, spec, arguments, redactor })
    }

    /// The arguments with their values, and those values that are secrets.
    fn given(
        &self,
        document: &Document<'_>,
        spec: &AnalysisTemplateSpec,
    ) -> Result<(Vec<Argument>, Vec<String>), Failure> {
        let (mut arguments, mut hidden, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for declared in &spec.args {
            let given = self.arguments.arguments.iter().rev().find(|(name, _)| *name == declared.name);
            let secret = declared.value_from.as_ref().and_then(|from| from.secret_key_ref.as_ref());
            let found = secret.and_then(|it| self.secrets.key(&it.name, &it.key).map(ToOwned::to_owned));
            let value = given.map(|(_, value)| value.clone()).or(found).or_else(|| declared.value.clone());
            match (&value, secret) {
                (Some(value), Some(_)) => hidden.push(value.clone()),
                (Some(_), None) => {}
                (None, Some(secret)) => missing.push(format!(
                    "argument {} comes from key {} of the Secret {}: give it with --secret {}/{}=@FILE, or with --arg {}=VALUE",
                    declared.name, secret.key, secret.name, secret.name, secret.key, declared.name
                )),
                (None, None) => {
                    missing.push(format!("argument {} has no value: give it with --arg {0}=VALUE", declared.name));
                }
            }
            arguments.push(Argument { name: declared.name.clone(), value, value_from: None });
        }
        if missing.is_empty() {
            return Ok((arguments, hidden));
        }
        let place = (document.place_of)("spec.args");
        let told: Vec<String> = missing.iter().map(|it| format!("{place}: {it}")).collect();
        Err(Failure::CommandLine(told.join("\n       ")))
    }
}

/// What the command line names, but nobody has, is a slip.
fn known<'a>(
    flag: &str,
    what: &str,
    named: impl IntoIterator<Item = &'a String>,
    known: &[&str],
) -> Result<(), Failure> {
    let Some(name) = named.into_iter().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let hint = match did_you_mean(name, known) {
        Some(meant) => format!("; did you mean {meant}?"),
        None if known.is_empty() => "; there is none".to_owned(),
        None if known.len() == 1 => format!("; there is {}", known.join(", ")),
        None => format!("; there are {}", known.join(", ")),
    };
    Err(Failure::CommandLine(format!("{flag} {name}: the files have no {what}{hint}")))
}

/// Chooses and checks the metrics of one document.
struct Choosing<'a> {
    making: &'a Making<'a>,
    document: &'a Document<'a>,
    spec: &'a AnalysisTemplateSpec,
    arguments: Vec<Argument>,
    redactor: Redactor,
}

impl Choosing<'_> {
    /// The metrics of the document; inside, what is wrong with them.
    fn subject(self) -> Result<Result<Subject, Wrong>, Failure> {
        let metrics = self.metrics()?;
        Ok(metrics.map(|metrics| Subject {
            kind: self.document.kind,
            namespace: self.document.namespace.clone(),
            name: self.document.name.clone(),
            place: self.document.place.clone(),
            metrics,
            redactor: self.redactor,
        }))
    }

    /// The names of its metrics, as a cluster knows them and as they are printed: with their arguments, but for secrets.
    fn names(&self) -> Vec<String> {
        let shown = self.arguments.iter().zip(&self.spec.args).map(|(given, declared)| {
            let secret = declared.value_from.as_ref().is_some_and(|from| from.secret_key_ref.is_some());
            if secret { Argument { value: None, ..declared.clone() } } else { given.clone() }
        });
        let spec = AnalysisRunSpec {
            metrics: self.spec.metrics.clone(),
            args: shown.collect(),
            ..AnalysisRunSpec::default()
        };
        // Where an argument does not fit that is told of the metric, as it was written.
        let metrics = filled(&spec).unwrap_or(spec.metrics);
        metrics.iter().map(|metric| self.redactor.text(&metric.name)).collect()
    }

    fn metrics(&self) -> Result<Result<Vec<Measurable>, Wrong>, Failure> {
        let (mut filled, mut wrong) = (Vec::new(), Wrong::new());
        let values: BTreeMap<String, String> =
            self.arguments.iter().filter_map(|it| Some((it.name.clone(), it.value.clone()?))).collect();
        for (index, (metric, name)) in self.spec.metrics.iter().zip(self.names()).enumerate() {
            match windlass_analysis::arguments::fill(metric, &values) {
                Ok(metric) => filled.push(Metric { name, ..metric }),
                Err(error) => wrong.push(self.told(&format!("spec.metrics[{index}]"), &error.to_string())),
            }
        }
        let not_given = self.not_given();
        let flaws = misfits(&self.spec.metrics, &not_given).into_iter().chain(ambiguous(&not_given));
        wrong.extend(flaws.map(|flaw| self.flaw(&flaw)));
        if !wrong.is_empty() {
            return Ok(Err(wrong));
        }
        let rules = match rules::read(&filled, &self.spec.dry_run, &self.spec.measurement_retention) {
            Ok(rules) => rules,
            Err(flaws) => return Ok(Err(flaws.iter().map(|flaw| self.flaw(flaw)).collect())),
        };
        wrong.extend(misjudging(&filled, &rules).iter().map(|flaw| self.flaw(flaw)));
        let chosen = &self.making.arguments.metrics;
        let mut metrics = Vec::new();
        for (index, (metric, rules)) in self.spec.metrics.iter().zip(rules).enumerate() {
            if !chosen.is_empty() && !chosen.contains(&rules.name) {
                continue;
            }
            match self.asked(index, metric)? {
                Ok(asked) => metrics.push(Measurable {
                    name: rules.name,
                    dry_run: rules.dry_run,
                    conditions: rules.conditions,
                    asked,
                }),
                Err(flaws) => wrong.extend(flaws.iter().map(|flaw| self.flaw(flaw))),
            }
        }
        Ok(if wrong.is_empty() { Ok(metrics) } else { Err(wrong) })
    }

    /// The arguments as they were declared, without those that the command line gives.
    fn not_given(&self) -> Vec<Argument> {
        let given = &self.making.arguments.arguments;
        let is_given = |it: &Argument| given.iter().any(|(name, _)| *name == it.name);
        self.spec.args.iter().filter(|it| !is_given(it)).cloned().collect()
    }

    fn asked(&self, index: usize, metric: &Metric) -> Result<Result<Asked, Vec<Flaw>>, Failure> {
        let pods = &self.making.arguments.pods;
        if metric.for_each_pod.is_some() && pods.is_empty() {
            return Err(Failure::CommandLine(format!(
                "metric {} is asked for each pod (forEachPod): name them with --pod",
                metric.name
            )));
        }
        let field = format!("spec.metrics[{index}].provider");
        let read = |metric: &Metric| providers::read(&field, &metric.provider);
        let question = Question {
            run: RunIdentity::default(),
            metric: metric.clone(),
            arguments: self.arguments.clone(),
            number: 0,
            about: About::New,
            subject: Some(Workload {
                api_version: String::new(),
                kind: String::new(),
                name: String::new(),
                target: String::new(),
                stable: String::new(),
                updated: pods.clone(),
            }),
            // It is filled in here, and judged elsewhere.
            conditions: Arc::default(),
        };
        let filled = match question.filled(&BTreeMap::new()) {
            Ok(filled) => filled,
            Err(error) => return Ok(Err(vec![Flaw { field, what: error.to_string() }])),
        };
        Ok(match filled {
            Filled::Once(metric) => read(&metric).map(Asked::Once),
            Filled::PerPod(metrics) => {
                let one = |(pod, metric): (String, Metric)| Ok((pod, read(&metric)?));
                metrics.into_iter().map(one).collect::<Result<_, _>>().map(Asked::PerPod)
            }
        })
    }

    fn flaw(&self, flaw: &Flaw) -> String {
        self.told(&flaw.field, &flaw.to_string())
    }

    /// What is wrong with a field of the whole, told with its place in the document that it comes from.
    fn told(&self, field: &str, what: &str) -> String {
        let place = self.origin(field).unwrap_or_else(|| (self.document.place_of)(field));
        format!("{place}: {}", self.redactor.text(what))
    }

    /// A metric of the whole is a metric of one of the documents, maybe under another number.
    fn origin(&self, field: &str) -> Option<Place> {
        let (number, rest) = field.strip_prefix("spec.metrics[")?.split_once(']')?;
        let metric = self.spec.metrics.get(number.parse::<usize>().ok()?)?;
        let has = |document: &Document<'_>| document.spec.metrics.iter().position(|it| it == metric);
        let own = has(self.document).map(|index| (self.document, index));
        let others = || self.making.beside(self.document).find_map(|it| Some((it, has(it)?)));
        let (document, index) = own.or_else(others)?;
        Some((document.place_of)(&format!("spec.metrics[{index}]{rest}")))
    }
}
