//! The flags of `simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_sim::Says;
use windlass_sim::script::Behaviour;

use super::{ServerHold, bare_name, duration};

pub(super) const HELP: &str = "\
Plays the controller itself against a cluster in memory, in virtual time: the set comes up, its template changes, and the \
run goes its way. Nothing real is touched. How real pods behave is not known: each is taken to be ready --pod-start after \
its start, unless --fail says otherwise, or the new image's tag ends in -never, -crash, -pull, -flaky or -slow. Analyses \
are measured by the templates in the files, but no provider is asked: what each metric says is given with --metric.

Examples:
  windlass simulate -f web.yaml
  windlass simulate -f web.yaml --image app=app:v2 --pod-start 40s --approve-after 15m
  windlass simulate -f web.yaml --image app:v2-crash                 (a version that cannot start)
  windlass simulate -f web.yaml --fail pod=web-4:crash@2m            (also never, flap, fail, slow:30s, well)
  windlass simulate -f web.yaml --metric error-rate=0.01,0.2@2m      (bad from two minutes after the change on)
  windlass simulate -f web.yaml --metric backup=fail --metric 'health={\"ok\": 99}'   (a job; a value as JSON)
  windlass simulate -f web.yaml --abort-at stage=3                   (does everything go back?)
  windlass simulate -f web.yaml --max-unavailable 1 --max-duration 3h   (a gate for CI)
  windlass simulate -f web.yaml -o svg > run.svg

Exit codes: 0 it ended well (with --abort-at: it was aborted and every pod is back) and kept every budget and invariant; \
1 it did not, or the files are wrong; 2 the command line is wrong";

#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// The rollout, where the files have several
    #[arg(value_name = "ROLLOUT", value_parser = bare_name)]
    pub(crate) name: Option<String>,
    /// A file or folder with manifests, - for standard input; repeat it for several
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Look into the folders of folders too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// The new image; without it the new template differs by an annotation, as after `kubectl rollout restart`
    #[arg(long, value_name = "[CONTAINER=]IMAGE", value_parser = image)]
    pub(crate) image: Option<Image>,
    /// A pod misbehaves from so long after the change: never, crash, flap, fail, slow:TIME, or well again
    #[arg(long, value_name = "pod=NAME:HOW[@TIME]", value_parser = failing)]
    pub(crate) fail: Vec<Failing>,
    /// What a metric says, each value from so long after the change on: numbers, nan, empty or error; of a job pass or
    /// fail; or values as JSON
    #[arg(long, value_name = "NAME=VALUE[,VALUE@TIME]", value_parser = metric)]
    pub(crate) metric: Vec<MetricValues>,
    /// A person aborts when this step is reached, counted from 1
    #[arg(long, value_name = "stage=NUMBER", value_parser = stage)]
    pub(crate) abort_at: Option<u32>,
    /// A pause without an end is promoted after this time
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = duration)]
    pub(crate) approve_after: Duration,
    /// How long a pod takes from its start until it is ready
    #[arg(long, default_value = "5s", value_name = "DURATION", value_parser = duration)]
    pub(crate) pod_start: Duration,
    /// How long a pod takes from its deletion until it is gone
    #[arg(long, default_value = "2s", value_name = "DURATION", value_parser = duration)]
    pub(crate) pod_stop: Duration,
    /// News in the cluster is late by chance, the same for the same seed; without it nobody is ever late
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// What holds a new template there: a mutating admission policy, or the partition
    #[arg(long, value_enum, default_value_t = ServerHold::Policy)]
    pub(crate) hold: ServerHold,
    /// End with 1 if more pods than this are unavailable at once
    #[arg(long, value_name = "PODS")]
    pub(crate) max_unavailable: Option<u32>,
    /// End with 1 if the run takes longer than this
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) max_duration: Option<Duration>,
    /// How the run is shown
    #[arg(short, long, value_enum, default_value_t = SimulateOutput::Text)]
    pub(crate) output: SimulateOutput,
}

/// How a simulated run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulateOutput {
    /// For a terminal
    Text,
    /// For a program
    Json,
    /// A picture
    Svg,
}

/// A new image, and the container it is for; the only one when absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) container: Option<String>,
    pub(crate) image: String,
}

fn image(text: &str) -> Result<Image, String> {
    let (container, image) = match text.split_once('=') {
        Some((container, image)) => (Some(container.to_owned()), image),
        None => (None, text),
    };
    if image.is_empty() || container.as_deref() == Some("") || image.contains(char::is_whitespace) {
        return Err("expected container=image, or an image, such as app=app:v2".to_owned());
    }
    Ok(Image { container, image: image.to_owned() })
}

/// What befalls a pod, and how long after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failing {
    pub(crate) pod: String,
    pub(crate) behaviour: Behaviour,
    pub(crate) after: Duration,
}

fn failing(text: &str) -> Result<Failing, String> {
    let expected = || "expected pod=NAME:HOW@TIME, such as pod=web-4:crash@2m".to_owned();
    let (what, after) = match text.split_once('@') {
        Some((what, after)) => (what, duration(after)?),
        None => (text, Duration::ZERO),
    };
    let what = what.strip_prefix("pod=").ok_or_else(expected)?;
    let (pod, behaviour) = what.split_once(':').filter(|(pod, _)| !pod.is_empty()).ok_or_else(expected)?;
    let behaviour = behaviour.replace(':', " ").parse().map_err(|_| {
        "expected never, crash, flap, fail, slow:TIME or well behind the pod's name".to_owned()
    })?;
    Ok(Failing { pod: pod.to_owned(), behaviour, after })
}

/// What a metric says, and from when on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricValues {
    pub(crate) name: String,
    pub(crate) values: Vec<(Duration, Says)>,
}

fn metric(text: &str) -> Result<MetricValues, String> {
    let expected =
        || "expected NAME=VALUE, such as error-rate=0.01, or with times error-rate=0.01,0.2@2m".to_owned();
    let (name, mut rest) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
    let mut values = Vec::new();
    loop {
        let (word, behind) = rest.split_at(end_of_value(rest));
        let (time, more) = behind.split_once(',').map_or((behind, None), |(time, more)| (time, Some(more)));
        let after = match time.strip_prefix('@') {
            Some(time) => duration(time)?,
            None if time.is_empty() => Duration::ZERO,
            None => return Err(format!("{}; `{time}` follows a value", expected())),
        };
        values.push((after, word.parse::<Says>()?));
        match more {
            Some(more) => rest = more,
            None => break,
        }
    }
    if values.first().is_none_or(|(after, _)| !after.is_zero()) {
        return Err(format!("{}; the first value counts from the change on", expected()));
    }
    if !values.is_sorted_by(|(one, _), (next, _)| one < next) {
        return Err(format!("{}; each value but the first needs a later @TIME", expected()));
    }
    Ok(MetricValues { name: name.to_owned(), values })
}

/// Where the first value ends: JSON may have commas of its own.
fn end_of_value(text: &str) -> usize {
    let mut json = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    if text.starts_with(['{', '[', '"']) && matches!(json.next(), Some(Ok(_))) {
        return json.byte_offset();
    }
    text.find([',', '@']).unwrap_or(text.len())
}

fn stage(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("stage=").or(text.strip_prefix("step=")).unwrap_or(text);
    number
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "expected the number of a step, counted from 1, such as stage=2".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_befalls_a_pod_is_read_with_its_time() {
        let rows = [
            ("pod=web-4:crash@2m", "web-4", Behaviour::Crash, 120),
            ("pod=web-0:never", "web-0", Behaviour::Never, 0),
            ("pod=web-0:slow:30s@1h", "web-0", Behaviour::Slow(Duration::from_secs(30)), 3600),
        ];
        for (text, pod, behaviour, seconds) in rows {
            let after = Duration::from_secs(seconds);
            assert_eq!(failing(text), Ok(Failing { pod: pod.to_owned(), behaviour, after }), "{text}");
        }
        for text in ["web-4:crash", "pod=web-4", "pod=:crash", "pod=web-4:sleep", "pod=web-4:crash@soon"] {
            assert!(failing(text).is_err_and(|told| told.contains("expected")), "{text}");
        }
    }

    #[test]
    fn what_a_metric_says_is_read_with_its_times() {
        let of = |name: &str, values: &[(u64, Says)]| {
            let values =
                values.iter().map(|(after, says)| (Duration::from_secs(*after), says.clone())).collect();
            Ok(MetricValues { name: name.to_owned(), values })
        };
        assert_eq!(
            metric("error-rate=0.01,0.2@2m"),
            of("error-rate", &[(0, Says::Number(0.01)), (120, Says::Number(0.2))])
        );
        assert_eq!(
            metric("lag=nan,empty@1s,error@1h"),
            of("lag", &[(0, Says::NotANumber), (1, Says::Empty), (3600, Says::Error)])
        );
        assert_eq!(metric("backup=pass,fail@1m"), of("backup", &[(0, Says::Pass), (60, Says::Fail)]));
        let json = |text: &str| Says::Exactly(serde_json::from_str(text).unwrap());
        assert_eq!(metric("ready=true,false@1m"), of("ready", &[(0, json("true")), (60, json("false"))]));
        assert_eq!(
            metric(r#"health={"ok": 99, "at": "a@b,c"},{"ok": 1}@1m,[1, 2]@2m,"no"@1h"#),
            of(
                "health",
                &[
                    (0, json(r#"{"ok": 99, "at": "a@b,c"}"#)),
                    (60, json(r#"{"ok": 1}"#)),
                    (120, json("[1, 2]")),
                    (3600, json(r#""no""#))
                ]
            )
        );
        for text in [
            "lag",
            "=1",
            "lag=",
            "lag=much",
            "lag=1@1m",
            "lag=1,2",
            "lag=1,2@2m,3@1m",
            "lag=1,2@soon",
            "lag={\"a\": 1",
            "lag={} 2",
        ] {
            assert!(metric(text).is_err_and(|told| told.contains("expected")), "{text}");
        }
    }

    #[test]
    fn a_step_is_counted_from_one() {
        assert_eq!((stage("stage=2"), stage("step=2"), stage("2")), (Ok(2), Ok(2), Ok(2)));
        assert!(stage("stage=0").is_err() && stage("stage=last").is_err());
    }

    #[test]
    fn an_image_may_name_its_container() {
        let of = |container: Option<&str>, name: &str| {
            Ok(Image { container: container.map(str::to_owned), image: name.to_owned() })
        };
        assert_eq!(image("app=shop/app:v2"), of(Some("app"), "shop/app:v2"));
        assert_eq!(image("app:v2"), of(None, "app:v2"));
        assert!(image("app=").is_err() && image("=app:v2").is_err() && image("").is_err());
    }
}
