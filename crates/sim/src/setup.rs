//! What a cluster has before anybody uses it: its namespaces, and Windlass's definitions and policies.

use jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;
use windlass_workloads::{Holder, policies};

use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::server::{Caller, Server};

/// The namespaces that are always there.
const NAMESPACES: [&str; 3] = ["default", "kube-system", "windlass"];

/// Why a cluster could not be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A manifest cannot be read.
    #[error("cannot read the manifest of {what}: {why}")]
    Manifest {
        /// Of what.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The server does not take an object.
    #[error("the server refused {what}: {}", .refusal.message)]
    Refused {
        /// Which.
        what: String,
        /// In which words.
        refusal: Refusal,
    },
}

/// A server with namespaces and definitions, and with the policies of this holder, which let these users through.
pub fn installed(now: Timestamp, holder: Holder, identities: &[String]) -> Result<Server, SetupError> {
    let mut server = Server::default();
    let admin = Caller::new("admin");
    for name in NAMESPACES {
        create(
            &mut server,
            now,
            &admin,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        )?;
    }
    for definition in windlass_api::crds() {
        let definition = serde_json::to_value(&definition)
            .map_err(|error| SetupError::Manifest { what: "a definition", why: error.to_string() })?;
        create(&mut server, now, &admin, definition)?;
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(&policies(holder, identities))
        .map_err(|error| SetupError::Manifest { what: "the policies", why: error.to_string() })?;
    for policy in documents {
        create(&mut server, now, &admin, policy)?;
    }
    Ok(server)
}

fn create(server: &mut Server, now: Timestamp, caller: &Caller, object: Value) -> Result<(), SetupError> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group_version, kind) = (text("apiVersion"), text("kind"));
    let group = group_version.split_once('/').map_or("", |(group, _)| group);
    let resource = Resource::of_kind(group, &kind).ok_or_else(|| SetupError::Manifest {
        what: "the policies",
        why: format!("the kind {kind} of {group_version} is not known here"),
    })?;
    let what = format!("{kind} {}", crate::object::name(&object));
    server
        .create(now, caller, resource, object)
        .map(drop)
        .map_err(|refusal| SetupError::Refused { what, refusal })
}
