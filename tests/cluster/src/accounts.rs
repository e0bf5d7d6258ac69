//! The accounts that controllers under test run as. The policies let all of them through, and the audit log tells them
//! apart: two controllers of one test run as two of them.

use crate::bed::{Bed, User};

/// The accounts, all in the namespace `windlass`: the one that is installed, a second one with the same rights, and one
/// that has no right in the whole cluster.
pub(crate) const ACCOUNTS: [(&str, User); 3] =
    [("windlass", User::Windlass), ("second", User::Second), ("narrow", User::Narrow)];

/// The user that the API server knows an account by.
pub(crate) fn identity(account: &str) -> String {
    format!("system:serviceaccount:windlass:{account}")
}

impl Bed {
    /// Makes the accounts that the installation does not bring along, and a kubeconfig for each one.
    pub(crate) fn make_accounts(&self) {
        self.kubectl_ok(User::Admin, &["apply", "-f", "-"], MORE_ACCOUNTS);
        for (account, user) in ACCOUNTS {
            self.write_kubeconfig(account, user);
        }
    }

    fn write_kubeconfig(&self, account: &str, user: User) {
        let token = ["create", "token", account, "--namespace=windlass", "--duration=24h"];
        let token = self.kubectl_ok(User::Admin, &token, "");
        // Its content, not its mode: the file has to be written to.
        std::fs::write(self.kubeconfig(user), std::fs::read(&self.admin).unwrap()).unwrap();
        let credentials = ["config", "set-credentials", account, &format!("--token={}", token.trim())];
        self.kubectl_ok(user, &credentials, "");
        self.kubectl_ok(user, &["config", "set-context", "--current", &format!("--user={account}")], "");
    }
}

const MORE_ACCOUNTS: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: second, namespace: windlass}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: narrow, namespace: windlass}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: windlass-second}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: windlass}
subjects: [{kind: ServiceAccount, name: second, namespace: windlass}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: secrets-second}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: windlass-secrets}
subjects: [{kind: ServiceAccount, name: second, namespace: windlass}]
";

/// A role of these rules in one namespace, held by these accounts.
pub(crate) fn role(name: &str, rules: &str, accounts: &[&str]) -> String {
    let subjects: Vec<String> = accounts
        .iter()
        .map(|account| format!("- {{kind: ServiceAccount, name: {account}, namespace: windlass}}\n"))
        .collect();
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}}}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}
subjects:
{}",
        subjects.concat()
    )
}

/// What an election needs, and no more.
pub(crate) fn lease_rules(names: &[&str]) -> String {
    format!(
        "- {{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}}
- {{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{}], verbs: [list, watch, update]}}
",
        names.join(", ")
    )
}

/// The rights of the installation that concern one namespace: everything but what belongs to the cluster.
pub(crate) const NAMESPACE_RULES: &str = r#"- {apiGroups: [argoproj.io], resources: [rolloutplugins], verbs: [get, list, watch, patch]}
- {apiGroups: [argoproj.io], resources: [rolloutplugins/status, rolloutplugins/finalizers], verbs: [update]}
- {apiGroups: [apps], resources: [statefulsets], verbs: [get, list, watch, patch]}
- {apiGroups: [apps], resources: [controllerrevisions], verbs: [list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete]}
- {apiGroups: [""], resources: [events], verbs: [create]}
- {apiGroups: [argoproj.io], resources: [analysistemplates], verbs: [list, watch]}
- {apiGroups: [argoproj.io], resources: [analysisruns], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [argoproj.io], resources: [analysisruns/status, analysisruns/finalizers], verbs: [update]}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, delete]}
- {apiGroups: [""], resources: [secrets], verbs: [get]}
"#;
