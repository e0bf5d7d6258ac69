//! What no expression may take: the stack, time, memory.

use std::time::{Duration, Instant};

use windlass_analysis::expression::{Value, compile, limits};

use crate::{on_a_small_stack, value, value_of};

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
const LONG: Duration = Duration::from_secs(5);

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
        // A copy of a map is a copy of its names.
        ("let m = {(repeat(\"a\", 200000)): 1}; len(map(1..50000, m)) > 0", "steps"),
        // Nothing is joined, but the list is walked.
        ("let l = split(repeat(\",\", 100000), \",\"); all(1..100000, join(l) == \"\")", "steps"),
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
        let started = Instant::now();
        let said = value(greedy).err().unwrap_or_default();
        let took = started.elapsed();
        if !said.contains(limit) || took > LONG {
            wrong.push(format!("{greedy:.80}: {took:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_expression_takes_more_than_its_limits_of_a_large_result() {
    let numbers = || Value::List((0..190_000).map(|number| Value::Float(f64::from(number))).collect());
    let names = || Value::List((0..100_000).map(|number| Value::Text(format!("web-{number}"))).collect());
    let fields = || {
        let field = |number: u32| (format!("field-{number}"), Value::Float(f64::from(number)));
        Value::Map((0..100_000).map(field).collect())
    };
    let long = || Value::Map([("k".repeat(1_000_000), Value::Float(1.0))].into());
    let mut wrong = Vec::new();
    for (greedy, result) in [
        ("all(1..150000, any(result, true))", numbers()),
        ("all(1..150000, find(result, true) == 0)", numbers()),
        ("all(1..150000, findLastIndex(result, true) > 0)", numbers()),
        ("all(1..150000, result[0:] != [])", numbers()),
        ("all(1..150000, max(result) > 0)", numbers()),
        ("all(1..150000, (-1) not in result)", numbers()),
        ("all(1..150000, len(join(result)) > 0)", names()),
        ("let e = [result]; all(1..40000, e != [{}])", fields()),
        ("let e = [result]; all(1..40000, not (result != e[0]))", fields()),
        ("map(1..40000, keys(result))", long()),
        ("map(1..40000, toPairs(result))", long()),
        ("map(1..40000, result)", long()),
        ("all(1..40000, string(result) != \"\")", long()),
        ("all(1..40000, toJSON(result) != \"\")", long()),
    ] {
        let started = Instant::now();
        let said = value_of(greedy, result).err().unwrap_or_default();
        let took = started.elapsed();
        if !(said.contains("steps") || said.contains("texts")) || took > LONG {
            wrong.push(format!("{greedy:.80}: {took:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_walked_is_not_counted() {
    let fields = (0..100_000).map(|number| (format!("field-{number}"), Value::Nil)).collect();
    // Two maps of which one has more fields are not compared field by field.
    let said = value_of("let e = {}; all(1..40000, result != e)", Value::Map(fields));
    assert_eq!(said, Ok(Value::Bool(true)));
}

#[test]
fn a_condition_may_ask_something_of_each_of_two_hundred_thousand_numbers() {
    let numbers = Value::List((0..200_000).map(|number| Value::Float(f64::from(number) / 1e9)).collect());
    assert_eq!(value_of("len(result) > 0 && all(result, # <= 0.01)", numbers), Ok(Value::Bool(true)));
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
