//! Connections that are there in time or not at all. Whoever wants one may be given another's that has become free
//! meanwhile. Theirs is then made to its end all the same, for whoever comes next, and nobody else looks at the clock.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use tokio::time::timeout;
use tower::{BoxError, Service};

use super::taken::words_of;

/// Makes connections as another does, within a time: the address of the name, the connection, and its encryption.
#[derive(Clone)]
pub(super) struct InTime<Connector> {
    connector: Connector,
    limit: Duration,
}

impl<Connector> InTime<Connector> {
    pub(super) fn new(connector: Connector, limit: Duration) -> Self {
        Self { connector, limit }
    }
}

impl<Connector> Service<Uri> for InTime<Connector>
where
    Connector: Service<Uri>,
    Connector::Response: 'static,
    Connector::Error: Into<BoxError>,
    Connector::Future: Send + 'static,
{
    type Response = Connector::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Connector::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connecting, limit) = (self.connector.call(to), self.limit);
        let connected = async move {
            let too_late = |_| {
                let words = format!("no connection within {}", words_of(limit));
                BoxError::from(io::Error::new(io::ErrorKind::TimedOut, words))
            };
            timeout(limit, connecting).await.map_err(too_late)?.map_err(Into::into)
        };
        connected.boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Pending, pending};

    use super::super::client::why;
    use super::*;

    #[tokio::test]
    async fn a_connection_that_never_comes_about_is_given_up() {
        let never = tower::service_fn(|_: Uri| -> Pending<Result<(), io::Error>> { pending() });
        let mut connector = InTime::new(never, Duration::from_millis(10));
        let error = connector.call(Uri::from_static("https://example.com/")).await.unwrap_err();
        assert_eq!(why(&*error), "no connection within 10ms");
    }
}
