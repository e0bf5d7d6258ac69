//! What was found of the analyses of rollouts: whether they make sense where they stand. Finding that out compiles every
//! condition, and a rollout is looked at again with every change of a pod, on the thread that renews the lease; so it is
//! found out once for each spec.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use windlass_analysis::compose::{self, Standing};
use windlass_api::analysis::AnalysisRunSpec;
use windlass_engine::CheckPlace;

use super::Key;

/// Everything that is wrong with one, if something is.
type Found = Result<(), Vec<String>>;

/// What was found last of the analyses of a rollout, with a fingerprint of what it was found of.
type Places = BTreeMap<CheckPlace, (u64, Found)>;

/// What was found last, by rollout.
#[derive(Default)]
pub(crate) struct Judged(Mutex<BTreeMap<Key, Places>>);

impl Judged {
    /// Whether the spec of an analysis makes sense there.
    pub(crate) fn fits(
        &self,
        rollout: &Key,
        place: CheckPlace,
        spec: &AnalysisRunSpec,
        standing: Standing,
    ) -> Found {
        // What cannot be written cannot be told from others either.
        let Some(asked) = fingerprint(spec, standing) else { return compose::fits(spec, standing) };
        let mut judged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places = judged.entry(rollout.clone()).or_default();
        match places.get(&place) {
            Some((known, found)) if *known == asked => found.clone(),
            Some(_) | None => {
                let found = compose::fits(spec, standing);
                places.insert(place, (asked, found.clone()));
                found
            }
        }
    }

    /// The rollout is gone.
    pub(crate) fn forget(&self, rollout: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(rollout);
    }
}

fn fingerprint(spec: &AnalysisRunSpec, standing: Standing) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    (serde_json::to_vec(spec).ok()?, standing).hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(condition: &str) -> AnalysisRunSpec {
        let web = json!({"web": {"url": "http://metrics/"}});
        let metric =
            json!({"name": "errors", "successCondition": condition, "interval": "1s", "provider": web});
        serde_json::from_value(json!({"metrics": [metric]})).unwrap()
    }

    #[test]
    fn what_was_found_counts_for_the_same_spec_at_the_same_place_only() {
        let judged = Judged::default();
        let key = Key { namespace: "data".to_owned(), name: "web".to_owned() };
        let (good, bad) = (spec("result < 1"), spec("result <"));
        let (beside, at_step) = (Standing::BesideSteps, Standing::AtStep { has_pods: true });
        for _ in 0..2 {
            let fits = |spec, standing| judged.fits(&key, CheckPlace::Background, spec, standing);
            assert_eq!(fits(&good, beside), Ok(()));
            assert_eq!(fits(&good, beside), Ok(()));
            assert!(fits(&bad, beside).unwrap_err()[0].contains("is no condition"));
            assert!(fits(&good, at_step).unwrap_err()[0].contains("runs indefinitely"));
        }
        judged.forget(&key);
        assert!(judged.0.lock().unwrap().is_empty());
    }
}
