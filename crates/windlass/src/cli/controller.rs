//! The flags of `windlass controller`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_controller::SERVED_NAME;

use super::duration;

#[derive(Debug, Args)]
pub(crate) struct ControllerArguments {
    /// How many rollouts are worked on at once
    #[arg(long, default_value_t = 8, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) workers: u16,
    /// Where /healthz, /readyz and /metrics are served; "none" serves nothing
    #[arg(long, default_value = "0.0.0.0:8080", value_name = "ADDRESS", value_parser = listen)]
    pub(crate) listen: Listen,
    /// Serve the rollouts whose label windlass.sh/instance has this value, and no others; without it those without the label
    #[arg(long, value_name = "NAME", value_parser = instance)]
    pub(crate) instance: Option<String>,
    /// What holds a new template: a mutating admission policy, or a partition that rests at 2147483647
    #[arg(long, value_enum, default_value_t = HoldArgument::Auto)]
    pub(crate) hold: HoldArgument,

    /// Whether runs of analyses that carry nobody's name (the label argo-rollouts.argoproj.io/controller-instance-id) are
    /// served
    #[arg(long, value_enum, default_value_t = StandaloneArgument::Auto)]
    pub(crate) standalone_runs: StandaloneArgument,
    /// Let one of several controllers lead, by a Lease
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "TRUE|FALSE")]
    pub(crate) leader_elect: bool,
    /// The controller's own namespace, where the Lease is and the Secrets that providers share; with --namespace that one
    #[arg(long, default_value = "windlass", value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    pub(crate) lease_namespace: String,
    /// How long after a crash of the leader another one takes over
    #[arg(long, default_value = "15s", value_name = "DURATION", value_parser = lease_duration)]
    pub(crate) lease_duration: Duration,
    /// A watch that was silent for so long is started anew; the server sends a sign of life every minute
    #[arg(long, default_value = "100s", value_name = "DURATION", value_parser = duration)]
    pub(crate) watch_silence: Duration,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// What is logged, such as info or `windlass_controller=debug`
    #[arg(long, default_value = "info", value_name = "FILTER", env = "WINDLASS_LOG")]
    pub(crate) log: String,
}

/// What holds a new template.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HoldArgument {
    /// The policy where it is installed, else the partition
    Auto,
    /// The mutating admission policy
    Policy,
    /// The partition, which rests at 2147483647 between two runs
    Partition,
}

/// Which runs of analyses are served besides those of our own rollouts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StandaloneArgument {
    /// By a controller without --instance, unless Argo Rollouts is installed, which serves them
    Auto,
    /// Yes
    Serve,
    /// No
    Leave,
}

/// A label value, because that is what it is compared with.
pub(super) fn instance(text: &str) -> Result<String, String> {
    if text == SERVED_NAME {
        return Err("the controller without an instance has this name; choose another".to_owned());
    }
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let ends = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    if text.len() <= 50 && text.chars().all(is_fine) && ends(text.chars().next()) && ends(text.chars().last())
    {
        Ok(text.to_owned())
    } else {
        Err("expected up to 50 letters, digits, dashes, underscores or dots, as in the value of a label"
            .to_owned())
    }
}

fn lease_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration < Duration::from_secs(1) { Err("at least 1s".to_owned()) } else { Ok(duration) }
}

/// Where health and metrics are served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listen(pub(crate) Option<SocketAddr>);

fn listen(text: &str) -> Result<Listen, String> {
    match text {
        "none" => Ok(Listen(None)),
        address => address
            .parse()
            .map(|address| Listen(Some(address)))
            .map_err(|error| format!("{error}; expected an address such as 0.0.0.0:8080, or none")),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// For machines
    Json,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use crate::cli::Cli;

    #[test]
    fn every_flag_of_the_controller_is_in_the_table_of_the_documents_and_no_other() {
        let document = include_str!("../../../../docs/install.md");
        let (_, table) = document.split_once("## Flags of the controller").unwrap();
        let rows = table.lines().skip(1).take_while(|line| !line.starts_with('#'));
        let told: BTreeSet<&str> =
            rows.filter_map(|row| row.strip_prefix("| `--")?.split('`').next()).collect();
        let command = Cli::command();
        let controller = command.find_subcommand("controller").unwrap();
        let own = controller.get_arguments().filter_map(clap::Arg::get_long);
        let known: BTreeSet<&str> = own.chain(["namespace"]).collect();
        assert_eq!(told, known);
    }
}
