//! A run for the terminal: what was played, what happened when, the picture, the end, and the checks.

use std::fmt::Write as _;

use windlass_engine::duration_words;

use super::analyses::state_words as state_words_of_analysis;
use super::picture::picture;
use super::setting::{Assumed, Change};
use super::story::{Entry, Outcome, Seconds, State, Story, Version, What};
use super::verdict::{Check, Verdict};
use crate::kubectl::render::{BAD, BOLD, DONE, FAILED, FAINT, GOOD, fact, paint, phase_words, wrap};

/// More pods than this that become ready one after the other are told in one line.
const TOLD_ONE_BY_ONE: usize = 3;
/// Events that say what the rollout's own state says better.
const SAID_ALREADY: [&str; 10] = [
    "RolloutPluginProgressing",
    "RolloutPluginPaused",
    "RolloutPluginResumed",
    "RolloutPluginCompleted",
    "AnalysisRunRunning",
    "AnalysisRunSuccessful",
    "AnalysisRunError",
    "InconclusiveAnalysisRun",
    "AnalysisRunFailed",
    "AnalysisRunInconclusive",
];
/// How the event of an abort begins that an analysis has brought about; why is told with the analysis.
const BY_ANALYSIS: [&str; 2] = ["Step-based analysis phase", "Background analysis phase"];

/// In lines of at most so many columns.
pub(super) fn text(story: &Story, verdict: &Verdict, columns: usize) -> String {
    let mut text = format!("{}\n\n", paint(BOLD, &wrap(&title(story), columns.saturating_sub(2), "  ")));
    text.push_str(&fact("Change", &change_words(&story.change), columns));
    text.push_str(&fact("Assumed", &assumed_words(&story.assumed), columns));
    text.push('\n');
    if story.end.outcome != Outcome::NeverBegan {
        text.push_str(&run(story, columns));
    }
    for (label, value) in end(story) {
        text.push_str(&fact(label, &value, columns));
    }
    text.push('\n');
    text.extend(verdict.checks.iter().map(|it| check(it, columns)));
    text
}

/// What happened, in words and as a picture.
fn run(story: &Story, columns: usize) -> String {
    let mut text = String::new();
    for line in told(story) {
        let (time, rest) = line.split_once("  ").unwrap_or(("", &line));
        let indent = " ".repeat(time.chars().count() + 2);
        let room = columns.saturating_sub(indent.len());
        let _ = writeln!(text, "{}  {}", paint(FAINT, time), wrap(rest, room, &indent));
    }
    text.push('\n');
    text.push_str(&picture(story, columns));
    text.push('\n');
    text
}

fn title(story: &Story) -> String {
    format!(
        "Simulation of {} {} for {} {} in namespace {}",
        story.rollout.kind,
        story.rollout.name,
        story.workload.kind,
        story.workload.name,
        story.rollout.namespace
    )
}

pub(super) fn change_words(change: &Change) -> String {
    match change {
        Change::Image { container, from, to } => format!("{container} {from} → {to}"),
        Change::Invented { annotation } => {
            format!("invented, without --image: the annotation {annotation} on the pod template")
        }
    }
}

fn assumed_words(assumed: &Assumed) -> String {
    let Assumed { pod_start, pod_stop, approve_after, seed, hold } = assumed;
    let late = match seed {
        Some(seed) => format!("news in the cluster is late by chance (seed {seed})"),
        None => "nobody in the cluster is late".to_owned(),
    };
    let held = match *hold {
        "partition" => "; the partition holds new templates",
        _ => "",
    };
    format!(
        "pods take {} to be ready and {} to stop; a person promotes after {}; {late}{held}",
        duration_words(pod_start.0),
        duration_words(pod_stop.0),
        duration_words(approve_after.0)
    )
}

/// Everything that a person wants to know, each line behind its time.
fn told(story: &Story) -> Vec<String> {
    let mut teller = Teller { lines: Vec::new(), ready: Vec::new(), state: String::new(), well: Vec::new() };
    teller.line(Seconds::default(), "the template changes");
    for entry in &story.timeline {
        teller.hear(story, entry);
    }
    teller.flush();
    for missed in &story.missed {
        teller.lines.push(format!("never  {}: the run was over before", deed_words(missed)));
    }
    teller.lines
}

struct Teller {
    lines: Vec<String>,
    /// Pods that became ready since the last line.
    ready: Vec<(Seconds, String, Version)>,
    /// What the rollout said last.
    state: String,
    /// Pods that are well, those on the new version only: the others were so before.
    well: Vec<String>,
}

impl Teller {
    fn line(&mut self, at: Seconds, words: &str) {
        self.flush();
        self.lines.push(format!("{}  {words}", at.stamp()));
    }

    fn hear(&mut self, story: &Story, entry: &Entry) {
        match &entry.what {
            What::Pod { pod, version, state, reason } => {
                self.pod(entry.at, pod, *version, *state, reason.as_deref());
            }
            What::Partition { partition } => {
                let words = match partition {
                    Some(partition) => format!("partition {partition}"),
                    None => "held: the partition lets no pod through".to_owned(),
                };
                if self.lines.last().is_none_or(|last| !last.ends_with(&words)) {
                    self.line(entry.at, &words);
                }
            }
            What::Rollout { phase, step, .. } => {
                let words = state_words(story, phase, step);
                if words != self.state {
                    self.line(entry.at, &words);
                    self.state = words;
                }
            }
            What::Analysis { .. } | What::Event { .. } | What::Deed { .. } => {
                if let Some(words) = mark_words(&entry.what) {
                    self.line(entry.at, &words);
                }
            }
        }
    }

    fn pod(&mut self, at: Seconds, pod: &str, version: Version, state: State, reason: Option<&str>) {
        let was_well = self.well.iter().any(|well| well == pod);
        self.well.retain(|well| well != pod);
        match state {
            State::Ready => {
                self.well.push(pod.to_owned());
                if self.ready.last().is_some_and(|(_, _, last)| *last != version) {
                    self.flush();
                }
                self.ready.push((at, pod.to_owned(), version));
            }
            State::Failing => {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                self.line(at, &paint(BAD, &format!("{pod} fails on the {} version{why}", version.word())));
            }
            State::Starting if was_well => {
                self.line(
                    at,
                    &paint(BAD, &format!("{pod} is no longer ready, on the {} version", version.word())),
                );
            }
            State::Starting | State::Going | State::Gone => {}
        }
    }

    /// Tells of the pods that became ready.
    fn flush(&mut self) {
        let ready = std::mem::take(&mut self.ready);
        match ready.as_slice() {
            [first, .., last] if ready.len() > TOLD_ONE_BY_ONE => self.lines.push(format!(
                "{}  {} … {} are ready on the {} version ({} pods, the last at {})",
                first.0.stamp(),
                first.1,
                last.1,
                first.2.word(),
                ready.len(),
                last.0.stamp()
            )),
            _ => self.lines.extend(ready.iter().map(|(at, pod, version)| {
                format!("{}  {pod} is ready on the {} version", at.stamp(), version.word())
            })),
        }
    }
}

/// The phase and the step. What it says besides counts pods, and they are told one by one.
fn state_words(story: &Story, phase: &str, step: &str) -> String {
    let spoken = phase_words(Some(phase));
    let Some((done, all)) = step.split_once('/') else { return spoken };
    let at_work = story.steps.iter().find(|begun| done.parse() == Ok(begun.step - 1));
    match (phase, at_work) {
        ("Progressing" | "Paused", Some(begun)) => {
            format!("{spoken}, step {} of {all}: {}", begun.step, begun.does)
        }
        ("Progressing", None) if done == all => format!("{spoken}, after the last step: the rest follows"),
        _ => spoken,
    }
}

/// What is worth a mark in every form: what people did, what befell pods, and what was told besides.
pub(super) fn mark_words(what: &What) -> Option<String> {
    match what {
        What::Deed { deed } => Some(deed_words(deed)),
        What::Analysis { step, state, .. } => state_words_of_analysis(*step, state),
        What::Event { note, .. } if BY_ANALYSIS.iter().any(|by| note.starts_with(by)) => {
            Some("the rollout aborts by itself".to_owned())
        }
        What::Event { reason, note } if !SAID_ALREADY.contains(&reason.as_str()) => Some(note.clone()),
        What::Event { .. } | What::Pod { .. } | What::Partition { .. } | What::Rollout { .. } => None,
    }
}

/// A line of a script as a sentence.
fn deed_words(deed: &str) -> String {
    match deed {
        "promote" => "a person promotes".to_owned(),
        "abort" => "a person aborts".to_owned(),
        other => match other.split_once(' ').and_then(|(what, rest)| Some((what, rest.split_once(' ')?))) {
            Some(("pod", (pod, how))) => format!("{pod} is made to {}", behaviour_words(how)),
            Some(("metric", (metric, says))) => format!("{metric} says {says} from now on"),
            _ => other.to_owned(),
        },
    }
}

fn behaviour_words(how: &str) -> String {
    match how {
        "never" => "never get ready".to_owned(),
        "crash" => "crash again and again".to_owned(),
        "flap" => "get unready for a moment".to_owned(),
        "fail" => "fail and stay so".to_owned(),
        "well" => "behave again".to_owned(),
        other => match other.strip_prefix("slow ") {
            Some(time) => format!("take {time} to get ready"),
            None => other.to_owned(),
        },
    }
}

/// The end, each fact with its label.
fn end(story: &Story) -> Vec<(&'static str, String)> {
    let end = &story.end;
    let mut phase = phase_words(Some(&end.phase));
    if !end.message.is_empty() {
        phase = format!("{phase}: {}", end.message);
    }
    let mut facts = vec![("End", phase)];
    if matches!(end.outcome, Outcome::StandsStill | Outcome::NeverBegan) {
        facts.extend(end.waits.iter().map(|wait| ("Ends when", wait.ends_when.clone())));
    }
    facts.push(("Pods", pods_words(story)));
    let when = story.down_since.map(|since| format!(", first at {}", since.stamp())).unwrap_or_default();
    facts.push(("Down", format!("at most {} at once{when}", down_words(story))));
    facts.push(("Took", duration_words(end.at.0)));
    facts
}

pub(super) fn pods_words(story: &Story) -> String {
    let end = &story.end;
    format!(
        "{} on the old version, {} on the new; {} of {} ready",
        end.pods_on_old,
        end.pods_on_new,
        end.pods_ready,
        story.pods.len()
    )
}

pub(super) fn down_words(story: &Story) -> String {
    format!("{} of {} pods", story.pods_down_at_once, story.pods.len())
}

fn check(check: &Check, columns: usize) -> String {
    let mark = if check.good { paint(GOOD, DONE) } else { paint(BAD, FAILED) };
    format!("  {mark} {}\n", wrap(&check.says, columns.saturating_sub(4), "    "))
}
