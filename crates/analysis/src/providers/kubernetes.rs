//! The cluster itself as a provider: an expression over the workload, its pods and one object that the settings name.
//! What it sees is handed in ([`Facts`]); nothing is asked of a server here.

use std::collections::BTreeMap;

use cel::Value as Cel;
use jiff::Timestamp;
use serde_json::Value as Json;

use super::cel::{Program, Sizes, from_json};
use super::fields::{Fields, is_open};
use crate::gauge::{LooksAt, Measured};

/// What is said to whoever names a Secret.
pub const NO_SECRET: &str =
    "a Secret cannot be measured: what is measured is written into the status of a run";

/// The names that an expression may use.
const VARIABLES: [&str; 7] = ["workload", "pods", "updated", "object", "target", "stable", "now"];

/// An expression, and the object that it needs.
#[derive(Debug)]
pub struct Kubernetes {
    /// Or why it is none: a text that is yet to be filled in cannot be told from a wrong one.
    program: Result<Program, String>,
    object: Option<ObjectWanted>,
}

/// An object that an expression looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectWanted {
    /// Its API version, such as `postgresql.cnpg.io/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
}

/// The group and the version of a kind, as they become part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupVersion<'a> {
    /// The group; empty for the kinds that Kubernetes began with.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
}

impl<'a> GroupVersion<'a> {
    /// Reads what people write as `apiVersion`. There is one spelling for each group and version, so that what is banned
    /// cannot be had by another one.
    pub fn read(text: &'a str) -> Result<Self, String> {
        let (group, version) = match text.split_once('/') {
            Some((group, version)) => (Some(group), version),
            None => (None, text),
        };
        let is_word = |word: &str| {
            let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
            word.chars().all(|letter| is_letter(letter) || letter == '-')
                && word.starts_with(is_letter)
                && word.ends_with(is_letter)
        };
        if is_word(version) && group.is_none_or(|group| group.split('.').all(is_word)) {
            return Ok(Self { group: group.unwrap_or_default(), version });
        }
        Err(format!("{text:?} is no API version: write it as v1, or as apps/v1 with a group"))
    }

    fn is_of_secrets(self, kind: &str) -> bool {
        self.group.is_empty() && kind == "Secret"
    }
}

impl ObjectWanted {
    /// The group and version to ask for, of an object that may be looked at. Settings that are yet to be filled in are not
    /// checked when they are read, so whoever asks the server comes here first.
    pub fn group_version(&self) -> Result<GroupVersion<'_>, String> {
        let found = GroupVersion::read(&self.api_version)?;
        if found.is_of_secrets(&self.kind) {
            return Err(NO_SECRET.to_owned());
        }
        object_name(&self.name)?;
        Ok(found)
    }

    /// The object of a run may be in the run's own namespace only: a template gives nobody a look into another one.
    pub fn check(&self, run: &str) -> Result<(), String> {
        match &self.namespace {
            Some(written) if written != run => Err(format!(
                "{} {} is in the namespace {written}, and a run in {run} may look at objects of its own namespace only",
                self.kind, self.name
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether a text can be the name of an object of Kubernetes. It becomes part of a path, so nothing in it may lead
/// elsewhere, not even while a part of it is yet to be filled in.
pub fn object_name(text: &str) -> Result<(), String> {
    let is_open = is_open(text);
    let is_letter = |letter: char| {
        letter.is_ascii_alphanumeric() || "-._:".contains(letter) || is_open && "*{} ".contains(letter)
    };
    if text.chars().all(is_letter)
        && (is_open || text.starts_with(|first: char| first.is_ascii_alphanumeric()))
    {
        return Ok(());
    }
    Err(format!("{text:?} is no name of an object: it has letters, digits, - and . only"))
}

/// What an expression sees.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The workload.
    pub workload: &'a Json,
    /// All its pods.
    pub pods: &'a [Json],
    /// Those on the wanted revision.
    pub updated: &'a [Json],
    /// The object that the settings name; none if it does not exist.
    pub object: Option<&'a Json>,
    /// The revision that is wanted.
    pub target: &'a str,
    /// The revision that ran before.
    pub stable: &'a str,
    /// The time.
    pub now: Timestamp,
}

/// Reads the settings.
pub(super) fn read(fields: &mut Fields<'_>) -> Kubernetes {
    let text = fields.needed("expression", "write what is measured, in CEL");
    let object = fields.block("object", object);
    let program = Program::compile(&text, &VARIABLES);
    match &program {
        Ok(program) if program.uses("object") && object.is_none() => {
            fields.flaw("object", "the expression uses object: name the one that it is about");
        }
        // Without a text there is a flaw already.
        Err(what) if !text.is_empty() && !is_open(&text) => fields.flaw("expression", what.as_str()),
        Ok(_) | Err(_) => {}
    }
    Kubernetes { program, object }
}

fn object(fields: &mut Fields<'_>) -> ObjectWanted {
    let wanted = ObjectWanted {
        api_version: fields.needed("apiVersion", "write the API version of the object, such as apps/v1"),
        kind: fields.needed("kind", "write the kind of the object"),
        name: fields.needed_object_name("name", "name the object"),
        namespace: fields.text("namespace"),
    };
    match GroupVersion::read(&wanted.api_version) {
        Ok(found) if found.is_of_secrets(&wanted.kind) => fields.flaw("kind", NO_SECRET),
        // Without a text there is a flaw already.
        Err(what) if !wanted.api_version.is_empty() && !is_open(&wanted.api_version) => {
            fields.flaw("apiVersion", what);
        }
        Ok(_) | Err(_) => {}
    }
    wanted
}

/// What an expression of this provider looks at, of the rollout that it is measured for; none for other providers. One
/// that is yet to be filled in cannot be compiled, perhaps: then its words tell.
pub(crate) fn looks_at(provider: &Json) -> Option<LooksAt> {
    let text = provider.get("kubernetes")?.get("expression")?.as_str()?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    Some(match Program::compile(text, &VARIABLES) {
        Ok(program) => by_names(|name| program.uses(name)),
        Err(_) => by_names(|name| text.split(|letter| !is_letter(letter)).any(|word| word == name)),
    })
}

fn by_names(uses: impl Fn(&str) -> bool) -> LooksAt {
    if uses("updated") {
        LooksAt::Updated
    } else if ["workload", "pods", "target", "stable"].into_iter().any(uses) {
        LooksAt::Workload
    } else {
        LooksAt::Others
    }
}

impl Kubernetes {
    /// The object that has to be handed in.
    pub fn object(&self) -> Option<&ObjectWanted> {
        self.object.as_ref()
    }

    /// What it looks at, of the rollout that it is measured for. Whoever is to evaluate it has filled everything in, the
    /// secrets too, so this is the last word.
    pub fn looks_at(&self) -> LooksAt {
        self.program.as_ref().map_or(LooksAt::Others, |program| by_names(|name| program.uses(name)))
    }

    /// Whether the pods have to be handed in.
    pub fn needs_pods(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.uses("pods") || program.uses("updated"))
    }

    /// Measures once.
    pub fn evaluate(&self, facts: &Facts<'_>) -> Result<Measured, String> {
        let no_value = |what: &str| format!("the expression has no value: {what}");
        let program = self.program.as_ref().map_err(|what| no_value(what))?;
        let mut sizes = Sizes::default();
        let mut variables = Vec::new();
        for name in VARIABLES.into_iter().filter(|name| program.uses(name)) {
            let value = match name {
                "workload" => {
                    sizes.add(facts.workload);
                    from_json(facts.workload)
                }
                "pods" => list(facts.pods, &mut sizes),
                "updated" => list(facts.updated, &mut sizes),
                "object" => {
                    let object = facts.object.unwrap_or(&Json::Null);
                    sizes.add(object);
                    from_json(object)
                }
                "target" => Cel::from(facts.target),
                "stable" => Cel::from(facts.stable),
                _ => Cel::Int(facts.now.as_second()),
            };
            variables.push((name, value));
        }
        let value = program.evaluate(&variables, &sizes).map_err(|what| no_value(&what))?;
        Ok(Measured { value, metadata: BTreeMap::new() })
    }
}

fn list(objects: &[Json], sizes: &mut Sizes) -> Cel {
    sizes.add_all(objects);
    Cel::from(objects.iter().map(from_json).collect::<Vec<_>>())
}
