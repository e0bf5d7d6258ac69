//! Values of measurements as people read them: the number that stands for one, and one in few words or in full. Of a metric
//! that is asked for each pod, the pod that decided comes first.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_api::analysis::Measurement;

use crate::kubectl::checks::Scope;

/// So many characters of a value are shown in a line.
const LONGEST: usize = 24;
/// A number or a name of so many characters can be read as it is.
const SHORT: usize = 8;

/// The number that stands for a measurement: the only one that its value has; of a metric per pod that of the pod which
/// decided, and if none did, the mean of all.
pub(super) fn number(measurement: &Measurement, scope: Scope) -> Option<f64> {
    let Some(pods) = Pods::of(measurement, scope) else {
        return only_number(&serde_json::from_str(&measurement.value).ok()?);
    };
    if let Some((_, value)) = pods.decisive {
        return only_number(&value);
    }
    let numbers: Option<Vec<f64>> = pods.others.values().map(only_number).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    Some(numbers.iter().sum::<f64>() / f64::from(u32::try_from(numbers.len()).ok()?))
}

/// A value for a line: long fractions and long texts are cut, but never so that a number seems to be on the other side of
/// one of these.
pub(super) fn value_words(measurement: &Measurement, scope: Scope, thresholds: &[f64]) -> String {
    let words = Pods::of(measurement, scope).and_then(|pods| pods.in_few_words(thresholds));
    let single = || single(&measurement.value).map(|number| rounded(&number, thresholds));
    words.or_else(single).unwrap_or_else(|| cut(&measurement.value))
}

/// The beginning of a text that is too long for a line.
fn cut(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// The end of a pod's name that is too long for a line: there it differs from others.
fn name_within(name: &str, room: usize) -> String {
    match name.chars().count().checked_sub(room) {
        None | Some(0) => name.to_owned(),
        Some(more) => format!("…{}", name.chars().skip(more).collect::<String>()),
    }
}

/// A value with nothing left out, in words that lines can be broken between.
pub(super) fn value_in_full(measurement: &Measurement, scope: Scope) -> String {
    if let Some(pods) = Pods::of(measurement, scope) {
        return pods.in_full();
    }
    let spread = || serde_json::from_str(&measurement.value).ok().map(|value: Value| spread(&value));
    single(&measurement.value).or_else(spread).unwrap_or_else(|| measurement.value.clone())
}

/// What was measured of each pod.
struct Pods {
    /// The pod that is named as the worst, unless all is well.
    decisive: Option<(String, Value)>,
    others: BTreeMap<String, Value>,
}

impl Pods {
    fn of(measurement: &Measurement, scope: Scope) -> Option<Self> {
        if scope == Scope::Whole {
            return None;
        }
        let mut others: BTreeMap<String, Value> = serde_json::from_str(&measurement.value).ok()?;
        let told = measurement.message.strip_prefix("pod ").unwrap_or_default();
        let is_named =
            |pod: &&String| told.strip_prefix(pod.as_str()).is_some_and(|rest| rest.starts_with([' ', ':']));
        let named = others.keys().find(is_named).cloned();
        Some(Self { decisive: named.and_then(|pod| others.remove_entry(&pod)), others })
    }

    /// `db-2 0.3`, or `0.01 to 0.02 of 3 pods`.
    fn in_few_words(&self, thresholds: &[f64]) -> Option<String> {
        let rounded = |number: String| rounded(&number, thresholds);
        if let Some((pod, value)) = &self.decisive {
            // Of the two the name is shortened: a part of a number is another number.
            let value = cut(&words_of(value, rounded));
            let room = LONGEST.saturating_sub(value.chars().count()).max(SHORT);
            return Some(format!("{} {value}", name_within(pod, room)));
        }
        let numbers: Vec<f64> = self.others.values().map(only_number).collect::<Option<_>>()?;
        let low = numbers.iter().copied().reduce(f64::min)?;
        let high = numbers.iter().copied().reduce(f64::max)?;
        let [low, high] = [low, high].map(|number| rounded(number.to_string()));
        let pods = if numbers.len() == 1 { "1 pod".to_owned() } else { format!("{} pods", numbers.len()) };
        Some(if low == high { format!("{low} of {pods}") } else { format!("{low} to {high} of {pods}") })
    }

    fn in_full(&self) -> String {
        let exact = |number: String| number;
        let words = |(pod, value): (&String, &Value)| format!("{pod} {}", words_of(value, exact));
        let others = self.others.iter().map(words).collect::<Vec<_>>().join(", ");
        match &self.decisive {
            None => others,
            Some((pod, value)) if others.is_empty() => words((pod, value)),
            Some((pod, value)) => format!("{}; the others: {others}", words((pod, value))),
        }
    }
}

/// The value of one pod of several: of a list of one what is in it.
fn words_of(value: &Value, number: impl Fn(String) -> String) -> String {
    let inner = match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    single(&inner.to_string()).map_or_else(|| spread(inner), number)
}

/// The only number that a value has, however deep: Prometheus answers with a list of one, others with names and values.
fn only_number(value: &Value) -> Option<f64> {
    fn numbers(value: &Value) -> Vec<f64> {
        match value {
            Value::Number(number) => number.as_f64().into_iter().collect(),
            Value::Array(items) => items.iter().flat_map(numbers).collect(),
            Value::Object(fields) => fields.values().flat_map(numbers).collect(),
            Value::Null | Value::Bool(_) | Value::String(_) => Vec::new(),
        }
    }
    match numbers(value)[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// A value that is a number, or a list of one number: that number, with all its digits.
fn single(value: &str) -> Option<String> {
    let number = match serde_json::from_str(value).ok()? {
        Value::Array(mut items) => items.pop().filter(|_| items.is_empty())?,
        other => other,
    };
    number.is_number().then(|| number.to_string())
}

/// JSON with a blank behind every comma and colon.
fn spread(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", joined(items.iter().map(spread).collect())),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), spread(value))
            };
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
        plain => plain.to_string(),
    }
}

/// Four digits are enough to get an idea, and as many more as it takes to see on which side of each threshold a number
/// is. What is less than a thousandth is written with its exponent.
fn rounded(text: &str, thresholds: &[f64]) -> String {
    let Some(number) = text.parse::<f64>().ok().filter(|_| text.len() > SHORT) else {
        return text.to_owned();
    };
    let shortened = |more: usize| match number.abs() {
        1000.0.. => format!("{number:.more$}"),
        1.0.. => format!("{number:.0$}", 2 + more),
        0.001.. => format!("{number:.0$}", 4 + more),
        _ => format!("{number:.0$e}", 2 + more),
    };
    let is_true = |text: &String| {
        let shown = text.parse::<f64>().ok();
        let same_side = |it: &f64| shown.is_some_and(|shown| shown.partial_cmp(it) == number.partial_cmp(it));
        thresholds.iter().all(same_side)
    };
    (0..text.len()).map(shortened).find(is_true).unwrap_or_else(|| text.to_owned())
}

/// The numbers that stand in a condition, with either sign. One too many costs a digit at most.
pub(super) fn numbers_in(condition: &str) -> Vec<f64> {
    let goes_on = |letter: char| letter.is_alphanumeric() || "_.".contains(letter);
    let begins =
        |(at, letter): &(usize, char)| letter.is_ascii_digit() && !condition[..*at].ends_with(goes_on);
    let number = |(at, _): (usize, char)| {
        let rest = &condition[at..];
        let end = rest.find(|it: char| !goes_on(it) && !"+-".contains(it)).unwrap_or(rest.len());
        // `1e-3` is a number, `1-3` is none.
        let parts = (1..=end).rev().filter_map(|end| rest.get(..end));
        parts.map(|part| part.replace('_', "")).find_map(|part| part.parse::<f64>().ok())
    };
    condition.char_indices().filter(begins).filter_map(number).flat_map(|it| [it, -it]).collect()
}

#[cfg(test)]
mod tests {
    use windlass_api::analysis::Measurement;

    use super::{number, numbers_in, value_in_full, value_words};
    use crate::kubectl::checks::Scope;

    fn measured(value: &str, message: &str) -> Measurement {
        Measurement { value: value.to_owned(), message: message.to_owned(), ..Measurement::default() }
    }

    #[test]
    fn long_values_are_cut_and_short_ones_left_alone() {
        let shown = |value| value_words(&measured(value, ""), Scope::Whole, &[]);
        assert_eq!(shown("0.05"), "0.05");
        assert_eq!(shown("0.012345678901"), "0.0123");
        assert_eq!(shown("[0.0123456789]"), "0.0123");
        assert_eq!(shown("123456.789012"), "123457");
        assert_eq!(shown("0.00000123456"), "1.23e-6");
        assert_eq!(shown(r#"{"status":"ok","lag":0.25}"#), r#"{"status":"ok","lag":0.2…"#);
    }

    #[test]
    fn a_number_is_shown_on_its_side_of_what_the_condition_says() {
        let rows = [
            ("0.99899999", "result >= 0.999", "0.99899999"),
            ("[0.9989012345]", "result[0] >= 0.999", "0.9989"),
            ("0.99901234567", "result >= 0.999", "0.99901"),
            ("249.99987654", "result < 250", "249.9999"),
            ("1000.4123456", "result <= 1_000", "1000.4"),
            ("-4.9999999", "result < -5", "-4.9999999"),
            ("0.00099999999", "result < 1e-3", "9.9999999e-4"),
            ("0.012345678", "result < 0.05", "0.0123"),
        ];
        for (value, condition, wanted) in rows {
            let shown = value_words(&measured(value, ""), Scope::Whole, &numbers_in(condition));
            assert_eq!(shown, wanted, "{value} {condition}");
        }
        let pods = measured(r#"{"db-0":0.01,"db-1":0.0499999999}"#, "");
        assert_eq!(value_words(&pods, Scope::EachPod, &[0.05]), "0.01 to 0.0499999999 of 2 pods");
    }

    #[test]
    fn the_numbers_of_a_condition_are_found() {
        let rows = [
            ("len(result) > 0 && result[0] < 0.05", &[0.0, 0.05][..]),
            ("result < 1e-3 || p95<=250-1", &[0.001, 250.0, 1.0]),
            ("result.v2 in 7..10 and x == \"über 3\" or y<1_000", &[7.0, 3.0, 1000.0]),
        ];
        for (text, wanted) in rows {
            let found = numbers_in(text);
            assert!(wanted.iter().all(|number| found.contains(number)), "{text}: {found:?}");
        }
        assert!(numbers_in("all(result, # != nil)").is_empty());
    }

    #[test]
    fn in_full_nothing_is_left_out_and_lines_can_be_broken() {
        let shown = |value| value_in_full(&measured(value, ""), Scope::Whole);
        assert_eq!(shown("[0.0123456789]"), "0.0123456789");
        assert_eq!(shown("9007199254740993"), "9007199254740993");
        assert_eq!(shown("[1,2,30]"), "[1, 2, 30]");
        assert_eq!(shown(r#"{"status":"of, all","lag":[0.25]}"#), r#"{"lag": [0.25], "status": "of, all"}"#);
        assert_eq!(shown("a text that is longer than a line"), "a text that is longer than a line");
    }

    #[test]
    fn the_only_number_stands_for_a_value() {
        let number = |value| number(&measured(value, ""), Scope::Whole);
        assert_eq!(number("3"), Some(3.0));
        assert_eq!(number("[3]"), Some(3.0));
        assert_eq!(number(r#"{"count":3,"host":"a"}"#), Some(3.0));
        assert_eq!(number(r#"[{"Id":"lag","Timestamps":["2026-01-01T00:00:00Z"],"Values":[3]}]"#), Some(3.0));
        for value in ["[1,2]", r#"{"db-0":1,"db-1":2}"#, "true", "NaN", "", "[]"] {
            assert_eq!(number(value), None, "{value}");
        }
    }

    #[test]
    fn of_a_metric_per_pod_the_pod_that_decided_comes_first() {
        let value = r#"{"db-1":0.01,"db-10":[0.02],"db-2":[0.3123456789]}"#;
        let bad =
            measured(value, "pod db-2 has value 0.3123456789: successCondition \"result < 0.05\" is false");
        assert_eq!(number(&bad, Scope::EachPod), Some(0.312_345_678_9));
        assert_eq!(value_words(&bad, Scope::EachPod, &[]), "db-2 0.3123");
        assert_eq!(
            value_in_full(&bad, Scope::EachPod),
            "db-2 0.3123456789; the others: db-1 0.01, db-10 0.02"
        );
        let pod = "payments-postgres-primary-2";
        let long = measured(&format!(r#"{{"{pod}":0.31}}"#), &format!("pod {pod} has value 0.31: no"));
        assert_eq!(value_words(&long, Scope::EachPod, &[]), "…s-postgres-primary-2 0.31");
        let silent = measured(r#"{"db-1":null,"db-10":0.02}"#, "pod db-1: no answer");
        assert_eq!(number(&silent, Scope::EachPod), None);
        assert_eq!(value_words(&silent, Scope::EachPod, &[]), "db-1 null");
        let good = measured(r#"{"db-0":0.01,"db-1":0.03}"#, "");
        assert_eq!(number(&good, Scope::EachPod), Some(0.02));
        assert_eq!(value_words(&good, Scope::EachPod, &[]), "0.01 to 0.03 of 2 pods");
    }
}
