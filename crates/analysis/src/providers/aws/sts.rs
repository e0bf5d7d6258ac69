//! The Security Token Service: it exchanges a token of the cluster for credentials, and credentials for those of a role.

use form_urlencoded::Serializer;

use super::super::answers::Service;
use super::super::{Answer, Method, Request, Setting, Trust};
use super::credentials::{Found, TIMEOUT, endpoint, entry};
use super::{Credentials, Scope, sign};

/// A role that somebody takes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// Its full name, `arn:aws:iam::ACCOUNT:role/NAME`.
    pub(super) name: String,
    /// What the account is told of who takes it on.
    pub(super) session: Option<String>,
    /// What the account wants to hear besides.
    pub(super) external: Option<String>,
}

/// Exchanges a token of the cluster for the credentials of a role.
pub(super) fn exchange<'a>(
    setting: &Setting<'_>,
    region: &str,
    role: &Role,
    token: &str,
    answers: &'a [Answer],
) -> Result<Found<'a>, String> {
    let Some((answer, rest)) = answers.split_first() else {
        let more = [("WebIdentityToken", token)];
        return request(setting, region, "AssumeRoleWithWebIdentity", role, &more).map(Found::Ask);
    };
    let known = received(
        answer,
        "AWS_ROLE_ARN and whether the role trusts the controller's ServiceAccount",
        &[token],
    )?;
    Ok(Found::Known(known, rest))
}

/// Exchanges credentials for those of a role.
pub(super) fn assume<'a>(
    setting: &Setting<'_>,
    region: &str,
    role: &Role,
    known: &Credentials,
    answers: &'a [Answer],
) -> Result<Found<'a>, String> {
    let Some((answer, rest)) = answers.split_first() else {
        let external = role.external.as_deref().map(|external| ("ExternalId", external));
        let mut request = request(setting, region, "AssumeRole", role, external.as_slice())?;
        sign(&mut request, known, Scope { region, service: "sts" }, setting.now);
        return Ok(Found::Ask(request));
    };
    let look = format!("whether the controller's AWS credentials may take on the role {}", role.name);
    let secrets = [known.secret.as_str(), known.token.as_deref().unwrap_or_default()];
    Ok(Found::Known(received(answer, &look, &secrets)?, rest))
}

fn request(
    setting: &Setting<'_>,
    region: &str,
    action: &str,
    role: &Role,
    more: &[(&str, &str)],
) -> Result<Request, String> {
    let address = endpoint(setting.environment, "AWS_ENDPOINT_URL_STS", "sts", region)?;
    let session = role.session.as_deref().or_else(|| entry(setting.environment, "AWS_ROLE_SESSION_NAME"));
    let body = Serializer::new(String::new())
        .append_pair("Action", action)
        .append_pair("Version", "2011-06-15")
        .append_pair("RoleArn", &role.name)
        .append_pair("RoleSessionName", session.unwrap_or("windlass"))
        .extend_pairs(more)
        .finish();
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    Ok(Request {
        method: Method::Post,
        url: format!("{address}/"),
        headers: vec![("Content-Type".to_owned(), form.to_owned())],
        body: Some(body),
        timeout: TIMEOUT,
        trust: Trust::default(),
    })
}

/// The credentials that were answered.
fn received(answer: &Answer, look: &str, secrets: &[&str]) -> Result<Credentials, String> {
    let service = Service { name: "AWS STS", credentials: look, secrets };
    let text = String::from_utf8_lossy(&answer.body);
    if !answer.is_good() {
        let reason = element(&text, "Code").zip(element(&text, "Message"));
        return Err(service.refusal(answer, reason.map(|(code, message)| format!("{code}: {message}"))));
    }
    let part = |name: &str| {
        element(&text, name).ok_or_else(|| format!("AWS STS answered without {name}, which credentials need"))
    };
    Ok(Credentials {
        key: part("AccessKeyId")?,
        secret: part("SecretAccessKey")?,
        token: Some(part("SessionToken")?),
    })
}

/// The text of the first element of this name. What STS writes into elements of these names has no elements within.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.split_once(&format!("</{name}>"))?;
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    Some(signs.iter().fold(inner.trim().to_owned(), |text, (written, sign)| text.replace(written, sign)))
}
