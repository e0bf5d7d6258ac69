//! What a cluster starts with: namespaces, nodes, our definition, the policies; and a StatefulSet with its rollout, from
//! a script's few words or from a person's manifests.

use std::sync::OnceLock;

use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_workloads::{DEFAULT_IDENTITY, Holder, wanted_policies};

use crate::object::{Key, list, map_at, number, text};
use crate::readings::{GOOD, Sample, Says};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::script::{Condition, Given, GivenBackground, GivenCheck, GivenMetric, GivenStep, Overdue};
use crate::server::{Caller, Server};

/// The namespace of scripts.
pub const NAMESPACE: &str = "default";
/// The name of the set and of the rollout in scripts.
pub const NAME: &str = "web";

/// What a play starts with, besides the furniture.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The StatefulSet.
    pub set: Value,
    /// Its rollout.
    pub rollout: Value,
    /// Whether the rollout is there from the start.
    pub managed: bool,
    /// Whatever else there is.
    pub more: Vec<Belonging>,
    /// What metrics say at first.
    pub samples: Vec<(String, Sample)>,
    /// What holds a new template.
    pub holder: Holder,
    /// How many nodes.
    pub nodes: u32,
    /// The seed of delays and order; none for a cluster that is never late.
    pub seed: Option<u64>,
}

impl From<&Given> for Start {
    fn from(given: &Given) -> Self {
        Self {
            set: set(given),
            rollout: rollout(given, NAME),
            managed: given.managed,
            more: given.measured().iter().map(|it| (Resource::AnalysisTemplates, template(it))).collect(),
            samples: given
                .measured()
                .into_iter()
                .map(|it| (it.name, Sample::from(Says::Number(GOOD))))
                .collect(),
            holder: given.holder,
            nodes: given.nodes,
            seed: given.seed,
        }
    }
}

impl Start {
    /// The same in another namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        let templates = self.more.iter_mut().filter(|(resource, _)| *resource == Resource::AnalysisTemplates);
        let templates = templates.map(|(_, template)| template);
        for object in [&mut self.set, &mut self.rollout].into_iter().chain(templates) {
            map_at(object, &["metadata"]).insert("namespace".to_owned(), json!(namespace));
        }
        self
    }

    /// The set and its rollout, as they are made.
    pub fn own(&self) -> Vec<Belonging> {
        let rollout = self.managed.then(|| (Resource::RolloutPlugins, self.rollout.clone()));
        [(Resource::StatefulSets, self.set.clone())].into_iter().chain(rollout).collect()
    }

    /// What is waited for before the first line.
    pub fn ready(&self) -> Condition {
        if self.managed { Condition::Phase("Healthy".to_owned()) } else { self.pods_ready() }
    }

    /// The set has all its pods.
    pub fn pods_ready(&self) -> Condition {
        let pods = number(&self.set, &["spec", "replicas"]);
        Condition::Ready(pods.and_then(|pods| u32::try_from(pods).ok()).unwrap_or(1))
    }

    /// The set, by namespace and name.
    pub fn set_key(&self) -> Key {
        Key::of(&self.set)
    }

    /// The rollout, by namespace and name.
    pub fn rollout_key(&self) -> Key {
        Key::of(&self.rollout)
    }

    /// The container whose image changes: the first.
    pub fn container(&self) -> &str {
        self.of_the_first_container("name")
    }

    /// Its image.
    pub fn image(&self) -> &str {
        self.of_the_first_container("image")
    }

    fn of_the_first_container(&self, field: &str) -> &str {
        let first = list(&self.set, &["spec", "template", "spec", "containers"]).first();
        first.and_then(|container| text(container, &[field])).unwrap_or_default()
    }

    /// A template of the start, by its name.
    pub fn template(&self, name: &str) -> Option<&Value> {
        let mut templates = self.more.iter().filter(|(resource, _)| *resource == Resource::AnalysisTemplates);
        templates.find(|(_, it)| text(it, &["metadata", "name"]) == Some(name)).map(|(_, template)| template)
    }

    /// A pod of the set, by its name.
    pub fn pod_key(&self, pod: &str) -> Key {
        Key::new(self.set_key().namespace, pod)
    }
}

/// An object and where it belongs.
pub type Belonging = (Resource, Value);

/// What every cluster has: namespaces, nodes, our definition.
pub fn furniture(nodes: u32) -> Vec<Belonging> {
    let namespaces = ["default", "kube-system", "windlass"].map(|name| {
        let object = json!({"metadata": {"name": name}, "status": {"phase": "Active"}});
        (Resource::Namespaces, object)
    });
    let nodes = (1..=nodes).map(|number| (Resource::Nodes, node(&format!("node-{number}"))));
    let definitions = definitions().iter().map(|object| (Resource::Definitions, object.clone()));
    namespaces.into_iter().chain(nodes).chain(definitions).collect()
}

/// Our definitions. They are made once: thousands of plays begin with them, and their schemas are large.
fn definitions() -> &'static [Value] {
    static DEFINITIONS: OnceLock<Vec<Value>> = OnceLock::new();
    let made = || windlass_api::crds().into_iter().filter_map(|it| serde_json::to_value(it).ok()).collect();
    DEFINITIONS.get_or_init(made)
}

/// A server that has all of that, and the policies.
pub fn furnished(now: Timestamp, nodes: u32, holder: Holder) -> Result<Server, Refusal> {
    let mut server = Server::default();
    let admin = Caller::new("admin");
    for (resource, object) in furniture(nodes).into_iter().chain(policies(holder)) {
        server.create(now, &admin, resource, object)?;
    }
    Ok(server)
}

fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
    })
}

/// The admission policies.
pub fn policies(holder: Holder) -> Vec<Belonging> {
    wanted_policies(holder, DEFAULT_IDENTITY)
        .into_iter()
        .filter_map(|policy| {
            let resource = Resource::of_kind("admissionregistration.k8s.io", &policy.kind)?;
            Some((resource, json!({"metadata": {"name": policy.name}, "spec": policy.spec})))
        })
        .collect()
}

/// The set of a script.
pub fn set(given: &Given) -> Value {
    let policy = if given.parallel { "Parallel" } else { "OrderedReady" };
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"app": NAME}},
        "spec": {
            "replicas": given.pods,
            "serviceName": NAME,
            "podManagementPolicy": policy,
            "minReadySeconds": given.min_ready.as_secs(),
            "selector": {"matchLabels": {"app": NAME}},
            "template": {
                "metadata": {"labels": {"app": NAME}},
                "spec": {"containers": [{"name": "app", "image": given.image}]},
            },
        },
    });
    if given.first_ordinal > 0 {
        set["spec"]["ordinals"] = json!({"start": given.first_ordinal});
    }
    if given.on_delete {
        set["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    }
    set
}

/// The rollout of a script.
pub fn rollout(given: &Given, name: &str) -> Value {
    let mut rollout = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutPlugin",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": NAME},
            "plugin": {"name": "statefulset"},
            "strategy": {"canary": {"steps": steps(&given.steps)}},
        },
    });
    if let Some(background) = &given.background {
        rollout["spec"]["strategy"]["canary"]["analysis"] = self::background(background);
    }
    if let Some((good, other)) = given.kept {
        rollout["spec"]["analysis"] =
            json!({"successfulRunHistoryLimit": good, "unsuccessfulRunHistoryLimit": other});
    }
    if let Some((limit, overdue)) = given.deadline {
        rollout["spec"]["plugin"]["config"] =
            json!({"timeoutSeconds": limit.as_secs(), "timeoutAbort": overdue == Overdue::Aborted});
    }
    rollout
}

/// Steps as a rollout spells them.
pub fn steps(steps: &[GivenStep]) -> Value {
    steps
        .iter()
        .map(|step| match step {
            GivenStep::Weight(weight) => json!({"setWeight": weight}),
            GivenStep::Pause => json!({"pause": {}}),
            GivenStep::PauseFor(time) => json!({"pause": {"duration": format!("{}s", time.as_secs())}}),
            GivenStep::Check(check) => json!({"analysis": analysis(check)}),
        })
        .collect()
}

/// A check beside the steps, as a rollout spells it.
pub fn background(background: &GivenBackground) -> Value {
    let mut analysis = analysis(&background.check);
    analysis["startingStep"] = json!(background.from);
    analysis
}

fn analysis(check: &GivenCheck) -> Value {
    let mut analysis = json!({"templates": [{"templateName": check.metric}]});
    if let Some(policy) = check.on_error {
        analysis["onError"] = json!(policy.as_str());
    }
    analysis
}

/// The template of a metric. Nobody asks its provider: what it says is a line of the script.
fn template(metric: &GivenMetric) -> Value {
    let seconds = |time: std::time::Duration| format!("{}ms", time.as_millis());
    let mut measured = json!({
        "name": metric.name,
        "interval": seconds(metric.interval),
        "initialDelay": seconds(metric.delay),
        "failureLimit": metric.failures,
        "inconclusiveLimit": metric.inconclusive,
        "consecutiveErrorLimit": metric.errors,
        "successCondition": metric.success,
        "provider": {"web": {"url": "http://metrics.invalid/", "jsonPath": "{$.value}"}},
    });
    if let Some(count) = metric.count {
        measured["count"] = json!(count);
    }
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate",
        "metadata": {"name": metric.name, "namespace": NAMESPACE},
        "spec": {"metrics": [measured]},
    })
}
