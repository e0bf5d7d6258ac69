//! Requests as data. `{ns}` stands for the namespace of the case, `{a.uid}` and `{a.rv}` for the uid and the version of
//! the object in an answer that was remembered as `a`.

use serde_json::Value;
use windlass_bed::User;

/// Requests, one after another, in a namespace of their own.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) steps: Vec<Ask>,
}

/// One request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) user: User,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) accept: &'static str,
    pub(crate) body: String,
    pub(crate) remembered: Option<&'static str>,
}

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const JSON: &str = "application/json-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
pub(crate) const METADATA: &str =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
pub(crate) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

pub(crate) fn case<const N: usize>(name: &'static str, steps: [Ask; N]) -> Case {
    Case { name, steps: steps.into() }
}

fn ask(method: &'static str, short: &str, body: String) -> Ask {
    Ask {
        user: User::Admin,
        method,
        path: path(short),
        content_type: "application/json",
        accept: "application/json",
        body,
        remembered: None,
    }
}

pub(crate) fn get(short: &str) -> Ask {
    ask("GET", short, String::new())
}

pub(crate) fn post(short: &str, body: Value) -> Ask {
    ask("POST", short, body.to_string())
}

pub(crate) fn put(short: &str, body: Value) -> Ask {
    ask("PUT", short, body.to_string())
}

pub(crate) fn delete(short: &str, body: Value) -> Ask {
    ask("DELETE", short, if body.is_null() { String::new() } else { body.to_string() })
}

pub(crate) fn patch(content_type: &'static str, short: &str, body: Value) -> Ask {
    Ask { content_type, ..ask("PATCH", short, body.to_string()) }
}

impl Ask {
    pub(crate) fn by(self, user: User) -> Self {
        Self { user, ..self }
    }

    pub(crate) fn accepting(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    pub(crate) fn sending(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }

    pub(crate) fn remember(self, name: &'static str) -> Self {
        Self { remembered: Some(name), ..self }
    }

    pub(crate) fn told(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.path.contains("watch=true")
    }
}

/// `sts/web/status?dryRun=All` in full.
fn path(short: &str) -> String {
    if short.starts_with('/') {
        return short.to_owned();
    }
    let end = short.find(['/', '?']).unwrap_or(short.len());
    let (kind, rest) = short.split_at(end);
    let collection = match kind {
        "ns" => "/api/v1/namespaces",
        "crd" => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "pods"
        | "configmaps"
        | "secrets"
        | "services"
        | "events"
        | "serviceaccounts"
        | "resourcequotas"
        | "persistentvolumeclaims" => return format!("/api/v1/namespaces/{{ns}}/{kind}{rest}"),
        "sts" => "/apis/apps/v1/namespaces/{ns}/statefulsets",
        "revisions" => "/apis/apps/v1/namespaces/{ns}/controllerrevisions",
        "rp" => "/apis/argoproj.io/v1alpha1/namespaces/{ns}/rolloutplugins",
        "at" => "/apis/argoproj.io/v1alpha1/namespaces/{ns}/analysistemplates",
        "cat" => "/apis/argoproj.io/v1alpha1/clusteranalysistemplates",
        "ar" => "/apis/argoproj.io/v1alpha1/namespaces/{ns}/analysisruns",
        "pdb" => "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        "leases" => "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        other => panic!("no path for {other}"),
    };
    format!("{collection}{rest}")
}
