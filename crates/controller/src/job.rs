//! The provider `job`: a Kubernetes Job for each measurement, which says by itself whether it went well.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use windlass_analysis::gauge::{About, Question, Reading, RunIdentity};
use windlass_api::analysis::Phase;

use crate::live::{Trouble, in_time, read_object};

/// The label by which the Jobs of analyses are known, as upstream.
pub(crate) const RUN_UID_LABEL: &str = "analysisrun.argoproj.io/uid";
/// What a measurement remembers of its Job.
pub(crate) const JOB_NAME: &str = "job-name";
/// The longest name that the pods of a Job can be labelled with.
const LONGEST_NAME: usize = 63;
/// A watch tells when a Job is over; this is for the case that it does not.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// Why a container waits when it will never run.
const NEVER_RUNS: &str = "InvalidImageName";
/// Why a container waits when it may never run: a registry may be away for a moment.
const MAY_RUN: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];
/// For so long an image may be missing.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// A Job, and the word for why its pods will never run, if there is one.
pub(crate) struct Found {
    job: Job,
    never_runs: Option<String>,
}

/// The Job for a new measurement. Its name is always the same for that one, so it is never made twice. The metric has the
/// name in it by which everybody knows it, without secrets.
pub(crate) fn made(question: &Question, settings: &Value) -> Result<Job, String> {
    let (run, metric) = (&question.run, question.metric.name.as_str());
    let part = |name: &str| settings.get(name).cloned().unwrap_or_else(|| json!({}));
    let job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": part("metadata"), "spec": part("spec")});
    let mut job: Job =
        serde_json::from_value(job).map_err(|error| format!("the job cannot be read: {error}"))?;
    let template = job.spec.as_mut().and_then(|spec| spec.template.spec.as_mut());
    let template = template.ok_or("the job has no pods: write spec.template.spec, with its containers")?;
    template.restart_policy.get_or_insert_with(|| "Never".to_owned());
    let metadata = &mut job.metadata;
    metadata.name = Some(name_of(&run.uid, metric, question.number + 1));
    metadata.namespace = Some(run.namespace.clone());
    metadata.labels.get_or_insert_default().insert(RUN_UID_LABEL.to_owned(), run.uid.clone());
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert("analysisrun.argoproj.io/name".to_owned(), run.name.clone());
    annotations.insert("analysisrun.argoproj.io/metric-name".to_owned(), metric.to_owned());
    metadata.owner_references = Some(vec![OwnerReference {
        api_version: "argoproj.io/v1alpha1".to_owned(),
        kind: "AnalysisRun".to_owned(),
        name: run.name.clone(),
        uid: run.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    Ok(job)
}

/// The name of the Job for the so many-th measurement of a metric, as upstream. Where the name of the metric is too long or
/// is none for a Job, a hash tells it from others that look alike.
fn name_of(run_uid: &str, metric: &str, number: u32) -> String {
    let plain = format!("{run_uid}.{metric}.{number}");
    let fits = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    let is_word = |word: &str| {
        word.chars().all(fits) && !word.is_empty() && !word.starts_with('-') && !word.ends_with('-')
    };
    if plain.len() <= LONGEST_NAME && metric.split('.').all(is_word) {
        return plain;
    }
    let mut hasher = DefaultHasher::new();
    metric.hash(&mut hasher);
    let hash = hasher.finish() & 0xffff_ffff;
    let like = |letter: char| if fits(letter) { letter } else { '-' };
    let mut words: String = metric.to_lowercase().chars().map(like).collect();
    words.truncate(LONGEST_NAME.saturating_sub(format!("{run_uid}.-{hash:08x}.{number}").len()));
    match words.trim_matches('-') {
        "" => format!("{run_uid}.{hash:08x}.{number}"),
        words => format!("{run_uid}.{words}-{hash:08x}.{number}"),
    }
}

/// A Job was made: it takes longer.
pub(crate) fn begun(job: &Job, now: Timestamp) -> Reading {
    let name = job.metadata.name.clone().unwrap_or_default();
    later(BTreeMap::from([(JOB_NAME.to_owned(), name)]), now)
}

fn later(metadata: BTreeMap<String, String>, now: Timestamp) -> Reading {
    Reading::Later { at: now.checked_add(LOOK_AGAIN).unwrap_or(Timestamp::MAX), metadata }
}

/// The Job of a measurement that takes longer.
pub(crate) struct Known<'a> {
    pub(crate) name: &'a str,
    pub(crate) metadata: &'a BTreeMap<String, String>,
    /// It is not wanted any more.
    pub(crate) is_ended: bool,
}

/// The Job that a question is about; none for a new measurement.
pub(crate) fn known(about: &About) -> Result<Option<Known<'_>>, String> {
    let (metadata, is_ended) = match about {
        About::New => return Ok(None),
        About::Resumed { metadata, .. } => (metadata, false),
        About::Ended { metadata } => (metadata, true),
    };
    let name = metadata.get(JOB_NAME).ok_or_else(|| "the measurement does not tell its job".to_owned())?;
    Ok(Some(Known { name, metadata, is_ended }))
}

/// The Jobs of a run are named after it. The status, where this name is from, may have been written by others: a Job of
/// another name is none of ours, and is left alone.
pub(crate) fn check(run: &RunIdentity, name: &str) -> Result<(), String> {
    if !run.uid.is_empty() && name.strip_prefix(&run.uid).is_some_and(|rest| rest.starts_with('.')) {
        return Ok(());
    }
    Err(format!("Job {name} is none of AnalysisRun {}/{}: it is left alone", run.namespace, run.name))
}

/// A Job and, while it is not over, whether its pods can run at all.
pub(crate) async fn look(
    client: &Client,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<Option<Found>, Trouble> {
    let jobs: Api<Job> = Api::namespaced(client.clone(), namespace);
    let Some(job) = read_object(&jobs, name, &format!("Job {namespace}/{name}")).await? else {
        return Ok(None);
    };
    let never_runs = if outcome(&job).is_some() {
        None
    } else {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let of_job = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
        let pods = in_time(&format!("the pods of Job {namespace}/{name}"), pods.list(&of_job)).await?;
        pods.items.iter().find_map(|pod| never_runs(pod, now))
    };
    Ok(Some(Found { job, never_runs }))
}

fn never_runs(pod: &Pod, now: Timestamp) -> Option<String> {
    let status = pod.status.as_ref()?;
    let began = pod.metadata.creation_timestamp.as_ref();
    let is_old = began.is_some_and(|began| now.duration_since(began.0) > PATIENCE);
    let all = [&status.init_container_statuses, &status.container_statuses];
    let containers = all.into_iter().flatten().flatten();
    let mut waiting = containers.filter_map(|it| it.state.as_ref()?.waiting.as_ref()?.reason.clone());
    waiting.find(|reason| reason == NEVER_RUNS || (is_old && MAY_RUN.contains(&reason.as_str())))
}

/// How a Job ended, and why.
pub(crate) fn outcome(job: &Job) -> Option<(Phase, String)> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().filter(|condition| condition.status == "True").find_map(|condition| {
        let why = condition.message.clone().or_else(|| condition.reason.clone()).unwrap_or_default();
        match condition.type_.as_str() {
            "Complete" => Some((Phase::Successful, String::new())),
            "Failed" => Some((Phase::Failed, why)),
            _ => None,
        }
    })
}

/// What a look at a Job says.
pub(crate) fn judged(
    found: Option<&Found>,
    name: &str,
    metadata: &BTreeMap<String, String>,
    now: Timestamp,
) -> Reading {
    let metadata = metadata.clone();
    let Some(found) = found else {
        return Reading::Error(format!("Job {name} is gone: somebody deleted it before it was over"));
    };
    if let Some((phase, message)) = outcome(&found.job) {
        return Reading::Verdict { phase, message, metadata };
    }
    match &found.never_runs {
        Some(reason) => {
            let message = format!("Job {name} cannot run: {reason}; look at its image");
            Reading::Verdict { phase: Phase::Inconclusive, message, metadata }
        }
        None => later(metadata, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "88a2ffe3-5e21-4909-8a63-65df6886f18f";

    fn question() -> Question {
        let (namespace, name, uid) = ("data".to_owned(), "run".to_owned(), UID.to_owned());
        let run = RunIdentity { namespace, name, uid, ..RunIdentity::default() };
        let (metric, arguments) = (windlass_api::analysis::Metric::default(), Vec::new());
        let conditions = std::sync::Arc::default();
        Question { run, metric, arguments, number: 0, about: About::New, subject: None, conditions }
    }

    #[test]
    fn a_job_of_any_shape_is_made_or_refused_in_words() {
        let containers =
            json!({"template": {"spec": {"containers": [{"name": "check", "image": "check:v1"}]}}});
        let job = made(&question(), &json!({"spec": containers})).unwrap();
        let pods = job.spec.unwrap().template.spec.unwrap();
        assert_eq!(pods.restart_policy.as_deref(), Some("Never"));
        for settings in [
            json!("x"),
            json!({}),
            json!({"spec": 1}),
            json!({"spec": []}),
            json!({"spec": {"template": []}}),
            json!({"spec": {"template": {"spec": "x"}}}),
            json!({"metadata": 1, "spec": containers}),
        ] {
            assert!(made(&question(), &settings).is_err(), "{settings}");
        }
    }

    #[test]
    fn a_job_that_is_not_named_after_the_run_is_left_alone() {
        let run = question().run;
        check(&run, &format!("{UID}.smoke.1")).unwrap();
        check(&run, &name_of(UID, &"long".repeat(30), 3)).unwrap();
        for name in ["nightly-backup", UID, "", "88a2ffe3"] {
            assert!(check(&run, name).is_err(), "{name}");
        }
        assert!(check(&RunIdentity::default(), ".smoke").is_err());
    }

    #[test]
    fn each_measurement_of_each_metric_has_a_job_of_its_own_name() {
        assert_eq!(name_of(UID, "smoke", 1), format!("{UID}.smoke.1"));
        let long = "replication-lag-of-the-standby-in-zone-";
        let names = [
            name_of(UID, &format!("{long}a"), 1),
            name_of(UID, &format!("{long}b"), 1),
            name_of(UID, &format!("{long}b"), 12),
            name_of(UID, "Error Rate", 1),
            name_of(UID, "error_rate", 1),
            name_of(UID, "错误率", 1),
            name_of(UID, "_", 1),
            name_of(UID, "-lag", 1),
            name_of(UID, "lag-", 1),
            name_of(UID, "lag.", 1),
            name_of(UID, "a..b", 1),
            name_of(UID, "", 1),
        ];
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        for name in &names {
            assert!(name.len() <= LONGEST_NAME, "{name}");
            assert!(
                name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || "-.".contains(it)),
                "{name}"
            );
            let is_word = |word: &str| !word.is_empty() && !word.starts_with('-') && !word.ends_with('-');
            assert!(name.split('.').all(is_word), "{name}");
            check(&question().run, name).unwrap();
        }
    }

    #[test]
    fn an_image_that_cannot_be_had_is_told_of_any_container_once_it_was_missing_for_long() {
        let created = Timestamp::from_second(1_800_000_000).unwrap();
        let pod = |field: &str, reason: &str| -> Pod {
            let waiting = json!([{"name": "a", "state": {"waiting": {"reason": reason}}}]);
            let metadata = json!({"creationTimestamp": created});
            serde_json::from_value(json!({"metadata": metadata, "status": {field: waiting}})).unwrap()
        };
        let after = |minutes| created + SignedDuration::from_mins(minutes);
        for field in ["containerStatuses", "initContainerStatuses"] {
            let missing = pod(field, "ImagePullBackOff");
            assert_eq!(never_runs(&missing, after(4)), None, "a registry may be away for a moment");
            assert_eq!(never_runs(&missing, after(6)).as_deref(), Some("ImagePullBackOff"), "{field}");
            let nonsense = pod(field, "InvalidImageName");
            assert_eq!(never_runs(&nonsense, created).as_deref(), Some("InvalidImageName"), "{field}");
            assert_eq!(never_runs(&pod(field, "ContainerCreating"), after(60)), None, "{field}");
        }
    }
}
