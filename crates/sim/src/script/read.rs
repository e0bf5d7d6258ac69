//! From text to script. Every error names its line and says what was expected.

use std::time::Duration;

use jiff::SignedDuration;
use thiserror::Error;
use windlass_workloads::Holder;

use super::checks::{GivenBackground, GivenCheck, GivenMetric};
use super::{Behaviour, Condition, Deed, Fault, Given, GivenStep, Line, NodeState, Overdue, Script};
use crate::readings::Sample;

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: `{text}`: {expected}")]
pub struct ScriptError {
    /// Which line, counted from 1.
    pub line: usize,
    /// What it says.
    pub text: String,
    /// What was expected.
    pub expected: String,
}

/// Why a line cannot be understood.
pub(super) type Expected = String;

impl std::str::FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self { given: Given::default(), lines: Vec::new() };
        for (index, line) in text.lines().enumerate() {
            let said = line.split('#').next().unwrap_or_default().trim();
            if said.is_empty() {
                continue;
            }
            take(&mut script, said).map_err(|expected| ScriptError {
                line: index + 1,
                text: said.to_owned(),
                expected,
            })?;
        }
        Ok(script)
    }
}

fn take(script: &mut Script, said: &str) -> Result<(), Expected> {
    let words: Vec<&str> = said.split_whitespace().collect();
    match words.as_slice() {
        ["given", rest @ ..] if script.lines.is_empty() => given(&mut script.given, rest),
        ["given", ..] => Err("what is given comes before what happens".to_owned()),
        words => {
            script.lines.push(line(words)?);
            Ok(())
        }
    }
}

fn given(given: &mut Given, words: &[&str]) -> Result<(), Expected> {
    match words {
        ["pods", pods] => given.pods = number(pods)?,
        ["image", image] => (*image).clone_into(&mut given.image),
        ["steps", all @ ..] => given.steps = steps(all)?,
        ["parallel"] => given.parallel = true,
        ["min-ready", time] => given.min_ready = duration(time)?,
        ["first-ordinal", ordinal] => given.first_ordinal = number(ordinal)?,
        ["on-delete"] => given.on_delete = true,
        ["no", "rollout"] => given.managed = false,
        ["background", rest @ ..] => given.background = Some(GivenBackground::read(rest)?),
        ["metric", rest @ ..] => given.metrics.push(GivenMetric::read(rest)?),
        ["kept", good, other] => given.kept = Some((number(good)?, number(other)?)),
        ["deadline", time] => given.deadline = Some((duration(time)?, Overdue::Told)),
        ["deadline", time, "abort"] => given.deadline = Some((duration(time)?, Overdue::Aborted)),
        ["hold", "policy"] => given.holder = Holder::Policy,
        ["hold", "partition"] => given.holder = Holder::Partition,
        ["nodes", nodes] => given.nodes = number(nodes)?,
        ["seed", seed] => given.seed = Some(number(seed)?),
        _ => {
            return Err("expected pods N, image IMAGE, steps …, parallel, min-ready TIME, first-ordinal N, \
                        on-delete, no rollout, background METRIC …, metric NAME …, kept N N, deadline TIME [abort], hold policy|partition, nodes N or seed N"
                .to_owned());
        }
    }
    Ok(())
}

fn line(words: &[&str]) -> Result<Line, Expected> {
    match words {
        ["wait", rest @ ..] => condition(rest).map(Line::Wait),
        ["pass", time] => duration(time).map(Line::Pass),
        ["fault", rest @ ..] => fault(rest).map(Line::Break),
        words => deed(words).map(Line::Do),
    }
}

fn condition(words: &[&str]) -> Result<Condition, Expected> {
    Ok(match words {
        ["phase", phase @ ("Healthy" | "Progressing" | "Paused" | "Degraded")] => {
            Condition::Phase((*phase).to_owned())
        }
        ["step", step] => Condition::Step(number(step)?),
        ["reason", reason] => Condition::Reason((*reason).to_owned()),
        ["updated", count] => Condition::Updated(number(count)?),
        ["ready", count] => Condition::Ready(number(count)?),
        ["pods", count] => Condition::Pods(number(count)?),
        ["told", reason] => Condition::Told((*reason).to_owned()),
        [
            "analysis",
            phase @ ("Pending" | "Running" | "Successful" | "Inconclusive" | "Error" | "Failed"),
        ] => Condition::Analysis((*phase).to_owned()),
        ["measured", count] => Condition::Measured(number(count)?),
        ["analyses", count] => Condition::Analyses(number(count)?),
        ["no", "rollout"] => Condition::NoRollout,
        ["quiet"] => Condition::Quiet,
        _ => {
            return Err("expected phase Healthy|Progressing|Paused|Degraded, step N, reason CODE, updated N, ready N, \
                        pods N, told REASON, analysis Running|Successful|Inconclusive|Error|Failed, measured N, \
                        analyses N, no rollout or quiet"
                .to_owned());
        }
    })
}

fn deed(words: &[&str]) -> Result<Deed, Expected> {
    Ok(match words {
        ["image", image] => Deed::Image((*image).to_owned()),
        ["scale", pods] => Deed::Scale(number(pods)?),
        ["promote"] => Deed::Promote,
        ["promote", "full"] => Deed::PromoteFull,
        ["abort"] => Deed::Abort,
        ["restart"] => Deed::Restart,
        ["pause"] => Deed::Pause,
        ["resume"] => Deed::Resume,
        ["steps", all @ ..] if !all.is_empty() => Deed::Steps(steps(all)?),
        ["no", "steps"] => Deed::Steps(Vec::new()),
        ["background", rest @ ..] => Deed::Background(Some(GivenBackground::read(rest)?)),
        ["no", "background"] => Deed::Background(None),
        ["no", "strategy"] => Deed::NoStrategy,
        ["plugin", name] => Deed::Plugin((*name).to_owned()),
        ["workload-namespace", namespace] => Deed::WorkloadNamespace((*namespace).to_owned()),
        ["delete", "pod", pod] => Deed::DeletePod((*pod).to_owned()),
        ["evict", "pod", pod] => Deed::EvictPod((*pod).to_owned()),
        ["delete", "set"] => Deed::DeleteSet,
        ["delete", "rollout"] => Deed::DeleteRollout,
        ["create", "rollout"] => Deed::CreateRollout,
        ["create", "second", "rollout"] => Deed::SecondRollout,
        ["partition", partition] => Deed::Partition(number(partition)?),
        ["reapply"] => Deed::Reapply,
        ["quota", "off"] => Deed::Quota(None),
        ["quota", pods] => Deed::Quota(Some(number(pods)?)),
        ["pod", pod, rest @ ..] => Deed::Pod((*pod).to_owned(), behaviour(rest)?),
        ["node", node, "lost"] => Deed::Node((*node).to_owned(), NodeState::Lost),
        ["node", node, "back"] => Deed::Node((*node).to_owned(), NodeState::Back),
        ["policies", "on"] => Deed::Policies(true),
        ["policies", "off"] => Deed::Policies(false),
        ["metric", metric, says @ .., "after", time] => sample(metric, says, duration(time)?)?,
        ["metric", metric, says @ ..] => sample(metric, says, Duration::ZERO)?,
        ["delete", "template", metric] => Deed::DeleteTemplate((*metric).to_owned()),
        ["create", "template", metric] => Deed::CreateTemplate((*metric).to_owned()),
        ["delete", "analysis"] => Deed::DeleteAnalysis,
        ["terminate", "analysis"] => Deed::TerminateAnalysis,
        _ => {
            return Err("expected wait …, pass TIME, fault …, image IMAGE, scale N, promote [full], abort, restart, \
                        pause, resume, steps …, no steps, background METRIC …, no background, no strategy, plugin NAME, workload-namespace NAME, \
                        delete pod NAME, evict pod NAME, delete set, delete rollout, create rollout, \
                        create second rollout, partition N, reapply, quota N|off, pod NAME …, node NAME lost|back, \
                        policies on|off, metric NAME VALUE|nan|empty|error … [after TIME], delete template NAME, \
                        create template NAME, delete analysis or terminate analysis"
                .to_owned());
        }
    })
}

fn sample(metric: &str, says: &[&str], after: Duration) -> Result<Deed, Expected> {
    if says.is_empty() {
        return Err(
            "expected what the metric says: a number, nan, empty or error, or several in turn".to_owned()
        );
    }
    let says = says.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
    Ok(Deed::Metric(metric.to_owned(), Sample { says, after }))
}

/// How a pod is to behave.
pub(crate) fn behaviour(words: &[&str]) -> Result<Behaviour, Expected> {
    Ok(match words {
        ["well"] => Behaviour::Well,
        ["never"] => Behaviour::Never,
        ["crash"] => Behaviour::Crash,
        ["flap"] => Behaviour::Flap,
        ["fail"] => Behaviour::Fail,
        ["slow", time] => Behaviour::Slow(duration(time)?),
        _ => return Err("expected well, never, crash, flap, fail or slow TIME".to_owned()),
    })
}

impl std::str::FromStr for Behaviour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Expected> {
        behaviour(&text.split_whitespace().collect::<Vec<_>>())
    }
}

fn fault(words: &[&str]) -> Result<Fault, Expected> {
    Ok(match words {
        ["crash-before", count] => Fault::CrashBefore(number(count)?),
        ["crash-after", count] => Fault::CrashAfter(number(count)?),
        ["lose", count] => Fault::Lose(number(count)?),
        ["refuse", count, code] => Fault::Refuse(number(count)?, number(code)?),
        ["hang", count] => Fault::Hang(number(count)?),
        ["slow", count, time] => Fault::Slow(number(count)?, duration(time)?),
        ["late", by, time] => Fault::Late(duration(by)?, duration(time)?),
        ["relist"] => Fault::Relist,
        ["repeat"] => Fault::Repeat,
        ["stop", time] => Fault::Stop(duration(time)?),
        ["clock", seconds] => Fault::Clock(number(seconds)?),
        _ => {
            return Err("expected crash-before N, crash-after N, lose N, refuse N CODE, hang N, slow N TIME, late TIME TIME, \
                        relist, repeat, stop TIME or clock SECONDS"
                .to_owned());
        }
    })
}

fn steps(words: &[&str]) -> Result<Vec<GivenStep>, Expected> {
    words
        .iter()
        .map(|word| match word.split_once(':') {
            Some(("pause", time)) => duration(time).map(GivenStep::PauseFor),
            Some(("check", check)) => GivenCheck::read(check).map(GivenStep::Check),
            None if *word == "pause" => Ok(GivenStep::Pause),
            _ => number(word).map(GivenStep::Weight).map_err(|_| {
                format!("`{word}` is no step: expected a weight, pause, pause:TIME or check:METRIC")
            }),
        })
        .collect()
}

pub(super) fn number<T: std::str::FromStr>(word: &str) -> Result<T, Expected> {
    word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
}

/// A duration, such as `500ms`, `30s`, `5m` or `1h30m`.
pub(crate) fn duration(word: &str) -> Result<Duration, Expected> {
    let wrong = || format!("`{word}` is no duration: expected something like 500ms, 30s, 5m or 1h30m");
    let parsed: SignedDuration = word.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "\
given pods 4
given image app:v1
given steps 25 pause 50 pause:10m check:errors check:slowness:retry 100
given parallel
given min-ready 10s
given first-ordinal 2
given on-delete
given no rollout
given background errors:pause from 2
given metric errors count 5 interval 1m delay 5s failures 1 inconclusive 2 errors 0 success result < 0.5
given metric slowness endless
given kept 1 0
given deadline 5m abort
given hold partition
given nodes 2
given seed 7
image app:v2
wait phase Paused
wait step 1
wait reason Aborted
wait updated 2
wait ready 4
wait pods 4
wait told RolloutPluginAborted
wait analysis Failed
wait measured 2
wait analyses 3
wait no rollout
wait quiet
pass 1m30s
pass 250ms
scale 6
promote
promote full
abort
restart
pause
resume
steps 50 100
no steps
no strategy
plugin statefulset
workload-namespace elsewhere
delete pod web-3
evict pod web-3
delete rollout
create rollout
create second rollout
partition 0
reapply
quota 3
quota off
pod web-3 well
pod web-3 never
pod web-3 crash
pod web-3 flap
pod web-3 fail
pod web-3 slow 20s
node node-1 lost
node node-1 back
policies off
policies on
metric errors 0.2
metric errors nan after 30s
metric errors 0.01 0.9 empty error
delete template errors
create template errors
delete analysis
terminate analysis
fault crash-before 3
fault crash-after 3
fault lose 2
fault refuse 1 409
fault hang 1
fault late 2s 1m
fault relist
fault repeat
fault stop 20s
fault clock -90
";

    #[test]
    fn every_line_is_written_as_it_is_read() {
        let script: Script = EVERYTHING.parse().unwrap();
        assert_eq!(script.to_string(), EVERYTHING);
        assert_eq!(script.to_string().parse::<Script>().unwrap(), script);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named_with_what_was_expected() {
        let error = "given pods 4\n\n# words\nwait phase Sleepy\n".parse::<Script>().unwrap_err();
        assert_eq!(error.line, 4);
        assert!(
            error.to_string().starts_with("line 4: `wait phase Sleepy`: expected phase Healthy|"),
            "{error}"
        );
        let late = "promote\ngiven pods 4".parse::<Script>().unwrap_err();
        assert_eq!(late.expected, "what is given comes before what happens");
        let time = "pass 5 minutes".parse::<Script>().unwrap_err();
        assert!(time.to_string().contains("expected wait"), "{time}");
        let unit = "pass 5q".parse::<Script>().unwrap_err();
        assert!(unit.to_string().contains("is no duration"), "{unit}");
    }
}
