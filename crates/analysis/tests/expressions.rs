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
    reason = "a helper that fails is a failed test"
)]

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
use windlass_analysis::expression::{Environment, Said, Value, compile, limits};

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
    let environment = Environment { result: Value::Nil, now: answer::NOW.parse().unwrap() };
    let program = compile(text).map_err(|error| error.to_string())?;
    program.run(&environment).map_err(|error| error.to_string())
}

#[test]
fn an_expression_nested_too_deep_is_turned_down_and_never_overflows_the_stack() {
    on_a_small_stack(|| {
        for deep in [
            "(".repeat(50_000),
            "[".repeat(50_000),
            "-".repeat(50_000),
            "!".repeat(50_000),
            "a?.".repeat(20_000),
            "true ? ".repeat(9_000),
            "{a:".repeat(20_000),
            "if true {".repeat(7_000),
            "let x = ".repeat(8_000),
            "map([1], ".repeat(7_000),
            format!("1{}", " + 1".repeat(16_000)),
            format!("1{}", " < 1".repeat(16_000)),
            format!("result{}", ".a".repeat(30_000)),
            format!("result{}", "[0]".repeat(20_000)),
            format!("[1]{}", " | map(#)".repeat(7_000)),
            format!("2{}", " ** 2".repeat(10_000)),
            // In each pair of parentheses as long a chain as there may be.
            (1..98).fold("result".to_owned(), |inner, level| format!("({inner}{})", ".a".repeat(level))),
            (1..98).fold("1".to_owned(), |inner, level| format!("({inner}{})", " + 1".repeat(level))),
            (1..98)
                .fold("[1]".to_owned(), |inner, level| format!("({inner}{})", " | map(#)".repeat(level / 2))),
        ] {
            let error = compile(&deep).unwrap_err().to_string();
            assert!(
                error.contains("nested deeper") || error.contains("parts") || error.contains("not known"),
                "{error}"
            );
        }
    });
}

#[test]
fn as_deep_as_an_expression_may_be_it_is_evaluated() {
    on_a_small_stack(|| {
        let deep = limits::DEPTH - 2;
        let nested = format!("{}1{}", "(".repeat(deep), ")".repeat(deep));
        assert_eq!(value(&nested), Ok(Value::Integer(1)));
        assert_eq!(value(&format!("{}true", "!".repeat(deep))), Ok(Value::Bool(true)));
        let walks = format!("{}#{}", "map([1], ".repeat(deep), ")".repeat(deep));
        assert!(value(&walks).is_ok());
        let middle = format!("{}2{}", "1 < (".repeat(40), ") < 3".repeat(40));
        assert!(compile(&middle).is_err());
        for around in [
            "(@ + 1) * 2 + 1",
            "(@)?.a?.b ?? (1)",
            "[@][0:][0]",
            "{a: @}.a",
            "map([1], @ + 1)[0]",
            "reduce([1], #acc + @, 0) + 1",
            "sortBy([1], @, \"asc\")[0] + 1",
            "count(filter([1], # in [@]), true) + 1",
            "let x@ = 1; 1 + @",
            "true ? @ : 1",
            "if not (@ not in [1]) { 1 } else { 2 }",
            "len(toJSON([@])) + 1",
            "(string(@) matches \"1\") ? 1 : 2",
        ] {
            // As deep as it goes.
            let mut nested = "1".to_owned();
            for level in 0..200 {
                nested = around.replace("x@", &format!("x{level}")).replace('@', &nested);
                let _ = value(&nested);
            }
        }
    });
}

#[test]
fn no_pattern_overflows_the_stack() {
    on_a_small_stack(|| {
        let quoted = r"\Q\E".repeat(1_000);
        assert_eq!(value(&format!("\"a\" matches `a{quoted}`")), Ok(Value::Bool(true)));
        assert_eq!(value(r#""a" matches ("a" + repeat("\\Q\\E", 1000))"#), Ok(Value::Bool(true)));
        assert!(
            value(r#""a" matches repeat("\\Q\\E", 8000)"#).unwrap_err().contains("longer than 8192 bytes")
        );
        for pattern in ["(".repeat(8_000), "(?i:".repeat(2_000), "[[:".repeat(2_000), "a|".repeat(4_000)] {
            let _ = value(&format!("\"a\" matches `{pattern}`"));
            let _ = value(&format!("\"a\" matches (\"\" + `{pattern}`)"));
        }
        for deep in 1..300 {
            let pattern = format!("{}a{}", "(?:".repeat(deep), ")+".repeat(deep));
            let _ = value(&format!("repeat(\"a\", 100) matches `{pattern}`"));
        }
    });
}

/// So long takes no expression, here where nothing is optimised and the machine has more to do.
const LONG: std::time::Duration = std::time::Duration::from_secs(5);

#[test]
fn no_expression_takes_more_than_its_limits() {
    let heavy = |pattern: &str, count| {
        let all = vec![format!("\"a\" matches `{pattern}`"); count].join(", ");
        format!("any([{all}], #)")
    };
    let (letters, folded) = (heavy(r"\pL{80}", 60), heavy(r"(?i)[\D]", 60));
    let (many, long) = (heavy("^[a-z]{8}[0-9]*$", 200), heavy(&"a".repeat(9_000), 1));
    let indented = format!("toJSON({}map(1..30000, #){})", "[".repeat(90), "]".repeat(90));
    let chained = format!("{}len(\"{}\"){}", "1 < (".repeat(12), "a".repeat(60_000), " ) < 3".repeat(12));
    let mut wrong = Vec::new();
    for (greedy, limit) in [
        ("let x = 1..3000; all(x, all(x, true))", "steps"),
        ("1..1000000", "values"),
        ("map(1..600000, #)", "steps"),
        ("repeat(\"ab\", 1000000)", "values"),
        ("reduce(1..100, #acc + #acc, \"ab\")", "texts"),
        ("reduce(1..100, concat(#acc, #acc), [1, 2])", "steps"),
        ("reduce(1..1000, [#acc], [])", "nests values deeper"),
        ("reduce(1..100, ({a: #acc, b: #acc}), {})", "steps"),
        ("let x = 1..100000; all(1..100000, len(x[1:]) > 0)", "steps"),
        ("uniq(map(1..100000, #))", "steps"),
        ("replace(repeat(\"a\", 100000), \"\", repeat(\"b\", 100000))", "texts"),
        ("none(1..100000, \"a\" matches string(#))", "steps"),
        // Long texts: looking at one takes as long as it is.
        ("let t = repeat(\"a\", 200000); none(1..40000, t contains \"ab\")", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, t startsWith t)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, t endsWith t)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, t == t)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, t <= t)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, t in [t])", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, ({a: 1})[t] == nil)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, len(t) > 0)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, indexOf(t, \"b\") < 0)", "steps"),
        ("let t = repeat(\"a\", 200000); all(1..40000, hasPrefix(t, t))", "steps"),
        ("let t = \"0.\" + repeat(\"0\", 200000); all(1..40000, float(t) == 0)", "steps"),
        ("let t = repeat(\"a\", 200000); trim(t, repeat(\"b\", 200000) + \"a\")", "steps"),
        ("let t = repeat(\"a\", 200000); map(1..200000, t[0:])", "texts"),
        ("let t = repeat(\"a\", 200000); map(1..200000, ({(t): 1}))", "texts"),
        ("let t = repeat(\"a\", 200000); map(1..200000, t)", "steps"),
        ("let t = repeat(\"a\", 60000); sort(map(1..100, t))", "steps"),
        ("let t = repeat(\"a\", 60000); sortBy(1..100, t)", "steps"),
        ("let t = repeat(\"a\", 60000); uniq(map(1..50, t + string(#)))", "steps"),
        ("let x = 1..100000; all(1..100000, sum([1]) in x)", "steps"),
        ("let t = repeat(\"1,\", 400000); fromJSON(\"[\" + t + \"1]\")", "values"),
        ("let t = repeat(\"1,\", 400000); split(t, \",\")", "values"),
        ("fromJSON(\"[\" + repeat(\"{\\\"a\\\": 1},\", 60000) + \"1]\")", "values"),
        ("map(1..100000, ({a: #}))", "steps"),
        (&indented, "texts"),
        // Patterns: what compiling them takes, what they take once compiled, and what they match.
        ("let t = repeat(\"a\", 200000); none(1..4000, t matches \"b$\")", "steps"),
        ("let t = repeat(\"a\", 200000); t matches \"[ab]*a[ab]{250}c\"", "steps"),
        ("none(1..40000, \"a\" matches \"(?i)[\\\\D]\" + string(#))", "steps"),
        ("\"a\" matches \"\\\\pL{80}\" + string(1)", "too large once it is compiled"),
        ("result matches `\\pL{80}`", "too large once it is compiled"),
        (&letters, "too large once it is compiled"),
        (&folded, "the patterns take too much together"),
        (&many, "the patterns take too much together"),
        (&long, "is longer than 8192 bytes"),
        (&chained, "parts"),
    ] {
        let started = std::time::Instant::now();
        let said = value(greedy).err().unwrap_or_default();
        let took = started.elapsed();
        if !said.contains(limit) || took > LONG {
            wrong.push(format!("{greedy:.80}: {took:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_people_ask_of_long_texts_and_lists_is_within_the_limits() {
    for modest in [
        "len(filter(1..20000, # % 2 == 0)) == 10000",
        "let x = 1..500; all(x, # in x)",
        "let t = repeat(\"GET /healthz 200\\n\", 6000); not (t matches \"(?i) (4|5)[0-9]{2}$\")",
        "all(split(repeat(\"web-17,\", 10000), \",\"), # == \"\" or # matches \"^[a-z]+-[0-9]+$\")",
        "let p = \"^web\"; all(1..200, \"web-\" + string(#) matches p + \"-[0-9]+$\")",
        "sort(map(1..20000, 20000 - #))[0] == 0",
        "len(uniq(map(1..2000, # % 100))) == 100",
        "len(fromJSON(\"[\" + repeat(\"{\\\"a\\\": 1},\", 20000) + \"1]\")) == 20001",
        "\"ß\" matches \"(?i)^[\\\\pL\\\\W]+$\"",
    ] {
        assert_eq!(value(modest), Ok(Value::Bool(true)), "{modest}");
    }
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
