//! What people see, as pure text: what was seen and the present moment in, styled lines out. Colours are always in the
//! text; whoever prints it takes them off where nobody can see them.

mod doctor;
mod header;
mod list;
mod pods;
mod steps;
mod style;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod waits;
mod why;

pub(super) use doctor::doctor;
pub(super) use list::list;
pub(crate) use steps::step_words;
pub(super) use style::phase_line;
pub(crate) use style::{BAD, BOLD, BUSY, DONE, FAILED, FAINT, GOOD, HELD, PLAIN, paint, phase_words};
pub(crate) use table::{Cell, Table, fact, wrap};
pub(super) use why::why;

use jiff::Timestamp;

use super::picture::Picture;

/// No line of ours is longer than this, names of unusual length aside.
pub(crate) const WIDTH: usize = 116;

/// `get`: the header, the tree, and what is waited for.
pub(super) fn get(now: Timestamp, picture: &Picture, wide: bool) -> String {
    let mut text = header::header(picture);
    text.push('\n');
    text.push_str(&tree::tree(now, picture, wide));
    let waits = waits::waiting(now, &picture.rollout);
    if !waits.is_empty() {
        text.push('\n');
        text.push_str(&waits);
    }
    text
}
