//! What manifests may look like, and how mistakes in them are told.

use super::{Manifests, Source, read};

fn sources(text: &str) -> Vec<Source> {
    vec![Source { name: "web.yaml".to_owned(), text: text.to_owned() }]
}

fn mistakes(text: &str) -> String {
    let mistakes = read(&sources(text)).expect_err("a mistake is found");
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

fn found(text: &str) -> Manifests {
    read(&sources(text)).expect("no mistake is found")
}

#[test]
fn syntax_errors_are_told_with_their_line() {
    let texts = [
        "a: b\nc: [1, 2\nd: e\n",
        "a: b\n\tc: d\n",
        "a: 1\na: 2\n",
        "a: b\n  c: d\n",
        "{\"a\": 1,\n",
        "a: *nothing\n",
        "kind: Service\n---\na: }\n",
    ];
    let told: String = texts.iter().map(|text| mistakes(text)).collect();
    insta::assert_snapshot!("syntax", told);
}

#[test]
fn what_is_no_object_says_what_was_expected() {
    let told: String =
        ["a: b\n", "kind: StatefulSet\n", "- a\n", "text\n"].iter().map(|text| mistakes(text)).collect();
    insta::assert_snapshot!("no_object", told);
}

#[test]
fn values_of_the_wrong_type_say_which_was_expected() {
    let specs = [
        "replicas: three",
        "template: []",
        "template: {spec: {containers: {name: app}}}",
        "template: {spec: {containers: [{name: app, env: [{name: A, value: true}]}]}}",
        "template: {spec: {containers: [{name: app, tty: 1}]}}",
        "updateStrategy: {rollingUpdate: {maxUnavailable: [1]}}",
    ];
    let told: String = specs
        .iter()
        .map(|spec| {
            mistakes(&format!(
                "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: web}}\nspec:\n  {spec}\n"
            ))
        })
        .collect();
    insta::assert_snapshot!("wrong_types", told);
}

#[test]
fn every_mistake_of_every_document_is_told() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec: {replica: 1, foo: 2}\n";
    assert_eq!(mistakes(&format!("{set}---\n{set}")).lines().count(), 4);
}

#[test]
fn an_object_that_stands_twice_is_a_mistake() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n";
    let elsewhere = set.replace("name: web", "name: web, namespace: shop");
    found(&format!("{set}---\n{elsewhere}"));
    assert_eq!(
        mistakes(&format!("{set}---\n{set}")),
        "web.yaml:5:1: StatefulSet web stands in the files twice, here and at web.yaml:1; leave one of them out\n"
    );
}

#[test]
fn quantities_may_be_numbers_and_nothing_may_be_written_as_null() {
    let text = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web, annotations: null}\nspec:\n  replicas: ~\n  \
                template: {spec: {containers: [{name: app, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}\n";
    assert_eq!(found(text).sets.len(), 1);
}

#[test]
fn a_slip_where_any_field_is_taken_is_a_mistake_and_a_field_of_a_later_version_is_not() {
    let rollout = |strategy: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: RolloutPlugin\nmetadata: {{name: web}}\nspec:\n  \
             workloadRef: {{apiVersion: apps/v1, kind: StatefulSet, name: web}}\n  plugin: {{name: statefulset}}\n  \
             strategy: {strategy}\n"
        )
    };
    let told: String =
        ["{canarry: {}}", "{canary: {step: []}}", "{canary: {steps: [{setWieght: 20}, {pauze: {}}]}}"]
            .iter()
            .map(|strategy| mistakes(&rollout(strategy)))
            .collect();
    insta::assert_snapshot!("slips", told);
    found(&rollout("{blueGreen: {}, canary: {stableService: a, steps: [{setHeaderRoute: {}}]}}"));
}

#[test]
fn a_set_with_everything_that_people_and_servers_write_is_read() {
    let text = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, creationTimestamp: null, annotations: {a: '1'}}
spec:
  replicas: 3
  serviceName: web
  selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Delete}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {runAsNonRoot: true, fsGroup: 1000}
      containers:
      - name: app
        image: app:v1
        ports: [{containerPort: 80, name: http}]
        env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 5}
        livenessProbe: {tcpSocket: {port: 80}}
        resources: {limits: {cpu: 0.5, memory: 1Gi}}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: conf, configMap: {name: conf, defaultMode: 420}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: more, creationTimestamp: null}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    status: {phase: Pending}
status: {replicas: 0, availableReplicas: 0}
";
    let set = &found(text).sets[0].object;
    let claims = set.spec.as_ref().and_then(|spec| spec.volume_claim_templates.as_ref());
    assert_eq!(claims.map(Vec::len), Some(2));
}

#[test]
fn json_lists_anchors_and_empty_documents_are_read() {
    let set = r#"{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}}"#;
    assert_eq!(found(set).sets[0].place.line, 1);
    let other = set.replace("web", "store");
    let list = format!("# nothing here\n---\napiVersion: v1\nkind: List\nitems:\n- {set}\n- {other}\n---\n");
    let lines: Vec<u64> = found(&list).sets.iter().map(|found| found.place.line).collect();
    assert_eq!(lines, [6, 7]);
    let anchors = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web, labels: &labels {app: web}}\n\
                   spec: {selector: {matchLabels: *labels}}\n";
    let selector = found(anchors).sets[0].object.spec.clone().unwrap_or_default().selector;
    assert_eq!(selector.match_labels.unwrap_or_default().get("app").map(String::as_str), Some("web"));
}

#[test]
fn other_kinds_are_kept_and_named() {
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {whatever: true}\n";
    assert_eq!(found(text).words(), "Service web (v1)");
    assert_eq!(found("").words(), "no object at all");
}

#[test]
fn a_path_leads_to_its_line_or_as_near_as_there_is_one() {
    let text = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      \
                containers:\n      - name: app\n      - name: side\n";
    let found = found(text);
    let line = |path| found.sets[0].place_of(path).line;
    assert_eq!(line("spec.template.spec.containers[1].name"), 10);
    assert_eq!(line("spec.template.spec.containers[7]"), 8);
    assert_eq!(line("status.nothing"), 1);
}
