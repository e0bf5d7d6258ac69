//! Asks every metric once, all at the same time.

use std::collections::BTreeMap;

use futures::future::join_all;
use jiff::Timestamp;
use windlass_analysis::environment::environment;
use windlass_analysis::gauge::{Answer, Measured, Reading};
use windlass_analysis::http::Asker;
use windlass_analysis::measurement::{measurement, of_pod};
use windlass_analysis::providers::{Provider, Setting, Settings};
use windlass_api::analysis::Measurement;

use super::report::{Analysis, Outcome, Report};
use super::secrets::Secrets;
use super::subjects::{Asked, Measurable, Subject};

/// Asks everything.
pub(crate) async fn ask(subjects: Vec<Subject>, secrets: &Secrets) -> Report {
    let asking = Asking { asker: Asker::default(), environment: environment(), secrets };
    Report::new(join_all(subjects.into_iter().map(|subject| asking.subject(subject))).await)
}

struct Asking<'a> {
    asker: Asker,
    environment: BTreeMap<String, String>,
    secrets: &'a Secrets,
}

impl Asking<'_> {
    async fn subject(&self, subject: Subject) -> Analysis {
        let Subject { kind, namespace, name, place, metrics, redactor } = subject;
        let one = async |metric: Measurable| {
            let started = Some(Timestamp::now());
            let mut sent = Vec::new();
            let reading = self.reading(&metric, &mut sent).await;
            let answer = reading.map(|reading| Answer { reading, secrets: redactor.with(&sent) });
            let made = answer.and_then(|it| measurement(it, &metric.conditions, Timestamp::now()).ok());
            let made = made.map(|made| Measurement { started_at: started, ..made });
            made.map_or_else(|| Outcome::left_out(&metric), |made| Outcome::new(&metric, made, &redactor))
        };
        let metrics = join_all(metrics.into_iter().map(one)).await;
        Analysis { kind, namespace, name, place, metrics }
    }

    /// What came of it; nothing for what only a cluster can answer.
    async fn reading(&self, metric: &Measurable, sent: &mut Vec<String>) -> Option<Reading> {
        match &metric.asked {
            Asked::Once(settings) => {
                let provider = over_http(settings)?;
                Some(match self.measured(provider, sent).await {
                    Ok(measured) => Reading::Value(measured),
                    Err(error) => Reading::Error(error),
                })
            }
            Asked::PerPod(pods) => {
                let one = async |pod: &String, provider: &dyn Provider| {
                    let mut sent = Vec::new();
                    let measured = self.measured(provider, &mut sent).await;
                    let made = of_pod(pod, measured, &metric.conditions, Timestamp::now());
                    ((pod.clone(), made), sent)
                };
                let providers: Option<Vec<(&String, &dyn Provider)>> =
                    pods.iter().map(|(pod, settings)| Some((pod, over_http(settings)?))).collect();
                let all = providers?.into_iter().map(|(pod, provider)| one(pod, provider));
                let (values, all): (_, Vec<Vec<String>>) = join_all(all).await.into_iter().unzip();
                sent.extend(all.concat());
                Some(Reading::PerPod(values))
            }
        }
    }

    async fn measured(&self, provider: &dyn Provider, sent: &mut Vec<String>) -> Result<Measured, String> {
        let secret = match provider.secret(&self.environment) {
            None => BTreeMap::new(),
            Some(wanted) => {
                let secret = self.secrets.whole(&wanted.name);
                if secret.is_empty() && !wanted.optional {
                    let name = wanted.name;
                    return Err(format!(
                        "it needs the Secret {name}: give its keys with --secret {name}/KEY=@FILE"
                    ));
                }
                secret
            }
        };
        // Nobody shares this process, so there are no shares to keep to.
        let (now, environment) = (Timestamp::now(), &self.environment);
        let setting = Setting { now, namespace: "", secret: &secret, environment };
        let fetched = self.asker.measure(provider, &setting, sent).await;
        fetched.map(|fetched| fetched.measured).map_err(|error| error.to_string())
    }
}

fn over_http(settings: &Settings) -> Option<&dyn Provider> {
    match settings {
        Settings::Http(provider) => Some(provider.as_ref()),
        Settings::Job(_) | Settings::Kubernetes(_) => None,
    }
}
