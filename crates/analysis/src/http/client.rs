//! Connections: who is trusted on them, who we are, and what is said when there is none.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::in_time::InTime;
use super::lookup::{Lookups, Resolver};
use crate::providers::Trust;

/// What is sent.
pub(super) type Body = String;
/// What comes back.
pub(super) type Incoming = hyper::body::Incoming;
/// Connections to everybody, of one trust.
pub(super) type Client = Pool<InTime<HttpsConnector<HttpConnector<Resolver>>>, Body>;

/// How long a connection that nobody uses is kept: shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(30);
/// How many of those are kept for one host.
const IDLE_AT_ONCE: usize = 16;
/// How long it may take until there is a connection, whoever still waits for it.
const CONNECTING: Duration = Duration::from_secs(30);

/// What is said of https where there is nobody to trust.
const NO_AUTHORITIES: &str = "no server can be trusted over https, because there are no certificates of authorities \
                              here: name the server's in tls.ca, or a file with the usual ones in SSL_CERT_FILE";

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encryption {
    /// http
    Off,
    /// https
    On,
}

/// A client that trusts whom it should. Where nothing is encrypted, certificates play no part, not even missing ones.
pub(super) fn client(trust: &Trust, encryption: Encryption, lookups: Lookups) -> Result<Client, String> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver::new(lookups, trust.reach));
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(configuration(trust, encryption)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Pool::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_AT_ONCE)
        .pool_timer(TokioTimer::new())
        .build(InTime::new(connector, CONNECTING)))
}

fn configuration(trust: &Trust, encryption: Encryption) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let failed = |what: &str, error: &dyn Error| format!("{what}: {error}");
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| failed("TLS cannot be set up", &error))?;
    if encryption == Encryption::Off {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    let builder = match &trust.authorities {
        _ if trust.insecure => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        }
        Some(authorities) => builder.with_root_certificates(roots(authorities)?),
        // What it says besides has the paths of this machine in it.
        None => builder.with_native_roots().map_err(|_| NO_AUTHORITIES.to_owned())?,
    };
    let Some((certificate, key)) = &trust.identity else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates("tls.certificate", certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| "tls.key is no private key in PEM".to_owned())?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| failed("tls.certificate and tls.key do not belong together", &error))
}

fn roots(authorities: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for authority in certificates("tls.ca", authorities)? {
        roots.add(authority).map_err(|error| format!("a certificate in tls.ca cannot be used: {error}"))?;
    }
    Ok(roots)
}

/// The certificates in a text. It is not told: a person may have put the key there.
fn certificates(field: &str, pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match read {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) | Err(_) => Err(format!("{field} has no certificate in PEM")),
    }
}

/// Takes any certificate: what `insecure` asks for. Signatures are checked all the same.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The cause at the bottom, in words.
pub(super) fn why(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    loop {
        let io = cause.downcast_ref::<io::Error>();
        if let Some(words) = io.and_then(|io| known(io.kind())) {
            return words.to_owned();
        }
        // An error of io does not name what it wraps as its source, but that one's source.
        let wrapped = io.and_then(io::Error::get_ref).map(|inner| inner as &(dyn Error + 'static));
        match wrapped.or_else(|| cause.source()) {
            Some(next) => cause = next,
            None => return tls_words(cause),
        }
    }
}

fn known(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some("connection refused"),
        io::ErrorKind::ConnectionReset => Some("connection reset"),
        io::ErrorKind::HostUnreachable => Some("host unreachable"),
        io::ErrorKind::NetworkUnreachable => Some("network unreachable"),
        _ => None,
    }
}

fn tls_words(cause: &(dyn Error + 'static)) -> String {
    let hint = match cause.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(_)) => "; name its authority in tls.ca",
        Some(rustls::Error::InvalidMessage(_)) => "; does it speak http instead of https?",
        _ => "",
    };
    format!("{cause}{hint}")
}
