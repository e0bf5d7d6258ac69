//! Which kinds of ours the server knows. A cluster may have been set up before analyses were served, and Argo Rollouts
//! may have brought the same kinds along.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;

use crate::cache::{Kind, Scope};

/// Longer than any healthy answer.
const TIME_LIMIT: Duration = Duration::from_secs(15);
/// The group and version of our kinds.
const GROUP: &str = "argoproj.io/v1alpha1";

/// Whose runs of analyses are served, besides those that our own rollouts make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StandaloneRuns {
    /// Those that carry nobody's name, unless Argo Rollouts is installed: it serves them then.
    #[default]
    FindOut,
    /// Those that carry nobody's name.
    Serve,
    /// None.
    Leave,
}

/// The resources of our group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Installed(BTreeSet<String>);

impl Installed {
    pub(crate) async fn find_out(client: &Client) -> kube::Result<Self> {
        let asked = tokio::time::timeout(TIME_LIMIT, client.list_api_group_resources(GROUP)).await;
        match asked.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into()))) {
            Ok(list) => Ok(Self(list.resources.into_iter().map(|resource| resource.name).collect())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The kinds that cannot be watched: they are not installed, or are not in the one namespace that is served.
    pub(crate) fn missing(&self, scope: &Scope) -> Vec<Kind> {
        let kinds = [
            (Kind::AnalysisRuns, "analysisruns", true),
            (Kind::Templates, "analysistemplates", true),
            (Kind::ClusterTemplates, "clusteranalysistemplates", *scope == Scope::Cluster),
        ];
        let missing = kinds.into_iter().filter(|(_, name, ours)| !ours || !self.0.contains(*name));
        missing.map(|(kind, ..)| kind).collect()
    }

    /// Whether runs that carry nobody's name are ours to serve. Of several controllers that is the one without a name.
    pub(crate) fn unnamed_are_ours(&self, choice: StandaloneRuns, instance: Option<&str>) -> bool {
        match choice {
            StandaloneRuns::FindOut => instance.is_none() && !self.0.contains("rollouts"),
            StandaloneRuns::Serve => true,
            StandaloneRuns::Leave => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(names: &[&str]) -> Installed {
        Installed(names.iter().map(|name| (*name).to_owned()).collect())
    }

    const OURS: [&str; 4] =
        ["rolloutplugins", "analysisruns", "analysistemplates", "clusteranalysistemplates"];

    #[test]
    fn what_is_not_installed_or_not_of_the_namespace_is_not_watched() {
        let one = Scope::Namespace("data".to_owned());
        assert!(installed(&OURS).missing(&Scope::Cluster).is_empty());
        assert_eq!(installed(&OURS).missing(&one), [Kind::ClusterTemplates]);
        let all = [Kind::AnalysisRuns, Kind::Templates, Kind::ClusterTemplates];
        assert_eq!(installed(&["rolloutplugins"]).missing(&Scope::Cluster), all);
    }

    #[test]
    fn runs_that_carry_nobodys_name_are_argos_where_argo_is_installed() {
        let beside = [&OURS[..], &["rollouts"]].concat();
        assert!(installed(&OURS).unnamed_are_ours(StandaloneRuns::FindOut, None));
        assert!(!installed(&OURS).unnamed_are_ours(StandaloneRuns::FindOut, Some("a")));
        assert!(!installed(&beside).unnamed_are_ours(StandaloneRuns::FindOut, None));
        assert!(installed(&beside).unnamed_are_ours(StandaloneRuns::Serve, Some("a")));
        assert!(!installed(&OURS).unnamed_are_ours(StandaloneRuns::Leave, None));
    }
}
