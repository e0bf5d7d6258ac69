//! The testbed's real control plane: etcd, API server, controllers, scheduler, and kwok as the kubelets. It ends when its
//! standard input is closed, which the end of this program does as well.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;

use futures::FutureExt;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use windlass_controller::{HolderChoice, RunError, Scope, Settings, StandaloneRuns, WallClock};

use crate::failure::Failure;
use crate::kubectl::Terminal;
use crate::manifests;

/// Where the programs of the testbed are, for those who have them elsewhere.
const PROGRAMS: &str = "WINDLASS_TESTBED";
const HELP: &str = "\
--real needs the control plane that Windlass is tested with, and it is not here.
In a clone of the repository: make demo-real (the first time about 7 minutes, to build it)
Elsewhere: WINDLASS_TESTBED=FOLDER windlass demo --real, with the folder that testbed/build has printed";

/// What the controller looks for when it starts is there.
const ESTABLISHED: [&str; 6] = [
    "wait",
    "--for=condition=Established",
    "crd/rolloutplugins.argoproj.io",
    "crd/analysistemplates.argoproj.io",
    "crd/clusteranalysistemplates.argoproj.io",
    "crd/analysisruns.argoproj.io",
];

/// A real control plane, and the controller.
pub(super) struct Real {
    testbed: Child,
    /// Open as long as it is wanted; waiting for the process would close it if it were left there.
    _input: Option<ChildStdin>,
    ready: Ready,
    client: Client,
    controller: JoinHandle<Result<(), RunError>>,
}

/// What the testbed says when it is ready.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ready {
    kubeconfig: PathBuf,
    developer_kubeconfig: PathBuf,
}

impl Drop for Real {
    fn drop(&mut self) {
        self.controller.abort();
    }
}

impl Real {
    /// Starts it, and installs Windlass in it.
    pub(super) async fn start() -> Result<Self, Failure> {
        let programs = programs().await?;
        Terminal::warn("Starting a real control plane, and installing Windlass in it …");
        let (mut testbed, ready) = testbed(&programs).await?;
        let kubectl = Kubectl { program: programs.join("kubectl"), kubeconfig: &ready.kubeconfig };
        kubectl.run(&["apply", "-f", "-"], &manifests::without_controller()?).await?;
        kubectl.run(&ESTABLISHED, "").await?;
        let token = kubectl.run(&["create", "token", "windlass", "--namespace", "windlass"], "").await?;
        let settings = Settings {
            scope: Scope::Cluster,
            home: "windlass".to_owned(),
            instance: None,
            workers: 2,
            listen: None,
            hold: HolderChoice::FindOut,
            election: None,
            witness: None,
            standalone_runs: StandaloneRuns::FindOut,
            gauge: None,
        };
        let controller = client(&ready.kubeconfig, Some(token.trim())).await?;
        let never = std::future::pending().boxed();
        let controller =
            tokio::spawn(windlass_controller::run(controller, settings, Arc::new(WallClock), never));
        let client = client(&ready.developer_kubeconfig, None).await?;
        Ok(Self { _input: testbed.stdin.take(), testbed, ready, client, controller })
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Why it ended: ready only when something is wrong.
    pub(super) async fn ended(&mut self) -> Failure {
        tokio::select! {
            ended = self.testbed.wait() => match ended {
                Ok(status) => Failure::Refused(format!("the control plane ended: {status}")),
                Err(error) => Failure::Refused(format!("the control plane ended: {error}")),
            },
            ended = &mut self.controller => match ended {
                Ok(Err(error)) => error.into(),
                Ok(Ok(())) => Failure::Refused("the controller ended".to_owned()),
                Err(error) => Failure::Refused(format!("the controller ended: {error}")),
            },
        }
    }

    /// For people.
    pub(super) fn door(&self) -> &Path {
        &self.ready.developer_kubeconfig
    }
}

/// The folder with the programs: where it is said to be, or built by the repository that this program is in.
async fn programs() -> Result<PathBuf, Failure> {
    if let Some(folder) = std::env::var_os(PROGRAMS).map(PathBuf::from) {
        let found = folder.join("testbed").exists();
        let missing = || {
            Failure::Refused(format!("{PROGRAMS}={}: there is no testbed in it\n{HELP}", folder.display()))
        };
        return if found { Ok(folder) } else { Err(missing()) };
    }
    let beside = [std::env::current_exe().ok(), std::env::current_dir().ok().map(|it| it.join("."))];
    let folders = beside.iter().flatten().flat_map(|path| path.ancestors());
    let build = folders.map(|folder| folder.join("testbed/build")).find(|build| build.is_file());
    let build = build.ok_or_else(|| Failure::Refused(HELP.to_owned()))?;
    let failed = |why: &str| Failure::Refused(format!("{}: {why}", build.display()));
    // It says on standard error what it builds, if it has to.
    let output = Command::new(&build).stderr(Stdio::inherit()).output().await;
    let output = output.map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&output.status.to_string()));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

async fn testbed(programs: &Path) -> Result<(Child, Ready), Failure> {
    let failed = |why: &str| Failure::Refused(format!("cannot start the control plane: {why}"));
    let mut testbed = Command::new(programs.join("testbed"))
        .arg("up")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error.to_string()))?;
    let stdout = testbed.stdout.take().ok_or_else(|| failed("no output"))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await.map_err(|error| failed(&error.to_string()))?;
    let ready = serde_json::from_str(&line).map_err(|error| failed(&format!("it said {line:?}: {error}")))?;
    Ok((testbed, ready))
}

/// The testbed's kubectl, as its administrator.
struct Kubectl<'a> {
    program: PathBuf,
    kubeconfig: &'a Path,
}

impl Kubectl<'_> {
    async fn run(&self, arguments: &[&str], input: &str) -> Result<String, Failure> {
        let output = self.output(arguments, input).await;
        let failed = |why: &str| Failure::Refused(format!("kubectl {}: {why}", arguments.join(" ")));
        let output = output.map_err(|error| failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    async fn output(&self, arguments: &[&str], input: &str) -> std::io::Result<Output> {
        let mut child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(self.kubeconfig)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).await?;
        }
        child.wait_with_output().await
    }
}

/// A client by a kubeconfig, as its user or as whom a token names.
async fn client(kubeconfig: &Path, token: Option<&str>) -> Result<Client, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Connection(error.to_string());
    let mut file = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(&error))?;
    if let Some(token) = token {
        for user in &mut file.auth_infos {
            user.auth_info = Some(AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() });
        }
    }
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(file, &options).await.map_err(|error| failed(&error))?;
    config.default_retry = false;
    windlass_controller::connect(config).map_err(|error| failed(&error))
}
