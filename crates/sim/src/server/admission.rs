//! The effect of Windlass's admission policies. The server here runs no CEL: what the installed policies do to a write
//! is written out, and the conformance suite compares it with a real server. A policy acts only while it is stored
//! together with its binding, and lets those users through that it names.

use serde_json::{Value, json};

use super::{Caller, Part, Server};
use crate::object::{self, Key, annotation, at, label, list, map_at, number, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

/// The label of a managed set.
const ROLLOUT: &str = "windlass.sh/rollout";
/// The annotation of a set in the middle of a run.
const HELD: &str = "windlass.sh/held";
/// The partition that holds every pod.
const HOLD: i64 = 2_147_483_647;

/// A quota of pods: the one check at the birth of an object that matters to a rollout.
pub(super) fn create(
    server: &Server,
    _caller: &Caller,
    resource: Resource,
    object: &Value,
) -> Result<(), Refusal> {
    if resource != Resource::Pods {
        return Ok(());
    }
    let key = Key::of(object);
    let used = server.store.within(Resource::Pods, &key.namespace).count();
    for (quota, limits) in server.store.within(Resource::Quotas, &key.namespace) {
        let hard = at(limits, &["spec", "hard", "pods"]).and_then(amount);
        if let Some(hard) = hard.filter(|&hard| used >= hard) {
            let why = format!(
                "exceeded quota: {}, requested: pods=1, used: pods={used}, limited: pods={hard}",
                quota.name
            );
            return Err(Refusal::forbidden(resource, &key, &why));
        }
    }
    Ok(())
}

fn amount(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| usize::try_from(number).ok()),
    }
}

/// Lets the policies change or refuse a write.
pub(super) fn change(
    server: &Server,
    caller: &Caller,
    resource: Resource,
    part: Part,
    before: &Value,
    after: &mut Value,
) -> Result<(), Refusal> {
    let managed = |set: &Value| label(set, ROLLOUT).is_some();
    if resource != Resource::StatefulSets || !(managed(before) || managed(after)) {
        return Ok(());
    }
    match part {
        Part::Whole => {
            if acts(server, Mutating, "windlass-hold", caller) {
                hold(before, after);
            }
            match installed(server, Validating, "windlass-guard") {
                Some(policy) if !lets_through(policy, caller) => guard(policy, before, after),
                _ => Ok(()),
            }
        }
        Part::Status => keep_stable(server, caller, before, after),
        // The policies match the workload itself, not its scale.
        Part::Scale | Part::Finalizers => Ok(()),
    }
}

/// The two kinds of policies.
#[derive(Clone, Copy)]
enum Sort {
    Mutating,
    Validating,
}
use Sort::{Mutating, Validating};

fn installed<'a>(server: &'a Server, sort: Sort, name: &str) -> Option<&'a Value> {
    let (policies, bindings) = match sort {
        Mutating => (Resource::MutatingPolicies, Resource::MutatingBindings),
        Validating => (Resource::ValidatingPolicies, Resource::ValidatingBindings),
    };
    let key = Key::new("", name);
    let policy = server.store.get(policies, &key)?;
    server.store.get(bindings, &key)?;
    Some(policy)
}

fn acts(server: &Server, sort: Sort, name: &str, caller: &Caller) -> bool {
    installed(server, sort, name).is_some_and(|policy| !lets_through(policy, caller))
}

/// Whether a match condition of the policy names the user as one that is let through.
fn lets_through(policy: &Value, caller: &Caller) -> bool {
    let quoted = format!("'{}'", caller.user.replace('\\', "\\\\").replace('\'', "\\'"));
    list(policy, &["spec", "matchConditions"]).iter().any(|condition| {
        let expression = text(condition, &["expression"]).unwrap_or_default();
        expression.contains("request.userInfo.username in [") && expression.contains(&quoted)
    })
}

/// What the policies' expressions read from a set.
struct Read<'a> {
    rolling: bool,
    partition: i64,
    owner: Option<&'a str>,
    mark: Option<&'a str>,
    template: Option<&'a Value>,
}

fn read(set: &Value) -> Read<'_> {
    Read {
        rolling: text(set, &["spec", "updateStrategy", "type"]) == Some("RollingUpdate"),
        partition: number(set, &["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or_default(),
        owner: label(set, ROLLOUT),
        mark: annotation(set, HELD),
        template: at(set, &["spec", "template"]),
    }
}

/// windlass-hold: a new template raises the partition; while held, the partition and the marks stay.
fn hold(before: &Value, after: &mut Value) {
    let (old, new) = (read(before), read(after));
    let changed = old.template != new.template;
    let held = old.mark.is_some();
    let partition = match (new.rolling, changed, held, old.rolling) {
        (false, ..) | (true, false, false, _) => new.partition,
        (true, true, ..) | (true, false, true, false) => HOLD,
        (true, false, true, true) => old.partition,
    };
    let mark = old.mark.unwrap_or("true").to_owned();
    let marked_right = match new.mark {
        Some(new) => !held || new == mark,
        None => false,
    };
    let remark = (held || changed) && !marked_right;
    let relabel = if new.owner.is_none() { old.owner.map(str::to_owned) } else { None };
    if new.rolling && partition != new.partition {
        let rolling = map_at(after, &["spec", "updateStrategy", "rollingUpdate"]);
        rolling.insert("partition".to_owned(), json!(partition));
    }
    if remark {
        map_at(after, &["metadata", "annotations"]).insert(HELD.to_owned(), json!(mark));
    }
    if let Some(owner) = relabel {
        map_at(after, &["metadata", "labels"]).insert(ROLLOUT.to_owned(), json!(owner));
    }
}

/// windlass-guard: refuses, in words, what cannot be held.
fn guard(policy: &Value, before: &Value, after: &Value) -> Result<(), Refusal> {
    let (old, new) = (read(before), read(after));
    let owner = old.owner.unwrap_or_default();
    let managed = !owner.is_empty();
    let changed = old.template != new.template;
    let held = old.mark.is_some();
    let rests_at_hold = list(policy, &["spec", "variables"])
        .iter()
        .any(|it| text(it, &["name"]) == Some("restsAtHold") && text(it, &["expression"]) == Some("true"));
    let message = if managed && new.owner != Some(owner) {
        format!(
            "the rollout {owner} manages this StatefulSet, and the label windlass.sh/rollout says so: leave it as it is; to end that, delete the RolloutPlugin {owner}"
        )
    } else if held && new.mark != old.mark {
        format!(
            "the rollout {owner} is in the middle of a run, and the annotation windlass.sh/held says so: leave it as it is; to end the run, promote or abort the RolloutPlugin {owner}"
        )
    } else if !new.rolling && managed && held {
        format!(
            "the rollout {owner} is in the middle of a run: leaving the update strategy RollingUpdate now would let go of pods that are held; finish or abort the run first"
        )
    } else if !new.rolling && managed && rests_at_hold {
        format!(
            "the rollout {owner} manages this StatefulSet by the partition of RollingUpdate; delete the RolloutPlugin {owner} before changing the update strategy"
        )
    } else if new.rolling && managed && changed && new.partition != HOLD {
        format!(
            "the rollout {owner} could not hold this new template: pods from the partition {} up would get it at once; set spec.updateStrategy.rollingUpdate.partition to 2147483647 in the same write",
            new.partition
        )
    } else if new.rolling && !changed && held && new.partition != old.partition {
        format!(
            "the rollout {owner} is in the middle of a run and holds the partition at {}: leave spec.updateStrategy.rollingUpdate.partition out of the manifest; to move on, promote or abort the RolloutPlugin {owner}",
            old.partition
        )
    } else if new.rolling
        && rests_at_hold
        && managed
        && !held
        && old.partition == HOLD
        && new.partition != HOLD
    {
        format!(
            "the rollout {owner} keeps the partition at 2147483647 between two runs, so that a new template is held: leave spec.updateStrategy.rollingUpdate.partition out of the manifest"
        )
    } else {
        return Ok(());
    };
    Err(denied("windlass-guard", after, &message))
}

/// windlass-keep-stable: a set that is held back does not forget its stable revision.
fn keep_stable(server: &Server, caller: &Caller, before: &Value, after: &mut Value) -> Result<(), Refusal> {
    let old = read(before);
    let revision = |set: &Value, field| text(set, &["status", field]).unwrap_or_default().to_owned();
    let (had, has) = (revision(before, "currentRevision"), revision(after, "currentRevision"));
    let would_forget =
        !had.is_empty() && !has.is_empty() && has != had && has == revision(after, "updateRevision");
    if !would_forget || old.partition <= 0 {
        return Ok(());
    }
    if old.mark.is_some() && acts(server, Mutating, "windlass-keep-stable", caller) {
        map_at(after, &["status"]).insert("currentRevision".to_owned(), json!(had));
    } else if number(before, &["spec", "replicas"]) == Some(0)
        && acts(server, Validating, "windlass-keep-stable", caller)
    {
        let why = "pods of this StatefulSet are held back, so the revision they belong on is not forgotten";
        return Err(denied("windlass-keep-stable", after, why));
    }
    Ok(())
}

fn denied(policy: &str, object: &Value, message: &str) -> Refusal {
    let why =
        format!("ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {message}");
    let mut refusal = Refusal::forbidden(Resource::StatefulSets, &object::Key::of(object), &why);
    if let Some(details) = &mut refusal.details {
        details["causes"] = json!([{"message": why}]);
    }
    refusal
}
