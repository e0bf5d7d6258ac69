//! The kubelets of all nodes: they start pods, report on them, and end them. What a pod does is picked by the tag of its
//! image, as with the kwok stages of the testbed, or ordered by fate.

mod course;
mod stages;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::node_lifecycle::with_condition;
use super::scheduler::node_of;
use super::{Act, Actor, Turn, View};
use crate::budget;
use crate::object::{self, Key, Object, is_going, list, moment, number, parse_moment, text};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Deletion, Part, Patch};
use crate::store::{Change, ChangeKind};

pub use course::{Misbehaviour, Order, Pace, Whom};

use course::{Course, Happening};
use stages::{Containers, Report};

/// The wait before something that was refused is tried again.
const AGAIN: SignedDuration = SignedDuration::from_secs(1);

/// The kubelets of all nodes.
#[derive(Default)]
pub struct Kubelets {
    lives: BTreeMap<Key, Life>,
    timers: BTreeSet<(Timestamp, Key)>,
    orders: BTreeMap<Key, (Whom, Misbehaviour)>,
    pace: Pace,
    lost: BTreeSet<String>,
    /// Nodes that do not say yet that they are ready.
    nodes: BTreeSet<String>,
    addresses: u32,
    sent: VecDeque<Sent>,
}

/// A pod on a node, from its start on.
struct Life {
    uid: String,
    node: String,
    report: Report,
    agenda: VecDeque<(Timestamp, Happening)>,
    lingers: SignedDuration,
    going: bool,
    /// The version of the pod that our last report made; none before the first.
    reported: Option<u64>,
}

impl Life {
    /// Somebody else has said since our last report that a ready pod is not.
    fn is_misreported(&self, pod: &Value) -> bool {
        let newer = self.reported.is_some_and(|reported| object::version(pod) > reported);
        newer && !self.going && self.report.containers == Containers::Ready && !budget::is_ready(pod)
    }
}

/// What an act was for.
enum Sent {
    Pod(Key, Happening),
    Node(String),
}

impl Kubelets {
    /// The course of the next pod of a name.
    fn course(&mut self, key: &Key, pod: &Value) -> Course {
        let Some((whom, misbehaviour)) = self.orders.get_mut(key) else {
            return Course::of_images(pod, self.pace);
        };
        let course = Course::of(*misbehaviour);
        match whom {
            Whom::Every => {}
            Whom::Living | Whom::Next(0 | 1) => drop(self.orders.remove(key)),
            Whom::Next(left) => *left -= 1,
        }
        course
    }

    fn begin(&mut self, now: Timestamp, view: &View, key: &Key, pod: &Object, node: &str) {
        self.addresses += 1;
        let [_, high, middle, low] = self.addresses.to_be_bytes();
        let host = view.get(Resource::Nodes, &Key::new("", node));
        let address = host.and_then(|host| {
            let internal = |it: &&Value| text(it, &["type"]) == Some("InternalIP");
            text(list(host, &["status", "addresses"]).iter().find(internal)?, &["address"])
        });
        let course = self.course(key, pod);
        let began = text(pod, &["status", "startTime"]).and_then(parse_moment);
        let mut agenda = course.agenda(now);
        // A pod that was started before we came goes on from where it is.
        if began.is_none() {
            agenda.insert(0, (now, Happening::Become(course.start)));
        }
        let life = Life {
            uid: object::uid(pod).to_owned(),
            node: node.to_owned(),
            report: Report {
                containers: course.start,
                started: began.unwrap_or(now),
                changed: now,
                pod_ip: format!("10.{}.{middle}.{low}", 128 | high),
                host_ip: address.unwrap_or("10.0.0.1").to_owned(),
            },
            agenda: agenda.into(),
            lingers: course.lingers,
            going: false,
            reported: None,
        };
        self.lives.insert(key.clone(), life);
        self.set_timer(key);
    }

    fn set_timer(&mut self, key: &Key) {
        if let Some(life) = self.lives.get(key)
            && let Some((when, _)) = life.agenda.front()
            && !self.lost.contains(&life.node)
        {
            self.timers.insert((*when, key.clone()));
        }
    }

    fn notice_pod(&mut self, now: Timestamp, view: &View, change: &Change) {
        let (key, pod) = (&change.key, &change.object);
        let known = self.lives.get(key).is_some_and(|life| life.uid == object::uid(pod));
        if change.kind == ChangeKind::Deleted {
            if known {
                self.lives.remove(key);
            }
            return;
        }
        let Some(node) = node_of(pod) else { return };
        if !known {
            self.begin(now, view, key, pod, node);
        }
        let over = number(pod, &["metadata", "deletionGracePeriodSeconds"]) == Some(0);
        if let Some(life) = self.lives.get_mut(key)
            && is_going(pod)
            && !life.going
        {
            life.going = true;
            let when = now.checked_add(life.lingers.max(self.pace.stop)).unwrap_or(now);
            life.agenda = if over { VecDeque::new() } else { [(when, Happening::Gone)].into() };
            self.set_timer(key);
            return;
        }
        if let Some(life) = self.lives.get_mut(key)
            && life.is_misreported(pod)
        {
            life.agenda.push_front((now, Happening::Report));
            self.set_timer(key);
        }
    }

    /// The acts of a pod's happening; none if it is not there any more.
    fn act(&mut self, now: Timestamp, view: &View, key: &Key, happening: Happening) -> Option<Act> {
        let life = self.lives.get_mut(key)?;
        let pod = view.get(Resource::Pods, key)?;
        let deletion =
            |grace_seconds| Deletion { uid: Some(life.uid.clone()), grace_seconds, ..Deletion::default() };
        match happening {
            Happening::Gone => return Some(Act::Delete(Resource::Pods, key.clone(), deletion(Some(0)))),
            Happening::Vanish => return Some(Act::Delete(Resource::Pods, key.clone(), deletion(None))),
            Happening::Become(containers) => {
                let same = (life.report.containers == Containers::Ready) == (containers == Containers::Ready);
                life.report.containers = containers;
                if !same {
                    life.report.changed = now;
                }
            }
            Happening::Report if life.is_misreported(pod) => life.report.changed = now,
            Happening::Report => return None,
        }
        let change = json!({"metadata": {"uid": life.uid}, "status": life.report.status(pod)});
        Some(Act::Patch(Resource::Pods, key.clone(), Part::Status, Patch::Merge(change)))
    }

    fn order_pod(&mut self, now: Timestamp, pod: &Key, whom: Whom, misbehaviour: Misbehaviour) {
        if whom != Whom::Living {
            self.orders.insert(pod.clone(), (whom, misbehaviour));
        }
        let living = matches!(whom, Whom::Living | Whom::Every);
        if let Some(life) = self.lives.get_mut(pod).filter(|life| living && !life.going) {
            let course = Course::of(misbehaviour);
            life.lingers = course.lingers;
            life.agenda = course.agenda(now).into();
            if course.start != life.report.containers {
                life.agenda.push_front((now, Happening::Become(course.start)));
            }
            self.set_timer(pod);
        }
    }

    fn node_back(&mut self, node: &str) {
        self.lost.remove(node);
        self.nodes.insert(node.to_owned());
        let there: Vec<Key> =
            self.lives.iter().filter(|(_, life)| life.node == node).map(|(key, _)| key.clone()).collect();
        for key in there {
            self.set_timer(&key);
        }
    }

    /// A node that is up says so.
    fn ready_node(now: Timestamp, view: &View, name: &str) -> Option<Act> {
        let key = Key::new("", name);
        let node = view.get(Resource::Nodes, &key)?;
        if budget::is_ready(node) {
            return None;
        }
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "lastHeartbeatTime": moment(now), "lastTransitionTime": moment(now),
        });
        let change = json!({"status": {"conditions": with_condition(node, ready)}});
        Some(Act::Patch(Resource::Nodes, key, Part::Status, Patch::Merge(change)))
    }

    fn node_acts(&mut self, now: Timestamp, view: &View) -> Vec<Act> {
        let mut acts = Vec::new();
        for name in std::mem::take(&mut self.nodes) {
            if !self.lost.contains(&name)
                && let Some(act) = Self::ready_node(now, view, &name)
            {
                self.sent.push_back(Sent::Node(name));
                acts.push(act);
            }
        }
        acts
    }
}

impl Actor for Kubelets {
    fn caller(&self) -> Caller {
        Caller::new("system:node:kubelets")
    }

    fn watches(&self) -> &'static [Resource] {
        &[Resource::Nodes, Resource::Pods]
    }

    fn notice(&mut self, now: Timestamp, view: &View, change: &Change) {
        match (change.resource, change.kind) {
            (Resource::Pods, _) => self.notice_pod(now, view, change),
            (Resource::Nodes, ChangeKind::Added | ChangeKind::Modified) => {
                self.nodes.insert(change.key.name.clone());
            }
            _ => {}
        }
    }

    fn turn(&mut self, now: Timestamp, view: &View) -> Turn {
        self.sent.clear();
        let mut acts = self.node_acts(now, view);
        while let Some((when, key)) = self.timers.first().cloned()
            && when <= now
        {
            self.timers.pop_first();
            let Some(life) = self.lives.get_mut(&key).filter(|life| !self.lost.contains(&life.node)) else {
                continue;
            };
            let Some(&(_, happening)) = life.agenda.front().filter(|(when, _)| *when <= now) else {
                continue;
            };
            life.agenda.pop_front();
            if let Some(act) = self.act(now, view, &key, happening) {
                acts.push(act);
                self.sent.push_back(Sent::Pod(key.clone(), happening));
            }
            self.set_timer(&key);
        }
        let wake = self.timers.first().map(|(when, _)| *when);
        Turn { acts, wake }
    }

    fn answered(&mut self, now: Timestamp, _act: &Act, answer: Result<&Object, &Refusal>) {
        let sent = self.sent.pop_front();
        let refusal = match (answer, &sent) {
            (Err(refusal), _) => refusal,
            (Ok(pod), Some(Sent::Pod(key, _))) => {
                if let Some(life) = self.lives.get_mut(key) {
                    life.reported = Some(object::version(pod));
                }
                return;
            }
            (Ok(_), _) => return,
        };
        let again = now.checked_add(AGAIN).unwrap_or(now);
        match sent {
            Some(Sent::Pod(key, happening)) if refusal.code != 404 && refusal.reason != "Conflict" => {
                if let Some(life) = self.lives.get_mut(&key) {
                    life.agenda.push_front((again, happening));
                }
                self.set_timer(&key);
            }
            Some(Sent::Node(name)) => drop(self.nodes.insert(name)),
            Some(Sent::Pod(..)) | None => {}
        }
    }

    fn ordered(&mut self, now: Timestamp, order: &Order) {
        match order {
            Order::Pod { pod, whom, misbehaviour } => self.order_pod(now, pod, *whom, *misbehaviour),
            Order::Behave(pod) => drop(self.orders.remove(pod)),
            Order::NodeLost(node) => drop(self.lost.insert(node.clone())),
            Order::NodeBack(node) => self.node_back(node),
            Order::Pace(pace) => self.pace = *pace,
        }
    }
}
