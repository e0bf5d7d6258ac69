//! The server on a port of this machine, so that kubectl can look around in it. Nobody is checked: whoever can open the
//! port is whom they say they are, so it is bound to the loopback only.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use tokio::net::TcpListener;
use tower::Service as _;

use crate::server::Caller;
use crate::service::Cluster;

/// Who asks when a request says nothing about that.
const SOMEBODY: &str = "admin";

/// Serves until it is dropped, or the listener fails.
pub async fn serve(listener: TcpListener, cluster: Cluster) -> std::io::Result<()> {
    axum::serve(listener, Router::new().fallback(answer).with_state(cluster)).await
}

async fn answer(State(cluster): State<Cluster>, request: Request) -> Response<Body> {
    let caller = caller(request.headers());
    match cluster.service(caller).call(request).await {
        Ok(response) => response,
        Err(error) => {
            let mut response = Response::new(Body::from(error.to_string()));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    }
}

/// The user whom the request names: `--as` of kubectl, or the bearer token, which is a name here.
fn caller(headers: &HeaderMap) -> Caller {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let token = text(header::AUTHORIZATION.as_str()).and_then(|it| it.strip_prefix("Bearer "));
    let user = text("impersonate-user").or(token).filter(|name| !name.is_empty());
    Caller::new(user.unwrap_or(SOMEBODY))
}

/// A kubeconfig for this port, as this user.
pub fn kubeconfig(address: SocketAddr, user: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: windlass-sim
clusters:
- name: windlass-sim
  cluster: {{server: \"http://{address}\"}}
contexts:
- name: windlass-sim
  context: {{cluster: windlass-sim, user: {user:?}, namespace: default}}
users:
- name: {user:?}
  user: {{token: {user:?}}}
"
    )
}
