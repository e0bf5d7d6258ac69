//! What the properties and the model check found, each made as small as it goes. A test stays here after its fault is mended.

mod world;

use jiff::SignedDuration;
use windlass_engine::{
    Amount, Announcement, Answer, Deadline, Expose, Exposure, Hold, Intent, Intents, Journey, Move, Part,
    Plan, PodUid, Rejection, Rounding, Seen, Stage, Standing, audit, decide,
};
use world::driver::Crash;
use world::{Driver, Rules, World, revision};

/// Servers without the admission policies: scaling to zero makes the target stable.
const BARE: Rules = Rules { guarded: false, keeps: false, parallel: false, min_ready: 0 };

fn plan(percent: u32) -> Plan {
    let expose = Expose { amount: Amount::Percent(percent), rounding: Rounding::Up };
    Plan {
        stages: vec![Stage { expose: Some(expose), hold: Some(Hold::UntilPromoted), ..Stage::default() }],
        background: None,
        obstacles: Vec::new(),
        paused: false,
        deadline: Deadline { after: SignedDuration::from_mins(1), abort: false },
        cautions: Vec::new(),
    }
}

fn changed(rules: Rules, replicas: u32, plan: Plan) -> Driver {
    let mut driver = Driver::new(rules, replicas, plan);
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver.look();
    driver
}

#[test]
fn full_promotion_past_the_steps_is_not_accepted_and_aborted_in_one_breath() {
    let mut driver = changed(Rules::default(), 2, plan(50));
    driver.plan.deadline.abort = true;
    driver.promote_full();
    driver.world.pass(60);
    driver.promote_full();
    assert_eq!(driver.memo.run.as_ref().map(|run| &run.journey), Some(&Journey::Completing));
}

#[test]
fn a_new_template_that_is_stable_already_starts_no_run() {
    let mut driver = changed(BARE, 1, plan(0));
    driver.world.scale(0);
    driver.world.tend();
    driver.world.tend();
    driver.look();
    driver.world.change_template("C");
    driver.world.tend();
    driver.look();
    assert_eq!((driver.world.current.as_str(), driver.memo.run.as_ref()), ("C", None));
}

#[test]
fn a_template_put_back_after_an_abort_is_not_called_returned_while_pods_are_off_it() {
    let mut driver = changed(BARE, 1, plan(0));
    driver.abort();
    driver.run();
    driver.world.scale(0);
    driver.world.tend();
    driver.world.tend();
    assert_eq!(driver.world.current.as_str(), "B");
    driver.world.scale(1);
    driver.world.tend();
    assert_eq!(driver.world.on("B"), [0]);
    driver.world.change_template("A");
    driver.world.sync();
    driver.look();
    assert!(!driver.told.contains(&Announcement::Returned { stable: revision("A") }));
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!(driver.world.on("A"), [0]);
}

#[test]
fn an_abort_is_not_called_done_while_surplus_pods_are_off_stable() {
    let mut driver = changed(Rules::default(), 2, plan(50));
    driver.run();
    assert_eq!(driver.world.on("B"), [1]);
    driver.world.scale(0);
    driver.abort();
    driver.world.sync();
    driver.look();
    assert!(matches!(driver.memo.run.as_ref().map(|run| &run.journey), Some(Journey::Aborting { .. })));
    driver.run();
    assert!(matches!(driver.memo.run.as_ref().map(|run| &run.journey), Some(Journey::Aborted { .. })));
}

#[test]
fn a_return_ends_also_when_the_set_is_scaled_to_zero() {
    let mut driver = changed(Rules::default(), 1, plan(100));
    driver.run();
    assert_eq!(Driver::rejection(&driver.abort(), Intent::Abort), Some(Rejection::StableForgotten));
    driver.world.change_template("A");
    driver.world.scale(0);
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!(driver.world.current.as_str(), "A");
}

#[test]
fn an_abort_does_not_delete_a_second_time_what_came_back_wrong() {
    let mut driver = changed(Rules::default(), 2, plan(50));
    driver.run();
    driver.plan = plan(0);
    for _ in 0..6 {
        driver.look();
        driver.world.tend();
        driver.world.tamper(1);
    }
    assert_eq!(Driver::codes(&driver.look()).last(), Some(&"CameBackWrong"));
    driver.abort();
    driver.look();
    assert_eq!(driver.world.freed.len(), 1);
}

/// Found by the simulator with a controller whose clock was behind: every pod looked young, and all were freed at once.
#[test]
fn ready_pods_on_probation_are_freed_one_at_a_time_as_well() {
    let rules = Rules { min_ready: 60, ..Rules::default() };
    let mut driver = changed(rules, 4, plan(75));
    driver.run();
    assert_eq!(driver.world.on("B"), [1, 2, 3]);
    for ordinal in [1, 2, 3] {
        driver.world.make_fail(ordinal);
        driver.world.make_ready(ordinal);
    }
    driver.abort();
    for _ in 0..4 {
        driver.world.sync();
        driver.look();
    }
    assert_eq!(driver.world.freed.len(), 1, "the others serve, though not for long enough yet");
    driver.run();
    assert_eq!(driver.world.on("A"), [0, 1, 2, 3]);
}

/// Found by the simulator: two pods of a bad version beyond the wanted number keep the set from scaling down, for ever.
#[test]
fn an_abort_frees_surplus_pods_that_are_stuck_on_the_target() {
    let mut driver = changed(Rules::default(), 4, plan(50));
    driver.run();
    assert_eq!(driver.world.on("B"), [2, 3]);
    driver.world.broken = Some(revision("B"));
    driver.world.make_fail(2);
    driver.world.make_fail(3);
    driver.world.scale(1);
    driver.run();
    assert_eq!(driver.world.on("B"), [2, 3], "the set's own controller is stuck");
    driver.abort();
    driver.run();
    assert_eq!((driver.world.on("A"), driver.world.on("B")), (vec![0], vec![]));
    assert!(matches!(driver.memo.run.as_ref().map(|run| &run.journey), Some(Journey::Aborted { .. })));
}

/// The first stage, at its very beginning.
const BEGINNING: Journey = Journey::Advancing { stage: 0, part: Part::Expose };

#[test]
fn what_was_asked_before_there_was_a_run_is_not_meant_for_it() {
    for intent in [Intent::PromoteFull, Intent::Abort] {
        let mut driver = Driver::new(Rules::default(), 3, plan(30));
        driver.look();
        driver.world.change_template("B");
        driver.world.sync();
        let (abort, promote_full) = (intent == Intent::Abort, intent == Intent::PromoteFull);
        let decision = driver.ask(Intents { abort, promote_full, ..Intents::default() });
        assert_eq!(Driver::rejection(&decision, intent), Some(Rejection::TargetChanged));
        assert_eq!(driver.memo.run.as_ref().map(|run| &run.journey), Some(&BEGINNING), "{intent:?}");
    }
}

#[test]
fn full_promotion_asked_of_an_aborted_run_is_not_meant_for_the_restarted_one() {
    let mut driver = changed(Rules::default(), 3, plan(30));
    driver.abort();
    driver.run();
    let decision = driver.ask(Intents { restart: true, promote_full: true, ..Intents::default() });
    assert_eq!(Driver::rejection(&decision, Intent::PromoteFull), Some(Rejection::Aborted));
    assert_eq!(Driver::answer(&decision, Intent::Restart), Some(Answer::Accepted));
    assert_eq!(driver.memo.run.as_ref().map(|run| &run.journey), Some(&BEGINNING));
}

fn tend_until(driver: &mut Driver, done: impl Fn(&World) -> bool) {
    for _ in 0..20 {
        if done(&driver.world) {
            return;
        }
        driver.world.tend();
    }
    unreachable!("{:#?}\n{:#?}", driver.memo, driver.world)
}

/// A pod freed on the way up came back right and is on its way out again, because the set itself replaces it now.
#[test]
fn an_abort_does_not_take_a_pod_that_is_being_replaced_for_one_that_came_back_wrong() {
    let mut driver = changed(Rules::default(), 3, plan(30));
    driver.world.sync();
    driver.promote_full();
    tend_until(&mut driver, |world| world.on("B").len() == 2);
    driver.world.change_template("C");
    driver.world.sync();
    driver.look();
    assert_eq!(driver.world.freed.len(), 1, "web-1 on B is down and blocks the others");
    driver.world.tend();
    driver.world.make_ready(1);
    driver.promote_full();
    tend_until(&mut driver, |world| world.on("A").len() == 1);
    driver.pending.abort = true;
    driver.look_until(Crash::BeforeMove);
    driver.world.tend();
    assert_eq!(driver.world.on("C"), [1, 2], "the set was faster than the hold");
    driver.run();
    assert_eq!(driver.world.on("A"), [0, 1, 2]);
}

/// Found by a scenario: in virtual time two runs can begin at the same moment.
#[test]
fn a_run_that_begins_at_the_moment_of_the_former_does_not_take_its_record_for_its_own() {
    let mut driver = changed(Rules::default(), 4, plan(75));
    driver.world.sync();
    driver.look();
    assert_eq!(driver.world.observe().exposed(), 3);
    let former = driver.world.observe().recorded.map(|record| record.run);
    driver.world.change_template("C");
    driver.world.sync();
    driver.look();
    let run = driver.memo.run.clone().unwrap();
    assert_eq!((run.target.as_str(), &run.journey), ("C", &BEGINNING));
    assert_ne!(former, Some(run.started_at));
}

/// Two broken pods of the target stand beyond the wanted number, and the template is put back.
fn put_back_with_broken_pods_beyond_the_wanted_number() -> Driver {
    let mut driver = changed(Rules::default(), 4, plan(50));
    driver.run();
    driver.world.broken = Some(revision("B"));
    driver.world.make_fail(2);
    driver.world.make_fail(3);
    driver.world.scale(1);
    driver.world.change_template("A");
    driver
}

/// Found by the simulator: the same with the template put back; nobody would have freed them once the run had ended.
#[test]
fn a_return_frees_surplus_pods_that_are_stuck_and_does_not_end_before() {
    let mut driver = put_back_with_broken_pods_beyond_the_wanted_number();
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!((driver.world.on("A"), driver.world.on("B")), (vec![0], vec![]));
    assert!(driver.told.contains(&Announcement::Returned { stable: revision("A") }));
}

/// Found by the soak: each look took the deletion of such a pod for a new one, and so for progress.
#[test]
fn a_surplus_pod_that_is_freed_is_progress_once() {
    let mut driver = put_back_with_broken_pods_beyond_the_wanted_number();
    driver.world.sync();
    for _ in 0..5 {
        driver.look();
        driver.world.sync();
    }
    let seen = driver.world.observe();
    let going: Vec<&PodUid> =
        seen.surplus.iter().filter(|pod| pod.is_terminating()).map(|pod| &pod.uid).collect();
    assert_eq!(driver.memo.run.as_ref().map(|run| run.freed.values().collect()), Some(going));
    let later = driver.world.now + SignedDuration::from_secs(30);
    let seen = Seen::Workload(seen);
    let again = decide(later, Ok(&driver.plan), &seen, &driver.memo, &Intents::default());
    assert_eq!(again.memo, driver.memo);
}

/// Found by the soak, and right: what was freed for one target has to go once more when the template is put back.
#[test]
fn a_pod_that_was_freed_for_the_target_may_be_freed_again_when_the_template_is_put_back() {
    let mut driver = changed(Rules::default(), 4, plan(50));
    driver.run();
    driver.world.broken = Some(revision("B"));
    driver.world.make_fail(3);
    driver.world.change_template("C");
    driver.world.sync();
    let freed = |driver: &Driver| driver.memo.run.as_ref().map(|run| run.freed.len()).unwrap_or_default();
    for _ in 0..20 {
        driver.look();
        if freed(&driver) > 0 {
            break;
        }
        driver.world.tend();
    }
    assert_eq!(freed(&driver), 1, "the broken pod is freed for the new version");
    driver.world.broken = Some(revision("C"));
    for _ in 0..5 {
        driver.world.tend();
    }
    driver.world.change_template("A");
    driver.world.sync();
    // Every pod is let go already, so the decision that turns round frees as well.
    let mut seen = driver.world.observe();
    seen.exposure = Exposure::First(4);
    let none = Intents::default();
    let decision =
        decide(driver.world.now, Ok(&driver.plan), &Seen::Workload(seen.clone()), &driver.memo, &none);
    assert!(matches!(&decision.next, Some(Move::Free(pod)) if pod.name.as_str() == "web-3"), "{decision:?}");
    assert_eq!(audit(driver.world.now, &driver.plan, &seen, &driver.memo, &none, &decision), []);
}
