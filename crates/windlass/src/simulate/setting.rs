//! From files and flags to a play: which rollout, which change, what befalls its pods. What the flags ask for and the
//! files do not have is told before anything is played. Pure.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Container;
use serde::Serialize;
use serde_json::{Value, json};
use windlass_engine::PodName;
use windlass_sim::actors::Pace;
use windlass_sim::script::Deed;
use windlass_sim::start::Start;
use windlass_sim::{Attendance, Resource};
use windlass_workloads::Holder;

use super::metrics::Measured;
use super::story::Seconds;
use crate::cli::{Image, SimulateArguments};
use crate::failure::Failure;
use crate::files::Manifests;
use crate::kubectl::render::step_words;
use crate::plan::{Facts, Report, Subject, pairs};

/// How many nodes the cluster has.
const NODES: u32 = 3;
/// After how long a run counts as one that never ends.
pub(super) const LIMIT: Duration = Duration::from_secs(30 * 86_400);
/// What `kubectl rollout restart` writes.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";

/// A play, and what has to be known to tell of it.
pub(super) struct Setting {
    pub(super) rollout: Subject,
    pub(super) workload: Subject,
    pub(super) start: Start,
    pub(super) attendance: Attendance,
    pub(super) change: Change,
    /// The pods, in the order in which they move.
    pub(super) pods: Vec<String>,
    /// Each step in words.
    pub(super) steps: Vec<String>,
    /// How long a pod has to be ready to count.
    pub(super) probation: SignedDuration,
    pub(super) assumed: Assumed,
}

/// What the template becomes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(super) enum Change {
    /// Another image.
    Image { container: String, from: String, to: String },
    /// Nobody said what: an annotation.
    Invented { annotation: &'static str },
}

/// What nobody can know and was taken for granted.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Assumed {
    #[serde(rename = "podStartSeconds")]
    pub(super) pod_start: Seconds,
    #[serde(rename = "podStopSeconds")]
    pub(super) pod_stop: Seconds,
    #[serde(rename = "approveAfterSeconds")]
    pub(super) approve_after: Seconds,
    pub(super) seed: Option<u64>,
    pub(super) hold: &'static str,
}

impl Setting {
    pub(super) fn of(
        manifests: &Manifests,
        namespace: &str,
        arguments: &SimulateArguments,
    ) -> Result<Self, Failure> {
        let paired = pairs(manifests, namespace, arguments.name.as_deref()).map_err(Failure::Manifests)?;
        let (report, facts) = the_one(paired)?;
        let seen = facts.observe().map_err(|_| Failure::Manifests(wrong_words(&report)))?;
        let pods = seen.slots.iter().map(|slot| PodName::to_string(&slot.name)).collect::<Vec<_>>();
        let steps = step_words(&facts.rollout);
        let (change, template) = change(&facts, arguments.image.as_ref())?;
        let holder = Holder::from(arguments.hold);
        let measured = Measured { facts: &facts, manifests };
        let mut agenda = agenda(arguments, &pods)?;
        agenda.extend(measured.agenda(&arguments.metric)?);
        let pace = Pace { start: signed(arguments.pod_start), stop: signed(arguments.pod_stop) };
        Ok(Self {
            start: start(&measured, &report, holder, arguments.seed)?,
            attendance: Attendance {
                template,
                pace,
                approve_after: arguments.approve_after,
                abort_at: abort_at(arguments.abort_at, &steps)?,
                agenda,
                limit: LIMIT,
            },
            assumed: Assumed {
                pod_start: Seconds(pace.start),
                pod_stop: Seconds(pace.stop),
                approve_after: Seconds(signed(arguments.approve_after)),
                seed: arguments.seed,
                hold: match holder {
                    Holder::Policy => "policy",
                    Holder::Partition => "partition",
                },
            },
            probation: facts.probation(),
            rollout: report.rollout,
            workload: report.workload,
            change,
            pods,
            steps,
        })
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

/// The one rollout that is played, if nothing is wrong with it.
fn the_one(paired: Vec<(Report, Option<Facts>)>) -> Result<(Report, Facts), Failure> {
    if paired.len() > 1 {
        let names: Vec<&str> = paired.iter().map(|(report, _)| report.rollout.name.as_str()).collect();
        return Err(Failure::CommandLine(format!(
            "the files have {} rollouts, and one is played at a time; name it behind the files: {}",
            names.len(),
            names.join(" or ")
        )));
    }
    match paired.into_iter().next() {
        Some((report, Some(facts))) if report.wrong.is_empty() => Ok((report, facts)),
        Some((report, _)) => Err(Failure::Manifests(wrong_words(&report))),
        None => Err(Failure::Manifests("there is no RolloutPlugin in the files".to_owned())),
    }
}

/// Everything that is wrong, as `plan` tells it.
fn wrong_words(report: &Report) -> String {
    let told = report.wrong.iter().map(|problem| {
        let place = problem.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        format!("{place}{}", problem.message)
    });
    told.collect::<Vec<_>>().join("\n       ")
}

fn start(
    measured: &Measured<'_>,
    report: &Report,
    holder: Holder,
    seed: Option<u64>,
) -> Result<Start, Failure> {
    let facts = measured.facts;
    let namespace = &report.rollout.namespace;
    let mut set = facts.set.clone();
    set.status = None;
    let mut more = vec![(Resource::Namespaces, json!({"metadata": {"name": namespace}}))];
    // Every cluster has these already.
    more.retain(|_| !["default", "kube-system", "windlass"].contains(&namespace.as_str()));
    for budget in &facts.budgets {
        more.push((Resource::Budgets, placed(budget, namespace)?));
    }
    more.extend(measured.belongings(namespace));
    Ok(Start {
        set: placed(&set, namespace)?,
        rollout: placed(&facts.rollout, namespace)?,
        more,
        samples: Vec::new(),
        managed: true,
        holder,
        nodes: NODES,
        seed,
    })
}

/// An object as a server takes it, in the namespace of the rollout.
fn placed(object: &impl Serialize, namespace: &str) -> Result<Value, Failure> {
    let mut object = serde_json::to_value(object)
        .map_err(|error| Failure::Refused(format!("cannot give an object to the simulation: {error}")))?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    Ok(object)
}

/// The change, and the patch of the template that makes it.
fn change(facts: &Facts, image: Option<&Image>) -> Result<(Change, Value), Failure> {
    let Some(Image { container, image }) = image else {
        let template = json!({"metadata": {"annotations": {RESTARTED: "2026-01-01T00:00:00Z"}}});
        return Ok((Change::Invented { annotation: RESTARTED }, template));
    };
    let containers = containers(facts);
    let names = || containers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    let meant = match container {
        Some(name) => containers.iter().find(|it| it.name == *name).ok_or_else(|| {
            Failure::CommandLine(format!(
                "--image: there is no container {name}; the template has {}",
                names()
            ))
        })?,
        None if containers.len() == 1 => &containers[0],
        None => {
            return Err(Failure::CommandLine(format!(
                "--image: the template has the containers {}; say which one: --image CONTAINER={image}",
                names()
            )));
        }
    };
    let from = meant.image.clone().unwrap_or_default();
    if from == *image {
        return Err(Failure::CommandLine(format!(
            "--image: container {} has the image {image} already, so nothing would happen; name another one",
            meant.name
        )));
    }
    let template = json!({"spec": {"containers": [{"name": meant.name, "image": image}]}});
    Ok((Change::Image { container: meant.name.clone(), from, to: image.clone() }, template))
}

fn containers(facts: &Facts) -> &[Container] {
    let spec = facts.set.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    spec.map(|spec| spec.containers.as_slice()).unwrap_or_default()
}

fn abort_at(step: Option<u32>, steps: &[String]) -> Result<Option<i64>, Failure> {
    match step {
        Some(step) if usize::try_from(step).is_ok_and(|step| step > steps.len()) => {
            Err(Failure::CommandLine(format!(
                "--abort-at: there is no step {step}; the rollout has {}",
                steps.len()
            )))
        }
        step => Ok(step.map(|step| i64::from(step) - 1)),
    }
}

fn agenda(arguments: &SimulateArguments, pods: &[String]) -> Result<Vec<(Duration, Deed)>, Failure> {
    let befalls = |failing: &crate::cli::Failing| {
        if pods.contains(&failing.pod) {
            return Ok((failing.after, Deed::Pod(failing.pod.clone(), failing.behaviour)));
        }
        let known = match pods {
            [] => "no pods".to_owned(),
            [only] => format!("the pod {only}"),
            [first, .., last] => format!("the pods {first} … {last}"),
        };
        Err(Failure::CommandLine(format!("--fail: there is no pod {}; the set has {known}", failing.pod)))
    };
    arguments.fail.iter().map(befalls).collect()
}
