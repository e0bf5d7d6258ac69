//! Manifests, as people write them.

/// A StatefulSet; the tag of the image picks how its pods behave (see testbed/stages.yaml).
pub fn stateful_set(name: &str, replicas: i32, image: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {name}
spec:
  serviceName: {name}
  replicas: {replicas}
  selector:
    matchLabels: {{app: {name}}}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: app
        image: {image}
"
    )
}

/// A rollout of the StatefulSet of the same name; `steps` are YAML flow items, such as `{setWeight: 20}`.
pub fn rollout(name: &str, steps: &[&str]) -> String {
    let steps: Vec<String> = steps.iter().map(|step| format!("      - {step}")).collect();
    let steps = steps.join("\n");
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: RolloutPlugin
metadata:
  name: {name}
spec:
  workloadRef:
    apiVersion: apps/v1
    kind: StatefulSet
    name: {name}
  plugin:
    name: argoproj/statefulset
  strategy:
    canary:
      steps:
{steps}
"
    )
}
