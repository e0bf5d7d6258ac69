//! Analyses in seeds: about a third of them measure something, at a step or beside the steps, and metrics turn good, bad,
//! unreadable, silent or slow at any moment. The rest of the script is what it would be without.

use std::time::Duration;

use super::moment;
use crate::chance::Chance;
use crate::readings::{Sample, Says};
use crate::script::{Deed, GivenBackground, GivenCheck, GivenMetric, GivenStep, Line, Policy, Script};

/// Keeps the chance of analyses apart from that of everything else.
const MATTER: u64 = 0x00a4_a1c5;
/// What is measured at a step.
const ERRORS: &str = "errors";
/// What is measured beside the steps.
const LOAD: &str = "load";
/// What people and metrics do, at most.
const MOST: u64 = 7;

/// Adds analyses, for about a third of the seeds.
pub(super) fn add(script: &mut Script, seed: u64) {
    let mut chance = Chance::new(seed).fork(MATTER);
    if !chance.one_in(3) {
        return;
    }
    let (at_steps, beside) = match chance.below(3) {
        0 => (true, false),
        1 => (false, true),
        _ => (true, true),
    };
    let given = &mut script.given;
    if at_steps {
        add_checks(&mut given.steps, &mut chance);
        given.metrics.push(metric(ERRORS, &mut chance));
    }
    if beside {
        let from = u32::try_from(chance.below(3)).unwrap_or_default();
        given.background = Some(GivenBackground { check: check(LOAD, &mut chance), from });
        let count = if chance.one_in(3) { Some(3) } else { None };
        given.metrics.push(GivenMetric { count, ..metric(LOAD, &mut chance) });
    }
    if chance.one_in(4) {
        let mut limit = || u32::try_from(chance.below(3)).unwrap_or_default();
        given.kept = Some((limit(), limit()));
    }
    for line in &mut script.lines {
        if let Line::Do(Deed::Steps(steps)) = line
            && at_steps
        {
            add_checks(steps, &mut chance);
        }
    }
    begin_within(script);
    let metrics: Vec<String> = script.given.measured().into_iter().map(|metric| metric.name).collect();
    // What a metric says before anything is measured decides most, so it is said more often than by chance.
    for metric in metrics.iter().filter(|_| chance.one_in(2)).cloned().collect::<Vec<_>>() {
        script.lines.insert(0, Line::Do(Deed::Metric(metric, sample(&mut chance))));
    }
    for _ in 0..chance.between(1, MOST) {
        let place = chance.below(script.lines.len() as u64 + 1);
        let place = usize::try_from(place).unwrap_or_default();
        let deed = Line::Do(deed(&metrics, script.given.background.as_ref(), &mut chance));
        script.lines.splice(place..place, [Line::Pass(moment(&mut chance)), deed]);
    }
}

/// A check beside the steps begins with one that there is, whatever steps there will be.
fn begin_within(script: &mut Script) {
    let edited = script.lines.iter().filter_map(|line| match line {
        Line::Do(Deed::Steps(steps)) => Some(steps.len()),
        _ => None,
    });
    let fewest = edited.chain([script.given.steps.len()]).min().unwrap_or_default();
    if let Some(background) = &mut script.given.background {
        background.from = background.from.min(u32::try_from(fewest.saturating_sub(1)).unwrap_or_default());
    }
}

/// A check behind one of the steps, sometimes behind several.
fn add_checks(steps: &mut Vec<GivenStep>, chance: &mut Chance) {
    for _ in 0..chance.between(1, 2) {
        let place = usize::try_from(chance.below(steps.len() as u64 + 1)).unwrap_or_default();
        steps.insert(place, GivenStep::Check(check(ERRORS, chance)));
    }
}

fn check(metric: &str, chance: &mut Chance) -> GivenCheck {
    let on_error = match chance.below(4) {
        0 => Some(Policy::Abort),
        1 => Some(Policy::Pause),
        2 => Some(Policy::Retry),
        _ => None,
    };
    GivenCheck { metric: metric.to_owned(), on_error }
}

fn metric(name: &str, chance: &mut Chance) -> GivenMetric {
    let mut limit = |most| u32::try_from(chance.below(most)).unwrap_or_default();
    let (failures, inconclusive, errors, count) = (limit(3), limit(2), limit(5), limit(4) + 1);
    GivenMetric {
        count: Some(count),
        interval: Duration::from_secs(chance.between(5, 60)),
        delay: if chance.one_in(3) { Duration::from_secs(chance.below(30)) } else { Duration::ZERO },
        // To bear more bad values than are measured is no valid spec.
        failures: failures.min(count),
        inconclusive: inconclusive.min(count),
        errors,
        ..GivenMetric::usual(name)
    }
}

fn deed(metrics: &[String], background: Option<&GivenBackground>, chance: &mut Chance) -> Deed {
    let metric = chance.pick(metrics).cloned().unwrap_or_default();
    match (chance.below(14), background) {
        (0, _) => Deed::DeleteTemplate(metric),
        (1, _) => Deed::CreateTemplate(metric),
        (2, _) => Deed::DeleteAnalysis,
        (3, _) => Deed::TerminateAnalysis,
        (4, Some(_)) => Deed::Background(None),
        (5, Some(background)) => Deed::Background(Some(background.clone())),
        _ => Deed::Metric(metric, sample(chance)),
    }
}

fn sample(chance: &mut Chance) -> Sample {
    // One answer, or several in turn: a metric that flaps.
    let count = if chance.one_in(3) { chance.between(2, 4) } else { 1 };
    let says = (0..count).map(|_| says(chance)).collect();
    let after = match chance.below(4) {
        0 => Duration::from_millis(chance.below(5_000)),
        1 => Duration::from_secs(chance.below(90)),
        _ => Duration::ZERO,
    };
    Sample { says, after }
}

fn says(chance: &mut Chance) -> Says {
    match chance.below(8) {
        0..=2 => Says::Number(0.01),
        3 | 4 => Says::Number(0.9),
        5 => Says::NotANumber,
        6 => Says::Empty,
        _ => Says::Error,
    }
}
