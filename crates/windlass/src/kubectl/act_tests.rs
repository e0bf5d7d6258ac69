//! What the controller made of a request.

use windlass_engine::Intent;

use super::{came_true, shown_pause};
use crate::kubectl::fixtures;

#[test]
fn an_abort_came_true_when_the_run_turned_round() {
    let before = fixtures::progressing().rollout;
    assert!(came_true(Intent::Abort, &before, &fixtures::aborting().rollout));
    assert!(came_true(Intent::Abort, &before, &fixtures::aborted().rollout));
    assert!(!came_true(Intent::Abort, &before, &fixtures::paused_for_person().rollout));
}

#[test]
fn a_restart_came_true_when_it_was_counted() {
    let before = fixtures::aborted().rollout;
    let mut after = fixtures::progressing().rollout;
    assert!(!came_true(Intent::Restart, &before, &after));
    after.status.as_mut().unwrap().memo.as_mut().unwrap()["run"]["restarts"] = 1.into();
    assert!(came_true(Intent::Restart, &before, &after));
}

#[test]
fn a_full_promotion_came_true_when_the_steps_are_over() {
    let before = fixtures::paused_for_person().rollout;
    assert!(came_true(Intent::PromoteFull, &before, &fixtures::healthy().rollout));
    assert!(!came_true(Intent::PromoteFull, &before, &fixtures::progressing().rollout));
}

#[test]
fn another_pause_is_not_the_pause_that_was_shown() {
    let shown = fixtures::paused_for_person().rollout;
    let mut other = shown.clone();
    other.status.as_mut().unwrap().updated_revision = Some("web-new".to_owned());
    assert_ne!(shown_pause(&shown), shown_pause(&other));
    assert_ne!(shown_pause(&shown), shown_pause(&fixtures::progressing().rollout));
}
