//! The controller under test: the real binary, as an account of its own, for one namespace.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::bed::{User, bed, windlass_command};

/// A running controller; it ends with this value.
pub struct Controller {
    child: Option<Child>,
    /// Where its log goes.
    pub log: PathBuf,
}

/// How a controller is started.
#[derive(Clone, Debug)]
pub struct Launch {
    flags: Vec<String>,
    kubeconfig: PathBuf,
    fault: Option<String>,
    name: String,
}

impl Launch {
    /// The usual way: for one namespace, alone there.
    pub fn new(namespace: &str) -> Self {
        Self::unscoped(namespace).flags(&["--namespace", namespace, "--listen=none", "--leader-elect=false"])
    }

    /// One of several, of which one leads.
    pub fn elected(namespace: &str, lease: &str) -> Self {
        let flags = ["--namespace", namespace, "--listen=none", "--lease-duration", lease];
        Self::unscoped(namespace).flags(&flags)
    }

    /// As it is installed: for all namespaces, with the Lease in its own. Its log is named after `name`.
    pub fn cluster_wide(name: &str) -> Self {
        Self::unscoped(name).flags(&["--listen=none"])
    }

    pub(crate) fn unscoped(name: &str) -> Self {
        Self {
            flags: Vec::new(),
            kubeconfig: bed().kubeconfig(User::Windlass).to_owned(),
            fault: None,
            name: name.to_owned(),
        }
    }

    /// With these flags as well.
    #[must_use]
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// As another account than the installed one; its log is named after it.
    #[must_use]
    pub fn by(mut self, user: User) -> Self {
        bed().kubeconfig(user).clone_into(&mut self.kubeconfig);
        self.name = format!("{}-{user:?}", self.name).to_lowercase();
        self
    }

    /// Connected as this kubeconfig says.
    #[must_use]
    pub fn through(mut self, kubeconfig: &Path) -> Self {
        kubeconfig.clone_into(&mut self.kubeconfig);
        self
    }

    /// With a fault, such as `kill-after=3`. Needs a binary with the feature `faults`.
    #[must_use]
    pub fn fault(mut self, fault: String) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Starts it.
    pub fn start(&self) -> Controller {
        let log = std::env::temp_dir().join(format!("windlass-{}-{}.log", std::process::id(), self.name));
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut command = windlass_command(&["controller"]);
        command.args(&self.flags).arg("--kubeconfig").arg(&self.kubeconfig);
        if let Some(fault) = &self.fault {
            command.env("WINDLASS_FAULT", fault);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn();
        Controller { child: Some(child.expect("windlass controller")), log }
    }
}

impl Controller {
    /// Starts it for one namespace.
    pub fn start(namespace: &str) -> Self {
        Launch::new(namespace).start()
    }

    /// Starts it with these flags; its log is named after `name`.
    pub fn start_with(flags: &[&str], name: &str) -> Self {
        Launch::unscoped(name).flags(flags).start()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// What it has logged so far.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends it a signal, such as TERM, STOP or CONT.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.pid().to_string()).status();
        assert!(sent.unwrap().success(), "kill -{signal} {}", self.pid());
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().and_then(|child| child.try_wait().unwrap())
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
