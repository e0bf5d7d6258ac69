//! The questions that are on their way to providers, and the answers that came and are not stored yet. Losing them loses
//! nothing: whoever comes next finds from the status what is due, and asks again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_analysis::attend::Answered;

use crate::cache::Key;

/// Questions and answers, by run.
#[derive(Default)]
pub(crate) struct Asked(Mutex<BTreeMap<Key, Talk>>);

/// What is going on with one run.
#[derive(Clone, Debug, Default)]
struct Talk {
    uid: String,
    open: BTreeSet<String>,
    answers: Vec<Answered>,
}

impl Asked {
    fn talks(&self) -> MutexGuard<'_, BTreeMap<Key, Talk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The metrics of a run that are being asked, and the answers that came.
    pub(crate) fn of(&self, key: &Key, uid: &str) -> (BTreeSet<String>, Vec<Answered>) {
        let talks = self.talks();
        let talk = talks.get(key).filter(|talk| talk.uid == uid);
        talk.map(|talk| (talk.open.clone(), talk.answers.clone())).unwrap_or_default()
    }

    pub(crate) fn ask(&self, key: &Key, uid: &str, metric: &str) {
        let mut talks = self.talks();
        let talk = talks.entry(key.clone()).or_default();
        if talk.uid != uid {
            *talk = Talk { uid: uid.to_owned(), ..Talk::default() };
        }
        talk.open.insert(metric.to_owned());
    }

    /// An answer came. One to a run that is gone is nobody's.
    pub(crate) fn answer(&self, key: &Key, uid: &str, answer: Answered) {
        if let Some(talk) = self.talks().get_mut(key).filter(|talk| talk.uid == uid) {
            talk.open.remove(&answer.metric);
            talk.answers.push(answer);
        }
    }

    /// These answers are stored.
    pub(crate) fn stored(&self, key: &Key, answers: &[Answered]) {
        let mut talks = self.talks();
        if let Some(talk) = talks.get_mut(key) {
            talk.answers.retain(|answer| !answers.contains(answer));
            if talk.open.is_empty() && talk.answers.is_empty() {
                talks.remove(key);
            }
        }
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.talks().remove(key);
    }
}
