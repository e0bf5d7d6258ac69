//! Whole rollouts with faults, by seed: the invariants hold after every step, and every one of them ends.
//!
//! `WINDLASS_SEEDS` says how many (2,000 in `make test`); `make soak` runs far more of them, optimised. The first seed
//! that breaks something ends it; `WINDLASS_SHRINK` says how many plays are spent on making its script smaller.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this is test code: it has settings, and prints what it counted"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use windlass_sim::{Ending, Soaked, Statistics, play, rehearse, seed};

/// With so many seeds everything that analyses can come to has come up.
const ENOUGH: u64 = 300;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn whatever_breaks_the_invariants_hold_and_every_rollout_ends() {
    let seeds = number("WINDLASS_SEEDS", 300);
    let tries = usize::try_from(number("WINDLASS_SHRINK", 300)).unwrap();
    let next = AtomicU64::new(0);
    let all = std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let work = || {
            let mut soaked = Soaked::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds {
                    return soaked;
                }
                soaked.play(seed, tries);
                if !soaked.broken.is_empty() {
                    next.store(seeds, Ordering::Relaxed);
                }
            }
        };
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut all = Soaked::default();
        for worker in workers {
            all.add(worker.join().unwrap());
        }
        all
    });
    println!("seeds: {all}");
    assert!(all.broken.is_empty(), "{all}");
    assert_eq!(all.seeds, seeds);
    if seeds >= ENOUGH {
        let Statistics { verdicts, answers, .. } = &all.statistics;
        for verdict in ["Successful", "Inconclusive", "Error", "Failed"] {
            assert!(verdicts.contains_key(verdict), "no analysis was {verdict}: {verdicts:?}");
        }
        for answer in ["good", "bad", "nan", "empty", "error", "late", "flapping"] {
            assert!(answers.contains_key(answer), "no metric was {answer}: {answers:?}");
        }
    }
}

#[test]
fn the_whole_controller_keeps_the_invariants_too() {
    let seeds = number("WINDLASS_WHOLE_SEEDS", 20);
    let mut all = Statistics::default();
    for seed in 0..seeds {
        let script = seed::script(seed);
        let rehearsed = rehearse(&script).unwrap();
        all.add(&rehearsed.statistics);
        let found: Vec<String> = rehearsed.violations.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "seed {seed}:\n{}\n{script}", found.join("\n"));
    }
    let Statistics { requests, verdicts, .. } = &all;
    println!(
        "seeds of the whole controller: {seeds} rollouts, {requests} requests, 0 violations, analyses {verdicts:?}"
    );
    assert!(seeds < 10 || !verdicts.is_empty(), "no analysis came to a verdict");
}

#[test]
fn a_seed_gives_the_same_history_every_time() {
    for seed in 0..20 {
        let history = || {
            let outcome = play(&seed::script(seed), Ending::WhenStable).unwrap();
            serde_json::to_string(&outcome.timeline).unwrap()
        };
        assert_eq!(history(), history(), "seed {seed}");
    }
}
