//! The one place where findings become sentences: what was found, what is wrong, and how to mend it.

use jiff::Timestamp;
use serde::Serialize;
use windlass_engine::age_words;
use windlass_workloads::{
    DEFAULT_IDENTITY, HOLD, Holder, OTHERS, Place, Verdict, install_command, shell_word,
};

use super::account;
use super::facts::{Asked, Lacking, LeaseFacts};
use super::finding::{Check, Finding, Named, Unguarded};

const INSTALL_ROLLOUTS: &str = "windlass crds --only rollouts | kubectl apply -f -";
const INSTALL_ANALYSIS: &str = "windlass crds --only analysis | kubectl apply -f -";

/// A finding in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// The sentence.
    pub(super) message: String,
    /// How to mend it; nothing when there is nothing to mend.
    pub(super) remedy: Option<Remedy>,
}

/// How to mend something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::kubectl) struct Remedy {
    /// In words.
    pub(in crate::kubectl) text: String,
    /// The command that does it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::kubectl) command: Option<String>,
}

/// A finding in words.
pub(super) fn explain(finding: &Finding, asked: &Asked, now: Timestamp) -> Words {
    match finding {
        Finding::Defined { name } => fine(format!("{name} is served, as this version of Windlass needs it")),
        Finding::NotDefined { name } => not_defined(name),
        Finding::NotEstablished { name, why } => not_established(name, why),
        Finding::DefinedOtherwise { name, at } => defined_otherwise(name, at),
        Finding::AnalysisNotDefined { name } => analysis_not_defined(name),
        Finding::AnalysisMissed { name, rollouts } => analysis_missed(name, rollouts),
        Finding::DefinedByArgo { name } => defined_by_argo(name),
        Finding::Guarded { hold } => fine(Verdict::Guarded.explain(*hold, &asked.identity).message),
        Finding::MutatingServed => mutating_served(asked),
        Finding::Unguarded(unguarded) => not_guarded(unguarded, asked),
        Finding::OursBesideArgo { name } => ours_beside_argo(name),
        Finding::MayAll { count, one_namespace } => may_all(*count, *one_namespace, asked),
        Finding::MayNothing { count } => may_nothing(*count, asked),
        Finding::MayNot(lacking) => may_not(lacking, asked),
        Finding::MayNotReadSecrets => may_not_read_secrets(asked),
        Finding::Led { holder, lease } => led(holder, lease, asked, now),
        Finding::NoLease => no_lease(asked),
        Finding::LeaseFree { lease } => lease_free(lease, asked, now),
        Finding::LeaseRanOut { holder, lease } => lease_ran_out(holder, lease, asked, now),
        Finding::MarksLeft { set, label, held } => marks_left(set, label.as_deref(), *held, asked),
        Finding::HoldForgotten { set } => hold_forgotten(set),
        Finding::WorkloadMissing { rollout, set } => workload_missing(rollout, set),
        Finding::WorkloadShared { set, rollouts, owner } => shared(set, rollouts, owner.as_deref()),
        Finding::SaysUnguarded { rollout, why } => says_unguarded(rollout, why),
        Finding::NothingFound { check, looked_at } => fine(nothing_found(*check, *looked_at)),
        Finding::NotLooked { missing, .. } => {
            fine(format!("could not look: this is refused to you; ask somebody who may {}", missing.0))
        }
    }
}

fn fine(message: String) -> Words {
    Words { message, remedy: None }
}

fn wrong(message: String, text: impl Into<String>, command: Option<String>) -> Words {
    Words { message, remedy: Some(Remedy { text: text.into(), command }) }
}

fn not_defined(name: &str) -> Words {
    wrong(format!("{name} is not installed"), "install the definition", Some(INSTALL_ROLLOUTS.to_owned()))
}

fn analysis_not_defined(name: &str) -> Words {
    wrong(
        format!("{name} is not installed; only rollouts that are judged by an analysis need it"),
        "if you want to use analyses, install the definition and restart the controller",
        Some(INSTALL_ANALYSIS.to_owned()),
    )
}

fn analysis_missed(name: &str, rollouts: &[String]) -> Words {
    let named = rollouts.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more = if rollouts.len() > 3 { format!(" and {} more", rollouts.len() - 3) } else { String::new() };
    wrong(
        format!("{name} is not installed, so these rollouts cannot be judged and do not move: {named}{more}"),
        "install the definition and restart the controller",
        Some(INSTALL_ANALYSIS.to_owned()),
    )
}

fn defined_by_argo(name: &str) -> Words {
    wrong(
        format!(
            "{name} is that of Argo Rollouts, which works; forEachPod, the kubernetes provider, authentication.bearer and \
             tls are not known to it and left out, and mistakes are told later"
        ),
        "leave it while Argo Rollouts runs in this cluster; when it is gone, install that of this version",
        Some(INSTALL_ANALYSIS.to_owned()),
    )
}

fn ours_beside_argo(name: &str) -> Words {
    wrong(
        format!(
            "{name} is that of Windlass, and Argo Rollouts is installed, whose controller cannot store the results of \
             its runs with it"
        ),
        "if that controller runs, put the definition of your version of Argo Rollouts back; Windlass works with it",
        None,
    )
}

fn may_all(count: usize, one_namespace: bool, asked: &Asked) -> Words {
    let all = format!("the controller has the {count} rights that it needs {}", asked.place());
    fine(if one_namespace {
        format!(
            "{all}, the only one that it serves. It has none on what belongs to the cluster: it does without \
             ClusterAnalysisTemplates, and does not see the policies"
        )
    } else {
        all
    })
}

fn may_nothing(count: usize, asked: &Asked) -> Words {
    let message = format!(
        "{} has none of the {count} rights that the controller needs {}",
        asked.identity,
        asked.place()
    );
    let mut words = wrong_rights(message, asked);
    if let (Some(remedy), Some(namespace), false) =
        (&mut words.remedy, &asked.namespace, asked.leads_where_it_serves())
    {
        let (text, own) = (&remedy.text, account(namespace));
        remedy.text = format!(
            "{text}; if there is one for this namespace only, ask again with --identity {own} \
             --lease-namespace {namespace}"
        );
    }
    words
}

fn may_not_read_secrets(asked: &Asked) -> Words {
    wrong(
        format!(
            "the controller may not get secrets {}; only analyses whose credentials are in Secrets need it",
            asked.place()
        ),
        match (&asked.namespace, asked.identity == DEFAULT_IDENTITY) {
            (Some(namespace), false) if asked.leads_where_it_serves() => format!(
                "if you took the right away or narrowed it, leave it so; to give it, bind {} to a Role that may get secrets \
                 in namespace {namespace}, such as that in manifests/namespaced/secrets.yaml",
                asked.identity
            ),
            (_, false) => format!(
                "if you took the right away or narrowed it, leave it so; to give it, bind {} to a Role that may get secrets \
                 in every namespace where metrics have credentials",
                asked.identity
            ),
            (_, true) => "if you took the right away or narrowed it, leave it so; to give it in all namespaces, install \
                          this part of the rights"
                .to_owned(),
        },
        (asked.identity == DEFAULT_IDENTITY)
            .then(|| "windlass manifests --parts secrets | kubectl apply -f -".to_owned()),
    )
}

fn not_established(name: &str, why: &str) -> Words {
    wrong(
        format!("{name} is installed, but the server does not serve it: {}", or_silence(why)),
        "another definition may have its names already; look at its conditions",
        Some(format!("kubectl describe crd {name}")),
    )
}

fn defined_otherwise(name: &str, at: &str) -> Words {
    wrong(
        format!("{name} is not as this version of Windlass needs it; first at {at}"),
        "install that of this version, or use the windlass of the version that is installed",
        Some(if name.contains("analysis") { INSTALL_ANALYSIS } else { INSTALL_ROLLOUTS }.to_owned()),
    )
}

fn or_silence(why: &str) -> &str {
    if why.is_empty() { "it does not say why" } else { why }
}

fn mutating_served(asked: &Asked) -> Words {
    let now = Verdict::Guarded.explain(Holder::Partition, &asked.identity).message;
    wrong(
        format!("{now}. This server has mutating policies too, which hold without resting there"),
        format!(
            "if you want that, install those policies, {OTHERS}, and restart the controllers; they find out at their start \
             what holds"
        ),
        Some(install_policies(Holder::Policy, asked)),
    )
}

fn not_guarded(unguarded: &Unguarded, asked: &Asked) -> Words {
    let Unguarded { verdict, hold, installed_for, changes_hold } = unguarded;
    let mut message = verdict.explain(*hold, &asked.identity).message;
    if let (Holder::Partition, Some(Holder::Policy)) = (hold, installed_for) {
        message = format!(
            "this server has no mutating policies, and what is installed is made for servers that have them; {message}"
        );
    }
    let restart = if *changes_hold {
        ", then restart the controller; it finds out at its start what holds"
    } else {
        ""
    };
    let text = match verdict {
        Verdict::NotExempt(_) => format!(
            "install them for this controller, {OTHERS}{restart}; if the controller has another name, ask again with \
             --identity NAME"
        ),
        _ => format!("install the policies of this version, {OTHERS}{restart}"),
    };
    wrong(message, text, Some(install_policies(*hold, asked)))
}

fn install_policies(hold: Holder, asked: &Asked) -> String {
    format!("{} | kubectl apply -f -", install_command(hold, &asked.identity))
}

fn may_not(lacking: &Lacking, asked: &Asked) -> Words {
    let place = match lacking.right.place {
        Place::Served => asked.place(),
        Place::Cluster => "in the cluster".to_owned(),
        Place::LeaseNamespace => format!("in namespace {}", asked.lease_namespace),
        Place::Lease => format!("{} in namespace {}", asked.lease, asked.lease_namespace),
    };
    let (verbs, title) = (lacking.verbs.join(", "), lacking.right.title());
    let message =
        format!("the controller may not {verbs} {title} {place}, needed to {}", lacking.right.needed_to);
    wrong_rights(message, asked)
}

fn wrong_rights(message: String, asked: &Asked) -> Words {
    let narrower = match asked.namespace {
        Some(_) => "",
        None => "; if the controller serves one namespace only, ask again with -n NAMESPACE",
    };
    if asked.identity == DEFAULT_IDENTITY {
        let command = "windlass manifests --parts rights | kubectl apply -f -".to_owned();
        wrong(message, format!("install the rights that come with Windlass{narrower}"), Some(command))
    } else {
        let those = if asked.leads_where_it_serves() {
            "the rights in manifests/namespaced/role.yaml if it serves this namespace only, else those"
        } else {
            "the rights"
        };
        let text = format!(
            "give {} {those} that `windlass manifests --parts rights` prints; if the controller has another name, ask again with --identity \
             NAME{narrower}",
            asked.identity
        );
        wrong(message, text, None)
    }
}

fn led(holder: &str, lease: &LeaseFacts, asked: &Asked, now: Timestamp) -> Words {
    let since = lease.since.map(|at| format!(" for {}", age_words(at, now))).unwrap_or_default();
    let renewed = renewed(lease, now);
    fine(format!("{holder} leads{since}, by Lease {}; renewed {renewed}", asked.lease_words()))
}

fn no_lease(asked: &Asked) -> Words {
    wrong(
        format!("there is no Lease {}, so no controller leads; is one running?", asked.lease_words()),
        "start `windlass controller`. One for a single namespace has its Lease there: ask again with \
         --lease-namespace. One with --instance has a Lease of its own: ask again with --instance. One with \
         --leader-elect=false has none. Whether one runs",
        Some(pods(asked)),
    )
}

fn lease_free(lease: &LeaseFacts, asked: &Asked, now: Timestamp) -> Words {
    let renewed = renewed(lease, now);
    wrong(
        format!("nobody holds Lease {}; it was given back {renewed}", asked.lease_words()),
        NOBODY_LEADS,
        Some(pods(asked)),
    )
}

fn lease_ran_out(holder: &str, lease: &LeaseFacts, asked: &Asked, now: Timestamp) -> Words {
    let (title, seconds) = (asked.lease_words(), lease.seconds);
    let message = match lease.renewed {
        Some(at) => format!(
            "Lease {title} ran out: {holder} renewed it {}, by this machine's clock, and it lasts {seconds} s",
            ago(at, now)
        ),
        None => format!("Lease {title} names {holder}, who has never renewed it"),
    };
    wrong(message, NOBODY_LEADS, Some(pods(asked)))
}

const NOBODY_LEADS: &str = "start `windlass controller`; if it runs, its log says why it does not lead";

fn pods(asked: &Asked) -> String {
    format!("kubectl -n {} get pods", asked.lease_namespace)
}

fn renewed(lease: &LeaseFacts, now: Timestamp) -> String {
    lease.renewed.map_or("at an unknown time".to_owned(), |at| ago(at, now))
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", age_words(at, now))
}

fn marks_left(set: &Named, label: Option<&str>, held: bool, asked: &Asked) -> Words {
    let label = label.map(|rollout| format!("the label windlass.sh/rollout={rollout}"));
    let mark = held.then(|| "the annotation windlass.sh/held".to_owned());
    let marks: Vec<String> = label.into_iter().chain(mark).collect();
    let patch =
        r#"{"metadata":{"labels":{"windlass.sh/rollout":null},"annotations":{"windlass.sh/held":null}}}"#;
    let (Named { namespace, name }, identity) = (set, shell_word(&asked.identity));
    wrong(
        format!("StatefulSet {set} carries {}, and no rollout refers to it", marks.join(" and ")),
        "a controller that serves this namespace takes them off by itself. Without one, take them off in its name, \
         because the policies refuse it to others",
        Some(format!("kubectl -n {namespace} patch sts {name} --as={identity} --type=merge -p '{patch}'")),
    )
}

fn hold_forgotten(set: &Named) -> Words {
    let Named { namespace, name } = set;
    let patch = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;
    wrong(
        format!(
            "StatefulSet {set} has the partition {HOLD} and no rollout, so no pod of it ever gets a new template"
        ),
        "make a rollout for it, or let go of it; a template that waits then goes to all pods",
        Some(format!("kubectl -n {namespace} patch sts {name} --type=merge -p '{patch}'")),
    )
}

fn workload_missing(rollout: &Named, set: &str) -> Words {
    let Named { namespace, name } = rollout;
    wrong(
        format!(
            "rollout {rollout} refers to StatefulSet {set}, which does not exist in namespace {namespace}"
        ),
        "create it, mend spec.workloadRef, or delete the rollout",
        Some(format!("kubectl -n {namespace} delete rp {name}")),
    )
}

fn shared(set: &Named, rollouts: &[String], owner: Option<&str>) -> Words {
    let namespace = &set.namespace;
    let all = rollouts.join(", ");
    let others: Vec<&str> = rollouts.iter().map(String::as_str).filter(|name| Some(*name) != owner).collect();
    let message = format!("StatefulSet {set} has {} rollouts: {all}", rollouts.len());
    match owner {
        Some(owner) => wrong(
            format!("{message}; {owner} has it, the others wait"),
            "delete all but one; this leaves it where it is",
            Some(format!("kubectl -n {namespace} delete rp {}", others.join(" "))),
        ),
        None => wrong(
            message,
            "look at them, and delete all but one",
            Some(format!("kubectl -n {namespace} get rp {}", rollouts.join(" "))),
        ),
    }
}

fn says_unguarded(rollout: &Named, why: &str) -> Words {
    wrong(
        format!("rollout {rollout} says that its hold is not guarded: {why}"),
        "do as it says. If the policies above look right, the controller is known by another name: ask again with \
         --identity NAME",
        None,
    )
}

fn nothing_found(check: Check, looked_at: usize) -> String {
    let (sets, rollouts) = (counted(looked_at, "StatefulSet"), counted(looked_at, "rollout"));
    match check {
        Check::Marks => format!("no workload carries marks of Windlass without a rollout ({sets})"),
        Check::Holds => format!("no workload without a rollout has its partition at {HOLD} ({sets})"),
        Check::Workloads => format!("every rollout has its workload ({rollouts})"),
        Check::Claims => format!("no workload has two rollouts ({rollouts})"),
        Check::Guards => format!("no rollout says that its hold is not guarded ({rollouts})"),
        Check::Definitions | Check::Policies | Check::Rights | Check::Lease => String::new(),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("there are no {what}s"),
        1 => format!("1 {what} looked at"),
        count => format!("{count} {what}s looked at"),
    }
}
