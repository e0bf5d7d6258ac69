//! Checks in scripts: what is measured, how it is judged, and what happens when it cannot be measured. A metric has a
//! template of its own name; its provider is never asked, because what it says is a line of the script.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::read::{Expected, duration, number};
use super::{Given, GivenStep, Written};

/// One check: a metric, and what an error means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenCheck {
    /// Which metric.
    pub metric: String,
    /// What happens when it cannot be measured; the usual when absent.
    pub on_error: Option<Policy>,
}

/// What happens when a check cannot be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// As when it failed.
    Abort,
    /// A person decides.
    Pause,
    /// It is measured again until that works.
    Retry,
}

/// A check beside the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenBackground {
    /// What is checked.
    pub check: GivenCheck,
    /// With which step it begins, counted from zero.
    pub from: u32,
}

/// How a metric is measured and judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenMetric {
    /// Its name, and its template's.
    pub name: String,
    /// How often it is measured; none for without end.
    pub count: Option<u32>,
    /// The time between two measurements.
    pub interval: Duration,
    /// The time before the first one.
    pub delay: Duration,
    /// How many bad values are borne.
    pub failures: u32,
    /// How many values are borne that are neither.
    pub inconclusive: u32,
    /// How many errors in a row are borne.
    pub errors: u32,
    /// What is good.
    pub success: String,
}

impl GivenMetric {
    /// One that is measured as usual.
    pub fn usual(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            count: Some(3),
            interval: Duration::from_secs(10),
            delay: Duration::ZERO,
            failures: 0,
            inconclusive: 0,
            errors: 4,
            success: "result < 0.1".to_owned(),
        }
    }

    /// From the words behind `given metric`.
    pub(super) fn read(words: &[&str]) -> Result<Self, Expected> {
        let expected = || {
            "expected metric NAME [count N|endless] [interval TIME] [delay TIME] [failures N] [inconclusive N] \
             [errors N] [success EXPRESSION]"
                .to_owned()
        };
        let [name, rest @ ..] = words else { return Err(expected()) };
        let mut metric = Self::usual(name);
        let mut rest = rest;
        loop {
            rest = match rest {
                [] => return Ok(metric),
                ["success", expression @ ..] if !expression.is_empty() => {
                    metric.success = expression.join(" ");
                    return Ok(metric);
                }
                ["endless", rest @ ..] => {
                    metric.count = None;
                    rest
                }
                ["count", count, rest @ ..] => {
                    metric.count = Some(number(count)?);
                    rest
                }
                ["interval", time, rest @ ..] => {
                    metric.interval = duration(time)?;
                    rest
                }
                ["delay", time, rest @ ..] => {
                    metric.delay = duration(time)?;
                    rest
                }
                ["failures", limit, rest @ ..] => {
                    metric.failures = number(limit)?;
                    rest
                }
                ["inconclusive", limit, rest @ ..] => {
                    metric.inconclusive = number(limit)?;
                    rest
                }
                ["errors", limit, rest @ ..] => {
                    metric.errors = number(limit)?;
                    rest
                }
                _ => return Err(expected()),
            }
        }
    }
}

impl GivenCheck {
    /// From a word such as `errors` or `errors:retry`.
    pub(super) fn read(word: &str) -> Result<Self, Expected> {
        let (metric, on_error) = match word.split_once(':') {
            Some((metric, policy)) => (metric, Some(Policy::read(policy)?)),
            None => (word, None),
        };
        Ok(Self { metric: metric.to_owned(), on_error })
    }
}

impl GivenBackground {
    /// From the words behind `given background`.
    pub(super) fn read(words: &[&str]) -> Result<Self, Expected> {
        match words {
            [check] => Ok(Self { check: GivenCheck::read(check)?, from: 0 }),
            [check, "from", step] => Ok(Self { check: GivenCheck::read(check)?, from: number(step)? }),
            _ => Err("expected background METRIC[:abort|pause|retry] [from STEP]".to_owned()),
        }
    }
}

impl Policy {
    fn read(word: &str) -> Result<Self, Expected> {
        match word {
            "abort" => Ok(Self::Abort),
            "pause" => Ok(Self::Pause),
            "retry" => Ok(Self::Retry),
            _ => Err(format!("`{word}` is no policy: expected abort, pause or retry")),
        }
    }

    /// As a rollout spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Pause => "pause",
            Self::Retry => "retry",
        }
    }
}

impl Given {
    /// The metrics that there are templates for: those that are described, and those that a check names.
    pub fn measured(&self) -> Vec<GivenMetric> {
        let mut all = self.metrics.clone();
        let named: BTreeSet<&str> = self.checks().map(|check| check.metric.as_str()).collect();
        for name in named {
            if all.iter().all(|metric| metric.name != name) {
                all.push(GivenMetric::usual(name));
            }
        }
        all
    }

    fn checks(&self) -> impl Iterator<Item = &GivenCheck> {
        let steps = self.steps.iter().filter_map(|step| match step {
            GivenStep::Check(check) => Some(check),
            GivenStep::Weight(_) | GivenStep::Pause | GivenStep::PauseFor(_) => None,
        });
        steps.chain(self.background.as_ref().map(|background| &background.check))
    }
}

impl fmt::Display for GivenCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.metric)?;
        self.on_error.map_or(Ok(()), |policy| write!(out, ":{}", policy.as_str()))
    }
}

impl fmt::Display for GivenBackground {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.check)?;
        if self.from > 0 { write!(out, " from {}", self.from) } else { Ok(()) }
    }
}

impl fmt::Display for GivenMetric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::usual(&self.name);
        out.write_str(&self.name)?;
        match self.count {
            None => out.write_str(" endless")?,
            Some(count) if self.count != usual.count => write!(out, " count {count}")?,
            Some(_) => {}
        }
        if self.interval != usual.interval {
            write!(out, " interval {}", Written(self.interval))?;
        }
        if self.delay != usual.delay {
            write!(out, " delay {}", Written(self.delay))?;
        }
        let limits = [
            ("failures", self.failures, usual.failures),
            ("inconclusive", self.inconclusive, usual.inconclusive),
            ("errors", self.errors, usual.errors),
        ];
        for (word, limit, usual) in limits {
            if limit != usual {
                write!(out, " {word} {limit}")?;
            }
        }
        if self.success == usual.success { Ok(()) } else { write!(out, " success {}", self.success) }
    }
}
