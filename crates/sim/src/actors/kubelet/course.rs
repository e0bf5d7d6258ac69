//! The course of a pod's life: what its image makes of it, and what fate has ordered.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::stages::Containers;
use crate::object::{Key, list, text};

/// What can go wrong with a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// It runs and never gets ready.
    NeverReady,
    /// Its container ends again and again.
    Crash,
    /// Its image cannot be had.
    NoImage,
    /// It gets ready after this long.
    SlowStart(SignedDuration),
    /// Once ready it stops being so and comes back, this often.
    Flap {
        /// How often.
        times: u32,
        /// How long it is ready before each time.
        up: SignedDuration,
        /// How long it is not ready each time.
        down: SignedDuration,
    },
    /// Once ready, somebody deletes it after this long.
    Vanish(SignedDuration),
    /// Once ready, its node evicts it after this long.
    Evicted(SignedDuration),
    /// It takes this long to go when it is deleted.
    Sticky(SignedDuration),
}

/// Which pod of a name an order is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The one that lives now; nobody if there is none.
    Living,
    /// The next ones of that name, this many.
    Next(u32),
    /// The one that lives now and all that come.
    Every,
}

/// Something that fate has in store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A pod misbehaves.
    Pod {
        /// Its namespace and name.
        pod: Key,
        /// Which one of that name.
        whom: Whom,
        /// How.
        misbehaviour: Misbehaviour,
    },
    /// The pods of that name behave as their images say again, from the next one on.
    Behave(Key),
    /// A node is cut off: its kubelet neither sees nor reports anything.
    NodeLost(String),
    /// The node is back.
    NodeBack(String),
    /// From now on every pod takes its time, whatever else is in store for it.
    Pace(Pace),
}

/// How long pods take that behave well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// From the start of a pod until it is ready.
    pub start: SignedDuration,
    /// From the deletion of a pod until it is gone.
    pub stop: SignedDuration,
}

/// Something that happens to a pod at a certain moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// Its containers are now like this.
    Become(Containers),
    /// What is known of it is told again.
    Report,
    /// Somebody deletes it.
    Vanish,
    /// It is over and its object can go.
    Gone,
}

/// How a pod starts and what follows, each after the one before.
pub(super) struct Course {
    pub(super) start: Containers,
    pub(super) then: Vec<(SignedDuration, Happening)>,
    pub(super) lingers: SignedDuration,
}

const READY: Happening = Happening::Become(Containers::Ready);
const NOT_READY: Happening = Happening::Become(Containers::NotReady);

impl Course {
    fn new(start: Containers) -> Self {
        Self { start, then: Vec::new(), lingers: SignedDuration::ZERO }
    }

    /// The suffix of an image picks the course; suffixes do not combine. Without one the pod takes its time.
    pub(super) fn of_images(pod: &Value, pace: Pace) -> Self {
        let images = || list(pod, &["spec", "containers"]).iter().filter_map(|it| text(it, &["image"]));
        let has = |suffix: &str| images().any(|image| image.ends_with(suffix));
        if has("-never") {
            Self::new(Containers::NotReady)
        } else if has("-slow") {
            Self::of(Misbehaviour::SlowStart(SignedDuration::from_secs(2)))
        } else if has("-slow5") {
            Self::of(Misbehaviour::SlowStart(SignedDuration::from_secs(5)))
        } else if has("-crash") {
            Self::of(Misbehaviour::Crash)
        } else if has("-pull") {
            Self::of(Misbehaviour::NoImage)
        } else if has("-flaky") {
            let then = vec![(SignedDuration::from_secs(2), NOT_READY)];
            Self { then, ..Self::new(Containers::Ready) }
        } else if has("-sticky") {
            Self::of(Misbehaviour::Sticky(SignedDuration::from_secs(3)))
        } else if pace.start.is_positive() {
            Self::of(Misbehaviour::SlowStart(pace.start))
        } else {
            Self::new(Containers::Ready)
        }
    }

    /// The course of a pod that misbehaves from its start.
    pub(super) fn of(misbehaviour: Misbehaviour) -> Self {
        let mut course = match misbehaviour {
            Misbehaviour::NeverReady | Misbehaviour::SlowStart(_) => Self::new(Containers::NotReady),
            Misbehaviour::Crash => Self::new(Containers::CrashLoop),
            Misbehaviour::NoImage => Self::new(Containers::NoImage),
            Misbehaviour::Flap { .. }
            | Misbehaviour::Vanish(_)
            | Misbehaviour::Evicted(_)
            | Misbehaviour::Sticky(_) => Self::new(Containers::Ready),
        };
        match misbehaviour {
            Misbehaviour::SlowStart(wait) => course.then.push((wait, READY)),
            Misbehaviour::Flap { times, up, down } => {
                for _ in 0..times {
                    course.then.extend([(up, NOT_READY), (down, READY)]);
                }
            }
            Misbehaviour::Vanish(wait) => course.then.push((wait, Happening::Vanish)),
            Misbehaviour::Evicted(wait) => course.then.push((wait, Happening::Become(Containers::Evicted))),
            Misbehaviour::Sticky(wait) => course.lingers = wait,
            Misbehaviour::NeverReady | Misbehaviour::Crash | Misbehaviour::NoImage => {}
        }
        course
    }

    /// What happens when, counted from the start.
    pub(super) fn agenda(&self, start: Timestamp) -> Vec<(Timestamp, Happening)> {
        let mut when = start;
        let next = |(wait, happening): &(SignedDuration, Happening)| {
            when = when.checked_add(*wait).unwrap_or(Timestamp::MAX);
            (when, *happening)
        };
        self.then.iter().map(next).collect()
    }
}
