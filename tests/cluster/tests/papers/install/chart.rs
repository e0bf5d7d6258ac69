//! The Helm chart: it installs what the other ways install, and its values do what they say.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
use windlass_bed::bed;
use windlass_workloads::Holder;

use super::{
    OF_ANALYSIS, assert_same, dry_run, installed, kustomized, objects, succeeded, windlass, without_labels,
};

fn helm(arguments: &[&str]) -> Output {
    static HELM: OnceLock<PathBuf> = OnceLock::new();
    let program = HELM.get_or_init(|| {
        let build = Command::new(bed().root().join("testbed/helm/build")).output().unwrap();
        PathBuf::from(succeeded(&build).trim())
    });
    Command::new(program).args(arguments).current_dir(bed().root()).output().unwrap()
}

/// The chart as the release `windlass` in the namespace `windlass`.
fn rendered(values: &[&str]) -> String {
    let fixed = ["template", "windlass", "charts/windlass", "--namespace", "windlass"];
    succeeded(&helm(&[&fixed, values].concat()))
}

/// Who a chart with these values lets read Secrets: each binding, with its namespace and its role.
fn secret_readers(values: &str) -> Vec<String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&rendered(&["--set", values])).unwrap();
    let bindings = documents.iter().filter(|it| it["roleRef"]["name"] == "windlass-secrets");
    let mut readers: Vec<String> = bindings
        .map(|it| {
            let namespace = it["metadata"]["namespace"].as_str().unwrap_or("everywhere");
            format!(
                "{} {namespace} {}",
                it["kind"].as_str().unwrap(),
                it["roleRef"]["kind"].as_str().unwrap()
            )
        })
        .collect();
    readers.sort();
    readers
}

#[test]
fn the_chart_lets_secrets_be_read_everywhere_in_some_namespaces_or_nowhere() {
    assert_eq!(secret_readers("rbac.secrets.read=all"), ["ClusterRoleBinding everywhere ClusterRole"]);
    assert_eq!(
        secret_readers("rbac.secrets.read=listed,rbac.secrets.namespaces={shop,data}"),
        ["RoleBinding data ClusterRole", "RoleBinding shop ClusterRole"]
    );
    assert_eq!(secret_readers("rbac.secrets.read=none"), [] as [&str; 0]);
    assert!(!rendered(&["--set", "rbac.secrets.read=none"]).contains("secrets]"), "no role either");
    assert_eq!(secret_readers("rbac.scope=namespaced"), ["RoleBinding windlass Role"]);
    assert_eq!(secret_readers("rbac.scope=namespaced,rbac.secrets.read=none"), [] as [&str; 0]);
    let elsewhere = "rbac.scope=namespaced,rbac.secrets.read=listed,rbac.secrets.namespaces={shop}";
    let output = helm(&["template", "windlass", "charts/windlass", "--set", elsewhere]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("needs rbac.scope=cluster"), "{said}");
}

#[test]
fn the_chart_installs_what_install_yaml_installs() {
    succeeded(&helm(&["lint", "--strict", "charts/windlass"]));
    let mut expected = without_labels(installed());
    // Helm makes the namespace itself.
    expected.remove("Namespace windlass");
    assert_same(&without_labels(objects(&rendered(&[]))), &expected);
}

#[test]
fn a_real_server_takes_what_the_chart_renders() {
    let variants: [&[&str]; 9] = [
        &[],
        &["--set", "crds.analysis=false"],
        &["--set-json", EXTRA],
        &["--set", "rbac.secrets.read=listed,rbac.secrets.namespaces={default,kube-system}"],
        &["--set", "rbac.secrets.read=none"],
        &["--set", "policies.kind=partition"],
        &["--set", "policies.identities={system:serviceaccount:data:windlass,jane@example.com}"],
        &["--set", "rbac.scope=namespaced,crds.install=false,policies.enabled=false"],
        &[
            "--set",
            "image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000,logLevel=debug,extraArgs={--workers=2},podDisruptionBudget.maxUnavailable=50%",
        ],
    ];
    let kind = match bed().hold {
        Holder::Policy => "policies.kind=mutating",
        Holder::Partition => "policies.kind=partition",
    };
    for values in variants {
        let answer = dry_run(&rendered(&[&["--set", kind], values].concat()));
        assert!(answer.contains("deployment.apps/windlass serverside-applied (server dry run)"), "{answer}");
    }
}

#[test]
fn the_chart_for_one_namespace_is_the_base_for_one_namespace() {
    let values = ["--set", "rbac.scope=namespaced,crds.install=false,policies.enabled=false"];
    let expected = kustomized("namespaced").values().map(Value::to_string).collect::<Vec<_>>();
    let expected = expected.join("\n---\n").replace(r#""default""#, r#""windlass""#);
    assert_same(&without_labels(objects(&rendered(&values))), &without_labels(objects(&expected)));
}

#[test]
fn the_chart_lets_its_own_account_and_the_named_users_through() {
    let values = ["--set", "serviceAccount.name=mover,policies.identities={jane}"];
    let policies = objects(&rendered(&values));
    let condition = &policies["MutatingAdmissionPolicy windlass-hold"]["spec"]["matchConditions"][0];
    assert_eq!(
        condition["expression"],
        "!(request.userInfo.username in ['system:serviceaccount:windlass:mover', 'jane'])"
    );
}

#[test]
fn an_instance_of_the_chart_has_a_lease_of_its_own() {
    let objects = objects(&rendered(&["--set", "instance=Blue_1"]));
    let arguments = &objects["Deployment windlass"]["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(*arguments, json!(["controller", "--log-format", "json", "--instance", "Blue_1"]));
    assert_eq!(objects["Role windlass-lease"]["rules"][1]["resourceNames"], json!(["windlass-blue-1"]));
}

/// What providers of metrics are told by environment and files.
const EXTRA: &str = r#"extraEnv=[{"name": "AWS_REGION", "value": "eu-west-1"}],extraEnvFrom=[{"secretRef": {"name": "datadog-keys"}}],extraVolumes=[{"name": "aws", "configMap": {"name": "aws-profiles"}}],extraVolumeMounts=[{"name": "aws", "mountPath": "/etc/aws", "readOnly": true}]"#;

#[test]
fn environment_and_files_of_the_controller_are_values_and_its_namespace_stays_its_own() {
    let objects = objects(&rendered(&["--set-json", EXTRA]));
    let pod = &objects["Deployment windlass"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["env"][0]["name"], "POD_NAMESPACE");
    assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.namespace");
    assert_eq!(container["env"][1], json!({"name": "AWS_REGION", "value": "eu-west-1"}));
    assert_eq!(container["envFrom"], json!([{"secretRef": {"name": "datadog-keys"}}]));
    assert_eq!(
        container["volumeMounts"],
        json!([{"name": "aws", "mountPath": "/etc/aws", "readOnly": true}])
    );
    assert_eq!(pod["volumes"], json!([{"name": "aws", "configMap": {"name": "aws-profiles"}}]));
}

#[test]
fn the_chart_leaves_the_definitions_of_analysis_to_argo_rollouts() {
    let mut expected = without_labels(objects(&rendered(&[])));
    expected.retain(|name, _| !OF_ANALYSIS.contains(&name.as_str()));
    let left = without_labels(objects(&rendered(&["--set", "crds.analysis=false"])));
    assert_same(&left, &expected);
}

/// What a person is told after the installation.
fn notes(values: &str) -> String {
    let install = ["install", "windlass", "charts/windlass", "--dry-run=client", "--set", values];
    let told = succeeded(&helm(&install));
    told.split_once("NOTES:").unwrap().1.to_owned()
}

#[test]
fn every_command_in_the_notes_of_the_chart_is_one_that_windlass_knows() {
    let rows = [
        ("crds.install=false,policies.enabled=false", 2),
        ("crds.install=false,crds.analysis=false", 1),
        ("crds.analysis=false", 1),
        ("policies.enabled=false,policies.kind=partition", 1),
        ("replicaCount=2", 0),
    ];
    for (values, count) in rows {
        let notes = notes(values);
        let commands: Vec<&str> = notes.lines().filter_map(|line| line.strip_prefix("  windlass ")).collect();
        assert_eq!(commands.len(), count, "{values}: {notes}");
        for command in commands {
            let (arguments, _) = command.split_once(" | kubectl apply -f -").unwrap();
            windlass(&arguments.split(' ').collect::<Vec<_>>());
            let leaves_out = values.contains("crds.analysis=false") && values.contains("crds.install=false");
            assert!(!leaves_out || arguments == "crds --only rollouts", "{values}: {arguments}");
        }
    }
}

#[test]
fn definitions_outlive_the_release() {
    let objects = objects(&rendered(&[]));
    let definitions: Vec<&Value> =
        objects.values().filter(|object| object["kind"] == "CustomResourceDefinition").collect();
    assert_eq!(definitions.len(), 4);
    for definition in definitions {
        assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
}

#[test]
fn wrong_values_are_refused_by_the_charts_schema() {
    let wrong = [
        "replicaCount=many",
        "rbac.scope=everything",
        "policies.kind=webhook",
        "policies.identities={o'brien}",
        "image.digest=latest",
        "serviceAccount.create=false",
        "networkPolicy.apiServerPorts={0}",
        "rbac.secrets.read=some",
        "rbac.secrets.read=listed",
        "rbac.secrets.namespaces={shop}",
        "rbac.secrets.read=listed,rbac.secrets.namespaces={Shop}",
        "crds.analysis=perhaps",
        "extraEnv[0].value=nameless",
        "extraEnv[0].name=POD_NAMESPACE,extraEnv[0].value=elsewhere",
        "extraVolumeMounts[0].name=nowhere",
        "logFormat=xml",
        "instance=-blue",
        "instance=windlass",
        "replicas=3",
    ];
    for value in wrong {
        let output = helm(&["template", "windlass", "charts/windlass", "--set", value]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("schema"), "{value}: {said}");
    }
}
