//! What metrics say in a play: whatever the script sets, at once or late. Providers are not played: what they answer is.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::{Answered, Gauge, Measured, Question, Reading};

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// A number.
    Number(f64),
    /// None that can be compared: zero divided by zero.
    NotANumber,
    /// An empty list: a query that finds nothing.
    Empty,
    /// No answer.
    Error,
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
        }
    }
}

impl FromStr for Says {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "nan" => Self::NotANumber,
            "empty" => Self::Empty,
            "error" => Self::Error,
            number => {
                Self::Number(number.parse().ok().filter(|it: &f64| it.is_finite()).ok_or_else(|| {
                    format!("`{word}` is nothing that a metric says: expected a number, nan, empty or error")
                })?)
            }
        })
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

    fn count(&self, says: Says, after: Duration, flaps: bool) {
        let kind = match says {
            Says::Number(GOOD) => "good",
            Says::Number(_) => "bad",
            Says::NotANumber => "nan",
            Says::Empty => "empty",
            Says::Error => "error",
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

    /// What it says, and after how long.
    fn reading(&self, metric: &str) -> (Reading, Duration) {
        let mut all = self.all();
        let said = all.get_mut(metric).and_then(|(sample, turn)| {
            let says = sample.says.get(*turn % sample.says.len().max(1)).copied()?;
            *turn += 1;
            Some((says, sample.after, sample.says.len() > 1))
        });
        let Some((says, after, flaps)) = said else {
            let text = format!("nobody has said what metric {metric:?} says");
            return (Reading::Error(text), Duration::ZERO);
        };
        self.count(says, after, flaps);
        let value = |value| Reading::Value(Measured { value, metadata: BTreeMap::new() });
        let reading = match says {
            Says::Number(number) => value(Value::Float(number)),
            Says::NotANumber => value(Value::Float(f64::NAN)),
            Says::Empty => value(Value::List(Vec::new())),
            Says::Error => Reading::Error("the provider does not answer".to_owned()),
        };
        (reading, after)
    }
}

/// Answers on tokio's clock, by itself.
pub(crate) struct Prompt(pub(crate) Samples);

impl Gauge for Prompt {
    fn ask(&self, question: Question, answered: Answered) {
        let (reading, after) = self.0.reading(&question.metric.name);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            answered(reading);
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
            (open.answered)(open.reading);
        }
        any
    }
}

impl Gauge for Desk {
    fn ask(&self, question: Question, answered: Answered) {
        let (reading, after) = self.samples.reading(&question.metric.name);
        self.open().push(Open { due: Instant::now() + after, reading, answered });
    }
}
