//! Manifests in files, for the commands that need no cluster: YAML or JSON, several documents to a file, each object
//! with its file and line.
//!
//! `load` alone touches the disk. From there on everything is pure: `node` keeps the places, `strict` reads types, and
//! `manifests` sorts the objects.

mod load;
mod manifests;
mod node;
mod strict;
#[cfg(test)]
mod tests;

pub(crate) use load::{Source, load};
pub(crate) use manifests::{Found, Manifests, read};

use std::fmt;

use serde::Serialize;

use self::node::Position;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u64,
    #[serde(skip)]
    pub(crate) column: u64,
}

impl Place {
    fn new(file: &str, at: Position) -> Self {
        Self { file: file.to_owned(), line: at.line, column: at.column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file, self.line)
    }
}

/// What is wrong with a manifest: where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) place: Place,
    pub(crate) text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, column } = &self.place;
        write!(out, "{file}:{line}:{column}: {}", self.text)
    }
}
