//! Whether a new template would be held, judged from the policies that are installed. The same judgement serves the
//! condition on every rollout, the log at start, and `kubectl windlass doctor`.

use serde_json::Value;

use crate::policies::{DEFAULT_IDENTITY, Holder, policies};
use crate::within::first_difference;

/// The name of the policy that raises the partition, and of its binding.
pub const HOLD_POLICY: &str = "windlass-hold";
/// The name of the policy that refuses in words what cannot be held.
const GUARD_POLICY: &str = "windlass-guard";

/// A policy or a binding, as the server has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Its kind, such as `ValidatingAdmissionPolicy`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its specification.
    pub spec: Value,
}

/// What is known of the policies.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Those that are installed.
    Installed(Vec<Installed>),
    /// We may not read them.
    Unreadable,
}

/// Whether a new template would be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It would, and nobody else can let go of it.
    Guarded,
    /// Policies are missing.
    Missing(Vec<String>),
    /// Policies say something else than this version of Windlass needs.
    Differ(Vec<String>),
    /// The policies do not let us through, so what we write is undone or refused.
    NotExempt(Vec<String>),
    /// We may not read the policies.
    Unreadable,
}

/// A verdict in words, for a condition, a log line and the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardWords {
    /// One word.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    /// What would mend it; nothing when all is well.
    pub remedy: Option<String>,
}

/// What holds, judged at the start from what the server has: a policy if there is one, else the partition.
pub fn choose_holder(known: &Known) -> Holder {
    let has = |kind: &str, all: &[Installed]| all.iter().any(|it| it.kind == kind && it.name == HOLD_POLICY);
    match known {
        Known::Installed(all)
            if has("MutatingAdmissionPolicy", all) && has("MutatingAdmissionPolicyBinding", all) =>
        {
            Holder::Policy
        }
        // Resting at HOLD holds whether there is a policy or not.
        Known::Installed(_) | Known::Unreadable => Holder::Partition,
    }
}

/// What the installed guard was made for: it says itself whether the partition rests at HOLD.
pub fn made_for(known: &Known) -> Option<Holder> {
    let Known::Installed(all) = known else { return None };
    let guard = all.iter().find(|it| it.kind == "ValidatingAdmissionPolicy" && it.name == GUARD_POLICY)?;
    let mut variables = guard.spec["variables"].as_array()?.iter();
    let rests = variables.find(|variable| variable["name"] == "restsAtHold")?;
    Some(if rests["expression"] == "true" { Holder::Partition } else { Holder::Policy })
}

/// Judges the installed policies for a controller that is known to the server as `me`.
pub fn judge(hold: Holder, me: &str, known: &Known) -> Verdict {
    let installed = match known {
        Known::Unreadable => return Verdict::Unreadable,
        Known::Installed(installed) => installed,
    };
    let (mut missing, mut differ, mut not_exempt) = (Vec::new(), Vec::new(), Vec::new());
    for wanted in wanted_policies(hold, me) {
        let title = format!("{} {}", wanted.kind, wanted.name);
        let Some(found) = installed.iter().find(|it| it.kind == wanted.kind && it.name == wanted.name) else {
            missing.push(title);
            continue;
        };
        match compare(&wanted.spec, &found.spec, me) {
            Comparison::Same => {}
            Comparison::SameForOthers => not_exempt.push(title),
            Comparison::Different => differ.push(title),
        }
    }
    if !missing.is_empty() {
        Verdict::Missing(missing)
    } else if !not_exempt.is_empty() {
        Verdict::NotExempt(not_exempt)
    } else if !differ.is_empty() {
        Verdict::Differ(differ)
    } else {
        Verdict::Guarded
    }
}

/// What this version of Windlass would install for a controller of this name.
pub fn wanted_policies(hold: Holder, me: &str) -> Vec<Installed> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&policies(hold, &[me.to_owned()])).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    documents
        .iter()
        .map(|document| Installed {
            kind: text(&document["kind"]),
            name: text(&document["metadata"]["name"]),
            spec: document["spec"].clone(),
        })
        .collect()
}

enum Comparison {
    Same,
    /// The same, but that we are not among those it lets through.
    SameForOthers,
    Different,
}

fn compare(wanted: &Value, found: &Value, me: &str) -> Comparison {
    let mut found = found.clone();
    let exempts = exemption(&mut found).map(|expression| {
        let lets_through = names_user(expression.as_str().unwrap_or_default(), me);
        *expression = exemption(&mut wanted.clone()).map(|it| it.clone()).unwrap_or_default();
        lets_through
    });
    match (first_difference(wanted, &found).is_none(), exempts) {
        (true, Some(false)) => Comparison::SameForOthers,
        (true, _) => Comparison::Same,
        (false, _) => Comparison::Different,
    }
}

/// The expression that says who is let through.
fn exemption(spec: &mut Value) -> Option<&mut Value> {
    spec.get_mut("matchConditions")?
        .as_array_mut()?
        .iter_mut()
        .find(|condition| condition["name"] == "not-windlass")?
        .get_mut("expression")
}

/// The policies are there once for the whole cluster: installing them for one controller must not lock out another.
pub const OTHERS: &str = "with --identity once more for every other controller in this cluster";

/// Prints the policies for a controller, as a shell takes it.
pub fn install_command(hold: Holder, me: &str) -> String {
    let hold = match hold {
        Holder::Policy => "",
        Holder::Partition => " --hold=partition",
    };
    let identity =
        if me == DEFAULT_IDENTITY { String::new() } else { format!(" --identity={}", shell_word(me)) };
    format!("windlass manifests --parts policies{hold}{identity}")
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/@=+".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn names_user(expression: &str, me: &str) -> bool {
    let cel = me.replace('\\', "\\\\").replace('\'', "\\'");
    expression.contains(&format!("'{cel}'"))
}

impl Verdict {
    /// The verdict in words.
    pub fn explain(&self, hold: Holder, me: &str) -> GuardWords {
        let holder = match hold {
            Holder::Policy => "a mutating admission policy holds a new template in the write that brings it",
            Holder::Partition => {
                "the partition rests at 2147483647 between two runs, so a new template is held"
            }
        };
        let install =
            format!("apply the output of `{}` of this version, {OTHERS}", install_command(hold, me));
        let (reason, message, remedy) = match self {
            Self::Guarded => {
                let reason = match hold {
                    Holder::Policy => "MutatingPolicy",
                    Holder::Partition => "PartitionRestsAtHold",
                };
                (reason, format!("{holder}, and others' hands are kept off"), None)
            }
            Self::Missing(names) => {
                ("PoliciesMissing", format!("not installed: {}", names.join(", ")), Some(install))
            }
            Self::Differ(names) => (
                "PoliciesDiffer",
                format!("not as this version of Windlass needs them: {}", names.join(", ")),
                Some(install),
            ),
            Self::NotExempt(names) => (
                "NotExempt",
                format!("the controller is {me}, whom these do not let through: {}", names.join(", ")),
                Some(install),
            ),
            Self::Unreadable => (
                "PoliciesUnreadable",
                format!("{holder}; this controller may not read the policies"),
                Some(
                    "let it list and watch the admission policies, or ask `kubectl windlass doctor`"
                        .to_owned(),
                ),
            ),
        };
        GuardWords { reason, message, remedy }
    }

    /// As a condition's status.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Guarded => "True",
            Self::Unreadable => "Unknown",
            Self::Missing(_) | Self::Differ(_) | Self::NotExempt(_) => "False",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: &str = "system:serviceaccount:windlass:windlass";

    fn as_installed(hold: Holder, me: &str) -> Vec<Installed> {
        let mut all = wanted_policies(hold, me);
        for it in &mut all {
            // What a server fills in.
            it.spec["matchPolicy"] = "Equivalent".into();
        }
        all
    }

    #[test]
    fn the_policies_of_this_version_guard_in_either_way() {
        for hold in [Holder::Policy, Holder::Partition] {
            let known = Known::Installed(as_installed(hold, ME));
            assert_eq!(judge(hold, ME, &known), Verdict::Guarded);
            assert_eq!((choose_holder(&known), made_for(&known)), (hold, Some(hold)));
        }
    }

    #[test]
    fn without_the_mutating_policy_or_without_the_right_to_look_the_partition_holds() {
        assert_eq!(choose_holder(&Known::Installed(Vec::new())), Holder::Partition);
        assert_eq!(choose_holder(&Known::Unreadable), Holder::Partition);
        assert_eq!(judge(Holder::Partition, ME, &Known::Unreadable), Verdict::Unreadable);
    }

    #[test]
    fn a_missing_binding_an_edited_policy_and_a_foreign_exemption_are_told_apart() {
        let mut all = as_installed(Holder::Policy, ME);
        let binding = all.iter().position(|it| it.kind == "MutatingAdmissionPolicyBinding").unwrap();
        let binding = all.remove(binding);
        let Verdict::Missing(names) = judge(Holder::Policy, ME, &Known::Installed(all.clone())) else {
            unreachable!("a binding is missing")
        };
        assert_eq!(names, [format!("{} {}", binding.kind, binding.name)]);
        all.push(binding);
        let foreign = judge(Holder::Policy, "jane", &Known::Installed(all.clone()));
        assert!(matches!(foreign, Verdict::NotExempt(names) if names.len() == 2));
        all[0].spec["failurePolicy"] = "Ignore".into();
        assert!(matches!(judge(Holder::Policy, ME, &Known::Installed(all)), Verdict::Differ(_)));
    }

    #[test]
    fn one_of_several_that_are_let_through_is_let_through() {
        let texts = policies(Holder::Policy, &["jane".to_owned(), ME.to_owned()]);
        let documents: Vec<Value> = serde_saphyr::from_multiple(&texts).unwrap();
        let all = documents
            .iter()
            .map(|it| Installed {
                kind: it["kind"].as_str().unwrap().to_owned(),
                name: it["metadata"]["name"].as_str().unwrap().to_owned(),
                spec: it["spec"].clone(),
            })
            .collect();
        assert_eq!(judge(Holder::Policy, ME, &Known::Installed(all)), Verdict::Guarded);
    }
}
