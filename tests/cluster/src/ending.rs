//! Where a run ended, without the times at which things happened: two runs of the same story end alike, whatever went
//! wrong on the way.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_api::analysis::AnalysisRun;

use crate::record::Record;
use crate::wait::{DEADLINE, until};
use crate::world::World;

/// Where a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Each pod's revision. Revisions are named after the template, so they are the same in every namespace.
    pub pods: Vec<(String, String)>,
    /// The set's partition.
    pub partition: i32,
    /// The set's current and update revision.
    pub revisions: (String, String),
    /// Which marks of ours the set carries; the record in the annotation tells a time.
    pub marks: Vec<&'static str>,
    /// The status, without times and orders.
    pub status: Value,
    /// Each run of an analysis: its name, how it ended, and how often it measured.
    pub analyses: Vec<(String, String, u32)>,
}

/// What happened on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deeds {
    /// The pods that went, by revision, in their order.
    pub went: BTreeMap<String, Vec<String>>,
    /// How often each event was told.
    pub events: BTreeMap<(String, String), usize>,
}

impl World {
    /// Where the run is now.
    pub async fn ending(&self, name: &str) -> Ending {
        let metadata = self.set(name).await.metadata;
        let has = |marks: &Option<BTreeMap<String, String>>, key: &str| {
            marks.as_ref().is_some_and(|marks| marks.contains_key(key))
        };
        let label = has(&metadata.labels, "windlass.sh/rollout").then_some("windlass.sh/rollout");
        let held = has(&metadata.annotations, "windlass.sh/held").then_some("windlass.sh/held");
        let mut status = serde_json::to_value(self.status(name).await).unwrap();
        take_times_out(&mut status);
        // The one that changed last stands last.
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.sort_by_key(|condition| condition["type"].to_string());
        }
        Ending {
            // Those of Jobs have no revision, and other names every time.
            pods: self.pod_revisions().await.into_iter().filter(|(_, it)| !it.is_empty()).collect(),
            partition: self.partition(name).await,
            revisions: self.revisions(name).await,
            marks: label.into_iter().chain(held).collect(),
            status,
            analyses: self.analysis_runs().await.iter().map(analysed).collect(),
        }
    }

    /// Waits until nothing has changed for a while: texts are stored a second late.
    pub async fn until_settled(&self, name: &str) -> Ending {
        const QUIET: Duration = Duration::from_secs(2);
        let mut latest = (self.ending(name).await, Instant::now());
        until("nothing changes any more", async || {
            let now = self.ending(name).await;
            if now != latest.0 {
                latest = (now, Instant::now());
            }
            (latest.1.elapsed() > QUIET).then(|| latest.0.clone())
        })
        .await
    }

    /// Waits until everything is as it was at the end of another run.
    pub async fn until_ends_as(&self, name: &str, wanted: &Ending) {
        let start = Instant::now();
        until(&format!("{name} ends as the undisturbed run"), async || {
            let now = self.ending(name).await;
            let late = start.elapsed() > DEADLINE / 2;
            assert!(!late || now == *wanted, "ended as\n{now:#?}\nand the undisturbed run as\n{wanted:#?}");
            (now == *wanted).then_some(())
        })
        .await;
    }

    /// What has happened so far.
    pub async fn deeds(&self, name: &str, record: &Record) -> Deeds {
        let mut deeds = Deeds::default();
        for revision in record.sightings().into_iter().map(|sighting| sighting.revision) {
            let went = record.went(&revision);
            if !went.is_empty() {
                deeds.went.insert(revision, went);
            }
        }
        for event in self.events(name).await {
            *deeds.events.entry(event).or_default() += 1;
        }
        deeds
    }
}

impl Deeds {
    /// What was done otherwise than in the undisturbed run: a pod that went once more, an event that was told more than
    /// once more, or not at all.
    pub fn differences(&self, undisturbed: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if self.went != undisturbed.went {
            differences.push(format!("pods went: {:?} instead of {:?}", self.went, undisturbed.went));
        }
        for (event, count) in &self.events {
            let usual = undisturbed.events.get(event).copied().unwrap_or_default();
            if *count > usual + 1 || usual == 0 {
                differences.push(format!("told {count} times instead of {usual}: {event:?}"));
            }
        }
        for event in undisturbed.events.keys().filter(|event| !self.events.contains_key(*event)) {
            differences.push(format!("never told: {event:?}"));
        }
        differences
    }
}

fn analysed(run: &AnalysisRun) -> (String, String, u32) {
    let status = run.status.clone().unwrap_or_default();
    let measured = status.metric_results.iter().map(|result| result.count + result.error).sum();
    (run.metadata.name.clone().unwrap_or_default(), status.phase.as_str().to_owned(), measured)
}

/// Takes out what says when, and what only Windlass reads.
fn take_times_out(value: &mut Value) {
    const TIMES: [&str; 8] = [
        "memo",
        "lastTransitionTime",
        "lastUpdateTime",
        "since",
        "startTime",
        "abortedAt",
        "restartedAt",
        "age",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !TIMES.contains(&key.as_str()));
            fields.values_mut().for_each(take_times_out);
        }
        Value::Array(items) => items.iter_mut().for_each(take_times_out),
        _ => {}
    }
}
