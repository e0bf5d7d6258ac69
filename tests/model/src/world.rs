//! The small world: one set, one rollout, one controller, one person, and everything that can happen between them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use windlass_engine::{Hold, Plan, Standing};

use crate::actions::Action;
use crate::look::{Looked, Request, Rollout, look};
use crate::memory::{SmallMemo, Way};
use crate::moments::Age;
use crate::names::rename;
use crate::search::Model;
use crate::set::{Does, Holder, PODS, Set, SmallPod, Version};

/// How often each disturbance may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// New templates.
    pub templates: u8,
    /// Buttons: promote, promote full, abort, restart, pause, resume.
    pub presses: u8,
    /// The controller ends in the middle of a request.
    pub crashes: u8,
    /// Pods that were ready are not any more.
    pub failures: u8,
    /// The controller's watches of the set and its pods stand still for a while.
    pub stalls: u8,
    /// Nothing happens for longer than the deadline.
    pub delays: u8,
}

/// What the controller sees while its watches stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct View {
    /// The set as it was.
    pub set: Set,
    /// Its spec has not changed since: a patch would be let in.
    pub is_latest: bool,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flight {
    /// What.
    pub request: Request,
    /// What it rests on has not changed since; otherwise the server refuses it. Deletions rest on the uid alone.
    pub holds: bool,
}

/// Everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The set and its pods.
    pub set: Set,
    /// What the controller sees, if that is not what there is.
    pub view: Option<View>,
    /// The rollout.
    pub rollout: Rollout,
    /// The controller waits for an answer.
    pub flight: Option<Flight>,
    /// For the rules only: how many pods people and plan have let to the present template so far.
    pub granted: u8,
    /// What may still happen.
    pub left: Budget,
}

/// The small world under one kind of policies, one plan and one budget.
pub struct World {
    holder: Holder,
    plan: Plan,
    budget: Budget,
    /// The same is often seen again: other requests on the way, other budgets.
    looks: RefCell<BTreeMap<(Set, Rollout), Result<Looked, String>>>,
}

impl World {
    /// A world at rest on `A`.
    pub fn new(holder: Holder, plan: Plan, budget: Budget) -> Self {
        Self { holder, plan, budget, looks: RefCell::default() }
    }

    fn look(&self, state: &State) -> Result<Looked, String> {
        let seen = state.view.map_or(state.set, |view| view.set).as_seen();
        let key = (seen, state.rollout);
        if let Some(known) = self.looks.borrow().get(&key) {
            return known.clone();
        }
        let looked = look(self.holder, &self.plan, &seen, &state.rollout);
        self.looks.borrow_mut().insert(key, looked.clone());
        looked
    }

    /// What the plan lets through once a stage is left.
    fn after(&self, stage: u8) -> u8 {
        let next = usize::from(stage) + 1;
        if next >= self.plan.stages.len() { PODS } else { self.at(next) }
    }

    fn at(&self, stage: usize) -> u8 {
        u8::try_from(self.plan.exposure(stage, u32::from(PODS))).unwrap_or(PODS)
    }

    /// The stage whose timed hold is on and not over.
    fn timed_hold(&self, memo: &SmallMemo) -> Option<u8> {
        let (stage, since) = memo.hold()?;
        let hold = self.plan.stages.get(usize::from(stage))?.hold;
        (since == Age::Now && matches!(hold, Some(Hold::For(_)))).then_some(stage)
    }

    /// A hold for the run's target is left for a good reason.
    fn grant(&self, world: &mut State, stage: u8) {
        if world.rollout.memo.run.is_some_and(|run| run.target == world.set.spec.template) {
            world.granted = world.granted.max(self.after(stage));
        }
    }

    /// A stage without a hold is over once its pods are ready.
    fn grant_what_is_proven(&self, state: &mut State) {
        let template = state.set.spec.template;
        let is_right = |pod: &&SmallPod| pod.version == template && pod.does == Does::Ready;
        let right = state.set.pods.iter().flatten().filter(is_right).count();
        for (number, stage) in (0..).zip(&self.plan.stages) {
            let wanted = self.at(usize::from(number));
            if stage.hold.is_none() && wanted <= state.granted && usize::from(wanted) <= right {
                state.granted = state.granted.max(self.after(number));
            }
        }
    }

    fn world_steps(&self, state: &State, steps: &mut Steps<'_>) {
        for is_latest in [true, false] {
            let action = if is_latest { Action::Sync } else { Action::SyncOnFormerSpec };
            if is_latest || state.set.former.is_some() {
                steps.try_step(action, |after| after.set.sync(self.holder, is_latest));
            }
        }
        for (ordinal, pod) in (0..PODS).zip(state.set.pods) {
            let slot = usize::from(ordinal);
            let turn = |pod: SmallPod, does| Some(SmallPod { does, ..pod });
            match pod {
                Some(pod) if pod.does == Does::Starting => {
                    steps.try_step(Action::Ready(ordinal), |after| {
                        after.set.pods[slot] = turn(pod, Does::Ready);
                    });
                }
                Some(pod) if pod.does == Does::Leaving => {
                    steps.try_step(Action::Gone(ordinal), |after| after.set.pods[slot] = None);
                }
                Some(pod) if state.left.failures > 0 => steps.try_step(Action::Fails(ordinal), |after| {
                    after.left.failures -= 1;
                    after.set.pods[slot] = turn(pod, Does::Starting);
                }),
                _ => {}
            }
        }
    }

    fn time_steps(&self, state: &State, steps: &mut Steps<'_>) {
        let hold = self.timed_hold(&state.rollout.memo);
        if let Some(stage) = hold {
            steps.try_step(Action::HoldEnds, |after| {
                self.grant(after, stage);
                let_time_pass(after);
            });
        } else if state.left.delays > 0 {
            steps.try_step(Action::Delay, |after| {
                // A hold counts from when it was decided on, not from when that is stored.
                if let Some(Flight { request: Request::Store(memo, _), .. }) = after.flight
                    && let Some(stage) = self.timed_hold(&memo)
                    && memo.run.is_some_and(|run| run.target == after.set.spec.template)
                {
                    after.granted = after.granted.max(self.after(stage));
                }
                let_time_pass(after);
                if *after != *state {
                    after.left.delays -= 1;
                }
            });
        }
    }

    fn controller_steps(&self, state: &State, steps: &mut Steps<'_>) -> Result<(), String> {
        if state.flight.is_some() {
            let mut arrived = *state;
            self.arrive(&mut arrived)?;
            steps.try_step(Action::Arrives, |after| *after = arrived);
            if state.left.crashes > 0 {
                for (action, from) in [(Action::CrashBefore, *state), (Action::CrashAfter, arrived)] {
                    steps.try_step(action, |after| {
                        *after = State { flight: None, view: None, ..from };
                        after.left.crashes -= 1;
                    });
                }
            }
        } else {
            for request in self.look(state)?.requests {
                let holds = match request {
                    Request::Expose(..) | Request::Release => state.view.is_none_or(|view| view.is_latest),
                    Request::Store(..) | Request::LiftPause | Request::Delete(..) => true,
                };
                steps.try_step(Action::Look(request), |after| after.flight = Some(Flight { request, holds }));
            }
        }
        if state.view.is_some() {
            steps.try_step(Action::CatchesUp, |after| after.view = None);
        } else if state.left.stalls > 0 {
            steps.try_step(Action::Stalls, |after| {
                after.left.stalls -= 1;
                after.view = Some(View { set: after.set.as_seen(), is_latest: true });
            });
        }
        Ok(())
    }

    /// The server does what was asked, or refuses it, and the controller has the answer.
    fn arrive(&self, state: &mut State) -> Result<(), String> {
        let Some(flight) = state.flight.take() else { return Ok(()) };
        match flight.request {
            Request::Delete(ordinal, uid) => return delete(state, ordinal, uid),
            _ if !flight.holds => return Ok(()),
            Request::Store(memo, restarts) => {
                state.rollout = Rollout { memo, ..calm(state.rollout) };
                if restarts && memo.run.is_some_and(|run| run.target == state.set.spec.template) {
                    state.granted = self.at(0).max(state.set.exposed());
                    excuse_what_is_there(&mut state.set);
                }
                return Ok(());
            }
            Request::LiftPause => {
                state.rollout.paused = false;
                return Ok(());
            }
            Request::Expose(partition, record) => state.set.expose(partition, record),
            Request::Release => state.set.release(self.holder),
        }
        // The answer shows the set as it is; the pods are watched by another watch.
        if let Some(view) = &mut state.view {
            let pods = view.set.pods;
            *view = View { set: Set { pods, ..state.set }, is_latest: true };
        }
        Ok(())
    }

    fn person_steps(&self, state: &State, steps: &mut Steps<'_>) {
        if state.left.templates > 0 {
            for version in Version::ALL.into_iter().filter(|version| *version != state.set.spec.template) {
                steps.try_step(Action::Template(version), |after| {
                    after.left.templates -= 1;
                    after.set.change_template(self.holder, version);
                    let run = after.rollout.memo.run;
                    // What is put back in the middle of a run goes back without steps.
                    let is_put_back = run.is_some_and(|run| run.stable == version);
                    after.granted = if is_put_back { PODS } else { self.at(0) };
                    if let Some(view) = &mut after.view {
                        view.is_latest = false;
                    }
                    let rests_on_spec = |request| matches!(request, Request::Expose(..) | Request::Release);
                    refuse(&mut after.flight, rests_on_spec);
                });
            }
        }
        if state.left.presses == 0 {
            return;
        }
        let mut press = |action, push: &dyn Fn(&mut State)| {
            steps.try_step(action, |after| {
                push(after);
                if *after != *state {
                    after.left.presses -= 1;
                    let rests_on_rollout =
                        |request| matches!(request, Request::Store(..) | Request::LiftPause);
                    refuse(&mut after.flight, rests_on_rollout);
                }
            });
        };
        if let Some((stage, _)) = state.rollout.memo.hold() {
            press(Action::Promote, &|after| {
                after.rollout.promote = true;
                self.grant(after, stage);
            });
        }
        press(Action::PromoteFull, &|after| {
            if !after.rollout.promote_full {
                (after.rollout.promote_full, after.granted) = (true, PODS);
            }
        });
        press(Action::Abort, &|after| after.rollout.abort = true);
        press(Action::Restart, &|after| after.rollout.restart = true);
        press(Action::Pause, &|after| after.rollout.paused = true);
        press(Action::Resume, &|after| after.rollout.paused = false);
    }
}

/// Collects steps that change something.
struct Steps<'a> {
    from: &'a State,
    found: Vec<(Action, State)>,
}

impl Steps<'_> {
    fn try_step(&mut self, action: Action, change: impl FnOnce(&mut State)) {
        let mut after = *self.from;
        change(&mut after);
        rename(&mut after);
        if after != *self.from {
            self.found.push((action, after));
        }
    }
}

fn let_time_pass(state: &mut State) {
    state.rollout.memo.let_time_pass();
    if let Some(Flight { request: Request::Store(memo, _), .. }) = &mut state.flight {
        memo.let_time_pass();
    }
}

fn refuse(flight: &mut Option<Flight>, rests_on_it: impl Fn(Request) -> bool) {
    if let Some(flight) = flight
        && rests_on_it(flight.request)
    {
        flight.holds = false;
    }
}

/// Nothing asked for that is not answered.
fn calm(rollout: Rollout) -> Rollout {
    Rollout { abort: false, restart: false, promote_full: false, promote: false, ..rollout }
}

fn excuse_what_is_there(set: &mut Set) {
    let template = set.spec.template;
    for pod in set.pods.iter_mut().flatten() {
        pod.excused |= pod.version == template;
    }
}

fn delete(state: &mut State, ordinal: u8, uid: u8) -> Result<(), String> {
    let slot = usize::from(ordinal);
    let Some(pod) = state.set.pods[slot].as_mut().filter(|pod| pod.uid == uid) else { return Ok(()) };
    if pod.freed {
        return Err(format!("I2: web-{ordinal} (uid {uid}) is deleted a second time"));
    }
    (pod.does, pod.freed) = (Does::Leaving, true);
    let answer = SmallPod { freed: false, excused: false, ..*pod };
    if let Some(view) = &mut state.view {
        view.set.pods[slot] = Some(answer);
    }
    Ok(())
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let memo = SmallMemo::BLANK;
        let rollout = Rollout {
            memo,
            paused: false,
            abort: false,
            restart: false,
            promote_full: false,
            promote: false,
        };
        State {
            set: Set::at_rest(self.holder),
            view: None,
            rollout,
            flight: None,
            granted: self.at(0),
            left: self.budget,
        }
    }

    fn steps(&self, state: &State) -> Result<Vec<(Action, State)>, String> {
        let mut steps = Steps { from: state, found: Vec::new() };
        self.world_steps(state, &mut steps);
        self.time_steps(state, &mut steps);
        self.controller_steps(state, &mut steps)?;
        self.person_steps(state, &mut steps);
        for (_, after) in &mut steps.found {
            self.grant_what_is_proven(after);
        }
        Ok(steps.found)
    }

    /// I1: no more pods on an unfinished target than people and plan have let through.
    fn broken(&self, state: &State) -> Option<String> {
        let Set { spec, current, pods, .. } = state.set;
        if spec.template == current {
            return None;
        }
        let news =
            |pod: &&SmallPod| pod.version == spec.template && pod.does != Does::Leaving && !pod.excused;
        let count = pods.iter().flatten().filter(news).count();
        (count > usize::from(state.granted)).then(|| {
            format!("I1: {count} pods are on {}, and {} were let through", spec.template, state.granted)
        })
    }

    fn fair(&self, action: Action) -> Option<u8> {
        action.fair()
    }

    /// I3, I7, I9: where a world comes to rest.
    fn end(&self, state: &State) -> Result<&'static str, String> {
        let looked = self.look(state)?;
        let Set { spec, current, marked, .. } = state.set;
        let run = state.rollout.memo.run;
        let says = |word: &str| looked.waits.contains(&word);
        let is_all_ready = state.set.pods.iter().all(|pod| pod.is_some_and(|pod| pod.does == Does::Ready));
        if !is_all_ready {
            return Err(format!("I9: it rests while pods are not ready, and says {:?}", looked.waits));
        }
        let end = match run.map(|run| run.way) {
            _ if looked.standing == Standing::Healthy => {
                (run.is_none() && !marked && current == spec.template && state.set.is_all_on(current))
                    .then_some("healthy")
            }
            Some(Way::Aborted(..)) => {
                run.filter(|run| says("Aborted") && state.set.is_all_on(run.stable)).map(|_| "aborted")
            }
            // An abort goes on also while it is paused.
            _ if state.rollout.paused && !state.rollout.memo.is_aborted() => {
                says("PausedByPerson").then_some("paused")
            }
            Some(Way::Hold(number, _)) if says("HoldForPerson") => {
                let run = run.filter(|run| run.target == spec.template);
                let on = state.set.pods.iter().flatten().filter(|pod| pod.version == spec.template).count();
                run.filter(|_| on == usize::from(self.at(usize::from(number)))).map(|_| "held for a person")
            }
            // All pods were on the target before the abort could hold them: a person has to put the template back.
            Some(_) if says("StableForgotten") => run
                .filter(|run| current != run.stable && state.set.is_all_on(current))
                .map(|_| "stable forgotten"),
            _ => None,
        };
        end.ok_or_else(|| format!("I9: it rests as {:?} and says {:?}", looked.standing, looked.waits))
    }
}
