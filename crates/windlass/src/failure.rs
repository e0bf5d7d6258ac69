//! What a command can fail with. Each says what was attempted, on which object, and what would help.

use thiserror::Error;

/// What a command can fail with.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// No cluster to talk to.
    #[error("cannot reach a cluster: {0}\nSet KUBECONFIG, or pass --kubeconfig and --context.")]
    Connection(String),
    /// The cluster said no.
    #[error("{what}: {answer}")]
    Cluster {
        /// What was attempted.
        what: String,
        /// What the server answered.
        answer: String,
    },
    /// What was asked makes no sense as things stand.
    #[error("{0}")]
    Refused(String),
    /// What is written in the files cannot be used.
    #[error("{0}")]
    Manifests(String),
    /// The command line asks for something that the files do not have.
    #[error("{0}")]
    CommandLine(String),
    /// The controller ended.
    #[error("the controller ended: {0}")]
    Controller(#[from] windlass_controller::RunError),
    /// Whoever read the output has seen enough; no error to anybody.
    #[error("the output was closed")]
    PipeClosed,
    /// The output cannot be written or made.
    #[error("cannot write the output: {0}")]
    Output(String),
}

impl Failure {
    /// What the command ends with.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::CommandLine(_) => 2,
            Self::Connection(_)
            | Self::Cluster { .. }
            | Self::Refused(_)
            | Self::Manifests(_)
            | Self::Controller(_)
            | Self::PipeClosed
            | Self::Output(_) => 1,
        }
    }

    /// A failed request, with a hint where the usual cause is known.
    pub(crate) fn request(what: impl Into<String>, error: &kube::Error) -> Self {
        let what = what.into();
        match error {
            kube::Error::Api(status) if status.code == 404 && is_unknown_kind(&status.message) => {
                Self::Cluster { what, answer: "this cluster does not know RolloutPlugins: is Windlass installed? kubectl windlass doctor says what is missing".to_owned() }
            }
            kube::Error::Api(status) => Self::Cluster { what, answer: status.message.clone() },
            other => Self::Connection(format!("{what}: {other}")),
        }
    }
}

/// A server that does not know the kind says so in one of two ways, depending on whether it knows the group.
fn is_unknown_kind(message: &str) -> bool {
    message.contains("the server could not find") || message.contains("page not found")
}
