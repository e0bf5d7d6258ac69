//! Argo Rollouts as its users have it: its own definitions, its own controller, and a `Rollout` of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use windlass_bed::{User, World, bed, until};

/// Its controller; it ends with this value.
pub(crate) struct Argo {
    process: Child,
    log: PathBuf,
}

impl Argo {
    /// Its definitions take the place of ours, as where Windlass comes to a cluster that has Argo Rollouts.
    pub(crate) fn install_and_start() -> Self {
        let folder = built();
        for file in ["analysis-run", "analysis-template", "cluster-analysis-template"] {
            let file = definition(&folder, file);
            bed().kubectl_ok(User::Admin, &["replace", "-f", &file], "");
        }
        for (file, kind) in [("rollout", "rollouts"), ("experiment", "experiments")] {
            let file = definition(&folder, file);
            bed().kubectl_ok(User::Admin, &["apply", "--server-side", "-f", &file], "");
            let crd = format!("crd/{kind}.argoproj.io");
            bed().kubectl_ok(
                User::Admin,
                &["wait", "--for=condition=Established", &crd, "--timeout=30s"],
                "",
            );
        }
        let log = std::env::temp_dir().join(format!("argo-{}.log", std::process::id()));
        let process = Command::new(folder.join("rollouts-controller"))
            .arg(format!("--kubeconfig={}", bed().kubeconfig(User::Admin).display()))
            .args(["--leader-elect=false", "--metricsPort=0", "--healthzPort=0", "--namespace=default"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("the controller of Argo Rollouts: {error}"));
        Self { process, log }
    }
}

impl Drop for Argo {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        if std::thread::panicking() {
            println!("Argo Rollouts said:\n{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
        std::fs::remove_file(&self.log).ok();
    }
}

fn built() -> PathBuf {
    let script = bed().root().join("testbed/argo/build");
    let build = Command::new(&script).stderr(Stdio::inherit()).output().expect("testbed/argo/build");
    assert!(build.status.success(), "testbed/argo/build failed");
    PathBuf::from(String::from_utf8_lossy(&build.stdout).trim())
}

fn definition(folder: &Path, name: &str) -> String {
    folder.join("crds").join(format!("{name}-crd.yaml")).display().to_string()
}

/// A rollout of stateless pods, which the template `up` judges after half of them.
pub(crate) fn rollout(name: &str, image: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: {name}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: app, image: '{image}'}}]}}
  strategy:
    canary:
      steps:
      - setWeight: 50
      - analysis: {{templates: [{{templateName: up}}]}}
"
    )
}

pub(crate) async fn until_healthy(world: &World, name: &str) {
    until("the rollout of Argo is Healthy", async || {
        let seen = [
            "get",
            "rollouts.argoproj.io",
            name,
            "-o",
            "jsonpath={.status.phase} {.status.observedGeneration} {.metadata.generation}",
        ];
        let seen = world.kubectl(&seen);
        let words: Vec<&str> = seen.split(' ').collect();
        matches!(words[..], ["Healthy", observed, wanted] if observed == wanted).then_some(())
    })
    .await;
}
