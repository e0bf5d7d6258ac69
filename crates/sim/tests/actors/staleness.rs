//! The StatefulSet controller with knowledge that comes late, and with writes that are refused.

use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_sim::actors::{Act, Scheduler, StatefulSets};
use windlass_sim::cluster::Seat;
use windlass_sim::start::furnished;
use windlass_sim::{Deletion, Key, Part, Patch, Refusal, Resource, Server};
use windlass_workloads::Holder;

use crate::stage::{START, Stage, person, set, web};

/// The controller alone with a server, told of what is stored only as far as a test says.
struct Alone {
    server: Server,
    seat: Seat,
    now: Timestamp,
    told: u64,
}

impl Alone {
    fn new(set: Value) -> Self {
        let mut server = Server::default();
        let now = START.parse().unwrap();
        let namespace = json!({"metadata": {"name": "default"}});
        server.create(now, &person(), Resource::Namespaces, namespace).unwrap();
        server.create(now, &person(), Resource::StatefulSets, set).unwrap();
        Self { server, seat: Seat::new(Box::new(StatefulSets::new(0))), now, told: 0 }
    }

    /// Tells everything about these resources that is new.
    fn tell(&mut self, resources: &[Resource]) {
        let changes: Vec<_> = self.server.store().since(self.told).unwrap().cloned().collect();
        for change in changes.iter().filter(|it| resources.contains(&it.resource)) {
            self.seat.learn(self.now, change);
        }
    }

    fn tell_all(&mut self) {
        self.tell(self.seat.watches());
        self.told = self.server.store().revision();
    }

    fn send(&mut self, act: &Act) -> Result<(), Refusal> {
        let answer = act.send(self.now, &self.seat.caller(), &mut self.server);
        self.seat.answered(self.now, act, answer.as_ref());
        answer.map(drop)
    }

    /// Turns until it has nothing more to do.
    fn turns(&mut self) -> Vec<Act> {
        let mut all = Vec::new();
        loop {
            let acts = self.seat.act(self.now);
            if acts.is_empty() {
                return all;
            }
            for act in acts {
                self.send(&act).unwrap();
                all.push(act);
            }
        }
    }
}

#[test]
fn it_does_not_look_again_before_it_has_seen_its_own_writes() {
    let mut alone = Alone::new(set(2, "a", json!({})));
    alone.tell_all();
    let acts = alone.turns();
    assert_eq!(acts.len(), 3, "a revision, a pod and the status: {acts:?}");
    alone.tell(&[Resource::StatefulSets]);
    assert_eq!(alone.turns(), [], "the pod is not seen yet: it would be made again");
    let wait = alone.seat.wants_turn(alone.now).unwrap().duration_since(alone.now);
    assert_eq!(wait.as_millis(), 5);
    alone.tell_all();
    let acts = alone.turns();
    assert!(matches!(&acts[..], [Act::Update(Resource::StatefulSets, Part::Status, _)]), "{acts:?}");
}

#[test]
fn a_revision_that_it_made_and_has_not_seen_is_taken_as_it_is() {
    let mut alone = Alone::new(set(1, "a", json!({})));
    alone.tell_all();
    alone.turns();
    alone.tell(&[Resource::StatefulSets, Resource::Pods]);
    let act = alone.seat.act(alone.now).remove(0);
    assert!(matches!(&act, Act::Create(Resource::Revisions, _)), "{act:?}");
    assert_eq!(alone.send(&act).unwrap_err().reason, "AlreadyExists");
    let acts = alone.turns();
    assert!(matches!(&acts[..], [Act::Update(Resource::StatefulSets, Part::Status, _)]), "{acts:?}");
}

#[test]
fn a_status_that_rests_on_an_old_version_is_sent_again_as_it_was() {
    let mut alone = Alone::new(set(1, "a", json!({})));
    alone.tell_all();
    for _ in 0..2 {
        let act = alone.seat.act(alone.now).remove(0);
        alone.send(&act).unwrap();
    }
    let label = Patch::Merge(json!({"metadata": {"labels": {"touched": "true"}}}));
    alone.server.patch(alone.now, &person(), Resource::StatefulSets, &web(), Part::Whole, &label).unwrap();
    let status = alone.seat.act(alone.now).remove(0);
    assert_eq!(alone.send(&status).unwrap_err().reason, "Conflict");
    alone.tell(&[Resource::StatefulSets]);
    assert_eq!(alone.seat.act(alone.now), [], "it waits a moment");
    alone.now = alone.seat.wants_turn(alone.now).unwrap();
    let again = alone.seat.act(alone.now).remove(0);
    let (Act::Update(_, _, status), Act::Update(_, _, again_status)) = (&status, &again) else {
        unreachable!("{status:?} {again:?}")
    };
    assert_eq!(status["status"], again_status["status"]);
    alone.send(&again).unwrap();
}

#[test]
fn a_pod_that_was_replaced_meanwhile_is_not_placed_over_and_over() {
    let now = START.parse().unwrap();
    let server = furnished(now, 1, Holder::Policy).unwrap();
    let mut alone = Alone { server, seat: Seat::new(Box::new(Scheduler::default())), now, told: 0 };
    let pod = json!({
        "metadata": {"name": "web-0", "namespace": "default"},
        "spec": {"containers": [{"name": "app", "image": "app:v1"}]},
    });
    alone.server.create(now, &person(), Resource::Pods, pod.clone()).unwrap();
    alone.tell_all();
    let at_once = Deletion { grace_seconds: Some(0), ..Deletion::default() };
    let key = Key::new("default", "web-0");
    alone.server.delete(now, &person(), Resource::Pods, &key, &at_once).unwrap();
    alone.server.create(now, &person(), Resource::Pods, pod).unwrap();
    let act = alone.seat.act(now).remove(0);
    assert_eq!(alone.send(&act).unwrap_err().reason, "Invalid");
    assert_eq!(alone.turns(), [], "it knows of no other pod yet");
    alone.tell_all();
    assert_eq!(alone.turns().len(), 1);
}

#[test]
fn a_count_below_zero_is_refused_by_the_server_and_mended_by_the_next_look() {
    // No pod is current: web-0 is of b while c comes.
    let mut stage = Stage::bare();
    stage.create(Resource::StatefulSets, set(2, "a", json!({})));
    stage.play();
    stage.image("b");
    stage.settle();
    stage.end(1);
    stage.settle();
    stage.ready(1);
    stage.settle();
    stage.end(0);
    stage.settle();
    assert_eq!(stage.status(), "2/1/0/2 a,b");
    stage.image("c");
    let mut alone = Alone {
        server: stage.cluster.server.clone(),
        seat: Seat::new(Box::new(StatefulSets::new(0))),
        now: stage.now(),
        told: 0,
    };
    // Nothing of it is ready below, so it is in the way in order: let it be ready.
    let ready = json!({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": START},
    ]}});
    let key = crate::stage::pod(0);
    alone
        .server
        .patch(alone.now, &person(), Resource::Pods, &key, Part::Status, &Patch::Merge(ready))
        .unwrap();
    alone.tell_all();
    let mut sent = Vec::new();
    while let Some(act) = alone.seat.act(alone.now).pop() {
        if let Act::Update(Resource::StatefulSets, Part::Status, set) = &act {
            sent.push(set["status"]["currentReplicas"].as_i64().unwrap_or_default());
            if sent == [-1] {
                let refusal = Refusal::new(422, "Invalid", "must be greater than or equal to 0");
                alone.seat.answered(alone.now, &act, Err(&refusal));
                alone.tell_all();
                alone.now = alone.seat.wants_turn(alone.now).unwrap();
                continue;
            }
        }
        alone.send(&act).unwrap();
        alone.tell_all();
    }
    assert_eq!(sent, [-1, 0]);
}
