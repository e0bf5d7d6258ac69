//! The shape in which a provider answers, as far as it can be known from a template: what a number is wrapped in.

use serde_json::Value as Json;
use windlass_analysis::expression::Value;
use windlass_analysis::providers::{self, Answers};

/// How a provider answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// With the value itself.
    Plain,
    /// With a number, or with nil if there is none.
    Point,
    /// With a list of numbers: of one, where nobody says more, and an empty one where there is nothing.
    List,
    /// With a list of numbers, or with an error where there is nothing.
    Series,
    /// With names and values that the query chooses.
    Fields {
        /// Who does.
        provider: String,
        /// Such as this.
        example: &'static str,
    },
    /// With no value: it says by itself whether all is well.
    Verdict,
}

impl Shape {
    /// The shape of what comes from the provider of a metric.
    pub fn of(provider: &Json) -> Self {
        let fields = |provider: &str, example| Self::Fields { provider: provider.to_owned(), example };
        match providers::name(provider) {
            Some("prometheus") if Answers::of(provider) == Answers::Number => Self::Plain,
            // At one moment or over a range: everything else that people ask it.
            Some("prometheus") => Self::List,
            Some("graphite" | "influxdb") => Self::Series,
            Some("datadog") => Self::Point,
            Some(name @ "newRelic") => fields(name, r#"{"count": 3}"#),
            Some(name @ "cloudWatch") => fields(name, r#"[{"Id": "errors", "Values": [3]}]"#),
            Some("job") => Self::Verdict,
            _ => Self::Plain,
        }
    }

    /// A number in this shape.
    pub(super) fn of_number(&self, number: f64) -> Value {
        match self {
            Self::List | Self::Series => Value::List(vec![Value::Float(number)]),
            Self::Plain | Self::Point | Self::Fields { .. } | Self::Verdict => Value::Float(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::readings::Says;

    #[test]
    fn a_number_is_in_the_shape_in_which_its_provider_answers() {
        let prometheus = |query: &str| json!({"prometheus": {"query": query}});
        let range = json!({"prometheus": {"query": "scalar(up)", "rangeQuery": {}}});
        let rows = [
            (prometheus("sum(rate(errors[1m]))"), "[3]"),
            (prometheus("scalar(sum(errors))"), "3"),
            (prometheus("scalar(a) / on() (b)"), "[3]"),
            (prometheus("scalar(a) + on() vector(b)"), "[3]"),
            (range, "[3]"),
            (json!({"graphite": {}}), "[3]"),
            (json!({"influxdb": {}}), "[3]"),
            (json!({"datadog": {}}), "3"),
            (json!({"web": {}}), "3"),
            (json!({"kubernetes": {}}), "3"),
        ];
        for (provider, wanted) in rows {
            let shown = windlass_analysis::measurement::shown(&Shape::of(&provider).of_number(3.0));
            assert_eq!(shown, wanted, "{provider}");
        }
    }

    #[test]
    fn what_a_provider_never_says_is_told() {
        let rows = [
            ("job", "0.01", "say pass, fail or error"),
            ("job", "true", "say pass, fail or error"),
            ("web", "pass", "are what a job says"),
            (
                "newRelic",
                "3",
                r#"newRelic answers with names and values, not with a number: say them as JSON, such as '{"count": 3}'"#,
            ),
            ("cloudWatch", "nan", "as JSON"),
        ];
        for (provider, word, wanted) in rows {
            let says: Says = word.parse().expect("a metric says that");
            let told = says.reading(&Shape::of(&json!({provider: {}}))).expect_err("it never says so");
            assert!(told.contains(wanted), "{provider} {word}: {told}");
        }
    }
}
