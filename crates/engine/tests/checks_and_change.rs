//! Checks of a run that is changed under way: its steps, its policies, its pods, what its checks are made from, and who
//! looks at it.

mod world;

use windlass_engine::{
    Announcement, Background, Check, CheckPlace, Flaw, Intent, Intents, Journey, OnError, Refusal, Rejection,
    Seen, Verdict, decide,
};
use world::checked::{
    attempts, check, checking, conclude, holding, journey, missing_template, pause, plan, under_way, watched,
    weight,
};
use world::driver::Crash;
use world::{Driver, Rules};

#[test]
fn a_pause_that_is_replaced_by_a_check_is_left_when_the_check_has_passed() {
    let mut driver = holding();
    driver.plan.stages[1] = check(OnError::Abort);
    driver.run();
    assert_eq!(driver.world.on("B"), [4]);
    assert!(driver.world.measures());
    conclude(&mut driver, Verdict::Successful);
    assert_eq!(driver.world.on("B").len(), 5);
}

#[test]
fn a_check_that_is_put_before_the_pause_runs_first_and_the_pause_holds_after_it() {
    let mut driver = holding();
    driver.plan.stages.insert(1, check(OnError::Abort));
    driver.run();
    assert!(driver.world.measures());
    conclude(&mut driver, Verdict::Successful);
    assert_eq!(Driver::codes(&driver.look()), ["HoldForPerson"]);
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn a_check_that_a_pause_took_the_place_of_and_that_is_put_back_measures_anew() {
    let mut driver = checking(OnError::Abort);
    driver.plan.stages[1] = pause();
    driver.run();
    conclude(&mut driver, Verdict::Successful);
    driver.plan.stages[1] = check(OnError::Abort);
    driver.run();
    assert_eq!(attempts(&driver), [0, 1]);
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn with_no_pods_nothing_is_judged_and_a_check_measures_anew_when_there_are_some() {
    for verdict in [Verdict::Successful, Verdict::Inconclusive, Verdict::Error, Verdict::Failed] {
        for mut driver in [checking(OnError::Abort), watched(OnError::Abort)] {
            driver.world.scale(0);
            conclude(&mut driver, verdict);
            assert_eq!(Driver::codes(&driver.look()), ["ParkedAtZero"], "{verdict:?}");
            assert!(matches!(journey(&driver), Some(Journey::Advancing { .. })), "{verdict:?}");
            driver.world.scale(5);
            driver.run();
            assert_eq!(attempts(&driver), [0, 1], "{verdict:?}");
            assert!(driver.world.measures(), "{verdict:?}");
            assert_eq!(driver.world.on("B"), [4], "{verdict:?}");
        }
    }
}

#[test]
fn a_check_that_measures_when_the_last_pod_goes_is_ended() {
    let mut driver = checking(OnError::Abort);
    driver.world.scale(0);
    driver.run();
    assert!(!driver.world.measures());
}

#[test]
fn what_a_person_was_asked_before_the_last_pod_went_is_still_asked_when_there_are_some() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Inconclusive);
    driver.world.scale(0);
    driver.run();
    driver.world.scale(5);
    let held = driver.run();
    assert_eq!(Driver::codes(&held), ["AnalysisUndecided"]);
    assert_eq!(attempts(&driver), [0]);
}

#[test]
fn a_background_check_that_is_taken_out_and_put_back_measures_anew() {
    let mut driver = watched(OnError::Abort);
    let background = driver.plan.background.take();
    driver.run();
    conclude(&mut driver, Verdict::Successful);
    driver.plan.background = background;
    driver.run();
    assert_eq!(attempts(&driver), [0, 1]);
    assert!(driver.world.measures());
}

#[test]
fn a_background_check_that_is_put_back_before_it_was_ended_goes_on() {
    let mut driver = watched(OnError::Abort);
    let background = driver.plan.background.take();
    driver.look_until(Crash::BeforeMove);
    driver.plan.background = background;
    driver.run();
    assert_eq!(attempts(&driver), [0]);
    assert!(driver.world.measures());
}

#[test]
fn a_check_that_asked_a_person_is_measured_again_when_the_policy_becomes_that() {
    let mut driver = checking(OnError::Pause);
    conclude(&mut driver, Verdict::Error);
    assert_eq!(Driver::codes(&driver.look()), ["AnalysisUndecided"]);
    driver.plan.stages[1] = check(OnError::Retry);
    let again = driver.look();
    assert_eq!(Driver::codes(&again), ["AnalysisError"]);
    driver.world.now = again.wake.unwrap();
    driver.run();
    conclude(&mut driver, Verdict::Successful);
    assert_eq!(driver.world.on("B").len(), 5);
}

#[test]
fn whoever_promotes_fully_skips_a_check_that_cannot_be_begun() {
    for place in [CheckPlace::Stage(1), CheckPlace::Background] {
        let background = Background { check: Check::default(), from: 0 };
        let mut driver = under_way(plan(&[weight(20), check(OnError::Abort), weight(100)], Some(background)));
        driver.plan.obstacles = vec![missing_template(place)];
        driver.run();
        driver.promote_full();
        driver.run();
        assert_eq!(driver.world.on("B").len(), 5, "{place:?}");
    }
}

#[test]
fn what_a_check_is_made_from_may_go_once_the_check_has_passed() {
    let stages = [weight(20), check(OnError::Abort), pause(), weight(100)];
    let mut driver = under_way(plan(&stages, None));
    conclude(&mut driver, Verdict::Successful);
    driver.plan.obstacles = vec![missing_template(CheckPlace::Stage(1))];
    driver.promote();
    driver.run();
    assert_eq!(driver.world.on("B").len(), 5);
}

#[test]
fn what_a_later_check_is_made_from_is_missed_before_its_stage_comes() {
    let mut driver = holding();
    driver.plan.stages.insert(2, check(OnError::Abort));
    driver.plan.obstacles = vec![missing_template(CheckPlace::Stage(2))];
    let held = driver.run();
    assert!(Driver::codes(&held).contains(&"InvalidSpec"), "{:?}", Driver::codes(&held));
}

#[test]
fn a_check_that_another_has_begun_meanwhile_is_not_ended() {
    let stages = [weight(20), pause(), check(OnError::Abort), weight(100)];
    let mut driver = Driver::new(Rules::default(), 5, plan(&stages, None));
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver.run();
    let behind = driver.memo.clone();
    driver.promote();
    driver.run();
    assert!(driver.world.measures());
    driver.memo = behind;
    assert_eq!(driver.look().next, None);
    assert!(driver.world.measures());
}

fn missing(driver: &Driver) -> Seen {
    let refusal = Refusal::Missing { workload: "StatefulSet web".to_owned() };
    Seen::Refused { refusal, checks: driver.world.checks.clone() }
}

/// The workload is not there, and what is decided about that is done until nothing is left to do.
fn while_it_is_gone(driver: &mut Driver, plan: Result<(), &[Flaw]>) -> usize {
    let mut ended = 0;
    loop {
        let plan = plan.map(|()| &driver.plan);
        let gone = decide(driver.world.now, plan, &missing(driver), &driver.memo, &Intents::default());
        driver.memo = gone.memo;
        let Some(next) = gone.next else { return ended };
        driver.world.apply(&next);
        ended += 1;
    }
}

#[test]
fn when_the_workload_is_gone_what_measures_is_ended_one_after_another() {
    let background = Background { check: Check::default(), from: 0 };
    let mut driver = under_way(plan(&[weight(20), check(OnError::Abort), weight(100)], Some(background)));
    let before = journey(&driver).cloned();
    assert_eq!(while_it_is_gone(&mut driver, Ok(())), 2);
    assert!(!driver.world.measures());
    let run = driver.memo.run.as_ref().unwrap();
    assert_eq!((run.stage(), before.is_some()), (Some(1), true), "nothing else is forgotten");
}

#[test]
fn when_the_workload_is_gone_what_measures_is_ended_though_the_plan_makes_no_sense() {
    let mut driver = watched(OnError::Abort);
    let flaws = [Flaw::new("RolloutPlugin spec.strategy is required")];
    assert_eq!(while_it_is_gone(&mut driver, Err(&flaws)), 1);
    assert!(!driver.world.measures());
}

#[test]
fn what_was_ended_because_the_workload_was_gone_has_not_passed_when_it_is_there_again() {
    for mut driver in [checking(OnError::Abort), watched(OnError::Abort)] {
        while_it_is_gone(&mut driver, Ok(()));
        conclude(&mut driver, Verdict::Successful);
        assert_eq!(attempts(&driver), [0, 1]);
        assert!(driver.world.measures());
        assert_eq!(driver.world.on("B"), [4]);
    }
}

#[test]
fn what_is_said_of_a_workload_that_is_gone_by_who_had_measured_before_counts() {
    let mut driver = checking(OnError::Abort);
    driver.world.conclude(Verdict::Failed);
    assert_eq!(while_it_is_gone(&mut driver, Ok(())), 0);
    driver.run();
    assert!(driver.world.on("B").is_empty());
}

#[test]
fn a_background_check_that_had_passed_and_is_taken_out_and_put_back_measures_anew() {
    let mut driver = watched(OnError::Abort);
    conclude(&mut driver, Verdict::Successful);
    let background = driver.plan.background.take();
    driver.run();
    driver.plan.background = background;
    driver.run();
    assert_eq!(attempts(&driver), [0, 1]);
    assert!(driver.world.measures());
}

#[test]
fn nobody_is_asked_twice_about_a_check_that_was_taken_out_after_they_had_decided() {
    let mut driver = watched(OnError::Abort);
    conclude(&mut driver, Verdict::Inconclusive);
    driver.plan.paused = true;
    driver.promote();
    driver.look();
    let background = driver.plan.background.take();
    driver.run();
    (driver.plan.background, driver.plan.paused) = (background, false);
    driver.run();
    assert_eq!(attempts(&driver), [0, 1]);
    let asked = driver.told.iter().filter(|told| matches!(told, Announcement::Undecided { .. }));
    assert_eq!(asked.count(), 1);
}

#[test]
fn a_policy_that_becomes_abort_while_there_are_no_pods_turns_nothing_round_before_there_are_some() {
    let mut driver = checking(OnError::Pause);
    conclude(&mut driver, Verdict::Error);
    driver.world.scale(0);
    driver.run();
    driver.plan.stages[1] = check(OnError::Abort);
    driver.run();
    assert!(matches!(journey(&driver), Some(Journey::Advancing { .. })));
    driver.world.scale(5);
    driver.run();
    assert!(matches!(journey(&driver), Some(Journey::Aborted { .. })));
}

#[test]
fn a_promotion_of_a_pause_that_became_a_check_is_turned_down_and_the_check_measures() {
    let mut driver = holding();
    driver.pending.promote = driver.hold_shown();
    driver.plan.stages[1] = check(OnError::Abort);
    let answered = driver.look();
    assert_eq!(Driver::rejection(&answered, Intent::Promote), Some(Rejection::NoRun));
    driver.run();
    assert!(driver.world.measures());
    assert_eq!(driver.world.on("B"), [4]);
}
