//! The command line: definitions only.

mod analyze;
mod controller;
mod manifests;
mod simulate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use self::analyze::{AnalyzeArguments, AnalyzeOutput, SecretValue};
pub(crate) use self::controller::{ControllerArguments, HoldArgument, LogFormat, StandaloneArgument};
pub(crate) use self::manifests::{CrdsArguments, ManifestsArguments, OnlyCrds, Part, ServerHold};
pub(crate) use self::simulate::{Failing, Image, MetricValues, SimulateArguments, SimulateOutput};

/// Progressive delivery for the Kubernetes workloads that hold data: a new version enters step by step, holds at each
/// step, and can always be put back.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Examples:
  windlass demo                               see what it does, without a cluster
  windlass manifests | kubectl apply -f -     install everything (beside Argo Rollouts: --without analysis)
  windlass controller                         serve rollouts
  windlass plan -f web.yaml                   what will a rollout do?
  windlass simulate -f web.yaml               play it, without a cluster
  windlass analyze -f template.yaml           measure what a template measures, once
  kubectl windlass get web --watch            see a rollout move
  kubectl windlass why web                    why is nothing happening?
  kubectl windlass doctor                     is it installed right?

Exit codes:
  0  done; with `status`: healthy; with `doctor`: all is well; with `plan`: it can be carried out;
     with `simulate`: it ended well; with `analyze`: every value is good
  1  something went wrong; with `doctor` and `plan`: something is wrong; with `simulate`: it did not end well;
     with `analyze`: a value is bad, or there is none
  2  the command line is wrong; with `analyze` also: of a value nobody can tell
  3  degraded (`status`)
  4  timed out (`status`)
  5  waits for a person (`status`)";

/// Which cluster is meant; the same flags as kubectl's.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which cluster")]
pub(crate) struct Connection {
    /// The namespace; the context's own when absent
    #[arg(short, long, global = true)]
    pub(crate) namespace: Option<String>,
    /// The kubeconfig file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig
    #[arg(long, global = true)]
    pub(crate) context: Option<String>,
    /// The cluster in the kubeconfig
    #[arg(long, global = true)]
    pub(crate) cluster: Option<String>,
    /// The user in the kubeconfig
    #[arg(long, global = true)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve rollouts: the long-running part
    #[command(after_help = "Example:\n  windlass controller --namespace data --log-format json")]
    Controller(ControllerArguments),
    /// Print the custom resource definitions as YAML
    #[command(after_help = manifests::CRDS_HELP)]
    Crds(CrdsArguments),
    /// Print everything a cluster needs: definitions, admission policies, rights, and the controller
    #[command(after_help = manifests::MANIFESTS_HELP)]
    Manifests(ManifestsArguments),
    /// Print the rights that the controller needs, as a Markdown table
    #[command(hide = true)]
    Rights,
    /// Say what a rollout will do, before it does anything: from files, or from what the cluster has
    #[command(after_help = PLAN_HELP)]
    Plan(PlanArguments),
    /// Play a rollout in a cluster in memory, hours in milliseconds: what happens when, and does it keep its budgets?
    #[command(after_help = simulate::HELP)]
    Simulate(SimulateArguments),
    /// Measure what an analysis template measures, once, against the real provider, and judge it; needs no cluster
    #[command(after_help = analyze::HELP)]
    Analyze(AnalyzeArguments),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  source <(windlass completion bash)")]
    Completion {
        /// Which shell
        shell: Shell,
    },
    /// See a canary, and a bad version that is caught and reverted; needs no cluster, takes about 40 seconds
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArguments),
    /// A cluster in memory, to try things out
    #[command(subcommand, after_help = SIM_HELP)]
    Sim(SimCommand),
    #[command(flatten)]
    Kubectl(KubectlCommand),
}

const DEMO_HELP: &str = "\
The cluster is in memory and the controller in it is the real one; no file is read, no cluster of yours is touched. On a \
terminal the picture moves, elsewhere it is text. Ctrl-C ends it.

--real starts the control plane that Windlass is tested with (etcd, API server, controllers, scheduler; kwok plays the \
kubelets) and ends it afterwards. It is built by the repository: make demo-real. WINDLASS_TESTBED names the folder of its \
programs if this program is not in the repository.

Examples:
  windlass demo
  windlass demo --stay           (then push the buttons yourself)
  windlass demo --instant        (in virtual time, as text: no waiting)
  windlass demo --real";

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Stay open after the show: prints a KUBECONFIG line for kubectl, until Ctrl-C
    #[arg(long)]
    pub(crate) stay: bool,
    /// Show it on a real control plane
    #[arg(long)]
    pub(crate) real: bool,
    /// Do not wait for anybody to look: virtual time, as text
    #[arg(long, conflicts_with_all = ["real", "stay"])]
    pub(crate) instant: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Serve a cluster in memory on a port of this machine, until interrupted
    #[command(after_help = SIM_HELP)]
    Serve(ServeArguments),
}

const SIM_HELP: &str = "\
Example:
  windlass sim serve --write-kubeconfig /tmp/sim.yaml &
  KUBECONFIG=/tmp/sim.yaml kubectl get rp,sts,pods";

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The port; 0 takes one that is free
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Where to write a kubeconfig for it
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,
    /// How many nodes the cluster has
    #[arg(long, default_value_t = 3, value_name = "COUNT")]
    pub(crate) nodes: u32,
    /// What holds a new template there: a mutating admission policy, or the partition
    #[arg(long, value_enum, default_value_t = ServerHold::Policy)]
    pub(crate) hold: ServerHold,
}

const PLAN_HELP: &str = "\
Says for each step which pods move, where the partition is, what is waited for and how long that takes; how many pods are \
down at once; until when an abort puts everything back; and what may surprise. Analyses are shown with their metrics and \
the longest time that they may take, from the templates beside the rollout. Nothing is written.

Examples:
  windlass plan -f web.yaml                        (no cluster needed)
  windlass plan -f deploy/ -f budgets.yaml         (files and folders)
  kubectl kustomize overlays/live | windlass plan -f -
  windlass plan -f web.yaml -o markdown            (for a comment on a pull request)
  kubectl windlass plan web                        (the rollout as the cluster has it)

Exit codes: 0 the plan can be carried out, 1 something is wrong with the specification or the files";

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The rollout, such as web or rp/web; with files: only this one of them
    #[arg(value_name = "ROLLOUT", value_parser = bare_name)]
    pub(crate) name: Option<String>,
    /// A file or folder with manifests, - for standard input; repeat it for several
    #[arg(short, long = "filename", value_name = "FILE", required_unless_present = "name")]
    pub(crate) files: Vec<PathBuf>,
    /// Look into the folders of folders too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// How the plan is printed
    #[arg(short, long, value_enum, default_value_t = PlanOutput::Text)]
    pub(crate) output: PlanOutput,
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanOutput {
    /// For a terminal
    Text,
    /// For a program
    Json,
    /// For a comment on a pull request
    Markdown,
}

/// What people do with rollouts.
#[derive(Debug, Subcommand)]
pub(crate) enum KubectlCommand {
    /// Draw a rollout: its steps, workload, pods, and what is waited for
    #[command(
        after_help = "Examples:\n  kubectl windlass get web\n  kubectl windlass get web --watch\n  kubectl windlass get web -o yaml"
    )]
    Get {
        #[command(flatten)]
        name: Name,
        /// Draw again at every change, until interrupted
        #[arg(short, long)]
        watch: bool,
        /// Print the resource instead
        #[arg(short, long, value_enum)]
        output: Option<Output>,
    },
    /// List rollouts
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kubectl windlass list\n  kubectl windlass list -A -o wide"
    )]
    List {
        /// In all namespaces
        #[arg(short = 'A', long)]
        all_namespaces: bool,
        /// Print the resources instead, or more columns
        #[arg(short, long, value_enum)]
        output: Option<Output>,
    },
    /// Wait until a rollout is healthy, degraded, or needs a person; the exit code says which
    #[command(
        after_help = "Examples:\n  kubectl windlass status web\n  kubectl windlass status web --timeout 10m\n  kubectl windlass status web --timeout 0s   (just look)\n\nExit codes: 0 healthy, 3 degraded, 4 timeout, 5 waits for a person"
    )]
    Status {
        #[command(flatten)]
        name: Name,
        /// How long to wait, such as 30s, 5m or 1h; 0s looks once; absent: for ever
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        timeout: Option<std::time::Duration>,
    },
    /// Go on from the pause that is shown
    #[command(
        after_help = "Examples:\n  kubectl windlass promote web\n  kubectl windlass promote web --full   (skip all remaining steps and pauses)"
    )]
    Promote {
        #[command(flatten)]
        name: Name,
        /// Skip all remaining steps and pauses
        #[arg(long)]
        full: bool,
    },
    /// Hold a rollout where it is
    #[command(after_help = "Example:\n  kubectl windlass pause web")]
    Pause {
        #[command(flatten)]
        name: Name,
    },
    /// Take a person's pause off
    #[command(after_help = "Example:\n  kubectl windlass resume web")]
    Resume {
        #[command(flatten)]
        name: Name,
    },
    /// Put every updated pod back on the stable revision; the template stays as it is
    #[command(after_help = "Example:\n  kubectl windlass abort web")]
    Abort {
        #[command(flatten)]
        name: Name,
    },
    /// Take up an aborted rollout again, from its first step
    #[command(after_help = "Example:\n  kubectl windlass restart web")]
    Restart {
        #[command(flatten)]
        name: Name,
    },
    /// Say why a rollout is not further: the pods concerned, since when, and what would end the wait
    #[command(after_help = "Example:\n  kubectl windlass why web")]
    Why {
        #[command(flatten)]
        name: Name,
    },
    /// Check the installation, and say what is wrong and how to mend it
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorArguments),
}

const DOCTOR_HELP: &str = "\
Looks at the definitions, the policies, the controller's rights and its Lease, and for workloads and rollouts that do not \
belong together. What you may not read is marked with ? and is no error.

Examples:
  kubectl windlass doctor                          (rollouts and workloads of one namespace)
  kubectl windlass doctor -A                       (of all, and the rights in all)
  kubectl windlass doctor -n data                  (a controller for that namespace alone is found by its Lease there)
  kubectl windlass doctor -A -o json
  kubectl windlass doctor --identity system:serviceaccount:ops:windlass --lease-namespace ops

Exit codes: 0 all is well, 1 something is wrong";

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Look at rollouts and workloads in all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// The user that the controller is to the server; without it the account windlass in the namespace of the Lease
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
    /// Where the controller's Lease is; without it the namespace that is looked at if there is one, else windlass
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) lease_namespace: Option<String>,
    /// The controller's --instance, if it has one
    #[arg(long, value_name = "NAME", value_parser = controller::instance)]
    pub(crate) instance: Option<String>,
    /// Print the findings as a list instead
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<ListOutput>,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOutput {
    /// As JSON
    Json,
}

/// A rollout by name.
#[derive(Clone, Debug, Args)]
pub(crate) struct Name {
    /// The rollout's name, such as web or rp/web
    #[arg(value_name = "ROLLOUT", value_parser = bare_name)]
    pub(crate) name: String,
}

fn bare_name(text: &str) -> Result<String, String> {
    let name = match text.split_once('/') {
        None => text,
        Some(("rp" | "rolloutplugin" | "rolloutplugins" | "rolloutplugins.argoproj.io", name)) => name,
        Some((kind, _)) => {
            return Err(format!("{kind} is not a kind of rollout; expected a name such as web or rp/web"));
        }
    };
    if name.is_empty() { Err("the name is empty".to_owned()) } else { Ok(name.to_owned()) }
}

/// A duration as Go and kubectl spell it.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let parsed = windlass_api::go_duration(text)
        .ok_or_else(|| "it is no duration; expected one such as 30s, 5m or 1h".to_owned())?;
    parsed.try_into().map_err(|_| "a duration cannot be negative".to_owned())
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The resource as JSON
    Json,
    /// The resource as YAML
    Yaml,
    /// With more columns
    Wide,
    /// Names only
    Name,
}

/// The command under the name it was called by: `kubectl windlass` for the plugin.
pub(crate) fn named(command: clap::Command) -> clap::Command {
    let called = std::env::args_os().next().map(PathBuf::from);
    let is_plugin = called
        .as_deref()
        .and_then(std::path::Path::file_name)
        .is_some_and(|name| name.to_string_lossy().starts_with("kubectl-"));
    if is_plugin { command.name("kubectl windlass").bin_name("kubectl windlass") } else { command }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::Cli;

    /// A command, and those below it.
    fn with_all_below(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().flat_map(with_all_below);
        std::iter::once(command).chain(below).collect()
    }

    #[test]
    fn the_help_of_every_command_has_an_example() {
        let windlass = Cli::command();
        for command in with_all_below(&windlass).into_iter().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", command.get_name());
        }
    }
}
