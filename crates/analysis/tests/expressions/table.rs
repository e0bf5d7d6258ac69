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
                text.push_str(&case.expression.replace('\n', "⏎"));
                if let Some(shown) = case.shown {
                    text.push_str(&format!(" ◂ {shown}"));
                }
                text.push_str(&format!(" ▸ {}", answers.next().unwrap()));
                if let Some(ours) = case.ours {
                    text.push_str(&format!(" ◆ {ours} ◆ {}", case.reason));
                }
            }
        }
        text.push('\n');
    }
    std::fs::write(file(), text).unwrap();
}
