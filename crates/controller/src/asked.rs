//! The questions that are on their way to providers, and the answers that came and are not stored yet. Losing them loses
//! nothing: whoever comes next finds from the status what is due, and asks again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::time::Instant;
use windlass_analysis::attend::Answered;
use windlass_analysis::gauge::Reading;

use crate::cache::Key;
use crate::retry;

/// Questions and answers, by run.
#[derive(Default)]
pub(crate) struct Asked(Mutex<BTreeMap<Key, Talk>>);

/// What is going on with one run.
#[derive(Clone, Debug, Default)]
struct Talk {
    uid: String,
    /// When a run began of which nothing is stored yet.
    began: Option<Timestamp>,
    /// When each metric was asked whose answer is on its way.
    open: BTreeMap<String, Timestamp>,
    answers: Vec<Answered>,
    /// Metrics that could not be asked: how often in a row, and when they are asked again.
    resting: BTreeMap<String, (u32, Instant)>,
}

impl Talk {
    fn is_over(&self) -> bool {
        let nothing = self.open.is_empty() && self.answers.is_empty() && self.resting.is_empty();
        nothing && self.began.is_none()
    }
}

/// What is going on with a run, at one moment.
#[derive(Default)]
pub(crate) struct Standing {
    /// The metrics that are not asked now: they are being asked, or could not be asked a moment ago.
    pub(crate) busy: BTreeSet<String>,
    /// The answers that came.
    pub(crate) answers: Vec<Answered>,
    /// When one that could not be asked is asked again.
    pub(crate) wake: Option<Instant>,
}

impl Asked {
    fn talks(&self) -> MutexGuard<'_, BTreeMap<Key, Talk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is going on with a run.
    pub(crate) fn of(&self, key: &Key, uid: &str, now: Instant) -> Standing {
        let talks = self.talks();
        let Some(talk) = talks.get(key).filter(|talk| talk.uid == uid) else { return Standing::default() };
        let resting = talk.resting.iter().filter(|(_, (_, until))| *until > now);
        Standing {
            busy: talk.open.keys().chain(resting.clone().map(|(metric, _)| metric)).cloned().collect(),
            answers: talk.answers.clone(),
            wake: resting.map(|(_, (_, until))| *until).min(),
        }
    }

    /// When a run began: when it was first looked at, until that is stored.
    pub(crate) fn began(&self, key: &Key, uid: &str, now: Timestamp) -> Timestamp {
        self.talk(key, uid, |talk| *talk.began.get_or_insert(now))
    }

    pub(crate) fn ask(&self, key: &Key, uid: &str, metric: &str, at: Timestamp) {
        self.talk(key, uid, |talk| talk.open.insert(metric.to_owned(), at));
    }

    fn talk<T>(&self, key: &Key, uid: &str, change: impl FnOnce(&mut Talk) -> T) -> T {
        let mut talks = self.talks();
        let talk = talks.entry(key.clone()).or_default();
        if talk.uid != uid {
            *talk = Talk { uid: uid.to_owned(), ..Talk::default() };
        }
        change(talk)
    }

    /// An answer came. One to a run that is gone is nobody's, and so is one to a question that was given up meanwhile.
    pub(crate) fn answer(&self, key: &Key, uid: &str, answer: Answered) {
        let mut talks = self.talks();
        let Some(talk) = talks.get_mut(key).filter(|talk| talk.uid == uid) else { return };
        if talk.open.get(&answer.metric) != Some(&answer.asked_at) {
            return;
        }
        talk.open.remove(&answer.metric);
        if let Reading::NotAsked(why) = &answer.answer.reading {
            let failures =
                talk.resting.get(&answer.metric).map_or(0, |(failures, _)| *failures).saturating_add(1);
            tracing::debug!(run = %key, metric = answer.metric, why, failures, "not asked; trying again");
            let wait = retry::wait(&(key, &answer.metric), failures);
            talk.resting.insert(answer.metric, (failures, Instant::now() + wait));
        } else {
            talk.resting.remove(&answer.metric);
            talk.answers.push(answer);
        }
    }

    /// These answers are stored, and with them that the run has begun.
    pub(crate) fn stored(&self, key: &Key, answers: &[Answered]) {
        let mut talks = self.talks();
        if let Some(talk) = talks.get_mut(key) {
            talk.began = None;
            talk.answers.retain(|answer| !answers.contains(answer));
            if talk.is_over() {
                talks.remove(key);
            }
        }
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.talks().remove(key);
    }

    /// Another controller leads: what was asked here says nothing any more.
    pub(crate) fn forget_all(&self) {
        self.talks().clear();
    }
}

#[cfg(test)]
mod tests {
    use windlass_analysis::gauge::Measured;

    use super::*;

    const UID: &str = "1-2-3";

    fn key() -> Key {
        Key { namespace: "data".to_owned(), name: "run".to_owned() }
    }

    fn answered(asked_at: Timestamp, reading: Reading) -> Answered {
        let (metric, answer) = ("errors".to_owned(), reading.into());
        Answered { metric, number: 0, asked_at, answered_at: asked_at, answer }
    }

    fn value() -> Reading {
        let value = windlass_analysis::expression::Value::Float(0.5);
        Reading::Value(Measured { value, metadata: BTreeMap::new() })
    }

    #[test]
    fn an_answer_to_a_question_of_a_former_term_is_nobodys() {
        let (asked, first, second) = (Asked::default(), Timestamp::UNIX_EPOCH, Timestamp::MAX);
        asked.ask(&key(), UID, "errors", first);
        asked.forget_all();
        asked.ask(&key(), UID, "errors", second);
        asked.answer(&key(), UID, answered(first, value()));
        let standing = asked.of(&key(), UID, Instant::now());
        assert!(standing.answers.is_empty() && standing.busy.contains("errors"));
        asked.answer(&key(), UID, answered(second, value()));
        assert_eq!(asked.of(&key(), UID, Instant::now()).answers.len(), 1);
    }

    #[test]
    fn what_could_not_be_asked_is_asked_again_later_and_later_and_counts_as_nothing() {
        let asked = Asked::default();
        let mut longest = std::time::Duration::ZERO;
        for _ in 0..8 {
            asked.ask(&key(), UID, "errors", Timestamp::UNIX_EPOCH);
            let now = Instant::now();
            asked.answer(&key(), UID, answered(Timestamp::UNIX_EPOCH, Reading::NotAsked("busy".to_owned())));
            let standing = asked.of(&key(), UID, now);
            assert!(standing.answers.is_empty() && standing.busy.contains("errors"));
            let wait = standing.wake.map(|wake| wake.duration_since(now)).unwrap_or_default();
            assert!(wait > longest / 2, "{wait:?} after {longest:?}");
            longest = longest.max(wait);
        }
        assert!(asked.of(&key(), UID, Instant::now() + longest * 2).busy.is_empty());
        asked.ask(&key(), UID, "errors", Timestamp::MAX);
        asked.answer(&key(), UID, answered(Timestamp::MAX, value()));
        let standing = asked.of(&key(), UID, Instant::now());
        assert!(standing.wake.is_none() && standing.answers.len() == 1);
    }
}
