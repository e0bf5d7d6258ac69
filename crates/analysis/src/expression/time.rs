//! Times and durations: how they are written, and what can be asked of them. A time here has no time zone, so nothing that
//! depends on one can be asked.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use windlass_api::go_duration;

use super::nature::Nature;
use super::value::Value;
use super::written::quoted;

/// A duration as Go counts it, which wraps around after 292 years.
#[expect(clippy::cast_possible_truncation, reason = "wrapping around is what Go does")]
pub(super) fn nanoseconds(duration: SignedDuration) -> i64 {
    duration.as_nanos() as i64
}

/// What a method of a time or a duration gives, before it is called.
pub(super) fn method(nature: &Nature, name: &str, arguments: usize) -> Result<Nature, String> {
    let known = match (nature, name) {
        (Nature::Duration, "Hours" | "Minutes" | "Seconds") => Some((0, Nature::Float)),
        (Nature::Duration, "Milliseconds" | "Microseconds" | "Nanoseconds")
        | (Nature::Moment, "Unix" | "UnixMilli" | "UnixMicro" | "UnixNano") => Some((0, Nature::Integer)),
        (Nature::Duration, "String") => Some((0, Nature::Text)),
        (Nature::Moment, "Add") => Some((1, Nature::Moment)),
        (Nature::Moment, "Sub") => Some((1, Nature::Duration)),
        (Nature::Moment, "Before" | "After" | "Equal") => Some((1, Nature::Bool)),
        _ => None,
    };
    match known {
        Some((wanted, gives)) if wanted == arguments => Ok(gives),
        Some((0, _)) => Err(format!("`{name}` takes no arguments")),
        Some(_) => Err(format!("`{name}` takes 1 argument, not {arguments}")),
        None => Err(format!(
            "{} has no method `{name}` here: there are Hours, Minutes, Seconds, Milliseconds, Microseconds, \
             Nanoseconds and String of a duration, and Unix, UnixMilli, UnixMicro, UnixNano, Add, Sub, Before, After \
             and Equal of a time",
            nature.shown()
        )),
    }
}

/// Calls a method.
pub(super) fn call(base: &Value, name: &str, arguments: &[Value]) -> Result<Value, String> {
    method(&Nature::of(base), name, arguments.len())?;
    Ok(match (base, name, arguments) {
        (Value::Duration(duration), _, []) => of_duration(nanoseconds(*duration), name),
        (Value::Moment(moment), _, []) => Value::Integer(of_moment(*moment, name)),
        (Value::Moment(moment), "Add", [Value::Duration(duration)]) => {
            later(*moment, nanoseconds(*duration))?
        }
        (Value::Moment(moment), "Sub", [Value::Moment(other)]) => between(*moment, *other),
        (Value::Moment(moment), "Before", [Value::Moment(other)]) => Value::Bool(moment < other),
        (Value::Moment(moment), "After", [Value::Moment(other)]) => Value::Bool(moment > other),
        (Value::Moment(moment), "Equal", [Value::Moment(other)]) => Value::Bool(moment == other),
        _ => return Err(format!("`{name}` cannot use what it is given")),
    })
}

#[expect(clippy::cast_precision_loss, reason = "the parts that are divided are small enough")]
fn of_duration(nanoseconds: i64, name: &str) -> Value {
    let parts = |unit: i64| (nanoseconds / unit) as f64 + (nanoseconds % unit) as f64 / unit as f64;
    match name {
        "Hours" => Value::Float(parts(3_600_000_000_000)),
        "Minutes" => Value::Float(parts(60_000_000_000)),
        "Seconds" => Value::Float(parts(1_000_000_000)),
        "Milliseconds" => Value::Integer(nanoseconds / 1_000_000),
        "Microseconds" => Value::Integer(nanoseconds / 1_000),
        "Nanoseconds" => Value::Integer(nanoseconds),
        _ => Value::Text(written(nanoseconds)),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "wrapping around is what Go does")]
fn of_moment(moment: Timestamp, name: &str) -> i64 {
    let nanoseconds = moment.as_nanosecond();
    match name {
        "Unix" => nanoseconds.div_euclid(1_000_000_000) as i64,
        "UnixMilli" => nanoseconds.div_euclid(1_000_000) as i64,
        "UnixMicro" => nanoseconds.div_euclid(1_000) as i64,
        _ => nanoseconds as i64,
    }
}

/// A moment and a duration.
pub(super) fn later(moment: Timestamp, nanoseconds: i64) -> Result<Value, String> {
    moment
        .checked_add(SignedDuration::from_nanos(nanoseconds))
        .map(Value::Moment)
        .map_err(|_| "the time is out of range".to_owned())
}

/// From the second to the first; the longest duration if it is longer.
pub(super) fn between(moment: Timestamp, other: Timestamp) -> Value {
    let nanoseconds = moment.as_nanosecond() - other.as_nanosecond();
    let clamped = i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX });
    Value::Duration(SignedDuration::from_nanos(clamped))
}

/// Reads a duration as Go writes it: `1h30m`, `-1.5s`, `100ms`.
pub(super) fn duration(text: &str) -> Result<Value, String> {
    go_duration(text)
        .map(Value::Duration)
        .ok_or_else(|| format!("{} is not a duration: write 30s, 5m or 1h30m", quoted(text)))
}

/// Writes a duration as Go does: `1h0m0s`, `1.5s`, `100ms`.
pub(super) fn written(nanoseconds: i64) -> String {
    let size = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let decimal = |unit: u64| {
        let (whole, part) = (size / unit, size % unit);
        let width = unit.ilog10() as usize;
        let text = format!("{whole}.{part:0width$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match size {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{size}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(1_000_000)),
        _ => {
            let (minutes, rest) = (size / 60_000_000_000, size % 60_000_000_000);
            let seconds = {
                let text = format!("{}.{:09}", rest / 1_000_000_000, rest % 1_000_000_000);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            };
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// Reads a time: a day, a time of day, both, or both with an offset.
pub(super) fn date(text: &str) -> Result<Value, String> {
    read_date(text).map(Value::Moment).ok_or_else(|| {
        let text = quoted(text);
        format!("{text} is not a time that is understood: write 2006-01-02, 15:04:05, both, or 2006-01-02T15:04:05Z")
    })
}

fn read_date(text: &str) -> Option<Timestamp> {
    if let Some(day) = day(text) {
        return moment(day, (0, 0, 0, 0), 0);
    }
    if let Some((time, "")) = time_of_day(text) {
        return moment((0, 1, 1), time, 0);
    }
    let (first, rest) = text.split_at_checked(10)?;
    let day = day(first)?;
    if let Some(rest) = rest.strip_prefix(' ') {
        return match time_of_day(rest)? {
            (time, "") => moment(day, time, 0),
            _ => None,
        };
    }
    let (time, zone) = time_of_day(rest.strip_prefix('T')?)?;
    moment(day, time, offset(zone)?)
}

fn moment(
    (year, month, day): (i16, i8, i8),
    (hour, minute, second, nanosecond): (i8, i8, i8, i32),
    offset: i64,
) -> Option<Timestamp> {
    let local = DateTime::new(year, month, day, hour, minute, second, nanosecond).ok()?;
    let utc = local.to_zoned(TimeZone::UTC).ok()?.timestamp();
    utc.checked_sub(SignedDuration::from_secs(offset)).ok()
}

/// Exactly so many digits.
fn digits(text: &str, count: usize) -> Option<(i32, &str)> {
    let (digits, rest) = text.split_at_checked(count)?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

fn day(text: &str) -> Option<(i16, i8, i8)> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    if !rest.is_empty() {
        return None;
    }
    Some((i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?))
}

type TimeOfDay = (i8, i8, i8, i32);

fn time_of_day(text: &str) -> Option<(TimeOfDay, &str)> {
    // The hour may have one digit.
    let (hour, rest) = digits(text, 2).or_else(|| digits(text, 1))?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (nanosecond, rest) = match rest.strip_prefix(['.', ',']) {
        None => (0, rest),
        Some(rest) => {
            let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
            let (fraction, rest) = rest.split_at(end);
            if fraction.is_empty() || fraction.len() > 9 {
                return None;
            }
            (format!("{fraction:0<9}").parse().ok()?, rest)
        }
    };
    Some((
        (i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, i8::try_from(second).ok()?, nanosecond),
        rest,
    ))
}

/// Seconds east of UTC.
fn offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, rest) = digits(rest, 2)?;
    let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
    if !rest.is_empty() || hours > 24 || minutes > 59 {
        return None;
    }
    Some(sign * i64::from(hours * 3600 + minutes * 60))
}
