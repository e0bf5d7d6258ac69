//! From flags to a client.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::cli::Connection;
use crate::failure::Failure;

/// A client, and the namespace that is meant.
pub(crate) struct Connected {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// Connects as kubectl would: flags first, then KUBECONFIG, then the pod's own account.
pub(crate) async fn connect(connection: &Connection) -> Result<Connected, Failure> {
    connect_with(connection, None).await
}

/// The same; a connection on which nothing came for `silence` is given up.
pub(crate) async fn connect_with(
    connection: &Connection,
    silence: Option<std::time::Duration>,
) -> Result<Connected, Failure> {
    let mut config = config(connection).await?;
    if silence.is_some() {
        config.read_timeout = silence;
    }
    // One retry policy, ours: the client's own would sit on a request for minutes.
    config.default_retry = false;
    let namespace = connection.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let client =
        windlass_controller::connect(config).map_err(|error| Failure::Connection(error.to_string()))?;
    Ok(Connected { client, namespace })
}

async fn config(connection: &Connection) -> Result<Config, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Connection(error.to_string());
    let options = KubeConfigOptions {
        context: connection.context.clone(),
        cluster: connection.cluster.clone(),
        user: connection.user.clone(),
    };
    match &connection.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| failed(&error))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| failed(&error))
        }
        None if connection.context.is_some() || connection.cluster.is_some() || connection.user.is_some() => {
            Config::from_kubeconfig(&options).await.map_err(|error| failed(&error))
        }
        None => Config::infer().await.map_err(|error| failed(&error)),
    }
}
