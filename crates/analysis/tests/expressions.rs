//! Expressions, compared with the real library. The table (expressions/cases.txt) has one case per line:
//!
//! ```text
//! expression ◂ result ▸ what the library says
//! expression ◂ result ▸ what the library says ◆ what we say ◆ why we differ on purpose
//! ```
//!
//! Without a result there is none (nil). Answers show their kind: `3` is an integer, `3.0` a float, `error` any error.
//! `UPDATE=1` writes the answers of the library into the table.

mod expressions {
    pub(crate) mod answer;
    pub(crate) mod random;
    pub(crate) mod table;
}

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use expressions::answer;
use expressions::random::Random;
use expressions::table::{Case, Line, read, written};
use windlass_analysis::expression::{Environment, compile};

/// More differences than this are not a small list any more.
const FEW: usize = 25;

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
    let built = Command::new(&build).stderr(Stdio::inherit()).output().expect("testbed/expr/build starts");
    assert!(built.status.success(), "testbed/expr/build failed: {}", built.status);
    String::from_utf8(built.stdout).unwrap().trim().to_owned()
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

#[test]
fn random_words_and_sentences_never_panic() {
    let mut random = Random::new(7);
    let mut compiled = 0;
    for round in 0..20_000 {
        let expression = if round % 2 == 0 { random.words() } else { random.sentence(4) };
        let result = serde_json::from_str(RESULTS[random.below(RESULTS.len())]).unwrap();
        if let Ok(program) = compile(&expression) {
            compiled += 1;
            let environment = Environment { result: answer::result(&result), now: answer::NOW.parse().unwrap() };
            let _ = program.run(&environment);
            let _ = program.holds(&environment);
        }
    }
    assert!(compiled > 3_000, "only {compiled} of the random expressions mean anything");
}

#[test]
fn zz_fuzz() {
    let seed: u64 = std::env::var_os("SEED").map_or(1, |s| s.to_str().unwrap().parse().unwrap());
    let mut random = Random::new(seed);
    let cases: Vec<Case> = (0..20_000)
        .map(|_| Case {
            expression: random.sentence(3),
            result: serde_json::from_str(RESULTS[random.below(RESULTS.len())]).unwrap(),
            shown: None,
            library: String::new(),
            ours: None,
            reason: String::new(),
        })
        .collect();
    let answers = ask_the_library(&cases);
    let mut shown = 0;
    let mut values = 0;
    let mut differ = 0;
    for (case, said) in cases.iter().zip(&answers) {
        let ours = ours(case);
        if said != "error" { values += 1; }
        if ours != *said {
            differ += 1;
            if shown < 60 {
                shown += 1;
                println!("{} ◂ {}\n   library {said}\n   ours    {ours}", case.expression, case.result);
            }
        }
    }
    println!("{values} values, {differ} differ");
}
