//! Asks the real providers: reads the Secrets that a metric names, by name and only then, asks, and takes every secret
//! out of what comes back. Each question is a task of its own.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use serde_json::Value;
use windlass_analysis::gauge::{About, Answered, Filled, Gauge, Question, Reading};
use windlass_analysis::http::Asker;
use windlass_analysis::providers::{self, Provider, SecretPlace, SecretWanted, Setting, Settings};
use windlass_analysis::redact::Redactor;
use windlass_api::analysis::{Metric, Phase, SecretKeyReference};

use crate::clock::Clock;
use crate::writer::Writer;
use crate::{job, objects};

/// Longer than a healthy server needs for one object.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// What a file named in the environment holds is offered under another name: providers do not read files.
const FILES: [(&str, &str); 2] = [
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN"),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
];

/// Whoever asks the real providers.
#[derive(Clone)]
pub(crate) struct Live(Arc<Parts>);

struct Parts {
    client: Client,
    writer: Writer,
    clock: Arc<dyn Clock>,
    asker: Asker,
    /// The namespace of the controller: the Secrets of providers that all rollouts share are there.
    namespace: String,
    environment: BTreeMap<String, String>,
}

impl Gauge for Live {
    fn ask(&self, question: Question, answered: Answered) {
        let parts = Arc::clone(&self.0);
        tokio::spawn(async move { answered(parts.measure(&question).await) });
    }
}

impl Live {
    pub(crate) fn new(client: Client, writer: Writer, clock: Arc<dyn Clock>) -> Self {
        let namespace = client.default_namespace().to_owned();
        let environment = std::env::vars().collect();
        Self(Arc::new(Parts { client, writer, clock, asker: Asker::default(), namespace, environment }))
    }
}

impl Parts {
    async fn measure(&self, question: &Question) -> Reading {
        let secrets = match self.arguments(question).await {
            Ok(secrets) => secrets,
            Err(error) => return Reading::Error(error),
        };
        let reading = self.ask(question, &secrets).await.unwrap_or_else(Reading::Error);
        Redactor::new(secrets.values()).reading(reading)
    }

    async fn ask(&self, question: &Question, secrets: &BTreeMap<String, String>) -> Result<Reading, String> {
        match question.filled(secrets).map_err(|error| error.to_string())? {
            Filled::Once(metric) => match read(&metric)? {
                Settings::Http(provider) => {
                    let (secret, environment) = self.credentials(question, provider.as_ref()).await?;
                    let (now, namespace) = (self.clock.now(), question.run.namespace.as_str());
                    let setting = Setting { now, namespace, secret: &secret, environment: &environment };
                    let measured = self.asker.measure(provider.as_ref(), &setting).await;
                    let reading = measured.map_or_else(Reading::Error, Reading::Value);
                    Ok(Redactor::new(secret.values()).reading(reading))
                }
                Settings::Job(settings) => self.job(question, &metric, &settings).await,
                Settings::Kubernetes(expression) => {
                    objects::evaluate(&self.client, question, expression, self.clock.now()).await
                }
            },
            Filled::PerPod(metrics) => self.per_pod(question, &metrics).await,
        }
    }

    async fn per_pod(
        &self,
        question: &Question,
        metrics: &BTreeMap<String, Metric>,
    ) -> Result<Reading, String> {
        let mut providers: BTreeMap<String, Box<dyn Provider>> = BTreeMap::new();
        for (pod, metric) in metrics {
            let Settings::Http(provider) = read(metric)? else {
                return Err("forEachPod is for providers that are asked over HTTP; \
                            kubernetes sees every pod by itself, and a job can be written for all of them"
                    .to_owned());
            };
            providers.insert(pod.clone(), provider);
        }
        // They differ in the name of the pod, so one tells for all which Secret they need.
        let Some(first) = providers.values().next() else {
            return Err("there is no pod to ask for".to_owned());
        };
        let (secret, environment) = self.credentials(question, first.as_ref()).await?;
        let (now, namespace) = (self.clock.now(), question.run.namespace.as_str());
        let setting = Setting { now, namespace, secret: &secret, environment: &environment };
        let reading = Reading::PerPod(self.asker.measure_each(&providers, &setting).await);
        Ok(Redactor::new(secret.values()).reading(reading))
    }

    /// The values of the arguments that are keys of Secrets.
    async fn arguments(&self, question: &Question) -> Result<BTreeMap<String, String>, String> {
        let mut values = BTreeMap::new();
        for argument in question.arguments.iter().filter(|argument| argument.value.is_none()) {
            let from = argument.value_from.as_ref().and_then(|from| from.secret_key_ref.as_ref());
            let Some(SecretKeyReference { name, key }) = from else { continue };
            let secret = self.secret(&question.run.namespace, name).await?;
            let secret = secret.ok_or_else(|| {
                format!(
                    "args.{}: there is no Secret {}/{name}: create it, or mend the reference",
                    argument.name, question.run.namespace
                )
            })?;
            let value = secret.get(key).cloned().ok_or_else(|| {
                let keys: Vec<&str> = secret.keys().map(String::as_str).collect();
                format!(
                    "args.{}: Secret {}/{name} has no key {key:?}; it has {}",
                    argument.name,
                    question.run.namespace,
                    if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }
                )
            })?;
            values.insert(argument.name.clone(), value);
        }
        Ok(values)
    }

    /// What a provider reads its own credentials from.
    async fn credentials(
        &self,
        question: &Question,
        provider: &dyn Provider,
    ) -> Result<(BTreeMap<String, String>, BTreeMap<String, String>), String> {
        let mut environment = self.environment.clone();
        for (file, name) in FILES {
            if let Some(path) = environment.get(file).cloned()
                && let Ok(text) = tokio::fs::read_to_string(&path).await
            {
                environment.insert(name.to_owned(), text.trim().to_owned());
            }
        }
        let Some(SecretWanted { name, place, optional }) = provider.secret() else {
            return Ok((BTreeMap::new(), environment));
        };
        let namespace = match place {
            SecretPlace::Controller => &self.namespace,
            SecretPlace::Run => &question.run.namespace,
        };
        match self.secret(namespace, &name).await? {
            Some(secret) => Ok((secret, environment)),
            None if optional => Ok((BTreeMap::new(), environment)),
            None => {
                Err(format!("there is no Secret {namespace}/{name}, which holds the provider's credentials"))
            }
        }
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<BTreeMap<String, String>>, String> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let what = format!("Secret {namespace}/{name}");
        let secret = read_object(&api, name, &what).await?;
        Ok(secret.map(|secret| {
            let texts = secret.data.into_iter().flatten();
            texts.map(|(key, bytes)| (key, String::from_utf8_lossy(&bytes.0).into_owned())).collect()
        }))
    }

    async fn job(&self, question: &Question, metric: &Metric, settings: &Value) -> Result<Reading, String> {
        let now = self.clock.now();
        match &question.about {
            About::New => {
                let job = job::made(question, &metric.name, settings)?;
                self.writer.create_job(&job).await.map_err(|error| error.to_string())?;
                Ok(job::begun(&job, now))
            }
            About::Resumed { metadata, .. } => {
                let name = job::name_in(metadata)?;
                let found = job::look(&self.client, &question.run.namespace, name).await?;
                Ok(job::judged(found.as_ref(), name, metadata, now))
            }
            About::Ended { metadata } => {
                let name = job::name_in(metadata)?;
                let gone = self.writer.delete_job(&question.run.namespace, name).await;
                gone.map_err(|error| error.to_string())?;
                Ok(Reading::Verdict {
                    phase: Phase::Inconclusive,
                    message: "Metric Terminated".to_owned(),
                    metadata: metadata.clone(),
                })
            }
        }
    }
}

fn read(metric: &Metric) -> Result<Settings, String> {
    let field = format!("metric {:?}: provider", metric.name);
    providers::read(&field, &metric.provider).map_err(|flaws| {
        let flaws: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        flaws.join("; ")
    })
}

/// One object by its name, with a limit of time, and an error that says what would help.
pub(crate) async fn read_object<K>(api: &Api<K>, name: &str, what: &str) -> Result<Option<K>, String>
where
    K: Clone + Debug + serde::de::DeserializeOwned,
{
    match tokio::time::timeout(TIME_LIMIT, api.get_opt(name)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(format!(
            "{what} may not be read by this controller: give it the right to get it ({})",
            status.message
        )),
        Ok(Err(error)) => Err(format!("{what} could not be read: {error}")),
        Err(_) => Err(format!("{what} could not be read: no answer within {} s", TIME_LIMIT.as_secs())),
    }
}
