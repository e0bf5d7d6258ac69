//! What every service of AWS wants: requests signed by Signature Version 4. The signature covers the whole request, so
//! nothing may be added to its headers afterwards.

mod agent;
pub mod credentials;
pub mod profile;
mod sts;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::Timestamp;
use ring::{digest, hmac};

use super::{Method, Request, is_sent};

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name of the key.
    pub key: String,
    /// The key itself.
    pub secret: String,
    /// What makes a key that lasts for hours only valid.
    pub token: Option<String>,
}

/// What is asked, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope<'a> {
    /// The region, such as eu-central-1.
    pub region: &'a str,
    /// The service by the name it signs with, such as monitoring.
    pub service: &'a str,
}

/// Adds the date and the signature to a request.
pub fn sign(request: &mut Request, credentials: &Credentials, scope: Scope<'_>, now: Timestamp) {
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = time.get(..8).unwrap_or_default().to_owned();
    request.headers.push(("X-Amz-Date".to_owned(), time.clone()));
    if let Some(token) = &credentials.token {
        request.headers.push(("X-Amz-Security-Token".to_owned(), token.clone()));
    }
    leave_as_sent(&mut request.headers);
    let (asked, signed) = canonical(request);
    let place = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{place}\n{}", hex(digest(asked.as_bytes()).as_ref()));
    let first = format!("AWS4{}", credentials.secret);
    let key = [day.as_str(), scope.region, scope.service, "aws4_request"]
        .iter()
        .fold(first.into_bytes(), |key, part| mac(&key, part));
    let signature = hex(&mac(&key, &text));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{place}, SignedHeaders={signed}, Signature={signature}",
        credentials.key
    );
    request.headers.push(("Authorization".to_owned(), authorization));
}

/// Leaves the headers that are sent: of those with the same name the last one, and none that are for the sender to write. Who
/// asks is told by the signature, and not by a header beside it.
fn leave_as_sent(headers: &mut Vec<(String, String)>) {
    let mut names = BTreeSet::from(["authorization".to_owned()]);
    headers.reverse();
    headers.retain(|(name, _)| is_sent(name) && names.insert(name.to_lowercase()));
    headers.reverse();
}

/// The request as the signature sees it, and the names of the headers in it.
fn canonical(request: &Request) -> (String, String) {
    let (scheme, rest) = request.url.split_once("://").unwrap_or(("", &request.url));
    let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |end| rest.split_at(end));
    // As it is sent: without the port that everybody knows.
    let usual = if scheme == "http" { ":80" } else { ":443" };
    let host = host.strip_suffix(usual).unwrap_or(host);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = if path.is_empty() { "/".to_owned() } else { encoded(path, true) };
    let mut parameters: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (encoded(&name, false), encoded(&value, false)))
        .collect();
    parameters.sort();
    let query: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_lowercase(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .chain([("host".to_owned(), host.to_owned())])
        .collect();
    headers.sort();
    let signed: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let signed = signed.join(";");
    let method = match request.method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
    };
    let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let body = hex(digest(request.body.as_deref().unwrap_or_default().as_bytes()).as_ref());
    let text = format!("{method}\n{path}\n{}\n{}\n{signed}\n{body}", query.join("&"), lines.concat());
    (text, signed)
}

/// A text as AWS encodes it: everything but letters, digits and four signs.
fn encoded(text: &str, path: bool) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            b'/' if path => encoded.push('/'),
            // Writing to a text never fails.
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}

fn digest(bytes: &[u8]) -> digest::Digest {
    digest::digest(&digest::SHA256, bytes)
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a text never fails.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
