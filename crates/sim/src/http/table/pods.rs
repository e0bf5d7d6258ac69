//! The row of a pod: the one that people look at most, and whose status is the hardest to say in a word.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, since};
use crate::object::{at, is_going, list, name, number, text};

/// The columns.
pub(super) const COLUMNS: [(&str, &str, i64); 9] = [
    ("Name", "string", 0),
    ("Ready", "string", 0),
    ("Status", "string", 0),
    ("Restarts", "string", 0),
    ("Age", "string", 0),
    ("IP", "string", 1),
    ("Node", "string", 1),
    ("Nominated Node", "string", 1),
    ("Readiness Gates", "string", 1),
];

/// The cells.
pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let total = list(pod, &["spec", "containers"]).len();
    let statuses = list(pod, &["status", "containerStatuses"]);
    let ready = statuses.iter().filter(|it| is_ready_and_running(it)).count();
    let or = |path: &[&str]| {
        let found = text(pod, path).filter(|text| !text.is_empty());
        json!(found.unwrap_or("<none>"))
    };
    vec![
        json!(name(pod)),
        json!(format!("{ready}/{total}")),
        json!(status(pod, statuses)),
        json!(restarts(statuses, now)),
        age(pod, now),
        or(&["status", "podIP"]),
        or(&["spec", "nodeName"]),
        or(&["status", "nominatedNodeName"]),
        json!("<none>"),
    ]
}

fn is_ready_and_running(status: &Value) -> bool {
    status.get("ready") == Some(&Value::Bool(true)) && at(status, &["state", "running"]).is_some()
}

/// The reason of the last container that has one, else the reason or the phase of the pod.
fn status(pod: &Value, statuses: &[Value]) -> String {
    let said = |path: &[&str]| text(pod, path).filter(|text| !text.is_empty());
    let mut word = said(&["status", "phase"]).unwrap_or_default().to_owned();
    if let Some(reason) = said(&["status", "reason"]) {
        reason.clone_into(&mut word);
    }
    let mut runs = false;
    for container in statuses.iter().rev() {
        if let Some(reason) = container_reason(container) {
            word = reason;
        } else if is_ready_and_running(container) {
            runs = true;
        }
    }
    if word == "Completed" && runs {
        let ready = list(pod, &["status", "conditions"])
            .iter()
            .any(|it| text(it, &["type"]) == Some("Ready") && text(it, &["status"]) == Some("True"));
        word = if ready { "Running".to_owned() } else { "NotReady".to_owned() };
    }
    match (is_going(pod), said(&["status", "reason"])) {
        (true, Some("NodeLost")) => "Unknown".to_owned(),
        (true, _) if !matches!(said(&["status", "phase"]), Some("Failed" | "Succeeded")) => {
            "Terminating".to_owned()
        }
        _ => word,
    }
}

fn container_reason(container: &Value) -> Option<String> {
    let said = |path: &[&str]| text(container, path).filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(reason) = said(&["state", "waiting", "reason"]) {
        return Some(reason);
    }
    let ended = at(container, &["state", "terminated"])?;
    said(&["state", "terminated", "reason"]).or_else(|| {
        let signal = number(ended, &["signal"]).unwrap_or_default();
        let code = number(ended, &["exitCode"]).unwrap_or_default();
        Some(if signal != 0 { format!("Signal:{signal}") } else { format!("ExitCode:{code}") })
    })
}

fn restarts(statuses: &[Value], now: Timestamp) -> String {
    let count: i64 = statuses.iter().map(|it| number(it, &["restartCount"]).unwrap_or_default()).sum();
    let ends = statuses.iter().filter_map(|it| text(it, &["lastState", "terminated", "finishedAt"]));
    match ends.max() {
        Some(last) if count > 0 => format!("{count} ({} ago)", since(Some(last), now)),
        _ => count.to_string(),
    }
}
