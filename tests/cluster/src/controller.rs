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
        Self::start_as(namespace, User::Windlass)
    }

    /// Starts it for one namespace, under another name than its own.
    pub fn start_as(namespace: &str, user: User) -> Self {
        let alone = ["--namespace", namespace, "--listen", "none", "--leader-elect=false"];
        Self::spawn(&alone, namespace, user)
    }

    /// Starts it with these flags; its log is named after `name`.
    pub fn start_with(flags: &[&str], name: &str) -> Self {
        Self::spawn(flags, name, User::Windlass)
    }

    fn spawn(flags: &[&str], name: &str, user: User) -> Self {
        let log = std::env::temp_dir().join(format!("windlass-{}-{name}.log", std::process::id()));
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = windlass_command(&["controller"])
            .args(flags)
            .arg("--kubeconfig")
            .arg(bed().kubeconfig(user))
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
