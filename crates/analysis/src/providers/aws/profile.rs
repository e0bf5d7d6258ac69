//! Profiles: named credentials in the files that AWS's own tools read. What the files hold stands in the environment,
//! `AWS_CONFIG` and `AWS_SHARED_CREDENTIALS`; what a file holds that a profile names, under the name of that file.

use std::collections::BTreeMap;

use super::credentials::{MOST_ROLES, Source, entry, written};
use super::sts::Role;
use super::{Credentials, agent};

/// The profile that counts when nobody names one.
pub(super) const USUAL: &str = "default";
/// What a profile calls the file with a token of the cluster.
const TOKEN_FILE: &str = "web_identity_token_file";

/// Settings by their names.
type Profile = BTreeMap<String, String>;

/// Where the credentials of a profile begin, and the roles that they are exchanged for, the first one first.
pub(super) fn source(
    environment: &BTreeMap<String, String>,
    name: &str,
) -> Result<(Source, Vec<Role>), String> {
    let mut roles = Vec::new();
    let mut name = name.to_owned();
    loop {
        let profile = look_up(environment, &name).ok_or_else(|| no_profile(&name))?;
        let text = |key: &str| profile.get(key).cloned();
        let keys = keys(&profile);
        let Some(role) = text("role_arn") else {
            let keys = keys.ok_or_else(|| no_keys(&name, &profile))?;
            return Ok((Source::Written(keys), first_first(roles)));
        };
        let role = Role { name: role, session: text("role_session_name"), external: text("external_id") };
        if let Some(file) = text(TOKEN_FILE) {
            let token = entry(environment, &file).ok_or_else(|| {
                format!(
                    "the profile {name:?} for AWS names the file {file:?}, which cannot be read or is empty"
                )
            })?;
            return Ok((Source::Token(role, token.to_owned()), first_first(roles)));
        }
        roles.push(role);
        if roles.len() > MOST_ROLES {
            return Err(format!(
                "profiles for AWS lead to more than {MOST_ROLES} roles, the last of them {name:?}: do they go in a circle?"
            ));
        }
        match (text("source_profile"), text("credential_source")) {
            // A role that is taken on with the keys beside it.
            (Some(source), None) if source == name => {
                let keys = keys.ok_or_else(|| no_keys(&name, &profile))?;
                return Ok((Source::Written(keys), first_first(roles)));
            }
            (Some(source), None) => name = source,
            (None, Some(source)) => {
                return Ok((other_source(environment, &name, &source)?, first_first(roles)));
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(format!(
                    "the profile {name:?} for AWS has a role_arn and needs either a source_profile or a credential_source"
                ));
            }
        }
    }
}

/// Whether there is a profile of this name that says where credentials come from. One that sets no more than a region is
/// none.
pub(super) fn has_credentials(environment: &BTreeMap<String, String>, name: &str) -> bool {
    look_up(environment, name)
        .is_some_and(|profile| ["aws_access_key_id", "role_arn"].iter().any(|key| profile.contains_key(*key)))
}

/// The files with tokens that profiles name.
pub fn token_files(config: &str) -> Vec<String> {
    sections(config).into_values().filter_map(|mut profile| profile.remove(TOKEN_FILE)).collect()
}

/// Roles are found from the last one on.
fn first_first(mut roles: Vec<Role>) -> Vec<Role> {
    roles.reverse();
    roles
}

fn other_source(environment: &BTreeMap<String, String>, name: &str, source: &str) -> Result<Source, String> {
    let failed = |why: &str| format!("the profile {name:?} for AWS has credential_source {source}, {why}");
    match source {
        "Environment" => written(environment).map(Source::Written).ok_or_else(|| {
            failed("but AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in the controller's environment")
        }),
        "EcsContainer" => {
            let address = agent::address(environment)?;
            address
                .map(Source::Agent)
                .ok_or_else(|| failed("but the controller's environment names no agent"))
        }
        _ => Err(failed("which is not served: it may be Environment or EcsContainer")),
    }
}

fn keys(profile: &Profile) -> Option<Credentials> {
    Some(Credentials {
        key: profile.get("aws_access_key_id")?.clone(),
        secret: profile.get("aws_secret_access_key")?.clone(),
        token: profile.get("aws_session_token").cloned(),
    })
}

fn no_profile(name: &str) -> String {
    format!(
        "there is no profile {name:?} for AWS: the controller reads the files that AWS_CONFIG_FILE and \
         AWS_SHARED_CREDENTIALS_FILE name in its environment"
    )
}

/// Why a profile without a role has no credentials.
fn no_keys(name: &str, profile: &Profile) -> String {
    let other = profile.keys().find(|key| key.starts_with("sso_") || *key == "credential_process");
    let why = other.map(|key| format!(", and {key} is not served")).unwrap_or_default();
    format!("the profile {name:?} for AWS has no aws_access_key_id with aws_secret_access_key{why}")
}

/// A profile, with what both files say of it. The file with the keys counts more.
fn look_up(environment: &BTreeMap<String, String>, name: &str) -> Option<Profile> {
    let in_file = |file: &str, section: &str| sections(entry(environment, file)?).remove(section);
    let whole = format!("profile {name}");
    let general = in_file("AWS_CONFIG", &whole)
        .or_else(|| (name == USUAL).then(|| in_file("AWS_CONFIG", name)).flatten());
    let special = in_file("AWS_SHARED_CREDENTIALS", name);
    if general.is_none() && special.is_none() {
        return None;
    }
    Some(general.into_iter().chain(special).flatten().collect())
}

/// The sections of a file: names in brackets, and settings with an equals sign below. Settings within settings, which are
/// indented, are none of ours.
fn sections(text: &str) -> BTreeMap<String, Profile> {
    let mut sections: BTreeMap<String, Profile> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let name = name.0.split_whitespace().collect::<Vec<_>>().join(" ");
            current = Some(sections.entry(name).or_default());
        } else if let (Some(section), Some((key, value))) = (&mut current, line.split_once('=')) {
            let value = value.split(" #").next().unwrap_or_default().trim();
            if !value.is_empty() {
                section.insert(key.trim().to_lowercase(), value.to_owned());
            }
        }
    }
    sections
}
