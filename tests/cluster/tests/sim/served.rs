//! A cluster in memory, served by the binary, and kubectl for it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use windlass_bed::{built, manifests, run, windlass_command};

/// How long kubectl waits for anything.
pub(crate) const PATIENCE: &str = "--timeout=60s";

pub(crate) struct Served {
    process: Child,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl Served {
    pub(crate) fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir();
        let kubeconfig = folder.join(format!("windlass-sim-{}-{number}.yaml", std::process::id()));
        let mut command = windlass_command(&["sim", "serve", "--write-kubeconfig"]);
        let mut process = command.arg(&kubeconfig).stdout(Stdio::piped()).spawn().unwrap();
        // It says where it serves once it does.
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving on http://127.0.0.1:"), "{line}");
        Self { process, kubeconfig, kubectl: built().join("kubectl") }
    }

    /// The same with a set of three pods and its rollout, at rest.
    pub(crate) fn with_a_rollout() -> Self {
        let served = Self::start();
        served.ok_with(&["apply", "-f", "-"], &manifests::stateful_set("web", 3, "app:v1"));
        served.ok_with(&["apply", "-f", "-"], &manifests::rollout("web", &["setWeight: 34", "pause: {}"]));
        served.ok(&["wait", "--for=jsonpath={.status.phase}=Healthy", "rp/web", PATIENCE]);
        served
    }

    pub(crate) fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(&self.kubectl);
        // A cache of discovery of its own: ports are used again, and another server may have been there.
        let cache = self.kubeconfig.with_extension("cache");
        command.arg("--kubeconfig").arg(&self.kubeconfig).arg("--cache-dir").arg(cache).args(arguments);
        run(command, input)
    }

    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.ok_with(arguments, "")
    }

    pub(crate) fn ok_with(&self, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl(arguments, input);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {arguments:?} failed:\n{out}\n{err}");
        out.into_owned()
    }

    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments, "");
        assert!(!output.status.success(), "kubectl {arguments:?} was expected to fail");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        std::fs::remove_file(&self.kubeconfig).ok();
        std::fs::remove_dir_all(self.kubeconfig.with_extension("cache")).ok();
    }
}

/// The rows of what kubectl prints, each as its words.
pub(crate) fn rows(printed: &str) -> Vec<Vec<&str>> {
    printed.lines().filter(|line| !line.is_empty()).map(|line| line.split_whitespace().collect()).collect()
}
