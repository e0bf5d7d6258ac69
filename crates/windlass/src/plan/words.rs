//! The sentences that every form of a plan has in common.

use windlass_engine::PodName;

use super::checks::{CheckForecast, MetricForecast};
use super::forecast::{Forecast, Gate, Span, StageForecast};
use super::report::{Report, Subject};

/// What the plan is about.
pub(super) fn title(report: &Report) -> String {
    let Subject { kind, namespace, name, place } = &report.rollout;
    let from = |place: &Option<crate::files::Place>| {
        place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default()
    };
    format!(
        "Plan of {kind} {name}{} for {} {}{} in namespace {namespace}",
        from(place),
        report.workload.kind,
        report.workload.name,
        from(&report.workload.place)
    )
}

/// The facts that stand above the stages, each with its label.
pub(super) fn facts(forecast: &Forecast) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Pods", pods(forecast)), ("Down", down(forecast))];
    if !forecast.pods.is_empty() {
        facts.push(("Shortest", shortest(forecast)));
        facts.push(("Longest", longest(forecast)));
    }
    if let Some(end) = &forecast.revert_ends {
        let when = match end.step {
            Some(step) => format!("at step {step}"),
            None => "after the last step".to_owned(),
        };
        facts.push((
            "Abort",
            format!(
                "puts every updated pod back, one at a time, until {} is ready {when}; from then on the former \
                 version is forgotten, and going back means putting the former template back: a run of its own",
                end.pod
            ),
        ));
    }
    facts
}

fn pods(forecast: &Forecast) -> String {
    match forecast.pods.len() {
        0 => "none".to_owned(),
        1 => pod_list(&forecast.pods),
        count => format!("{count}, in the order {}", pod_list(&forecast.pods)),
    }
}

fn down(forecast: &Forecast) -> String {
    match (forecast.pods_down_at_once, forecast.pods.len()) {
        (0, _) => "no pod".to_owned(),
        (1, 1) => "the only pod".to_owned(),
        (1, all) => format!("at most 1 of {all} pods at once, forward and back"),
        (count, all) => format!("at most {count} of {all} pods at once, and 1 on the way back"),
    }
}

fn shortest(forecast: &Forecast) -> String {
    let person = match forecast.holds_for_a_person {
        0 => String::new(),
        1 => ", and as long as a person takes to promote".to_owned(),
        times => format!(", and as long as a person takes to promote, {times} times"),
    };
    let measured = if forecast.stages.iter().any(|stage| matches!(stage.gate, Gate::Analysis { .. })) {
        "the time that pods take to stop and start, and providers to answer, comes on top"
    } else {
        "the time that pods take to stop and start comes on top"
    };
    format!("{}{person}; {measured}", forecast.shortest)
}

fn longest(forecast: &Forecast) -> String {
    let then = if forecast.deadline.abort {
        "the run is aborted"
    } else {
        "the rollout is Degraded and goes on waiting, without limit"
    };
    let person = if forecast.holds_for_a_person > 0 { "; a person may take any time" } else { "" };
    format!(
        "{}, if each pod takes all of the progress deadline of {}; when it passes, {then}{person}{}",
        forecast.longest,
        forecast.deadline.after,
        longest_of_analyses(forecast)
    )
}

/// What of the analyses is in the longest time, and what cannot be.
fn longest_of_analyses(forecast: &Forecast) -> String {
    let unknown =
        |stage: &StageForecast| matches!(stage.gate, Gate::Analysis { .. }) && stage.longest.is_none();
    let unknown = forecast.stages.iter().any(unknown);
    let retry = forecast.analyses.iter().any(|analysis| analysis.on_error == "retry");
    let unknown = if unknown { "; an analysis whose end is not known is not counted" } else { "" };
    let retry = if retry { "; with onError: retry an outage of a provider may take any time" } else { "" };
    format!("{unknown}{retry}")
}

/// The headings of the analyses.
pub(super) const ANALYSIS_HEADINGS: [&str; 6] =
    ["analysis", "metric", "measured", "shortest", "longest", "on error"];

/// One row for each metric of an analysis; one for an analysis whose metrics are not known.
pub(super) fn analysis_rows(analysis: &CheckForecast) -> Vec<[String; 6]> {
    let names = analysis.templates.join(", ");
    let place = match (analysis.step, analysis.from_step) {
        (Some(step), _) => format!("step {step}"),
        (None, Some(1) | None) => "background".to_owned(),
        (None, Some(step)) => format!("background, from step {step}"),
    };
    let on_error = analysis.on_error.to_owned();
    if analysis.metrics.is_empty() {
        let unknown = "not known".to_owned();
        return vec![[
            place,
            format!("those of {names}"),
            unknown.clone(),
            unknown.clone(),
            unknown,
            on_error,
        ]];
    }
    let row = |(index, metric): (usize, &MetricForecast)| {
        let first = |text: &String| if index == 0 { text.clone() } else { String::new() };
        let dry = if metric.dry_run { " (dry run)" } else { "" };
        let span =
            |span: Option<Span>, none: &str| span.map_or_else(|| none.to_owned(), |span| span.to_string());
        let end =
            if analysis.step.is_none() && metric.count.is_none() { "until the end" } else { "no limit" };
        [
            first(&place),
            format!("{}{dry}", metric.name),
            measured(metric),
            span(metric.shortest, "-"),
            span(metric.longest, end),
            first(&on_error),
        ]
    };
    analysis.metrics.iter().enumerate().map(row).collect()
}

/// `5 × every 30s, after 1m`.
fn measured(metric: &MetricForecast) -> String {
    let often = match (metric.count, metric.interval) {
        (Some(1), _) | (Some(_), None) => "once".to_owned(),
        (Some(count), Some(interval)) => format!("{count} × every {interval}"),
        (None, Some(interval)) => format!("every {interval}"),
        (None, None) => String::new(),
    };
    if metric.initial_delay.is_zero() { often } else { format!("{often}, after {}", metric.initial_delay) }
}

/// The headings of the stages.
pub(super) const HEADINGS: [&str; 8] =
    ["step", "does", "pods", "updated", "partition", "then waits for", "shortest", "longest"];

/// One stage, under the headings. `range` says how several pods are written.
pub(super) fn row(
    forecast: &Forecast,
    stage: &StageForecast,
    range: fn(&[PodName]) -> String,
) -> [String; 8] {
    let pods = match (stage.to_target.as_slice(), stage.to_stable.as_slice()) {
        ([], []) => "-".to_owned(),
        (forward, []) => range(forward),
        (_, back) => format!("back: {}", range(back)),
    };
    let is_hold = stage.gate != Gate::Available;
    [
        stage.step.map_or_else(|| "end".to_owned(), |step| step.to_string()),
        stage.does.clone(),
        pods,
        format!("{}/{}", stage.on_target, forecast.pods.len()),
        stage.partition.to_string(),
        gate(stage.gate),
        if is_hold && stage.shortest.is_zero() { "-".to_owned() } else { stage.shortest.to_string() },
        match (stage.longest, stage.gate) {
            (Some(longest), _) => longest.to_string(),
            (None, Gate::Analysis { known: false }) => "not known".to_owned(),
            (None, _) => "no limit".to_owned(),
        },
    ]
}

fn gate(gate: Gate) -> String {
    match gate {
        Gate::Available => "pods available".to_owned(),
        Gate::Time { span } => span.to_string(),
        Gate::Person => "a person".to_owned(),
        Gate::Analysis { .. } => "its analysis".to_owned(),
    }
}

/// Up to three pods by name, more of them as a range.
pub(super) fn pod_list(pods: &[PodName]) -> String {
    match pods {
        [] => "-".to_owned(),
        [first, _, _, .., last] if pods.len() > 3 => format!("{first} … {last}"),
        few => few.iter().map(PodName::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// The same for a narrow column: of long names the last one is only its number.
pub(super) fn short_pod_list(pods: &[PodName]) -> String {
    const ROOM: usize = 22;
    let full = pod_list(pods);
    match pods {
        [first, .., last] if full.chars().count() > ROOM => {
            let number = last.as_str().rsplit_once('-').map_or(last.as_str(), |(_, number)| number);
            format!("{first} … -{number}")
        }
        _ => full,
    }
}
