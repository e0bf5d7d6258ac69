//! Runs with checks: the plans and the moments that tests about checks begin at.

use jiff::SignedDuration;
use windlass_engine::{
    Amount, Background, Check, CheckPlace, Deadline, Expose, Flaw, Hold, Journey, Obstacle, OnError, Plan,
    Rounding, Stage, Verdict,
};

use super::{Driver, Rules};

pub(crate) fn weight(percent: u32) -> Stage {
    let expose = Expose { amount: Amount::Percent(percent), rounding: Rounding::DownAtLeastOne };
    Stage { expose: Some(expose), ..Stage::default() }
}

pub(crate) fn check(on_error: OnError) -> Stage {
    Stage { check: Some(Check { on_error }), ..Stage::default() }
}

pub(crate) fn plan(stages: &[Stage], background: Option<Background>) -> Plan {
    Plan {
        stages: stages.to_vec(),
        background,
        obstacles: Vec::new(),
        paused: false,
        deadline: Deadline { after: SignedDuration::from_mins(10), abort: false },
        cautions: Vec::new(),
    }
}

/// Five pods, one of them on `B`, and a check that measures.
pub(crate) fn checking(on_error: OnError) -> Driver {
    under_way(plan(&[weight(20), check(on_error), weight(100)], None))
}

/// Five pods, one of them on `B`, a hold for a person, and a check in the background.
pub(crate) fn watched(on_error: OnError) -> Driver {
    let background = Background { check: Check { on_error }, from: 0 };
    under_way(plan(&[weight(20), pause(), weight(60), weight(100)], Some(background)))
}

pub(crate) fn under_way(plan: Plan) -> Driver {
    let mut driver = Driver::new(Rules::default(), 5, plan);
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver.run();
    assert_eq!(driver.world.on("B"), [4]);
    assert!(driver.world.measures());
    driver
}

pub(crate) fn conclude(driver: &mut Driver, verdict: Verdict) {
    driver.world.conclude(verdict);
    driver.run();
}

pub(crate) fn journey(driver: &Driver) -> Option<&Journey> {
    driver.memo.run.as_ref().map(|run| &run.journey)
}

pub(crate) fn pause() -> Stage {
    Stage { hold: Some(Hold::UntilPromoted), ..Stage::default() }
}

/// Five pods, one of them on `B`, and a hold for a person.
pub(crate) fn holding() -> Driver {
    let mut driver = Driver::new(Rules::default(), 5, plan(&[weight(20), pause(), weight(100)], None));
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver.run();
    driver
}

pub(crate) fn attempts(driver: &Driver) -> Vec<u32> {
    driver.world.checks.iter().map(|check| check.id.attempt).collect()
}

pub(crate) fn missing_template(place: CheckPlace) -> Obstacle {
    Obstacle { place, flaw: Flaw::new("AnalysisTemplate \"errors\" does not exist") }
}
