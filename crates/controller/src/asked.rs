//! The questions that are on their way to providers, and the answers that came and are not stored yet. Losing them loses
//! nothing: whoever comes next finds from the status what is due, and asks again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::time::Instant;
use windlass_analysis::attend::Answered;

use crate::cache::Key;
use crate::retry;

/// From so many times in a row on it is told that a metric cannot be asked: before, it passes by itself most often.
const TOLD: u32 = 3;

/// Questions and answers, by run, and since when this controller may ask at all.
#[derive(Default)]
pub(crate) struct Asked {
    talks: Mutex<BTreeMap<Key, Talk>>,
    since: Mutex<Option<Timestamp>>,
}

/// What is going on with one run.
#[derive(Clone, Debug, Default)]
struct Talk {
    uid: String,
    /// When a run began of which nothing is stored yet.
    began: Option<Timestamp>,
    /// When each metric was asked whose answer is on its way.
    open: BTreeMap<String, Timestamp>,
    answers: Vec<Answered>,
    /// Metrics that could not be asked.
    resting: BTreeMap<String, Resting>,
}

/// A metric that could not be asked.
#[derive(Clone, Debug)]
struct Resting {
    /// How often in a row.
    failures: u32,
    /// When it is asked again.
    until: Instant,
    /// What was in the way.
    why: String,
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
    /// What keeps metrics from being asked, again and again.
    pub(crate) troubles: BTreeMap<String, String>,
}

impl Asked {
    fn talks(&self) -> MutexGuard<'_, BTreeMap<Key, Talk>> {
        self.talks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this controller asks.
    pub(crate) fn begins(&self, now: Timestamp) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Since when it does.
    pub(crate) fn since(&self) -> Timestamp {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(Timestamp::MIN)
    }

    /// What is going on with a run.
    pub(crate) fn of(&self, key: &Key, uid: &str, now: Instant) -> Standing {
        let talks = self.talks();
        let Some(talk) = talks.get(key).filter(|talk| talk.uid == uid) else { return Standing::default() };
        let resting = talk.resting.iter().filter(|(_, it)| it.until > now);
        let troubles = talk.resting.iter().filter(|(_, it)| it.failures >= TOLD);
        Standing {
            busy: talk.open.keys().chain(resting.clone().map(|(metric, _)| metric)).cloned().collect(),
            answers: talk.answers.clone(),
            wake: resting.map(|(_, it)| it.until).min(),
            troubles: troubles.map(|(metric, it)| (metric.clone(), it.why.clone())).collect(),
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

    /// An answer came.
    pub(crate) fn answer(&self, key: &Key, uid: &str, answer: Answered) {
        self.closed(key, uid, &answer.metric.clone(), answer.asked_at, |talk| {
            talk.resting.remove(&answer.metric);
            talk.answers.push(answer);
        });
    }

    /// Nobody could be asked: it is tried again, later and later.
    pub(crate) fn not_asked(&self, key: &Key, uid: &str, metric: &str, asked_at: Timestamp, why: String) {
        self.closed(key, uid, metric, asked_at, |talk| {
            let failures = talk.resting.get(metric).map_or(0, |it| it.failures).saturating_add(1);
            tracing::debug!(run = %key, metric, why, failures, "not asked; trying again");
            let until = Instant::now() + retry::wait(&(key, metric), failures);
            talk.resting.insert(metric.to_owned(), Resting { failures, until, why });
        });
    }

    /// A question is not open any more. One of a run that is gone is nobody's, and so is one that was given up meanwhile.
    fn closed(&self, key: &Key, uid: &str, metric: &str, asked_at: Timestamp, then: impl FnOnce(&mut Talk)) {
        let mut talks = self.talks();
        let Some(talk) = talks.get_mut(key).filter(|talk| talk.uid == uid) else { return };
        if talk.open.get(metric) != Some(&asked_at) {
            return;
        }
        talk.open.remove(metric);
        then(talk);
    }

    /// These answers are stored, and with them that the run has begun.
    pub(crate) fn stored(&self, key: &Key, answers: &[Answered]) {
        let mut talks = self.talks();
        if let Some(talk) = talks.get_mut(key) {
            talk.began = None;
            talk.answers.retain(|answer| !answers.iter().any(|stored| stored.is(answer)));
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
    use windlass_api::analysis::{Measurement, Phase};

    use super::*;

    const UID: &str = "1-2-3";

    fn key() -> Key {
        Key { namespace: "data".to_owned(), name: "run".to_owned() }
    }

    fn answered(asked_at: Timestamp) -> Answered {
        let made = Measurement { phase: Phase::Successful, ..Measurement::default() };
        Answered { metric: "errors".to_owned(), number: 0, asked_at, made }
    }

    #[test]
    fn an_answer_to_a_question_of_a_former_term_is_nobodys() {
        let (asked, first, second) = (Asked::default(), Timestamp::UNIX_EPOCH, Timestamp::MAX);
        asked.ask(&key(), UID, "errors", first);
        asked.forget_all();
        asked.ask(&key(), UID, "errors", second);
        asked.answer(&key(), UID, answered(first));
        let standing = asked.of(&key(), UID, Instant::now());
        assert!(standing.answers.is_empty() && standing.busy.contains("errors"));
        asked.answer(&key(), UID, answered(second));
        assert_eq!(asked.of(&key(), UID, Instant::now()).answers.len(), 1);
    }

    #[test]
    fn what_is_stored_is_forgotten_and_nothing_else() {
        let asked = Asked::default();
        let (first, second) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
        asked.ask(&key(), UID, "errors", first);
        asked.answer(&key(), UID, answered(first));
        let stored = asked.of(&key(), UID, Instant::now()).answers;
        asked.ask(&key(), UID, "errors", second);
        asked.answer(&key(), UID, answered(second));
        asked.stored(&key(), &stored);
        let left = asked.of(&key(), UID, Instant::now()).answers;
        assert_eq!(left.iter().map(|answer| answer.asked_at).collect::<Vec<_>>(), [second]);
        asked.stored(&key(), &left);
        assert!(asked.talks().is_empty());
    }

    #[test]
    fn what_could_not_be_asked_is_asked_again_later_and_later_and_is_told_when_that_goes_on() {
        let asked = Asked::default();
        let mut longest = std::time::Duration::ZERO;
        for turn in 1..=8 {
            asked.ask(&key(), UID, "errors", Timestamp::UNIX_EPOCH);
            let now = Instant::now();
            asked.not_asked(&key(), UID, "errors", Timestamp::UNIX_EPOCH, "the webhook is down".to_owned());
            let standing = asked.of(&key(), UID, now);
            assert!(standing.answers.is_empty() && standing.busy.contains("errors"));
            assert_eq!(standing.troubles.contains_key("errors"), turn >= TOLD, "{turn}");
            let wait = standing.wake.map(|wake| wake.duration_since(now)).unwrap_or_default();
            assert!(wait > longest / 2, "{wait:?} after {longest:?}");
            longest = longest.max(wait);
        }
        let later = asked.of(&key(), UID, Instant::now() + longest * 2);
        assert!(later.busy.is_empty() && !later.troubles.is_empty());
        asked.ask(&key(), UID, "errors", Timestamp::MAX);
        asked.answer(&key(), UID, answered(Timestamp::MAX));
        let standing = asked.of(&key(), UID, Instant::now());
        assert!(standing.wake.is_none() && standing.troubles.is_empty() && standing.answers.len() == 1);
    }
}
