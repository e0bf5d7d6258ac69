//! Whatever happens to a set, its pods, its loop and its people: the invariants of DESIGN section 5 hold after every
//! step, and when the disturbance stops, the run ends.

mod world;

use jiff::SignedDuration;
use proptest::prelude::*;
use windlass_engine::{
    Amount, Background, Check, CheckPlace, Deadline, Expose, Flaw, Hold, Obstacle, OnError, Plan, Rounding,
    Stage, Verdict,
};
use world::driver::Crash;
use world::{Driver, Rules};

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    Look(Crash),
    Sync,
    Ready(u32),
    Fail(u32),
    Gone(u32),
    Evict(u32),
    /// Somebody's webhook gives a pod another revision than the set's controller did.
    Tamper(u32),
    /// The world gets better by one step, and somebody looks.
    Tend,
    Pass(i64),
    Template(&'static str),
    Scale(u32),
    /// What is measured comes to a verdict.
    Verdict(Verdict),
    /// Somebody deletes the checks.
    ChecksLost,
    /// Somebody breaks what the checks are made from, or mends it.
    Obstacle(Option<CheckPlace>),
    /// Somebody takes the label off.
    Unclaim,
    /// Somebody edits the steps.
    Edit(Plan),
    Pause(bool),
    Abort,
    Restart,
    PromoteFull,
    /// For the hold that is shown, or for one that was.
    Promote {
        late: bool,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => prop_oneof![
            6 => Just(Crash::Not), 1 => Just(Crash::BeforeMemo), 2 => Just(Crash::BeforeMove), 1 => Just(Crash::LostAnswer),
        ].prop_map(Event::Look),
        8 => Just(Event::Sync),
        4 => (0..9_u32).prop_map(Event::Ready),
        3 => (0..9_u32).prop_map(Event::Fail),
        3 => (0..9_u32).prop_map(Event::Gone),
        1 => (0..9_u32).prop_map(Event::Evict),
        3 => (0..9_u32).prop_map(Event::Tamper),
        24 => Just(Event::Tend),
        4 => prop_oneof![1..20_i64, 20..900_i64].prop_map(Event::Pass),
        3 => prop_oneof![Just("A"), Just("B"), Just("C")].prop_map(Event::Template),
        2 => (0..9_u32).prop_map(Event::Scale),
        4 => prop_oneof![
            4 => Just(Verdict::Successful), 1 => Just(Verdict::Failed), 2 => Just(Verdict::Inconclusive), 2 => Just(Verdict::Error),
        ].prop_map(Event::Verdict),
        1 => Just(Event::ChecksLost),
        2 => proptest::option::of(prop_oneof![
            2 => (0..4_usize).prop_map(CheckPlace::Stage), 1 => Just(CheckPlace::Background),
        ]).prop_map(Event::Obstacle),
        1 => Just(Event::Unclaim),
        1 => plan().prop_map(Event::Edit),
        2 => any::<bool>().prop_map(Event::Pause),
        1 => Just(Event::Abort),
        1 => Just(Event::Restart),
        1 => Just(Event::PromoteFull),
        3 => any::<bool>().prop_map(|late| Event::Promote { late }),
    ]
}

fn stage() -> impl Strategy<Value = Stage> {
    let amount = prop_oneof![(0..=100_u32).prop_map(Amount::Percent), (0..=5_u32).prop_map(Amount::Count)];
    let rounding = prop_oneof![Just(Rounding::DownAtLeastOne), Just(Rounding::Up)];
    let expose = (amount, rounding).prop_map(|(amount, rounding)| Expose { amount, rounding });
    let hold = prop_oneof![
        (0..120_i64).prop_map(|seconds| Hold::For(SignedDuration::from_secs(seconds))),
        Just(Hold::UntilPromoted),
    ];
    let parts = (
        proptest::option::weighted(0.8, expose),
        proptest::option::weighted(0.3, check()),
        proptest::option::of(hold),
    );
    parts.prop_map(|(expose, check, hold)| Stage { expose, route: None, check, hold })
}

fn check() -> impl Strategy<Value = Check> {
    prop_oneof![Just(OnError::Abort), Just(OnError::Pause), Just(OnError::Retry)]
        .prop_map(|on_error| Check { on_error })
}

fn plan() -> impl Strategy<Value = Plan> {
    let background = (check(), 0..4_usize).prop_map(|(check, from)| Background { check, from });
    let background = proptest::option::weighted(0.3, background);
    (proptest::collection::vec(stage(), 1..5), background, 60..900_i64, any::<bool>()).prop_map(
        |(stages, background, after, abort)| Plan {
            stages,
            background,
            obstacles: Vec::new(),
            paused: false,
            deadline: Deadline { after: SignedDuration::from_secs(after), abort },
            cautions: Vec::new(),
        },
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    (proptest::bool::weighted(0.7), any::<bool>(), any::<bool>(), prop_oneof![Just(0), Just(10)])
        .prop_map(|(guarded, keeps, parallel, min_ready)| Rules { guarded, keeps, parallel, min_ready })
}

fn happen(driver: &mut Driver, event: &Event) {
    match *event {
        Event::Look(crash) => {
            driver.look_until(crash);
        }
        Event::Sync => driver.world.sync(),
        Event::Ready(ordinal) => driver.world.make_ready(ordinal),
        Event::Fail(ordinal) => driver.world.make_fail(ordinal),
        Event::Gone(ordinal) => driver.world.make_gone(ordinal),
        Event::Evict(ordinal) => driver.world.evict(ordinal),
        Event::Tamper(ordinal) => driver.world.tamper(ordinal),
        Event::Tend => {
            driver.world.tend();
            driver.look();
        }
        Event::Pass(seconds) => driver.world.pass(seconds),
        Event::Template(template) => driver.world.change_template(template),
        Event::Scale(replicas) => driver.world.scale(replicas),
        Event::Verdict(verdict) => driver.world.conclude(verdict),
        Event::ChecksLost => driver.world.checks.clear(),
        Event::Obstacle(place) => {
            let obstacle = |place| Obstacle { place, flaw: Flaw::new("there is no such template") };
            driver.plan.obstacles = place.map(obstacle).into_iter().collect();
        }
        Event::Unclaim => driver.world.claimed = false,
        Event::Edit(ref plan) => {
            driver.plan = Plan { paused: driver.plan.paused, ..plan.clone() };
        }
        Event::Pause(paused) => driver.plan.paused = paused,
        Event::Abort => driver.pending.abort = true,
        Event::Restart => driver.pending.restart = true,
        Event::PromoteFull => driver.pending.promote_full = true,
        Event::Promote { late } => {
            driver.pending.promote = if late { driver.shown.clone() } else { driver.hold_shown() };
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_invariants_hold_and_the_run_ends(
        rules in rules(),
        replicas in 1..7_u32,
        plan in plan(),
        events in proptest::collection::vec(event(), 1..80),
    ) {
        let mut driver = Driver::new(rules, replicas, plan);
        driver.look();
        driver.world.change_template("B");
        for event in &events {
            happen(&mut driver, event);
            prop_assert!(driver.world.is_within_what_was_asked(), "I1 after {event:?}: {:?}", driver.world);
        }
        prop_assert!(driver.comes_to_an_end(), "I9: {:?}\n{:?}", driver.memo, driver.world);
        let rest = driver.look();
        prop_assert_eq!(rest.next, None, "rule 7: a write at rest");
        let goes_on = driver.memo.run.as_ref().is_some_and(|run| !run.is_aborted());
        prop_assert!(goes_on || !driver.world.measures(), "a check measures for nobody: {:?}", driver.world.checks);
    }

    #[test]
    fn an_undisturbed_run_completes_with_every_pod_on_the_target(
        rules in rules(),
        replicas in 1..7_u32,
        plan in plan(),
    ) {
        let ascends = (1..plan.stages.len()).all(|stage| {
            plan.exposure(stage - 1, replicas) <= plan.exposure(stage, replicas)
        });
        let mut driver = Driver::new(rules, replicas, plan);
        driver.look();
        driver.world.change_template("B");
        driver.world.sync();
        prop_assert!(driver.comes_to_an_end(), "{:?}\n{:?}", driver.memo, driver.world);
        // A plan that exposes everything and then less may find stable forgotten, and says so.
        if ascends {
            prop_assert_eq!(driver.world.on("B").len(), replicas as usize);
            prop_assert_eq!(driver.world.current.as_str(), "B");
            prop_assert!(driver.memo.run.is_none() && !driver.world.marked);
            prop_assert!(driver.world.freed.is_empty(), "nothing is deleted on the way up");
        }
    }
}
