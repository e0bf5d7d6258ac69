//! Plays a script on the real control plane: the same requests, the same conditions, and real time.

use std::time::Duration;

use axum::http::{Method, Request};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use windlass_bed::{World, found_within};
use windlass_sim::actors::Act;
use windlass_sim::script::{Behaviour, Condition, Deed, Line, Script};
use windlass_sim::start::Start;
use windlass_sim::{Checkpoint, Deletion, Part, Patch, Resource, Trace, deed, holds};

use crate::mirror::Mirror;

/// How long a line may take; generous, because others are busy on the same machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Nothing has changed for so long: nothing will. Texts are stored a second late.
const QUIET: Duration = Duration::from_secs(3);

/// What came of a script.
pub(crate) struct Played {
    pub(crate) trace: Trace,
    /// What requests were refused with.
    pub(crate) refusals: Vec<String>,
    /// The line that never came true, if there was one.
    pub(crate) stuck: Option<String>,
}

struct Player<'a> {
    client: Client,
    start: Start,
    mirror: Mirror,
    world: &'a World,
    rests: Vec<Checkpoint>,
    refusals: Vec<String>,
}

/// Plays a script in a world of its own.
pub(crate) async fn play(world: &World, script: &Script) -> Played {
    let start = Start::from(&script.given).within(&world.namespace);
    let mirror = Mirror::start(&world.client(), &world.namespace).await;
    let (rests, refusals) = (Vec::new(), Vec::new());
    let mut player = Player { client: world.client(), start, mirror, world, rests, refusals };
    let stuck = player.play(&script.lines).await.err();
    let trace = player.mirror.with(|store| Trace::of(store, &player.rests));
    Played { trace, refusals: player.refusals, stuck }
}

impl Player<'_> {
    async fn play(&mut self, lines: &[Line]) -> Result<(), String> {
        for (resource, object) in self.start.own() {
            send(&self.client, &Act::Create(resource, object)).await?;
            // The rollout comes when the set is known: which of two watches is first is nobody's promise.
            let pods_ready = self.start.pods_ready();
            self.wait(&pods_ready).await?;
        }
        let ready = self.start.ready();
        self.wait(&ready).await?;
        for line in lines {
            match line {
                Line::Wait(condition) => self.wait(condition).await?,
                Line::Pass(time) => sleep(*time).await,
                Line::Do(deed) => self.deed(deed).await?,
                Line::Break(fault) => return Err(format!("`{fault}` is the simulator's")),
            }
        }
        Ok(())
    }

    async fn wait(&mut self, condition: &Condition) -> Result<(), String> {
        let began = Instant::now();
        let is_quiet = *condition == Condition::Quiet;
        let is_so = async || {
            let so = if is_quiet {
                self.mirror.quiet_for().min(began.elapsed()) >= QUIET
            } else {
                self.mirror.with(|store| holds(condition, Timestamp::now(), store))
            };
            so.then_some(())
        };
        if found_within(PATIENCE, is_so).await.is_none() {
            return Err(format!("`wait {condition}` never came"));
        }
        if is_quiet {
            self.rests.push(self.mirror.with(Checkpoint::of));
        }
        Ok(())
    }

    async fn deed(&mut self, deed: &Deed) -> Result<(), String> {
        let mut acts = self.mirror.with(|store| deed::acts(deed, &self.start, store));
        if let Deed::Pod(pod, Behaviour::Fail) = deed {
            acts.push(self.failed(pod)?);
        }
        let mut refused = false;
        for act in &acts {
            if let Err(refusal) = send(&self.client, act).await {
                refused = true;
                self.refusals.push(refusal.replace(&self.world.namespace, "default"));
            }
        }
        // As in the simulator: the refusal says what to write as well, and a person does so.
        if let (Deed::Image(image), true) = (deed, refused) {
            send(&self.client, &deed::held_image(image, &self.start)).await?;
        }
        Ok(())
    }

    /// What a kubelet reports of a pod that it evicts.
    fn failed(&self, pod: &str) -> Result<Act, String> {
        let key = self.start.pod_key(pod);
        let there = self.mirror.with(|store| store.get(Resource::Pods, &key).cloned());
        let there = there.ok_or_else(|| format!("there is no pod {pod}"))?;
        let mut conditions = there["status"]["conditions"].as_array().cloned().unwrap_or_default();
        for condition in &mut conditions {
            if condition["type"] == "Ready" || condition["type"] == "ContainersReady" {
                condition["status"] = json!("False");
            }
        }
        let status = json!({"phase": "Failed", "reason": "Evicted", "conditions": conditions});
        Ok(Act::Patch(Resource::Pods, key, Part::Status, Patch::Merge(json!({"status": status}))))
    }
}

/// Sends a request; a refusal in the server's words.
async fn send(client: &Client, act: &Act) -> Result<(), String> {
    let response = client.send(request(act).map(Body::from)).await.map_err(|error| error.to_string())?;
    let code = response.status();
    let body = response.into_body().collect_bytes().await.map_err(|error| error.to_string())?;
    if code.is_success() {
        return Ok(());
    }
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    Err(status["message"].as_str().unwrap_or("no message").to_owned())
}

fn request(act: &Act) -> Request<Vec<u8>> {
    let build = |method: Method, path: String, content: &str, body: Value| {
        Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() })
            .unwrap()
    };
    let of = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let space = |object: &Value| object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    match act {
        Act::Create(resource, object) => {
            build(Method::POST, path(*resource, &space(object), "", ""), JSON, object.clone())
        }
        Act::Update(resource, part, object) => {
            let path = path(*resource, &space(object), &of(object), subresource(*part));
            build(Method::PUT, path, JSON, object.clone())
        }
        Act::Patch(resource, key, part, patch) => {
            let address = path(*resource, &key.namespace, &key.name, subresource(*part));
            let (content, body) = match patch {
                Patch::Merge(body) => ("application/merge-patch+json", body.clone()),
                Patch::Strategic(body) => ("application/strategic-merge-patch+json", body.clone()),
                Patch::Json(patch) => ("application/json-patch+json", json!(patch)),
                Patch::Apply(apply) => ("application/apply-patch+yaml", apply.wanted.clone()),
            };
            build(Method::PATCH, address, content, body)
        }
        Act::Delete(resource, key, deletion) => {
            assert_eq!(*deletion, Deletion::default(), "people delete without preconditions");
            build(Method::DELETE, path(*resource, &key.namespace, &key.name, ""), JSON, Value::Null)
        }
        Act::Evict(key) => {
            let eviction = json!({
                "apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": key.name, "namespace": key.namespace},
            });
            build(Method::POST, path(Resource::Pods, &key.namespace, &key.name, "/eviction"), JSON, eviction)
        }
    }
}

const JSON: &str = "application/json";

fn subresource(part: Part) -> &'static str {
    match part {
        Part::Whole => "",
        Part::Status => "/status",
        Part::Scale => "/scale",
        Part::Finalizers => "/finalize",
    }
}

fn path(resource: Resource, namespace: &str, name: &str, subresource: &str) -> String {
    let root = if resource.group().is_empty() { "/api" } else { "/apis" };
    let plural = resource.plural();
    let place = format!("{root}/{}/namespaces/{namespace}/{plural}", resource.api_version());
    let object = if name.is_empty() { String::new() } else { format!("/{name}") };
    format!("{place}{object}{subresource}")
}
