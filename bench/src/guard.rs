//! What the guard costs: the time the API server needs for one update of a StatefulSet, with and without the policies.
//! The sets have no pods, so nothing else happens meanwhile. Comes last: the policies are deleted on the way.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use windlass_bed::audit::{self, Request};
use windlass_bed::{User, bed, connect, manifests, until};

use crate::latency::percentile;
use crate::report::Report;

const NAMESPACE: &str = "guard";
const UPDATES: usize = 200;

pub(crate) async fn measure(report: &mut Report) {
    bed().kubectl_ok(User::Admin, &["create", "namespace", NAMESPACE], "");
    let sets: Api<StatefulSet> = Api::namespaced(connect(User::Developer).await, NAMESPACE);
    for name in ["managed", "other"] {
        let set = manifests::stateful_set(name, 0, "app:v0");
        bed().kubectl_ok(User::Admin, &["apply", "--namespace", NAMESPACE, "-f", "-"], &set);
    }
    let label = ["label", "sts/managed", "windlass.sh/rollout=managed", "--namespace", NAMESPACE];
    bed().kubectl_ok(User::Admin, &label, "");
    let other = updates(&sets, "other").await;
    let managed = updates(&sets, "managed").await;
    remove_the_policies(&sets).await;
    let without = updates(&sets, "managed").await;
    let text = |times: &[f64]| format!("{:.1} ms (p99 {:.1})", percentile(times, 50), percentile(times, 99));
    let found = format!(
        "{} without the policies, {} with them on a set without a rollout, {} on a managed set",
        text(&without),
        text(&other),
        text(&managed)
    );
    report.add(
        &format!("the API server's time for one template change, median of {UPDATES}"),
        found,
        "none: what the guard costs",
        "not measured",
        true,
    );
}

/// So many template changes, one after another; the time of each at the server, in milliseconds and sorted.
async fn updates(sets: &Api<StatefulSet>, name: &str) -> Vec<f64> {
    let log = bed().audit_log.clone().unwrap();
    let start = audit::position(&log);
    for number in 0..UPDATES {
        change(sets, name, &format!("app:{number}")).await;
    }
    let is_ours = |request: &&Request| {
        let object = request.object();
        request.verb == "patch" && request.is_done() && object.namespace == NAMESPACE && object.name == name
    };
    let requests = until("the audit log has every update", async || {
        let requests: Vec<Request> = audit::since(&log, start).iter().filter(is_ours).cloned().collect();
        (requests.len() >= UPDATES).then_some(requests)
    })
    .await;
    let mut times: Vec<f64> = requests
        .iter()
        .map(|it| it.stage_timestamp.duration_since(it.request_received_timestamp).as_secs_f64() * 1000.0)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

async fn change(sets: &Api<StatefulSet>, name: &str, image: &str) -> StatefulSet {
    let body = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}});
    sets.patch(name, &PatchParams::default(), &Patch::Strategic(&body)).await.unwrap()
}

/// Deletes them, and waits until they do not act any more.
async fn remove_the_policies(sets: &Api<StatefulSet>) {
    let kinds = "mutatingadmissionpolicybinding,mutatingadmissionpolicy,validatingadmissionpolicybinding,validatingadmissionpolicy";
    for name in ["windlass-hold", "windlass-keep-stable", "windlass-guard"] {
        bed().kubectl_ok(User::Admin, &["delete", kinds, name, "--ignore-not-found"], "");
    }
    let free = json!({"metadata": {"annotations": {"windlass.sh/held": null}},
        "spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
    until("the policies are out of action", async || {
        sets.patch("managed", &PatchParams::default(), &Patch::Merge(&free)).await.ok()?;
        let set = change(sets, "managed", &format!("app:{}", jiff::Timestamp::now().as_millisecond())).await;
        let partition = set.spec?.update_strategy?.rolling_update?.partition?;
        (partition == 0).then_some(())
    })
    .await;
}
