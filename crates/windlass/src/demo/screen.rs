//! Shows the story: on a terminal a picture that moves under what is said; elsewhere text, line by line.

use jiff::Timestamp;

use super::story::{Look, NAME, Scene};
use crate::failure::Failure;
use crate::kubectl::render::{BOLD, FAINT, WIDTH, fitting, get_within, paint, why, wrap};
use crate::kubectl::status::line;
use crate::kubectl::{Picture, Terminal};

/// Where the story is shown.
pub(super) struct Screen {
    terminal: Terminal,
    kind: Kind,
    /// How many scenes there are, and which one is on.
    scenes: usize,
    number: usize,
    picture: Option<Picture>,
    /// What was shown last, so that nothing is drawn or told twice.
    shown: String,
}

enum Kind {
    /// What is said stays above the picture.
    Moving {
        said: Vec<String>,
        over: Vec<&'static str>,
    },
    Text,
}

impl Screen {
    /// A moving picture where a person sees it, unless text is asked for.
    pub(super) fn new(scenes: usize, only_text: bool) -> Result<Self, Failure> {
        let mut terminal = Terminal::new();
        let kind = if only_text || !terminal.is_terminal() {
            Kind::Text
        } else {
            terminal.enter()?;
            Kind::Moving { said: Vec::new(), over: Vec::new() }
        };
        Ok(Self { terminal, kind, scenes, number: 0, picture: None, shown: String::new() })
    }

    /// A scene begins.
    pub(super) fn begin(&mut self, now: Timestamp, scene: &Scene) -> Result<(), Failure> {
        self.number += 1;
        let title = paint(BOLD, &format!("{}/{} {}", self.number, self.scenes, scene.title));
        let command = format!("$ {}", scene.command);
        match &mut self.kind {
            Kind::Moving { said, .. } => {
                *said = vec![title, scene.words.to_owned(), paint(FAINT, &command)];
                self.draw(now)
            }
            Kind::Text => {
                self.shown.clear();
                self.terminal.print(&format!(
                    "\n{title}\n{}\n\n{command}\n",
                    wrap(scene.words, self.terminal.columns(), "")
                ))
            }
        }
    }

    /// Something has changed.
    pub(super) fn show(&mut self, now: Timestamp, picture: Picture) -> Result<(), Failure> {
        let told = line(&picture.rollout);
        self.picture = Some(picture);
        match self.kind {
            Kind::Moving { .. } => self.draw(now),
            Kind::Text if told != self.shown => {
                self.shown = told;
                if self.terminal.size().is_none() {
                    return self.terminal.print(&self.shown);
                }
                let room = self.terminal.columns().saturating_sub(2);
                self.terminal.print(&(wrap(&self.shown, room, "  ") + "\n"))
            }
            Kind::Text => Ok(()),
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Timestamp) -> Result<(), Failure> {
        match self.kind {
            Kind::Moving { .. } => self.draw(now),
            Kind::Text => Ok(()),
        }
    }

    /// A scene has come to its end.
    pub(super) fn end(&mut self, now: Timestamp, scene: &Scene) -> Result<(), Failure> {
        let Some(picture) = &self.picture else { return Ok(()) };
        match &mut self.kind {
            Kind::Moving { over, .. } => {
                over.push(scene.title);
                Ok(())
            }
            Kind::Text => {
                let columns = self.terminal.columns();
                let (command, look) = match scene.look {
                    Look::Get => ("get", get_within(now, picture, false, columns)),
                    Look::Why => ("why", why(now, &picture.rollout, &picture.checks, columns)),
                };
                self.terminal.print(&format!("\n$ kubectl windlass {command} {NAME}\n{look}"))
            }
        }
    }

    /// The story is over: on the screen from before stays what came of it.
    pub(super) fn close(&mut self, now: Timestamp) -> Result<(), Failure> {
        let Kind::Moving { over, .. } = &self.kind else { return Ok(()) };
        self.terminal.leave()?;
        let scenes: String = over.iter().flat_map(|title| ["✔ ", title, "\n"]).collect();
        let (columns, _) = self.terminal.size().unwrap_or((WIDTH, 0));
        let picture = self.picture.as_ref().map(|picture| fitting(now, picture, columns, 0));
        self.terminal.print(&format!("{}\n{scenes}", picture.unwrap_or_default()))
    }

    /// Says something outside the scenes.
    pub(super) fn say(&self, text: &str) -> Result<(), Failure> {
        self.terminal.print(text)
    }

    fn draw(&mut self, now: Timestamp) -> Result<(), Failure> {
        let Kind::Moving { said, .. } = &self.kind else { return Ok(()) };
        let (columns, rows) = self.terminal.size().unwrap_or((WIDTH, usize::MAX));
        let mut text: String = said.iter().map(|it| wrap(it, columns.min(WIDTH), "") + "\n").collect();
        text.push('\n');
        if let Some(picture) = &self.picture {
            let room = rows.saturating_sub(text.lines().count() + 1);
            text.push_str(&fitting(now, picture, columns, room));
        }
        if text != self.shown {
            self.terminal.draw(&text)?;
            self.shown = text;
        }
        Ok(())
    }
}
