//! The resources that the server knows. A new kind is one row here.

/// What is known of a resource.
struct Definition {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    status: bool,
    scale: bool,
}

macro_rules! resources {
    ($($name:ident: $group:literal $version:literal $plural:literal $singular:literal $kind:literal $short:expr, $namespaced:literal $status:literal $scale:literal;)*) => {
        /// A resource that the server knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Resource {
            $(#[doc = concat!("`", $kind, "`")] $name,)*
        }

        impl Resource {
            /// All of them, in the order of this table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            const fn definition(self) -> Definition {
                match self {
                    $(Self::$name => Definition {
                        group: $group, version: $version, plural: $plural, singular: $singular, kind: $kind,
                        short_names: $short, namespaced: $namespaced, status: $status, scale: $scale,
                    },)*
                }
            }
        }
    };
}

resources! {
    // name: group version plural singular kind short names, namespaced status scale
    Namespaces: "" "v1" "namespaces" "namespace" "Namespace" &["ns"], false true false;
    Nodes: "" "v1" "nodes" "node" "Node" &["no"], false true false;
    Pods: "" "v1" "pods" "pod" "Pod" &["po"], true true false;
    Services: "" "v1" "services" "service" "Service" &["svc"], true true false;
    Claims: "" "v1" "persistentvolumeclaims" "persistentvolumeclaim" "PersistentVolumeClaim" &["pvc"], true true false;
    ConfigMaps: "" "v1" "configmaps" "configmap" "ConfigMap" &["cm"], true false false;
    Secrets: "" "v1" "secrets" "secret" "Secret" &[], true false false;
    ServiceAccounts: "" "v1" "serviceaccounts" "serviceaccount" "ServiceAccount" &["sa"], true false false;
    Quotas: "" "v1" "resourcequotas" "resourcequota" "ResourceQuota" &["quota"], true true false;
    Events: "" "v1" "events" "event" "Event" &["ev"], true false false;
    StatefulSets: "apps" "v1" "statefulsets" "statefulset" "StatefulSet" &["sts"], true true true;
    Revisions: "apps" "v1" "controllerrevisions" "controllerrevision" "ControllerRevision" &[], true false false;
    Jobs: "batch" "v1" "jobs" "job" "Job" &[], true true false;
    Budgets: "policy" "v1" "poddisruptionbudgets" "poddisruptionbudget" "PodDisruptionBudget" &["pdb"], true true false;
    Leases: "coordination.k8s.io" "v1" "leases" "lease" "Lease" &[], true false false;
    Definitions: "apiextensions.k8s.io" "v1" "customresourcedefinitions" "customresourcedefinition" "CustomResourceDefinition" &["crd"], false true false;
    MutatingPolicies: "admissionregistration.k8s.io" "v1" "mutatingadmissionpolicies" "mutatingadmissionpolicy" "MutatingAdmissionPolicy" &[], false false false;
    MutatingBindings: "admissionregistration.k8s.io" "v1" "mutatingadmissionpolicybindings" "mutatingadmissionpolicybinding" "MutatingAdmissionPolicyBinding" &[], false false false;
    ValidatingPolicies: "admissionregistration.k8s.io" "v1" "validatingadmissionpolicies" "validatingadmissionpolicy" "ValidatingAdmissionPolicy" &[], false true false;
    ValidatingBindings: "admissionregistration.k8s.io" "v1" "validatingadmissionpolicybindings" "validatingadmissionpolicybinding" "ValidatingAdmissionPolicyBinding" &[], false false false;
    RolloutPlugins: "argoproj.io" "v1alpha1" "rolloutplugins" "rolloutplugin" "RolloutPlugin" &["rp"], true true false;
    AnalysisTemplates: "argoproj.io" "v1alpha1" "analysistemplates" "analysistemplate" "AnalysisTemplate" &["at"], true false false;
    ClusterAnalysisTemplates: "argoproj.io" "v1alpha1" "clusteranalysistemplates" "clusteranalysistemplate" "ClusterAnalysisTemplate" &["cat"], false false false;
    AnalysisRuns: "argoproj.io" "v1alpha1" "analysisruns" "analysisrun" "AnalysisRun" &["ar"], true true false;
}

impl Resource {
    /// The resource that a path names.
    pub fn named(group: &str, version: &str, plural: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|it| it.group() == group && it.version() == version && it.plural() == plural)
    }

    /// The resource of a kind.
    pub fn of_kind(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.group() == group && it.kind() == kind)
    }

    /// Its group; empty for the core.
    pub fn group(self) -> &'static str {
        self.definition().group
    }

    /// The one version that is served.
    pub fn version(self) -> &'static str {
        self.definition().version
    }

    /// Group and version, as an object names them.
    pub fn api_version(self) -> String {
        match self.group() {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    /// As a path names it.
    pub fn plural(self) -> &'static str {
        self.definition().plural
    }

    /// One of them.
    pub fn singular(self) -> &'static str {
        self.definition().singular
    }

    /// As an object names it.
    pub fn kind(self) -> &'static str {
        self.definition().kind
    }

    /// What people type.
    pub fn short_names(self) -> &'static [&'static str] {
        self.definition().short_names
    }

    /// What `kubectl get all` is made of.
    pub fn categories(self) -> &'static [&'static str] {
        match self {
            Self::Pods | Self::Services | Self::StatefulSets | Self::Jobs => &["all"],
            Self::RolloutPlugins => &["all", "windlass"],
            Self::AnalysisTemplates | Self::ClusterAnalysisTemplates | Self::AnalysisRuns => &["windlass"],
            Self::Definitions
            | Self::MutatingPolicies
            | Self::MutatingBindings
            | Self::ValidatingPolicies
            | Self::ValidatingBindings => &["api-extensions"],
            _ => &[],
        }
    }

    /// As messages name it: with the group, unless that is the core.
    pub fn qualified(self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(self) -> bool {
        self.definition().namespaced
    }

    /// Whether its status is a part of its own.
    pub fn has_status(self) -> bool {
        self.definition().status
    }

    /// Whether it can be scaled.
    pub fn has_scale(self) -> bool {
        self.definition().scale
    }

    /// Whether it is a kind of ours, which a definition describes.
    pub fn is_custom(self) -> bool {
        self.group() == "argoproj.io"
    }

    /// Whether a replace has to say which version it replaces.
    pub fn is_replaced_by_version(self) -> bool {
        self.is_custom()
            || matches!(
                self,
                Self::Leases
                    | Self::Budgets
                    | Self::Definitions
                    | Self::MutatingPolicies
                    | Self::MutatingBindings
                    | Self::ValidatingPolicies
                    | Self::ValidatingBindings
            )
    }

    /// Whether changes of its spec are counted.
    pub fn has_generation(self) -> bool {
        match self {
            Self::StatefulSets
            | Self::RolloutPlugins
            | Self::AnalysisTemplates
            | Self::ClusterAnalysisTemplates
            | Self::AnalysisRuns
            | Self::Jobs
            | Self::Pods
            | Self::Budgets
            | Self::Definitions
            | Self::MutatingPolicies
            | Self::MutatingBindings
            | Self::ValidatingPolicies
            | Self::ValidatingBindings => true,
            Self::Namespaces
            | Self::Nodes
            | Self::Services
            | Self::Claims
            | Self::ConfigMaps
            | Self::Secrets
            | Self::ServiceAccounts
            | Self::Quotas
            | Self::Events
            | Self::Revisions
            | Self::Leases => false,
        }
    }
}
