//! The checklist of `doctor`: a line per check, and below what is wrong how to mend it. A command stands on a line of
//! its own and is never broken, so that it can be copied.

use anstyle::Style;

use super::WIDTH;
use super::style::{BAD, BOLD, DONE, FAILED, FAINT, GOOD, HELD, paint};
use super::table::wrap;
use crate::kubectl::doctor::{Check, Line, Remedy, Standing};

/// Where sentences begin: behind the mark and the name of the check.
const INDENT: usize = 15;

/// The whole checklist.
pub(in crate::kubectl) fn doctor(head: &str, lines: &[Line]) -> String {
    let mut text = format!("{}\n\n", wrap(head, WIDTH, "  "));
    for (index, line) in lines.iter().enumerate() {
        let first = index == 0 || lines[index - 1].check != line.check;
        text.push_str(&one(line, first));
        // The same remedy for several findings is told once, below the last of them.
        let told_again = lines.get(index + 1).is_some_and(|next| next.remedy == line.remedy);
        if let Some(remedy) = line.remedy.as_ref().filter(|_| !told_again) {
            text.push_str(&mend(line.result, remedy));
        }
    }
    text.push('\n');
    text.push_str(&summary(lines));
    text
}

fn one(line: &Line, first: bool) -> String {
    let (mark, style) = mark(line.result);
    let title = if first { title(line.check) } else { "" };
    let indent = " ".repeat(INDENT);
    let message = wrap(&line.message, WIDTH - INDENT, &indent);
    let name = format!("{title:<width$}", width = INDENT - 2);
    format!("{} {}{message}\n", paint(style, mark), name)
}

fn mend(standing: Standing, remedy: &Remedy) -> String {
    let indent = " ".repeat(INDENT);
    let label = if standing == Standing::Advice { "better:" } else { "mend it:" };
    let (end, command) = match &remedy.command {
        Some(command) => (":", format!("{indent}  {}\n", paint(BOLD, command))),
        None => ("", String::new()),
    };
    let words = wrap(&format!("{}{end}", remedy.text), WIDTH - INDENT - label.len() - 1, &indent);
    format!("{indent}{} {words}\n{command}", paint(FAINT, label))
}

fn mark(standing: Standing) -> (&'static str, Style) {
    match standing {
        Standing::Well => (DONE, GOOD),
        Standing::Advice => ("!", HELD),
        Standing::Wrong => (FAILED, BAD),
        Standing::NotLooked => ("?", FAINT),
    }
}

fn title(check: Check) -> &'static str {
    match check {
        Check::Definitions => "Definitions",
        Check::Policies => "Policies",
        Check::Rights => "Rights",
        Check::Lease => "Lease",
        Check::Marks => "Marks",
        Check::Holds => "Holds",
        Check::Workloads => "Workloads",
        Check::Claims => "Claims",
        Check::Guards => "Guards",
    }
}

fn summary(lines: &[Line]) -> String {
    let count = |standing| lines.iter().filter(|line| line.result == standing).count();
    let verdict = match count(Standing::Wrong) {
        0 if count(Standing::Well) + count(Standing::Advice) == 0 => {
            paint(HELD, "Nothing could be looked at")
        }
        0 if count(Standing::NotLooked) > 0 => paint(GOOD, "What could be looked at is well"),
        0 => paint(GOOD, "All is well"),
        1 => paint(BAD, "1 thing is wrong"),
        wrong => paint(BAD, &format!("{wrong} things are wrong")),
    };
    match count(Standing::NotLooked) {
        0 => format!("{verdict}.\n"),
        1 => format!("{verdict}; 1 check could not be made.\n"),
        left => format!("{verdict}; {left} checks could not be made.\n"),
    }
}
