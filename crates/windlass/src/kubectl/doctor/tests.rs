//! Every checklist a person sees, as golden files: all well, all broken, nothing to be seen, and each way in which
//! policies and Lease can be wrong.

use anstream::adapter::strip_str;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;
use windlass_workloads::{
    DEFAULT_IDENTITY, HOLD, Holder, Installed, Known, Place, RIGHTS, SECRETS, wanted_policies,
};

use super::facts::{
    Asked, Definition, Definitions, Facts, Lacking, LeaseFacts, NotAllowed, PolicyFacts, RightsFacts,
    RolloutFacts, SetFacts,
};
use super::finding::{Finding, Standing};
use super::{Line, diagnose::diagnose, lines};
use crate::kubectl::fixtures::{self, ago, now};
use crate::kubectl::render;

fn asked() -> Asked {
    Asked {
        identity: DEFAULT_IDENTITY.to_owned(),
        namespace: Some("shop".to_owned()),
        lease_namespace: "windlass".to_owned(),
        lease: "windlass".to_owned(),
    }
}

/// A definition as a server has it: established, and with what it fills in.
fn definition() -> Definition {
    let wanted = windlass_api::crds().remove(0);
    let mut found = json!(wanted);
    found["spec"]["conversion"] = json!({"strategy": "None"});
    found["status"] =
        json!({"conditions": [{"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}]});
    Definition { wanted, found: Some(serde_json::from_value(found).unwrap()) }
}

fn changed(change: impl FnOnce(&mut Value)) -> CustomResourceDefinition {
    let mut found = json!(definition().found);
    change(&mut found);
    serde_json::from_value(found).unwrap()
}

fn on_server(mutating_served: bool, installed: Vec<Installed>) -> PolicyFacts {
    PolicyFacts { known: Known::Installed(installed), mutating_served }
}

fn lease(holder: Option<&str>, renewed: i64) -> LeaseFacts {
    LeaseFacts {
        holder: holder.map(str::to_owned),
        since: Some(ago(7200)),
        renewed: Some(ago(renewed)),
        seconds: 15,
    }
}

/// The rights of a controller for all namespaces, but for these.
fn may_all_but(lacking: Vec<Lacking>) -> RightsFacts {
    RightsFacts { lacking, everywhere: true }
}

/// The web of the other commands' tests: a rollout and its set.
fn well() -> Facts {
    let picture = fixtures::healthy();
    let mut set = SetFacts::from(&picture.set.unwrap());
    set.label = Some("web".to_owned());
    Facts {
        definitions: Ok(Definitions { ours: vec![definition()], argo_rollouts: false }),
        policies: Ok(on_server(true, wanted_policies(Holder::Policy, DEFAULT_IDENTITY))),
        rights: Ok(may_all_but(Vec::new())),
        lease: Ok(Some(lease(Some("windlass-7d4b9_1_18f3"), 3))),
        rollouts: Ok(vec![RolloutFacts::from(&picture.rollout)]),
        sets: Ok(vec![set]),
    }
}

fn rollout(name: &str, set: &str) -> RolloutFacts {
    RolloutFacts {
        namespace: "shop".into(),
        name: name.into(),
        set: Some(set.into()),
        unguarded: None,
        measures: false,
    }
}

fn set(name: &str) -> SetFacts {
    SetFacts { namespace: "shop".into(), name: name.into(), label: None, held: false, at_hold: false }
}

fn broken() -> Facts {
    let wanted = definition().wanted;
    let otherwise = changed(|found| {
        found["spec"]["versions"][0]["additionalPrinterColumns"].as_array_mut().unwrap().pop();
    });
    let taken = changed(|found| {
        let taken = "the initial names have not been accepted";
        found["status"]["conditions"][0] =
            json!({"type": "Established", "status": "False", "message": taken});
    });
    let lacking = |resource: &str, verbs: &[&'static str]| {
        let right = *RIGHTS
            .iter()
            .find(|right| right.resource == resource && right.verbs.contains(&verbs[0]))
            .unwrap();
        Lacking { right, verbs: verbs.to_vec() }
    };
    Facts {
        definitions: Ok(Definitions {
            ours: vec![
                Definition { wanted: wanted.clone(), found: None },
                Definition { wanted: wanted.clone(), found: Some(otherwise) },
                Definition { wanted, found: Some(taken) },
            ],
            argo_rollouts: false,
        }),
        policies: Ok(on_server(true, Vec::new())),
        rights: Ok(may_all_but(vec![
            lacking("statefulsets", &["patch"]),
            lacking("validatingadmissionpolicies", &["list", "watch"]),
            lacking("leases", &["create"]),
            lacking("leases", &["update"]),
        ])),
        lease: Ok(None),
        rollouts: Ok(vec![
            RolloutFacts {
                unguarded: Some("not installed: MutatingAdmissionPolicy windlass-hold".to_owned()),
                ..rollout("web", "web")
            },
            rollout("web-second", "web"),
            rollout("gone", "gone"),
            rollout("a", "shared"),
            rollout("b", "shared"),
        ]),
        sets: Ok(vec![
            SetFacts { label: Some("web".to_owned()), at_hold: true, ..set("web") },
            set("shared"),
            SetFacts { label: Some("left".to_owned()), held: true, at_hold: true, ..set("left") },
            SetFacts { at_hold: true, ..set("forgotten") },
        ]),
    }
}

fn nothing_may_be_seen() -> Facts {
    fn refused<T>(right: &str) -> Result<T, NotAllowed> {
        Err(NotAllowed(right.to_owned()))
    }
    Facts {
        definitions: refused("get customresourcedefinitions.apiextensions.k8s.io"),
        policies: refused("list the admission policies and their bindings (admissionregistration.k8s.io)"),
        rights: refused("create subjectaccessreviews.authorization.k8s.io"),
        lease: refused("get leases.coordination.k8s.io in namespace windlass"),
        rollouts: well().rollouts,
        sets: refused("list statefulsets.apps in namespace shop"),
    }
}

fn found(facts: &Facts, asked: &Asked) -> Vec<Line> {
    lines(now(), asked, &diagnose(facts, asked, now()))
}

/// The screen without colours; every line of it fits, but for commands.
fn drawn(asked: &Asked, lines: &[Line]) -> String {
    let text = strip_str(&render::doctor(&asked.words(), lines)).to_string();
    let is_command = |line: &str| line.trim_start().starts_with("kubectl ");
    assert!(text.lines().all(|line| line.width() <= 120 || is_command(line)), "too wide:\n{text}");
    text
}

fn screen(facts: &Facts) -> String {
    drawn(&asked(), &found(facts, &asked()))
}

fn is_wrong(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.result == Standing::Wrong)
}

#[test]
fn a_good_installation_is_called_good() {
    assert!(found(&well(), &asked()).iter().all(|line| line.result == Standing::Well));
    insta::assert_snapshot!("well", screen(&well()));
}

#[test]
fn everything_that_is_broken_is_said_with_its_remedy() {
    let lines = found(&broken(), &asked());
    assert!(lines.iter().all(|line| line.result == Standing::Wrong && line.remedy.is_some()));
    insta::assert_snapshot!("broken", screen(&broken()));
}

#[test]
fn what_may_not_be_seen_is_said_and_is_no_error() {
    assert!(!is_wrong(&found(&nothing_may_be_seen(), &asked())));
    insta::assert_snapshot!("may_not_look", screen(&nothing_may_be_seen()));
    let mut nothing = nothing_may_be_seen();
    nothing.rollouts = Err(NotAllowed("list rolloutplugins.argoproj.io in namespace shop".to_owned()));
    assert!(screen(&nothing).ends_with("\nNothing could be looked at; 9 checks could not be made.\n"));
}

#[test]
fn the_list_for_programs_has_the_same_findings() {
    insta::assert_snapshot!(
        "broken_json",
        serde_json::to_string_pretty(&found(&broken(), &asked())).unwrap()
    );
}

#[test]
fn policies_are_judged_by_what_the_server_can_do() {
    let without = |hold, kind: &str, name: &str| {
        let mut all = wanted_policies(hold, DEFAULT_IDENTITY);
        all.retain(|it| it.kind != kind || it.name != name);
        all
    };
    let mut edited = wanted_policies(Holder::Policy, DEFAULT_IDENTITY);
    edited[0].spec["failurePolicy"] = "Ignore".into();
    let guard_alone: Vec<Installed> = wanted_policies(Holder::Policy, DEFAULT_IDENTITY)
        .into_iter()
        .filter(|it| it.kind.starts_with("Validating"))
        .collect();
    let servers = [
        (
            "the partition's policies where there are none that mutate",
            on_server(false, wanted_policies(Holder::Partition, DEFAULT_IDENTITY)),
        ),
        (
            "the partition's policies where there are some that mutate",
            on_server(true, wanted_policies(Holder::Partition, DEFAULT_IDENTITY)),
        ),
        ("the others where there are none that mutate", on_server(false, guard_alone)),
        ("nothing, where there are none that mutate", on_server(false, Vec::new())),
        (
            "a binding is missing",
            on_server(true, without(Holder::Policy, "MutatingAdmissionPolicyBinding", "windlass-hold")),
        ),
        ("edited", on_server(true, edited)),
        (
            "for another controller",
            on_server(true, wanted_policies(Holder::Policy, "system:serviceaccount:ops:windlass")),
        ),
    ];
    let mut text = String::new();
    for (title, policies) in servers {
        let lines = found(&Facts { policies: Ok(policies), ..well() }, &asked());
        let lines: Vec<Line> =
            lines.into_iter().filter(|line| line.check == super::Check::Policies).collect();
        text.extend([format!("── {title}\n"), drawn(&asked(), &lines), "\n".to_owned()]);
    }
    insta::assert_snapshot!("policies", text);
}

#[test]
fn a_lease_that_is_free_or_ran_out_is_told_apart_from_one_that_is_held() {
    let leases = [
        Some(lease(Some("windlass-a"), 15)),
        Some(lease(Some("windlass-a"), 16)),
        Some(lease(None, 90)),
        Some(LeaseFacts { renewed: None, ..lease(Some("windlass-a"), 0) }),
        None,
    ];
    let codes = leases.clone().map(|lease| {
        let facts = Facts { lease: Ok(lease), ..well() };
        diagnose(&facts, &asked(), now())
            .iter()
            .find(|it| it.check() == super::Check::Lease)
            .map(Finding::code)
    });
    assert_eq!(codes.map(Option::unwrap), ["Led", "LeaseRanOut", "LeaseFree", "LeaseRanOut", "NoLease"]);
    let text: String = leases
        .into_iter()
        .map(|lease| {
            let lines = found(&Facts { lease: Ok(lease), ..well() }, &asked());
            let lines: Vec<Line> =
                lines.into_iter().filter(|line| line.check == super::Check::Lease).collect();
            drawn(&asked(), &lines)
        })
        .collect();
    insta::assert_snapshot!("leases", text);
}

#[test]
fn whose_installation_is_looked_at_is_told_by_who_leads() {
    let leads = lease(Some("windlass-a"), 5);
    let past = lease(Some("windlass-b"), 90_000);
    let given_back = lease(None, 90_000);
    let rows = [
        (Some(&leads), None, true),
        (Some(&leads), Some(&leads), true),
        (None, Some(&leads), false),
        (None, None, false),
        // A controller of the past has left its Lease behind.
        (Some(&past), Some(&leads), false),
        (Some(&given_back), Some(&leads), false),
        // Nobody leads: the one that has a Lease there is the one that is down.
        (Some(&past), Some(&past), true),
        (Some(&given_back), None, true),
    ];
    for (there, everywhere, own) in rows {
        assert_eq!(super::serves_itself(there, everywhere, now()), own, "{there:?} {everywhere:?}");
    }
}

#[test]
fn another_identity_and_all_namespaces_are_in_the_remedies() {
    let asked = Asked { identity: "jane o'hara".to_owned(), namespace: None, ..asked() };
    insta::assert_snapshot!("another_identity", drawn(&asked, &found(&broken(), &asked)));
}

#[test]
fn a_controller_without_any_right_is_said_in_one_line() {
    let lacking = RIGHTS.iter().map(|right| Lacking { right: *right, verbs: right.verbs.to_vec() }).collect();
    let rights = Ok(RightsFacts { lacking, everywhere: false });
    let lines = found(&Facts { rights, ..well() }, &asked());
    let wrong: Vec<&Line> = lines.iter().filter(|line| line.result == Standing::Wrong).collect();
    assert_eq!(wrong.len(), 1);
    assert_eq!(
        wrong[0].message,
        "system:serviceaccount:windlass:windlass has none of the 46 rights that the controller needs in namespace shop"
    );
}

/// Runs of analysis as the plain manifests of Argo Rollouts define them: no label says whose they are, and they have no
/// status of their own.
fn argos_runs() -> Definition {
    let wanted = windlass_api::crds().remove(3);
    let mut found = wanted.clone();
    found.metadata.labels = None;
    found.spec.versions[0].subresources = None;
    found.status = definition().found.unwrap().status;
    Definition { wanted, found: Some(found) }
}

/// Runs of analysis as another version of Windlass defines them.
fn other_version() -> Definition {
    let Definition { wanted, found } = argos_runs();
    let mut other = wanted.clone();
    other.spec.versions[0].additional_printer_columns = None;
    other.status = found.and_then(|it| it.status);
    Definition { wanted, found: Some(other) }
}

#[test]
fn another_definition_of_analysis_is_argos_where_argo_rollouts_is_installed_and_wrong_elsewhere() {
    let ours = || {
        let mut ours = argos_runs();
        ours.found = Some(CustomResourceDefinition {
            status: ours.found.and_then(|it| it.status),
            ..ours.wanted.clone()
        });
        ours
    };
    let of_rollouts = || {
        let mut edited = definition();
        edited.found = Some(changed(|found| found["spec"]["versions"][0]["subresources"] = Value::Null));
        edited
    };
    let rows = [
        (argos_runs(), true, "DefinedByArgo", Standing::Advice),
        // Ours of another version.
        (other_version(), true, "OursBesideArgo", Standing::Advice),
        (other_version(), false, "DefinedOtherwise", Standing::Wrong),
        (argos_runs(), false, "DefinedOtherwise", Standing::Wrong),
        (ours(), true, "OursBesideArgo", Standing::Advice),
        (ours(), false, "Defined", Standing::Well),
        (of_rollouts(), true, "DefinedOtherwise", Standing::Wrong),
    ];
    for (definition, argo_rollouts, code, standing) in rows {
        let definitions = Ok(Definitions { ours: vec![definition], argo_rollouts });
        let line = found(&Facts { definitions, ..well() }, &asked()).remove(0);
        assert_eq!((line.code, line.result), (code, standing), "{}", line.message);
    }
}

#[test]
fn no_remedy_installs_more_than_the_part_that_is_wrong() {
    let argo = Ok(Definitions { ours: vec![argos_runs()], argo_rollouts: false });
    let secrets = Lacking { right: SECRETS, verbs: SECRETS.verbs.to_vec() };
    let more = Facts { definitions: argo, rights: Ok(may_all_but(vec![secrets])), ..well() };
    let lines = [found(&broken(), &asked()), found(&more, &asked())].concat();
    let commands: Vec<String> = lines.into_iter().filter_map(|line| line.remedy?.command).collect();
    let windlass: Vec<&String> = commands.iter().filter(|command| command.starts_with("windlass ")).collect();
    assert!(windlass.len() > 5, "{windlass:?}");
    for command in windlass {
        assert!(command.contains("--only ") || command.contains("--parts "), "{command}");
    }
}

#[test]
fn a_controller_for_one_namespace_is_judged_by_what_that_needs() {
    let of_the_cluster = || -> Vec<Lacking> {
        let rights = RIGHTS.iter().filter(|right| right.place == Place::Cluster);
        rights.map(|right| Lacking { right: *right, verbs: right.verbs.to_vec() }).collect()
    };
    let shops = Asked {
        identity: "system:serviceaccount:shop:windlass".to_owned(),
        lease_namespace: "shop".to_owned(),
        ..asked()
    };
    let judged = |lacking: Vec<Lacking>, everywhere: bool, asked: &Asked| -> Vec<Line> {
        let facts = Facts { rights: Ok(RightsFacts { lacking, everywhere }), ..well() };
        let lines = found(&facts, asked).into_iter();
        lines.filter(|line| line.check == super::Check::Rights).collect()
    };
    let well = judged(of_the_cluster(), false, &shops);
    assert_eq!((well.len(), well[0].code, well[0].result), (1, "MayAll", Standing::Well));
    let pods = *RIGHTS.iter().find(|right| right.resource == "pods").unwrap();
    let mut lacking = of_the_cluster();
    lacking.push(Lacking { right: pods, verbs: pods.verbs.to_vec() });
    let wrong = judged(lacking, false, &shops);
    assert_eq!((wrong.len(), wrong[0].code), (1, "MayNot"));
    insta::assert_snapshot!("one_namespace", drawn(&shops, &[well, wrong].concat()));
    // One that may see every namespace serves all of them, and needs what belongs to the cluster.
    assert!(is_wrong(&judged(of_the_cluster(), true, &shops)));
    assert!(is_wrong(&judged(of_the_cluster(), false, &asked())));
}

#[test]
fn kinds_of_analysis_are_missed_only_by_rollouts_that_measure() {
    let definitions = Definitions {
        ours: vec![
            definition(),
            Definition { wanted: windlass_api::crds().remove(1), found: None },
            argos_runs(),
        ],
        argo_rollouts: true,
    };
    let secrets = Lacking { right: SECRETS, verbs: SECRETS.verbs.to_vec() };
    let rights = Ok(may_all_but(vec![secrets]));
    let mut facts = Facts { definitions: Ok(definitions), rights, ..well() };
    assert!(!is_wrong(&found(&facts, &asked())));
    let before = screen(&facts);
    facts.rollouts = Ok(vec![RolloutFacts { measures: true, ..rollout("web", "web") }]);
    assert!(is_wrong(&found(&facts, &asked())));
    insta::assert_snapshot!(
        "analysis",
        format!("── no rollout measures\n{before}\n── one does\n{}", screen(&facts))
    );
}

#[test]
fn the_marks_and_the_partition_are_read_off_a_set() {
    let mut set = fixtures::set(HOLD);
    assert_eq!(SetFacts::from(&set), SetFacts { at_hold: true, ..self::set("web") });
    set.metadata.labels = Some([("windlass.sh/rollout".to_owned(), "web".to_owned())].into());
    set.metadata.annotations = Some([("windlass.sh/held".to_owned(), "true".to_owned())].into());
    let read = SetFacts::from(&set);
    assert_eq!((read.label.as_deref(), read.held), (Some("web"), true));
}

#[test]
fn a_rollouts_own_word_on_its_hold_counts_only_when_it_is_false() {
    let says = |status: &str| {
        let condition = json!([{"type": "HoldGuarded", "status": status, "reason": "R", "message": "m"}]);
        let more = json!({"conditions": condition});
        RolloutFacts::from(&fixtures::rollout(&fixtures::status("Healthy", 5, &[], &more))).unguarded
    };
    assert_eq!((says("True"), says("Unknown"), says("False")), (None, None, Some("m".to_owned())));
}
