//! A busy server says for how long it wants to be left alone, and it is: nothing is sent to an object before that time,
//! whatever happens meanwhile. Its flow control says so in a header only, which the client's errors do not carry, so
//! the client that is made here puts the header's word into the answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Response, StatusCode, header};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use serde_json::json;
use tokio::time::Instant;
use tower::util::MapResponseLayer;

use crate::doubt::Object;

/// The objects that are left alone, and until when.
#[derive(Clone, Default)]
pub(crate) struct Patience(Arc<Mutex<BTreeMap<Object, Instant>>>);

impl Patience {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<Object, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves an object alone until then.
    pub(crate) fn promise(&self, object: Object, until: Instant) {
        self.objects().insert(object, until);
    }

    /// How long an object has still to be left alone.
    pub(crate) fn left(&self, object: &Object, now: Instant) -> Option<Duration> {
        let mut objects = self.objects();
        let until = *objects.get(object)?;
        if until <= now {
            objects.remove(object);
            return None;
        }
        Some(until - now)
    }
}

/// A client whose errors tell how long a busy server asks to wait.
pub fn connect(config: Config) -> kube::Result<Client> {
    Ok(ClientBuilder::try_from(config)?.with_layer(&MapResponseLayer::new(with_the_wait)).build())
}

fn with_the_wait<B>(answer: Response<B>) -> Response<Body>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    match wait_in(answer.status(), answer.headers()) {
        None => answer.map(Body::new),
        Some(seconds) => answer.map(|_| Body::from(busy(seconds))),
    }
}

/// The wait that only a header names; an object of the API names it itself.
fn wait_in(status: StatusCode, headers: &HeaderMap) -> Option<u32> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_object = text(header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    if status != StatusCode::TOO_MANY_REQUESTS || is_object {
        return None;
    }
    text(header::RETRY_AFTER)?.parse().ok()
}

fn busy(seconds: u32) -> String {
    let status = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": "TooManyRequests",
        "message": "too many requests, please try again later",
        "code": 429,
        "details": {"retryAfterSeconds": seconds},
    });
    status.to_string()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use kube::core::Status;

    use super::*;
    use crate::cache::Key;

    #[test]
    fn an_object_is_left_alone_until_its_time_and_others_are_not() {
        let patience = Patience::default();
        let key = Key { namespace: "data".to_owned(), name: "web".to_owned() };
        let (rollout, workload) = (Object::Rollout(key.clone()), Object::Workload(key));
        let now = Instant::now();
        patience.promise(workload.clone(), now + Duration::from_secs(3));
        assert_eq!(patience.left(&rollout, now), None);
        assert_eq!(patience.left(&workload, now + Duration::from_secs(1)), Some(Duration::from_secs(2)));
        assert_eq!(patience.left(&workload, now + Duration::from_secs(3)), None);
    }

    #[test]
    fn the_wait_is_taken_from_the_header_of_an_answer_that_is_no_object() {
        let mut headers = HeaderMap::new();
        assert_eq!(wait_in(StatusCode::TOO_MANY_REQUESTS, &headers), None);
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(wait_in(StatusCode::TOO_MANY_REQUESTS, &headers), Some(7));
        assert_eq!(wait_in(StatusCode::OK, &headers), None);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert_eq!(wait_in(StatusCode::TOO_MANY_REQUESTS, &headers), None);
    }

    #[test]
    fn the_answer_names_the_wait_as_the_api_does() {
        let status: Status = serde_json::from_str(&busy(7)).unwrap();
        assert_eq!((status.code, status.details.unwrap().retry_after_seconds), (429, 7));
    }
}
