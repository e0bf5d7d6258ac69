//! What a kubelet reports of a pod, in the words of `testbed/stages.yaml`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{list, moment, text};

/// What the containers of a pod do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Containers {
    Ready,
    NotReady,
    CrashLoop,
    NoImage,
    /// The pod was evicted: its containers are gone.
    Evicted,
}

/// What is told about a pod.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) containers: Containers,
    pub(super) started: Timestamp,
    pub(super) changed: Timestamp,
    pub(super) pod_ip: String,
    pub(super) host_ip: String,
}

/// The types of conditions that are the kubelet's own.
const OURS: [&str; 5] = ["PodScheduled", "Initialized", "ContainersReady", "Ready", "DisruptionTarget"];

impl Report {
    /// The status of the pod, whole.
    pub(super) fn status(&self, pod: &Value) -> Value {
        let mut status = json!({
            "phase": self.phase(),
            "startTime": moment(self.started),
            "hostIP": self.host_ip, "hostIPs": [{"ip": self.host_ip}],
            "podIP": self.pod_ip, "podIPs": [{"ip": self.pod_ip}],
            "conditions": self.conditions(pod),
            "containerStatuses": self.container_statuses(pod),
        });
        if self.containers == Containers::Evicted {
            status["reason"] = json!("Evicted");
            status["message"] = json!("The node was low on resource: memory.");
        }
        status
    }

    fn phase(&self) -> &'static str {
        match self.containers {
            Containers::Ready | Containers::NotReady | Containers::CrashLoop => "Running",
            Containers::NoImage => "Pending",
            Containers::Evicted => "Failed",
        }
    }

    fn conditions(&self, pod: &Value) -> Vec<Value> {
        let started = moment(self.started);
        let changed = moment(self.changed);
        let good =
            |kind: &str, since: &str| json!({"type": kind, "status": "True", "lastTransitionTime": since});
        let readiness = |kind: &str| match self.containers {
            Containers::Ready => good(kind, &changed),
            Containers::NotReady | Containers::CrashLoop | Containers::NoImage => json!({
                "type": kind, "status": "False", "reason": "ContainersNotReady",
                "message": "containers with unready status", "lastTransitionTime": changed,
            }),
            Containers::Evicted => {
                json!({"type": kind, "status": "False", "reason": "PodFailed", "lastTransitionTime": changed})
            }
        };
        let gates = list(pod, &["spec", "readinessGates"]);
        let is_gate = |kind: &str| gates.iter().any(|gate| text(gate, &["conditionType"]) == Some(kind));
        let mut conditions = vec![
            good("PodScheduled", &started),
            good("Initialized", &started),
            readiness("ContainersReady"),
            readiness("Ready"),
        ];
        let others = list(pod, &["status", "conditions"]).iter().filter(|it| {
            let kind = text(it, &["type"]).unwrap_or_default();
            let evicted = kind == "DisruptionTarget" && self.containers != Containers::Evicted;
            evicted || (!OURS.contains(&kind) && !is_gate(kind))
        });
        conditions.extend(others.cloned());
        if self.containers == Containers::Ready {
            conditions.extend(
                gates.iter().filter_map(|gate| Some(good(text(gate, &["conditionType"])?, &started))),
            );
        }
        if self.containers == Containers::Evicted {
            conditions.push(json!({
                "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
                "message": "The node was low on resource: memory.", "lastTransitionTime": changed,
            }));
        }
        conditions
    }

    fn container_statuses(&self, pod: &Value) -> Vec<Value> {
        list(pod, &["spec", "containers"]).iter().map(|it| self.container_status(it)).collect()
    }

    fn container_status(&self, container: &Value) -> Value {
        let name = text(container, &["name"]).unwrap_or_default();
        let image = text(container, &["image"]).unwrap_or_default();
        let (started, changed) = (moment(self.started), moment(self.changed));
        match self.containers {
            Containers::Ready | Containers::NotReady => json!({
                "name": name, "image": image, "imageID": image, "ready": self.containers == Containers::Ready,
                "started": true, "restartCount": 0, "state": {"running": {"startedAt": started}},
            }),
            Containers::CrashLoop => json!({
                "name": name, "image": image, "imageID": "", "ready": false, "started": false, "restartCount": 3,
                "state": {"waiting": {
                    "reason": "CrashLoopBackOff", "message": "back-off restarting failed container",
                }},
                "lastState": {"terminated": {
                    "exitCode": 1, "reason": "Error", "startedAt": changed, "finishedAt": changed,
                }},
            }),
            Containers::NoImage => json!({
                "name": name, "image": image, "imageID": "", "ready": false, "started": false, "restartCount": 0,
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}},
            }),
            Containers::Evicted => json!({
                "name": name, "image": image, "imageID": image, "ready": false, "started": false, "restartCount": 0,
                "state": {"terminated": {
                    "exitCode": 137, "reason": "Error", "startedAt": started, "finishedAt": changed,
                }},
            }),
        }
    }
}
