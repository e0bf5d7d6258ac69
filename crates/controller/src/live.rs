//! Asks the real providers: reads the Secrets that a metric names, by name and only then, asks, and takes every secret
//! out of what comes back. Each question is a task of its own.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, TryFutureExt};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::task::JoinError;
use windlass_analysis::environment::environment;
use windlass_analysis::gauge::{Answer, Answered, Filled, Gauge, Measured, Question, Reading};
use windlass_analysis::http::{Asker, Unmeasured};
use windlass_analysis::measurement::of_pod;
use windlass_analysis::providers::{self, Provider, SecretPlace, SecretWanted, Setting, Settings};
use windlass_analysis::redact::Redactor;
use windlass_analysis::rooms::{Place, Rooms};
use windlass_analysis::verdict::ENDED;
use windlass_api::analysis::{Metric, Phase, SecretKeyReference};

use crate::clock::Clock;
use crate::objects::Objects;
use crate::writer::{WriteError, Writer};
use crate::{job, objects};

/// Longer than a healthy server needs for one answer.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// How many questions the API server is asked at once, for metrics that the cluster itself answers, and as many for
/// Secrets; half of them for one namespace at most, so that nobody else waits for what is slow there.
const AT_ONCE: usize = 32;
/// How many values are judged at once, each on a thread of its own: conditions may take a tenth of a second, and whoever
/// renews the lease must not wait for them. Half of them for one namespace at most.
const JUDGED_AT_ONCE: usize = 2;
/// How long one waits until it may be asked.
const WAIT: Duration = Duration::from_secs(60);

/// Whoever asks the real providers.
#[derive(Clone)]
pub(crate) struct Live(Arc<Parts>);

struct Parts {
    client: Client,
    writer: Writer,
    clock: Arc<dyn Clock>,
    asker: Asker,
    objects: Objects,
    /// Places for those who ask the API server: for all, and for each namespace.
    rooms: Rooms<Option<String>>,
    /// Places for those who read Secrets. They are others, because expressions have theirs until they are evaluated.
    reading: Rooms<Option<String>>,
    /// Places for those who judge values.
    judges: Rooms<Option<String>>,
    /// The namespace of the controller: the Secrets of providers that all rollouts share are there.
    namespace: String,
}

impl Gauge for Live {
    fn ask(&self, question: Question, answered: Answered) {
        let parts = Arc::clone(&self.0);
        tokio::spawn(async move {
            let (answer, places) = parts.answer(&question).await;
            // Whoever takes it judges it.
            let judged = move || {
                answered(answer);
                drop(places);
            };
            if let Err(error) = parts.aside(&question.run.namespace, judged).await {
                tracing::error!(%error, "an answer could not be judged");
            }
        });
    }
}

impl Live {
    pub(crate) fn new(client: Client, writer: Writer, clock: Arc<dyn Clock>, namespace: String) -> Self {
        let (asker, objects) = (Asker::default(), Objects::default());
        let (rooms, reading, judges) = (Rooms::default(), Rooms::default(), Rooms::default());
        Self(Arc::new(Parts { client, writer, clock, asker, objects, rooms, reading, judges, namespace }))
    }
}

/// Why there is no value.
pub(crate) enum Trouble {
    /// The API server, the lease or the metrics of others are in the way: that says nothing of what is measured, and
    /// passes.
    Passing(String),
    /// Somebody has to mend something.
    Lasting(String),
}

impl From<Trouble> for Reading {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Passing(why) => Self::NotAsked(why),
            Trouble::Lasting(why) => Self::Error(why),
        }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Lasting(why)
    }
}

impl From<Unmeasured> for Trouble {
    fn from(error: Unmeasured) -> Self {
        match error {
            Unmeasured::Crowded(why) => Self::Passing(why),
            Unmeasured::Failed(why) => Self::Lasting(why),
        }
    }
}

impl From<WriteError> for Trouble {
    fn from(error: WriteError) -> Self {
        let why = error.to_string();
        if error.is_passing() { Self::Passing(why) } else { Self::Lasting(why) }
    }
}

/// The secrets that take part in one question.
#[derive(Default)]
struct Secrets {
    /// The values of arguments, by name.
    arguments: BTreeMap<String, String>,
    /// What else must not be shown: the provider's credentials, and what was sent.
    others: Vec<String>,
}

impl Parts {
    /// The answer, with the places that it takes until it is judged.
    async fn answer(&self, question: &Question) -> (Answer, Vec<Place>) {
        let (mut secrets, mut places) = (Secrets::default(), Vec::new());
        let reading = self.ask(question, &mut secrets, &mut places).await.unwrap_or_else(Reading::from);
        let all = secrets.arguments.values().chain(&secrets.others);
        (Answer { reading, secrets: Redactor::new(all) }, places)
    }

    /// Does something that takes long on a thread of its own, when it is this namespace's turn.
    async fn aside<T: Send + 'static>(
        &self,
        namespace: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let places = self.judges.shared(Some(namespace), JUDGED_AT_ONCE).await;
        tokio::task::spawn_blocking(move || {
            let _places = places;
            work()
        })
        .await
    }

    async fn ask(
        &self,
        question: &Question,
        secrets: &mut Secrets,
        places: &mut Vec<Place>,
    ) -> Result<Reading, Trouble> {
        // What is under way has its own name: nothing has to be filled in to look after it.
        if let Some(known) = job::known(&question.about)? {
            return self.look_after(question, known).await;
        }
        secrets.arguments = self.arguments(question).await?;
        match question.filled(&secrets.arguments).map_err(|error| error.to_string())? {
            Filled::Once(metric) => match read(&metric)? {
                Settings::Http(provider) => {
                    let environment = environment();
                    let secret = self.credentials(question, provider.as_ref(), &environment).await?;
                    secrets.others.extend(providers::hidden(&secret).cloned());
                    let (now, namespace) = (self.clock.now(), question.run.namespace.as_str());
                    let setting = Setting { now, namespace, secret: &secret, environment: &environment };
                    let sent = &mut secrets.others;
                    let fetched = self.asker.measure(provider.as_ref(), &setting, sent).await?;
                    *places = fetched.places;
                    Ok(Reading::Value(fetched.measured))
                }
                Settings::Job(settings) => {
                    let _places = self.places(&question.run.namespace).await?;
                    let job = job::made(question, &settings)?;
                    self.writer.create_job(&job).await?;
                    Ok(job::begun(&job, self.clock.now()))
                }
                Settings::Kubernetes(expression) => {
                    let _places = self.places(&question.run.namespace).await?;
                    let now = self.clock.now();
                    objects::evaluate(&self.client, &self.objects, question, expression, now).await
                }
            },
            Filled::PerPod(metrics) => self.per_pod(question, &metrics, secrets).await,
        }
    }

    async fn per_pod(
        &self,
        question: &Question,
        metrics: &BTreeMap<String, Metric>,
        secrets: &mut Secrets,
    ) -> Result<Reading, Trouble> {
        let mut providers: BTreeMap<String, Box<dyn Provider>> = BTreeMap::new();
        for (pod, metric) in metrics {
            let Settings::Http(provider) = read(metric)? else {
                return Err(Trouble::Lasting(
                    "forEachPod is for providers that are asked over HTTP; \
                     kubernetes sees every pod by itself, and a job can be written for all of them"
                        .to_owned(),
                ));
            };
            providers.insert(pod.clone(), provider);
        }
        let Some(first) = providers.values().next() else {
            return Err(Trouble::Lasting("there is no pod to ask for".to_owned()));
        };
        let environment = environment();
        let wanted = |provider: &dyn Provider| provider.secret(&environment);
        if providers.values().any(|provider| wanted(provider.as_ref()) != wanted(first.as_ref())) {
            return Err(Trouble::Lasting(
                "the name of the provider's Secret names the pod: one Secret is read for all of them"
                    .to_owned(),
            ));
        }
        let secret = self.credentials(question, first.as_ref(), &environment).await?;
        secrets.others.extend(providers::hidden(&secret).cloned());
        let (now, namespace) = (self.clock.now(), question.run.namespace.as_str());
        let setting = Setting { now, namespace, secret: &secret, environment: &environment };
        let made = |pod: String, measured: Result<Measured, String>| {
            let (conditions, name) = (Arc::clone(&question.conditions), pod.clone());
            let judged = self.aside(namespace, move || of_pod(&name, measured, &conditions, now));
            let failed =
                move |error| Trouble::Lasting(format!("the value of {pod} could not be judged: {error}"));
            judged.map_err(failed).boxed()
        };
        let values = self.asker.measure_each(&providers, &setting, made, &mut secrets.others).await;
        let values = values.map_err(Trouble::Passing)?;
        let values = values.into_iter().map(|(pod, value)| Ok((pod, value?)));
        Ok(Reading::PerPod(values.collect::<Result<_, Trouble>>()?))
    }

    /// Places for a metric that the cluster answers.
    async fn places(&self, namespace: &str) -> Result<Vec<Place>, Trouble> {
        places(&self.rooms, namespace, AT_ONCE, "metrics that the cluster answers").await
    }

    /// What has come of the Job of a measurement, or its end.
    async fn look_after(&self, question: &Question, known: job::Known<'_>) -> Result<Reading, Trouble> {
        let _places = self.places(&question.run.namespace).await?;
        let (run, name, metadata) = (&question.run, known.name, known.metadata);
        job::check(run, name)?;
        if known.is_ended {
            self.writer.delete_job(&run.namespace, name).await?;
            return Ok(Reading::Verdict {
                phase: Phase::Inconclusive,
                message: ENDED.to_owned(),
                metadata: metadata.clone(),
            });
        }
        let now = self.clock.now();
        let found = job::look(&self.client, &run.namespace, name, now).await?;
        Ok(job::judged(found.as_ref(), name, metadata, now))
    }

    /// The values of the arguments that are keys of Secrets.
    async fn arguments(&self, question: &Question) -> Result<BTreeMap<String, String>, Trouble> {
        let (mut values, mut read) = (BTreeMap::new(), BTreeMap::new());
        for argument in question.arguments.iter().filter(|argument| argument.value.is_none()) {
            let from = argument.value_from.as_ref().and_then(|from| from.secret_key_ref.as_ref());
            let Some(SecretKeyReference { name, key }) = from else { continue };
            if !read.contains_key(name) {
                read.insert(name, self.secret(question, &question.run.namespace, name).await?);
            }
            let secret = read.get(name).and_then(Option::as_ref).ok_or_else(|| {
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

    /// The Secret that a provider reads its own credentials from.
    async fn credentials(
        &self,
        question: &Question,
        provider: &dyn Provider,
        environment: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Trouble> {
        let Some(SecretWanted { name, place, optional }) = provider.secret(environment) else {
            return Ok(BTreeMap::new());
        };
        let namespace = match place {
            SecretPlace::Controller => &self.namespace,
            SecretPlace::Run => &question.run.namespace,
        };
        match self.secret(question, namespace, &name).await? {
            Some(secret) => Ok(secret),
            None if optional => Ok(BTreeMap::new()),
            None => Err(Trouble::Lasting(format!(
                "there is no Secret {namespace}/{name}, which holds the provider's credentials"
            ))),
        }
    }

    /// What is in a Secret, which has its place while it is read and no longer.
    async fn secret(
        &self,
        question: &Question,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, Trouble> {
        let _places = places(&self.reading, &question.run.namespace, AT_ONCE, "reads of Secrets").await?;
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let what = format!("Secret {namespace}/{name}");
        let secret = read_object(&api, name, &what).await?;
        Ok(secret.map(|secret| {
            let texts = secret.data.into_iter().flatten();
            texts.map(|(key, bytes)| (key, String::from_utf8_lossy(&bytes.0).into_owned())).collect()
        }))
    }
}

/// A place among so many, unless the others who have them take too long.
pub(crate) async fn places(
    rooms: &Rooms<Option<String>>,
    namespace: &str,
    size: usize,
    others: &str,
) -> Result<Vec<Place>, Trouble> {
    tokio::time::timeout(WAIT, rooms.shared(Some(namespace), size)).await.map_err(|_| {
        let wait = WAIT.as_secs();
        Trouble::Passing(format!("waited {wait} s behind other {others}, which are slow"))
    })
}

fn read(metric: &Metric) -> Result<Settings, String> {
    let field = format!("metric {:?}: provider", metric.name);
    providers::read(&field, &metric.provider).map_err(|flaws| {
        let flaws: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        flaws.join("; ")
    })
}

/// One object by its name, with an error that says what would help.
pub(crate) async fn read_object<K>(api: &Api<K>, name: &str, what: &str) -> Result<Option<K>, Trouble>
where
    K: Clone + Debug + serde::de::DeserializeOwned,
{
    in_time(what, api.get_opt(name)).await
}

/// What the API server answers, with a limit of time.
pub(crate) async fn in_time<T>(
    what: &str,
    asked: impl Future<Output = kube::Result<T>>,
) -> Result<T, Trouble> {
    let why = |cause: &dyn std::fmt::Display| format!("{what} could not be read: {cause}");
    match tokio::time::timeout(TIME_LIMIT, asked).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(Trouble::Lasting(format!(
            "{what} may not be read by this controller: give it the right to get it ({})",
            status.message
        ))),
        Ok(Err(kube::Error::Api(status))) if (400..500).contains(&status.code) && status.code != 429 => {
            Err(Trouble::Lasting(why(&status.message)))
        }
        Ok(Err(error)) => Err(Trouble::Passing(why(&error))),
        Err(_) => Err(Trouble::Passing(why(&format!("no answer within {} s", TIME_LIMIT.as_secs())))),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Body;
    use axum::http::{Request, Response};
    use serde_json::json;
    use tokio::sync::Semaphore;
    use windlass_analysis::gauge::{About, RunIdentity};
    use windlass_api::analysis::{Argument, ValueFrom};

    use super::*;
    use crate::clock::WallClock;
    use crate::fence::Fence;

    /// One whose argument is a key of a Secret.
    fn question(namespace: &str) -> Question {
        let reference = SecretKeyReference { name: "keys".to_owned(), key: "token".to_owned() };
        let from = ValueFrom { secret_key_ref: Some(reference), ..ValueFrom::default() };
        Question {
            run: RunIdentity { namespace: namespace.to_owned(), ..RunIdentity::default() },
            metric: Metric::default(),
            arguments: vec![Argument { name: "token".to_owned(), value: None, value_from: Some(from) }],
            number: 0,
            about: About::New,
            subject: None,
            conditions: Arc::default(),
        }
    }

    /// A server that counts who asks for a Secret, and answers when its door opens.
    fn server(asked: &Arc<AtomicUsize>, door: &Arc<Semaphore>) -> Client {
        let (asked, door) = (Arc::clone(asked), Arc::clone(door));
        let answer = move |_: Request<kube::client::Body>| {
            asked.fetch_add(1, Ordering::SeqCst);
            let door = Arc::clone(&door);
            async move {
                drop(door.acquire().await);
                let secret = json!({
                    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "data": {"token": "dA=="},
                });
                Ok::<_, Infallible>(Response::new(Body::from(secret.to_string())))
            }
        };
        Client::new(tower::service_fn(answer), "windlass")
    }

    #[tokio::test]
    async fn for_a_namespace_no_more_secrets_are_read_at_once_than_it_has_places() {
        let (asked, door) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let client = server(&asked, &door);
        let writer = Writer::new(client.clone(), Fence::Open);
        let live = Live::new(client, writer, Arc::new(WallClock), "windlass".to_owned());
        let ask = |namespace: &str| {
            let (parts, question) = (Arc::clone(&live.0), question(namespace));
            tokio::spawn(async move { parts.arguments(&question).await.is_ok() })
        };
        let reached = async |number: usize| {
            while asked.load(Ordering::SeqCst) < number {
                tokio::task::yield_now().await;
            }
        };
        let of_one: Vec<_> = (0..AT_ONCE).map(|_| ask("shop")).collect();
        reached(AT_ONCE / 2).await;
        let of_another = ask("other");
        reached(AT_ONCE / 2 + 1).await;
        // Those of the first namespace asked before the other one, and still wait.
        assert_eq!(asked.load(Ordering::SeqCst), AT_ONCE / 2 + 1);
        door.add_permits(1);
        for answered in of_one.into_iter().chain([of_another]) {
            assert!(answered.await.unwrap());
        }
        assert_eq!(asked.load(Ordering::SeqCst), AT_ONCE + 1);
    }
}
