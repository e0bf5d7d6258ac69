//! The search: every state that can be reached, breadth first, so that the first path to a broken rule is a shortest
//! one. It knows nothing of rollouts.

use std::collections::BTreeMap;
use std::fmt;

use crate::endings::{self, FairSteps};

/// What may happen next, and where it leads; or the rule that one of these steps breaks.
pub type Steps<M> = Result<Vec<(<M as Model>::Action, <M as Model>::State)>, String>;

/// Something whose states can all be visited.
pub trait Model {
    /// One state. States that cannot be told apart by anything that may happen should be equal.
    type State: Clone + Ord + fmt::Debug;
    /// One thing that happens.
    type Action: Copy + fmt::Display;

    /// Where it begins.
    fn start(&self) -> Self::State;
    /// Everything that may happen next and changes the state.
    fn steps(&self, state: &Self::State) -> Steps<Self>
    where
        Self: Sized;
    /// The rule that this state breaks.
    fn broken(&self, state: &Self::State) -> Option<String>;
    /// Which kind of fair step this is, below 32; none for what may also never happen.
    fn fair(&self, action: Self::Action) -> Option<u8>;
    /// Nothing happens by itself any more. Names the kind of end, or says why this is none.
    fn end(&self, state: &Self::State) -> Result<&'static str, String>;
}

/// What a search without a finding saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visited {
    /// States.
    pub states: usize,
    /// Steps from one state to another.
    pub transitions: usize,
    /// The longest of the shortest paths to a state.
    pub depth: usize,
    /// States in which nothing happens by itself any more, by kind.
    pub ends: BTreeMap<&'static str, usize>,
    /// States on a circle that only unfair luck could go round for ever.
    pub on_unfair_circles: usize,
}

/// A rule is broken, and this is a shortest way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule, and how.
    pub what: String,
    /// What happened from the start on.
    pub path: Vec<String>,
    /// What then happens again and again.
    pub circle: Vec<String>,
    /// Where the path leads.
    pub state: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.what)?;
        for (number, step) in self.path.iter().enumerate() {
            writeln!(out, "{:4}. {step}", number + 1)?;
        }
        for step in &self.circle {
            writeln!(out, "   ↺  {step}")?;
        }
        write!(out, "{}", self.state)
    }
}

/// Visits every state; stops at the first broken rule.
pub fn search<M: Model>(model: &M) -> Result<Visited, Finding> {
    let mut search = Search {
        model,
        ids: BTreeMap::new(),
        came: Vec::new(),
        fair: FairSteps::default(),
        ends: BTreeMap::new(),
        transitions: 0,
    };
    let depth = search.visit_all()?;
    let on_unfair_circles = search.look_for_endless_circles()?;
    let Search { ids, transitions, ends, .. } = search;
    Ok(Visited { states: ids.len(), transitions, depth, ends, on_unfair_circles })
}

struct Search<'a, M: Model> {
    model: &'a M,
    ids: BTreeMap<M::State, u32>,
    /// From where, and by what, each state was reached first.
    came: Vec<Option<(u32, M::Action)>>,
    fair: FairSteps,
    ends: BTreeMap<&'static str, usize>,
    transitions: usize,
}

impl<M: Model> Search<'_, M> {
    fn visit_all(&mut self) -> Result<usize, Finding> {
        let start = self.model.start();
        let mut depth = 0;
        let mut level = vec![start.clone()];
        self.ids.insert(start.clone(), 0);
        self.came.push(None);
        self.judge(0, &start)?;
        loop {
            let mut next = Vec::new();
            for state in &level {
                self.visit(state, &mut next)?;
            }
            if next.is_empty() {
                return Ok(depth);
            }
            depth += 1;
            level = next;
        }
    }

    /// States are visited in the order of their numbers, which is what the fair steps rest on.
    fn visit(&mut self, state: &M::State, next: &mut Vec<M::State>) -> Result<(), Finding> {
        let id = self.fair.states();
        let steps = self.model.steps(state).map_err(|what| self.finding(what, id, state))?;
        let mut fair_steps = Vec::new();
        for (action, after) in steps {
            self.transitions += 1;
            let to = match self.ids.get(&after) {
                Some(&to) => to,
                None => self.meet(id, action, after, next)?,
            };
            if let Some(kind) = self.model.fair(action) {
                fair_steps.push((to, kind));
            }
        }
        if fair_steps.is_empty() {
            let end = self.model.end(state).map_err(|what| self.finding(what, id, state))?;
            *self.ends.entry(end).or_default() += 1;
        }
        self.fair.add(&fair_steps);
        Ok(())
    }

    fn meet(
        &mut self,
        from: u32,
        action: M::Action,
        state: M::State,
        next: &mut Vec<M::State>,
    ) -> Result<u32, Finding> {
        let id = u32::try_from(self.came.len()).unwrap_or(u32::MAX);
        self.ids.insert(state.clone(), id);
        self.came.push(Some((from, action)));
        self.judge(id, &state)?;
        next.push(state);
        Ok(id)
    }

    fn judge(&self, id: u32, state: &M::State) -> Result<(), Finding> {
        self.model.broken(state).map_or(Ok(()), |what| Err(self.finding(what, id, state)))
    }

    fn look_for_endless_circles(&self) -> Result<usize, Finding> {
        endings::endless_circle(&self.fair).map_err(|members| {
            let (first, steps) = self.fair.walk_round(&members);
            let state = self.ids.iter().find(|(_, id)| **id == first).map(|(state, _)| state.clone());
            let state = state.unwrap_or_else(|| self.model.start());
            let mut finding = self.finding("it never comes to rest".to_owned(), first, &state);
            finding.circle = self.tell_circle(state, &steps);
            finding
        })
    }

    fn tell_circle(&self, mut state: M::State, steps: &[u32]) -> Vec<String> {
        let mut told = Vec::new();
        for wanted in steps {
            let all = self.model.steps(&state).unwrap_or_default();
            let found = all.into_iter().find(|(action, after)| {
                self.model.fair(*action).is_some() && self.ids.get(after) == Some(wanted)
            });
            let Some((action, after)) = found else { break };
            told.push(action.to_string());
            state = after;
        }
        told
    }

    fn finding(&self, what: String, id: u32, state: &M::State) -> Finding {
        let mut path = Vec::new();
        let mut at = id;
        while let Some((from, action)) = self.came.get(at as usize).copied().flatten() {
            path.push(action.to_string());
            at = from;
        }
        path.reverse();
        Finding { what, path, circle: Vec::new(), state: format!("{state:#?}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walker on numbered places; each step is fair under its own kind, or not at all.
    struct Places(&'static [(u8, u8, Option<u8>)], &'static [u8]);

    #[derive(Clone, Copy)]
    struct Go(u8, u8, Option<u8>);

    impl fmt::Display for Go {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(out, "from {} to {}", self.0, self.1)
        }
    }

    impl Model for Places {
        type State = u8;
        type Action = Go;

        fn start(&self) -> u8 {
            0
        }

        fn steps(&self, state: &u8) -> Result<Vec<(Go, u8)>, String> {
            let from = self.0.iter().filter(|(from, ..)| from == state);
            Ok(from.map(|&(from, to, fair)| (Go(from, to, fair), to)).collect())
        }

        fn broken(&self, state: &u8) -> Option<String> {
            (*state == 99).then(|| "nobody goes to 99".to_owned())
        }

        fn fair(&self, action: Go) -> Option<u8> {
            action.2
        }

        fn end(&self, state: &u8) -> Result<&'static str, String> {
            if self.1.contains(state) { Ok("home") } else { Err(format!("stuck at {state}")) }
        }
    }

    #[test]
    fn every_place_is_visited_and_counted() {
        let seen = search(&Places(&[(0, 1, Some(0)), (0, 2, None), (1, 3, Some(0)), (2, 3, Some(0))], &[3]));
        let ends = BTreeMap::from([("home", 1)]);
        assert_eq!(seen, Ok(Visited { states: 4, transitions: 4, depth: 2, ends, on_unfair_circles: 0 }));
    }

    #[test]
    fn the_shortest_way_to_a_broken_rule_is_told() {
        let found = search(&Places(
            &[(0, 1, None), (1, 2, None), (2, 99, None), (0, 3, None), (3, 99, None)],
            &[0, 1, 3],
        ));
        assert_eq!(found.unwrap_err().path, ["from 0 to 3", "from 3 to 99"]);
    }

    #[test]
    fn a_dead_end_is_found_also_where_another_step_may_happen() {
        let found = search(&Places(&[(0, 1, Some(0)), (1, 2, None)], &[2]));
        assert_eq!(found.unwrap_err().what, "stuck at 1");
    }

    #[test]
    fn a_circle_is_found_also_when_there_is_a_way_out_that_need_not_be_taken() {
        let found =
            search(&Places(&[(0, 1, Some(0)), (1, 2, Some(0)), (2, 1, Some(0)), (2, 3, Some(1))], &[3]));
        let found = found.unwrap_err();
        assert_eq!((found.what.as_str(), found.circle.len()), ("it never comes to rest", 2));
    }

    #[test]
    fn a_circle_with_a_way_out_that_is_always_open_is_left_some_day() {
        let seen =
            search(&Places(&[(0, 1, Some(0)), (1, 0, Some(0)), (0, 3, Some(1)), (1, 3, Some(1))], &[3]));
        assert_eq!(seen.map(|seen| seen.on_unfair_circles), Ok(2));
    }
}
