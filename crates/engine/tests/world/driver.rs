//! The loop around the engine: looks, decides, stores the memo, and only then makes the move. It can be killed between
//! any two of these, and it checks what every look must fulfil.

use std::collections::BTreeSet;

use windlass_engine::{
    Announcement, Answer, Decision, Intent, Intents, Memo, Move, Order, Plan, PodUid, Promotion, Reason,
    Rejection, Seen, Standing, Verdict, audit, decide,
};

use super::{Rules, World};

/// Where the loop is killed, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    Not,
    BeforeMemo,
    BeforeMove,
    /// The move was made, but its answer was lost: it is sent again.
    LostAnswer,
}

pub(crate) struct Driver {
    pub(crate) world: World,
    pub(crate) plan: Plan,
    pub(crate) memo: Memo,
    pub(crate) pending: Intents,
    /// Everything announced, in order.
    pub(crate) told: Vec<Announcement>,
    /// The hold that was shown last.
    pub(crate) shown: Option<Promotion>,
    uids: BTreeSet<PodUid>,
}

impl Driver {
    pub(crate) fn new(rules: Rules, replicas: u32, plan: Plan) -> Self {
        Self {
            world: World::at_rest(rules, replicas),
            plan,
            memo: Memo::default(),
            pending: Intents::default(),
            told: Vec::new(),
            shown: None,
            uids: BTreeSet::new(),
        }
    }

    /// What would be decided about the world as it is.
    pub(crate) fn decide(&self) -> Decision {
        let seen = Seen::Workload(self.world.observe());
        decide(self.world.now, Ok(&self.plan), &seen, &self.memo, &self.pending)
    }

    /// One look at the world as it is, with everything that must hold at every look.
    pub(crate) fn look(&mut self) -> Decision {
        self.look_until(Crash::Not)
    }

    pub(crate) fn look_until(&mut self, crash: Crash) -> Decision {
        let seen = self.world.observe();
        let workload = Seen::Workload(seen.clone());
        let now = self.world.now;
        let decision = decide(now, Ok(&self.plan), &workload, &self.memo, &self.pending);
        let again = decide(now, Ok(&self.plan), &workload, &self.memo, &self.pending);
        assert_eq!(decision, again, "the same input gives the same decision");
        let found = audit(now, &self.plan, &seen, &self.memo, &self.pending, &decision);
        assert!(
            found.is_empty(),
            "{found:?}\nplan {:?}\nseen {seen:?}\nmemo {:?}\nintents {:?}\ndecision {decision:?}",
            self.plan,
            self.memo,
            self.pending,
        );
        self.check_second_look(&workload, &decision);
        Self::check_memo_survives(&decision.memo);
        // Before the memo: an intent that is consumed while the pause stays would be half an answer.
        if decision.lift_pause {
            self.plan.paused = false;
        }
        match decision.order {
            // The memo is found again from the record at the next look.
            Order::MoveFirst => self.make_move(&decision, crash),
            Order::MemoFirst if crash == Crash::BeforeMemo => {}
            Order::MemoFirst => self.carry_out(&decision, crash),
        }
        decision
    }

    fn carry_out(&mut self, decision: &Decision, crash: Crash) {
        self.memo = decision.memo.clone();
        self.pending = Intents::default();
        self.told.extend(decision.announcements.iter().cloned());
        if let Some(promotion) = self.hold_shown() {
            self.shown = Some(promotion);
        }
        self.make_move(decision, crash);
    }

    fn make_move(&mut self, decision: &Decision, crash: Crash) {
        let Some(next) = decision.next.as_ref().filter(|_| crash != Crash::BeforeMove) else { return };
        if let Move::Free(free) = next {
            assert!(self.uids.insert(free.uid.clone()), "I2: {free:?} is deleted a second time");
        }
        self.world.apply(next);
        if crash == Crash::LostAnswer {
            self.world.apply(next);
        }
    }

    /// Rule 7: the same world, looked at again, gives nothing new to remember or tell, and asks for the same move.
    fn check_second_look(&self, seen: &Seen, first: &Decision) {
        if first.lift_pause {
            return; // the plan is about to change
        }
        let second = decide(self.world.now, Ok(&self.plan), seen, &first.memo, &Intents::default());
        assert_eq!(
            second.memo, first.memo,
            "rule 7: the memo is still on its way\nfirst {first:?}\nseen {seen:?}"
        );
        assert_eq!(
            second.next, first.next,
            "rule 7: another move on the same input\nfirst {first:?}\nseen {seen:?}"
        );
        assert_eq!(second.announcements, [], "rule 7: told again\nfirst {first:?}\nseen {seen:?}");
        assert_eq!(second.standing, first.standing, "rule 7: another word\nfirst {first:?}\nseen {seen:?}");
    }

    #[expect(clippy::unwrap_used, reason = "a memo that cannot be stored fails the test")]
    fn check_memo_survives(memo: &Memo) {
        let text = serde_json::to_string(memo).unwrap();
        assert_eq!(serde_json::from_str::<Memo>(&text).unwrap(), *memo, "{text}");
        assert_eq!(serde_json::to_string(memo).unwrap(), text);
    }

    /// The hold a person would see now.
    pub(crate) fn hold_shown(&self) -> Option<Promotion> {
        let run = self.memo.run.as_ref()?;
        let shown = run.holding_since().is_some() || run.undecided.is_some();
        shown.then(|| Promotion { target: run.target.clone(), stage: run.stage() })
    }

    /// Asks for something, and looks.
    pub(crate) fn ask(&mut self, intents: Intents) -> Decision {
        self.pending = intents;
        self.look()
    }

    pub(crate) fn abort(&mut self) -> Decision {
        self.ask(Intents { abort: true, ..Intents::default() })
    }

    pub(crate) fn restart(&mut self) -> Decision {
        self.ask(Intents { restart: true, ..Intents::default() })
    }

    pub(crate) fn promote_full(&mut self) -> Decision {
        self.ask(Intents { promote_full: true, ..Intents::default() })
    }

    pub(crate) fn promote(&mut self) -> Decision {
        let promote = self.hold_shown();
        assert!(promote.is_some(), "no hold is shown: {:#?}", self.memo);
        self.ask(Intents { promote, ..Intents::default() })
    }

    /// Looks and lets the world get on, until nothing is left to do but wait for time or a person.
    pub(crate) fn run(&mut self) -> Decision {
        for _ in 0..400 {
            let decision = self.look();
            let before = self.world.observe();
            self.world.tend();
            if decision.next.is_none() && before == self.world.observe() && self.is_quiet() {
                return self.look();
            }
        }
        unreachable!("400 looks were not enough: {:#?}\n{:#?}", self.memo, self.world)
    }

    /// The same, until so many pods are exposed; they need not be there yet.
    pub(crate) fn run_until_exposed(&mut self, pods: u32) {
        for _ in 0..400 {
            if self.world.observe().exposed() >= pods {
                return;
            }
            self.look();
            self.world.tend();
        }
        unreachable!("400 looks were not enough: {:#?}\n{:#?}", self.memo, self.world)
    }

    fn is_quiet(&self) -> bool {
        let seen = Seen::Workload(self.world.observe());
        let next = decide(self.world.now, Ok(&self.plan), &seen, &self.memo, &Intents::default());
        next.next.is_none() && next.memo == self.memo
    }

    pub(crate) fn codes(decision: &Decision) -> Vec<&'static str> {
        decision.reasons().map(Reason::code).collect()
    }

    /// How an intent was answered in this decision.
    pub(crate) fn answer(decision: &Decision, asked: Intent) -> Option<Answer> {
        decision.announcements.iter().find_map(|told| match told {
            Announcement::Answered { intent, answer } if *intent == asked => Some(answer.clone()),
            _ => None,
        })
    }

    pub(crate) fn rejection(decision: &Decision, asked: Intent) -> Option<Rejection> {
        match Self::answer(decision, asked)? {
            Answer::Rejected(rejection) => Some(rejection),
            Answer::Accepted => None,
        }
    }

    /// I9: no more disturbance, a person at hand: the run ends, or says who has to help.
    pub(crate) fn comes_to_an_end(&mut self) -> bool {
        self.plan.paused = false;
        self.plan.obstacles.clear();
        for _ in 0..600 {
            self.pending.promote = self.hold_shown();
            let decision = self.look();
            let over = match decision.standing {
                Standing::Healthy => self.memo.run.is_none(),
                _ => decision.reasons().any(|reason| match reason {
                    Reason::Aborted { .. } => self.is_all_stable(),
                    Reason::HoldForPerson { .. } | Reason::Undecided(_) | Reason::PausedByPerson => false,
                    reason => reason.needs_person(),
                }),
            };
            if over && decision.next.is_none() {
                return true;
            }
            let before = self.world.observe();
            self.world.conclude(Verdict::Successful);
            self.world.tend();
            if let Some(wake) = decision.wake.filter(|_| before == self.world.observe()) {
                self.world.now = self.world.now.max(wake);
            }
        }
        false
    }

    fn is_all_stable(&self) -> bool {
        let Some(run) = &self.memo.run else { return false };
        self.world.observe().pods().all(|pod| pod.is_on(&run.stable))
    }
}
