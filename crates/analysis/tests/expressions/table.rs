//! The table as a file.

use std::path::PathBuf;

pub(crate) struct Case {
    pub(crate) expression: String,
    pub(crate) result: serde_json::Value,
    /// The result as it stands in the table.
    pub(crate) shown: Option<String>,
    pub(crate) library: String,
    pub(crate) ours: Option<String>,
    pub(crate) reason: String,
}

impl Case {
    /// A case that is in no table.
    pub(crate) fn new(expression: String, result: &str) -> Self {
        let result = serde_json::from_str(result).unwrap();
        Self { expression, result, shown: None, library: String::new(), ours: None, reason: String::new() }
    }
}

pub(crate) enum Line {
    Case(Case),
    /// A heading or an empty line.
    Other(String),
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/expressions/cases.txt")
}

pub(crate) fn read() -> Vec<Line> {
    std::fs::read_to_string(file()).unwrap().lines().map(line).collect()
}

fn line(line: &str) -> Line {
    if line.is_empty() || line.starts_with("== ") {
        return Line::Other(line.to_owned());
    }
    let (asked, said) = line.split_once(" ▸ ").unwrap_or((line, ""));
    let (expression, shown) = match asked.split_once(" ◂ ") {
        Some((expression, shown)) => (expression, Some(shown.to_owned())),
        None => (asked, None),
    };
    let mut said = said.split(" ◆ ");
    Line::Case(Case {
        expression: expression.replace('⏎', "\n"),
        result: serde_json::from_str(shown.as_deref().unwrap_or("null"))
            .unwrap_or_else(|error| panic!("{line}: {error}")),
        shown,
        library: said.next().unwrap_or_default().to_owned(),
        ours: said.next().map(str::to_owned),
        reason: said.next().unwrap_or_default().to_owned(),
    })
}

/// Writes the table with new answers.
pub(crate) fn written(lines: Vec<Line>, answers: &[String]) {
    let mut answers = answers.iter();
    let mut text = String::new();
    for line in lines {
        match line {
            Line::Other(line) => text.push_str(&line),
            Line::Case(case) => {
                let shown = case.shown.map(|shown| format!(" ◂ {shown}")).unwrap_or_default();
                let ours = case.ours.map(|ours| format!(" ◆ {ours} ◆ {}", case.reason)).unwrap_or_default();
                let expression = case.expression.replace('\n', "⏎");
                let answer = answers.next().unwrap();
                text.extend([expression.as_str(), &shown, " ▸ ", answer, &ours]);
            }
        }
        text.push('\n');
    }
    std::fs::write(file(), text).unwrap();
}
