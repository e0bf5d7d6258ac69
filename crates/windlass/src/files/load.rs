//! The one place that reads files.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// As the person named it.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Files as they are, of a folder those that end in .yaml, .yml or .json, and `-` for standard input.
pub(crate) fn load(paths: &[PathBuf], recursive: bool) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            sources.push(standard_input()?);
        } else if path.is_dir() {
            let before = sources.len();
            folder(path, recursive, &mut sources)?;
            if sources.len() == before {
                let hint = if recursive { "" } else { "; --recursive looks into its folders too" };
                let path = path.display();
                return Err(Failure::Refused(format!(
                    "{path} has no file that ends in .yaml, .yml or .json{hint}"
                )));
            }
        } else {
            sources.push(file(path)?);
        }
    }
    Ok(sources)
}

/// The manifests of a folder, by name, so that the same folder gives the same result everywhere.
fn folder(path: &Path, recursive: bool, sources: &mut Vec<Source>) -> Result<(), Failure> {
    let failed =
        |error: &std::io::Error| Failure::Refused(format!("cannot list {}: {error}", path.display()));
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| failed(&error))? {
        entries.push(entry.map_err(|error| failed(&error))?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if recursive {
                folder(&entry, recursive, sources)?;
            }
        } else if is_manifest(&entry) {
            sources.push(file(&entry)?);
        }
    }
    Ok(())
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
}

fn file(path: &Path) -> Result<Source, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Refused(format!("cannot read {name}: {error}")))?;
    Ok(Source { name, text })
}

fn standard_input() -> Result<Source, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::Refused(format!("cannot read standard input: {error}")))?;
    Ok(Source { name: "standard input".to_owned(), text })
}
