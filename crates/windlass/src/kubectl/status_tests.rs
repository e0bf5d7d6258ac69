//! When `status` ends, and with what.

use k8s_openapi::api::apps::v1::ControllerRevision;
use serde_json::json;

use super::{Verdict, verdict};
use crate::kubectl::fixtures::{self, STABLE, TARGET};
use crate::kubectl::picture::Picture;

fn judged(picture: &Picture) -> Verdict {
    verdict(&picture.rollout, picture.set.as_ref(), &[])
}

#[test]
fn each_state_has_its_exit_code() {
    let codes: Vec<(&str, u8)> =
        fixtures::states().iter().map(|(name, picture)| (*name, judged(picture).code())).collect();
    let expected = [
        ("healthy", 0),
        ("progressing", 4),
        ("paused_for_person", 5),
        ("timed_pause", 4),
        ("paused_by_person", 5),
        ("aborting", 3),
        ("aborted", 3),
        ("invalid_spec", 3),
        ("workload_missing", 3),
        ("no_controller", 4),
        ("unguarded_and_behind", 4),
        ("checking", 4),
        ("not_asked", 4),
        ("undecided", 5),
        ("check_error", 4),
        ("aborted_by_check", 3),
        ("bad_pod", 3),
        ("background_ended", 3),
        ("many_checks", 0),
    ];
    assert_eq!(codes, expected);
}

#[test]
fn healthy_for_a_former_version_does_not_count() {
    let mut picture = fixtures::healthy();
    picture.set.as_mut().unwrap().status.as_mut().unwrap().update_revision = Some("web-new".to_owned());
    assert_eq!(judged(&picture), Verdict::NotYet);
}

#[test]
fn healthy_does_not_count_while_the_workload_is_behind_its_own_template() {
    let mut picture = fixtures::healthy();
    picture.set.as_mut().unwrap().metadata.generation = Some(5);
    assert_eq!(judged(&picture), Verdict::NotYet);
}

#[test]
fn an_abort_of_a_former_version_does_not_count() {
    let mut picture = fixtures::aborted();
    picture.set.as_mut().unwrap().status.as_mut().unwrap().update_revision = Some("web-new".to_owned());
    assert_eq!(judged(&picture), Verdict::NotYet);
}

#[test]
fn a_revision_that_was_only_renamed_is_the_same_version() {
    let mut picture = fixtures::healthy();
    picture.rollout.status.as_mut().unwrap().updated_revision = Some(STABLE.to_owned());
    let revision = |name: &str| -> ControllerRevision {
        serde_json::from_value(json!({"metadata": {"name": name}, "revision": 1,
            "data": {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:v1"}]}}}}}))
        .unwrap()
    };
    assert_eq!(judged(&picture), Verdict::NotYet);
    let revisions = [revision(STABLE), revision(TARGET)];
    assert_eq!(verdict(&picture.rollout, picture.set.as_ref(), &revisions), Verdict::Healthy);
}
