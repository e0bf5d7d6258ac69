//! The StatefulSet controller behaves as the one of Kubernetes 1.36.

use serde_json::json;
use windlass_sim::Resource;

use crate::stage::{Stage, set};

#[test]
fn a_new_set_gets_its_pods_one_after_the_other_and_an_update_goes_from_the_top_down() {
    let mut stage = Stage::full();
    stage.create(Resource::StatefulSets, set(3, "a", json!({})));
    stage.settle();
    insta::assert_snapshot!(stage.story());
    stage.image("b");
    stage.settle();
    insta::assert_snapshot!(stage.story());
}
