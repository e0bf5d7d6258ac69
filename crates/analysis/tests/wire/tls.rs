//! Encrypted connections: whom we trust, and who we are. The certificates beside this file are for these tests only, and
//! valid until 2120.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value as Json, json};
use tokio_rustls::TlsAcceptor;
use windlass_analysis::expression::Value;

use super::measured;
use super::server::{Reply, Server};

const AUTHORITY: &str = include_str!("tls/ca.pem");
const CERTIFICATE: &str = include_str!("tls/client.pem");
const KEY: &str = include_str!("tls/client.key");

/// A server that may want to know who we are.
async fn server(asks_who_we_are: bool) -> Server {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY.as_bytes()).unwrap()).unwrap();
    let builder = if asks_who_we_are {
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));
    Server::encrypted([Reply::good("1")], acceptor).await
}

async fn asked(server: &Server, settings: Json) -> Result<Value, String> {
    let mut settings = settings;
    settings["url"] = json!(format!("https://{}/", server.address));
    let measured = measured(&json!({"web": settings})).await;
    measured
        .map(|measured| measured.value)
        .map_err(|error| error.replace(&server.address.to_string(), "HOST"))
}

#[tokio::test]
async fn a_server_is_trusted_if_its_authority_is_named_or_nobody_looks() {
    let server = server(false).await;
    let good = Ok(Value::Float(1.0));
    assert_eq!(asked(&server, json!({"tls": {"ca": AUTHORITY}})).await, good);
    assert_eq!(asked(&server, json!({"insecure": true})).await, good);
    let error = asked(&server, json!({})).await.unwrap_err();
    assert_eq!(
        error,
        "cannot reach HOST: invalid peer certificate: UnknownIssuer; name its authority in tls.ca"
    );
    let error = asked(&server, json!({"tls": {"ca": CERTIFICATE}})).await.unwrap_err();
    assert!(error.starts_with("cannot reach HOST: invalid peer certificate: "), "{error}");
}

#[tokio::test]
async fn a_server_that_wants_to_know_who_we_are_is_told() {
    let server = server(true).await;
    let tls = json!({"ca": AUTHORITY, "certificate": CERTIFICATE, "key": KEY});
    assert_eq!(asked(&server, json!({"tls": tls})).await, Ok(Value::Float(1.0)));
    let error = asked(&server, json!({"tls": {"ca": AUTHORITY}})).await.unwrap_err();
    assert!(error.contains("CertificateRequired"), "{error}");
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_told_without_being_shown() {
    let server = server(false).await;
    let broken = "-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----\n";
    let rows = [
        (
            json!({"ca": broken}),
            "a certificate in tls.ca cannot be used: invalid peer certificate: BadEncoding",
        ),
        (json!({"ca": KEY}), "tls.ca has no certificate in PEM"),
        (json!({"certificate": CERTIFICATE, "key": broken}), "tls.key is no private key in PEM"),
        (json!({"certificate": KEY, "key": KEY}), "tls.certificate has no certificate in PEM"),
    ];
    for (tls, words) in rows {
        assert_eq!(asked(&server, json!({"tls": tls})).await, Err(words.to_owned()));
    }
    let tls = json!({"certificate": AUTHORITY, "key": KEY});
    let error = asked(&server, json!({"tls": tls})).await.unwrap_err();
    assert!(error.starts_with("tls.certificate and tls.key do not belong together: "), "{error}");
}
