//! Secrets are taken out by the one thread that everything else is done by, so it must not take long.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is test code")]

use std::time::{Duration, Instant};

use windlass_analysis::redact::Redactor;

const LARGE: usize = 1024 * 1024;

/// How long it takes, on a machine that does other things too, in a build that is not made to be fast.
fn takes(secrets: &[String], text: &str) -> Duration {
    let began = Instant::now();
    let shown = Redactor::new(secrets).text(text);
    assert!(!shown.is_empty());
    began.elapsed()
}

#[test]
fn many_secrets_and_large_texts_take_no_longer_than_a_moment() {
    let letters = |count: usize| "z".repeat(count);
    let rows: [(&str, Vec<String>, String); 5] = [
        (
            "many",
            (0..20_000).map(|number| format!("key-{number}")).collect(),
            "key-99999 ".repeat(LARGE / 10),
        ),
        ("one within the other", (1..1400).map(letters).collect(), "z~".repeat(LARGE / 2)),
        ("nearly alike", (1..1400).map(|count| letters(count) + "a").collect(), letters(LARGE)),
        ("long", vec![letters(LARGE / 2) + "a"], letters(LARGE)),
        ("long and found", vec![letters(1000)], letters(LARGE)),
    ];
    for (name, secrets, text) in rows {
        let taken = takes(&secrets, &text);
        assert!(taken < Duration::from_secs(5), "{name}: {taken:?}");
    }
}
