//! Who asks: by name and password, by a token, or by a token that is asked for first (OAuth 2.0, client credentials).

use std::time::Duration;

use serde_json::Value as Json;

use super::answers::Service;
use super::fields::Fields;
use super::{Answer, Method, Request, Trust, form};
use crate::expression::to_base64;

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
    /// With this header, if any, whatever is to be asked can be asked; these are the answers to it so far.
    Done(Option<(String, String)>, &'a [Answer]),
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
            ];
            if block.block("sigv4", |it| ["region", "profile", "roleArn"].map(|name| it.text(name))).is_some()
            {
                block.flaw("sigv4", "signing for AWS is not served: put a signing proxy before the server");
            }
            let mut ways = ways.into_iter().flatten();
            let first = ways.next();
            if ways.next().is_some() {
                block.flaw("basicAuth", "more than one way to say who asks: keep one");
            }
            first
        };
        fields.block("authentication", read).flatten().unwrap_or(Self::Nobody)
    }

    /// What has to be asked before the real question, or the header that goes with it.
    pub(super) fn introduce<'a>(
        &self,
        answers: &'a [Answer],
        timeout: Duration,
        trust: &Trust,
    ) -> Result<Introduction<'a>, String> {
        let header = |value: String| Some(("Authorization".to_owned(), value));
        Ok(match self {
            Self::Nobody => Introduction::Done(None, answers),
            Self::Basic { username, password } => Introduction::Done(
                header(format!("Basic {}", to_base64(&format!("{username}:{password}")))),
                answers,
            ),
            Self::Bearer(token) => Introduction::Done(header(format!("Bearer {token}")), answers),
            Self::Client(client) => match answers {
                [] => Introduction::Ask(client.asks_in_header(timeout, trust)),
                // Some servers want to read it in the body, and nobody knows beforehand which.
                [refused] if !refused.is_good() => Introduction::Ask(client.asks_in_body(timeout, trust)),
                [refused, answer, rest @ ..] if !refused.is_good() => {
                    Introduction::Done(header(client.token(answer)?), rest)
                }
                [answer, rest @ ..] => Introduction::Done(header(client.token(answer)?), rest),
            },
        })
    }
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

    /// The token, as a header says it.
    fn token(&self, answer: &Answer) -> Result<String, String> {
        let failed = |why: String| format!("no token for client {:?}: {why}", self.id);
        let json: Option<Json> = serde_json::from_slice(&answer.body).ok();
        let text = |name: &str| json.as_ref()?.get(name)?.as_str().filter(|text| !text.is_empty());
        if !answer.is_good() {
            let server = Service {
                name: &self.token_url,
                credentials: "clientId and clientSecret",
                secrets: &[&self.secret],
            };
            let reason = text("error_description").or(text("error")).map(ToOwned::to_owned);
            return Err(failed(server.refusal(answer, reason)));
        }
        // The body is not told: it may hold a token in a shape that nobody expected.
        let token = text("access_token")
            .ok_or_else(|| failed(format!("the answer of {} has no access_token", self.token_url)))?;
        Ok(format!("Bearer {token}"))
    }
}
