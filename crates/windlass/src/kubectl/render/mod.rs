//! What people see, as pure text: what was seen and the present moment in, styled lines out. Colours are always in the
//! text; whoever prints it takes them off where nobody can see them.

mod checks;
mod doctor;
mod header;
mod judged;
mod list;
mod pods;
mod sparkline;
mod steps;
mod style;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod values;
mod waits;
mod why;

pub(super) use doctor::doctor;
pub(super) use list::list;
pub(crate) use steps::step_words;
pub(crate) use style::phase_line;
pub(crate) use style::{BAD, BOLD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, PLAIN, paint, phase_words};
pub(crate) use table::{Cell, Table, cut, fact, seen_width, wrap};
pub(crate) use why::why;

use jiff::Timestamp;

use super::picture::{Picture, Rolling};

/// No line of ours is longer than this, names of unusual length aside.
pub(crate) const WIDTH: usize = 116;
/// Narrower than this nothing is drawn, however narrow the screen.
pub(crate) const NARROWEST: usize = 40;

/// `get`: the header, the tree, the analyses, and what is waited for.
pub(crate) fn get(now: Timestamp, picture: &Picture, wide: bool) -> String {
    get_within(now, picture, wide, WIDTH)
}

/// The same, where what can be narrow is so when there is less room.
pub(crate) fn get_within(now: Timestamp, picture: &Picture, wide: bool, columns: usize) -> String {
    let columns = columns.min(WIDTH);
    let mut text = header::header(picture, columns);
    text.push('\n');
    text.push_str(&tree::tree(now, picture, wide));
    let checks = checks::checks(now, picture, columns);
    for part in [checks, waits::waiting(now, &picture.rollout, columns)] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

/// What is in `get`, in no more than so many columns and rows where that can be done: everything, or less.
pub(crate) fn fitting(now: Timestamp, picture: &Picture, columns: usize, rows: usize) -> String {
    let everything = get(now, picture, false);
    if columns >= WIDTH && everything.lines().count() <= rows {
        return everything;
    }
    let status = picture.rollout.told();
    let line = phase_line(
        status.and_then(|status| status.phase.as_deref()),
        status.and_then(|status| status.message.as_deref()),
    );
    let mut text = format!("{}\n{}\n", wrap(&line, columns, "  "), header::versions(picture));
    text.push_str(&tree::tree(now, picture, false));
    let room = columns.min(WIDTH);
    for part in [checks::checks(now, picture, room), waits::waiting(now, &picture.rollout, room)] {
        if text.lines().count() + 1 + part.lines().count() <= rows && !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text.lines().map(|line| cut(line, columns) + "\n").collect()
}
