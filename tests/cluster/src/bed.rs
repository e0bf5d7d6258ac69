//! The control plane under the tests: started once per process, installed into as a person would, gone with the process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Deserialize;
use windlass_workloads::Holder;

use crate::accounts::{ACCOUNTS, identity};

/// A control plane, ready for tests.
#[derive(Debug)]
pub struct Bed {
    /// Who may do everything.
    pub admin: PathBuf,
    /// A person who changes workloads.
    pub developer: PathBuf,
    /// A tool that applies manifests.
    pub gitops: PathBuf,
    /// The controller's own account.
    pub windlass: PathBuf,
    /// The account of a second controller, with the same rights.
    pub second: PathBuf,
    /// An account for controllers that has no right in the whole cluster.
    pub narrow: PathBuf,
    /// The record of every request; none on a cluster that was given.
    pub audit_log: Option<PathBuf>,
    /// Where etcd answers; none on a cluster that was given.
    pub etcd: Option<String>,
    /// What holds a new template there.
    pub hold: Holder,
    /// Where kubectl is; none means the PATH.
    bin: Option<PathBuf>,
    /// The process behind it lives for as long as its standard input is open.
    process: Option<Mutex<Process>>,
}

/// The process behind a control plane, which takes commands.
#[derive(Debug)]
struct Process {
    child: Child,
    answers: BufReader<ChildStdout>,
}

/// Who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// A person who changes workloads.
    Developer,
    /// A tool that applies manifests.
    GitOps,
    /// The controller.
    Windlass,
    /// A second controller, with the same rights.
    Second,
    /// A controller that has no right in the whole cluster.
    Narrow,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ready {
    dir: PathBuf,
    kubeconfig: PathBuf,
    developer_kubeconfig: PathBuf,
    gitops_kubeconfig: PathBuf,
    audit_log: PathBuf,
    bin: PathBuf,
    etcd: String,
}

/// The control plane of this process. With `WINDLASS_TEST_HOLD=partition` it is one without mutating policies.
pub fn bed() -> &'static Bed {
    static BED: OnceLock<Bed> = OnceLock::new();
    BED.get_or_init(|| {
        let bed = match std::env::var_os("WINDLASS_TEST_KUBECONFIG") {
            Some(kubeconfig) => given(PathBuf::from(kubeconfig)),
            None => started(),
        };
        bed.install();
        bed
    })
}

fn given(kubeconfig: PathBuf) -> Bed {
    let folder = std::env::temp_dir().join(format!("windlass-tests-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    Bed {
        developer: kubeconfig.clone(),
        gitops: kubeconfig.clone(),
        windlass: folder.join("windlass.kubeconfig"),
        second: folder.join("second.kubeconfig"),
        narrow: folder.join("narrow.kubeconfig"),
        admin: kubeconfig,
        audit_log: None,
        etcd: None,
        hold: wanted_hold(),
        bin: None,
        process: None,
    }
}

fn wanted_hold() -> Holder {
    match std::env::var("WINDLASS_TEST_HOLD").as_deref() {
        Err(_) | Ok("policy") => Holder::Policy,
        Ok("partition") => Holder::Partition,
        Ok(other) => panic!("WINDLASS_TEST_HOLD={other}: expected policy or partition"),
    }
}

/// The folder with the programs of a real control plane, kubectl among them; built where that was not done yet.
pub fn built() -> PathBuf {
    let build =
        Command::new(root().join("testbed/build")).stderr(Stdio::inherit()).output().expect("testbed/build");
    assert!(build.status.success(), "testbed/build failed");
    PathBuf::from(String::from_utf8_lossy(&build.stdout).trim())
}

/// How often a control plane is started that does not come up, or a part of it that dies at once.
const STARTS: usize = 3;

/// Starts a control plane; none if it ends before it is ready, and it has said why.
fn ready(bin: &Path, flags: &[&str]) -> Option<(Ready, Child, BufReader<ChildStdout>)> {
    let mut child = Command::new(bin.join("testbed"))
        .arg("up")
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("testbed up");
    let mut line = String::new();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    answers.read_line(&mut line).unwrap();
    if let Ok(ready) = serde_json::from_str(&line) {
        return Some((ready, child, answers));
    }
    child.wait().unwrap();
    None
}

fn started() -> Bed {
    let hold = wanted_hold();
    // The older kind of server is also the one with what newer ones may have switched on.
    let flags: &[&str] = match hold {
        Holder::Policy => &[],
        Holder::Partition => &["--mutating-policy=false", "--feature-gates=MaxUnavailableStatefulSet=true"],
    };
    let bin = built();
    // kwok 0.8 sometimes dies at its start, of a race of its own.
    let (ready, child, answers) =
        (0..STARTS).find_map(|_| ready(&bin, flags)).expect("testbed up is not ready");
    Bed {
        windlass: ready.dir.join("windlass.kubeconfig"),
        second: ready.dir.join("second.kubeconfig"),
        narrow: ready.dir.join("narrow.kubeconfig"),
        admin: ready.kubeconfig,
        developer: ready.developer_kubeconfig,
        gitops: ready.gitops_kubeconfig,
        audit_log: Some(ready.audit_log),
        etcd: Some(ready.etcd),
        hold,
        bin: Some(ready.bin),
        process: Some(Mutex::new(Process { child, answers })),
    }
}

impl Bed {
    /// Another control plane, with nothing installed; it ends with this value.
    pub fn empty() -> Self {
        started()
    }

    /// The kubeconfig of a user.
    pub fn kubeconfig(&self, user: User) -> &Path {
        match user {
            User::Admin => &self.admin,
            User::Developer => &self.developer,
            User::GitOps => &self.gitops,
            User::Windlass => &self.windlass,
            User::Second => &self.second,
            User::Narrow => &self.narrow,
        }
    }

    /// The record of every request, for a test that can show nothing without it. A cluster that was given has none: then
    /// this says what was skipped.
    pub fn audit_log_or_skip(&self, what: &str) -> Option<&Path> {
        if self.audit_log.is_none() {
            eprintln!("skipped: {what}: a cluster that was given has no audit log");
        }
        self.audit_log.as_deref()
    }

    /// The folder with kubectl; none means the PATH.
    pub fn bin(&self) -> Option<&Path> {
        self.bin.as_deref()
    }

    /// The binary under test.
    pub fn windlass_program(&self) -> PathBuf {
        windlass_binary()
    }

    /// The top of the checkout.
    pub fn root(&self) -> PathBuf {
        root()
    }

    /// Runs kubectl; `input` goes to its standard input.
    pub fn kubectl(&self, user: User, arguments: &[&str], input: &str) -> Output {
        let program = self.bin.as_ref().map_or_else(|| PathBuf::from("kubectl"), |bin| bin.join("kubectl"));
        let mut command = Command::new(program);
        command.arg("--kubeconfig").arg(self.kubeconfig(user)).args(arguments);
        run(command, input)
    }

    /// Runs kubectl and expects it to succeed.
    pub fn kubectl_ok(&self, user: User, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl(user, arguments, input);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {arguments:?} failed:\n{out}\n{err}\nwith input:\n{input}");
        out.into_owned()
    }

    /// Stops, starts or restarts a part of the control plane, such as `restart kube-apiserver`.
    pub fn command(&self, command: &str) {
        let process = self.process.as_ref().expect("a control plane of our own");
        let mut process = process.lock().unwrap();
        let mut said = Vec::new();
        for _ in 0..STARTS {
            writeln!(process.child.stdin.as_mut().unwrap(), "{command}").unwrap();
            let mut answer = String::new();
            process.answers.read_line(&mut answer).unwrap();
            if answer.contains("\"done\"") {
                return;
            }
            said.push(answer);
        }
        panic!("{command}: {said:?}");
    }

    /// What `windlass manifests` is told about this kind of server.
    pub fn hold_flag(&self) -> &'static str {
        match self.hold {
            Holder::Policy => "--hold=policy",
            Holder::Partition => "--hold=partition",
        }
    }

    /// Definitions, policies and rights, exactly as a person installs them. The controllers are processes of the tests.
    pub fn install(&self) {
        let hold = self.hold_flag();
        let mut manifests = windlass_command(&["manifests", hold, "--without=controller"]);
        manifests.args(ACCOUNTS.map(|(account, _)| format!("--identity={}", identity(account))));
        let manifests = run(manifests, "");
        assert!(manifests.status.success(), "windlass manifests failed");
        self.kubectl_ok(User::Admin, &["apply", "-f", "-"], &String::from_utf8_lossy(&manifests.stdout));
        for definition in windlass_api::crds() {
            let crd = format!("crd/{}", definition.metadata.name.unwrap());
            self.kubectl_ok(User::Admin, &["wait", "--for=condition=Established", &crd, "--timeout=30s"], "");
        }
        self.make_accounts();
        self.wait_for_the_policy();
    }

    /// A policy is active about a second after it was made: try it on a set without pods until it acts.
    fn wait_for_the_policy(&self) {
        self.wait_for_the_guard();
        if self.hold == Holder::Policy {
            self.wait_for_the_hold();
        }
    }

    /// The validating policy refuses to change the label.
    fn wait_for_the_guard(&self) {
        let set = crate::manifests::stateful_set("guard-probe", 0, "app:v0");
        self.kubectl_ok(User::Admin, &["apply", "--namespace=windlass", "-f", "-"], &set);
        let label = |value: &str| {
            let label = format!("windlass.sh/rollout={value}");
            let line = ["label", "sts/guard-probe", &label, "--overwrite", "--namespace=windlass"];
            self.kubectl(User::Developer, &line, "").status.success()
        };
        let acts = (1..=200).any(|attempt| !label(&format!("probe-{attempt}")));
        assert!(acts, "the validating policy does not act");
        self.kubectl_ok(User::Admin, &["delete", "sts", "guard-probe", "--namespace=windlass"], "");
    }

    fn wait_for_the_hold(&self) {
        let set = crate::manifests::stateful_set("policy-probe", 0, "app:v0");
        let set = set.replace(
            "metadata:\n  name: policy-probe\n",
            "metadata:\n  name: policy-probe\n  labels: {windlass.sh/rollout: probe}\n",
        );
        self.kubectl_ok(User::Admin, &["apply", "--namespace=windlass", "-f", "-"], &set);
        let held = [
            "get",
            "sts",
            "policy-probe",
            "--namespace=windlass",
            "-o",
            "jsonpath={.spec.updateStrategy.rollingUpdate.partition}",
        ];
        for attempt in 1..=200 {
            let image = format!("app=app:v{attempt}");
            self.kubectl_ok(
                User::Developer,
                &["set", "image", "sts/policy-probe", &image, "--namespace=windlass"],
                "",
            );
            if self.kubectl_ok(User::Admin, &held, "") == "2147483647" {
                self.kubectl_ok(User::Admin, &["delete", "sts", "policy-probe", "--namespace=windlass"], "");
                return;
            }
        }
        panic!("the admission policy does not act");
    }
}

/// A client as this user. Made per test: a client belongs to the runtime it was made in.
pub async fn connect(user: User) -> Client {
    let file = Kubeconfig::read_from(bed().kubeconfig(user)).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// What windlass prints; it is expected to succeed.
pub fn windlass(arguments: &[&str]) -> String {
    let output = run(windlass_command(arguments), "");
    assert!(output.status.success(), "windlass {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The windlass binary with these arguments.
pub fn windlass_command(arguments: &[&str]) -> Command {
    let program = windlass_binary();
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// The binary under test: the one given, or the one built beside this test.
fn windlass_binary() -> PathBuf {
    if let Some(given) = std::env::var_os("WINDLASS_BIN") {
        return PathBuf::from(given);
    }
    let me = std::env::current_exe().unwrap();
    let beside = me.ancestors().map(|folder| folder.join("windlass")).find(|path| path.is_file());
    beside.expect("the windlass binary is not built: run `cargo build -p windlass`, or set WINDLASS_BIN")
}

/// Runs a program to its end.
pub fn run(mut command: Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    // A program that does not read its input may have closed it.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

/// The top of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}
