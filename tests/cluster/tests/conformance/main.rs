//! The simulator's API server against a real one: the same requests to both, and the same answers, but for what no two
//! servers share (uids, versions, times) and what is listed with its reason in `known.rs`.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "this is test code")]
#![expect(clippy::too_many_lines, reason = "tables of requests are read from top to bottom")]
#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]

mod admission;
mod analysis;
mod applies;
mod ask;
mod custom;
mod deletions;
mod known;
mod lists;
mod normal;
mod objects;
mod patches;
mod planes;
mod pods;
mod watches;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ask::Case;
use planes::{Real, Simulated};
use serde_json::Value;

fn cases() -> Vec<Case> {
    [
        objects::cases(),
        patches::cases(),
        applies::cases(),
        lists::cases(),
        watches::cases(),
        deletions::cases(),
        custom::cases(),
        analysis::cases(),
        pods::cases(),
        admission::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Everything that the answers of both planes to one case differ in.
async fn differences(
    case: &Case,
    number: usize,
    (real, simulated): (&Real, &Simulated),
    met: &mut BTreeSet<&'static str>,
) -> Vec<String> {
    let namespace = format!("conformance-{}-{number}", std::process::id());
    let (left, right) =
        futures::join!(normal::answers(case, &namespace, real), normal::answers(case, &namespace, simulated));
    let mut different = Vec::new();
    for (index, (real, simulated)) in left.iter().zip(&right).enumerate() {
        let mut found = Vec::new();
        normal::compare("", real, simulated, &mut found);
        found.retain(|it| match known::known_as(case.name, &it.place) {
            Some(known) => {
                met.insert(known);
                false
            }
            None => true,
        });
        if found.is_empty() {
            continue;
        }
        let mut text = format!("{}, request {} ({}):\n", case.name, index + 1, case.steps[index].told());
        for it in found {
            let show = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
            writeln!(
                text,
                "  {}\n    real      {}\n    simulated {}",
                it.place,
                show(&it.real),
                show(&it.simulated)
            )
            .unwrap();
        }
        different.push(text);
    }
    different
}

#[tokio::test]
async fn the_simulator_answers_as_a_real_server_does() {
    let (real, simulated) = (Real::start().await, Simulated::start());
    let only = std::env::var("CONFORMANCE_CASE").unwrap_or_default();
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.name.contains(&only)).collect();
    let (mut different, mut met) = (Vec::new(), BTreeSet::new());
    for (number, case) in cases.iter().enumerate() {
        different.extend(differences(case, number, (&real, &simulated), &mut met).await);
    }
    let requests: usize = cases.iter().map(|case| case.steps.len()).sum();
    eprintln!("{} cases, {requests} requests to each server", cases.len());
    for (place, reason) in known::known() {
        eprintln!("known difference: {place}: {reason}");
    }
    assert!(different.is_empty(), "{} answers differ:\n{}", different.len(), different.join("\n"));
    let gone: Vec<&str> = known::known().map(|(known, _)| *known).filter(|it| !met.contains(it)).collect();
    assert!(gone.is_empty() || !only.is_empty(), "known, but not met any more: {gone:?}");
}

#[test]
fn every_case_has_a_name_of_its_own_and_there_are_many() {
    let mut names: Vec<&str> = cases().iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two cases have the same name");
    assert!(count >= 60, "{count} cases");
}
