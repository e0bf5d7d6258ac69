//! Where the credentials for AWS come from, in the order of its own tools: the environment; a token of the cluster that
//! STS exchanges (IRSA); an agent beside the container (ECS, EKS pod identity). The last two are asked first, each
//! measurement anew. Files are the business of whoever fills the environment: the content of the file that
//! `AWS_WEB_IDENTITY_TOKEN_FILE` names stands under `AWS_WEB_IDENTITY_TOKEN`, and that of
//! `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` under `AWS_CONTAINER_AUTHORIZATION_TOKEN`.

use std::collections::BTreeMap;
use std::time::Duration;

use form_urlencoded::Serializer;
use serde_json::Value as Json;

use super::super::answers::{Service, text_at};
use super::super::fields::base_address;
use super::super::{Answer, Method, Reach, Request, Trust};
use super::Credentials;

/// How long an answer is waited for; one is enough.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// Where agents are that may be asked without encryption: this machine, ECS, and EKS by both kinds of address.
const NEAR: [&str; 6] =
    ["localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// What comes of looking for credentials.
pub enum Found<'a> {
    /// They are there, and these answers are to what was asked with them.
    Known(Credentials, &'a [Answer]),
    /// Somebody has to be asked.
    Ask(Request),
}

/// The region that the environment names.
pub fn region(environment: &BTreeMap<String, String>) -> Result<&str, String> {
    let region = entry(environment, "AWS_REGION")
        .or_else(|| entry(environment, "AWS_DEFAULT_REGION"))
        .ok_or("the region of AWS is not known: set AWS_REGION in the controller's environment")?;
    if !is_region(region) {
        return Err(format!("AWS_REGION is {region:?}, which is no region such as eu-central-1"));
    }
    Ok(region)
}

/// Whether a text can be the name of a region: it becomes part of an address.
pub fn is_region(text: &str) -> bool {
    text.chars().all(|character| character.is_ascii_alphanumeric() || character == '-')
}

/// The address of a service: what the environment says, or the usual one of the region.
pub fn endpoint(
    environment: &BTreeMap<String, String>,
    variable: &str,
    host: &str,
    region: &str,
) -> Result<String, String> {
    for name in [variable, "AWS_ENDPOINT_URL"] {
        if let Some(address) = entry(environment, name) {
            return base_address(address).map_err(|what| format!("{name} is {what}"));
        }
    }
    let end = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    Ok(format!("https://{host}.{region}.{end}"))
}

/// Looks for credentials. Where somebody is asked for them is for the environment to say, not for a template.
pub fn find<'a>(environment: &BTreeMap<String, String>, answers: &'a [Answer]) -> Result<Found<'a>, String> {
    if let (Some(key), Some(secret)) =
        (entry(environment, "AWS_ACCESS_KEY_ID"), entry(environment, "AWS_SECRET_ACCESS_KEY"))
    {
        let token = entry(environment, "AWS_SESSION_TOKEN").map(str::to_owned);
        return Ok(Found::Known(
            Credentials { key: key.to_owned(), secret: secret.to_owned(), token },
            answers,
        ));
    }
    if let Some(role) = entry(environment, "AWS_ROLE_ARN") {
        return exchanged(environment, role, answers);
    }
    if let Some(address) = agent(environment)? {
        return from_agent(environment, address, answers);
    }
    Err("there are no credentials for AWS: give the controller a role (IRSA or EKS pod identity), or set \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its environment"
        .to_owned())
}

/// A token of the cluster, exchanged by STS.
fn exchanged<'a>(
    environment: &BTreeMap<String, String>,
    role: &str,
    answers: &'a [Answer],
) -> Result<Found<'a>, String> {
    let token = entry(environment, "AWS_WEB_IDENTITY_TOKEN").ok_or(
        "AWS_ROLE_ARN is set, but there is no token to exchange for it: check the file that \
         AWS_WEB_IDENTITY_TOKEN_FILE names",
    )?;
    let Some((answer, rest)) = answers.split_first() else {
        let address = endpoint(environment, "AWS_ENDPOINT_URL_STS", "sts", region(environment)?)?;
        let session = entry(environment, "AWS_ROLE_SESSION_NAME").unwrap_or("windlass");
        let body = Serializer::new(String::new())
            .append_pair("Action", "AssumeRoleWithWebIdentity")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", role)
            .append_pair("RoleSessionName", session)
            .append_pair("WebIdentityToken", token)
            .finish();
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        return Ok(Found::Ask(Request {
            method: Method::Post,
            url: format!("{address}/"),
            headers: vec![("Content-Type".to_owned(), form.to_owned())],
            body: Some(body),
            timeout: TIMEOUT,
            trust: Trust::default(),
        }));
    };
    let service = Service {
        name: "AWS STS",
        credentials: "AWS_ROLE_ARN and whether the role trusts the controller's ServiceAccount",
        secrets: &[token],
    };
    let text = String::from_utf8_lossy(&answer.body);
    if !answer.is_good() {
        let reason = element(&text, "Code").zip(element(&text, "Message"));
        return Err(service.refusal(answer, reason.map(|(code, message)| format!("{code}: {message}"))));
    }
    let part = |name: &str| {
        element(&text, name).ok_or_else(|| format!("AWS STS answered without {name}, which credentials need"))
    };
    let known = Credentials {
        key: part("AccessKeyId")?,
        secret: part("SecretAccessKey")?,
        token: Some(part("SessionToken")?),
    };
    Ok(Found::Known(known, rest))
}

/// The text of the first element of this name. What STS writes into elements of these names has no elements within.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.split_once(&format!("</{name}>"))?;
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    Some(signs.iter().fold(inner.trim().to_owned(), |text, (written, sign)| text.replace(written, sign)))
}

/// Where an agent is, if the environment names one. It gives credentials away, so it is asked without encryption only
/// where nobody else can listen.
fn agent(environment: &BTreeMap<String, String>) -> Result<Option<String>, String> {
    if let Some(path) = entry(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        return Ok(Some(format!("http://169.254.170.2/{}", path.trim_start_matches('/'))));
    }
    let Some(address) = entry(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI") else { return Ok(None) };
    let near = address.strip_prefix("http://").is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        NEAR.iter().any(|near| {
            let port = host.strip_prefix(near).map(|rest| rest.strip_prefix(':').unwrap_or(rest));
            port.is_some_and(|port| port.chars().all(|character| character.is_ascii_digit()))
        })
    });
    if near || address.starts_with("https://") {
        return Ok(Some(address.to_owned()));
    }
    Err("AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or be on this machine or at the address of ECS or EKS"
        .to_owned())
}

fn from_agent<'a>(
    environment: &BTreeMap<String, String>,
    address: String,
    answers: &'a [Answer],
) -> Result<Found<'a>, String> {
    let token = entry(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    let Some((answer, rest)) = answers.split_first() else {
        let authorization = token.map(|token| ("Authorization".to_owned(), token.to_owned()));
        return Ok(Found::Ask(Request {
            method: Method::Get,
            url: address,
            headers: authorization.into_iter().collect(),
            body: None,
            timeout: TIMEOUT,
            trust: Trust { reach: Reach::Machine, ..Trust::default() },
        }));
    };
    let service = Service {
        name: "the agent for AWS credentials",
        credentials: "whether the controller's ServiceAccount has a role",
        secrets: token.as_slice(),
    };
    let json =
        service.json(answer, |json| text_at(json, "/message").or_else(|| text_at(json, "/Message")))?;
    let part = |name: &str| {
        text_at(&json, &format!("/{name}"))
            .ok_or_else(|| format!("the agent for AWS credentials answered without {name}"))
    };
    let known = Credentials {
        key: part("AccessKeyId")?,
        secret: part("SecretAccessKey")?,
        token: json.get("Token").and_then(Json::as_str).map(str::to_owned),
    };
    Ok(Found::Known(known, rest))
}

fn entry<'a>(environment: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}
