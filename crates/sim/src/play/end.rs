//! How a play begins and ends, whoever plays it: the furniture of the start, what makes the world well again, what a
//! person does who helps, and what is waited for.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::AT_START;
use crate::deed;
use crate::judge::{is_available, pods_of, rollout, told};
use crate::object::{is_going, label, list, number, text};
use crate::resource::Resource;
use crate::script::{Behaviour, Condition, Deed, NodeState};
use crate::server::Server;
use crate::start::{self, Start};
use crate::store::Store;

/// A server with everything in it that a play starts with, and what was refused.
pub(crate) fn furnish(start: &Start, now: Timestamp) -> (Server, Vec<String>) {
    let mut server = Server::default();
    let furniture = start::furniture(start.nodes).into_iter().chain(start::policies(start.holder));
    let mut stuck = Vec::new();
    for (resource, object) in furniture.chain(start.more.clone()).chain(start.own()) {
        if let Err(refusal) = server.create(now, &deed::person(), resource, object) {
            stuck.push(format!("{AT_START}{}", refusal.message));
        }
    }
    (server, stuck)
}

/// What makes the world well again.
pub(crate) fn amends(start: &Start, ordered: &BTreeSet<String>) -> Vec<Deed> {
    let mut amends = vec![Deed::Quota(None), Deed::Policies(true), Deed::Resume];
    amends.extend(ordered.iter().map(|pod| Deed::Pod(pod.clone(), Behaviour::Well)));
    let templates = start.more.iter().filter(|(resource, _)| *resource == Resource::AnalysisTemplates);
    let names = templates.filter_map(|(_, template)| text(template, &["metadata", "name"]));
    amends.extend(names.map(|name| Deed::CreateTemplate(name.to_owned())));
    amends.extend((1..=start.nodes).map(|node| Deed::Node(format!("node-{node}"), NodeState::Back)));
    amends
}

/// What a run needs that nobody disturbs any more.
pub(crate) enum Help {
    /// A person.
    Deed(Deed),
    /// Time: a pause that ends by itself.
    Time,
    /// Nothing.
    Nothing,
}

/// What would help, as the status says it: a promotion, pods, the end of a bad version, or another version at last.
pub(crate) fn help(store: &Store, round: usize) -> Help {
    let Some((_, rollout)) = rollout(store) else { return Help::Nothing };
    let waits = list(rollout, &["status", "waits"]);
    let reasons: Vec<&str> = waits.iter().filter_map(|wait| text(wait, &["reason"])).collect();
    if reasons.contains(&"HoldForPerson") || reasons.contains(&"AnalysisUndecided") {
        return Help::Deed(Deed::Promote);
    }
    let set = store.all(Resource::StatefulSets).next().map(|(_, set)| set);
    if set.is_some_and(|set| number(set, &["spec", "replicas"]) == Some(0))
        && told(rollout, "phase") != "Healthy"
    {
        return Help::Deed(Deed::Scale(3));
    }
    // Pods that do not get ready with nobody disturbing: a bad version. Where stable is bad as well, a broken pod of it
    // keeps the next version from entering, and only all at once helps.
    let stands = reasons.iter().any(|reason| matches!(*reason, "WaitingForPods" | "OneAtATime"));
    match round % 3 {
        _ if !stands && reasons.iter().any(|reason| ends_by_itself(reason)) => Help::Time,
        _ if !stands => Help::Nothing,
        0 | 1 => Help::Deed(Deed::Abort),
        _ => Help::Deed(Deed::Image(format!("app:v{}", 100 + round))),
    }
}

/// Whether somebody is asked for who is at hand: nothing but that would end the wait.
pub(crate) fn is_asked(help: &Help) -> bool {
    matches!(help, Help::Deed(Deed::Promote | Deed::Scale(_)))
}

/// Time alone is waited for.
fn ends_by_itself(reason: &str) -> bool {
    matches!(reason, "HoldUntil" | "AnalysisRunning" | "AnalysisError")
}

/// How often an analysis has measured.
fn measured(run: &Value) -> u32 {
    let results = list(run, &["status", "metricResults"]).iter();
    let counts = results.flat_map(|result| ["count", "error"].map(|field| number(result, &[field])));
    counts.flatten().filter_map(|count| u32::try_from(count).ok()).sum()
}

/// Whether something is so. Quiet is not to be seen in a store: it takes time.
pub fn holds(condition: &Condition, now: Timestamp, store: &Store) -> bool {
    let rollout = rollout(store).map(|(_, rollout)| rollout);
    let set = store.all(Resource::StatefulSets).next().map(|(_, set)| set);
    let counted = |count: usize, wanted: u32| u32::try_from(count).is_ok_and(|count| count == wanted);
    match condition {
        Condition::Phase(phase) => rollout.is_some_and(|it| told(it, "phase") == phase),
        Condition::Step(step) => rollout.is_some_and(|it| {
            told(it, "step").split('/').next().and_then(|done| done.parse().ok()) == Some(*step)
        }),
        Condition::Reason(reason) => rollout.is_some_and(|it| {
            list(it, &["status", "waits"]).iter().any(|wait| text(wait, &["reason"]) == Some(reason))
        }),
        Condition::Updated(wanted) => set.is_some_and(|set| {
            let target = text(set, &["status", "updateRevision"]);
            let updated = pods_of(store, set)
                .filter(|pod| !is_going(pod) && label(pod, "controller-revision-hash") == target);
            counted(updated.count(), *wanted)
        }),
        Condition::Ready(wanted) => set.is_some_and(|set| {
            let min_ready = number(set, &["spec", "minReadySeconds"]).unwrap_or_default();
            counted(pods_of(store, set).filter(|pod| is_available(now, pod, min_ready)).count(), *wanted)
        }),
        Condition::Pods(wanted) => set.is_some_and(|set| {
            counted(pods_of(store, set).count(), *wanted) && pods_of(store, set).all(|pod| !is_going(pod))
        }),
        Condition::Told(reason) => store.all(Resource::Events).any(|(_, event)| {
            text(event, &["involvedObject", "kind"]) == Some("RolloutPlugin")
                && text(event, &["reason"]) == Some(reason)
        }),
        Condition::Analysis(phase) => {
            deed::latest_analysis(store).is_some_and(|run| text(run, &["status", "phase"]) == Some(phase))
        }
        Condition::Measured(wanted) => {
            deed::latest_analysis(store).is_some_and(|run| measured(run) == *wanted)
        }
        Condition::Analyses(wanted) => counted(store.all(Resource::AnalysisRuns).count(), *wanted),
        Condition::NoRollout => rollout.is_none(),
        Condition::Quiet => true,
    }
}
