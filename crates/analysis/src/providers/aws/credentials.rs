//! Where the credentials for AWS come from, in the order of its own tools: the environment; a token of the cluster that
//! STS exchanges (IRSA); a profile; an agent beside the container (ECS, EKS pod identity). A metric may name a profile,
//! and a role that is taken on with what was found. Whoever has to be asked is asked first, each measurement anew. Files
//! are the business of whoever fills the environment (`crate::environment`): what they hold stands there.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::fields::base_address;
use super::super::{Answer, Request, Setting};
use super::sts::{self, Role};
use super::{Credentials, agent, profile};

/// How long an answer is waited for; one is enough.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// How many roles the profiles of one another may lead to.
pub(super) const MOST_ROLES: usize = 3;
/// How many times somebody is asked at most before there are credentials: for those that all begins with, for each role
/// that profiles lead to, and for the one that a metric names.
pub const MOST_ASKED: u32 = 5;

/// What comes of looking for credentials.
pub enum Found<'a> {
    /// They are there, and these answers are to what was asked with them.
    Known(Credentials, &'a [Answer]),
    /// Somebody has to be asked.
    Ask(Request),
}

/// Whose credentials are wanted. Nothing means the controller's own, as the environment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those of a profile in the controller's files.
    pub profile: Option<String>,
    /// Those of a role that is taken on.
    pub role: Option<String>,
    /// The region to ask in, where the environment names none.
    pub region: Option<String>,
}

/// Where credentials begin.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// They are written down.
    Written(Credentials),
    /// A token of the cluster is exchanged for those of a role.
    Token(Role, String),
    /// An agent gives them, at this address.
    Agent(String),
}

/// The region that the environment names.
pub fn region(environment: &BTreeMap<String, String>) -> Result<&str, String> {
    let region = named_region(environment)
        .ok_or("the region of AWS is not known: set AWS_REGION in the controller's environment")?;
    if !is_region(region) {
        return Err(format!("AWS_REGION is {region:?}, which is no region such as eu-central-1"));
    }
    Ok(region)
}

fn named_region(environment: &BTreeMap<String, String>) -> Option<&str> {
    entry(environment, "AWS_REGION").or_else(|| entry(environment, "AWS_DEFAULT_REGION"))
}

/// Whether a text can be the name of a region: it becomes part of an address.
pub fn is_region(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '-')
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
pub fn find<'a>(setting: &Setting<'_>, wanted: &Wanted, answers: &'a [Answer]) -> Result<Found<'a>, String> {
    let (source, mut roles) = match &wanted.profile {
        Some(name) => profile::source(setting.environment, name)?,
        None => source(setting.environment)?,
    };
    roles.extend(wanted.role.iter().map(|name| Role { name: name.clone(), session: None, external: None }));
    let region = || match &wanted.region {
        // Once more, now that everything is filled in: what looked like a secret was not checked before.
        Some(wanted) if named_region(setting.environment).is_none() && !is_region(wanted) => {
            Err(format!("{wanted:?} is no region such as eu-central-1"))
        }
        Some(wanted) if named_region(setting.environment).is_none() => Ok(wanted.as_str()),
        Some(_) | None => region(setting.environment),
    };
    let mut found = match source {
        Source::Written(known) => Found::Known(known, answers),
        Source::Token(role, token) => sts::exchange(setting, region()?, &role, &token, answers)?,
        Source::Agent(address) => agent::ask(setting.environment, address, answers)?,
    };
    for role in &roles {
        found = match found {
            Found::Ask(request) => return Ok(Found::Ask(request)),
            Found::Known(known, rest) => sts::assume(setting, region()?, role, &known, rest)?,
        };
    }
    Ok(found)
}

/// Where the controller's own credentials begin, and the roles that they are exchanged for.
fn source(environment: &BTreeMap<String, String>) -> Result<(Source, Vec<Role>), String> {
    if let Some(known) = written(environment) {
        return Ok((Source::Written(known), Vec::new()));
    }
    if let Some(name) = entry(environment, "AWS_ROLE_ARN") {
        let token = entry(environment, "AWS_WEB_IDENTITY_TOKEN").ok_or(
            "AWS_ROLE_ARN is set, but there is no token to exchange for it: check the file that \
             AWS_WEB_IDENTITY_TOKEN_FILE names",
        )?;
        let role = Role { name: name.to_owned(), session: None, external: None };
        return Ok((Source::Token(role, token.to_owned()), Vec::new()));
    }
    if let Some(name) = entry(environment, "AWS_PROFILE") {
        return profile::source(environment, name);
    }
    if profile::has_credentials(environment, profile::USUAL) {
        return profile::source(environment, profile::USUAL);
    }
    if let Some(address) = agent::address(environment)? {
        return Ok((Source::Agent(address), Vec::new()));
    }
    Err("there are no credentials for AWS: give the controller a role (IRSA or EKS pod identity), or set \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its environment"
        .to_owned())
}

/// The credentials that stand in the environment.
pub(super) fn written(environment: &BTreeMap<String, String>) -> Option<Credentials> {
    let part = |name: &str| entry(environment, name).map(str::to_owned);
    Some(Credentials {
        key: part("AWS_ACCESS_KEY_ID")?,
        secret: part("AWS_SECRET_ACCESS_KEY")?,
        token: part("AWS_SESSION_TOKEN"),
    })
}

pub(super) fn entry<'a>(environment: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}
