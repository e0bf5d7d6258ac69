//! Durations as people write them: Go's, and of a pause every spelling upstream takes: seconds as a number, seconds as a
//! string, or a Go duration.

use jiff::SignedDuration;
use kube::core::Duration;
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

/// A duration as Go reads it, such as 300ms, 5m or 1h30m; none if it is none.
pub fn go_duration(text: &str) -> Option<SignedDuration> {
    // Go takes no empty duration, the parser here does.
    let parsed: Duration = Some(text).filter(|text| !text.is_empty())?.parse().ok()?;
    let positive = SignedDuration::try_from(std::time::Duration::from(parsed)).ok()?;
    Some(if parsed.is_negative() { -positive } else { positive })
}

#[cfg(test)]
mod tests {
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
}
