//! The provider `kubernetes`: an expression over the workload, its pods and one object that the metric names. What the
//! caches keep is pruned, so the objects are read in full, each time something is measured.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::{GroupVersionKind, ObjectMeta};
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use windlass_analysis::gauge::{FillError, LooksAt, NOBODY, Owner, Question, Reading, Subject, UNSEEN};
use windlass_analysis::providers::kubernetes::{Facts, Kubernetes, NO_SECRET, ObjectWanted};
use windlass_analysis::rooms::Rooms;

use crate::live::{Trouble, in_time, places, read_object};

/// The label by which pods tell their revision.
const REVISION_LABEL: &str = "controller-revision-hash";

/// How many expressions are evaluated at once: each has a thread to itself, and there are few processors. One namespace has
/// no more than half of that.
const AT_ONCE: usize = 2;
/// How many kinds are remembered.
const KINDS: usize = 256;

/// What is kept from one measurement to the next.
#[derive(Default)]
pub(crate) struct Objects {
    /// How each kind is asked for: the server is not asked for that at every measurement.
    kinds: Mutex<BTreeMap<(String, String), (ApiResource, Scope)>>,
    rooms: Rooms<Option<String>>,
}

impl Objects {
    /// How a kind is asked for; the server is asked once.
    async fn kind(
        &self,
        client: &Client,
        wanted: &ObjectWanted,
        what: &str,
    ) -> Result<(ApiResource, Scope), Trouble> {
        let key = (wanted.api_version.clone(), wanted.kind.clone());
        let known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let asked = wanted.group_version()?;
        let kind = GroupVersionKind::gvk(asked.group, asked.version, &wanted.kind);
        let what = format!("{what}: {} of {}", wanted.kind, wanted.api_version);
        let (resource, capabilities) = in_time(&what, pinned_kind(client, &kind)).await?;
        let found = (resource, capabilities.scope);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() == KINDS {
            kinds.clear();
        }
        kinds.insert(key, found.clone());
        Ok(found)
    }

    /// It may be that the kind was defined anew: it is asked for again.
    fn forget(&self, wanted: &ObjectWanted) {
        let key = (wanted.api_version.clone(), wanted.kind.clone());
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}

pub(crate) async fn evaluate(
    client: &Client,
    objects: &Objects,
    question: &Question,
    expression: Box<Kubernetes>,
    now: Timestamp,
) -> Result<Reading, Trouble> {
    // The API server is what is measured here: that it does not answer is an error like any other provider's.
    let error = |trouble: Trouble| match trouble {
        Trouble::Passing(why) | Trouble::Lasting(why) => Trouble::Lasting(why),
    };
    let namespace = &question.run.namespace;
    somebody(question, expression.looks_at())?;
    // Evaluating may take a second or two at its limit, and objects are large: few have them at hand at once.
    let places = places(&objects.rooms, namespace, AT_ONCE, "expressions").await?;
    let object = match expression.object() {
        Some(wanted) => {
            wanted.check(namespace)?;
            named(client, objects, namespace, wanted).await.map_err(error)?
        }
        None => None,
    };
    let subject = question.subject.as_ref();
    let (workload, pods) = match subject {
        Some(subject) => {
            of(client, objects, namespace, subject, expression.needs_pods()).await.map_err(error)?
        }
        None => (Value::Null, Vec::new()),
    };
    let target = subject.map(|subject| subject.target.as_str()).unwrap_or_default();
    let is_updated = |pod: &&Value| {
        pod.pointer("/metadata/labels").and_then(|labels| labels.get(REVISION_LABEL)?.as_str())
            == Some(target)
    };
    let updated: Vec<Value> = pods.iter().filter(is_updated).cloned().collect();
    if expression.looks_at() == LooksAt::Updated && updated.is_empty() {
        // The last one has gone since the caches told of it.
        return Err(Trouble::Passing(FillError::NoPods(question.metric.name.clone()).to_string()));
    }
    let (target, stable) = (target.to_owned(), subject.map(|it| it.stable.clone()).unwrap_or_default());
    let evaluated = tokio::task::spawn_blocking(move || {
        let _places = places;
        expression.evaluate(&Facts {
            workload: &workload,
            pods: &pods,
            updated: &updated,
            object: object.as_ref(),
            target: &target,
            stable: &stable,
            now,
        })
    });
    let measured =
        evaluated.await.map_err(|error| format!("the expression could not be evaluated: {error}"))?;
    Ok(Reading::Value(measured?))
}

/// An expression over the workload or its pods has one to look at: what is measured of nothing would look like health.
/// Most often that is known before anybody is asked, but not where the expression comes from a Secret.
fn somebody(question: &Question, looks_at: LooksAt) -> Result<(), Trouble> {
    match (&question.subject, question.run.owner) {
        (Some(_), _) => Ok(()),
        (None, _) if looks_at == LooksAt::Others => Ok(()),
        (None, Owner::Rollout) => Err(Trouble::Passing(UNSEEN.to_owned())),
        (None, Owner::Nobody) => Err(Trouble::Lasting(NOBODY.to_owned())),
    }
}

/// The workload and, where they are needed, its pods.
async fn of(
    client: &Client,
    objects: &Objects,
    namespace: &str,
    subject: &Subject,
    with_pods: bool,
) -> Result<(Value, Vec<Value>), Trouble> {
    let wanted = ObjectWanted {
        api_version: subject.api_version.clone(),
        kind: subject.kind.clone(),
        name: subject.name.clone(),
        namespace: None,
    };
    let workload = named(client, objects, namespace, &wanted).await?;
    let workload =
        workload.ok_or_else(|| format!("{} {namespace}/{} is gone", subject.kind, subject.name))?;
    if !with_pods {
        return Ok((workload, Vec::new()));
    }
    let labels = workload.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let selector: Vec<String> = labels
        .into_iter()
        .flatten()
        .filter_map(|(label, value)| Some(format!("{label}={}", value.as_str()?)))
        .collect();
    let of_kind = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
    let pods: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &of_kind);
    let selected = ListParams::default().labels(&selector.join(","));
    let listed =
        in_time(&format!("the pods of {} {namespace}/{}", subject.kind, subject.name), pods.list(&selected))
            .await?;
    let uid = workload.pointer("/metadata/uid").and_then(Value::as_str);
    let own =
        |pod: &DynamicObject| pod.owner_references().iter().any(|owner| Some(owner.uid.as_str()) == uid);
    let pods = listed.items.iter().filter(|pod| own(pod)).map(as_json).collect();
    Ok((workload, pods))
}

/// One object by its kind and name.
async fn named(
    client: &Client,
    objects: &Objects,
    namespace: &str,
    wanted: &ObjectWanted,
) -> Result<Option<Value>, Trouble> {
    let what = format!("{} {namespace}/{}", wanted.kind, wanted.name);
    let (resource, scope) = objects.kind(client, wanted, &what).await?;
    may_be_shown(&resource)?;
    let api: Api<DynamicObject> = match scope {
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
        // Whether it may be read is for those to say who give rights in the cluster: we have none on such objects.
        Scope::Cluster => Api::all_with(client.clone(), &resource),
    };
    let found = read_object(&api, &wanted.name, &what).await?;
    if found.is_none() {
        objects.forget(wanted);
    }
    Ok(found.as_ref().map(as_json))
}

/// Once more, on what the server says it is: however a Secret was asked for, it is not read.
fn may_be_shown(resource: &ApiResource) -> Result<(), String> {
    let is_secret = resource.group.is_empty() && resource.plural == "secrets";
    if is_secret { Err(NO_SECRET.to_owned()) } else { Ok(()) }
}

fn as_json(object: &DynamicObject) -> Value {
    // Nobody asks who owns which field, and that is half of many an object.
    let metadata = ObjectMeta { managed_fields: None, ..object.metadata.clone() };
    let mut json = json!({"metadata": metadata});
    if let (Some(fields), Some(data)) = (json.as_object_mut(), object.data.as_object()) {
        fields.extend(data.clone());
    }
    json
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use axum::http::{Request, Response};
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use windlass_analysis::gauge::{About, RunIdentity};
    use windlass_analysis::providers::{Settings, read};
    use windlass_api::analysis::Metric;

    use super::*;

    #[test]
    fn what_the_server_says_is_a_secret_is_not_read() {
        assert_eq!(may_be_shown(&ApiResource::erase::<Secret>(&())), Err(NO_SECRET.to_owned()));
        assert_eq!(may_be_shown(&ApiResource::erase::<ConfigMap>(&())), Ok(()));
    }

    /// A server with a workload that has one pod, on the former revision.
    fn server() -> Client {
        let answer = |request: Request<kube::client::Body>| async move {
            let found = match request.uri().path() {
                "/apis/apps/v1" => json!({
                    "kind": "APIResourceList", "groupVersion": "apps/v1",
                    "resources": [{"name": "statefulsets", "singularName": "statefulset", "namespaced": true,
                                   "kind": "StatefulSet", "verbs": ["get", "list"]}],
                }),
                "/apis/apps/v1/namespaces/data/statefulsets/db" => json!({
                    "apiVersion": "apps/v1", "kind": "StatefulSet",
                    "metadata": {"name": "db", "namespace": "data", "uid": "1"},
                    "spec": {"selector": {"matchLabels": {"app": "db"}}},
                }),
                "/api/v1/namespaces/data/pods" => json!({
                    "apiVersion": "v1", "kind": "PodList", "metadata": {},
                    "items": [{"metadata": {
                        "name": "db-0", "labels": {"app": "db", REVISION_LABEL: "db-a"},
                        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "1"}],
                    }}],
                }),
                other => panic!("nobody should ask for {other}"),
            };
            Ok::<_, std::convert::Infallible>(Response::new(Body::from(found.to_string())))
        };
        Client::new(tower::service_fn(answer), "data")
    }

    fn question(owner: Owner, subject: Option<Subject>) -> Question {
        Question {
            run: RunIdentity { namespace: "data".to_owned(), owner, ..RunIdentity::default() },
            metric: Metric { name: "ready".to_owned(), ..Metric::default() },
            arguments: Vec::new(),
            number: 0,
            about: About::New,
            subject,
            conditions: Arc::default(),
        }
    }

    async fn said(expression: &str, question: &Question) -> Reading {
        let settings = json!({"kubernetes": {"expression": expression}});
        let Ok(Settings::Kubernetes(expression)) = read("provider", &settings) else {
            panic!("{settings} makes no sense")
        };
        let objects = Objects::default();
        let measured = evaluate(&server(), &objects, question, expression, Timestamp::UNIX_EPOCH).await;
        measured.unwrap_or_else(Reading::from)
    }

    #[tokio::test]
    async fn of_no_updated_pod_nothing_is_measured_even_if_the_last_one_has_just_gone() {
        let subject = |target: &str| Subject {
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            name: "db".to_owned(),
            target: target.to_owned(),
            stable: "db-a".to_owned(),
            updated: vec!["db-0".to_owned()],
        };
        let gone = question(Owner::Rollout, Some(subject("db-b")));
        let told = "metric \"ready\" looks at updated pods, and no pod is on the wanted revision yet";
        assert_eq!(said("updated.all(p, false)", &gone).await, Reading::NotAsked(told.to_owned()));
        assert!(matches!(said("pods.all(p, false)", &gone).await, Reading::Value(_)));
        let there = question(Owner::Rollout, Some(subject("db-a")));
        assert!(matches!(said("updated.all(p, false)", &there).await, Reading::Value(_)));
    }

    #[tokio::test]
    async fn an_expression_that_was_known_to_nobody_before_does_not_look_at_pods_that_there_are_not() {
        let (alone, unseen) = (question(Owner::Nobody, None), question(Owner::Rollout, None));
        for expression in ["updated.all(p, false)", "pods.size() == 0", "stable == target"] {
            assert_eq!(said(expression, &alone).await, Reading::Error(NOBODY.to_owned()), "{expression}");
            let passing = Reading::NotAsked(UNSEEN.to_owned());
            assert_eq!(said(expression, &unseen).await, passing, "{expression}");
        }
        assert!(matches!(said("now > 0", &alone).await, Reading::Value(_)));
    }
}
