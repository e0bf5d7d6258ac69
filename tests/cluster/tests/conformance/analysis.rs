//! The kinds of analysis: in a namespace and in the cluster, with a status apart, columns, and the least that numbers and
//! names may be. Rules in CEL are not evaluated by the simulator, so no request here breaks one.

use serde_json::{Value, json};

use crate::ask::{Case, MERGE, TABLE, case, delete, get, patch, post, put};
use crate::objects::with;

fn metric() -> Value {
    json!({
        "name": "errors", "interval": "5s", "count": 3, "failureLimit": "{{args.limit}}",
        "successCondition": "result[0] < 0.05",
        "provider": {"prometheus": {"address": "http://prometheus:9090", "query": "sum(rate(errors_total[1m]))"}},
    })
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": name},
        "spec": {"args": [{"name": "limit", "value": "1"}], "metrics": [metric()]},
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let template = || object("AnalysisTemplate", "errors");
    let everywhere = || object("ClusterAnalysisTemplate", "{ns}");
    let run = || object("AnalysisRun", "errors");
    vec![
        case(
            "a template is stored, counted, shown and pruned",
            [
                post("at", with(template(), "/spec/unknown", json!(1))),
                patch(MERGE, "at/errors", json!({"spec": {"dryRun": [{"metricName": "err.*"}]}})),
                put("at/errors", template()),
                get("at/errors").accepting(TABLE),
                get("at").accepting(TABLE),
                patch(MERGE, "at/errors/status", json!({"status": {"phase": "Running"}})),
                delete("at/errors", Value::Null),
            ],
        ),
        case(
            "a template of the cluster has no namespace",
            [
                post("cat", everywhere()),
                get("cat/{ns}"),
                get("cat/{ns}").accepting(TABLE),
                patch(
                    MERGE,
                    "cat/{ns}",
                    json!({"spec": {"templates": [{"templateName": "other", "clusterScope": true}]}}),
                ),
                delete("cat/{ns}", Value::Null),
                get("cat/{ns}"),
            ],
        ),
        case(
            "the status of a run is written apart",
            [
                post("ar", with(run(), "/status", json!({"phase": "Running"}))),
                patch(
                    MERGE,
                    "ar/errors/status",
                    json!({"status": {
                        "phase": "Failed", "message": "too many errors", "unknown": 1,
                        "runSummary": {"count": 1, "failed": 1},
                        "metricResults": [{"name": "errors", "measurements": [{"value": "[0.2]"}]}],
                    }}),
                ),
                patch(
                    MERGE,
                    "ar/errors",
                    json!({"spec": {"terminate": true}, "status": {"phase": "Running"}}),
                ),
                get("ar").accepting(TABLE),
                patch(MERGE, "ar/errors/status", json!({"status": {"runSummary": {"count": "one"}}})),
                patch(MERGE, "ar/errors/status", json!({"status": {"runSummary": {"count": -1}}})),
            ],
        ),
        case(
            "numbers and names have a least value",
            [
                post("at", with(template(), "/spec/metrics/0/inconclusiveLimit", json!(-1))),
                post("at", with(template(), "/spec/metrics/0/consecutiveErrorLimit", json!(-3))),
                post("at", with(template(), "/spec/metrics/0/name", json!(""))),
                post(
                    "at",
                    with(template(), "/spec/metrics/0/consecutiveErrorLimit", json!("{{args.limit}}")),
                ),
            ],
        ),
        case(
            "wrong types in a template are refused",
            [
                post("at", with(template(), "/spec/metrics/0/interval", json!(5))),
                post("at", with(template(), "/spec/metrics/0/count", json!(true))),
                post("at", with(template(), "/spec/metrics", json!({}))),
            ],
        ),
    ]
}
