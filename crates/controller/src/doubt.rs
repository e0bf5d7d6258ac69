//! Writes whose answer never came: they may have been done or not. Until the object was read again nothing more is
//! written to it, because our cache has perhaps not seen our own last write.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cache::Key;

/// An object that is written to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    /// A rollout.
    Rollout(Key),
    /// A workload.
    Workload(Key),
    /// A pod.
    Pod(Key),
    /// A run of an analysis.
    Analysis(Key),
    /// A Job. It is never in doubt: its name is always the same for one measurement.
    Job(Key),
    /// An event. It is never in doubt: its name is made from what it tells, so sending it again creates nothing.
    Event(Key),
}

/// The objects in doubt.
#[derive(Clone, Default)]
pub(crate) struct Doubts(Arc<Mutex<BTreeSet<Object>>>);

impl Doubts {
    fn objects(&self) -> MutexGuard<'_, BTreeSet<Object>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn raise(&self, object: Object) {
        self.objects().insert(object);
    }

    pub(crate) fn clear(&self, object: &Object) {
        self.objects().remove(object);
    }

    pub(crate) fn about(&self, object: &Object) -> bool {
        self.objects().contains(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_in_doubt_until_it_was_read_again() {
        let doubts = Doubts::default();
        let key = Key { namespace: "data".to_owned(), name: "web".to_owned() };
        let (rollout, workload) = (Object::Rollout(key.clone()), Object::Workload(key));
        doubts.raise(workload.clone());
        assert!(doubts.about(&workload) && !doubts.about(&rollout));
        doubts.clear(&workload);
        assert!(!doubts.about(&workload));
    }
}
