//! The second opinion on checks: decisions that `decide` does not come to, made by hand.

mod world;

use windlass_engine::{
    AbortCause, Announcement, Background, Blame, Check, CheckMove, CheckPlace, Decision, Ending, Exposure,
    Intents, Journey, Move, OnError, Outcome, Part, Verdict, Violation, audit,
};
use world::Driver;
use world::checked::{check, checking, conclude, holding, plan, under_way, watched, weight};

/// What is found in the decision of the next look, after somebody has tampered with it.
fn found(driver: &Driver, tamper: impl FnOnce(&mut Decision)) -> Vec<Violation> {
    let mut decision = driver.decide();
    tamper(&mut decision);
    let seen = driver.world.observe();
    audit(driver.world.now, &driver.plan, &seen, &driver.memo, &Intents::default(), &decision)
}

/// Turns the run round because of the check with that number.
fn blame(driver: &Driver, number: usize) -> impl FnOnce(&mut Decision) + use<> {
    let check = driver.world.checks[number].clone();
    let at = driver.world.now;
    move |decision| {
        let Some(run) = &mut decision.memo.run else { return };
        let stage = run.stage().unwrap_or_default();
        run.journey = Journey::Aborting { cause: AbortCause::Check, at, stage };
        run.blame = Some(Blame {
            place: check.id.place,
            name: check.name,
            verdict: Verdict::Failed,
            why: String::new(),
        });
        decision.next = None;
        decision.announcements = vec![Announcement::Aborted { cause: AbortCause::Check }];
    }
}

#[test]
fn a_run_that_was_turned_round_because_of_an_outage_needs_the_policy_for_it() {
    for policy in [OnError::Pause, OnError::Retry] {
        let mut driver = checking(policy);
        conclude(&mut driver, Verdict::Error);
        assert_eq!(found(&driver, blame(&driver, 0)), [Violation::AbortedUnproven], "{policy:?}");
    }
    let mut driver = checking(OnError::Abort);
    driver.world.conclude(Verdict::Error);
    assert_eq!(found(&driver, blame(&driver, 0)), []);
}

#[test]
fn an_attempt_that_the_run_has_behind_it_is_not_to_blame() {
    let mut driver = checking(OnError::Retry);
    conclude(&mut driver, Verdict::Error);
    driver.world.pass(10);
    driver.run();
    driver.plan.stages[1] = check(OnError::Abort);
    assert_eq!(found(&driver, blame(&driver, 0)), [Violation::AbortedUnproven]);
}

#[test]
fn a_check_that_the_plan_does_not_ask_for_is_not_to_blame() {
    let mut driver = watched(OnError::Abort);
    driver.world.conclude(Verdict::Failed);
    driver.plan.background = None;
    assert_eq!(found(&driver, blame(&driver, 0)), [Violation::AbortedUnproven]);
}

#[test]
fn the_check_of_another_stage_is_not_to_blame() {
    let mut driver = checking(OnError::Abort);
    driver.world.conclude(Verdict::Failed);
    driver.world.checks[0].id.place = CheckPlace::Stage(0);
    driver.plan.stages[0].check = Some(Check::default());
    assert_eq!(found(&driver, blame(&driver, 0)), [Violation::AbortedUnproven]);
}

#[test]
fn nobody_is_to_blame_while_there_are_no_pods() {
    let mut driver = checking(OnError::Abort);
    driver.world.conclude(Verdict::Failed);
    driver.world.scale(0);
    assert!(found(&driver, blame(&driver, 0)).contains(&Violation::AbortedUnproven));
}

#[test]
fn an_outage_that_aborts_is_not_ignored() {
    let mut driver = checking(OnError::Abort);
    driver.world.conclude(Verdict::Error);
    let (before, id) = (driver.memo.clone(), driver.world.checks[0].id);
    let ignored = found(&driver, |decision| {
        decision.memo = before;
        decision.announcements.clear();
        decision.next = None;
    });
    assert_eq!(ignored, [Violation::VerdictIgnored(id)]);
}

/// Leaves the stage that the run is at.
fn leave(decision: &mut Decision) {
    let Some(run) = &mut decision.memo.run else { return };
    if let Journey::Advancing { stage, .. } = run.journey {
        run.journey = Journey::Advancing { stage: stage + 1, part: Part::Expose };
    }
    decision.next = None;
}

#[test]
fn a_stage_is_not_left_because_of_an_attempt_before_the_present_one() {
    let mut driver = checking(OnError::Retry);
    conclude(&mut driver, Verdict::Error);
    driver.world.pass(10);
    driver.run();
    let (first, second) = (driver.world.checks[0].clone(), driver.world.checks[1].clone());
    driver.world.conclude(Verdict::Successful);
    driver.world.checks[0].state = driver.world.checks[1].state.clone();
    driver.world.checks[1].state = second.state;
    assert_ne!(first.state, driver.world.checks[0].state);
    assert_eq!(found(&driver, leave), [Violation::CheckSkipped(1)]);
}

#[test]
fn a_hold_that_became_a_check_is_not_left_as_a_hold_is() {
    let mut driver = holding();
    driver.plan.stages[1] = check(OnError::Abort);
    let skipped = found(&driver, |decision| {
        decision.announcements.clear();
        leave(decision);
    });
    assert_eq!(skipped, [Violation::CheckSkipped(1)]);
}

#[test]
fn a_check_that_was_asked_to_end_is_not_listened_to_again() {
    let mut driver = watched(OnError::Abort);
    let background = driver.plan.background.take();
    driver.run();
    driver.plan.background = background;
    let id = driver.world.checks[0].id;
    let adopted = found(&driver, |decision| {
        if let Some(run) = &mut decision.memo.run {
            run.background = Some(0);
        }
        decision.next = None;
    });
    assert_eq!(adopted, [Violation::AdoptedEnded(id)]);
}

#[test]
fn a_check_that_is_ahead_of_the_memo_is_not_to_be_ended() {
    let background = Background { check: Check::default(), from: 0 };
    let driver = under_way(plan(&[weight(20), check(OnError::Abort), weight(100)], Some(background)));
    let mut behind = driver;
    if let Some(run) = &mut behind.memo.run {
        run.journey = Journey::Advancing { stage: 0, part: Part::Expose };
    }
    let of_the_stage = behind.world.checks.iter().find(|check| check.id.place == CheckPlace::Stage(1));
    let name = of_the_stage.map(|check| check.name.clone()).unwrap();
    let before = behind.memo.clone();
    let ended = found(&behind, |decision| {
        decision.memo = before;
        decision.announcements.clear();
        decision.next = Some(Move::Check(CheckMove::End(name.clone())));
    });
    assert_eq!(ended, [Violation::EndedInVain(name)]);
}

#[test]
fn a_run_is_not_completed_over_what_its_check_says() {
    for verdict in [Verdict::Failed, Verdict::Inconclusive, Verdict::Error] {
        let mut driver = watched(OnError::Abort);
        driver.promote();
        driver.run_until_exposed(5);
        driver.plan.paused = true;
        conclude(&mut driver, verdict);
        let (id, at) = (driver.world.checks[0].id, driver.world.now);
        let completed = |decision: &mut Decision| {
            let Some(run) = decision.memo.run.take() else { return };
            let outcome = Outcome::Completed;
            decision.memo.ended = Some(Ending { target: run.target.clone(), outcome, at });
            decision.announcements = vec![Announcement::Completed { target: run.target }];
        };
        assert_eq!(found(&driver, completed), [Violation::CompletedUnchecked(id)], "{verdict:?}");
    }
}

#[test]
fn nothing_more_is_exposed_before_a_check_that_follows_an_outage_has_measured() {
    let mut driver = watched(OnError::Retry);
    conclude(&mut driver, Verdict::Error);
    driver.promote();
    driver.world.pass(10);
    driver.run();
    let exposes = |decision: &mut Decision| decision.next = Some(Move::Expose(Exposure::First(2), None));
    assert!(found(&driver, exposes).contains(&Violation::ExposedUnchecked(Exposure::First(2))));
    driver.world.measure();
    assert!(!found(&driver, exposes).contains(&Violation::ExposedUnchecked(Exposure::First(2))));
}
