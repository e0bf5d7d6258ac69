//! What metrics say in a play: whatever the script sets, at once or late. Providers are not played: what they answer is,
//! in the shape in which each of them answers, so that a condition that holds here holds in a cluster too.

mod shape;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::{Answered, Gauge, Measured, Question, Reading};
use windlass_api::analysis::Phase;

pub use self::shape::Shape;

/// A value that the conditions of scripts call good.
pub(crate) const GOOD: f64 = 0.01;

/// What a metric says from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The answers, in turn: after the last one the first comes again.
    pub says: Vec<Says>,
    /// How long each takes.
    pub after: Duration,
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// A number.
    Number(f64),
    /// None that can be compared: zero divided by zero.
    NotANumber,
    /// A query that finds nothing.
    Empty,
    /// No answer.
    Error,
    /// A Job that goes well.
    Pass,
    /// A Job that fails.
    Fail,
    /// Exactly this, whatever the provider.
    Exactly(Json),
}

impl From<Says> for Sample {
    fn from(says: Says) -> Self {
        Self { says: vec![says], after: Duration::ZERO }
    }
}

impl fmt::Display for Says {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::NotANumber => out.write_str("nan"),
            Self::Empty => out.write_str("empty"),
            Self::Error => out.write_str("error"),
            Self::Pass => out.write_str("pass"),
            Self::Fail => out.write_str("fail"),
            Self::Exactly(json) => write!(out, "{json}"),
        }
    }
}

impl FromStr for Says {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let number = || word.parse().ok().filter(|it: &f64| it.is_finite()).map(Self::Number);
        Ok(match word {
            "nan" => Self::NotANumber,
            "empty" => Self::Empty,
            "error" => Self::Error,
            "pass" => Self::Pass,
            "fail" => Self::Fail,
            _ => number().or_else(|| serde_json::from_str(word).ok().map(Self::Exactly)).ok_or_else(|| {
                format!(
                    "`{word}` is nothing that a metric says: expected a number, nan, empty or error, of a job pass or \
                     fail, or a value as JSON, such as true or {{\"lag\": 3}}"
                )
            })?,
        })
    }
}

impl Says {
    /// What comes of asking a provider that answers in this shape, or why it never says so.
    pub fn reading(&self, shape: &Shape) -> Result<Reading, String> {
        let value = |value| Ok(Reading::Value(Measured { value, metadata: BTreeMap::new() }));
        let verdict = |phase: Phase, message: &str| {
            Ok(Reading::Verdict { phase, message: message.to_owned(), metadata: BTreeMap::new() })
        };
        match (self, shape) {
            (Self::Error, _) => Ok(Reading::Error("the provider does not answer".to_owned())),
            (Self::Pass, Shape::Verdict) => verdict(Phase::Successful, ""),
            (Self::Fail, Shape::Verdict) => verdict(Phase::Failed, "the Job failed"),
            (_, Shape::Verdict) => {
                Err("a job has no value, it says by itself whether all is well: say pass, fail or error"
                    .to_owned())
            }
            (Self::Pass | Self::Fail, _) => {
                Err("pass and fail are what a job says: say a value, which the conditions judge".to_owned())
            }
            (Self::Exactly(json), _) => value(Value::from(json.clone())),
            (_, Shape::Fields { provider, example }) => Err(format!(
                "{provider} answers with names and values, not with a number: say them as JSON, such as '{example}'"
            )),
            (Self::Number(number), shape) => value(shape.of_number(*number)),
            (Self::NotANumber, shape) => value(shape.of_number(f64::NAN)),
            (Self::Empty, Shape::Point) => value(Value::Nil),
            (Self::Empty, Shape::Series) => Ok(Reading::Error("the query has no results".to_owned())),
            (Self::Empty, _) => value(Value::List(Vec::new())),
        }
    }
}

/// What each metric says now. Shared by everybody who asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    said: Arc<Mutex<BTreeMap<String, (Sample, usize)>>>,
    answers: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

impl Samples {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, (Sample, usize)>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often metrics gave each kind of answer.
    pub(crate) fn answers(&self) -> BTreeMap<&'static str, u64> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, says: &Says, after: Duration, flaps: bool) {
        let kind = match says {
            Says::Number(number) if *number == GOOD => "good",
            Says::Number(_) => "bad",
            Says::NotANumber => "nan",
            Says::Empty => "empty",
            Says::Error => "error",
            Says::Pass => "pass",
            Says::Fail => "fail",
            Says::Exactly(_) => "exactly",
        };
        let (late, flapping) = ((!after.is_zero()).then_some("late"), flaps.then_some("flapping"));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in [Some(kind), late, flapping].into_iter().flatten() {
            *answers.entry(kind).or_default() += 1;
        }
    }

    /// From now on a metric says this.
    pub(crate) fn set(&self, metric: &str, sample: Sample) {
        self.all().insert(metric.to_owned(), (sample, 0));
    }

    /// Every metric is well again, and prompt.
    pub(crate) fn be_well(&self) {
        for sample in self.all().values_mut() {
            *sample = (Sample::from(Says::Number(GOOD)), 0);
        }
    }

    /// What the metric of a question says, and after how long.
    fn reading(&self, question: &Question) -> (Reading, Duration) {
        let metric = &question.metric;
        let mut all = self.all();
        let said = all.get_mut(&metric.name).and_then(|(sample, turn)| {
            let says = sample.says.get(*turn % sample.says.len().max(1)).cloned()?;
            *turn += 1;
            Some((says, sample.after, sample.says.len() > 1))
        });
        let Some((says, after, flaps)) = said else {
            let text = format!("nobody has said what metric {:?} says", metric.name);
            return (Reading::Error(text), Duration::ZERO);
        };
        self.count(&says, after, flaps);
        (says.reading(&Shape::of(&metric.provider)).unwrap_or_else(Reading::Error), after)
    }
}

/// Answers on tokio's clock, by itself.
pub(crate) struct Prompt(pub(crate) Samples);

impl Gauge for Prompt {
    fn ask(&self, question: Question, answered: Answered) {
        let (reading, after) = self.0.reading(&question);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            answered(reading.into());
        });
    }
}

/// Keeps answers until somebody says that their time has come: nothing happens by itself in a play.
#[derive(Clone, Default)]
pub(crate) struct Desk {
    samples: Samples,
    open: Arc<Mutex<Vec<Open>>>,
}

struct Open {
    due: Instant,
    reading: Reading,
    answered: Answered,
}

impl Desk {
    /// One for whoever asks now; a controller that comes back has a desk of its own.
    pub(crate) fn new(samples: &Samples) -> Self {
        Self { samples: samples.clone(), open: Arc::default() }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the next answer comes.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.open().iter().map(|open| open.due).min()
    }

    /// Hands out the answers whose time has come, in the order in which they were asked for. True if there was one.
    pub(crate) fn deliver(&self, now: Instant) -> bool {
        let due: Vec<Open> = self.open().extract_if(.., |open| open.due <= now).collect();
        let any = !due.is_empty();
        for open in due {
            (open.answered)(open.reading.into());
        }
        any
    }
}

impl Gauge for Desk {
    fn ask(&self, question: Question, answered: Answered) {
        let (reading, after) = self.samples.reading(&question);
        self.open().push(Open { due: Instant::now() + after, reading, answered });
    }
}
