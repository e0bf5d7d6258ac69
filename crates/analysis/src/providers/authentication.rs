//! Who asks: by name and password, by a token, by a token that is asked for first (OAuth 2.0, client credentials), or by
//! a signature with the controller's credentials for AWS.

use std::time::Duration;

use http::Uri;
use jiff::Timestamp;

use super::answers::{Service, read_json};
use super::aws::credentials::{self, Wanted};
use super::aws::{self, Credentials, Scope};
use super::fields::{Fields, is_open};
use super::{Answer, Method, Request, Setting, Trust, form};
use crate::expression::to_base64;

/// What signatures are for: Amazon Managed Service for Prometheus.
const SIGNED_SERVICE: &str = "aps";
/// The names of its hosts, and what they end with.
const SIGNED_HOSTS: [&str; 2] = ["aps-workspaces", "aps-workspaces-fips"];
const SIGNED_ENDS: [&str; 3] = ["amazonaws.com", "amazonaws.com.cn", "api.aws"];

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Authentication {
    /// Nobody says.
    Nobody,
    /// By name and password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: String,
    },
    /// By a token.
    Bearer(String),
    /// By a token that is asked for first.
    Client(Client),
    /// By a signature for a region of AWS.
    Signed {
        /// The region.
        region: String,
        /// With these credentials.
        wanted: Wanted,
    },
}

/// Who asks for a token.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Client {
    token_url: String,
    id: String,
    secret: String,
    scopes: Vec<String>,
}

/// What comes of introducing oneself.
pub(super) enum Introduction<'a> {
    /// First this is asked.
    Ask(Request),
    /// With this whatever is to be asked can be asked; these are the answers to it so far.
    Done(Proof, &'a [Answer]),
}

/// What a request has to have.
pub(super) enum Proof {
    /// Nothing.
    Nothing,
    /// This in its header `Authorization`.
    Header(String),
    /// A signature.
    Signature {
        /// With these credentials.
        known: Credentials,
        /// For this region.
        region: String,
    },
}

impl Proof {
    /// Puts it on a request that has everything else already, because a signature is of all that.
    pub(super) fn put_on(self, request: &mut Request, now: Timestamp) {
        match self {
            Self::Nothing => {}
            Self::Header(value) => request.headers.push(("Authorization".to_owned(), value)),
            Self::Signature { known, region } => {
                aws::sign(request, &known, Scope { region: &region, service: SIGNED_SERVICE }, now);
            }
        }
    }
}

impl Authentication {
    /// Reads the block `authentication`.
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let read = |block: &mut Fields<'_>| {
            let ways = [
                block.block("basicAuth", |basic| Self::Basic {
                    username: basic.required("username"),
                    password: basic.text("password").unwrap_or_default(),
                }),
                block.block("bearer", |bearer| Self::Bearer(bearer.required("token"))),
                block.block("oauth2", |client| {
                    Self::Client(Client {
                        token_url: client.required_address("tokenUrl"),
                        id: client.required("clientId"),
                        secret: client.required("clientSecret"),
                        scopes: client.texts("scopes"),
                    })
                }),
                block.block("sigv4", signed),
            ];
            let mut ways = ways.into_iter().flatten();
            let first = ways.next();
            if ways.next().is_some() {
                block.flaw("basicAuth", "more than one way to say who asks: keep one");
            }
            first
        };
        fields.block("authentication", read).flatten().unwrap_or(Self::Nobody)
    }

    /// How long it may take to be able to ask, where one answer is waited for so long.
    pub(super) fn longest(&self, timeout: Duration) -> Duration {
        match self {
            Self::Nobody | Self::Basic { .. } | Self::Bearer(_) => Duration::ZERO,
            Self::Client(_) => timeout.saturating_mul(2),
            // The environment may name a profile, too.
            Self::Signed { .. } => credentials::TIMEOUT.saturating_mul(credentials::MOST_ASKED),
        }
    }

    /// Whether an address that a template names may be asked so. A signature is the controller's own, and so is the token
    /// that is sent with it: they are for the service alone, in the region that they are made for.
    pub(super) fn check(&self, address: &str) -> Result<(), String> {
        match self {
            Self::Signed { region, .. } if !is_signed_service(address, region) => Err(format!(
                "requests are signed for Amazon Managed Service for Prometheus only: https://aps-workspaces.{region}.amazonaws.com"
            )),
            Self::Signed { .. } | Self::Nobody | Self::Basic { .. } | Self::Bearer(_) | Self::Client(_) => {
                Ok(())
            }
        }
    }

    /// What has to be asked before the real question, or what goes with it.
    pub(super) fn introduce<'a>(
        &self,
        setting: &Setting<'_>,
        answers: &'a [Answer],
        timeout: Duration,
        trust: &Trust,
    ) -> Result<Introduction<'a>, String> {
        Ok(match self {
            Self::Nobody => Introduction::Done(Proof::Nothing, answers),
            Self::Basic { username, password } => {
                let who = to_base64(&format!("{username}:{password}"));
                Introduction::Done(Proof::Header(format!("Basic {who}")), answers)
            }
            Self::Bearer(token) => Introduction::Done(Proof::Header(format!("Bearer {token}")), answers),
            Self::Signed { region, wanted } => match credentials::find(setting, wanted, answers)? {
                credentials::Found::Ask(request) => Introduction::Ask(request),
                credentials::Found::Known(known, rest) => {
                    Introduction::Done(Proof::Signature { known, region: region.clone() }, rest)
                }
            },
            Self::Client(client) => match answers {
                [] => Introduction::Ask(client.asks_in_header(timeout, trust)),
                // Some servers want to read it in the body, and nobody knows beforehand which.
                [refused] if !refused.is_good() => Introduction::Ask(client.asks_in_body(timeout, trust)),
                [refused, answer, rest @ ..] if !refused.is_good() => {
                    Introduction::Done(Proof::Header(client.token(answer)?), rest)
                }
                [answer, rest @ ..] => Introduction::Done(Proof::Header(client.token(answer)?), rest),
            },
        })
    }
}

/// Whether an address is one of the service, in this region. Other hosts of AWS may be anybody's.
fn is_signed_service(address: &str, region: &str) -> bool {
    let Ok(uri) = address.parse::<Uri>() else { return false };
    let mut parts = region.split('-');
    let is_region = parts.next().is_some_and(|first| first.chars().all(|letter| letter.is_ascii_lowercase()))
        && parts.next_back().is_some_and(|last| last.chars().all(|digit| digit.is_ascii_digit()))
        && parts.next().is_some();
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let is_host =
        SIGNED_HOSTS.iter().flat_map(|name| SIGNED_ENDS.map(|end| (name, end))).any(|(name, end)| {
            host == format!("{name}.{region}.{end}")
                || host.ends_with(&format!(".{name}.{region}.vpce.{end}"))
        });
    uri.scheme_str() == Some("https") && credentials::is_region(region) && is_region && is_host
}

/// Reads the block `sigv4`.
fn signed(fields: &mut Fields<'_>) -> Authentication {
    let region = fields.required("region");
    if !region.is_empty() && !is_open(&region) && !credentials::is_region(&region) {
        fields.flaw("region", format!("{region:?} is no region such as eu-central-1"));
    }
    let role = fields.text("roleArn");
    if role.as_ref().is_some_and(|role| !is_open(role) && !is_role(role)) {
        fields.flaw("roleArn", "it is no role such as arn:aws:iam::123456789012:role/metrics");
    }
    let wanted = Wanted { profile: fields.text("profile"), role, region: Some(region.clone()) };
    Authentication::Signed { region, wanted }
}

/// Whether a text can be the full name of a role.
fn is_role(text: &str) -> bool {
    text.starts_with("arn:") && text.contains(":role/") && !text.contains(char::is_whitespace)
}

impl Client {
    fn asks_in_header(&self, timeout: Duration, trust: &Trust) -> Request {
        let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let who = format!("Basic {}", to_base64(&format!("{}:{}", encoded(&self.id), encoded(&self.secret))));
        let mut request = self.asks(&[], timeout, trust);
        request.headers.push(("Authorization".to_owned(), who));
        request
    }

    fn asks_in_body(&self, timeout: Duration, trust: &Trust) -> Request {
        self.asks(&[("client_id", &self.id), ("client_secret", &self.secret)], timeout, trust)
    }

    fn asks(&self, who: &[(&str, &str)], timeout: Duration, trust: &Trust) -> Request {
        let scope = self.scopes.join(" ");
        let mut pairs = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            pairs.push(("scope", &scope));
        }
        pairs.extend(who);
        Request {
            method: Method::Post,
            url: self.token_url.clone(),
            headers: vec![("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned())],
            body: Some(form(&pairs)),
            timeout,
            trust: trust.clone(),
        }
    }

    /// Who is asked for the token. The rest of the address may hold a secret.
    fn server(&self) -> &str {
        let behind = self.token_url.split_once("://").map_or(self.token_url.as_str(), |(_, rest)| rest);
        behind.split(['/', '?', '#']).next().unwrap_or_default()
    }

    /// The token, as a header says it.
    fn token(&self, answer: &Answer) -> Result<String, String> {
        let failed = |why: String| format!("no token for client {:?}: {why}", self.id);
        let json = read_json(&answer.body).ok();
        let text = |name: &str| json.as_ref()?.get(name)?.as_str().filter(|text| !text.is_empty());
        if !answer.is_good() {
            let server = Service {
                name: self.server(),
                credentials: "clientId and clientSecret",
                secrets: &[&self.secret],
            };
            let reason = text("error_description").or(text("error")).map(ToOwned::to_owned);
            return Err(failed(server.refusal(answer, reason)));
        }
        // The body is not told: it may hold a token in a shape that nobody expected.
        let token = text("access_token")
            .ok_or_else(|| failed(format!("the answer of {} has no access_token", self.server())))?;
        Ok(format!("Bearer {token}"))
    }
}
