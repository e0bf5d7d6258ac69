//! The watches of one controller, without sockets: every change of the store is brought to it, perhaps late, perhaps
//! twice, and after a break everything is listed again. Each kind keeps its order; kinds do not wait for each other.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use windlass_controller::{News, Stepper, Watched};

use crate::chance::Chance;
use crate::resource::Resource;
use crate::store::{Change, ChangeKind, Store};

/// The longest that a change is on its way, if changes are late at all.
const LONGEST_LAG: Duration = Duration::from_secs(1);

/// The watches of one controller.
pub(super) struct Feed {
    heard: u64,
    parcels: BTreeMap<Watched, VecDeque<(Instant, Parcel)>>,
    latest: BTreeMap<Watched, Change>,
    lags: Option<Chance>,
    late: Option<(Duration, Instant)>,
}

enum Parcel {
    Everything,
    One(Change),
}

fn watched(resource: Resource) -> Option<Watched> {
    match resource {
        Resource::RolloutPlugins => Some(Watched::Rollouts),
        Resource::StatefulSets => Some(Watched::Workloads),
        Resource::Pods => Some(Watched::Pods),
        Resource::Revisions => Some(Watched::Revisions),
        Resource::AnalysisRuns => Some(Watched::AnalysisRuns),
        Resource::AnalysisTemplates => Some(Watched::Templates),
        Resource::ClusterAnalysisTemplates => Some(Watched::ClusterTemplates),
        _ => None,
    }
}

fn resource(kind: Watched) -> Resource {
    match kind {
        Watched::Rollouts => Resource::RolloutPlugins,
        Watched::Workloads => Resource::StatefulSets,
        Watched::Pods => Resource::Pods,
        Watched::Revisions => Resource::Revisions,
        Watched::AnalysisRuns => Resource::AnalysisRuns,
        Watched::Templates => Resource::AnalysisTemplates,
        Watched::ClusterTemplates => Resource::ClusterAnalysisTemplates,
    }
}

impl Feed {
    /// Watches that begin with a list.
    pub(super) fn new(store: &Store, lags: Option<Chance>) -> Self {
        let mut feed = Self {
            heard: store.revision(),
            parcels: BTreeMap::new(),
            latest: BTreeMap::new(),
            lags,
            late: None,
        };
        feed.list_again();
        feed
    }

    /// What was on its way is lost; everything is listed.
    pub(super) fn list_again(&mut self) {
        for kind in Watched::ALL {
            let due = Instant::now() + self.lag();
            self.parcels.insert(kind, VecDeque::from([(due, Parcel::Everything)]));
        }
    }

    /// The latest change of each kind comes once more.
    pub(super) fn repeat(&mut self) {
        let latest: Vec<(Watched, Change)> =
            self.latest.iter().map(|(kind, change)| (*kind, change.clone())).collect();
        for (kind, change) in latest {
            let due = Instant::now() + self.lag();
            self.put(kind, due, Parcel::One(change));
        }
    }

    /// Changes are late by at least this much, until then.
    pub(super) fn be_late(&mut self, by: Duration, until: Instant) {
        self.late = Some((by, until));
    }

    /// Nothing is late any more.
    pub(super) fn be_prompt(&mut self) {
        (self.lags, self.late) = (None, None);
    }

    fn lag(&mut self) -> Duration {
        self.late = self.late.filter(|(_, until)| *until > Instant::now());
        let late = self.late.map_or(Duration::ZERO, |(by, _)| by);
        self.lags.as_mut().map_or(Duration::ZERO, |lags| lags.lag(LONGEST_LAG)).max(late)
    }

    fn put(&mut self, kind: Watched, due: Instant, parcel: Parcel) {
        let parcels = self.parcels.entry(kind).or_default();
        let due = parcels.back().map_or(due, |(before, _)| due.max(*before));
        parcels.push_back((due, parcel));
    }

    /// Takes note of what was written.
    pub(super) fn collect(&mut self, store: &Store) {
        if self.heard == store.revision() {
            return;
        }
        let changes: Vec<Change> = if let Some(changes) = store.since(self.heard) {
            changes.filter(|it| watched(it.resource).is_some()).cloned().collect()
        } else {
            self.list_again();
            Vec::new()
        };
        self.heard = store.revision();
        for change in changes {
            let Some(kind) = watched(change.resource) else { continue };
            let due = Instant::now() + self.lag();
            self.latest.insert(kind, change.clone());
            self.put(kind, due, Parcel::One(change));
        }
    }

    /// When the next parcel is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.parcels.values().filter_map(|parcels| parcels.front().map(|(due, _)| *due)).min()
    }

    /// Hands over what is due.
    pub(super) fn deliver(&mut self, store: &Store, stepper: &Stepper) {
        let now = Instant::now();
        for (kind, parcels) in &mut self.parcels {
            while let Some((due, _)) = parcels.front()
                && *due <= now
                && let Some((_, parcel)) = parcels.pop_front()
            {
                match parcel {
                    Parcel::Everything => {
                        let all: Vec<&Value> = store.all(resource(*kind)).map(|(_, it)| &**it).collect();
                        stepper.hear(*kind, &News::Listed(all));
                    }
                    Parcel::One(change) if change.kind == ChangeKind::Deleted => {
                        stepper.hear(*kind, &News::Gone(&change.object));
                    }
                    Parcel::One(change) => stepper.hear(*kind, &News::Changed(&change.object)),
                }
            }
        }
    }
}
