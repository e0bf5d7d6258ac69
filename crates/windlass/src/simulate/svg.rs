//! A run as a picture: pods by time, coloured by version and state; steps above, what people did below. No script, no
//! font from elsewhere.

use std::fmt::Write as _;

use windlass_engine::duration_words;

use super::axis::Axis;
use super::story::{Seconds, Span, State, Story, Version};
use super::text::{change_words, down_words, mark_words, pods_words};
use super::verdict::Verdict;

const WIDTH: f64 = 960.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 84.0;
/// The height of all pods together, as far as each still has room for its bar.
const TALL: f64 = 560.0;
const INK: &str = "#22303c";
const FAINT: &str = "#5b6b7a";
const GRID: &str = "#d5dce3";
/// The distance below which two marks would cover each other.
const MARK: f64 = 18.0;

/// The colour of a pod; none where there is nothing to draw.
fn colour(version: Version, state: State) -> Option<&'static str> {
    match (state, version) {
        (State::Ready, Version::Old) => Some("#8fa3b8"),
        (State::Ready, Version::New) => Some("#e08a2e"),
        (State::Starting, Version::Old) => Some("#d3dde7"),
        (State::Starting, Version::New) => Some("#f8dcb8"),
        (State::Going, _) => Some("#4f5f6f"),
        (State::Failing, _) => Some("#c0392b"),
        (State::Gone, _) => None,
    }
}

/// The picture.
pub(super) fn svg(story: &Story, verdict: &Verdict) -> String {
    let mut drawing = Drawing::new(story);
    drawing.pods(story);
    drawing.analyses(story);
    drawing.steps(story);
    drawing.shortened();
    drawing.axis(story);
    let notes = drawing.marks(story);
    drawing.legend();
    drawing.notes(story, &notes);
    drawing.end(story, verdict);
    drawing.finish(story)
}

struct Drawing {
    axis: Axis,
    body: String,
    left: f64,
    row: f64,
    /// The lower edge of what is drawn so far.
    bottom: f64,
}

impl Drawing {
    fn new(story: &Story) -> Self {
        let measured = story.analyses.iter().map(|it| if it.step.is_none() { 10 } else { 11 });
        let names = story.pods.iter().map(|pod| pod.name.chars().count());
        let longest = names.chain(measured).max().unwrap_or_default();
        let count = story.pods.len().max(1);
        Self {
            axis: Axis::of(story),
            body: String::new(),
            left: 44.0 + 7.2 * as_float(longest),
            row: (TALL / as_float(count)).clamp(5.0, 26.0),
            bottom: TOP,
        }
    }

    fn x(&self, at: Seconds) -> f64 {
        self.left + self.axis.place(at) * (WIDTH - RIGHT - self.left)
    }

    /// Where a time ends.
    fn end_x(&self, at: Seconds) -> f64 {
        self.left + self.axis.end(at) * (WIDTH - RIGHT - self.left)
    }

    fn text(&mut self, x: f64, y: f64, size: u32, anchor: &str, fill: &str, words: &str) {
        let words = escaped(words);
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{words}</text>"#
        );
    }

    fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        );
    }

    fn line(&mut self, x: f64, from: f64, to: f64, fill: &str, dashes: &str) {
        let _ = writeln!(
            self.body,
            r#"<path d="M{x:.1} {from:.1}V{to:.1}" stroke="{fill}" stroke-dasharray="{dashes}"/>"#
        );
    }

    fn badge(&mut self, x: f64, y: f64, fill: &str, words: &str) {
        let _ = writeln!(self.body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="8.5" fill="{fill}"/>"#);
        self.text(x, y + 4.0, 11, "middle", "#ffffff", words);
    }

    /// A bar for each pod, its name where there is room.
    fn pods(&mut self, story: &Story) {
        let every = if self.row >= 13.0 { 1 } else { 10 };
        let gap = if self.row > 12.0 { 4.0 } else { 1.0 };
        let last = story.pods.len().saturating_sub(1);
        for (index, pod) in story.pods.iter().enumerate() {
            let y = TOP + self.row * as_float(index);
            if index % every == 0 || index == last && last % every > 3 {
                let left = self.left - 10.0;
                self.text(left, y + self.row / 2.0 + 4.0, 12, "end", FAINT, &pod.name);
            }
            for Span { from, to, version, state } in &pod.spans {
                let (from, to) = (self.x(*from), self.end_x(*to));
                if let Some(fill) = colour(*version, *state) {
                    self.rect(from, y + gap / 2.0, (to - from).max(0.6), self.row - gap, fill);
                }
            }
        }
        self.bottom = TOP + self.row * as_float(story.pods.len()) + 4.0;
    }

    /// A thin bar for each analysis, in the colour of its verdict; those of one place share a row.
    fn analyses(&mut self, story: &Story) {
        const ROW: f64 = 16.0;
        let mut places: Vec<Option<usize>> = Vec::new();
        for analysis in &story.analyses {
            let row = places.iter().position(|place| *place == analysis.step).unwrap_or_else(|| {
                places.push(analysis.step);
                places.len() - 1
            });
            let y = self.bottom + ROW * as_float(row);
            let name =
                analysis.step.map_or_else(|| "background".to_owned(), |step| format!("analysis {step}"));
            let (from, to, left) = (self.x(analysis.from), self.end_x(analysis.to), self.left - 10.0);
            let fill = match analysis.verdict.as_deref() {
                Some("Successful") => "#3a8f5c",
                Some("Failed") => "#c0392b",
                Some(_) => "#c9a227",
                None => FAINT,
            };
            self.text(left, y + ROW / 2.0 + 4.0, 12, "end", FAINT, &name);
            self.rect(from, y + 5.0, (to - from).max(3.0), ROW - 10.0, fill);
        }
        self.bottom += ROW * as_float(places.len());
    }

    /// A numbered line where each step begins.
    fn steps(&mut self, story: &Story) {
        let mut levels = Levels::default();
        for step in &story.steps {
            let x = self.x(step.at);
            let level = levels.of(x);
            let y = TOP - 14.0 - 19.0 * level;
            self.line(x, y, self.bottom, INK, "2 3");
            self.badge(x, y, INK, &step.step.to_string());
        }
    }

    /// Times that are drawn short.
    fn shortened(&mut self) {
        let times = self.axis.shortened.clone();
        for (from, to) in times {
            let middle = f64::midpoint(self.x(from), self.x(to));
            let y = self.bottom;
            let _ = writeln!(
                self.body,
                r#"<path d="M{:.1} {:.1}l4 -8m3 8l4 -8" stroke="{FAINT}" fill="none"/>"#,
                middle - 5.5,
                y + 4.0
            );
            let room = self.x(to) - self.x(from);
            let words = duration_words(to.0 - from.0);
            if room > 7.0 * as_float(words.len()) {
                self.text(middle, y + 17.0, 11, "middle", FAINT, &words);
            }
        }
    }

    fn axis(&mut self, story: &Story) {
        let y = self.bottom;
        let (left, right) = (self.left, WIDTH - RIGHT);
        let _ = writeln!(self.body, r#"<path d="M{left:.1} {y:.1}H{right:.1}" stroke="{FAINT}"/>"#);
        self.text(left, y + 34.0, 12, "start", FAINT, "+00:00:00");
        self.text(right, y + 34.0, 12, "end", FAINT, &story.end.at.stamp());
        self.bottom = y + 42.0;
    }

    /// What people did, what befell pods and what was told, with letters; it stands below.
    fn marks(&mut self, story: &Story) -> Vec<String> {
        let mut levels = Levels::default();
        let mut notes = Vec::new();
        let mut lowest = self.bottom;
        let marked = story.timeline.iter().filter_map(|entry| Some((entry.at, mark_words(&entry.what)?)));
        for ((at, words), letter) in marked.zip(('a'..='z').chain('A'..='Z')) {
            let x = self.x(at);
            let y = self.bottom + 10.0 + 19.0 * levels.of(x);
            self.line(x, TOP, y, "#7a3b8f", "1 3");
            self.badge(x, y, "#7a3b8f", &letter.to_string());
            notes.push(format!("{letter}  {}  {}", at.stamp(), shorter(&words, 62)));
            lowest = lowest.max(y + 12.0);
        }
        self.bottom = lowest + 14.0;
        notes
    }

    fn legend(&mut self) {
        let entries = [
            (Version::Old, State::Ready, "ready, old version"),
            (Version::New, State::Ready, "ready, new version"),
            (Version::New, State::Starting, "starting"),
            (Version::Old, State::Going, "going"),
            (Version::New, State::Failing, "failing"),
        ];
        let y = self.bottom;
        let mut x = 28.0;
        for (version, state, words) in entries {
            if let Some(fill) = colour(version, state) {
                self.rect(x, y, 14.0, 14.0, fill);
                self.text(x + 20.0, y + 11.5, 12, "start", INK, words);
                x += 46.0 + 6.6 * as_float(words.len());
            }
        }
        if !self.axis.shortened.is_empty() {
            self.text(x, y + 11.5, 12, "start", FAINT, "// a long wait, drawn short");
        }
        self.bottom = y + 40.0;
    }

    /// The steps on the left, what was done on the right.
    fn notes(&mut self, story: &Story, deeds: &[String]) {
        let steps: Vec<String> = story
            .steps
            .iter()
            .map(|step| format!("{}  {}  {}", step.step, step.at.stamp(), step.does))
            .collect();
        let top = self.bottom;
        for (x, notes) in [(28.0, steps.as_slice()), (400.0, deeds)] {
            for (index, note) in notes.iter().enumerate() {
                let y = top + 18.0 * as_float(index);
                self.text(x, y, 12, "start", INK, note);
                self.bottom = self.bottom.max(y + 18.0);
            }
        }
    }

    fn end(&mut self, story: &Story, verdict: &Verdict) {
        let y = self.bottom + 12.0;
        let said = format!(
            "{} after {}; {}; at most {} down at once",
            story.end.phase,
            duration_words(story.end.at.0),
            pods_words(story),
            down_words(story)
        );
        self.text(28.0, y, 13, "start", INK, &said);
        self.bottom = y + 8.0;
        for check in verdict.checks.iter().filter(|check| !check.good) {
            self.bottom += 18.0;
            let y = self.bottom - 4.0;
            self.text(28.0, y, 12, "start", "#c0392b", &format!("✖ {}", shorter(&check.says, 128)));
        }
        self.bottom += 14.0;
    }

    fn finish(self, story: &Story) -> String {
        let height = self.bottom.ceil();
        let title = format!("Simulation of {}: {}", story.rollout.name, change_words(&story.change));
        let title = escaped(&shorter(&title, 92));
        let desc = escaped(&format!("{}; {}", story.end.phase, pods_words(story)));
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="Helvetica, Arial, sans-serif" role="img" aria-labelledby="title desc">
<title id="title">{title}</title>
<desc id="desc">{desc}</desc>
<rect x="0.5" y="0.5" width="{}" height="{}" rx="10" fill="#ffffff" stroke="{GRID}"/>
<text x="28" y="34" font-size="17" font-weight="600" fill="{INK}">{title}</text>
{}</svg>
"##,
            WIDTH - 1.0,
            height - 1.0,
            self.body
        )
    }
}

/// Marks that would cover each other get levels of their own.
#[derive(Default)]
struct Levels {
    last: [Option<f64>; 3],
}

impl Levels {
    fn of(&mut self, x: f64) -> f64 {
        let free = self.last.iter().position(|last| last.is_none_or(|last| x - last >= MARK));
        let level = free.unwrap_or_default();
        self.last[level] = Some(x);
        as_float(level)
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody draws that many pods")]
fn as_float(count: usize) -> f64 {
    count as f64
}

/// Words that fit into a line of the picture.
fn shorter(words: &str, fits: usize) -> String {
    if words.chars().count() <= fits {
        return words.to_owned();
    }
    let kept: String = words.chars().take(fits - 1).collect();
    format!("{kept}…")
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
