//! Durations as people write them: Go's, and of a pause every spelling upstream takes: seconds as a number, seconds as a
//! string, or a Go duration.

use jiff::SignedDuration;
use serde_json::Value;

/// The duration of a pause, or `None` when it is negative or none at all.
pub(crate) fn parse(duration: &Value) -> Option<SignedDuration> {
    let duration = match duration {
        Value::String(text) => match text.parse::<i64>() {
            Ok(seconds) => SignedDuration::from_secs(seconds),
            Err(_) => go_duration(text)?,
        },
        number => SignedDuration::from_secs(number.as_i64()?),
    };
    (!duration.is_negative()).then_some(duration)
}

/// A duration as Go reads it, such as 300ms, 5m or -1h30m; none if it is none, or longer than Go can count (292 years).
/// Every text that a person or a provider writes is read here: kube's own parser panics on some.
pub fn go_duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (part, left) = one_unit(rest)?;
        total = total.checked_add(part).filter(|total| *total <= 1 << 63)?;
        rest = left;
    }
    let nanoseconds = if negative { 0_i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() };
    nanoseconds.map(SignedDuration::from_nanos)
}

/// One number and its unit, in nanoseconds, and what is left behind it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "fractions of a unit are counted as Go counts them"
)]
fn one_unit(text: &str) -> Option<(u64, &str)> {
    let digits = |text: &str| text.len() - text.trim_start_matches(|next: char| next.is_ascii_digit()).len();
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, rest) =
        rest.split_at(rest.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(rest.len()));
    let unit: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut value = whole.checked_mul(unit).filter(|value| *value <= 1 << 63)?;
    let (mut part, mut scale) = (0_u64, 1.0_f64);
    for digit in fraction.bytes() {
        let Some(next) = part.checked_mul(10).filter(|next| *next <= (1 << 63) - 10) else { break };
        part = next + u64::from(digit - b'0');
        scale *= 10.0;
    }
    if part > 0 {
        value = value.checked_add((part as f64 * (unit as f64 / scale)) as u64)?;
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use proptest::proptest;
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Option<SignedDuration> {
        parse(&json!(text))
    }

    #[test]
    fn every_spelling_of_a_duration_is_understood() {
        assert_eq!(parse(&json!(30)), Some(SignedDuration::from_secs(30)));
        let rows = [
            ("30", 30_000),
            ("0", 0),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("300ms", 300),
            ("+5s", 5_000),
        ];
        for (spelling, millis) in rows {
            assert_eq!(text(spelling), Some(SignedDuration::from_millis(millis)), "{spelling}");
        }
    }

    #[test]
    fn a_negative_or_unreadable_duration_is_refused() {
        assert_eq!(parse(&json!(-1)), None);
        for spelling in ["-5s", "-1", "", "soon", "5 minutes", "5d", "1h30"] {
            assert_eq!(text(spelling), None, "{spelling}");
        }
    }

    #[test]
    fn a_duration_is_read_as_go_reads_it_or_not_at_all() {
        let rows = [
            ("1h5m", Some(3_900_000_000_000)),
            ("-1.5s", Some(-1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("1.s", Some(1_000_000_000)),
            ("1µs", Some(1_000)),
            ("0", Some(0)),
            ("-0", Some(0)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("-9223372036854775808ns", Some(i64::MIN)),
            // A sign stands before the whole.
            ("1m-30s", None),
            ("1h+5m", None),
            ("--1s", None),
            ("-", None),
            ("+", None),
            ("1", None),
            ("s", None),
            (".s", None),
            ("1 s", None),
            ("1e3s", None),
            ("٣s", None),
            ("1µ", None),
            // More than can be counted.
            ("9223372036854775808ns", None),
            ("9999999999999999h", None),
            ("99999999999999999999999999s", None),
            ("18446744073709551615s1s", None),
            ("18446744073709551615ns1ns", None),
            ("9223372036854775807ns1.9h", None),
            ("0.99999999999999999999999999999999h", Some(3_600_000_000_000)),
        ];
        for (spelling, nanoseconds) in rows {
            assert_eq!(
                go_duration(spelling).map(|it| it.as_nanos()),
                nanoseconds.map(i128::from),
                "{spelling}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(any in ".{0,12}", near in "[-+]?([0-9]{0,20}[.]?[0-9]{0,20}(ns|us|µs|ms|s|m|h|)[-+]?){0,4}") {
            for spelling in [any, near] {
                let _ = text(&spelling);
            }
        }
    }
}
