//! Every script of `tests/scenarios`, played in virtual time and compared with its golden timeline. `UPDATE=1` writes
//! the timelines; read what changed.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is test code, and it prints what it counted"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a person says by the environment which golden files to write"
)]

use std::fmt::Write as _;
use std::path::Path;

use windlass_sim::scenario::{self, Scenario};
use windlass_sim::{Ending, ORIGIN, Outcome, Trace, play};

fn scenarios() -> Vec<Scenario> {
    scenario::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios")).unwrap()
}

/// What happened, as a golden file keeps it.
fn told(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut text = format!("# {}\n\n", scenario.sentence);
    for moment in &outcome.timeline.moments {
        let since = moment.at.duration_since(ORIGIN);
        writeln!(text, "{:>9.3}s  {}", since.as_secs_f64(), moment.what).unwrap();
    }
    // Quiet moments, and the end: counters and conditions, which the timeline leaves out.
    let trace = Trace::of(&outcome.store, &outcome.rests).to_string();
    let pictures = trace.find("picture 1:").map_or("", |start| &trace[start..]);
    text + "\n" + pictures
}

/// The lines that differ, with the first of them in its place.
fn difference(wanted: &str, got: &str) -> String {
    let (wanted, got): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), got.lines().collect());
    let same = wanted.iter().zip(&got).take_while(|(wanted, got)| wanted == got).count();
    let show = |lines: &[&str]| {
        lines.iter().skip(same).take(5).fold(String::new(), |all, it| all + "    " + it + "\n")
    };
    format!("  from line {}:\n  golden\n{}  played\n{}", same + 1, show(&wanted), show(&got))
}

/// What is wrong with how a scenario went.
fn complaints(scenario: &Scenario) -> Vec<String> {
    let outcome = play(&scenario.script, Ending::AtOnce).unwrap();
    let got = told(scenario, &outcome);
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(&scenario.golden, &got).unwrap();
    }
    let wanted = std::fs::read_to_string(&scenario.golden).unwrap_or_default();
    let differs = (wanted != got).then(|| difference(&wanted, &got));
    // Whatever it left open comes to a good end as well.
    let later = play(&scenario.script, Ending::WhenStable).unwrap();
    let found = outcome.violations.iter().chain(&later.violations).map(|found| format!("  {found}\n"));
    differs.into_iter().chain(outcome.stuck.iter().map(|stuck| format!("  {stuck}\n"))).chain(found).collect()
}

#[test]
fn every_scenario_goes_as_its_golden_timeline_says() {
    let scenarios = scenarios();
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut wrong = String::new();
    for scenario in scenarios.iter().filter(|it| it.name.contains(&only)) {
        let complaints = complaints(scenario);
        if !complaints.is_empty() {
            writeln!(wrong, "{}:\n{}", scenario.name, complaints.concat()).unwrap();
        }
    }
    let both = scenarios.iter().filter(|it| it.simulator_only.is_none()).count();
    println!("scenarios: {} played in virtual time, {both} of them on real clusters too", scenarios.len());
    assert!(wrong.is_empty(), "{wrong}\nUPDATE=1 writes the golden timelines anew; read what changes");
}

#[test]
fn every_golden_timeline_has_its_scenario() {
    let scenarios = scenarios();
    let folder = scenarios[0].golden.parent().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "timeline") {
            assert!(scenarios.iter().any(|it| it.golden == path), "{} has no script", path.display());
        }
    }
    assert!(scenarios.len() >= 45, "{} scenarios", scenarios.len());
    assert!(scenarios.iter().filter(|it| it.simulator_only.is_none()).count() >= 40);
}
