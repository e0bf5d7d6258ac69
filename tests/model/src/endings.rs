//! Eventual stability. A step is fair when it happens some day if it stays possible: a pod becomes ready, a controller
//! looks. A world comes to rest when every fair path ends. So in the graph of the fair steps there may be no circle,
//! unless some fair step is possible all the way round and leads out of it: going round for ever would be unfair then.
//! And where no fair step is left, the model has to call it an end (`Model::end`).
//!
//! Judged for whole components: a step that is possible in all of a component and stays nowhere inside it does the same
//! for every circle in it. So nothing endless is missed; a component without such a step is a finding even if each of
//! its circles had one of its own.

/// The fair steps of every state, in the order of the states.
#[derive(Default)]
pub(crate) struct FairSteps {
    /// Where the steps of each state end in `steps`.
    upto: Vec<usize>,
    steps: Vec<(u32, u8)>,
}

impl FairSteps {
    pub(crate) fn states(&self) -> u32 {
        u32::try_from(self.upto.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn add(&mut self, steps: &[(u32, u8)]) {
        self.steps.extend_from_slice(steps);
        self.upto.push(self.steps.len());
    }

    fn of(&self, state: u32) -> &[(u32, u8)] {
        let state = state as usize;
        let from = if state == 0 { 0 } else { self.upto[state - 1] };
        &self.steps[from..self.upto[state]]
    }

    /// One of the members, and the states of a circle through some of them, from there back to it.
    pub(crate) fn walk_round(&self, members: &[u32]) -> (u32, Vec<u32>) {
        let inside = |state: &u32| members.contains(state);
        let mut walked: Vec<u32> = members.iter().min().copied().into_iter().collect();
        while let Some(&last) = walked.last() {
            let next = self.of(last).iter().map(|(to, _)| *to).find(inside);
            let Some(next) = next else { break };
            if let Some(begin) = walked.iter().position(|state| *state == next) {
                let first = walked[begin];
                let mut circle = walked.split_off(begin + 1);
                circle.push(first);
                return (first, circle);
            }
            walked.push(next);
        }
        (walked.first().copied().unwrap_or_default(), Vec::new())
    }
}

/// The members of a component that fair steps need not leave; otherwise how many states stand on circles that they do.
pub(crate) fn endless_circle(fair: &FairSteps) -> Result<usize, Vec<u32>> {
    let mut on_circles = 0;
    let mut components = Components::new(fair);
    for root in 0..fair.states() {
        while let Some(members) = components.next_from(root) {
            if members.len() < 2 {
                continue;
            }
            if !is_left_some_day(fair, &members, &components) {
                return Err(members);
            }
            on_circles += members.len();
        }
    }
    Ok(on_circles)
}

/// Some kind of step is possible in every member, and none of that kind stays inside.
fn is_left_some_day(fair: &FairSteps, members: &[u32], components: &Components<'_>) -> bool {
    let (mut everywhere, mut inside) = (u32::MAX, 0_u32);
    let own = members.first().map(|state| components.found[*state as usize]);
    for &state in members {
        let mut possible = 0_u32;
        for &(to, kind) in fair.of(state) {
            possible |= 1 << kind;
            if Some(components.found[to as usize]) == own {
                inside |= 1 << kind;
            }
        }
        everywhere &= possible;
    }
    everywhere & !inside != 0
}

/// Tarjan's strongly connected components, without recursion: paths are millions of steps long.
struct Components<'a> {
    fair: &'a FairSteps,
    /// The order in which states were entered, counted from 1; 0 is not yet.
    entered: Vec<u32>,
    lowest: Vec<u32>,
    /// The component of each state, counted from 1; 0 is none yet.
    found: Vec<u32>,
    stack: Vec<u32>,
    /// States on the way, each with how many of its steps were followed.
    way: Vec<(u32, usize)>,
    counts: (u32, u32),
}

impl<'a> Components<'a> {
    fn new(fair: &'a FairSteps) -> Self {
        let none = vec![0; fair.states() as usize];
        Self {
            fair,
            entered: none.clone(),
            lowest: none.clone(),
            found: none,
            stack: Vec::new(),
            way: Vec::new(),
            counts: (0, 0),
        }
    }

    fn enter(&mut self, state: u32) {
        self.counts.0 += 1;
        self.entered[state as usize] = self.counts.0;
        self.lowest[state as usize] = self.counts.0;
        self.stack.push(state);
        self.way.push((state, 0));
    }

    /// The next component that is complete, on ways that begin at `root`; none when all of them were told.
    fn next_from(&mut self, root: u32) -> Option<Vec<u32>> {
        if self.entered[root as usize] == 0 {
            self.enter(root);
        }
        while let Some(&(state, followed)) = self.way.last() {
            let at = state as usize;
            if let Some(&(to, _)) = self.fair.of(state).get(followed) {
                if let Some(top) = self.way.last_mut() {
                    top.1 += 1;
                }
                if self.entered[to as usize] == 0 {
                    self.enter(to);
                } else if self.found[to as usize] == 0 {
                    self.lowest[at] = self.lowest[at].min(self.entered[to as usize]);
                }
                continue;
            }
            self.way.pop();
            if let Some(&(before, _)) = self.way.last() {
                self.lowest[before as usize] = self.lowest[before as usize].min(self.lowest[at]);
            }
            if self.lowest[at] == self.entered[at] {
                return Some(self.complete(state));
            }
        }
        None
    }

    fn complete(&mut self, root: u32) -> Vec<u32> {
        self.counts.1 += 1;
        let mut members = Vec::new();
        while let Some(state) = self.stack.pop() {
            self.found[state as usize] = self.counts.1;
            members.push(state);
            if state == root {
                break;
            }
        }
        members
    }
}
