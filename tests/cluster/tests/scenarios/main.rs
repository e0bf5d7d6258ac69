//! The scripts of `tests/scenarios` on the simulator and on the real control plane: what happened to pods, sets and
//! rollouts, and how everything stood whenever nothing moved, must be the same. A few of them by default, all of them
//! with `WINDLASS_CONFORMANCE=all`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is test code, and it prints what it counted"
)]

mod difference;
mod mirror;
mod real;

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;

use futures::{FutureExt, StreamExt};
use windlass_bed::{bed, test};
use windlass_sim::scenario::{self, Scenario};
use windlass_sim::script::Script;
use windlass_sim::{Ending, Happening, Trace, play};

/// What a run of the tests compares when nobody asks for everything: one of each kind.
const QUICK: [&str; 12] = [
    "a-canary-goes-through-its-steps-and-completes",
    "a-new-target-in-a-run-starts-at-the-first-step",
    "a-run-scaled-to-zero-is-parked-and-goes-on-from-stable",
    "a-set-that-shrinks-in-a-run-keeps-its-exposure",
    "a-spec-without-steps-is-answered-and-mended",
    "a-template-put-back-in-a-run-is-a-rollback-without-steps",
    "abort-frees-a-pod-that-crashes",
    "abort-is-refused-when-every-pod-is-updated",
    "abort-returns-every-pod-newest-first",
    "ordinals-may-start-anywhere",
    "t2-raising-the-partition-reverts-nothing",
    "t5-a-broken-pod-blocks-an-ordered-set",
];

/// How many run at once: they mostly wait.
fn at_once() -> usize {
    std::env::var("RUST_TEST_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// The scripts that this control plane can play, with its kind of hold in them.
fn scenarios() -> Vec<Scenario> {
    let hold = bed().hold;
    let mut all = scenario::all(&bed().root().join("tests/scenarios")).unwrap();
    all.retain(|it| it.simulator_only.is_none() && (!it.names_its_hold || it.script.given.holder == hold));
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let everything = std::env::var("WINDLASS_CONFORMANCE").is_ok_and(|it| it == "all");
    all.retain(|it| match only.as_str() {
        "" => everything || QUICK.contains(&it.name.as_str()),
        only => it.name.contains(only),
    });
    for scenario in &mut all {
        scenario.script.given.holder = hold;
    }
    all
}

/// A history as it is compared.
fn told(trace: &Trace, refusals: &[String]) -> String {
    format!("refused:\n  {}\n{trace}", refusals.join("\n  "))
}

/// The history of a script in virtual time, or why it has none.
fn simulated(script: &Script) -> Result<String, String> {
    let outcome = play(script, Ending::AtOnce).unwrap();
    if !outcome.stuck.is_empty() {
        return Err(format!("stuck in the simulator: {:?}", outcome.stuck));
    }
    let refusals: Vec<String> = outcome
        .timeline
        .moments
        .iter()
        .filter_map(|moment| match &moment.what {
            Happening::Line { text } => text.strip_prefix("refused: ").map(str::to_owned),
            _ => None,
        })
        .collect();
    Ok(told(&Trace::of(&outcome.store, &outcome.rests), &refusals))
}

/// What the two histories of a script differ in; none if they are the same.
async fn compare(scenario: &Scenario) -> Option<String> {
    // A play has a runtime of its own, with a clock of its own.
    let script = scenario.script.clone();
    let wanted = match tokio::task::spawn_blocking(move || simulated(&script)).await.unwrap() {
        Ok(wanted) => wanted,
        Err(stuck) => return Some(format!("{}: {stuck}\n", scenario.name)),
    };
    let found = RefCell::new(None);
    test(&scenario.name, async |world| {
        let played = real::play(world, &scenario.script).await;
        let got = told(&played.trace, &played.refusals);
        let stuck =
            played.stuck.map(|stuck| format!("stuck on the real cluster: {stuck}\n")).unwrap_or_default();
        if wanted != got || !stuck.is_empty() {
            let lines = difference::lines(&wanted, &got);
            *found.borrow_mut() = Some(format!("{}: {stuck}(- simulator, + real)\n{lines}", scenario.name));
        }
    })
    .await;
    found.into_inner()
}

#[tokio::test]
async fn every_scenario_goes_the_same_way_on_both_clusters() {
    let scenarios = scenarios();
    let differences: Vec<String> = futures::stream::iter(&scenarios)
        .map(|scenario| async move {
            let compared = AssertUnwindSafe(compare(scenario)).catch_unwind().await;
            compared.unwrap_or_else(|_| Some(format!("{}: it could not be played\n", scenario.name)))
        })
        .buffer_unordered(at_once())
        .filter_map(|different| async move { different })
        .collect()
        .await;
    println!(
        "conformance: {} scenarios on both clusters ({:?}), {} differences",
        scenarios.len(),
        bed().hold,
        differences.len()
    );
    assert!(!scenarios.is_empty(), "no scenario was compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_quick_ones_exist() {
    let all = scenario::all(&bed().root().join("tests/scenarios")).unwrap();
    for name in QUICK {
        assert!(all.iter().any(|it| it.name == name && it.simulator_only.is_none()), "{name}");
    }
}
