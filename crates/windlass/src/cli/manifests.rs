//! The flags of `windlass manifests` and `windlass crds`.

use clap::{Args, ValueEnum};
use windlass_workloads::{DEFAULT_IDENTITY, Holder};

pub(super) const CRDS_HELP: &str = "\
Examples:
  windlass crds | kubectl apply -f -
  windlass crds --only rollouts | kubectl apply -f -   (beside Argo Rollouts, whose kinds of analysis stay as they are)";

pub(super) const MANIFESTS_HELP: &str = "\
Examples:
  windlass manifests | kubectl apply -f -
  windlass manifests --without analysis | kubectl apply -f -   (beside Argo Rollouts)
  windlass manifests --without secrets | kubectl apply -f -    (where you give the right to Secrets yourself)
  windlass manifests --parts definitions,analysis,policies --identity system:serviceaccount:data:windlass | kubectl apply -f -";

#[derive(Debug, Args)]
pub(crate) struct CrdsArguments {
    /// Print only some of them
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) only: Option<OnlyCrds>,
}

/// Some of the definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyCrds {
    /// That of rollouts, which nobody but Windlass brings along
    Rollouts,
    /// Those of analysis, which Argo Rollouts has too
    Analysis,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestsArguments {
    /// A user that the policies let through: whoever a controller runs as; repeat it for several
    #[arg(long = "identity", default_value = DEFAULT_IDENTITY, value_name = "NAME")]
    pub(crate) identities: Vec<String>,
    /// What is printed
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS", default_values_t = Part::value_variants().to_vec())]
    pub(crate) parts: Vec<Part>,
    /// What is left out of that
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    pub(crate) without: Vec<Part>,
    /// What holds a new template on this server: a mutating admission policy (1.36 and newer), or the partition
    #[arg(long, value_enum, default_value_t = ServerHold::Policy)]
    pub(crate) hold: ServerHold,
}

/// What an installation is made of. The order is that in which a cluster takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The custom resource definition of rollouts
    Definitions,
    /// The custom resource definitions of analysis: leave them out where Argo Rollouts is installed, which has its own
    Analysis,
    /// The admission policies
    Policies,
    /// The namespace, the controller's account, its roles and their bindings
    Rights,
    /// The right to read Secrets by name, in all namespaces: leave it out where you give it in some of them yourself
    Secrets,
    /// The controller's Deployment, and what belongs to it
    Controller,
}

/// What holds a new template on a server.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ServerHold {
    /// The mutating admission policy
    Policy,
    /// The partition, which rests at 2147483647 between two runs; for servers without mutating policies
    Partition,
}

impl From<ServerHold> for Holder {
    fn from(hold: ServerHold) -> Self {
        match hold {
            ServerHold::Policy => Self::Policy,
            ServerHold::Partition => Self::Partition,
        }
    }
}
