//! Something that changes the number of replicas by itself: at given moments, or step by step.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::person::scale;
use super::{Actor, Turn, View};
use crate::object::{Key, Object, number};
use crate::resource::Resource;
use crate::server::Caller;

/// When it scales to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// To these numbers at these moments, in order.
    Script(Vec<(Timestamp, i32)>),
    /// A step at a time, from a moment on, until a bound is reached.
    Steps {
        /// The first step.
        from: Timestamp,
        /// Between two of them.
        every: SignedDuration,
        /// How many replicas more, or less.
        step: i32,
        /// Where it ends.
        bound: i32,
    },
}

/// An autoscaler of one set.
pub struct Autoscaler {
    set: Key,
    scaling: Scaling,
}

impl Autoscaler {
    /// Scales a set.
    pub fn new(set: Key, scaling: Scaling) -> Self {
        Self { set, scaling }
    }

    /// What is due, taken off the plan.
    fn due(&mut self, now: Timestamp, replicas: i64) -> Option<i32> {
        match &mut self.scaling {
            Scaling::Script(script) => {
                let (_, wanted) = script.first().copied().filter(|(when, _)| *when <= now)?;
                script.remove(0);
                Some(wanted)
            }
            Scaling::Steps { from, every, step, bound } => {
                if *from > now {
                    return None;
                }
                *from = now.checked_add(*every).unwrap_or(Timestamp::MAX);
                let wanted = i32::try_from(replicas).unwrap_or(i32::MAX).saturating_add(*step);
                let wanted = if *step > 0 { wanted.min(*bound) } else { wanted.max(*bound) };
                (i64::from(wanted) != replicas).then_some(wanted)
            }
        }
    }

    fn next(&self) -> Option<Timestamp> {
        match &self.scaling {
            Scaling::Script(script) => script.first().map(|(when, _)| *when),
            Scaling::Steps { from, .. } => Some(*from),
        }
    }

    fn is_done(&self, replicas: i64) -> bool {
        matches!(&self.scaling, Scaling::Steps { bound, .. } if i64::from(*bound) == replicas)
    }
}

impl Actor for Autoscaler {
    fn caller(&self) -> Caller {
        Caller::controller("horizontal-pod-autoscaler")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::StatefulSets]
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        let set = view.get(Resource::StatefulSets, &self.set);
        let replicas = set.map(|set: &Object| number(set as &Value, &["spec", "replicas"]).unwrap_or(1));
        let Some(replicas) = replicas else { return Turn::default() };
        let acts = self.due(now, replicas).map(|wanted| scale(&self.set, wanted)).into_iter().collect();
        let wake = if self.is_done(replicas) { None } else { self.next() };
        Turn { acts, wake }
    }
}
