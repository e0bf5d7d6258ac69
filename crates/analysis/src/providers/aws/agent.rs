//! An agent beside the container that gives credentials to whoever is there: that of ECS, or of EKS pod identity.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::super::answers::{Service, text_at};
use super::super::{Answer, Method, Reach, Request, Trust};
use super::Credentials;
use super::credentials::{Found, TIMEOUT, entry};

/// Where agents are that may be asked without encryption: this machine, ECS, and EKS by both kinds of address.
const NEAR: [&str; 6] =
    ["localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// Where an agent is, if the environment names one. It gives credentials away, so it is asked without encryption only
/// where nobody else can listen.
pub(super) fn address(environment: &BTreeMap<String, String>) -> Result<Option<String>, String> {
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

/// Asks it, or reads what it answered.
pub(super) fn ask<'a>(
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
