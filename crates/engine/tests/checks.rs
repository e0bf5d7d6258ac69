//! Checks: what a verdict does to a run, one sentence per test.

mod world;

use jiff::SignedDuration;
use windlass_engine::{
    AbortCause, Announcement, Background, Check, CheckPlace, CheckState, Hold, Journey, OnError, Part,
    Reason, Stage, Standing, Verdict,
};
use world::checked::{
    check, checking, conclude, journey, missing_template, pause, plan, under_way, watched, weight,
};
use world::{Driver, Rules};

#[test]
fn a_check_is_begun_once_its_stage_is_exposed_and_the_stage_waits_for_it() {
    let mut driver = checking(OnError::Abort);
    assert_eq!(driver.world.checks.len(), 1);
    assert_eq!(driver.world.checks[0].id.place, CheckPlace::Stage(1));
    let waits = driver.look();
    assert_eq!(Driver::codes(&waits), ["AnalysisRunning"]);
    assert_eq!(waits.standing, Standing::Progressing);
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn a_check_that_passes_lets_the_run_go_on_to_its_end() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Successful);
    assert!(driver.told.iter().any(|told| matches!(told, Announcement::CheckPassed { stage: 1, .. })));
    assert_eq!(driver.world.on("B").len(), 5);
    assert!(driver.memo.run.is_none());
}

#[test]
fn a_check_that_fails_returns_every_updated_pod_and_is_blamed() {
    let mut driver = checking(OnError::Retry);
    conclude(&mut driver, Verdict::Failed);
    assert!(driver.world.on("B").is_empty());
    let aborted = driver.look();
    assert!(matches!(journey(&driver), Some(Journey::Aborted { cause: AbortCause::Check, stage: 1, .. })));
    let blame = aborted.reasons().find_map(|reason| match reason {
        Reason::Aborted { blame, .. } => blame.clone(),
        _ => None,
    });
    assert_eq!(blame.unwrap().why, "error rate 0.2 > 0.05");
}

#[test]
fn a_check_without_a_value_aborts_unless_its_policy_says_otherwise() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Error);
    assert!(driver.world.on("B").is_empty());
    assert!(matches!(journey(&driver), Some(Journey::Aborted { cause: AbortCause::Check, .. })));
}

#[test]
fn an_inconclusive_check_holds_everything_until_a_person_promotes() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Inconclusive);
    driver.world.pass(7200);
    let held = driver.look();
    assert_eq!(Driver::codes(&held), ["AnalysisUndecided"]);
    assert_eq!(held.standing, Standing::Paused);
    assert_eq!(driver.world.on("B"), [4]);
    driver.promote();
    driver.run();
    assert_eq!(driver.world.on("B").len(), 5);
}

#[test]
fn an_inconclusive_check_can_be_aborted() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Inconclusive);
    driver.abort();
    driver.run();
    assert!(driver.world.on("B").is_empty());
    assert!(driver.memo.run.as_ref().unwrap().undecided.is_none());
}

#[test]
fn a_check_without_a_value_holds_for_a_person_where_that_is_the_policy() {
    let mut driver = checking(OnError::Pause);
    conclude(&mut driver, Verdict::Error);
    assert_eq!(driver.look().standing, Standing::Paused);
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn a_check_without_a_value_is_begun_again_later_where_that_is_the_policy() {
    let mut driver = checking(OnError::Retry);
    let over = driver.world.now;
    conclude(&mut driver, Verdict::Error);
    let waits = driver.look();
    assert_eq!(Driver::codes(&waits), ["AnalysisError"]);
    assert_eq!(driver.world.checks.len(), 1);
    let wake = waits.wake.unwrap();
    assert_eq!(wake, over + SignedDuration::from_secs(10));
    driver.world.now = wake;
    driver.run();
    let attempts: Vec<u32> = driver.world.checks.iter().map(|check| check.id.attempt).collect();
    assert_eq!(attempts, [0, 1]);
    conclude(&mut driver, Verdict::Successful);
    assert_eq!(driver.world.on("B").len(), 5);
}

#[test]
fn the_time_of_a_check_does_not_count_against_the_deadline() {
    let mut driver = checking(OnError::Abort);
    driver.world.pass(86_400);
    assert_eq!(Driver::codes(&driver.look()), ["AnalysisRunning"]);
}

#[test]
fn a_pod_that_fails_under_a_check_counts_against_the_deadline() {
    let mut driver = checking(OnError::Abort);
    driver.world.make_fail(4);
    driver.look();
    driver.world.pass(601);
    assert_eq!(driver.look().standing, Standing::Degraded);
}

#[test]
fn a_pod_that_fails_while_a_check_measures_again_counts_against_the_deadline() {
    let mut driver = watched(OnError::Retry);
    driver.promote();
    driver.look();
    driver.world.make_fail(4);
    driver.world.sync();
    // Whoever cannot be reached cannot be measured: the check goes round and round, and the pod is what is wrong.
    let mut said = Vec::new();
    for _ in 0..7 {
        driver.world.conclude(Verdict::Error);
        for seconds in [0, 100, 0, 0] {
            driver.world.pass(seconds);
            said.extend(Driver::codes(&driver.look()).first().copied());
            driver.world.sync();
        }
    }
    assert!(said.contains(&"AnalysisError") && said.contains(&"AnalysisRunning"), "{said:?}");
    let waits = driver.look();
    assert_eq!(waits.standing, Standing::Degraded, "{waits:?}");
}

#[test]
fn a_background_check_without_a_value_that_somebody_deletes_holds_everything_until_there_is_one() {
    for paused in [false, true] {
        let mut driver = watched(OnError::Retry);
        driver.world.conclude(Verdict::Error);
        driver.look();
        driver.plan.paused = paused;
        driver.look();
        driver.world.checks.clear();
        driver.look();
        driver.plan.paused = false;
        driver.promote();
        driver.run();
        assert!(driver.world.measures());
        assert_eq!(driver.world.on("B"), [4], "paused: {paused}");
        driver.world.measure();
        driver.run();
        assert_eq!(driver.world.on("B").len(), 5, "paused: {paused}");
    }
}

#[test]
fn a_background_check_begins_before_the_first_pod_and_is_ended_with_the_run() {
    let mut driver = watched(OnError::Abort);
    driver.promote();
    driver.run();
    assert_eq!(driver.world.on("B").len(), 5);
    assert!(driver.memo.run.is_none());
    assert!(driver.world.checks[0].ending && driver.world.checks.len() == 1);
}

#[test]
fn a_background_check_begins_with_its_stage() {
    let background = Background { check: Check::default(), from: 2 };
    let plan = plan(&[weight(20), pause(), weight(60), pause(), weight(100)], Some(background));
    let mut driver = Driver::new(Rules::default(), 5, plan);
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver.run();
    assert!(driver.world.checks.is_empty());
    driver.promote();
    driver.run();
    assert_eq!(driver.world.checks.len(), 1);
}

#[test]
fn a_background_check_that_fails_aborts_even_in_a_hold() {
    let mut driver = watched(OnError::Abort);
    conclude(&mut driver, Verdict::Failed);
    assert!(driver.world.on("B").is_empty());
    assert!(matches!(journey(&driver), Some(Journey::Aborted { cause: AbortCause::Check, .. })));
}

#[test]
fn an_inconclusive_background_check_keeps_a_run_from_exposing_more() {
    let mut driver = watched(OnError::Abort);
    driver.promote();
    driver.world.conclude(Verdict::Inconclusive);
    driver.run();
    assert_eq!(driver.look().standing, Standing::Paused);
    let exposed = driver.world.on("B").len();
    assert!(exposed < 5, "everything is held, but {exposed} pods are updated");
    driver.promote();
    driver.run();
    assert_eq!(driver.world.on("B").len(), 5);
    assert_eq!(driver.world.checks.len(), 2, "the rest of the run is watched too");
}

#[test]
fn while_a_person_has_paused_the_rollout_a_failed_check_waits() {
    let mut driver = checking(OnError::Abort);
    driver.plan.paused = true;
    driver.look();
    conclude(&mut driver, Verdict::Failed);
    assert_eq!(driver.world.on("B"), [4]);
    driver.plan.paused = false;
    driver.run();
    assert!(driver.world.on("B").is_empty());
}

#[test]
fn checks_are_ended_by_an_abort_a_new_target_a_rollback_and_a_full_promotion() {
    type End = fn(&mut Driver);
    let ends: [(&str, End); 4] = [
        ("abort", |driver| drop(driver.abort())),
        ("new target", |driver| driver.world.change_template("C")),
        ("rollback", |driver| driver.world.change_template("A")),
        ("full promotion", |driver| drop(driver.promote_full())),
    ];
    for (what, end) in ends {
        let mut driver = watched(OnError::Abort);
        end(&mut driver);
        driver.world.sync();
        driver.run();
        assert!(driver.world.checks[0].ending, "{what}");
    }
}

#[test]
fn a_restart_checks_again_with_a_check_of_its_own() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Failed);
    driver.restart();
    driver.run();
    assert_eq!(driver.world.checks.len(), 2);
    assert_eq!(driver.world.checks[1].state, CheckState::Running);
    assert!(matches!(journey(&driver), Some(Journey::Advancing { stage: 1, part: Part::Check { .. } })));
}

#[test]
fn a_check_that_fails_when_nothing_can_be_put_back_asks_a_person() {
    let mut driver = under_way_to_the_end();
    conclude(&mut driver, Verdict::Failed);
    let asks = driver.look();
    assert_eq!(Driver::codes(&asks), ["AnalysisUndecided"]);
    assert_eq!(driver.world.on("B").len(), 5);
    driver.promote();
    driver.run();
    assert!(driver.memo.run.is_none());
}

/// Every pod is on `B`, the set's controller has forgotten `A`, and a check measures.
fn under_way_to_the_end() -> Driver {
    let rules = Rules { keeps: false, ..Rules::default() };
    let mut driver = Driver::new(rules, 5, plan(&[weight(100), check(OnError::Abort)], None));
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver.run();
    driver.world.sync();
    driver.run();
    assert_eq!(driver.world.current.as_str(), "B");
    driver
}

#[test]
fn while_a_check_cannot_be_begun_nothing_is_exposed_and_everything_can_be_put_back() {
    let mut driver = checking(OnError::Abort);
    driver.plan.obstacles = vec![missing_template(CheckPlace::Stage(1))];
    conclude(&mut driver, Verdict::Successful);
    let held = driver.look();
    assert_eq!(held.standing, Standing::Degraded);
    assert_eq!(Driver::codes(&held), ["InvalidSpec"]);
    assert_eq!(driver.world.on("B"), [4]);
    driver.abort();
    driver.run();
    assert!(driver.world.on("B").is_empty());
}

/// A controller whose news is late: it remembers less than what another has done meanwhile.
fn behind(mut driver: Driver, verdict: Verdict) -> Driver {
    driver.world.conclude(verdict);
    if let Some(run) = &mut driver.memo.run {
        run.journey = Journey::Advancing { stage: 0, part: Part::Expose };
        run.background = None;
    }
    driver
}

#[test]
fn a_verdict_that_is_there_when_a_check_begins_is_heeded_in_the_same_look() {
    let expected = [
        (Verdict::Successful, "Working"),
        (Verdict::Inconclusive, "AnalysisUndecided"),
        (Verdict::Failed, "Working"),
        (Verdict::Error, "AnalysisError"),
    ];
    for (verdict, code) in expected {
        let mut driver = behind(checking(OnError::Retry), verdict);
        let first = driver.look();
        assert_eq!(Driver::codes(&first), [code], "{verdict:?}");
    }
}

#[test]
fn a_verdict_that_is_there_when_a_background_check_begins_is_heeded_in_the_same_look() {
    for (verdict, code) in [(Verdict::Inconclusive, "AnalysisUndecided"), (Verdict::Failed, "Working")] {
        let mut driver = behind(watched(OnError::Abort), verdict);
        let first = driver.look();
        assert_eq!(Driver::codes(&first)[0], code, "{verdict:?}");
    }
}

#[test]
fn a_check_that_was_taken_out_of_the_plan_does_not_hide_what_another_says() {
    let background = Background { check: Check { on_error: OnError::Abort }, from: 0 };
    let mut driver = under_way(plan(&[weight(20), check(OnError::Abort), weight(100)], Some(background)));
    driver.world.conclude(Verdict::Inconclusive);
    driver.plan.stages[1] = Stage { hold: Some(Hold::For(SignedDuration::from_mins(1))), ..Stage::default() };
    let held = driver.look();
    assert!(Driver::codes(&held).contains(&"AnalysisUndecided"), "{:?}", Driver::codes(&held));
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn a_background_check_that_fails_in_a_pause_is_heeded_though_every_pod_is_there_meanwhile() {
    for (verdict, asked) in [
        (Verdict::Failed, "AnalysisUndecided"),
        (Verdict::Inconclusive, "AnalysisUndecided"),
        (Verdict::Error, "AnalysisUndecided"),
    ] {
        let mut driver = watched(OnError::Abort);
        driver.promote();
        driver.run_until_exposed(5);
        driver.plan.paused = true;
        conclude(&mut driver, verdict);
        assert_eq!(driver.world.on("B").len(), 5, "{verdict:?}");
        assert!(driver.memo.run.is_some(), "{verdict:?}");
        driver.plan.paused = false;
        let held = driver.run();
        assert_eq!(Driver::codes(&held), [asked], "{verdict:?}");
    }
}

#[test]
fn a_background_check_that_is_good_in_a_pause_lets_the_run_end_as_before() {
    let mut driver = watched(OnError::Abort);
    driver.promote();
    driver.run_until_exposed(5);
    driver.plan.paused = true;
    conclude(&mut driver, Verdict::Successful);
    driver.plan.paused = false;
    driver.run();
    assert!(driver.memo.run.is_none());
}

#[test]
fn a_background_check_that_could_not_be_measured_holds_everything_until_the_next_one_has_measured() {
    let mut driver = watched(OnError::Retry);
    conclude(&mut driver, Verdict::Error);
    driver.promote();
    let held = driver.run();
    assert_eq!(Driver::codes(&held), ["AnalysisError"]);
    driver.world.now = held.wake.unwrap();
    let held = driver.run();
    assert_eq!(Driver::codes(&held), ["AnalysisRunning"]);
    assert!(driver.world.measures());
    driver.world.pass(86_400);
    assert_eq!(Driver::codes(&driver.run()), ["AnalysisRunning"], "nothing goes on, and no deadline passes");
    assert_eq!(driver.world.on("B"), [4]);
    driver.world.measure();
    driver.run();
    assert_eq!(driver.world.on("B").len(), 5);
    assert!(driver.memo.run.is_none());
}

#[test]
fn whoever_goes_back_asks_nobody_and_measures_nothing_again() {
    for other in [Verdict::Inconclusive, Verdict::Error] {
        let background = Background { check: Check::default(), from: 0 };
        let stages = [weight(20), check(OnError::Retry), weight(100)];
        let mut driver = under_way(plan(&stages, Some(background)));
        let at = driver.world.now;
        for check in &mut driver.world.checks {
            let of_the_stage = matches!(check.id.place, CheckPlace::Stage(_));
            let verdict = if of_the_stage { other } else { Verdict::Failed };
            check.state = CheckState::Over { verdict, why: "it says so".to_owned(), at };
        }
        driver.world.pass(3600);
        driver.told.clear();
        driver.run();
        let asked = driver
            .told
            .iter()
            .filter(|told| matches!(told, Announcement::Undecided { .. } | Announcement::CheckAgain { .. }));
        assert_eq!(asked.count(), 0, "{other:?}: {:?}", driver.told);
        assert!(driver.world.on("B").is_empty(), "{other:?}");
    }
}

#[test]
fn a_person_who_decides_about_a_check_is_told_once_with_what_it_had_come_to() {
    let mut driver = checking(OnError::Abort);
    conclude(&mut driver, Verdict::Inconclusive);
    driver.promote();
    driver.run();
    let decided = driver
        .told
        .iter()
        .filter(|told| matches!(told, Announcement::Decided { verdict: Verdict::Inconclusive, .. }));
    assert_eq!(decided.count(), 1);
}
