//! Makes a script smaller that breaks a rule: lines are left out as long as the same rule is still broken.

use crate::play::{Ending, play};
use crate::script::{GivenMetric, Line, Script};

/// The smallest script found that still breaks this rule, within so many tries.
pub fn shrink(script: &Script, rule: &str, tries: usize) -> Script {
    let breaks = |candidate: &Script| {
        play(candidate, Ending::WhenStable)
            .is_ok_and(|outcome| outcome.violations.iter().any(|found| found.rule == rule))
    };
    let mut smallest = script.clone();
    let mut left = tries;
    let mut chunk = smallest.lines.len().div_ceil(2).max(1);
    loop {
        let mut index = 0;
        while index < smallest.lines.len() && left > 0 {
            let mut candidate = smallest.clone();
            let end = (index + chunk).min(candidate.lines.len());
            candidate.lines.drain(index..end);
            left -= 1;
            if breaks(&candidate) {
                smallest = candidate;
            } else {
                index += chunk;
            }
        }
        if chunk == 1 || left == 0 {
            break;
        }
        chunk = chunk.div_ceil(2);
    }
    simpler(smallest, &breaks)
}

/// Simpler settings, one after the other, as long as the rule is still broken.
fn simpler(script: Script, breaks: &impl Fn(&Script) -> bool) -> Script {
    let given: [fn(&mut Script); 9] = [
        |it| it.given.seed = None,
        |it| it.given.parallel = false,
        |it| it.given.min_ready = std::time::Duration::ZERO,
        |it| it.given.first_ordinal = 0,
        |it| it.given.deadline = None,
        |it| it.given.background = None,
        |it| it.given.kept = None,
        |it| it.given.metrics.iter_mut().for_each(as_usual),
        |it| it.lines.iter_mut().for_each(round),
    ];
    given.into_iter().fold(script, |smallest, simplify| {
        let mut candidate = smallest.clone();
        simplify(&mut candidate);
        if candidate != smallest && breaks(&candidate) { candidate } else { smallest }
    })
}

/// Measured as usual, but as often as it was.
fn as_usual(metric: &mut GivenMetric) {
    *metric = GivenMetric { count: metric.count, ..GivenMetric::usual(&metric.name) };
}

/// Whole seconds read better.
fn round(line: &mut Line) {
    if let Line::Pass(time) = line {
        *time = std::time::Duration::from_secs(time.as_secs());
    }
}
