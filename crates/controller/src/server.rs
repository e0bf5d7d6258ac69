//! Health and metrics over HTTP, for probes and Prometheus.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::cache::Caches;
use crate::metrics::Metrics;

#[derive(Clone)]
struct Served {
    caches: Arc<Caches>,
    metrics: Arc<Metrics>,
}

/// Serves until the process ends.
pub(crate) async fn serve(listener: TcpListener, caches: Arc<Caches>, metrics: Arc<Metrics>) {
    let router = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_text))
        .with_state(Served { caches, metrics });
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "health server ended");
    }
}

async fn ready(State(served): State<Served>) -> Response {
    if served.caches.is_synced() {
        "ok".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the caches are not filled yet").into_response()
    }
}

async fn metrics_text(State(served): State<Served>) -> Response {
    match served.metrics.text(&served.caches) {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
