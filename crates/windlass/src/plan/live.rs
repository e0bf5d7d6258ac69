//! The plan of a rollout that a cluster has.

use k8s_openapi::api::apps::v1::StatefulSet;
use windlass_analysis::compose::Templates;
use windlass_analysis::templates::closure;
use windlass_api::Front;
use windlass_api::rollout_plugin::RolloutPlugin;
use windlass_engine::{Flaw, Refusal, RolloutName};
use windlass_workloads::{StatefulSetView, missing};

use super::checks::{self, template_words};
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
    let (templates, unread) = templates(&reach, &rollout).await;
    wrong.extend(checks::flaws(&rollout, &templates).into_iter().map(|flaw| problem(flaw.text)));
    for (template, field) in checks::missing(&rollout, &templates) {
        if !unread {
            let words = template_words(&template);
            wrong.push(problem(format!("{field}: {words} does not exist; create it, or mend the name")));
        }
    }
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
            let facts = Facts { rollout, set, budgets, templates, origin: Origin::Cluster { pods } };
            Report::on(&facts, subject, workload)
        }
        _ => Report::wrong(subject, workload, wrong),
    };
    Ok(vec![report])
}

/// The templates that the analyses name, directly or not; and whether some could not be read.
async fn templates(reach: &Reach, rollout: &RolloutPlugin) -> (Templates, bool) {
    let analyses = rollout.asked().analyses;
    let wanted: Vec<_> = analyses.all().flat_map(|(_, analysis)| analysis.templates.clone()).collect();
    let (mut known, mut asked, mut unread) = (Templates::new(), Vec::new(), false);
    loop {
        let open = closure(&wanted, &known).into_iter().find(|template| !asked.contains(template));
        let Some(template) = open else { return (known, unread) };
        match reach.template(&template).await {
            Ok(Some(spec)) => drop(known.insert(template.clone(), spec)),
            Ok(None) => {}
            Err(failure) => {
                Terminal::warn(&format!("not looked at: {failure}"));
                unread = true;
            }
        }
        asked.push(template);
    }
}

/// The workload's label names another rollout, and there is one of that name.
async fn taken_by(reach: &Reach, name: &str, set: Option<&StatefulSet>) -> Option<Refusal> {
    let set = StatefulSetView::of(set?);
    let other = set.rollout.filter(|other| other != name)?;
    reach.rollout(&other).await.ok()?;
    Some(Refusal::Taken { workload: format!("StatefulSet {}", set.name), by: RolloutName::new(other) })
}
