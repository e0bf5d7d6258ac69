//! What a provider answers with, as far as its settings tell: so that a condition which cannot judge any answer is told
//! before anything is measured, and so that a simulated provider answers as the real one.

use serde_json::Value as Json;

use super::name;
use crate::expression::Value;

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// A number, of Prometheus itself.
    Number,
    /// A list, of one value or more, of this provider.
    List(&'static str),
    /// That depends on what is asked, and on who answers.
    Anything,
}

impl Answers {
    /// Of the provider of a metric, whose arguments are filled in.
    pub fn of(provider: &Json) -> Self {
        match name(provider) {
            Some("prometheus") => of_prometheus(provider),
            Some("graphite") => Self::List("graphite"),
            Some("influxdb") => Self::List("influxdb"),
            Some("cloudWatch") => Self::List("cloudWatch"),
            _ => Self::Anything,
        }
    }

    /// What every answer is, in words, and one such answer; none where that is not sure. That a number comes is not: servers
    /// that stand in for Prometheus, such as `VictoriaMetrics`, answer `scalar(…)` with a list.
    pub fn for_sure(self) -> Option<(String, Value)> {
        let Self::List(provider) = self else { return None };
        let first = match provider {
            "cloudWatch" => "result[0].Values[0] is a value",
            _ => "result[0] is its first value",
        };
        let words = format!("a list, which is what {provider} answers with ({first})");
        Some((words, Value::List(Vec::new())))
    }
}

fn of_prometheus(provider: &Json) -> Answers {
    /// What gives a number and no vector, and words that may stand beside it.
    const SCALARS: [&str; 3] = ["scalar", "time", "pi"];
    const BESIDE: [&str; 4] = ["inf", "nan", "bool", "atan2"];
    let is_range = provider.pointer("/prometheus/rangeQuery").is_some_and(|range| !range.is_null());
    let query = provider.pointer("/prometheus/query").and_then(Json::as_str).unwrap_or_default();
    let words = || words(query).map(str::to_ascii_lowercase);
    if is_range {
        Answers::List("prometheus")
    } else if is_scalar(query) {
        Answers::Number
    } else if query.contains(['#', '`'])
        || words().any(|word| SCALARS.contains(&&*word))
        || words().all(|word| BESIDE.contains(&&*word))
    {
        Answers::Anything
    } else {
        Answers::List("prometheus")
    }
}

/// The words of a query. What begins with a digit is a number.
fn words(query: &str) -> impl Iterator<Item = &str> {
    let parts = query.split(|character: char| !character.is_alphanumeric() && character != '_');
    parts.filter(|part| part.chars().next().is_some_and(|first| !first.is_ascii_digit()))
}

/// The whole query is one call of `scalar`.
fn is_scalar(query: &str) -> bool {
    let Some(inner) = query.trim().strip_prefix("scalar(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let mut depth = 0_i32;
    let closes_early = inner.chars().any(|character| {
        depth += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth < 0
    });
    !closes_early
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_query_is_known_what_it_is_answered_with_or_nothing_is_said() {
        let list = Answers::List("prometheus");
        let rows = [
            ("sum(rate(errors[1m]))", list),
            ("errors", list),
            ("{job=\"db\"} / 2", list),
            ("1 - up", list),
            ("vector(1)", list),
            ("scalar(sum(errors))", Answers::Number),
            (" scalar(up) ", Answers::Number),
            ("scalar(a) / on() (b)", Answers::Anything),
            ("scalar(a) + vector(b)", Answers::Anything),
            ("time() - 5", Answers::Anything),
            ("5 * 3", Answers::Anything),
            ("1e3 > bool 5m", Answers::Anything),
            ("-Inf", Answers::Anything),
            ("1 atan2 2", Answers::Anything),
            ("a atan2 b", list),
            ("5 # errors", Answers::Anything),
            ("*****", Answers::Anything),
            ("", Answers::Anything),
        ];
        for (query, wanted) in rows {
            assert_eq!(Answers::of(&json!({"prometheus": {"query": query}})), wanted, "{query}");
        }
        let range = json!({"prometheus": {"query": "scalar(up)", "rangeQuery": {"step": "1m"}}});
        assert_eq!(Answers::of(&range), list);
        let no_range = json!({"prometheus": {"query": "scalar(up)", "rangeQuery": null}});
        assert_eq!(Answers::of(&no_range), Answers::Number);
        assert_eq!(Answers::of(&json!({"web": {}})), Answers::Anything);
        assert_eq!(Answers::of(&json!({})), Answers::Anything);
    }
}
