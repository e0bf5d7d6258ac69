//! Providers at the wire: a server on this machine looks at the exact request and answers with the documented shapes,
//! errors included.
#![expect(clippy::unwrap_used, clippy::panic, reason = "this is test code")]

#[path = "wire/cloud_watch.rs"]
mod cloud_watch;
#[path = "wire/http.rs"]
mod http;
#[path = "wire/prometheus.rs"]
mod prometheus;
#[path = "wire/server.rs"]
mod server;
#[path = "wire/services.rs"]
mod services;
#[path = "wire/tls.rs"]
mod tls;
#[path = "wire/web.rs"]
mod web;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;
use windlass_analysis::gauge::Measured;
use windlass_analysis::http::Asker;
use windlass_analysis::providers::{self, Provider, Setting, Settings};
use windlass_analysis::redact::Redactor;

/// 2026-01-02T03:04:05.678Z
fn now() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678).unwrap()
}

fn provider(settings: &Json) -> Box<dyn Provider> {
    match providers::read("provider", settings) {
        Ok(Settings::Http(provider)) => provider,
        Ok(_) => panic!("{settings} is not asked over HTTP"),
        Err(flaws) => panic!("{settings}: {flaws:?}"),
    }
}

async fn measured(settings: &Json) -> Result<Measured, String> {
    measured_in(settings, &[]).await
}

/// The same in an environment.
async fn measured_in(settings: &Json, environment: &[(&str, &str)]) -> Result<Measured, String> {
    measured_with(settings, &[], environment).await
}

/// The same with a Secret.
async fn measured_with(
    settings: &Json,
    secret: &[(&str, &str)],
    environment: &[(&str, &str)],
) -> Result<Measured, String> {
    let texts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let (secret, environment) = (texts(secret), texts(environment));
    let setting = Setting { now: now(), namespace: "shop", secret: &secret, environment: &environment };
    let mut sent = Vec::new();
    let fetched = Asker::default().measure(provider(settings).as_ref(), &setting, &mut sent).await;
    let measured = fetched.map(|fetched| fetched.measured);
    measured.map_err(|error| Redactor::new(&sent).text(&error.to_string()))
}
