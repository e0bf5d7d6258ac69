//! Columns aligned by what a terminal shows: colours have no width, and some characters have two columns or none.

use anstream::adapter::strip_str;
use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{FAINT, PLAIN, paint};

/// Text in pieces, each in its style.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell(Vec<(Style, String)>);

impl Cell {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self::styled(PLAIN, text)
    }

    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    /// The same, with more text behind it.
    pub(super) fn and(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    /// The same, with another cell behind it.
    pub(super) fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    fn paint(&self) -> String {
        self.0.iter().map(|(style, text)| paint(*style, text)).collect()
    }
}

/// Rows under a faint heading, or under none.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Vec<Cell>>);

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self(vec![headings.iter().map(|heading| Cell::styled(FAINT, *heading)).collect()])
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.0.push(cells);
    }

    /// The lines, each behind an indent, three columns of space between cells and none at the end of a line.
    pub(crate) fn lines(&self, indent: &str) -> String {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column| self.0.iter().filter_map(|row| row.get(column)).map(Cell::width).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        self.0.iter().map(|row| line(row, &widths, indent)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], indent: &str) -> String {
    let used = row.iter().rposition(|cell| cell.width() > 0).map_or(0, |last| last + 1);
    let mut text = indent.to_owned();
    for (index, (cell, width)) in row.iter().zip(widths).take(used).enumerate() {
        text.push_str(&cell.paint());
        if index + 1 < used {
            text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 3));
        }
    }
    text.push('\n');
    text
}

/// Where the values of facts begin.
const LABEL: usize = 12;

/// A fact behind its label, in lines of at most so many columns.
pub(crate) fn fact(label: &str, value: &str, columns: usize) -> String {
    let label = format!("{:<LABEL$}", format!("{label}:"));
    format!("{}{}\n", paint(FAINT, &label), wrap(value, columns.saturating_sub(LABEL), &" ".repeat(LABEL)))
}

/// Words in lines of at most `width` columns, not counting the indent that lines after the first one are behind.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let room = width.saturating_sub(seen_width(word) + 1);
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if seen_width(line) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{indent}"))
}

/// A line that may have colours in it, up to so many columns.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if seen_width(line) <= width {
        return line.to_owned();
    }
    let (mut text, mut room, mut colour) = (String::new(), width.saturating_sub(1), false);
    for letter in line.chars() {
        colour |= letter == '\x1b';
        if !colour {
            let columns = letter.width().unwrap_or_default();
            if columns > room {
                break;
            }
            room -= columns;
        }
        colour &= letter != 'm';
        text.push(letter);
    }
    format!("{text}\x1b[0m…")
}

/// How wide a terminal shows a text that may have colours in it.
pub(crate) fn seen_width(text: &str) -> usize {
    strip_str(text).to_string().width()
}
