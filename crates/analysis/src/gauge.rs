//! The seam between what is to be measured and who measures it: the real providers, or a play of the simulator. Asking
//! never waits: the answer comes whenever it comes, and nobody stands in line behind a slow provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;
use windlass_api::analysis::{Argument, Metric, Phase};

use crate::arguments::{self, ArgumentError};
use crate::expression::Value;
use crate::providers;
use crate::redact::Redactor;
use crate::rules::Conditions;
use crate::verdict::Judgement;

/// Whoever can be asked for values.
pub trait Gauge: Send + Sync {
    /// Asks one metric once, and returns at once.
    fn ask(&self, question: Question, answered: Answered);
}

/// Takes the answer to a question.
pub type Answered = Box<dyn FnOnce(Answer) + Send>;

/// The answer to a question. What was read is judged as it is, and only then are secrets taken out of what is shown: a
/// secret that happens to stand in a value must not change the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What came of it.
    pub reading: Reading,
    /// The secrets that took part.
    pub secrets: Redactor,
}

impl From<Reading> for Answer {
    /// No secret took part.
    fn from(reading: Reading) -> Self {
        Self { reading, secrets: Redactor::default() }
    }
}

/// One metric of a run, to be asked once.
#[derive(Clone, Debug)]
pub struct Question {
    /// The run that asks.
    pub run: RunIdentity,
    /// The metric; but for its name its arguments are not filled in, because some of them are secrets.
    pub metric: Metric,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// How many measurements of the metric there were before.
    pub number: u32,
    /// What is asked for: a new measurement, or what came of one that takes longer.
    pub about: About,
    /// What the run is about, if it is a rollout's.
    pub subject: Option<Subject>,
    /// What values are judged by.
    pub conditions: Arc<Conditions>,
}

/// A metric with everything filled in.
#[derive(Clone, Debug, PartialEq)]
pub enum Filled {
    /// It is asked once.
    Once(Box<Metric>),
    /// It is asked once for each pod.
    PerPod(BTreeMap<String, Metric>),
}

/// Why a metric cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// Its arguments do not fit.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// There is no rollout whose pods are meant.
    #[error(
        "metric {0:?} has forEachPod, but the run belongs to no rollout, so there are no pods to ask for"
    )]
    NoSubject(String),
    /// There is no such pod yet.
    #[error("metric {0:?} looks at updated pods, and no pod is on the wanted revision yet")]
    NoPods(String),
}

impl Question {
    /// The metric with its arguments; `resolved` has those that come from elsewhere, secrets among them.
    pub fn filled(&self, resolved: &BTreeMap<String, String>) -> Result<Filled, FillError> {
        let values = arguments::values(&self.arguments, resolved)?;
        let metric = &self.metric;
        if metric.for_each_pod.is_none() {
            return Ok(Filled::Once(Box::new(arguments::fill(metric, &values)?)));
        }
        let subject = self.subject.as_ref().ok_or_else(|| FillError::NoSubject(metric.name.clone()))?;
        if subject.updated.is_empty() {
            return Err(FillError::NoPods(metric.name.clone()));
        }
        let one = |pod: &String| Ok((pod.clone(), arguments::fill_for_pod(metric, &values, pod)?));
        subject.updated.iter().map(one).collect::<Result<_, _>>().map(Filled::PerPod)
    }
}

/// A run by its identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunIdentity {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whose it is.
    pub owner: Owner,
}

/// Whose a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A rollout's, which measures its workload with it.
    Rollout,
    /// It stands alone.
    #[default]
    Nobody,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A new measurement.
    New,
    /// One that takes longer: what has come of it.
    Resumed {
        /// What the provider said of it.
        metadata: BTreeMap<String, String>,
        /// When it began.
        since: Timestamp,
    },
    /// One that takes longer and is not wanted any more.
    Ended {
        /// What the provider said of it.
        metadata: BTreeMap<String, String>,
    },
}

/// Whom a run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// It stands alone.
    Nobody,
    /// A rollout's workload, which cannot be seen just now: it is missing, or somebody else's.
    Unseen,
    /// A rollout's workload.
    Workload(Subject),
}

impl Whom {
    /// The workload, if it can be seen.
    pub fn as_subject(&self) -> Option<&Subject> {
        match self {
            Self::Workload(subject) => Some(subject),
            Self::Nobody | Self::Unseen => None,
        }
    }

    /// Why a metric cannot be asked as things are, if it cannot. What is measured of nothing would look like health. Its
    /// arguments are filled in but for secrets.
    pub fn obstacle(&self, metric: &Metric) -> Option<String> {
        let looks_at = LooksAt::of(metric);
        match self {
            Self::Workload(subject) if looks_at == LooksAt::Updated && subject.updated.is_empty() => {
                Some(FillError::NoPods(metric.name.clone()).to_string())
            }
            Self::Unseen if looks_at != LooksAt::Others => Some(UNSEEN.to_owned()),
            Self::Nobody | Self::Unseen | Self::Workload(_) => None,
        }
    }
}

/// What is said of a workload that is missing, or somebody else's.
pub const UNSEEN: &str = "the workload of its rollout cannot be seen just now";

/// What is said where there is no rollout, and so nobody to look at.
pub const NOBODY: &str = "the run belongs to no rollout, so there is no workload and no pod to look at";

/// What a metric looks at, of the rollout that it is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksAt {
    /// The pods on the wanted revision: without one there is nothing to measure.
    Updated,
    /// The workload.
    Workload,
    /// Something else.
    Others,
}

impl LooksAt {
    /// What a metric looks at. Its arguments are filled in: they may be all there is of an expression.
    pub(crate) fn of(metric: &Metric) -> Self {
        if metric.for_each_pod.is_some() {
            return Self::Updated;
        }
        match providers::kubernetes::looks_at(&metric.provider) {
            Some(looks_at) => looks_at,
            None => Self::Others,
        }
    }
}

/// The workload that a run is about, and its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The API version of the workload, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The revision that is wanted, as its pods' label tells it.
    pub target: String,
    /// The revision that ran before.
    pub stable: String,
    /// The pods on the wanted revision, by name.
    pub updated: Vec<String>,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A value, to be judged by the conditions.
    Value(Measured),
    /// What came of it for each pod.
    PerPod(BTreeMap<String, OfPod>),
    /// The provider judges by itself.
    Verdict {
        /// What it says.
        phase: Phase,
        /// Why.
        message: String,
        /// What the provider has to say besides.
        metadata: BTreeMap<String, String>,
    },
    /// It takes longer: ask again then, or when something happens.
    Later {
        /// When.
        at: Timestamp,
        /// What the provider needs to know it again.
        metadata: BTreeMap<String, String>,
    },
    /// There is no value, and why.
    Error(String),
    /// Nobody was asked, or what came of a longer one could not be looked at, because the cluster itself was in the way:
    /// that says nothing of what is measured. It is asked again.
    NotAsked(String),
}

/// What came of the question of one pod, judged already: values may be large, and there may be many pods.
#[derive(Clone, Debug, PartialEq)]
pub struct OfPod {
    /// What its value is.
    pub judgement: Judgement,
    /// The value as JSON, cut to a length that can be shown; none if there is none.
    pub value: Option<Json>,
    /// What the provider has to say besides.
    pub metadata: BTreeMap<String, String>,
}

/// A value, and what the provider has to say besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value.
    pub value: Value,
    /// Besides: warnings, the names of groups.
    pub metadata: BTreeMap<String, String>,
}
