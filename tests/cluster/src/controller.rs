//! The controller under test: the real binary, as its own ServiceAccount, for one namespace.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::bed::{User, bed, windlass_command};

/// A running controller; it ends with this value.
pub struct Controller {
    child: Option<Child>,
    /// Where its log goes.
    pub log: PathBuf,
}

impl Controller {
    /// Starts it for one namespace.
    pub fn start(namespace: &str) -> Self {
        let alone = ["--namespace", namespace, "--listen", "none", "--leader-elect=false"];
        Self::start_with(&alone, namespace)
    }

    /// Starts it with these flags; its log is named after `name`.
    pub fn start_with(flags: &[&str], name: &str) -> Self {
        let log = std::env::temp_dir().join(format!("windlass-{}-{name}.log", std::process::id()));
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = windlass_command(&["controller"])
            .args(flags)
            .arg("--kubeconfig")
            .arg(bed().kubeconfig(User::Windlass))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("windlass controller");
        Self { child: Some(child), log }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Ends it the hard way, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.kill();
    }
}
