//! Every screen a person sees, as golden files. Review them with the eyes of somebody who is woken at night.

use anstream::adapter::strip_str;
use unicode_width::UnicodeWidthStr;

use crate::kubectl::checks::Checks;
use crate::kubectl::fixtures::{
    aborted_by_check, check_error, checking, now, paused_for_person, progressing, states, undecided,
};
use crate::kubectl::picture::Picture;
use crate::kubectl::render;

#[test]
fn get_draws_every_state() {
    for (name, picture) in states() {
        let text = strip_str(&render::get(now(), &picture, false)).to_string();
        assert!(text.lines().all(|line| line.width() <= 120), "{name} is too wide:\n{text}");
        insta::assert_snapshot!(format!("get_{name}"), text);
    }
}

#[test]
fn why_explains_every_state() {
    for (name, picture) in states() {
        let text =
            strip_str(&render::why(now(), &picture.rollout, &picture.checks, render::WIDTH)).to_string();
        assert!(text.lines().all(|line| line.width() <= 120), "{name} is too wide:\n{text}");
        insta::assert_snapshot!(format!("why_{name}"), text);
    }
}

#[test]
fn why_is_explained_in_narrow_terminals_too() {
    for (name, picture) in states() {
        let text = strip_str(&render::why(now(), &picture.rollout, &picture.checks, 80)).to_string();
        assert!(text.lines().all(|line| line.width() <= 80), "{name} is too wide:\n{text}");
    }
}

#[test]
fn wide_shows_where_pods_run() {
    insta::assert_snapshot!("get_wide", strip_str(&render::get(now(), &progressing(), true)).to_string());
}

#[test]
fn colours_mark_what_matters() {
    insta::assert_snapshot!(
        "get_in_colour",
        render::get(now(), &paused_for_person(), false).replace('\x1b', "␛")
    );
}

#[test]
fn list_has_a_row_per_rollout() {
    let mut rollouts: Vec<_> = states().into_iter().map(|(_, picture)| picture.rollout).collect();
    for (rollout, (name, _)) in rollouts.iter_mut().zip(states()) {
        rollout.metadata.name = Some(name.replace('_', "-"));
    }
    insta::assert_snapshot!("list", strip_str(&render::list(now(), &rollouts, false, false)).to_string());
    insta::assert_snapshot!(
        "list_wide_all",
        strip_str(&render::list(now(), &rollouts, true, true)).to_string()
    );
}

#[test]
fn a_small_screen_gets_less_and_a_large_one_everything() {
    let picture = paused_for_person();
    assert_eq!(render::fitting(now(), &picture, 120, 60), render::get(now(), &picture, false));
    for (_, picture) in states() {
        let small = strip_str(&render::fitting(now(), &picture, 60, 18)).to_string();
        assert!(small.lines().all(|line| line.width() <= 60), "{small}");
    }
    insta::assert_snapshot!(
        "get_on_a_small_screen",
        strip_str(&render::fitting(now(), &picture, 80, 18)).to_string()
    );
}

#[test]
fn a_line_is_cut_by_what_is_seen_of_it() {
    assert_eq!(render::cut("\x1b[1mabc\x1b[0m", 3), "\x1b[1mabc\x1b[0m");
    assert_eq!(render::cut("\x1b[1mabcd\x1b[0m", 3), "\x1b[1mab\x1b[0m…");
}

#[test]
fn analyses_are_drawn_in_narrow_terminals_too() {
    for columns in [100, 72, 44] {
        let text = strip_str(&render::checks::checks(now(), &checking(), columns)).to_string();
        assert!(text.lines().all(|line| line.width() <= columns), "wider than {columns}:\n{text}");
        insta::assert_snapshot!(format!("analyses_in_{columns}_columns"), text);
    }
}

#[test]
fn analyses_are_drawn_in_colour() {
    let text = render::checks::checks(now(), &aborted_by_check(), render::WIDTH);
    insta::assert_snapshot!("analyses_in_colour", text.replace('\x1b', "␛"));
}

#[test]
fn analyses_that_cannot_be_read_are_missed_only_where_there_should_be_some() {
    let mut picture = paused_for_person();
    picture.checks = Checks::NotSeen("this cluster does not know AnalysisRuns".to_owned());
    assert_eq!(render::checks::checks(now(), &picture, render::WIDTH), "");
}

#[test]
fn nobody_is_told_to_abort_when_every_pod_is_updated() {
    for (mut picture, promoted) in [(undecided(), "promote web "), (check_error(), "promote web --full")] {
        let next = |picture: &Picture| {
            let text =
                strip_str(&render::why(now(), &picture.rollout, &picture.checks, render::WIDTH)).to_string();
            let (_, next) = text.split_once("  next:").unwrap();
            next.split("  next:").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            next(&picture).contains("or kubectl windlass -n shop abort web (go back)"),
            "{}",
            next(&picture)
        );
        // The set has forgotten the former version.
        let status = picture.rollout.status.as_mut().unwrap();
        (status.current_revision, status.updated_replicas) = (status.updated_revision.clone(), Some(5));
        let next = next(&picture);
        assert!(next.contains(promoted) && next.contains("or put the former template back"), "{next}");
        assert!(!next.contains("abort"), "{next}");
    }
}

#[test]
fn what_the_document_shows_of_analyses_is_what_is_drawn() {
    let mut picture = checking();
    if let Checks::Seen(runs) = &mut picture.checks {
        runs.retain(|run| {
            run.metadata.annotations.iter().flatten().all(|(_, place)| !place.contains("background"))
        });
    }
    let drawn = strip_str(&render::checks::checks(now(), &picture, render::WIDTH)).to_string();
    let drawn = drawn.replace("web-web-", "db-db-");
    let document = include_str!("../../../../../docs/analysis.md");
    assert!(
        document.contains(&format!("```text\n{drawn}```")),
        "docs/analysis.md shows something else:\n{drawn}"
    );
}
