//! The plan of a rollout that a cluster has.

use k8s_openapi::api::apps::v1::StatefulSet;
use windlass_api::Front;
use windlass_engine::{Flaw, Refusal, RolloutName};
use windlass_workloads::{StatefulSetView, missing};

use super::facts::{Facts, Origin};
use super::report::{Problem, Report, Subject, flaws, refusal_words};
use crate::cli::Connection;
use crate::connect::connect;
use crate::failure::Failure;
use crate::kubectl::{Picture, Reach, Terminal};

/// The report on one rollout.
pub(super) async fn reports(connection: &Connection, name: &str) -> Result<Vec<Report>, Failure> {
    let reach = Reach::new(connect(connection).await?);
    let Picture { rollout, set, pods, .. } = reach.picture(name).await?;
    let subject = Subject::rollout(&rollout, None);
    let workload = Subject::workload(&rollout, None);
    let problem = |message: String| Problem { message, place: None };
    let mut wrong: Vec<Problem> = flaws(&rollout).into_iter().map(|Flaw { text }| problem(text)).collect();
    if let (Ok(target), None) = (rollout.workload(), &set) {
        wrong.push(problem(refusal_words(&missing(&target))));
    }
    if let Some(by) = taken_by(&reach, name, set.as_ref()).await {
        wrong.push(problem(refusal_words(&by)));
    }
    let report = match set {
        Some(set) if wrong.is_empty() => {
            let budgets = reach.budgets().await.unwrap_or_else(|failure| {
                Terminal::warn(&format!("not looked at: {failure}"));
                Vec::new()
            });
            Report::on(&Facts { rollout, set, budgets, origin: Origin::Cluster { pods } }, subject, workload)
        }
        _ => Report::wrong(subject, workload, wrong),
    };
    Ok(vec![report])
}

/// The workload's label names another rollout, and there is one of that name.
async fn taken_by(reach: &Reach, name: &str, set: Option<&StatefulSet>) -> Option<Refusal> {
    let set = StatefulSetView::of(set?);
    let other = set.rollout.filter(|other| other != name)?;
    reach.rollout(&other).await.ok()?;
    Some(Refusal::Taken { workload: format!("StatefulSet {}", set.name), by: RolloutName::new(other) })
}
