//! Expressions, compared with the real library. The table (expressions/cases.txt) has one case per line:
//!
//! ```text
//! expression ◂ result ▸ what the library says
//! expression ◂ result ▸ what the library says ◆ what we say ◆ why we differ on purpose
//! ```
//!
//! Without a result there is none (nil). Answers show their kind: `3` is an integer, `3.0` a float, `error` any error.
//! `UPDATE=1` writes the answers of the library into the table.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a helper that fails is a failed test, and so is an expression that takes long"
)]

mod expressions {
    pub(crate) mod answer;
    mod limits;
    pub(crate) mod random;
    pub(crate) mod table;
    mod words;
}

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use expressions::answer;
use expressions::random::Random;
use expressions::table::{Case, Line, read, written};
use serde_json::Value as Json;
use windlass_analysis::expression::{Environment, Said, Value, compile};

/// More differences than this are not a small list any more.
const FEW: usize = 30;

fn cases() -> Vec<Case> {
    read()
        .into_iter()
        .filter_map(|line| if let Line::Case(case) = line { Some(case) } else { None })
        .collect()
}

fn ours(case: &Case) -> String {
    let environment = Environment { result: answer::result(&case.result), now: answer::NOW.parse().unwrap() };
    match compile(&case.expression).map(|program| program.run(&environment)) {
        Ok(Ok(value)) => answer::of_value(&value),
        Ok(Err(_)) | Err(_) => "error".to_owned(),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "how many there are is a promise")]
fn every_case_of_the_table_gives_the_recorded_answer() {
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let (said, wanted) = (ours(case), case.ours.as_ref().unwrap_or(&case.library));
        if said != *wanted {
            wrong
                .push(format!("{} ◂ {}\n   wanted {wanted}\n   got    {said}", case.expression, case.result));
        }
    }
    assert!(wrong.is_empty(), "{} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let differing = cases.iter().filter(|case| case.ours.is_some()).count();
    let errors = cases.iter().filter(|case| case.library == "error").count();
    println!("expressions: {} cases, {errors} of them errors, {differing} differ on purpose", cases.len());
    assert!(cases.len() >= 300, "the table has only {} cases", cases.len());
}

#[test]
fn whatever_gives_true_or_false_is_taken_for_a_condition() {
    let (mut random, mut conditions) = (Random::new(7), 0);
    let sentences = (0..20_000).map(|_| (random.sentence(4), Json::Null));
    let cases = cases().into_iter().map(|case| (case.expression, case.result));
    for (expression, result) in cases.chain(sentences) {
        let environment = Environment { result: answer::result(&result), now: answer::NOW.parse().unwrap() };
        let Ok(program) = compile(&expression) else { continue };
        if matches!(program.run(&environment), Ok(Value::Bool(_))) {
            conditions += 1;
            assert_eq!(program.judges(None), Ok(()), "{expression}");
            assert_eq!(program.judges(Some(&environment.result)), Ok(()), "{expression}");
        }
    }
    assert!(conditions > 500, "only {conditions} of them give true or false");
}

#[test]
fn no_case_is_there_twice_and_every_difference_has_a_reason() {
    let cases = cases();
    let mut seen = std::collections::BTreeSet::new();
    for case in &cases {
        assert!(seen.insert((&case.expression, case.result.to_string())), "twice: {}", case.expression);
        if let Some(ours) = &case.ours {
            assert_ne!(*ours, case.library, "not a difference: {}", case.expression);
            assert!(case.reason.len() > 10, "without a reason: {}", case.expression);
        }
    }
    let differing = cases.iter().filter(|case| case.ours.is_some()).count();
    assert!(differing <= FEW, "{differing} differences are too many");
}

/// The program that asks the library; building it must work.
fn helper() -> String {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/expr/build");
    let output = Command::new(&build).stderr(Stdio::inherit()).output().expect("testbed/expr/build starts");
    assert!(output.status.success(), "testbed/expr/build failed: {}", output.status);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn ask_the_library(cases: &[Case]) -> Vec<String> {
    let mut child = Command::new(helper())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the helper starts");
    let mut input = child.stdin.take().unwrap();
    let mut questions = String::new();
    for case in cases {
        let question = serde_json::json!({ "expression": case.expression, "result": case.result });
        questions.push_str(&question.to_string());
        questions.push('\n');
    }
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "the helper failed: {}", output.status);
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<String> =
        answers.lines().map(|line| answer::of_library(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(answers.len(), cases.len(), "one answer for each case");
    answers
}

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared is a promise")]
fn the_library_gives_the_recorded_answers() {
    let lines = read();
    let cases = cases();
    let answers = ask_the_library(&cases);
    if std::env::var_os("UPDATE").is_some() {
        written(lines, &answers);
        return;
    }
    let mut wrong = Vec::new();
    for (case, said) in cases.iter().zip(&answers) {
        if *said != case.library {
            wrong.push(format!("{}\n   recorded {}\n   library  {said}", case.expression, case.library));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} records are wrong; UPDATE=1 renews them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("expressions: {} recorded answers are what the library says", cases.len());
}

const RESULTS: &[&str] = &[
    r#"{"a": 1, "b": "text", "c": true, "list": [1, 2.5, 3], "map": {"x": 1, "y": null}}"#,
    "[1, 2, 3]",
    "0.5",
    r#""a""#,
    "null",
    r#"{"$float": "NaN"}"#,
];

/// On a stack of 1 MiB, half of what a thread usually has.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap();
    thread.join().unwrap();
}

/// Another seed tries others: SEED=2.
fn seed() -> Option<u64> {
    std::env::var_os("SEED").and_then(|seed| seed.to_str()?.parse().ok())
}

#[test]
fn no_random_text_panics_or_uses_up_the_stack() {
    on_a_small_stack(|| {
        let mut random = Random::new(seed().unwrap_or(7));
        let mut compiled = 0;
        for round in 0..40_000 {
            let expression = match round % 4 {
                0 => random.words(),
                1 => random.sentence(4),
                2 => random.extreme(2),
                _ => random.reading(),
            };
            let result = serde_json::from_str(RESULTS[random.below(RESULTS.len())]).unwrap();
            if let Ok(program) = compile(&expression) {
                compiled += 1;
                let environment =
                    Environment { result: answer::result(&result), now: answer::NOW.parse().unwrap() };
                let _ = program.run(&environment);
                let _ = program.holds(&environment);
            }
        }
        assert!(compiled > 12_000, "only {compiled} of the random expressions mean anything");
    });
}

/// Where the library has a value and we have this error: the differences of docs/expressions.md, none of them silent.
const EXPLAINED: [&str; 13] = [
    "goes over a list, not a",
    "a text has no items here",
    "`sort`: a list is expected",
    "cannot be turned into a text here",
    "cuts a character of the text in two",
    "is not supported",
    "is a function: write",
    "what is inside the base64 is not a text",
    "the expression makes more than",
    "the expression takes more than",
    "the pattern",
    "is not a time that is understood",
    "could take from it",
];

fn explained(case: &Case, library: &str) -> bool {
    // The last of what a filter finds is a findLast, see random.rs.
    if library == "error" && case.expression.contains("filter(") {
        return case.expression.contains("[-1]") || case.expression.contains("last(");
    }
    let environment = Environment { result: answer::result(&case.result), now: answer::NOW.parse().unwrap() };
    // Names of groups and of scripts that only one of the two knows.
    if library == "error" && (case.expression.contains("\\p{") || case.expression.contains("(?P<")) {
        return true;
    }
    let error = match compile(&case.expression).map(|program| program.run(&environment)) {
        Ok(Ok(_)) => return false,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    library != "error" && EXPLAINED.iter().any(|known| error.contains(known))
}

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared is a promise")]
fn random_sentences_mean_the_same_to_the_library() {
    let mut random = Random::new(seed().unwrap_or(1));
    // What differs on purpose differs misspelt, too.
    let differs = ["groupBy", "concat", "findLast", "**", "now"];
    let mut table = cases();
    table.retain(|case| case.ours.is_none() && !differs.iter().any(|name| case.expression.contains(name)));
    let cases: Vec<Case> = (0..20_000)
        .map(|round| {
            if round % 2 == 0 {
                return Case::new(random.sentence(3), RESULTS[random.below(RESULTS.len())]);
            }
            let case = &table[random.below(table.len())];
            Case::new(random.misspelt(&case.expression), &case.result.to_string())
        })
        .collect();
    let answers = ask_the_library(&cases);
    let mut wrong = Vec::new();
    let (mut values, mut differing) = (0, 0);
    for (case, said) in cases.iter().zip(&answers) {
        values += usize::from(said != "error");
        let ours = ours(case);
        if ours == *said {
            continue;
        }
        if explained(case, said) {
            differing += 1;
        } else {
            wrong
                .push(format!("{} ◂ {}\n   library {said}\n   ours    {ours}", case.expression, case.result));
        }
    }
    println!(
        "expressions: {} random ones, {values} of them have a value, {differing} differ as documented",
        cases.len()
    );
    assert!(values > cases.len() / 6, "too few of them mean anything");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn value(text: &str) -> Result<Value, String> {
    value_of(text, Value::Nil)
}

fn value_of(text: &str, result: Value) -> Result<Value, String> {
    let environment = Environment { result, now: answer::NOW.parse().unwrap() };
    let program = compile(text).map_err(|error| error.to_string())?;
    program.run(&environment).map_err(|error| error.to_string())
}

#[test]
fn errors_say_where_and_what_to_do() {
    for (text, said) in [
        ("reslt > 1", "the name `reslt` is not known: did you mean `result`? (at character 1)"),
        (
            "result > 1 && leng(result) > 0",
            "the name `leng` is not known: did you mean `len`? (at character 15)",
        ),
        (
            "foo > 1",
            "the name `foo` is not known: the measured value is called `result`; a text needs quotes (at character 1)",
        ),
        ("len()", "`len` takes 1 argument, not 0 (at character 1)"),
        ("1 + \"a\"", "`+` does not go with an integer and a text (at character 3)"),
        ("result >", "the end of the expression was not expected here (at character 9)"),
        (
            "result | 1",
            "the name of a function is expected behind `|`; for \"or\" write `||` (at character 10)",
        ),
        ("\"a", "the text that starts here never ends: close it with \" (at character 1)"),
        (
            "timezone(\"UTC\")",
            "the function `timezone` is not supported: write times in UTC or with their offset (at character 1)",
        ),
        (
            "date(\"a\", \"b\")",
            "`date` with a layout or a time zone is not supported: write the time as 2006-01-02T15:04:05Z (at character 1)",
        ),
        ("\"a\" matches \"(\"", "the pattern \"(\" cannot be used: unclosed group (at character 5)"),
        ("result.a.b", "nil has nothing that a text could take from it (at character 8)"),
        ("\"a\" in \"abc\"", "a text cannot be looked for in a text: use `contains` (at character 5)"),
    ] {
        assert_eq!(value(text).unwrap_err(), said);
    }
}

#[test]
fn a_condition_must_give_true_or_false() {
    let environment = Environment { result: Value::Float(0.5), now: answer::NOW.parse().unwrap() };
    let said = compile("result < 1").unwrap().holds(&environment);
    assert_eq!(said, Ok(Said { holds: true, met_nan: false }));
    let error = compile("result + 1").unwrap().holds(&environment).unwrap_err().to_string();
    assert_eq!(error, "a condition must give true or false, but this one gives a number (at character 1)");
}

#[test]
fn every_expression_in_the_document_compiles() {
    let document =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/expressions.md"));
    let document = document.unwrap();
    let examples: Vec<&str> = document
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.strip_prefix("text\n"))
        .flat_map(str::lines)
        .collect();
    assert!(examples.len() >= 10, "the document has only {} examples", examples.len());
    for example in examples {
        if let Err(error) = compile(example) {
            panic!("{example}: {error}");
        }
    }
}
