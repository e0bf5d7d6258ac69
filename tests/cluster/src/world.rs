//! One test's world: its namespace, its controller, and what a person does and sees in it.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use windlass_api::rollout_plugin::{RolloutPlugin, RolloutPluginStatus};

use crate::accounts::{NAMESPACE_RULES, lease_rules, role};
use crate::bed::{User, bed, connect, run, windlass_command};
use crate::controller::{Controller, Launch};
use crate::record::Record;
use crate::wait::{asked, until};
use windlass_workloads::{HOLD, Holder};

/// One test's world.
pub struct World {
    /// Its namespace.
    pub namespace: String,
    /// The controller, while it runs.
    pub controller: Option<Controller>,
    client: Client,
}

/// Runs a test in a world of its own; when it fails, what was there is printed.
pub async fn test(name: &str, body: impl AsyncFnOnce(&mut World)) {
    test_without_controller(name, async |world| {
        world.start_controller();
        body(world).await;
    })
    .await;
}

/// The same for a test that starts its controllers itself.
pub async fn test_without_controller(name: &str, body: impl AsyncFnOnce(&mut World)) {
    let mut world = World::new(name).await;
    let outcome = AssertUnwindSafe(body(&mut world)).catch_unwind().await;
    if let Err(panic) = outcome {
        world.print_everything();
        world.end().await;
        resume_unwind(panic);
    }
    world.end().await;
}

impl World {
    async fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let short: String = name.replace('_', "-").chars().take(38).collect();
        let namespace = format!("{}-{}-{number}", short.trim_end_matches('-'), std::process::id());
        let client = connect(User::Admin).await;
        let metadata = ObjectMeta { name: Some(namespace.clone()), ..ObjectMeta::default() };
        let api: Api<Namespace> = Api::all(client.clone());
        api.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await.unwrap();
        Self { namespace, controller: None, client }
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The controller crashes.
    pub fn kill_controller(&mut self) {
        self.controller.take();
    }

    /// The controller comes (back) up.
    pub fn start_controller(&mut self) {
        self.controller = Some(Controller::start(&self.namespace));
    }

    /// The controller comes up under another name than its own.
    pub fn start_controller_as(&mut self, user: User) {
        self.controller = Some(Launch::new(&self.namespace).by(user).start());
    }

    /// Lets both controllers' accounts elect a leader here, by leases of these names and no others.
    pub fn allow_leases(&self, names: &[&str]) {
        let manifest = role("elections", &lease_rules(names), &["windlass", "second"]);
        self.as_admin(&["apply", "-f", "-"], &manifest);
    }

    /// Gives the narrow account what it needs in this namespace, and nothing anywhere else.
    pub fn allow_narrow(&self) {
        let rules = NAMESPACE_RULES.to_owned() + &lease_rules(&["windlass"]);
        self.as_admin(&["apply", "-f", "-"], &role("narrow", &rules, &["narrow"]));
    }

    /// Lets the controller get objects of a kind here, as a user does whose template names one.
    pub fn allow_reading(&self, group: &str, resource: &str) {
        let rules = format!("- {{apiGroups: ['{group}'], resources: [{resource}], verbs: [get]}}\n");
        self.as_admin(&["apply", "-f", "-"], &role("windlass-objects", &rules, &["windlass"]));
    }

    /// Lets the controller read this namespace, which is an object of the cluster.
    pub fn allow_reading_its_namespace(&self) {
        let namespace = &self.namespace;
        let role = format!(
            "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: reads-{namespace}}}
rules:
- {{apiGroups: [''], resources: [namespaces], resourceNames: [{namespace}], verbs: [get]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: reads-{namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-{namespace}}}
subjects: [{{kind: ServiceAccount, name: windlass, namespace: windlass}}]
"
        );
        self.as_admin(&["apply", "-f", "-"], &role);
    }

    fn as_admin(&self, arguments: &[&str], input: &str) {
        let namespace = format!("--namespace={}", self.namespace);
        let arguments: Vec<&str> =
            [namespace.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        bed().kubectl_ok(User::Admin, &arguments, input);
    }

    /// Runs kubectl in the namespace as the developer, and expects it to succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// The same with standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        let namespace = format!("--namespace={}", self.namespace);
        let arguments: Vec<&str> =
            [namespace.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        bed().kubectl_ok(User::Developer, &arguments, input)
    }

    /// The same, whatever comes of it.
    pub fn kubectl_any(&self, arguments: &[&str], input: &str) -> Output {
        let namespace = format!("--namespace={}", self.namespace);
        bed().kubectl(User::Developer, &[&[namespace.as_str()], arguments].concat(), input)
    }

    /// Runs `kubectl windlass` in the namespace as the developer.
    pub fn windlass(&self, arguments: &[&str]) -> Output {
        let mut command = windlass_command(arguments);
        command
            .arg("--namespace")
            .arg(&self.namespace)
            .arg("--kubeconfig")
            .arg(bed().kubeconfig(User::Developer));
        run(command, "")
    }

    /// Runs `kubectl windlass` and expects it to succeed.
    pub fn windlass_ok(&self, arguments: &[&str]) -> String {
        let output = self.windlass(arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "windlass {arguments:?} failed:\n{out}\n{err}");
        out.into_owned()
    }

    /// Applies a manifest as the developer.
    pub fn apply(&self, manifest: &str) {
        self.kubectl_with(&["apply", "-f", "-"], manifest);
    }

    /// Merge-patches an object as the developer.
    pub fn patch(&self, object: &str, patch: &str) {
        self.kubectl(&["patch", object, "--type=merge", "--patch", patch]);
    }

    /// Merge-patches a rollout's status as upstream's users do.
    pub fn patch_status(&self, rollout: &str, patch: &str) {
        self.kubectl(&["patch", "rp", rollout, "--subresource=status", "--type=merge", "--patch", patch]);
    }

    /// Changes the image of a set. Where no mutating policy holds it, the write says itself that it is to be held: in
    /// the middle of a run it would be refused otherwise.
    pub fn set_image(&self, set: &str, image: &str) {
        let label = r"jsonpath={.metadata.labels.windlass\.sh/rollout}";
        let is_managed = || !self.kubectl(&["get", "sts", set, "-o", label]).is_empty();
        match bed().hold {
            Holder::Partition if is_managed() => {
                let patch = format!(
                    r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"app","image":"{image}"}}]}}}},
                    "updateStrategy":{{"rollingUpdate":{{"partition":{HOLD}}}}}}}}}"#
                );
                self.kubectl(&["patch", &format!("sts/{set}"), "--type=strategic", "--patch", &patch]);
            }
            Holder::Policy | Holder::Partition => {
                self.kubectl(&["set", "image", &format!("sts/{set}"), &format!("app={image}")]);
            }
        }
    }

    /// Runs kubectl as the developer, expects it to be refused, and gives the words of the refusal.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let namespace = format!("--namespace={}", self.namespace);
        let arguments: Vec<&str> =
            [namespace.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        let output = bed().kubectl(User::Developer, &arguments, "");
        assert!(!output.status.success(), "kubectl {arguments:?} was not refused");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Where the partition is between two runs.
    pub fn rest(&self) -> i32 {
        match bed().hold {
            Holder::Policy => 0,
            Holder::Partition => HOLD,
        }
    }

    /// A set and its rollout, up and Healthy.
    pub async fn healthy(&self, name: &str, replicas: i32, steps: &[&str]) {
        self.apply(&crate::manifests::stateful_set(name, replicas, "app:v1"));
        self.apply(&crate::manifests::rollout(name, steps));
        self.until_phase(name, "Healthy").await;
        self.until_label(name).await;
    }

    /// The hold guards a set from the moment its label is on.
    pub async fn until_label(&self, set: &str) {
        until("the set carries the label", async || {
            self.set(set).await.metadata.labels.filter(|labels| labels.contains_key("windlass.sh/rollout"))
        })
        .await;
    }

    /// The rollout.
    pub async fn rollout(&self, name: &str) -> RolloutPlugin {
        let api: Api<RolloutPlugin> = Api::namespaced(self.client(), &self.namespace);
        asked("the rollout", async || api.get(name).await).await
    }

    /// The rollout's status.
    pub async fn status(&self, name: &str) -> RolloutPluginStatus {
        self.rollout(name).await.status.unwrap_or_default()
    }

    /// The status of a rollout that cannot be read as one, once it has this phase.
    pub async fn until_raw_status(&self, name: &str, phase: &str) -> serde_json::Value {
        until("the rollout says so", async || {
            let text = self.kubectl(&["get", "rp", name, "-o", "json"]);
            let rollout: serde_json::Value = serde_json::from_str(&text).unwrap();
            (rollout["status"]["phase"] == phase).then(|| rollout["status"].clone())
        })
        .await
    }

    /// The set.
    pub async fn set(&self, name: &str) -> StatefulSet {
        let api: Api<StatefulSet> = Api::namespaced(self.client(), &self.namespace);
        asked("the set", async || api.get(name).await).await
    }

    /// The set's partition.
    pub async fn partition(&self, name: &str) -> i32 {
        let set = self.set(name).await;
        let rolling = set.spec.unwrap().update_strategy.and_then(|strategy| strategy.rolling_update);
        rolling.and_then(|rolling| rolling.partition).unwrap_or(0)
    }

    /// The set's current and update revision.
    pub async fn revisions(&self, name: &str) -> (String, String) {
        let status = self.set(name).await.status.unwrap();
        (status.current_revision.unwrap_or_default(), status.update_revision.unwrap_or_default())
    }

    /// The pods, by name.
    pub async fn pods(&self) -> Vec<Pod> {
        let api: Api<Pod> = Api::namespaced(self.client(), &self.namespace);
        asked("the pods", async || api.list(&ListParams::default()).await).await.items
    }

    /// Each pod's revision label, by name.
    pub async fn pod_revisions(&self) -> Vec<(String, String)> {
        let label = |pod: &Pod| pod.metadata.labels.clone()?.get("controller-revision-hash").cloned();
        self.pods()
            .await
            .iter()
            .map(|pod| (pod.metadata.name.clone().unwrap(), label(pod).unwrap_or_default()))
            .collect()
    }

    /// How many pods carry this revision.
    pub async fn count_on(&self, revision: &str) -> usize {
        self.pod_revisions().await.iter().filter(|(_, on)| on == revision).count()
    }

    /// Records what the pods do from now on.
    pub async fn record(&self) -> Record {
        Record::start(self.client(), &self.namespace).await
    }

    /// Waits until the status is as wanted.
    pub async fn until_status(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&RolloutPluginStatus) -> bool,
    ) -> RolloutPluginStatus {
        until(what, async || Some(self.status(name).await).filter(|status| wanted(status))).await
    }

    /// Waits until the rollout is in this phase.
    pub async fn until_phase(&self, name: &str, phase: &str) -> RolloutPluginStatus {
        self.until_status(name, &format!("{name} is {phase}"), |status| {
            status.phase.as_deref() == Some(phase)
        })
        .await
    }

    /// Waits until the rollout holds at the pause with this index.
    pub async fn until_paused_at(&self, name: &str, index: i32) -> RolloutPluginStatus {
        self.until_status(name, &format!("{name} holds at step {index}"), |status| {
            status.phase.as_deref() == Some("Paused") && status.current_step_index == Some(index)
        })
        .await
    }

    /// Waits until an abort has put every pod back.
    pub async fn until_reverted(&self, name: &str) -> RolloutPluginStatus {
        self.until_status(name, "everything is back", |status| {
            status.waits.iter().any(|wait| wait.reason == "Aborted")
        })
        .await
    }

    /// Waits until the rollout is Healthy and every pod is on the update revision.
    pub async fn until_completed(&self, name: &str, revision: &str) -> RolloutPluginStatus {
        self.until_status(name, &format!("{name} is Healthy on {revision}"), |status| {
            status.phase.as_deref() == Some("Healthy") && status.current_revision.as_deref() == Some(revision)
        })
        .await
    }

    /// Waits until the set's controller has given the template another revision than `stable`; answers with it.
    pub async fn until_target(&self, name: &str, stable: &str) -> String {
        until("the set has a new revision", async || {
            let (_, update) = self.revisions(name).await;
            (update != stable).then_some(update)
        })
        .await
    }

    /// The events about a rollout, oldest first: reason and text.
    pub async fn events(&self, name: &str) -> Vec<(String, String)> {
        let api: Api<Event> = Api::namespaced(self.client(), &self.namespace);
        let fields = format!("involvedObject.name={name},involvedObject.kind=RolloutPlugin");
        let about_it = ListParams::default().fields(&fields);
        let mut events = asked("the events", async || api.list(&about_it).await).await.items;
        // Their times count in whole seconds; the order in which the server stored them is exact.
        events.sort_by_key(|event| {
            event.metadata.resource_version.as_deref().and_then(|version| version.parse::<u64>().ok())
        });
        events
            .into_iter()
            .map(|event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
            .collect()
    }

    /// Waits until there is an event of this reason; answers with its text.
    pub async fn until_event(&self, name: &str, reason: &str) -> String {
        until(&format!("there is an event {reason}"), async || {
            self.events(name).await.into_iter().rev().find(|(found, _)| found == reason).map(|(_, text)| text)
        })
        .await
    }

    fn print_everything(&self) {
        eprintln!("──── objects and events of {} ────", self.namespace);
        let namespace = format!("--namespace={}", self.namespace);
        let queries: [&[&str]; 4] = [
            &["get", "rp", "-o", "yaml"],
            &["get", "sts", "-o", "yaml"],
            &["get", "pods", "-o", "wide", "--show-labels"],
            &["get", "events", "--sort-by=.metadata.creationTimestamp"],
        ];
        for query in queries {
            let arguments: Vec<&str> = query.iter().copied().chain([namespace.as_str()]).collect();
            let output = bed().kubectl(User::Admin, &arguments, "");
            eprintln!("── kubectl {}\n{}", query.join(" "), String::from_utf8_lossy(&output.stdout));
        }
        for log in self.logs() {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            eprintln!("── the log {}\n{text}", log.display());
        }
    }

    /// The logs of every controller of this world.
    fn logs(&self) -> Vec<PathBuf> {
        let prefix = format!("windlass-{}-{}", std::process::id(), self.namespace);
        let is_ours = |path: &PathBuf| {
            path.file_name().is_some_and(|name| {
                let rest = name.to_str().and_then(|name| name.strip_prefix(&prefix));
                rest.is_some_and(|rest| rest.starts_with(['-', '.']))
            })
        };
        let files = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        files.map(|file| file.path()).filter(is_ours).collect()
    }

    async fn end(&mut self) {
        self.controller.take();
        for log in self.logs() {
            std::fs::remove_file(log).ok();
        }
        let api: Api<Namespace> = Api::all(self.client());
        api.delete(&self.namespace, &DeleteParams::default()).await.ok();
    }
}
