//! What is decided, one sentence per test: the rows of DESIGN section 7, and the transitions of a rollout as that table
//! changes them.

mod world;

use jiff::SignedDuration;
use windlass_engine::{
    AbortCause, Amount, Announcement, Answer, Deadline, Expose, Flaw, Hold, Intent, Intents, Journey, Memo,
    Outcome, Part, Plan, Reason, Refusal, Rejection, Rounding, Run, Seen, Stage, Standing, WorkloadUid,
    decide, reject_words,
};
use world::{Driver, HOLD, Rules, World, epoch, revision};

fn weight(percent: u32) -> Stage {
    let expose = Expose { amount: Amount::Percent(percent), rounding: Rounding::DownAtLeastOne };
    Stage { expose: Some(expose), ..Stage::default() }
}

fn pause() -> Stage {
    Stage { hold: Some(Hold::UntilPromoted), ..Stage::default() }
}

fn pause_for(seconds: i64) -> Stage {
    Stage { hold: Some(Hold::For(SignedDuration::from_secs(seconds))), ..Stage::default() }
}

fn plan(stages: &[Stage]) -> Plan {
    Plan {
        stages: stages.to_vec(),
        background: None,
        obstacles: Vec::new(),
        paused: false,
        deadline: Deadline { after: SignedDuration::from_mins(10), abort: false },
        cautions: Vec::new(),
    }
}

/// Five pods on `A` that know of `B`, not yet looked at since.
fn changed(stages: &[Stage]) -> Driver {
    let mut driver = Driver::new(Rules::default(), 5, plan(stages));
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    driver
}

/// The same, gone as far as it goes by itself.
fn under_way(stages: &[Stage]) -> Driver {
    let mut driver = changed(stages);
    driver.run();
    driver
}

/// The first exposed pod is up on `B` and does not become ready.
fn stuck(abort: bool) -> Driver {
    let mut driver = changed(&[weight(20), pause()]);
    driver.plan.deadline.abort = abort;
    driver.world.broken = Some(revision("B"));
    driver.run();
    assert_eq!(driver.world.on("B"), [4]);
    driver
}

fn journey(driver: &Driver) -> Option<&Journey> {
    driver.memo.run.as_ref().map(|run| &run.journey)
}

fn outcome(driver: &Driver) -> Option<Outcome> {
    driver.memo.ended.as_ref().map(|ended| ended.outcome)
}

fn is_overdue(driver: &mut Driver) -> bool {
    let decision = driver.look();
    let says = decision.reasons().any(|reason| matches!(reason, Reason::Overdue { .. }));
    assert_eq!(says, decision.standing == Standing::Degraded);
    says
}

/// The pods the loop deleted, by ordinal.
fn freed(driver: &Driver) -> Vec<&str> {
    driver.world.freed.iter().filter_map(|uid| uid.as_str().split('-').next()).collect()
}

#[test]
fn a_new_template_moves_no_pod_before_the_first_step() {
    let driver = changed(&[weight(20)]);
    assert_eq!((driver.world.partition, driver.world.marked), (HOLD, true));
    assert_eq!(driver.world.on("B"), [] as [u32; 0]);
}

#[test]
fn weights_are_reached_step_by_step_and_the_run_ends_healthy() {
    let mut driver = under_way(&[weight(20), pause(), weight(60), pause()]);
    assert_eq!(driver.world.on("B"), [4]);
    assert_eq!(driver.look().standing, Standing::Paused);
    driver.promote();
    driver.run();
    assert_eq!(driver.world.on("B"), [2, 3, 4]);
    driver.promote();
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!(driver.world.on("B").len(), 5);
    assert_eq!((driver.world.partition, driver.world.marked), (0, false));
    assert_eq!(outcome(&driver), Some(Outcome::Completed));
    let holds = driver.told.iter().filter(|told| matches!(told, Announcement::HoldBegan { .. })).count();
    assert_eq!(holds, 2);
}

#[test]
fn without_the_admission_policy_the_partition_rests_at_hold() {
    let mut driver = Driver::new(Rules { guarded: false, ..Rules::default() }, 3, plan(&[weight(50)]));
    driver.look();
    driver.world.change_template("B");
    driver.world.sync();
    assert_eq!(driver.world.on("B"), [] as [u32; 0]);
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!((driver.world.on("B").len(), driver.world.partition), (3, HOLD));
}

#[test]
fn without_the_admission_policy_a_partition_that_was_lowered_at_rest_is_put_back() {
    let mut driver = Driver::new(Rules { guarded: false, ..Rules::default() }, 3, plan(&[weight(50)]));
    driver.look();
    driver.world.partition = 0;
    driver.run();
    assert_eq!(driver.world.partition, HOLD);
}

#[test]
fn a_weight_is_not_reached_before_its_pods_are_available() {
    let mut driver = stuck(false);
    let decision = driver.look();
    assert_eq!(Driver::codes(&decision)[0], "WaitingForPods");
    assert_eq!(journey(&driver), Some(&Journey::Advancing { stage: 0, part: Part::Expose }));
}

#[test]
fn a_timed_hold_ends_by_itself_and_wakes_the_loop() {
    let mut driver = under_way(&[weight(20), pause_for(300)]);
    let decision = driver.look();
    let Some(Reason::HoldUntil { stage: 1, until }) = decision.reasons().next().cloned() else {
        panic!("{decision:#?}")
    };
    assert_eq!(decision.wake, Some(until));
    driver.world.now = until;
    assert_eq!(driver.run().standing, Standing::Healthy);
}

#[test]
fn abort_returns_every_updated_pod_to_stable_one_at_a_time() {
    let mut driver = under_way(&[weight(60), pause()]);
    assert_eq!(Driver::answer(&driver.abort(), Intent::Abort), Some(Answer::Accepted));
    for _ in 0..30 {
        driver.world.tend();
        driver.look();
        let seen = driver.world.observe();
        assert!(seen.pods().filter(|pod| !pod.is_available(driver.world.now)).count() <= 1);
    }
    assert_eq!(freed(&driver), ["4", "3", "2"], "newest ordinal first");
    assert_eq!(driver.world.on("A").len(), 5);
    assert_eq!(driver.world.template, revision("B"), "the template is left alone");
    assert!(matches!(journey(&driver), Some(Journey::Aborted { cause: AbortCause::Person, stage: 1, .. })));
    assert!(driver.told.contains(&Announcement::Reverted { stable: revision("A") }));
}

#[test]
fn abort_wins_over_a_persons_pause() {
    let mut driver = under_way(&[weight(60), pause()]);
    driver.plan.paused = true;
    driver.abort();
    driver.run();
    assert_eq!(driver.world.on("A").len(), 5);
    assert!(matches!(journey(&driver), Some(Journey::Aborted { .. })));
}

#[test]
fn abort_wins_over_what_else_is_asked_at_the_same_moment() {
    let mut driver = under_way(&[weight(60), pause()]);
    let promote = driver.hold_shown();
    let decision = driver.ask(Intents { abort: true, restart: true, promote_full: true, promote });
    assert_eq!(Driver::answer(&decision, Intent::Abort), Some(Answer::Accepted));
    for intent in [Intent::Restart, Intent::PromoteFull, Intent::Promote] {
        assert_eq!(Driver::rejection(&decision, intent), Some(Rejection::AbortWins), "{intent:?}");
    }
}

#[test]
fn a_second_abort_is_refused() {
    let mut driver = under_way(&[weight(60), pause()]);
    driver.abort();
    assert_eq!(Driver::rejection(&driver.abort(), Intent::Abort), Some(Rejection::AlreadyAborted));
}

#[test]
fn abort_after_completion_is_refused_and_names_undo() {
    let mut driver = under_way(&[weight(50)]);
    let decision = driver.abort();
    assert_eq!(Driver::rejection(&decision, Intent::Abort), Some(Rejection::Completed));
    assert!(reject_words(Intent::Abort, &Rejection::Completed).contains("undo"));
    assert_eq!((decision.standing, decision.next), (Standing::Healthy, None));
}

#[test]
fn abort_when_every_pod_is_updated_is_refused_and_deletes_nothing() {
    let mut driver = under_way(&[weight(100), pause()]);
    let decision = driver.abort();
    assert_eq!(Driver::rejection(&decision, Intent::Abort), Some(Rejection::StableForgotten));
    assert!(reject_words(Intent::Abort, &Rejection::StableForgotten).contains("undo"));
    driver.run();
    assert_eq!((freed(&driver).len(), driver.world.on("B").len()), (0, 5));
}

#[test]
fn aborted_revision_stays_degraded_until_restart() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.abort();
    assert_eq!(driver.run().standing, Standing::Degraded);
    driver.world.generation += 1; // somebody applies the same template again
    let decision = driver.run();
    assert_eq!((decision.standing, decision.next), (Standing::Degraded, None));
    assert_eq!(Driver::answer(&driver.restart(), Intent::Restart), Some(Answer::Accepted));
    assert_eq!(driver.run().standing, Standing::Paused);
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn restarts_are_counted_and_a_new_target_counts_anew() {
    let mut driver = under_way(&[weight(20), pause()]);
    for restarts in 1..=3 {
        driver.abort();
        driver.run();
        driver.restart();
        let run = driver.memo.run.as_ref().unwrap();
        assert_eq!((run.restarts, run.restarted_at), (restarts, Some(driver.world.now)));
        assert!(matches!(run.journey, Journey::Advancing { stage: 0, .. }));
        driver.run();
    }
    driver.world.change_template("C");
    driver.run();
    assert_eq!(driver.memo.run.as_ref().map(|run| run.restarts), Some(0));
}

#[test]
fn restart_without_an_abort_is_refused() {
    let mut driver = under_way(&[weight(20), pause()]);
    assert_eq!(Driver::rejection(&driver.restart(), Intent::Restart), Some(Rejection::NotAborted));
}

#[test]
fn another_revision_after_an_abort_starts_a_new_run() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.abort();
    driver.run();
    driver.world.change_template("C");
    assert_eq!(driver.run().standing, Standing::Paused);
    assert_eq!(driver.world.on("C"), [4]);
}

#[test]
fn the_template_put_back_after_an_abort_is_healthy_at_once() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.abort();
    driver.run();
    let freed_before = freed(&driver).len();
    driver.world.change_template("A");
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!((outcome(&driver), freed(&driver).len()), (Some(Outcome::Returned), freed_before));
}

#[test]
fn a_new_target_goes_back_to_stage_zero_and_strays_return_to_stable() {
    let mut driver = under_way(&[weight(20), weight(60), pause()]);
    assert_eq!(driver.world.on("B"), [2, 3, 4]);
    driver.plan = plan(&[weight(20), pause(), weight(60), pause()]);
    driver.world.change_template("C");
    driver.world.sync();
    driver.look();
    assert!(matches!(journey(&driver), Some(Journey::Advancing { stage: 0, part: Part::Expose })));
    driver.run();
    assert_eq!((driver.world.on("C"), driver.world.on("A")), (vec![4], vec![0, 1, 2, 3]));
    let (abandoned, target) = (revision("B"), revision("C"));
    assert!(driver.told.contains(&Announcement::Superseded { abandoned, target }));
    assert_eq!(outcome(&driver), Some(Outcome::Superseded));
}

#[test]
fn template_put_back_to_stable_skips_steps_and_pauses() {
    let mut driver = under_way(&[weight(20), weight(60), pause()]);
    driver.world.change_template("A");
    driver.told.clear();
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!(driver.world.on("A").len(), 5);
    let (abandoned, stable) = (revision("B"), revision("A"));
    let told =
        [Announcement::Returning { abandoned, stable: stable.clone() }, Announcement::Returned { stable }];
    assert_eq!(driver.told, told);
}

#[test]
fn promotion_is_void_when_the_target_changed() {
    let mut driver = under_way(&[weight(20), pause()]);
    let promote = driver.hold_shown();
    driver.world.change_template("C");
    driver.world.sync();
    let decision = driver.ask(Intents { promote: promote.clone(), ..Intents::default() });
    assert_eq!(Driver::rejection(&decision, Intent::Promote), Some(Rejection::TargetChanged));
    driver.run();
    let decision = driver.ask(Intents { promote, ..Intents::default() });
    assert_eq!(Driver::rejection(&decision, Intent::Promote), Some(Rejection::TargetChanged));
    assert_eq!(driver.world.on("C"), [4]);
}

#[test]
fn a_promotion_given_for_one_pause_does_not_open_the_next() {
    let mut driver = under_way(&[weight(20), pause(), pause()]);
    let promote = driver.hold_shown();
    driver.promote();
    let decision = driver.ask(Intents { promote, ..Intents::default() });
    assert!(Driver::rejection(&decision, Intent::Promote).is_some());
    assert!(matches!(journey(&driver), Some(Journey::Advancing { stage: 2, part: Part::Hold { .. } })));
}

#[test]
fn full_promotion_skips_all_steps_and_lifts_a_persons_pause() {
    let mut driver = under_way(&[weight(20), pause(), weight(40), pause()]);
    driver.plan.paused = true;
    let decision = driver.promote_full();
    assert!(decision.lift_pause);
    assert_eq!(Driver::answer(&decision, Intent::PromoteFull), Some(Answer::Accepted));
    assert_eq!(driver.run().standing, Standing::Healthy);
}

#[test]
fn a_paused_rollout_is_left_alone_and_goes_on_where_it_was() {
    let mut driver = changed(&[weight(20), pause()]);
    driver.plan.paused = true;
    let decision = driver.run();
    assert_eq!(Driver::codes(&decision)[0], "PausedByPerson");
    assert_eq!((decision.standing, decision.next), (Standing::Paused, None));
    assert_eq!(driver.world.on("B"), [] as [u32; 0]);
    driver.plan.paused = false;
    driver.run();
    assert_eq!(driver.world.on("B"), [4]);
}

#[test]
fn the_deadline_counts_from_the_last_progress_and_not_during_pauses() {
    let mut driver = stuck(false);
    driver.world.pass(500);
    assert!(!is_overdue(&mut driver));
    driver.plan.paused = true;
    driver.look();
    driver.world.pass(5000);
    assert!(!is_overdue(&mut driver));
    driver.plan.paused = false;
    assert!(!is_overdue(&mut driver), "the clock starts anew after a pause");
    driver.world.pass(599);
    assert!(!is_overdue(&mut driver));
    driver.world.pass(1);
    assert!(is_overdue(&mut driver));
    assert_eq!(driver.told.iter().filter(|told| **told == Announcement::Overdue).count(), 1);
}

#[test]
fn a_hold_for_a_person_does_not_run_into_the_deadline() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.world.pass(100_000);
    let decision = driver.look();
    assert_eq!((decision.standing, decision.wake), (Standing::Paused, None));
}

#[test]
fn a_deadline_that_aborts_puts_everything_back() {
    let mut driver = stuck(true);
    driver.world.pass(601);
    driver.look();
    assert!(driver.told.contains(&Announcement::Aborted { cause: AbortCause::Deadline }));
    driver.run();
    assert_eq!((freed(&driver), driver.world.on("A").len()), (vec!["4"], 5));
    assert!(matches!(journey(&driver), Some(Journey::Aborted { cause: AbortCause::Deadline, .. })));
}

#[test]
fn late_progress_clears_overdue() {
    let mut driver = stuck(false);
    driver.world.pass(601);
    assert!(is_overdue(&mut driver));
    driver.world.broken = None;
    assert_eq!(driver.run().standing, Standing::Paused);
}

#[test]
fn raising_the_deadline_helps() {
    let mut driver = stuck(false);
    driver.world.pass(601);
    assert!(is_overdue(&mut driver));
    driver.plan.deadline.after = SignedDuration::from_hours(1);
    assert!(!is_overdue(&mut driver));
}

#[test]
fn a_new_target_resets_the_deadline() {
    let mut driver = stuck(false);
    driver.world.pass(601);
    assert!(is_overdue(&mut driver));
    driver.world.change_template("C");
    driver.world.sync();
    assert!(!is_overdue(&mut driver));
}

#[test]
fn lowering_a_weight_moves_pods_back() {
    let mut driver = under_way(&[weight(60), pause()]);
    driver.plan = plan(&[weight(20), pause()]);
    driver.run();
    assert_eq!((driver.world.on("B"), freed(&driver)), (vec![4], vec!["3", "2"]));
}

#[test]
fn a_weight_that_falls_after_every_pod_was_updated_waits_for_a_person() {
    let mut driver = under_way(&[weight(100), weight(40), pause()]);
    assert_eq!(Driver::codes(&driver.look()), ["StableForgotten"]);
    assert_eq!(freed(&driver), [""; 0]);
}

#[test]
fn scaling_in_the_middle_of_a_run_keeps_the_weight() {
    let mut driver = under_way(&[weight(40), pause()]);
    driver.world.scale(10);
    driver.run();
    assert_eq!(driver.world.on("B"), [6, 7, 8, 9]);
    driver.world.scale(5);
    driver.run();
    assert_eq!(driver.world.on("B"), [3, 4]);
    assert!(matches!(journey(&driver), Some(Journey::Advancing { stage: 1, .. })));
}

#[test]
fn scaling_to_zero_parks_the_run() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.world.scale(0);
    let decision = driver.run();
    assert_eq!((decision.standing, Driver::codes(&decision)), (Standing::Paused, vec!["ParkedAtZero"]));
    assert!(matches!(journey(&driver), Some(Journey::Advancing { .. })));
    driver.world.scale(5);
    driver.run();
    assert_eq!((driver.world.on("B"), driver.world.on("A")), (vec![4], vec![0, 1, 2, 3]));
}

#[test]
fn a_broken_pod_of_the_abandoned_revision_is_freed() {
    let mut driver = stuck(false);
    driver.world.change_template("C");
    driver.run();
    assert_eq!((driver.world.on("C"), freed(&driver)), (vec![4], vec!["4"]));
}

#[test]
fn a_pod_that_came_back_wrong_is_not_deleted_twice() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.abort();
    for _ in 0..4 {
        driver.world.tend();
        driver.world.tamper(4);
        driver.look();
    }
    let decision = driver.look();
    assert_eq!(Driver::codes(&decision), ["CameBackWrong"]);
    assert_eq!((freed(&driver).len(), decision.standing), (1, Standing::Degraded));
}

#[test]
fn renamed_revisions_of_the_same_meaning_start_no_run() {
    let mut driver = Driver::new(Rules::default(), 3, plan(&[weight(20), pause()]));
    driver.look();
    driver.world.aliases.insert(revision("B"), revision("A"));
    driver.world.change_template("B");
    assert_eq!(driver.run().standing, Standing::Healthy);
    assert_eq!((driver.memo.run.as_ref(), driver.told.len()), (None, 0));
}

#[test]
fn pods_that_slipped_ahead_are_named() {
    let mut driver = Driver::new(Rules::default(), 3, plan(&[weight(0), pause()]));
    driver.world.claimed = false; // the policy matches the label alone
    driver.world.change_template("B");
    driver.world.sync();
    driver.world.tend();
    assert_eq!(driver.world.on("B"), [2]);
    driver.run();
    assert!(driver.told.contains(&Announcement::Unguarded { pods: vec![World::name(2)] }));
    assert_eq!((driver.world.on("A").len(), driver.world.claimed), (3, true));
}

#[test]
fn a_workload_made_again_starts_anew() {
    let mut driver = under_way(&[weight(20), pause()]);
    driver.memo.workload = Some(WorkloadUid::new("former"));
    driver.look();
    assert!(matches!(driver.told.last(), Some(Announcement::HoldBegan { .. })));
    assert_eq!(driver.memo.run.as_ref().map(|run| run.started_at), Some(driver.world.now));
}

#[test]
fn what_cannot_be_managed_is_left_alone_and_every_intent_is_turned_down() {
    let run = Run::start(epoch(), revision("B"), revision("A"));
    let memo = Memo { run: Some(run), ..Memo::default() };
    let intents = Intents { abort: true, restart: true, ..Intents::default() };
    let missing = Seen::Refused {
        refusal: Refusal::Missing { workload: "StatefulSet web".to_owned() },
        checks: Vec::new(),
    };
    let flaws = [Flaw::new("no steps")];
    for plan in [Ok(&plan(&[weight(20)])), Err(&flaws[..])] {
        let decision = decide(epoch(), plan, &missing, &memo, &intents);
        assert_eq!((&decision.memo, decision.next.as_ref()), (&memo, None));
        assert_eq!(decision.standing, Standing::Degraded);
        for intent in intents.asked() {
            assert_eq!(Driver::rejection(&decision, intent), Some(Rejection::CannotAct));
        }
    }
}
