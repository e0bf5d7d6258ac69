//! Finds out at the start what holds a new template here, and follows the admission policies, so that every rollout
//! can say whether its hold is guarded. The judgement itself is pure and lives with the policies.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::task::JoinSet;
use windlass_api::GuardNote;
use windlass_workloads::{Holder, Installed, Known, choose_holder, judge};

/// The kinds of objects that guard.
const KINDS: [(&str, &str); 4] = [
    ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    ("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
];
/// The time for all questions of a start together.
const TIME_LIMIT: Duration = Duration::from_secs(15);
/// Only our own are of interest.
const PREFIX: &str = "windlass-";

/// What holds a new template, if a person says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderChoice {
    /// What the server has.
    FindOut,
    /// This.
    Always(Holder),
}

/// What holds, and whether that is guarded.
pub(crate) struct Guard {
    hold: Holder,
    me: String,
    served: Vec<ApiResource>,
    state: RwLock<State>,
}

struct State {
    /// What is known of the policies, by kind and name; none if we may not read them.
    policies: Option<BTreeMap<(String, String), Installed>>,
    note: Arc<GuardNote>,
}

/// Our policies and bindings, as a server was found to have them.
pub struct Policies {
    installed: BTreeMap<(String, String), Installed>,
    served: Vec<ApiResource>,
    refused: Vec<&'static str>,
}

impl Policies {
    /// Lists them.
    pub async fn read(client: &Client) -> kube::Result<Self> {
        let mut found = Self { installed: BTreeMap::new(), served: Vec::new(), refused: Vec::new() };
        for (kind, plural) in KINDS {
            let group = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
            let resource = ApiResource::from_gvk_with_plural(&group, plural);
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            match api.list(&ListParams::default()).await {
                Ok(list) => {
                    found.installed.extend(list.items.iter().filter_map(|object| ours(kind, object)));
                    found.served.push(resource);
                }
                Err(kube::Error::Api(answer)) if answer.code == 404 => {}
                Err(kube::Error::Api(answer)) if answer.code == 403 => found.refused.push(plural),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// For judging them. One kind that we may not read leaves all in the dark.
    pub fn known(&self) -> Known {
        known(self.refused.is_empty().then_some(&self.installed))
    }

    /// Whether the server has mutating policies at all.
    pub fn mutating_served(&self) -> bool {
        self.served.iter().any(|resource| resource.kind == "MutatingAdmissionPolicy")
    }
}

impl Guard {
    /// Asks the server who we are and which policies it has; an answer that does not come is a failure as well.
    pub(crate) async fn find_out(client: &Client, choice: HolderChoice) -> kube::Result<Self> {
        let asked = tokio::time::timeout(TIME_LIMIT, Self::ask(client, choice)).await;
        asked.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into())))
    }

    async fn ask(client: &Client, choice: HolderChoice) -> kube::Result<Self> {
        let review: Api<SelfSubjectReview> = Api::all(client.clone());
        let me = review.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
        let me = me.status.and_then(|status| status.user_info).and_then(|user| user.username);
        let me = me.unwrap_or_default();
        let found = Policies::read(client).await?;
        let hold = match choice {
            HolderChoice::FindOut => choose_holder(&found.known()),
            HolderChoice::Always(hold) => hold,
        };
        let (served, policies) =
            if found.refused.is_empty() { (found.served, Some(found.installed)) } else { (Vec::new(), None) };
        let note = Arc::new(note(hold, &me, policies.as_ref()));
        tracing::info!(identity = me, ?hold, guarded = note.status, text = note.message, "the hold");
        Ok(Self { hold, me, served, state: RwLock::new(State { policies, note }) })
    }

    /// What holds a new template here.
    pub(crate) fn hold(&self) -> Holder {
        self.hold
    }

    /// Who we are to the server.
    pub(crate) fn me(&self) -> &str {
        &self.me
    }

    /// Whether the hold is guarded, for people.
    pub(crate) fn note(&self) -> Arc<GuardNote> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).note)
    }

    /// Takes a change of the policies in; true when the judgement is another one now.
    fn change(&self, change: impl FnOnce(&mut BTreeMap<(String, String), Installed>)) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = &mut state.policies {
            change(all);
        }
        let now = note(self.hold, &self.me, state.policies.as_ref());
        if now == *state.note {
            return false;
        }
        tracing::warn!(guarded = now.status, reason = now.reason, text = now.message, "the hold");
        state.note = Arc::new(now);
        true
    }
}

/// Follows the policies; `changed` is called when the judgement is another one.
pub(crate) fn spawn(
    parts: &mut JoinSet<&'static str>,
    client: &Client,
    guard: &Arc<Guard>,
    changed: impl Fn() + Clone + Send + Sync + 'static,
) {
    for resource in &guard.served {
        let api = Api::all_with(client.clone(), resource);
        parts.spawn(follow(resource.kind.clone(), api, Arc::clone(guard), changed.clone()));
    }
}

async fn follow(
    kind: String,
    api: Api<DynamicObject>,
    guard: Arc<Guard>,
    changed: impl Fn(),
) -> &'static str {
    let stream = watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(stream);
    let mut listed = BTreeMap::new();
    while let Some(event) = stream.next().await {
        let news = match event {
            Ok(watcher::Event::Init) => {
                listed = BTreeMap::new();
                false
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.extend(ours(&kind, &object));
                false
            }
            Ok(watcher::Event::InitDone) => guard.change(|all| {
                all.retain(|(other, _), _| *other != kind);
                all.append(&mut listed);
            }),
            Ok(watcher::Event::Apply(object)) => guard.change(|all| all.extend(ours(&kind, &object))),
            Ok(watcher::Event::Delete(object)) => guard.change(|all| {
                let name = object.metadata.name.clone().unwrap_or_default();
                all.remove(&(kind.clone(), name));
            }),
            Err(error) => {
                tracing::warn!(kind, %error, "watch failed; trying again");
                false
            }
        };
        if news {
            changed();
        }
    }
    "watch of the policies"
}

fn ours(kind: &str, object: &DynamicObject) -> Option<((String, String), Installed)> {
    let name = object.metadata.name.clone().filter(|name| name.starts_with(PREFIX))?;
    let spec = object.data.get("spec").cloned().unwrap_or_default();
    Some(((kind.to_owned(), name.clone()), Installed { kind: kind.to_owned(), name, spec }))
}

fn known(policies: Option<&BTreeMap<(String, String), Installed>>) -> Known {
    policies.map_or(Known::Unreadable, |all| Known::Installed(all.values().cloned().collect()))
}

fn note(hold: Holder, me: &str, policies: Option<&BTreeMap<(String, String), Installed>>) -> GuardNote {
    let verdict = judge(hold, me, &known(policies));
    let words = verdict.explain(hold, me);
    let message = match words.remedy {
        Some(remedy) => format!("{}; {remedy}", words.message),
        None => words.message,
    };
    GuardNote { status: verdict.status(), reason: words.reason, message }
}
