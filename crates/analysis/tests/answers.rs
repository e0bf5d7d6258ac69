//! Looks at a run: what was measured is taken in once, whoever looks and however often.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use windlass_analysis::attend::{Answered, News, attend};
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::{Measured, Reading, RunIdentity};
use windlass_analysis::measurement::measurement;
use windlass_analysis::rules;
use windlass_api::analysis::{AnalysisRunSpec, AnalysisRunStatus};

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn spec() -> AnalysisRunSpec {
    serde_json::from_value(json!({"metrics": [{
        "name": "errors", "count": 3, "interval": "10s", "failureLimit": 1, "successCondition": "result < 0.1",
        "provider": {"web": {"url": "http://metrics.invalid/", "jsonPath": "{$.value}"}},
    }]}))
    .unwrap()
}

fn bad(asked_at: Timestamp, answered_at: Timestamp) -> Answered {
    let measured = Measured { value: Value::Float(0.9), metadata: BTreeMap::new() };
    let conditions = rules::read(&spec().metrics, &[], &[]).unwrap().remove(0).conditions;
    let made = measurement(Reading::Value(measured).into(), &conditions, answered_at).unwrap();
    Answered { metric: "errors".to_owned(), number: 0, asked_at, made }
}

fn looked(status: &AnalysisRunStatus, answers: &[Answered], now: Timestamp) -> AnalysisRunStatus {
    let news = News {
        since: Timestamp::MIN,
        answers,
        asked: &BTreeSet::new(),
        over: &|_| false,
        obstacle: &|_| None,
        troubles: &BTreeMap::new(),
    };
    attend(&RunIdentity::default(), &spec(), status, news, now).status
}

#[test]
fn an_answer_that_is_stored_already_is_not_counted_again() {
    // At once, later, and on a clock that was set back in between.
    for answered in [at(10), at(11), at(5)] {
        let answers = [bad(at(10), answered)];
        let stored = looked(&AnalysisRunStatus::default(), &answers, at(11));
        assert_eq!(stored.metric_results[0].failed, 1);
        let again = looked(&stored, &answers, at(11));
        assert_eq!(again, stored, "answered at {answered}");
    }
}
