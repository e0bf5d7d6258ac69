//! Measurements as a line of bars: how a value went, at a glance.

use windlass_api::analysis::{Measurement, Phase};

use super::style::{BAD, FAINT, HELD, PLAIN};
use super::table::Cell;
use super::values::number;
use crate::kubectl::checks::Scope;

const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// A measurement without a number: an error, NaN, or something else.
const NO_NUMBER: &str = "×";
/// The bar of values that are all the same.
const LEVEL: &str = "▄";
/// No line is longer.
const MOST: usize = 20;

/// The latest finished measurements as bars, from the lowest to the highest of them; nothing when there is no number.
pub(super) fn sparkline(measurements: &[Measurement], scope: Scope) -> Cell {
    let finished: Vec<&Measurement> = measurements.iter().filter(|it| it.finished_at.is_some()).collect();
    let shown = &finished[finished.len().saturating_sub(MOST)..];
    let numbers: Vec<f64> = shown.iter().filter_map(|it| number(it, scope)).collect();
    let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
        (low.min(*number), high.max(*number))
    });
    if numbers.is_empty() {
        return Cell::default();
    }
    shown.iter().fold(Cell::default(), |line, measurement| {
        let style = match measurement.phase {
            Phase::Failed => BAD,
            Phase::Inconclusive => HELD,
            Phase::Error => FAINT,
            Phase::Successful | Phase::Running | Phase::Pending => PLAIN,
        };
        line.and(style, number(measurement, scope).map_or(NO_NUMBER, |number| bar(number, low, high)))
    })
}

fn bar(number: f64, low: f64, high: f64) -> &'static str {
    let share = (number - low) / (high - low);
    let steps = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    if !share.is_finite() {
        return LEVEL;
    }
    let passed = steps.iter().filter(|step| share * 8.0 >= **step).count();
    BARS.get(passed).copied().unwrap_or(LEVEL)
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use windlass_api::analysis::{Measurement, Phase};

    use super::sparkline;
    use crate::kubectl::checks::Scope;
    use crate::kubectl::fixtures::now;
    use crate::kubectl::render::table::Table;

    fn line(values: &[(&str, Phase)]) -> String {
        let measurement = |(value, phase): &(&str, Phase)| Measurement {
            phase: *phase,
            value: (*value).to_owned(),
            finished_at: Some(now()),
            ..Measurement::default()
        };
        let measurements: Vec<Measurement> = values.iter().map(measurement).collect();
        let mut table = Table::default();
        table.row(vec![sparkline(&measurements, Scope::Whole)]);
        table.lines("").trim_end().to_owned()
    }

    fn good(values: &[&str]) -> String {
        line(&values.iter().map(|value| (*value, Phase::Successful)).collect::<Vec<_>>())
    }

    #[test]
    fn bars_go_from_the_lowest_to_the_highest() {
        assert_eq!(good(&["0", "1", "2", "3", "4", "5", "6", "7"]), "▁▂▃▄▅▆▇█");
        assert_eq!(good(&["[0.5]", "[0.1]"]), "█▁");
        assert_eq!(good(&["-1", "1"]), "▁█");
    }

    #[test]
    fn one_value_and_values_that_are_the_same_are_level() {
        assert_eq!(good(&["0.2"]), "▄");
        assert_eq!(good(&["3", "3", "3"]), "▄▄▄");
    }

    #[test]
    fn what_is_no_number_is_crossed_out_and_alone_draws_nothing() {
        let mixed = [
            ("1", Phase::Successful),
            ("", Phase::Error),
            ("NaN", Phase::Inconclusive),
            ("2", Phase::Failed),
        ];
        assert_eq!(strip_str(&line(&mixed)).to_string(), "▁××█");
        assert_eq!(good(&["true", "NaN", "[1,2]", ""]), "");
        assert_eq!(good(&[]), "");
    }

    #[test]
    fn a_bad_value_is_red() {
        assert!(line(&[("1", Phase::Successful), ("2", Phase::Failed)]).contains("\x1b[31m█"));
    }
}
