//! What metrics say in a play: whatever the script sets, at once or late. Providers are not played: what they answer is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::{Answered, Gauge, Measured, Question, Reading};

/// What a metric says.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The value, or none.
    pub says: Says,
    /// How long the answer takes.
    pub after: Duration,
}

/// What a metric says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// A number; NaN is one.
    Number(f64),
    /// An empty list: a query that finds nothing.
    Empty,
    /// No answer.
    Error,
}

/// What each metric says now. Shared by everybody who asks.
#[derive(Clone, Debug, Default)]
pub struct Samples(Arc<Mutex<BTreeMap<String, Sample>>>);

impl Samples {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Sample>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a metric says this.
    pub fn set(&self, metric: &str, sample: Sample) {
        self.all().insert(metric.to_owned(), sample);
    }

    /// What it says, and after how long.
    fn reading(&self, metric: &str) -> (Reading, Duration) {
        let Some(sample) = self.all().get(metric).cloned() else {
            let text = format!("nobody has said what metric {metric:?} says");
            return (Reading::Error(text), Duration::ZERO);
        };
        let value = |value| Reading::Value(Measured { value, metadata: BTreeMap::new() });
        let reading = match sample.says {
            Says::Number(number) => value(Value::Float(number)),
            Says::Empty => value(Value::List(Vec::new())),
            Says::Error => Reading::Error("the provider does not answer".to_owned()),
        };
        (reading, sample.after)
    }
}

/// Answers on tokio's clock, by itself.
pub struct Prompt(pub Samples);

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
