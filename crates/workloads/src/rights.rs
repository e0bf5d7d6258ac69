//! The rights that the controller needs, each with what it is needed for. This list is the only one: the doctor asks
//! the server about it, the table in the documents is made from it, and tests hold what is installed, and what is used, against it.

use std::fmt::Write as _;

/// Where a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In every namespace whose rollouts are served.
    Served,
    /// In the cluster: the resource has no namespace.
    Cluster,
    /// In the namespace of the Lease, on any object.
    LeaseNamespace,
    /// In the namespace of the Lease, on the Lease of this name alone.
    Lease,
}

/// Some verbs on one resource, and what they are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resource, in plural.
    pub resource: &'static str,
    /// The part of it that is meant, such as `status`.
    pub subresource: Option<&'static str>,
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// Where.
    pub place: Place,
    /// What for, as the end of "needed to …".
    pub needed_to: &'static str,
    /// The code that needs it, in `crates/controller/src`.
    pub code: &'static str,
}

const ROLLOUTS: Right = Right {
    group: "argoproj.io",
    resource: "rolloutplugins",
    subresource: None,
    verbs: &[],
    place: Place::Served,
    needed_to: "",
    code: "",
};
const SETS: Right = Right { group: "apps", resource: "statefulsets", ..ROLLOUTS };
const PODS: Right = Right { group: "", resource: "pods", ..ROLLOUTS };
const TEMPLATES: Right = Right { resource: "analysistemplates", ..ROLLOUTS };
const CLUSTER_TEMPLATES: Right =
    Right { resource: "clusteranalysistemplates", place: Place::Cluster, ..ROLLOUTS };
const RUNS: Right = Right { resource: "analysisruns", ..ROLLOUTS };
const JOBS: Right = Right { group: "batch", resource: "jobs", ..ROLLOUTS };
const LEASES: Right =
    Right { group: "coordination.k8s.io", resource: "leases", place: Place::Lease, ..ROLLOUTS };
const POLICIES: Right = Right {
    group: "admissionregistration.k8s.io",
    verbs: &["list", "watch"],
    place: Place::Cluster,
    needed_to: "find out what holds a new template, and say on every rollout whether that is guarded",
    code: "guard.rs",
    ..ROLLOUTS
};
/// Nobody writes finalizers: this is what a server asks for that enforces rights on owners (`OpenShift` does).
const FINALIZERS: Right = Right { subresource: Some("finalizers"), verbs: &["update"], ..ROLLOUTS };
const READ_AGAIN: &str = "read the object again after a write whose answer never came";
const TAKE_TEMPLATES: &str = "know which metrics a rollout is judged by";

/// The right that a person may narrow to some namespaces or take away, so it is in a role of its own. Checks that name no
/// Secret do without it.
pub const SECRETS: Right = Right {
    group: "",
    resource: "secrets",
    verbs: &["get"],
    code: "live.rs",
    needed_to: "read the Secrets that a template or a provider names, by name, and no others",
    ..ROLLOUTS
};

/// Every other right that the controller needs.
pub const RIGHTS: [Right; 31] = [
    Right {
        verbs: &["list", "watch"],
        code: "watch.rs",
        needed_to: "see rollouts and what people ask of them",
        ..ROLLOUTS
    },
    Right { verbs: &["get"], code: "reconcile.rs", needed_to: READ_AGAIN, ..ROLLOUTS },
    Right {
        verbs: &["patch"],
        code: "writer.rs",
        needed_to: "take a person's pause off on full promotion",
        ..ROLLOUTS
    },
    Right {
        subresource: Some("status"),
        verbs: &["update"],
        code: "writer.rs",
        needed_to: "store what is remembered and what people read",
        ..ROLLOUTS
    },
    Right {
        code: "check.rs, writer.rs",
        needed_to: "make a rollout the owner of its runs of analysis where the server enforces rights on owners",
        ..FINALIZERS
    },
    Right {
        verbs: &["list", "watch"],
        code: "watch.rs",
        needed_to: "see workloads and their templates",
        ..SETS
    },
    Right { verbs: &["get"], code: "reconcile.rs", needed_to: READ_AGAIN, ..SETS },
    Right {
        verbs: &["patch"],
        code: "writer.rs",
        needed_to: "move the partition, and put marks on and take them off",
        ..SETS
    },
    Right {
        resource: "controllerrevisions",
        verbs: &["list", "watch"],
        code: "watch.rs",
        needed_to: "know which template a revision stands for",
        ..SETS
    },
    Right {
        verbs: &["list", "watch"],
        code: "watch.rs",
        needed_to: "see each pod's revision and health",
        ..PODS
    },
    Right { verbs: &["get"], code: "reconcile.rs", needed_to: READ_AGAIN, ..PODS },
    Right {
        verbs: &["delete"],
        code: "writer.rs",
        needed_to: "put a pod back on the revision it belongs on",
        ..PODS
    },
    Right {
        resource: "events",
        verbs: &["create"],
        code: "writer.rs",
        needed_to: "tell people what happened, once",
        ..PODS
    },
    Right { verbs: &["list", "watch"], code: "watch.rs", needed_to: TAKE_TEMPLATES, ..TEMPLATES },
    Right { verbs: &["list", "watch"], code: "watch.rs", needed_to: TAKE_TEMPLATES, ..CLUSTER_TEMPLATES },
    Right {
        verbs: &["list", "watch"],
        code: "watch.rs",
        needed_to: "see runs of analysis and what people ask of them",
        ..RUNS
    },
    Right { verbs: &["get"], code: "reconcile.rs", needed_to: READ_AGAIN, ..RUNS },
    Right {
        verbs: &["create", "patch"],
        code: "check.rs, writer.rs",
        needed_to: "start a run of analysis, and end it with the rollout; store what was measured where Argo Rollouts' own definition is installed, which has no status of its own",
        ..RUNS
    },
    Right {
        verbs: &["delete"],
        code: "analyse.rs, check.rs, writer.rs",
        needed_to: "delete finished runs that nobody wants to keep, and those whose `ttlStrategy` is over",
        ..RUNS
    },
    Right {
        subresource: Some("status"),
        verbs: &["update"],
        code: "analyse.rs, writer.rs",
        needed_to: "store what was measured and what came of it",
        ..RUNS
    },
    Right {
        resource: "analysisruns",
        code: "live.rs, writer.rs",
        needed_to: "make a run of analysis the owner of its Jobs where the server enforces rights on owners",
        ..FINALIZERS
    },
    Right {
        verbs: &["list", "watch"],
        code: "watch.rs",
        needed_to: "see how the Job of a metric ended",
        ..JOBS
    },
    Right { verbs: &["get"], code: "job.rs", needed_to: "see what became of the Job of a metric", ..JOBS },
    Right { verbs: &["create"], code: "live.rs, writer.rs", needed_to: "start the Job of a metric", ..JOBS },
    Right {
        verbs: &["delete"],
        code: "writer.rs",
        needed_to: "end the Job of a metric, and delete those that are not kept any more",
        ..JOBS
    },
    Right { resource: "mutatingadmissionpolicies", ..POLICIES },
    Right { resource: "mutatingadmissionpolicybindings", ..POLICIES },
    Right { resource: "validatingadmissionpolicies", ..POLICIES },
    Right { resource: "validatingadmissionpolicybindings", ..POLICIES },
    Right {
        verbs: &["create"],
        place: Place::LeaseNamespace,
        code: "leader.rs, writer.rs",
        needed_to: "make the Lease when there is none",
        ..LEASES
    },
    Right {
        verbs: &["list", "watch", "update"],
        code: "leader.rs, writer.rs",
        needed_to: "see who leads, and take, renew and give back the Lease",
        ..LEASES
    },
];

impl Right {
    /// The resource as kubectl spells it, such as `statefulsets.apps` or `rolloutplugins.argoproj.io/status`.
    pub fn title(&self) -> String {
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        let part = self.subresource.map(|part| format!("/{part}")).unwrap_or_default();
        format!("{}{group}{part}", self.resource)
    }
}

impl Place {
    fn words(self) -> &'static str {
        match self {
            Self::Served => "every namespace that is served",
            Self::Cluster => "the cluster",
            Self::LeaseNamespace => "the namespace of the Lease",
            Self::Lease => "the namespace of the Lease, that Lease alone",
        }
    }
}

/// The rights as a table in Markdown.
pub fn rights_table() -> String {
    let mut table = "| resource | verbs | where | needed to | code |\n|---|---|---|---|---|\n".to_owned();
    for right in RIGHTS.iter().chain([&SECRETS]) {
        let (title, verbs) = (right.title(), right.verbs.join(", "));
        let code = right.code.split(", ").map(|file| format!("`crates/controller/src/{file}`"));
        let code = code.collect::<Vec<_>>().join(", ");
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "| `{title}` | {verbs} | {} | {} | {code} |",
            right.place.words(),
            right.needed_to
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Kind of role, group, resource, name, verb.
    type Granted = BTreeSet<(String, String, String, Option<String>, String)>;

    fn granted() -> Granted {
        let texts = [
            include_str!("../../../manifests/rights/clusterrole.yaml"),
            include_str!("../../../manifests/rights/lease.yaml"),
            include_str!("../../../manifests/secrets/secrets.yaml"),
        ];
        let documents: Vec<Value> = serde_saphyr::from_multiple(&texts.join("---\n")).unwrap();
        let mut all = Granted::new();
        for role in documents {
            let kind = role["kind"].as_str().unwrap().to_owned();
            let texts = |rule: &Value, field: &str| -> Vec<String> {
                rule[field].as_array().into_iter().flatten().map(|it| it.as_str().unwrap().into()).collect()
            };
            for rule in role["rules"].as_array().into_iter().flatten() {
                let name = texts(rule, "resourceNames").first().cloned();
                for group in texts(rule, "apiGroups") {
                    for resource in texts(rule, "resources") {
                        all.extend(
                            texts(rule, "verbs").into_iter().map(|verb| {
                                (kind.clone(), group.clone(), resource.clone(), name.clone(), verb)
                            }),
                        );
                    }
                }
            }
        }
        all
    }

    #[test]
    fn the_roles_that_are_installed_grant_these_rights_and_no_others() {
        let wanted = RIGHTS.iter().chain([&SECRETS]).flat_map(|right| {
            let (kind, name) = match right.place {
                Place::Served | Place::Cluster => ("ClusterRole", None),
                Place::LeaseNamespace => ("Role", None),
                Place::Lease => ("Role", Some("windlass".to_owned())),
            };
            let part = right.subresource.map(|part| format!("/{part}")).unwrap_or_default();
            let resource = format!("{}{part}", right.resource);
            right.verbs.iter().map(move |verb| {
                (kind.to_owned(), right.group.to_owned(), resource.clone(), name.clone(), (*verb).to_owned())
            })
        });
        assert_eq!(granted(), wanted.collect::<Granted>());
    }

    #[test]
    fn the_table_has_a_row_per_right_with_its_reason() {
        let table = rights_table();
        assert_eq!(table.lines().count(), RIGHTS.len() + 3);
        assert!(RIGHTS.iter().all(|right| !right.verbs.is_empty() && !right.needed_to.is_empty()));
        assert!(table.contains(
            "| `rolloutplugins.argoproj.io/status` | update | every namespace that is served | store what is \
             remembered and what people read | `crates/controller/src/writer.rs` |"
        ));
    }
}
