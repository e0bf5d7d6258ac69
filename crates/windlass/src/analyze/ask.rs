//! Asks every metric once, all at the same time.

use std::collections::BTreeMap;

use futures::future::join_all;
use jiff::Timestamp;
use windlass_analysis::gauge::Reading;
use windlass_analysis::http::Asker;
use windlass_analysis::measurement::measurement;
use windlass_analysis::providers::{Provider, Setting, Settings};

use super::report::{Analysis, Outcome, Report};
use super::secrets::Secrets;
use super::subjects::{Asked, Measurable, Subject};

/// Asks everything.
pub(crate) async fn ask(subjects: Vec<Subject>, secrets: &Secrets) -> Report {
    let asking = Asking {
        asker: Asker::default(),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        secrets,
    };
    Report::new(join_all(subjects.into_iter().map(|subject| asking.subject(subject))).await)
}

struct Asking<'a> {
    asker: Asker,
    environment: BTreeMap<String, String>,
    secrets: &'a Secrets,
}

impl Asking<'_> {
    async fn subject(&self, subject: Subject) -> Analysis {
        let Subject { kind, name, place, metrics, redactor } = subject;
        let one = async |metric: Measurable| {
            let started = Timestamp::now();
            let Some(reading) = self.reading(&metric.asked).await else {
                return Outcome::left_out(&metric);
            };
            let reading = redactor.reading(reading);
            let made = measurement(reading, &metric.conditions, started, Timestamp::now());
            Outcome::new(&metric, redactor.measurement(made), &redactor)
        };
        Analysis { kind, name, place, metrics: join_all(metrics.into_iter().map(one)).await }
    }

    /// What came of it; nothing for what only a cluster can answer.
    async fn reading(&self, asked: &Asked) -> Option<Reading> {
        match asked {
            Asked::Once(settings) => {
                let provider = over_http(settings)?;
                Some(match self.measured(provider).await {
                    Ok(measured) => Reading::Value(measured),
                    Err(error) => Reading::Error(error),
                })
            }
            Asked::PerPod(pods) => {
                let one = async |pod: &String, provider: &dyn Provider| {
                    let measured = self.measured(provider).await;
                    (pod.clone(), measured.map(|measured| measured.value))
                };
                let providers: Option<Vec<(&String, &dyn Provider)>> =
                    pods.iter().map(|(pod, settings)| Some((pod, over_http(settings)?))).collect();
                let all = providers?.into_iter().map(|(pod, provider)| one(pod, provider));
                Some(Reading::PerPod(join_all(all).await.into_iter().collect()))
            }
        }
    }

    async fn measured(&self, provider: &dyn Provider) -> Result<windlass_analysis::gauge::Measured, String> {
        let secret = match provider.secret() {
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
        self.asker.measure(provider, &setting).await
    }
}

fn over_http(settings: &Settings) -> Option<&dyn Provider> {
    match settings {
        Settings::Http(provider) => Some(provider.as_ref()),
        Settings::Job(_) | Settings::Kubernetes(_) => None,
    }
}
