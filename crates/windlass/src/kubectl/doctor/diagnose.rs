//! From facts to findings.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use windlass_workloads::{
    Holder, Place, RIGHTS, Right, SECRETS, Verdict, choose_holder, first_difference, judge, made_for,
};

use super::facts::{
    Asked, Definition, Facts, Lacking, LeaseFacts, PolicyFacts, RightsFacts, RolloutFacts, Seen, SetFacts,
};
use super::finding::{Check, Finding, Named, Unguarded};

/// Every finding, in the order of the checklist. Each check has at least one.
pub(super) fn diagnose(facts: &Facts, asked: &Asked, now: Timestamp) -> Vec<Finding> {
    let (rollouts, sets) = (&facts.rollouts, &facts.sets);
    let answers = [
        on(Check::Definitions, &facts.definitions, |all| {
            let rollouts = rollouts.as_deref().unwrap_or_default();
            all.ours.iter().map(|it| definition(it, all.argo_rollouts, rollouts)).collect()
        }),
        on(Check::Policies, &facts.policies, |policies| vec![guard(policies, &asked.identity)]),
        on(Check::Rights, &facts.rights, |found| rights(found, asked)),
        on(Check::Lease, &facts.lease, |lease| vec![leader(lease.as_ref(), now)]),
        on_both(Check::Marks, rollouts, sets, |rollouts, sets| marks_left(rollouts, sets), Vec::len),
        on_both(Check::Holds, rollouts, sets, |rollouts, sets| holds_forgotten(rollouts, sets), Vec::len),
        on_both(Check::Workloads, sets, rollouts, |sets, rollouts| missing(rollouts, sets), Vec::len),
        on(Check::Claims, rollouts, |rollouts| {
            or_nothing(Check::Claims, rollouts.len(), shared(rollouts, sets.as_ref().ok()))
        }),
        on(Check::Guards, rollouts, |rollouts| {
            or_nothing(Check::Guards, rollouts.len(), rollouts.iter().filter_map(unguarded).collect())
        }),
    ];
    answers.into_iter().flatten().collect()
}

/// The findings about what was seen.
fn on<T>(check: Check, seen: &Seen<T>, judge: impl FnOnce(&T) -> Vec<Finding>) -> Vec<Finding> {
    match seen {
        Ok(seen) => judge(seen),
        Err(missing) => vec![Finding::NotLooked { check, missing: missing.clone() }],
    }
}

/// The findings about what the second says, when both were seen.
fn on_both<A, B>(
    check: Check,
    first: &Seen<A>,
    second: &Seen<B>,
    judge: impl FnOnce(&A, &B) -> Vec<Finding>,
    count: impl FnOnce(&B) -> usize,
) -> Vec<Finding> {
    on(check, first, |first| {
        on(check, second, |second| or_nothing(check, count(second), judge(first, second)))
    })
}

fn or_nothing(check: Check, looked_at: usize, found: Vec<Finding>) -> Vec<Finding> {
    if found.is_empty() { vec![Finding::NothingFound { check, looked_at }] } else { found }
}

/// A rollout can do without the kinds of analysis, and Argo Rollouts has them too.
fn definition(definition: &Definition, argo_rollouts: bool, rollouts: &[RolloutFacts]) -> Finding {
    let name = definition.wanted.metadata.name.clone().unwrap_or_default();
    let of_analysis = definition.wanted.spec.names.kind.contains("Analysis");
    let measured: Vec<String> =
        rollouts.iter().filter(|rollout| rollout.measures).map(|rollout| of(rollout).to_string()).collect();
    let Some(found) = &definition.found else {
        return match (of_analysis, measured.is_empty()) {
            (false, _) => Finding::NotDefined { name },
            (true, true) => Finding::AnalysisNotDefined { name },
            (true, false) => Finding::AnalysisMissed { name, rollouts: measured },
        };
    };
    if let Some(why) = not_established(found) {
        return Finding::NotEstablished { name, why };
    }
    let spec = |definition: &CustomResourceDefinition| -> Value { json!(definition.spec) };
    match first_difference(&spec(&definition.wanted), &spec(found)) {
        // Of whatever version: with a status of its own it is none of Argo's.
        _ if of_analysis && argo_rollouts && has_status(found) => Finding::OursBesideArgo { name },
        Some(_) if of_analysis && argo_rollouts => Finding::DefinedByArgo { name },
        Some(at) => Finding::DefinedOtherwise { name, at: format!("spec.{at}") },
        None => Finding::Defined { name },
    }
}

/// The status is written by itself, which the controller of Argo Rollouts does not do with kinds of analysis.
fn has_status(found: &CustomResourceDefinition) -> bool {
    let mut subresources = found.spec.versions.iter().filter_map(|version| version.subresources.as_ref());
    subresources.any(|it| it.status.is_some())
}

/// Why the server does not serve a definition, in its own words.
fn not_established(found: &CustomResourceDefinition) -> Option<String> {
    let conditions = found.status.as_ref().and_then(|status| status.conditions.as_ref());
    let condition = conditions.into_iter().flatten().find(|condition| condition.type_ == "Established");
    match condition {
        Some(condition) if condition.status == "True" => None,
        Some(condition) => Some(condition.message.clone().unwrap_or_default()),
        None => Some(String::new()),
    }
}

/// What holds is what a controller that starts now would choose; what should hold depends on the server.
fn guard(policies: &PolicyFacts, identity: &str) -> Finding {
    let known = &policies.known;
    let holds = choose_holder(known);
    let should = if policies.mutating_served { Holder::Policy } else { Holder::Partition };
    match (judge(holds, identity, known), judge(should, identity, known)) {
        (Verdict::Guarded, _) if holds == should => Finding::Guarded { hold: holds },
        (Verdict::Guarded, _) => Finding::MutatingServed,
        (_, verdict) => Finding::Unguarded(Unguarded {
            verdict,
            hold: should,
            installed_for: made_for(known),
            changes_hold: holds != should,
        }),
    }
}

/// A controller for one namespace has no right on what belongs to the cluster, and does without.
fn rights(found: &RightsFacts, asked: &Asked) -> Vec<Finding> {
    let one_namespace = asked.leads_where_it_serves() && !found.everywhere;
    let is_needed = |right: &Right| !(one_namespace && right.place == Place::Cluster);
    let verbs = |needed: &dyn Fn(&Right) -> bool| -> usize {
        RIGHTS.iter().filter(|right| needed(right)).map(|right| right.verbs.len()).sum()
    };
    let (secrets, others): (Vec<&Lacking>, Vec<&Lacking>) =
        found.lacking.iter().partition(|lacking| lacking.right == SECRETS);
    let all = verbs(&|_| true);
    if others.iter().map(|lacking| lacking.verbs.len()).sum::<usize>() == all {
        return vec![Finding::MayNothing { count: all }];
    }
    let needed: Vec<&Lacking> = others.into_iter().filter(|lacking| is_needed(&lacking.right)).collect();
    let secrets = secrets.into_iter().map(|_| Finding::MayNotReadSecrets);
    if needed.is_empty() {
        [Finding::MayAll { count: verbs(&is_needed), one_namespace }].into_iter().chain(secrets).collect()
    } else {
        needed.into_iter().cloned().map(Finding::MayNot).chain(secrets).collect()
    }
}

fn leader(lease: Option<&LeaseFacts>, now: Timestamp) -> Finding {
    let Some(lease) = lease.cloned() else { return Finding::NoLease };
    let Some(holder) = lease.holder.clone() else { return Finding::LeaseFree { lease } };
    if lease.leader(now).is_some() {
        Finding::Led { holder, lease }
    } else {
        Finding::LeaseRanOut { holder, lease }
    }
}

/// The workloads that rollouts refer to.
fn referred<'a>(rollouts: &'a [RolloutFacts]) -> BTreeSet<(&'a str, &'a str)> {
    let reference = |rollout: &'a RolloutFacts| Some((rollout.namespace.as_str(), rollout.set.as_deref()?));
    rollouts.iter().filter_map(reference).collect()
}

/// The workloads that no rollout refers to.
fn alone<'a>(rollouts: &[RolloutFacts], sets: &'a [SetFacts]) -> Vec<&'a SetFacts> {
    let referred = referred(rollouts);
    sets.iter().filter(|set| !referred.contains(&(set.namespace.as_str(), set.name.as_str()))).collect()
}

fn marks_left(rollouts: &[RolloutFacts], sets: &[SetFacts]) -> Vec<Finding> {
    let marked = alone(rollouts, sets).into_iter().filter(|set| set.label.is_some() || set.held);
    marked
        .map(|set| Finding::MarksLeft { set: named(set), label: set.label.clone(), held: set.held })
        .collect()
}

fn holds_forgotten(rollouts: &[RolloutFacts], sets: &[SetFacts]) -> Vec<Finding> {
    let at_hold = alone(rollouts, sets).into_iter().filter(|set| set.at_hold);
    at_hold.map(|set| Finding::HoldForgotten { set: named(set) }).collect()
}

fn missing(rollouts: &[RolloutFacts], sets: &[SetFacts]) -> Vec<Finding> {
    let exist: BTreeSet<(&str, &str)> =
        sets.iter().map(|set| (set.namespace.as_str(), set.name.as_str())).collect();
    let lost = |rollout: &RolloutFacts| {
        let set = rollout.set.clone()?;
        let exists = exist.contains(&(rollout.namespace.as_str(), set.as_str()));
        (!exists).then(|| Finding::WorkloadMissing { rollout: of(rollout), set })
    };
    rollouts.iter().filter_map(lost).collect()
}

/// Workloads with more than one rollout. Who has it is known only where the workload may be read.
fn shared(rollouts: &[RolloutFacts], sets: Option<&Vec<SetFacts>>) -> Vec<Finding> {
    let mut claims: BTreeMap<Claim, Vec<String>> = BTreeMap::new();
    for rollout in rollouts {
        if let Some(set) = rollout.set.clone() {
            let claim = (rollout.namespace.clone(), set);
            claims.entry(claim).or_default().push(rollout.name.clone());
        }
    }
    let owner = |(namespace, name): &Claim| {
        let set = sets?.iter().find(|set| (&set.namespace, &set.name) == (namespace, name))?;
        set.label.clone()
    };
    let several = claims.into_iter().filter(|(_, rollouts)| rollouts.len() > 1);
    several
        .map(|(claim, rollouts)| {
            let owner = owner(&claim).filter(|owner| rollouts.contains(owner));
            let (namespace, name) = claim;
            Finding::WorkloadShared { set: Named { namespace, name }, rollouts, owner }
        })
        .collect()
}

/// Namespace and name of a workload.
type Claim = (String, String);

fn unguarded(rollout: &RolloutFacts) -> Option<Finding> {
    let why = rollout.unguarded.clone()?;
    Some(Finding::SaysUnguarded { rollout: of(rollout), why })
}

fn named(set: &SetFacts) -> Named {
    Named { namespace: set.namespace.clone(), name: set.name.clone() }
}

fn of(rollout: &RolloutFacts) -> Named {
    Named { namespace: rollout.namespace.clone(), name: rollout.name.clone() }
}
