//! The one place that prints. Colours go where a person can see them; a closed pipe (`get -o yaml | head`) is no error.

use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};

use super::render::{NARROWEST, WIDTH};
use crate::failure::Failure;

const CLEAR_SCREEN: &str = "\x1b[2J\x1b[3J";
const HOME: &str = "\x1b[H";
const CLEAR_LINE_END: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
const SCREEN_APART: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const SCREEN_BACK: &str = "\x1b[?25h\x1b[?1049l";

/// Where results go.
pub(crate) struct Terminal {
    interactive: bool,
    colours: bool,
    drawing: Drawing,
}

/// Where something was drawn before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawing {
    Nowhere,
    /// Over what was on the screen.
    Here,
    /// On a screen of its own.
    Apart,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let stdout = std::io::stdout();
        let colours = AutoStream::choice(&stdout) != ColorChoice::Never;
        Self { interactive: stdout.is_terminal(), colours, drawing: Drawing::Nowhere }
    }

    /// A person sees what is printed.
    pub(crate) fn is_terminal(&self) -> bool {
        self.interactive
    }

    /// Prints a result.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let text = if self.colours { text.to_owned() } else { strip_str(text).to_string() };
        write(&text)
    }

    /// Draws a screen in place of the one before, or below it where no terminal is.
    pub(crate) fn draw(&mut self, text: &str) -> Result<(), Failure> {
        let first = self.drawing == Drawing::Nowhere;
        if first {
            self.drawing = Drawing::Here;
        }
        if !self.interactive {
            return self.print(&if first { text.to_owned() } else { format!("\n{text}") });
        }
        let text = if self.colours { text.to_owned() } else { strip_str(text).to_string() };
        let rows = self.size().map_or(usize::MAX, |(_, rows)| rows);
        write(&frame(&text, rows, first))
    }

    /// Draws on a screen of its own from here on, without a cursor; what was there before comes back at the end.
    pub(crate) fn enter(&mut self) -> Result<(), Failure> {
        self.drawing = Drawing::Apart;
        write(SCREEN_APART)
    }

    /// Goes back to the screen that was there before.
    pub(crate) fn leave(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.drawing, Drawing::Nowhere) {
            Drawing::Apart => write(SCREEN_BACK),
            Drawing::Nowhere | Drawing::Here => Ok(()),
        }
    }

    /// How many columns there are to write in; where nobody says so, as many as we ever use.
    pub(crate) fn columns(&self) -> usize {
        self.size().map_or(WIDTH, |(columns, _)| columns.clamp(NARROWEST, WIDTH))
    }

    /// Columns and rows, where a person sees what is printed.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        let (width, height) = terminal_size::terminal_size().filter(|_| self.interactive)?;
        Some((usize::from(width.0), usize::from(height.0)))
    }

    /// Says something beside the result.
    pub(crate) fn warn(text: &str) {
        anstream::eprintln!("{text}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave().ok();
    }
}

/// One screen: from the top left, each line cleared behind its end, nothing below; cut where it would scroll.
fn frame(text: &str, rows: usize, first: bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = rows.saturating_sub(1).max(1);
    let shown = if lines.len() > room { room - 1 } else { lines.len() };
    let mut frame = if first { format!("{CLEAR_SCREEN}{HOME}") } else { HOME.to_owned() };
    for line in lines.iter().take(shown) {
        frame.push_str(line);
        frame.push_str(CLEAR_LINE_END);
        frame.push('\n');
    }
    frame.push_str(CLEAR_BELOW);
    if shown < lines.len() {
        let more = format!("… {} more lines", lines.len() - shown);
        frame.push_str(&more);
    }
    frame
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::PipeClosed),
        Err(error) => Err(Failure::Output(error.to_string())),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn a_screen_that_is_too_tall_is_cut_where_it_would_scroll() {
        assert_eq!(frame("a\nb\nc\n", 3, false), "\x1b[Ha\x1b[K\n\x1b[J… 2 more lines");
        assert_eq!(frame("a\nb\n", 3, false), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    }
}
