//! Templates become the spec of a run: those they refer to are taken in, once each, and nobody refers to himself.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::analysis::{AnalysisTemplateSpec, Argument, TemplateReference, ValueFrom};

/// How many templates may refer to each other in a row.
pub const DEPTH: usize = 50;

/// Why templates cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// One does not exist.
    #[error("{} does not exist{}", kind_and_name(.0), named_by(.1.as_ref()))]
    Missing(TemplateReference, Option<TemplateReference>),
    /// One refers to itself, through these.
    #[error("templates refer to each other in a circle: {}", .0.iter().map(|it| it.template_name.as_str()).collect::<Vec<_>>().join(" -> "))]
    Circle(Vec<TemplateReference>),
    /// Too many refer to each other in a row; the last one.
    #[error("more than {DEPTH} templates refer to each other in a row, up to {}: name it where the first one is used", kind_and_name(.0))]
    TooDeep(TemplateReference),
    /// One cannot be read.
    #[error("{} cannot be read: {}", kind_and_name(.0), .1)]
    Unreadable(TemplateReference, String),
    /// Two metrics have the same name.
    #[error("two metrics are named {0:?}: rename one of them")]
    SameMetric(String),
    /// Two templates say differently where an argument comes from. Of a Secret its name is told, not its value.
    #[error(
        "argument {name:?} comes from two sources, {one} and {other}: give it one, where the templates are used"
    )]
    TwoSources {
        /// The argument.
        name: String,
        /// One source, in words.
        one: String,
        /// The other.
        other: String,
    },
}

fn kind_and_name(template: &TemplateReference) -> String {
    let kind = if template.cluster_scope { "ClusterAnalysisTemplate" } else { "AnalysisTemplate" };
    format!("{kind} {:?}", template.template_name)
}

fn named_by(template: Option<&TemplateReference>) -> String {
    template.map(|it| format!(", but {} refers to it", kind_and_name(it))).unwrap_or_default()
}

/// Every template that these refer to, directly or not, in the order in which they are met; those that are not known are
/// among them. Says what to look up.
pub fn closure(
    wanted: &[TemplateReference],
    known: &BTreeMap<TemplateReference, AnalysisTemplateSpec>,
) -> Vec<TemplateReference> {
    let (mut met, mut known_of) = (Vec::new(), BTreeSet::new());
    let mut open: Vec<TemplateReference> = wanted.iter().rev().cloned().collect();
    while let Some(next) = open.pop() {
        if !known_of.insert(next.clone()) {
            continue;
        }
        let below = known.get(&next).map(|template| template.templates.as_slice()).unwrap_or_default();
        open.extend(below.iter().rev().cloned());
        met.push(next);
    }
    met
}

/// Puts templates together: all metrics, arguments and rules of them and of those they refer to. About arguments that are
/// `given`, by name, templates need not agree.
pub fn flatten(
    wanted: &[TemplateReference],
    known: &BTreeMap<TemplateReference, AnalysisTemplateSpec>,
    given: &BTreeSet<&str>,
) -> Result<AnalysisTemplateSpec, TemplateError> {
    let mut flat = Flat {
        known,
        given,
        whole: AnalysisTemplateSpec::default(),
        taken: BTreeSet::new(),
        arguments: BTreeMap::new(),
    };
    for template in wanted {
        flat.take(template, &mut Vec::new())?;
    }
    let mut names = BTreeSet::new();
    match flat.whole.metrics.iter().find(|metric| !names.insert(metric.name.as_str())) {
        Some(metric) => Err(TemplateError::SameMetric(metric.name.clone())),
        None => Ok(flat.whole),
    }
}

struct Flat<'a> {
    known: &'a BTreeMap<TemplateReference, AnalysisTemplateSpec>,
    given: &'a BTreeSet<&'a str>,
    whole: AnalysisTemplateSpec,
    taken: BTreeSet<TemplateReference>,
    /// Where each argument stands in the whole.
    arguments: BTreeMap<&'a str, usize>,
}

impl<'a> Flat<'a> {
    fn take(
        &mut self,
        template: &TemplateReference,
        above: &mut Vec<TemplateReference>,
    ) -> Result<(), TemplateError> {
        if let Some(start) = above.iter().position(|it| it == template) {
            let mut circle = above.split_off(start);
            circle.push(template.clone());
            return Err(TemplateError::Circle(circle));
        }
        if !self.taken.insert(template.clone()) {
            return Ok(());
        }
        if above.len() >= DEPTH {
            return Err(TemplateError::TooDeep(template.clone()));
        }
        let Some(spec) = self.known.get(template) else {
            return Err(TemplateError::Missing(template.clone(), above.last().cloned()));
        };
        if let Some(why) = &spec.unreadable {
            return Err(TemplateError::Unreadable(template.clone(), why.clone()));
        }
        self.whole.metrics.extend(spec.metrics.iter().cloned());
        self.whole.dry_run.extend(spec.dry_run.iter().cloned());
        self.whole.measurement_retention.extend(spec.measurement_retention.iter().cloned());
        for argument in &spec.args {
            self.argument(argument)?;
        }
        above.push(template.clone());
        for below in &spec.templates {
            self.take(below, above)?;
        }
        above.pop();
        Ok(())
    }

    /// One argument for all templates that declare it. A source wins over none.
    fn argument(&mut self, argument: &'a Argument) -> Result<(), TemplateError> {
        let place = *self.arguments.entry(&argument.name).or_insert(self.whole.args.len());
        let Some(known) = self.whole.args.get_mut(place) else {
            self.whole.args.push(argument.clone());
            return Ok(());
        };
        match (source(known), source(argument)) {
            (Some(one), Some(other)) if one != other && !self.given.contains(argument.name.as_str()) => {
                Err(TemplateError::TwoSources { name: argument.name.clone(), one, other })
            }
            (None, Some(_)) => {
                *known = argument.clone();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Where an argument comes from, in words.
fn source(argument: &Argument) -> Option<String> {
    if let Some(value) = &argument.value {
        return Some(format!("the value {value:?}"));
    }
    let ValueFrom { secret_key_ref, field_ref, pod_template_hash_value } = argument.value_from.as_ref()?;
    let secret = secret_key_ref.as_ref().map(|it| format!("key {:?} of the Secret {:?}", it.key, it.name));
    let field = || field_ref.as_ref().map(|it| format!("the field {}", it.field_path));
    let revision = || pod_template_hash_value.as_ref().map(|which| format!("the revision {which}"));
    secret.or_else(field).or_else(revision)
}
