//! The effect of the admission policies: every row of the spec about holding, by somebody else and by Windlass.

use serde_json::{Value, json};
use windlass_bed::User;

use crate::ask::{APPLY, Ask, Case, JSON, MERGE, STRATEGIC, case, patch, post, put};
use crate::objects::{set, with};

const HOLD: i64 = 2_147_483_647;

/// A set that a rollout manages, at rest.
fn managed() -> Ask {
    post("sts", with(set("web", "app:v1"), "/metadata/labels", json!({"windlass.sh/rollout": "web"})))
}

/// The same in the middle of a run, with this partition.
fn held(partition: i64) -> Ask {
    let set = with(set("web", "app:v1"), "/metadata/labels", json!({"windlass.sh/rollout": "web"}));
    let set = with(set, "/metadata/annotations", json!({"windlass.sh/held": "run-1/stage-0"}));
    post("sts", with(set, "/spec/updateStrategy", rolling(partition)))
}

fn rolling(partition: i64) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}})
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}})
}

fn partition(partition: i64) -> Value {
    json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}})
}

fn manifest(tag: &str, partition: i64) -> Value {
    with(set("web", tag), "/spec/updateStrategy", rolling(partition))
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            "at rest the partition is anybody's",
            [managed(), patch(MERGE, "sts/web", partition(2)), patch(MERGE, "sts/web", partition(0))],
        ),
        case(
            "at rest at HOLD the partition",
            [
                managed(),
                patch(MERGE, "sts/web", partition(HOLD)),
                patch(MERGE, "sts/web", partition(0)),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
                ),
            ],
        ),
        case(
            "a new image is held in the write that brings it",
            [managed(), patch(STRATEGIC, "sts/web", image("app:v2"))],
        ),
        case(
            "a new image together with HOLD",
            [
                managed(),
                patch(
                    STRATEGIC,
                    "sts/web",
                    json!({"spec": {
                        "updateStrategy": {"rollingUpdate": {"partition": HOLD}},
                        "template": {"spec": {"containers": [{"name": "app", "image": "app:v2"}]}},
                    }}),
                ),
            ],
        ),
        case(
            "a manifest with a partition changes nothing while held",
            [held(2), patch(MERGE, "sts/web", partition(0)), patch(MERGE, "sts/web", partition(0))],
        ),
        case(
            "an apply by force changes nothing while held",
            [
                held(2),
                patch(APPLY, "sts/web?fieldManager=git&force=true", manifest("app:v1", 0)),
                patch(APPLY, "sts/web?fieldManager=git&force=true", manifest("app:v1", 0)),
            ],
        ),
        case("a replace without the marks keeps them", [held(2), put("sts/web", set("web", "app:v1"))]),
        case(
            "Windlass lowers the partition",
            [
                held(2),
                patch(MERGE, "sts/web", partition(1)).by(User::Windlass),
                patch(
                    JSON,
                    "sts/web",
                    json!([
                        {"op": "test", "path": "/metadata/generation", "value": 2},
                        {"op": "replace", "path": "/spec/updateStrategy/rollingUpdate/partition", "value": 0},
                    ]),
                )
                .by(User::Windlass),
                patch(MERGE, "sts/web", json!({"metadata": {"annotations": {"windlass.sh/held": null}}}))
                    .by(User::Windlass),
            ],
        ),
        case(
            "a new template in the middle of a run holds again",
            [held(2), patch(STRATEGIC, "sts/web", image("app:v3"))],
        ),
        case(
            "a scale while held passes by the policies",
            [
                held(2),
                patch(MERGE, "sts/web/scale", json!({"spec": {"replicas": 5}})),
                patch(MERGE, "sts/web", json!({"spec": {"replicas": 6}})),
            ],
        ),
        case(
            "a template put back to stable while held",
            [
                held(2),
                patch(STRATEGIC, "sts/web", image("app:v2")),
                patch(STRATEGIC, "sts/web", image("app:v1")),
            ],
        ),
        case(
            "a replace that drops the strategy and brings a template",
            [held(2), put("sts/web", set("web", "app:v2"))],
        ),
        case(
            "the strategy cannot be left while held",
            [
                held(2),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
                ),
                patch(
                    MERGE,
                    "sts/web",
                    json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
                )
                .by(User::Windlass),
                patch(MERGE, "sts/web", json!({"spec": {"updateStrategy": rolling(0)}})),
            ],
        ),
        case(
            "the label and the mark stay as they are",
            [
                held(2),
                patch(MERGE, "sts/web", json!({"metadata": {"labels": {"windlass.sh/rollout": "other"}}})),
                patch(MERGE, "sts/web", json!({"metadata": {"labels": {"windlass.sh/rollout": null}}})),
                patch(MERGE, "sts/web", json!({"metadata": {"annotations": {"windlass.sh/held": "mine"}}})),
                patch(MERGE, "sts/web", json!({"metadata": {"annotations": {"windlass.sh/held": null}}})),
            ],
        ),
        case(
            "a mark that was not there is not made by others",
            [
                managed(),
                patch(MERGE, "sts/web", json!({"metadata": {"annotations": {"windlass.sh/held": "mine"}}})),
                patch(MERGE, "sts/web", json!({"metadata": {"labels": {"windlass.sh/rollout": null}}})),
            ],
        ),
        case(
            "a set without a rollout is nobody's business",
            [
                post("sts", set("web", "app:v1")),
                patch(STRATEGIC, "sts/web", image("app:v2")),
                patch(MERGE, "sts/web", json!({"metadata": {"labels": {"windlass.sh/rollout": "web"}}})),
            ],
        ),
        case(
            "a held set does not forget its stable revision",
            [
                held(2),
                patch(
                    MERGE,
                    "sts/web/status",
                    json!({"status": {"replicas": 3, "currentRevision": "web-1", "updateRevision": "web-2"}}),
                ),
                patch(MERGE, "sts/web/status", json!({"status": {"currentRevision": "web-2"}})),
            ],
        ),
        case(
            "a set at rest may forget",
            [
                managed(),
                patch(
                    MERGE,
                    "sts/web/status",
                    json!({"status": {"replicas": 3, "currentRevision": "web-1", "updateRevision": "web-2"}}),
                ),
                patch(MERGE, "sts/web/status", json!({"status": {"currentRevision": "web-2"}})),
            ],
        ),
        case("a dry run is held too", [managed(), patch(STRATEGIC, "sts/web?dryRun=All", image("app:v2"))]),
    ]
}
