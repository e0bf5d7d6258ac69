//! What a status may come to: the server takes objects of up to one and a half megabytes, and a run whose status is larger
//! could never be stored again, so it would never end.

use windlass_api::analysis::{AnalysisRunStatus, Measurement, MetricResult};

use crate::measurement::cut;

/// What all measurements of a run may come to, in bytes. The specification, which is written into the same object, has the
/// rest.
const MOST: usize = 512 * 1024;
/// What a measurement has besides its texts: names of fields, phase and moments.
const FRAME: usize = 256;

/// Makes room where there is none: the metric with the most gives up its older half, again and again. What counts them
/// stands beside them and stays.
pub(crate) fn fit(status: &mut AnalysisRunStatus) {
    while status.metric_results.iter().map(size).sum::<usize>() > MOST {
        let several = status.metric_results.iter_mut().filter(|result| result.measurements.len() > 1);
        let Some(largest) = several.max_by_key(|result| size(result)) else {
            shorten(status);
            return;
        };
        let half = largest.measurements.len() / 2;
        largest.measurements.drain(..half);
    }
}

/// So many metrics that there is little room for each.
fn shorten(status: &mut AnalysisRunStatus) {
    // Two texts, and a letter may have four bytes.
    let letters = (MOST / status.metric_results.len().max(1)).saturating_sub(FRAME) / 16;
    for result in &mut status.metric_results {
        result.message = cut(std::mem::take(&mut result.message), letters);
        for measurement in &mut result.measurements {
            measurement.value = cut(std::mem::take(&mut measurement.value), letters);
            measurement.message = cut(std::mem::take(&mut measurement.message), letters);
        }
    }
}

fn size(result: &MetricResult) -> usize {
    let texts: usize = result.metadata.values().map(String::len).sum();
    FRAME + result.message.len() + texts + result.measurements.iter().map(size_of_one).sum::<usize>()
}

fn size_of_one(measurement: &Measurement) -> usize {
    let metadata: usize = measurement.metadata.iter().map(|(name, text)| name.len() + text.len()).sum();
    FRAME + measurement.value.len() + measurement.message.len() + metadata
}

#[cfg(test)]
mod tests {
    use windlass_api::analysis::Phase;

    use super::*;

    fn status(metrics: usize, measurements: usize, letters: usize) -> AnalysisRunStatus {
        let value = |number: usize| Measurement {
            value: format!("{number:0letters$}"),
            message: "x".repeat(letters),
            phase: Phase::Failed,
            ..Measurement::default()
        };
        let result = |metric: usize| MetricResult {
            name: format!("metric-{metric}"),
            count: 7,
            measurements: (0..measurements).map(value).collect(),
            ..MetricResult::default()
        };
        AnalysisRunStatus {
            metric_results: (0..metrics).map(result).collect(),
            ..AnalysisRunStatus::default()
        }
    }

    #[test]
    fn a_status_fits_into_an_object_whatever_is_measured() {
        for (metrics, measurements, letters) in [(1, 100_000, 1), (60, 10, 4096), (600, 1, 4096)] {
            let mut status = status(metrics, measurements, letters);
            let last = status.metric_results[0].measurements.last().cloned().unwrap();
            fit(&mut status);
            let bytes = serde_json::to_vec(&status).unwrap().len();
            assert!(bytes < 1024 * 1024, "{metrics} metrics, {measurements} measurements: {bytes}");
            assert!(status.metric_results.iter().all(|it| it.count == 7 && !it.measurements.is_empty()));
            let kept = status.metric_results[0].measurements.last().unwrap();
            assert!(last.value.starts_with(kept.value.trim_end_matches('…')), "the newest stays");
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let (mut whole, before) = (status(20, 10, 100), status(20, 10, 100));
        fit(&mut whole);
        assert_eq!(whole, before);
    }
}
