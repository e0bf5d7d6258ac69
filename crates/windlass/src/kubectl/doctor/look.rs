//! Reads the facts. A request that is refused to the asking person is a fact too; one that fails otherwise ends it.

use std::fmt::Debug;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_controller::Policies;
use windlass_workloads::{Known, Place, RIGHTS, Right, SECRETS};

use super::facts::{
    Asked, Definition, Definitions, Facts, Lacking, LeaseFacts, NotAllowed, PolicyFacts, RightsFacts, Seen,
};
use crate::failure::Failure;
use crate::kubectl::reach::{Reach, answer};

/// Objects per page: a cluster may have many, and only a few fields of each are kept.
const PAGE: u32 = 500;
/// Reviews of rights that are under way at once.
const AT_ONCE: usize = 8;
/// The definition that Argo Rollouts is known by.
const ARGO_ROLLOUTS: &str = "rollouts.argoproj.io";

/// Looks at everything.
pub(super) async fn look(reach: &Reach, asked: &Asked) -> Result<Facts, Failure> {
    let client = reach.client();
    let namespace = asked.namespace.as_deref();
    Ok(Facts {
        definitions: definitions(&client).await?,
        policies: policies(&client).await?,
        rights: rights(&client, asked).await?,
        lease: lease(&client, &asked.lease_namespace, &asked.lease).await?,
        rollouts: rollouts(&client, namespace).await?,
        sets: all::<StatefulSet, _>(&client, namespace).await?,
    })
}

/// Sorts an answer: seen, refused to this person, or no answer at all.
fn seen<T>(right: String, answer: kube::Result<T>) -> Result<Seen<T>, Failure> {
    match answer {
        Ok(seen) => Ok(Ok(seen)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Err(NotAllowed(right))),
        Err(error) => Err(Failure::request(right, &error)),
    }
}

/// The Lease of a controller in this namespace. Whoever may not look does not know of one.
pub(super) async fn lease_in(
    reach: &Reach,
    namespace: &str,
    name: &str,
) -> Result<Option<LeaseFacts>, Failure> {
    Ok(lease(&reach.client(), namespace, name).await?.unwrap_or_default())
}

async fn definitions(client: &Client) -> Result<Seen<Definitions>, Failure> {
    let mut ours = Vec::new();
    for wanted in windlass_api::crds() {
        let name = wanted.metadata.name.clone().unwrap_or_default();
        match definition(client, &name).await? {
            Ok(found) => ours.push(Definition { wanted, found }),
            Err(refused) => return Ok(Err(refused)),
        }
    }
    let argos = definition(client, ARGO_ROLLOUTS).await?;
    Ok(argos.map(|found| Definitions { ours, argo_rollouts: found.is_some() }))
}

async fn definition(client: &Client, name: &str) -> Result<Seen<Option<CustomResourceDefinition>>, Failure> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    seen(verb_on::<CustomResourceDefinition>("get", None), answer(api.get_opt(name)).await)
}

async fn policies(client: &Client) -> Result<Seen<PolicyFacts>, Failure> {
    let right = "list the admission policies and their bindings (admissionregistration.k8s.io)".to_owned();
    let found = seen(right.clone(), answer(Policies::read(client)).await)?;
    Ok(found.and_then(|found| match found.known() {
        Known::Unreadable => Err(NotAllowed(right)),
        known @ Known::Installed(_) => Ok(PolicyFacts { known, mutating_served: found.mutating_served() }),
    }))
}

/// What the controller may do, by asking the server about each right.
async fn rights(client: &Client, asked: &Asked) -> Result<Seen<RightsFacts>, Failure> {
    match lacking(client, asked).await? {
        Ok(lacking) => {
            let everywhere = Asked { namespace: None, ..asked.clone() };
            let review = review(&RIGHTS[0], "list", &everywhere);
            let may = answer(Api::all(client.clone()).create(&PostParams::default(), &review)).await;
            let may = seen(verb_on::<SubjectAccessReview>("create", None), may)?;
            Ok(may.map(|it: SubjectAccessReview| RightsFacts { lacking, everywhere: is_allowed(&it) }))
        }
        Err(refused) => Ok(Err(refused)),
    }
}

fn is_allowed(review: &SubjectAccessReview) -> bool {
    review.status.as_ref().is_some_and(|status| status.allowed)
}

async fn lacking(client: &Client, asked: &Asked) -> Result<Seen<Vec<Lacking>>, Failure> {
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let all = || RIGHTS.iter().chain([&SECRETS]);
    let each = all().flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb)));
    let reviews = each.map(|(right, verb)| {
        let (api, review) = (api.clone(), review(right, verb, asked));
        async move {
            let reviewed = answer(api.create(&PostParams::default(), &review)).await?;
            Ok((right, verb, is_allowed(&reviewed)))
        }
    });
    let reviewed: kube::Result<Vec<(&Right, &'static str, bool)>> =
        stream::iter(reviews.collect::<Vec<_>>()).buffered(AT_ONCE).try_collect().await;
    let reviewed = seen(verb_on::<SubjectAccessReview>("create", None), reviewed)?;
    Ok(reviewed.map(|reviewed| {
        let lacks = |right: &Right| {
            let of_this = reviewed.iter().filter(|(other, _, allowed)| *other == right && !allowed);
            let verbs: Vec<&'static str> = of_this.map(|(_, verb, _)| *verb).collect();
            (!verbs.is_empty()).then_some(Lacking { right: *right, verbs })
        };
        all().filter_map(lacks).collect()
    }))
}

fn review(right: &Right, verb: &str, asked: &Asked) -> SubjectAccessReview {
    let (namespace, name) = match right.place {
        Place::Served => (asked.namespace.clone(), None),
        Place::Cluster => (None, None),
        Place::LeaseNamespace => (Some(asked.lease_namespace.clone()), None),
        Place::Lease => (Some(asked.lease_namespace.clone()), Some(asked.lease.clone())),
    };
    let attributes = ResourceAttributes {
        group: Some(right.group.to_owned()),
        resource: Some(right.resource.to_owned()),
        subresource: right.subresource.map(str::to_owned),
        verb: Some(verb.to_owned()),
        namespace,
        name,
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(asked.identity.clone()),
        groups: Some(groups(&asked.identity)),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

/// The groups that the server puts a user in by itself: rights may be given to them.
fn groups(identity: &str) -> Vec<String> {
    let account = identity.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let accounts = account.map(|(namespace, _)| {
        ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
    });
    accounts.into_iter().flatten().chain(["system:authenticated".to_owned()]).collect()
}

async fn lease(client: &Client, namespace: &str, name: &str) -> Result<Seen<Option<LeaseFacts>>, Failure> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let right = verb_on::<Lease>("get", Some(namespace));
    let found = seen(right, answer(api.get_opt(name)).await)?;
    Ok(found.map(|lease| lease.as_ref().map(LeaseFacts::from)))
}

/// A server that does not know rollouts has none.
async fn rollouts<F>(client: &Client, namespace: Option<&str>) -> Result<Seen<Vec<F>>, Failure>
where
    F: for<'a> From<&'a RolloutPlugin>,
{
    match pages(client, namespace).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Ok(Vec::new())),
        listed => seen(listing::<RolloutPlugin>(namespace), listed),
    }
}

/// All objects of a kind, reduced to what matters.
async fn all<K, F>(client: &Client, namespace: Option<&str>) -> Result<Seen<Vec<F>>, Failure>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    F: for<'a> From<&'a K>,
{
    seen(listing::<K>(namespace), pages(client, namespace).await)
}

async fn pages<K, F>(client: &Client, namespace: Option<&str>) -> kube::Result<Vec<F>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    F: for<'a> From<&'a K>,
{
    let api: Api<K> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let mut kept = Vec::new();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let listed = answer(api.list(&page)).await?;
        kept.extend(listed.items.iter().map(F::from));
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(kept),
        }
    }
}

fn listing<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>>(namespace: Option<&str>) -> String {
    let place =
        namespace.map_or("in all namespaces".to_owned(), |namespace| format!("in namespace {namespace}"));
    format!("list {} {place}", title::<K>())
}

/// `get leases.coordination.k8s.io in namespace windlass`.
fn verb_on<K: Resource<DynamicType = ()>>(verb: &str, namespace: Option<&str>) -> String {
    let place = namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
    format!("{verb} {}{place}", title::<K>())
}

fn title<K: Resource<DynamicType = ()>>() -> String {
    let (group, plural) = (K::group(&()), K::plural(&()));
    if group.is_empty() { plural.into_owned() } else { format!("{plural}.{group}") }
}
