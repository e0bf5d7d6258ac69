//! Colours and symbols, each with one meaning on every screen.

use anstyle::{AnsiColor, Style};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BUSY: Style = AnsiColor::Cyan.on_default();
pub(crate) const HELD: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

pub(crate) const DONE: &str = "✔";
pub(super) const AT_WORK: &str = "◷";
pub(super) const PAUSED: &str = "॥";
pub(crate) const FAILED: &str = "✖";
pub(super) const TO_COME: &str = "·";

/// How a phase looks: its symbol and its colour.
pub(super) fn phase(phase: Option<&str>) -> (&'static str, Style) {
    match phase {
        Some("Healthy") => (DONE, GOOD),
        Some("Progressing") => (AT_WORK, BUSY),
        Some("Paused") => (PAUSED, HELD),
        Some("Degraded") => (FAILED, BAD),
        _ => ("?", FAINT),
    }
}

/// The word for a phase.
pub(super) fn phase_word(phase: Option<&str>) -> &str {
    phase.unwrap_or("Unknown")
}

/// Text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if style == PLAIN { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

/// `✔ Healthy`, in colour.
pub(crate) fn phase_words(told: Option<&str>) -> String {
    let (symbol, style) = phase(told);
    paint(style, &format!("{symbol} {}", phase_word(told)))
}

/// One line for a phase and its message.
pub(crate) fn phase_line(told: Option<&str>, message: Option<&str>) -> String {
    match message {
        Some(message) => format!("{}: {message}\n", phase_words(told)),
        None => format!("{}\n", phase_words(told)),
    }
}
