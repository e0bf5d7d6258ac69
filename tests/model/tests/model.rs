//! Every state of a few small worlds. Each test is one world: what holds, the plan, and how often what may happen. See
//! the head of `windlass_model` for what is in them and what is not.
#![expect(clippy::print_stdout, reason = "how many states were visited is part of the result")]
#![expect(clippy::panic, reason = "a finding fails the test, with the way to it")]

use std::time::Instant;

use windlass_engine::{Amount, Deadline, Expose, Hold, Plan, Rounding, Stage};
use windlass_model::moments::LONG;
use windlass_model::search::search;
use windlass_model::set::Holder;
use windlass_model::world::{Budget, World};

/// Two templates, two presses of any buttons, one crash.
const BUDGET: Budget = Budget { templates: 2, presses: 2, crashes: 1, failures: 0, stalls: 0, delays: 0 };

fn stage(pods: u32, hold: Option<Hold>) -> Stage {
    let expose = Expose { amount: Amount::Count(pods), rounding: Rounding::Up };
    Stage { expose: Some(expose), hold, ..Stage::default() }
}

fn plan(stages: [Stage; 2]) -> Plan {
    let deadline = Deadline { after: LONG, abort: true };
    Plan {
        stages: stages.into(),
        background: None,
        obstacles: Vec::new(),
        paused: false,
        deadline,
        cautions: Vec::new(),
    }
}

/// One pod until a person promotes, two for a while, then all.
fn holding() -> Plan {
    plan([stage(1, Some(Hold::UntilPromoted)), stage(2, Some(Hold::For(LONG)))])
}

/// One pod, then at once all, until a person promotes.
fn hasty() -> Plan {
    plan([stage(1, None), stage(3, Some(Hold::UntilPromoted))])
}

/// More presses than in every run, for those who have time.
fn more_presses() -> u8 {
    std::env::var("WINDLASS_MODEL_MORE").ok().and_then(|more| more.parse().ok()).unwrap_or(0)
}

fn check(name: &str, holder: Holder, plan: Plan, budget: Budget) {
    let budget = Budget { presses: budget.presses + more_presses(), ..budget };
    let began = Instant::now();
    let seen = search(&World::new(holder, plan, budget)).unwrap_or_else(|found| panic!("{name}: {found}"));
    assert!(seen.ends.contains_key("healthy") && seen.ends.contains_key("aborted"), "{:?}", seen.ends);
    let ends: Vec<String> = seen.ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
    println!(
        "model check, {name}: {} states, {} transitions, depth {}, no violation, {:.1} s; ends: {}",
        grouped(seen.states),
        grouped(seen.transitions),
        seen.depth,
        began.elapsed().as_secs_f64(),
        ends.join(", "),
    );
}

/// With a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[test]
fn every_button_at_every_moment_breaks_nothing_and_ends_in_rest() {
    check("every button", Holder::Policy, holding(), Budget { presses: 3, ..BUDGET });
}

#[test]
fn the_same_without_mutating_policies() {
    check("partition holds", Holder::Partition, holding(), BUDGET);
}

#[test]
fn the_same_with_stages_that_do_not_hold() {
    check("stages without holds", Holder::Policy, hasty(), BUDGET);
}

#[test]
fn the_same_when_a_pod_fails() {
    check("a pod fails", Holder::Policy, holding(), Budget { presses: 1, failures: 1, ..BUDGET });
}

#[test]
fn the_same_on_watches_that_stand_still() {
    check("watches stand still", Holder::Policy, holding(), Budget { presses: 1, stalls: 1, ..BUDGET });
}

#[test]
fn the_same_when_the_deadline_passes() {
    check("the deadline passes", Holder::Policy, holding(), Budget { delays: 1, ..BUDGET });
}
