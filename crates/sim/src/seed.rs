//! From a seed to a script: a cluster, a rollout, and everything that may come between, at any moment.

mod checks;

use std::time::Duration;

use windlass_workloads::Holder;

use crate::chance::Chance;
use crate::script::{Behaviour, Deed, Fault, Given, GivenStep, Line, NodeState, Overdue, Script};
use crate::start::NAME;

/// The script of a seed.
pub fn script(seed: u64) -> Script {
    let mut chance = Chance::new(seed);
    let given = given(seed, &mut chance.fork(1));
    let mut lines = vec![Line::Do(Deed::Image(image(&mut chance)))];
    let count = chance.between(2, 14);
    for _ in 0..count {
        lines.push(Line::Pass(moment(&mut chance)));
        lines.push(if chance.one_in(2) {
            Line::Break(fault(&mut chance))
        } else {
            Line::Do(deed(&mut chance, &given))
        });
    }
    let mut script = Script { given, lines };
    checks::add(&mut script, seed);
    script
}

fn given(seed: u64, chance: &mut Chance) -> Given {
    let pods = u32::try_from(chance.between(1, 7)).unwrap_or(1);
    Given {
        pods,
        image: "app:v1".to_owned(),
        parallel: chance.one_in(3),
        min_ready: if chance.one_in(3) { Duration::from_secs(chance.between(1, 15)) } else { Duration::ZERO },
        first_ordinal: if chance.one_in(5) { 2 } else { 0 },
        on_delete: false,
        managed: true,
        steps: steps(chance),
        deadline: deadline(chance),
        holder: if chance.one_in(3) { Holder::Partition } else { Holder::Policy },
        nodes: 3,
        seed: Some(seed),
        ..Given::default()
    }
}

fn deadline(chance: &mut Chance) -> Option<(Duration, Overdue)> {
    let limit = Duration::from_secs(chance.between(20, 600));
    match chance.below(4) {
        0 => Some((limit, Overdue::Told)),
        1 => Some((limit, Overdue::Aborted)),
        _ => None,
    }
}

fn steps(chance: &mut Chance) -> Vec<GivenStep> {
    let mut weights: Vec<u64> = (0..chance.between(1, 4)).map(|_| chance.below(101)).collect();
    weights.sort_unstable();
    let mut steps = Vec::new();
    for weight in weights {
        steps.push(GivenStep::Weight(u32::try_from(weight).unwrap_or_default()));
        match chance.below(3) {
            0 => steps.push(GivenStep::Pause),
            1 => steps.push(GivenStep::PauseFor(Duration::from_secs(chance.between(1, 300)))),
            _ => {}
        }
    }
    steps
}

/// How long nothing is done: often a moment, sometimes minutes.
fn moment(chance: &mut Chance) -> Duration {
    match chance.below(5) {
        0 => Duration::ZERO,
        1 | 2 => Duration::from_millis(chance.below(2_000)),
        3 => Duration::from_millis(chance.below(20_000)),
        _ => Duration::from_secs(chance.below(400)),
    }
}

fn image(chance: &mut Chance) -> String {
    let version = chance.between(2, 4);
    let suffix = match chance.below(12) {
        0 => "-never",
        1 => "-crash",
        2 => "-pull",
        3 => "-flaky",
        4 | 5 => "-slow",
        6 => "-slow5",
        7 => "-sticky",
        _ => "",
    };
    format!("app:v{version}{suffix}")
}

fn deed(chance: &mut Chance, given: &Given) -> Deed {
    let some_pod = |chance: &mut Chance| {
        let ordinal = u64::from(given.first_ordinal) + chance.below(u64::from(given.pods) + 1);
        format!("{NAME}-{ordinal}")
    };
    match chance.below(28) {
        0..=3 => Deed::Promote,
        4 => Deed::PromoteFull,
        5..=7 => Deed::Abort,
        8 | 9 => Deed::Restart,
        10 => Deed::Pause,
        11 => Deed::Resume,
        12 | 13 => Deed::Image(image(chance)),
        14 => Deed::Image(given.image.clone()),
        15 | 16 => Deed::Scale(u32::try_from(chance.below(8)).unwrap_or_default()),
        17 => Deed::Steps(steps(chance)),
        18 => Deed::DeletePod(some_pod(chance)),
        19 => Deed::EvictPod(some_pod(chance)),
        20 => Deed::Partition(i64::try_from(chance.below(6)).unwrap_or_default()),
        21 => Deed::Reapply,
        22 => match chance.below(3) {
            0 => Deed::DeleteRollout,
            1 => Deed::CreateRollout,
            _ => Deed::SecondRollout,
        },
        23 => Deed::Quota(if chance.one_in(2) { None } else { Some(given.pods) }),
        24..=26 => Deed::Pod(some_pod(chance), behaviour(chance)),
        _ => {
            let node = format!("node-{}", chance.between(1, u64::from(given.nodes)));
            Deed::Node(node, if chance.one_in(2) { NodeState::Lost } else { NodeState::Back })
        }
    }
}

fn behaviour(chance: &mut Chance) -> Behaviour {
    match chance.below(7) {
        0 => Behaviour::Never,
        1 => Behaviour::Crash,
        2 | 3 => Behaviour::Flap,
        4 => Behaviour::Fail,
        5 => Behaviour::Slow(Duration::from_secs(chance.between(5, 90))),
        _ => Behaviour::Well,
    }
}

fn fault(chance: &mut Chance) -> Fault {
    let number = u32::try_from(chance.between(1, 8)).unwrap_or(1);
    match chance.below(20) {
        0..=2 => Fault::CrashBefore(number),
        3..=5 => Fault::CrashAfter(number),
        6..=8 => Fault::Lose(number),
        9..=11 => {
            let codes = [409, 410, 429, 500, 503, 504];
            Fault::Refuse(number, chance.pick(&codes).copied().unwrap_or(500))
        }
        12 => Fault::Hang(number),
        13 | 14 => Fault::Late(
            Duration::from_millis(chance.between(100, 15_000)),
            Duration::from_secs(chance.between(5, 120)),
        ),
        15 => Fault::Relist,
        16 => Fault::Repeat,
        17 | 18 => Fault::Stop(Duration::from_secs(chance.between(1, 60))),
        _ => Fault::Clock(i64::try_from(chance.below(240)).unwrap_or_default() - 120),
    }
}
