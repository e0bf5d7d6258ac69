//! Many seeds, one after the other: the figures, and what broke. What broke comes with its seed and the smallest script
//! that still breaks it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::play::{AT_START, Ending, Statistics, play};
use crate::script::Script;
use crate::seed;
use crate::shrink::shrink;

/// What came of many seeds.
#[derive(Clone, Debug, Default)]
pub struct Soaked {
    /// How many were played.
    pub seeds: u64,
    /// Their figures.
    pub statistics: Statistics,
    /// Those that broke something.
    pub broken: Vec<Broken>,
}

/// A seed that broke something.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Which.
    pub seed: u64,
    /// What.
    pub what: String,
    /// The smallest script found that still breaks it.
    pub script: Script,
}

impl Soaked {
    /// Plays one more seed. If it breaks something, so many plays are spent on making its script smaller.
    pub fn play(&mut self, seed: u64, tries: usize) {
        self.seeds += 1;
        let script = seed::script(seed);
        match catch_unwind(AssertUnwindSafe(|| play(&script, Ending::WhenStable))) {
            Ok(Ok(outcome)) => {
                self.statistics.add(&outcome.statistics);
                if let Some(violation) = outcome.violations.first() {
                    let script = shrink(&script, violation.rule, tries);
                    self.broken.push(Broken { seed, what: violation.to_string(), script });
                } else if let Some(what) = outcome.stuck.into_iter().find(|what| what.starts_with(AT_START)) {
                    // Nothing was shown by it: a seed has to begin well.
                    self.broken.push(Broken { seed, what, script });
                }
            }
            Ok(Err(error)) => self.broken.push(Broken { seed, what: error.to_string(), script }),
            Err(_) => self.broken.push(Broken { seed, what: "it panicked".to_owned(), script }),
        }
    }

    /// Adds what another has played.
    pub fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.statistics.add(&other.statistics);
        self.broken.extend(other.broken);
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "seed {} breaks {}", self.seed, self.what)?;
        writeln!(
            out,
            "the smallest script that still does (put it into tests/scenarios once it is mended):"
        )?;
        write!(out, "{}", self.script)
    }
}

impl fmt::Display for Soaked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statistics { faults, requests, writes, decisions, verdicts, answers } = &self.statistics;
        writeln!(
            out,
            "{} rollouts, {decisions} decisions, {requests} requests, {writes} writes, {} faults, {} violations",
            self.seeds,
            faults.values().sum::<u64>(),
            self.broken.len()
        )?;
        for (kind, count) in faults {
            writeln!(out, "  {kind:<16} {count:>10}")?;
        }
        for (verdict, count) in verdicts {
            writeln!(out, "  analyses {verdict:<12} {count:>5}")?;
        }
        for (answer, count) in answers {
            writeln!(out, "  answers {answer:<13} {count:>5}")?;
        }
        self.broken.iter().try_for_each(|broken| write!(out, "\n{broken}"))
    }
}
