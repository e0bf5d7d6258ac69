//! Scripts that are worth keeping, in a folder: the name of the file and its first line say what each one proves. The
//! same files are played in virtual time and on a real control plane.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::script::{Behaviour, Deed, Line, Script};

/// The mark of a script that no real control plane can play, followed by the reason.
const SIMULATOR_ONLY: &str = "# simulator only: ";

/// A script in a file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name: the name of the file, without the ending.
    pub name: String,
    /// The sentence that it proves.
    pub sentence: String,
    /// Where what happened in virtual time is kept.
    pub golden: PathBuf,
    /// What is given, and what happens.
    pub script: Script,
    /// Whether it is meant for one kind of hold, and not for both.
    pub names_its_hold: bool,
    /// Why only the simulator can play it, if so.
    pub simulator_only: Option<String>,
}

/// All scripts of a folder, by name.
pub fn all(folder: &Path) -> std::io::Result<Vec<Scenario>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "txt") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> std::io::Result<Scenario> {
    let wrong = |what: String| Error::new(ErrorKind::InvalidData, format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file)?;
    let script: Script =
        text.parse().map_err(|error: crate::script::ScriptError| wrong(error.to_string()))?;
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let sentence = text.lines().next().and_then(|line| line.strip_prefix("# "));
    let sentence = sentence.ok_or_else(|| wrong("the first line has to say what it proves".to_owned()))?;
    let said = text.lines().find_map(|line| line.strip_prefix(SIMULATOR_ONLY)).map(str::to_owned);
    Ok(Scenario {
        name,
        sentence: sentence.to_owned(),
        golden: file.with_extension("timeline"),
        names_its_hold: text.lines().any(|line| line.starts_with("given hold ")),
        simulator_only: said
            .or_else(|| unreal_given(&script))
            .or_else(|| script.lines.iter().find_map(unreal)),
        script,
    })
}

/// Why what is given cannot be had on a real control plane, if so.
fn unreal_given(script: &Script) -> Option<String> {
    (!script.given.measured().is_empty()).then(|| "what metrics say is the simulator's".to_owned())
}

/// Why a line cannot be played on a real control plane, if so.
fn unreal(line: &Line) -> Option<String> {
    match line {
        Line::Break(fault) => Some(format!("`{fault}` is the simulator's")),
        Line::Do(Deed::Node(..)) => Some("nodes are everybody's".to_owned()),
        Line::Do(Deed::Policies(_)) => Some("policies are everybody's".to_owned()),
        Line::Do(Deed::Pod(_, Behaviour::Fail)) => None,
        Line::Do(Deed::Pod(..)) => Some("what a pod does is picked by its image".to_owned()),
        Line::Wait(_) | Line::Pass(_) | Line::Do(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> Option<String> {
        let script: Script = text.parse().unwrap();
        script.lines.iter().find_map(unreal)
    }

    #[test]
    fn what_only_the_simulator_can_play_is_found() {
        assert_eq!(why("image app:v2\nwait phase Paused\npod web-2 fail\nabort\n"), None);
        assert_eq!(why("abort\nfault relist\n").unwrap(), "`fault relist` is the simulator's");
        assert!(why("node node-1 lost\n").is_some());
        assert!(why("policies off\n").is_some());
        assert!(why("pod web-2 slow 5s\n").is_some());
    }
}
