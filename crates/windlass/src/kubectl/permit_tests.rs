//! What is refused before anything is asked of the controller.

use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::Intent;

use super::{permit, permit_promotion, permit_resume};
use crate::failure::Failure;
use crate::kubectl::fixtures;

type Ask = fn(&RolloutPlugin) -> Result<(), Failure>;

const ASKS: [(&str, Ask); 5] = [
    ("promote", permit_promotion),
    ("promote --full", |rollout| permit(rollout, Intent::PromoteFull)),
    ("resume", permit_resume),
    ("abort", |rollout| permit(rollout, Intent::Abort)),
    ("restart", |rollout| permit(rollout, Intent::Restart)),
];

#[test]
fn each_request_is_answered_in_each_state() {
    let mut text = String::new();
    for (name, picture) in fixtures::states() {
        text.push_str(name);
        text.push('\n');
        for (ask, permitted) in ASKS {
            let answer = match permitted(&picture.rollout) {
                Ok(()) => "ok".to_owned(),
                Err(failure) => failure.to_string().replace('\n', "\n                     "),
            };
            let line = format!("    {ask:<16} {answer}\n");
            text.push_str(&line);
        }
    }
    insta::assert_snapshot!("permits", text);
}
